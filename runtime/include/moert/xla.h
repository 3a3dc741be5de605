/*===- xla.h - running programs inside XLA --------------------------------------===
 *
 * A custom call of target MOE_XLA_TARGET runs the first entry of a program. libmoe_xla.so has its handlers, for the
 * typed FFI of XLA; a host registers them by name, or finds them all in moe_xla_handlers().
 *
 * The custom call (api_version 4, row-major layouts):
 *   operands    the entry's inputs
 *   results     the entry's outputs, then the workspace: u8, MOE_XLA_WORKSPACE_SLACK more than moe_workspace_query says
 *   attributes  program = the program as text, in the moe dialect; version = moe_version()
 * The text suffices to run it anywhere: what is not in the process is compiled by `moe-compile --cache`, which is
 * $MOE_COMPILER, or else bin/moe-compile in the folder above that of libmoe_xla.so.
 *
 * A program over the ranks of a mesh axis has the target MOE_XLA_RANKS_TARGET, a side effect, and one more operand
 * before the others, s32[2]: the device's row (a number that the devices which exchange with each other share, and no
 * others) and its rank in it, which stay as long as the executable does. All devices of a row are in one process, and
 * all make the call. Its instantiate stage is needed: what it makes is where the ranks find each other. A wait for
 * another rank ends after $MOE_COMM_TIMEOUT_MS, 30 s unless said.
 *
 *===------------------------------------------------------------------------===*/
#ifndef MOERT_XLA_H
#define MOERT_XLA_H

#include "moert/moert.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MOE_XLA_TARGET "moe_execute"
#define MOE_XLA_RANKS_TARGET "moe_execute_ranks"
#define MOE_XLA_WORKSPACE_SLACK 64 /* room to align it */

/* The handlers of a target on a platform, of type XLA_FFI_Handler *; NULL for a stage that is not needed. */
typedef struct moe_xla_handler {
  const char *target;   /* of the custom calls: MOE_XLA_TARGET or MOE_XLA_RANKS_TARGET */
  const char *platform; /* as XLA calls it: "cpu", "CUDA" */
  void *instantiate;    /* finds or compiles the program, checks the attributes */
  void *prepare;
  void *initialize; /* loads the kernels onto the device */
  void *execute;    /* enqueues; of MOE_XLA_TARGET it may be captured by a command buffer */
} moe_xla_handler;

/* One for each target and platform; static memory. */
MOE_API const moe_xla_handler *moe_xla_handlers(size_t *n);

/* Spares instantiate the search: `program` is what the text compiles to for a platform of the table. Takes a reference.
 */
MOE_API void moe_xla_add_program(moe_program *program, const char *platform, const char *text, size_t text_size);

#ifdef __cplusplus
}
#endif
#endif /* MOERT_XLA_H */
