// RUN: not moe-opt %s --convert-tile-to-cpu=lanes=6 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not moe-opt %s --convert-tile-to-cpu=registers=8 2>&1 | FileCheck %s --check-prefix=REGISTERS

// LANES: error: option lanes is 6, expected 4, 8 or 16
// REGISTERS: error: option registers is 8, expected 16 or more
module @kernels {}
