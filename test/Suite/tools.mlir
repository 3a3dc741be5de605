// The tools that the suite is about are found, and FileCheck tells a match from a mismatch.
// RUN: moe-opt %s | FileCheck %s
// RUN: moe-opt %s | not FileCheck %s --check-prefix=ABSENT 2>&1 | FileCheck %s --check-prefix=REPORT

// CHECK-LABEL: func.func @f
// ABSENT: this line is not printed
// REPORT: expected string not found in input
func.func @f() { return }
