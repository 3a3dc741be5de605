// A test whose CHECK does not match must fail: it is expected to, and reported if it does not.
// XFAIL: *
// RUN: moe-opt %s | FileCheck %s

// CHECK: this line is not printed
func.func @f() { return }
