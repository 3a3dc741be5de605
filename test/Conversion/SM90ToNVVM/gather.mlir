// RUN: moe-opt %s --convert-sm90-to-nvvm --canonicalize --cse | FileCheck %s

gpu.module @kernels {
  // 64 threads, each with two of 16 rows: row and unit of a thread are t / 8 and t % 8.
  // CHECK-LABEL: llvm.func @gather
  // CHECK-SAME: %[[INDEX:[^:]*]]: !llvm.ptr<1>, %[[BASE:[^:]*]]: !llvm.ptr<1>, %[[PITCH:[^:]*]]: i32, %[[WIDTH:[^:]*]]: i32, %[[END:[^:]*]]: i32
  // CHECK-DAG: %[[NONE:.*]] = arith.constant -1 : i32
  // CHECK-DAG: %[[C7:.*]] = arith.constant 7 : i32
  // CHECK-DAG: %[[C16:.*]] = arith.constant 16 : i32
  // CHECK-DAG: %[[C63:.*]] = arith.constant 63 : i32
  // CHECK: %[[THREAD:.*]] = arith.andi %{{.*}}, %[[C63]] : i32
  // CHECK: %[[ROW:.*]] = arith.shrui %[[THREAD]], %{{.*}} : i32
  // Past the end there is no row.
  // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW]], %[[END]] : i32
  // CHECK: %[[NUMBER:.*]] = llvm.load {{.*}} !llvm.ptr<1> -> i32
  // CHECK: %[[FIRST:.*]] = arith.select %[[INSIDE]], %[[NUMBER]], %[[NONE]] : i32
  // CHECK: llvm.load {{.*}} !llvm.ptr<1> -> i32
  // CHECK: %[[SECOND:.*]] = arith.select
  // CHECK: %[[UNIT:.*]] = arith.andi %[[THREAD]], %[[C7]] : i32
  // CHECK: %[[WITHIN:.*]] = arith.shli %[[UNIT]], %{{.*}} : i32
  // CHECK: %[[LEFT:.*]] = arith.subi %[[WIDTH]], %[[WITHIN]] : i32
  // CHECK: %[[SOURCE:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<1> to i64
  // CHECK: arith.xori %[[UNIT]], %[[ROW]] : i32
  // CHECK: %[[TARGET:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i32
  // CHECK: nvvm.mbarrier.try_wait.parity
  // Whole pieces are copied or not.
  // CHECK: llvm.inline_asm has_side_effects {{.*}}setp.lt.or.s32 p, $1, 0, q; cp.async.cg.shared.global [$0+0], [a], 16, p; }{{.*}} %[[TARGET]], %[[FIRST]], %[[LEFT]], %[[PITCH]], %[[SOURCE]]
  // CHECK: llvm.inline_asm has_side_effects {{.*}}cp.async.cg.shared.global [$0+1024], [a], 16, p; }{{.*}} %[[TARGET]], %[[SECOND]], %[[LEFT]], %[[PITCH]], %[[SOURCE]]
  // CHECK: nvvm.inline_ptx "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];"
  // Of others some bytes are.
  // CHECK: %[[UPTO:.*]] = arith.minsi %[[LEFT]], %[[C16]] : i32
  // CHECK: %[[BYTES:.*]] = arith.maxsi %[[UPTO]], %{{.*}} : i32
  // CHECK: nvvm.mbarrier.try_wait.parity
  // CHECK: llvm.inline_asm has_side_effects {{.*}}selp.b32 n, $2, 0, p; cp.async.cg.shared.global [$0+0], [a], 16, n; }{{.*}} %[[FIRST]], %[[BYTES]], %[[PITCH]], %[[SOURCE]]
  // CHECK: llvm.inline_asm has_side_effects {{.*}}cp.async.cg.shared.global [$0+1024], [a], 16, n; }{{.*}} %[[SECOND]], %[[BYTES]]
  // CHECK: nvvm.inline_ptx "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];"
  sm90.kernel @gather <threads = 384, per_sm = 1> params [#sm90.pointer<1>, #sm90.pointer<0, align = 16>, #sm90.stride<arg = 0, dim = 0, width = 32>,
      #sm90.size<arg = 0, dim = 1>, #sm90.size<arg = 1, dim = 0>] {
  ^bb0(%index: !llvm.ptr<1>, %base: !llvm.ptr<1>, %pitch: i32, %width: i32, %end: i32):
    %zero = arith.constant 0 : i32
    %ring = sm90.ring arrivals 65 releases 8 : !sm90.ring<2 x 4096>
    %start = sm90.start
    %rows = sm90.gather_rows %index[%zero to %end] : !llvm.ptr<1> -> !sm90.rows<16>
    sm90.gather_load %base pitch %pitch width %width whole [%rows] block %zero to %ring[%start] + %zero : !llvm.ptr<1>, !sm90.rows<16>, !sm90.ring<2 x 4096>
    %next = sm90.advance %ring[%start] : !sm90.ring<2 x 4096>
    sm90.gather_load %base pitch %pitch width %width [%rows] block %zero to %ring[%next] + %zero : !llvm.ptr<1>, !sm90.rows<16>, !sm90.ring<2 x 4096>
  }
}
