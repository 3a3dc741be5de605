// What cannot be compiled for a GPU is refused by name, before LLVM could end the process.
// RUN: not moe-compile --target=cuda --ptx-version=95 %s -o %t 2>&1 | FileCheck %s --check-prefix=NEW
// RUN: not moe-compile --target=cuda --ptx-version=80 %s -o %t 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not moe-compile --target=cuda --chip=sm_80 %s -o %t 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not moe-compile --target=cuda --ptxas=%t.absent %s -o %t 2>&1 | FileCheck %s --check-prefix=PTXAS
// RUN: not moe-compile '--schedule=#sm90.schedule<m = 128, n = 128, stages = 4>' %s -o %t 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not moe-compile --target=cuda --tune=%t.txt --schedule-table=none %s -o %t 2>&1 | FileCheck %s --check-prefix=TUNE
// RUN: not moe-compile --target=cuda --rows=-1 %s -o %t 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not moe-compile --ptx-version=88 %s -o %t 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not moe-compile --target=cuda --cpu=native %s -o %t 2>&1 | FileCheck %s --check-prefix=CUDA

// NEW: error: ptx version is 95, expected one from 86 to {{.*}} that this LLVM has
// OLD: error: ptx version is 80, expected one from 86
// CHIP: {{^}}moe-compile: error: chip is 'sm_80', expected sm_90a
// PTXAS: error: ptxas is '{{.*}}.absent', which is not a program
// SCHEDULE: error: --schedule is for --target=cuda only
// TUNE: error: --tune excludes --schedule, --schedule-table, --cache and --islands
// ROWS: error: --rows is -1, expected a positive number
// CPU: error: --ptx-version is for --target=cuda only
// CUDA: error: --cpu is for --target=cpu only

func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}
