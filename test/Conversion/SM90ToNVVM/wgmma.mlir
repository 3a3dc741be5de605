// RUN: moe-opt %s --convert-sm90-to-nvvm --canonicalize --cse | FileCheck %s

gpu.module @kernels {
  // Four wgmmas of 16 of k; the first of the first block overwrites. K-major rows: 32 bytes on for the next 16 of k (2 units of 16 bytes),
  // 8192 bytes for the next 64 rows. The high word of a descriptor says 1024 bytes between 8 rows, and 128-byte swizzle.
  // CHECK-LABEL: llvm.func @rows
  // CHECK-DAG: %[[HIGH:.*]] = arith.constant 4611686293305294848 : i64
  // CHECK-DAG: %[[STEP:.*]] = arith.constant 2 : i32
  // CHECK-DAG: %[[M64:.*]] = arith.constant 512 : i32
  // CHECK: nvvm.wgmma.fence.aligned
  // CHECK: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 64, k = 16>, D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
  // CHECK: arith.addi %{{.*}}, %[[M64]] : i32
  // CHECK: nvvm.wgmma.mma_async {{.*}} D[<f32>, <zero>]
  // CHECK: arith.addi %{{.*}}, %[[STEP]] : i32
  // CHECK-COUNT-6: nvvm.wgmma.mma_async {{.*}} D[<f32>, <one>]
  // CHECK: nvvm.wgmma.commit.group.sync.aligned
  // The registers pass through the last wait.
  // CHECK: llvm.inline_asm has_side_effects {{.*}}"wgmma.wait_group.sync.aligned 0;"
  sm90.kernel @rows <threads = 384, per_sm = 1> params [#sm90.pointer<0>] {
  ^bb0(%p: !llvm.ptr<1>):
    %zero = arith.constant 0 : i32
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 24576>
    %start = sm90.start
    %a = sm90.operand %ring + %zero : !sm90.ring<4 x 24576> -> !sm90.operand<k>
    %undef = sm90.undef : !sm90.acc<64>
    %acc:2 = sm90.wgmma first bf16 %ring[%start] %a, %a, into %undef, %undef : !sm90.ring<4 x 24576>, !sm90.operand<k>, !sm90.operand<k>, !sm90.acc<64>, !sm90.acc<64>
        -> !sm90.acc<64>, !sm90.acc<64>
    %done:2 = sm90.wgmma_wait 0 %acc#0, %acc#1 : !sm90.acc<64>, !sm90.acc<64> -> !sm90.acc<64>, !sm90.acc<64>
  }

  // MN-major boxes: 2048 bytes on for the next 16 of k; the leading offset is a box.
  // CHECK-LABEL: llvm.func @boxes
  // CHECK-DAG: %[[STEP:.*]] = arith.constant 128 : i32
  // CHECK-DAG: %[[LEADING:.*]] = arith.constant 33554432 : i32
  // CHECK-DAG: %[[MASK:.*]] = arith.constant 262143 : i32
  // CHECK: arith.andi %{{.*}}, %[[MASK]] : i32
  // CHECK: arith.ori %{{.*}}, %[[LEADING]] : i32
  // CHECK: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 128, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <col>], B[<f16>, <one>, <row>]
  // CHECK: arith.addi %{{.*}}, %[[STEP]] : i32
  // CHECK-COUNT-3: nvvm.wgmma.mma_async
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  sm90.kernel @boxes <threads = 384, per_sm = 1> params [#sm90.pointer<0>] {
  ^bb0(%p: !llvm.ptr<1>):
    %zero = arith.constant 0 : i32
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 24576>
    %start = sm90.start
    %a = sm90.operand %ring + %zero : !sm90.ring<4 x 24576> -> !sm90.operand<mn>
    %undef = sm90.undef : !sm90.acc<128>
    %acc = sm90.wgmma f16 %ring[%start] %a, %a, into %undef : !sm90.ring<4 x 24576>, !sm90.operand<mn>, !sm90.operand<mn>, !sm90.acc<128> -> !sm90.acc<128>
    %done = sm90.wgmma_wait 1 %acc : !sm90.acc<128> -> !sm90.acc<128>
  }

  // Halves of the columns apart, 16384 bytes (1024 units): two wgmmas of half the registers each for every 16 of k.
  // CHECK-LABEL: llvm.func @apart
  // CHECK-DAG: %[[APART:.*]] = arith.constant 1024 : i32
  // CHECK: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 64, k = 16>, D[<f32>, <zero>]
  // CHECK: arith.addi %{{.*}}, %[[APART]] : i32
  // CHECK: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 64, k = 16>, D[<f32>, <zero>]
  // CHECK-COUNT-6: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 64, k = 16>, D[<f32>, <one>]
  // CHECK-NOT: nvvm.wgmma.mma_async
  // CHECK: nvvm.wgmma.commit.group.sync.aligned
  sm90.kernel @apart <threads = 384, per_sm = 1> params [#sm90.pointer<0>] {
  ^bb0(%p: !llvm.ptr<1>):
    %zero = arith.constant 0 : i32
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 49152>
    %start = sm90.start
    %a = sm90.operand %ring + %zero : !sm90.ring<4 x 49152> -> !sm90.operand<k>
    %undef = sm90.undef : !sm90.acc<128>
    %acc = sm90.wgmma first bf16 %ring[%start] %a, %a, into %undef {apart = 16384 : i64} : !sm90.ring<4 x 49152>, !sm90.operand<k>, !sm90.operand<k>, !sm90.acc<128> -> !sm90.acc<128>
    %done = sm90.wgmma_wait 0 %acc : !sm90.acc<128> -> !sm90.acc<128>
  }

  // TF32: 8 of k in the same 32 bytes.
  // CHECK-LABEL: llvm.func @tf32
  // CHECK-DAG: %[[STEP:.*]] = arith.constant 2 : i32
  // CHECK: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 64, k = 8>, D[<f32>, <zero>], A[<tf32>, <one>, <row>], B[<tf32>, <one>, <col>]
  // CHECK: arith.addi %{{.*}}, %[[STEP]] : i32
  // CHECK-COUNT-3: nvvm.wgmma.mma_async {{.*}} k = 8>, D[<f32>, <one>]
  sm90.kernel @tf32 <threads = 384, per_sm = 1> params [#sm90.pointer<0>] {
  ^bb0(%p: !llvm.ptr<1>):
    %zero = arith.constant 0 : i32
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 24576>
    %start = sm90.start
    %a = sm90.operand %ring + %zero : !sm90.ring<4 x 24576> -> !sm90.operand<k>
    %undef = sm90.undef : !sm90.acc<64>
    %acc = sm90.wgmma first tf32 %ring[%start] %a, %a, into %undef : !sm90.ring<4 x 24576>, !sm90.operand<k>, !sm90.operand<k>, !sm90.acc<64> -> !sm90.acc<64>
    %done = sm90.wgmma_wait 1 %acc : !sm90.acc<64> -> !sm90.acc<64>
  }
}
