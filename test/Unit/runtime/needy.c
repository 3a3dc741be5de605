/* Would print on loading; the runtime must refuse it before that. */
#include <stdio.h>

__attribute__((constructor)) static void greet(void) { puts("the object of a program ran a constructor"); }
