// RUN: moe-opt %s --sm90-choose-schedules=table=none --mlir-print-local-scope 2>&1 | FileCheck %s
// RUN: moe-opt %s "--sm90-choose-schedules=schedule={#sm90.schedule<m = 128, n = 192, stages = 3>}" | FileCheck %s --check-prefix=FORCED
// RUN: moe-opt %s "--sm90-choose-schedules=table=none rows=512" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: moe-opt %s "--sm90-choose-schedules=table=none report=3" 2>&1 | FileCheck %s --check-prefix=REPORT

// Without a word about rows: 512 a group, and at least 4096.
// CHECK: remark: rows.kn.bf16.bf16.k4096.n4096.g8 of 4096 rows: #sm90.schedule<{{.*}}>, predicted {{[0-9.]+}} us
// CHECK: remark: rows.nk.bf16.bf16.k512.n768.g16.parts2 of 8192 rows: #sm90.schedule<
// The type says how many rows there are. Of 64 groups 4 are computed.
// CHECK: remark: contraction.bf16.f32.k512.n768.g4 of 512 rows: #sm90.schedule<
// CHECK: remark: rows.nk.f32.f32.k8.n16.g8 of {{[0-9]+}} rows: #sm90.schedule<
// CHECK: remark: runs on ordinary loads: operands are f32, exactly

// CHECK-LABEL: func.func @wide
// A wide product of long groups has the largest tile.
// CHECK: sm90.schedule = #sm90.schedule<{{.*}}m = 128, n = 256,
// FORCED-LABEL: func.func @wide
// FORCED: sm90.schedule = #sm90.schedule<m = 128, n = 192, stages = 3>
// ROWS: remark: rows.kn.bf16.bf16.k4096.n4096.g8 of 512 rows
// ROWS: remark: contraction.bf16.f32.k512.n768.g4 of 512 rows
// REPORT-COUNT-3: remark: rows.kn.bf16.bf16.k4096.n4096.g8 of 4096 rows: #sm90.schedule<{{.*}}>, could take {{[0-9.]+}} us
// REPORT: remark: rows.kn.bf16.bf16.k4096.n4096.g8 of 4096 rows: #sm90.schedule<{{.*}}>, predicted {{[0-9.]+}} us
module @kernels {
  func.func @wide(%x: memref<?x4096xbf16>, %w: memref<8x4096x4096xbf16>, %b: memref<8x2xi64>, %y: memref<?x4096xbf16>) {
    tile.ragged_gemm lhs(%x : memref<?x4096xbf16>) rhs(%w : memref<8x4096x4096xbf16>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x4096xbf16>) {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      tile.yield %0 : bf16
    }
    return
  }

  func.func @gated(%x: memref<?x512xbf16>, %w: memref<16x768x512xbf16>, %b: memref<16x2xi64>, %y: memref<?x384xbf16>) {
    tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<16x768x512xbf16>) bounds(%b : memref<16x2xi64>) outs(%y : memref<?x384xbf16>)
        attributes {layout = #tile.rhs<nk>, accs = #tile.accs<concatenated>} {
    ^bb0(%gate: f32, %up: f32):
      %0 = arith.mulf %gate, %up : f32
      %1 = arith.truncf %0 : f32 to bf16
      tile.yield %1 : bf16
    }
    return
  }

  func.func @some(%x: memref<8192x512xbf16>, %dy: memref<8192x768xbf16>, %b: memref<64x2xi64>, %dw: memref<4x512x768xf32>) {
    tile.ragged_gemm lhs(%x : memref<8192x512xbf16>) rhs(%dy : memref<8192x768xbf16>) bounds(%b : memref<64x2xi64>) outs(%dw : memref<4x512x768xf32>)
        attributes {mode = #tile.mode<contraction>, group_offset = 8} {
    ^bb0(%acc: f32):
      tile.yield %acc : f32
    }
    return
  }

  // An attribute on the op wins.
  // CHECK-LABEL: func.func @given
  // CHECK: sm90.schedule = #sm90.schedule<m = 128, n = 64, stages = 2>
  // FORCED-LABEL: func.func @given
  // FORCED: sm90.schedule = #sm90.schedule<m = 128, n = 64, stages = 2>
  func.func @given(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x768xbf16>) {
    tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x768xbf16>)
        attributes {sm90.schedule = #sm90.schedule<m = 128, n = 64, stages = 2>} {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      tile.yield %0 : bf16
    }
    return
  }

  // CHECK-LABEL: func.func @tf32
  // CHECK: sm90.schedule
  func.func @tf32(%x: memref<?x8xf32>, %w: memref<8x16x8xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
    tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x16x8xf32>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x16xf32>)
        attributes {layout = #tile.rhs<nk>, precision = #tile.precision<tf32>} {
    ^bb0(%acc: f32):
      tile.yield %acc : f32
    }
    return
  }

  // CHECK-LABEL: func.func @exact
  // CHECK-NOT: sm90.schedule
  // FORCED-LABEL: func.func @exact
  // FORCED-NOT: sm90.schedule
  func.func @exact(%x: memref<?x8xf32>, %w: memref<8x8x16xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
    tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x8x16xf32>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x16xf32>) {
    ^bb0(%acc: f32):
      tile.yield %acc : f32
    }
    return
  }
}
