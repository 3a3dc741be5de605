// RUN: moe-opt %s --convert-sm90-to-nvvm --canonicalize --cse | FileCheck %s

gpu.module @kernels {
  // A tile begins with the first of two buffers, which the third and last strip of the tile before it used, too: nothing may be left of that.
  // CHECK-LABEL: llvm.func @strips
  // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
  // CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
  // CHECK-NOT: nvvm.cp.async.bulk.wait_group
  sm90.kernel @strips <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 16]>, #sm90.pointer<0>,
              #sm90.stride<arg = 0, dim = 0>, #sm90.size<arg = 0, dim = 0>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64, %end: i32):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<192>
    sm90.epilogue %acc at (%zero, %zero) end %end group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [bf16], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64} {
    ^bb0(%x: f32):
      %t = arith.truncf %x : f32 to bf16
      sm90.yield %t : bf16
    } : !llvm.ptr<3>, !sm90.acc<192> outs !llvm.ptr<1>
  }

  // 64 columns of 16 rows: four stmatrix of pairs rounded together; then TMA where 16 rows belong to the group, else vectors of 16
  // bytes where the row is within the group. Both ways are committed as one group.
  // CHECK-LABEL: llvm.func @half
  // CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
  // CHECK: %[[FULL:.*]] = arith.cmpi sge, %[[LEFT]], %{{.*}} : i32
  // CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
  // CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK-COUNT-4: nvvm.stmatrix
  // CHECK: scf.if %[[FULL]] {
  // CHECK:   nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
  // CHECK:   nvvm.elect.sync
  // CHECK:   nvvm.cp.async.bulk.tensor.global.shared.cta
  // CHECK: } else {
  // CHECK:   arith.cmpi slt, %{{.*}}, %[[LEFT]] : i32
  // CHECK:   llvm.load {{.*}} !llvm.ptr<3> -> vector<4xi32>
  // CHECK:   llvm.store {{.*}} vector<4xi32>, !llvm.ptr<1>
  // CHECK: nvvm.cp.async.bulk.commit.group
  // CHECK-NOT: nvvm.cp.async.bulk.commit.group
  sm90.kernel @half <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 16]>, #sm90.pointer<0>,
              #sm90.stride<arg = 0, dim = 0>, #sm90.size<arg = 0, dim = 0>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64, %end: i32):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<64>
    sm90.epilogue %acc at (%zero, %zero) end %end group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [bf16], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64} {
    ^bb0(%x: f32):
      %t = arith.truncf %x : f32 to bf16
      sm90.yield %t : bf16
    } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1>
  }

  // Interleaved: both accumulators of a result are of one thread, in neighbouring registers; its columns are 4 apart and are stored one by one.
  // CHECK-LABEL: llvm.func @interleaved
  // CHECK: %[[ACC:.*]] = llvm.inline_asm {{.*}}wgmma.wait_group
  // CHECK-DAG: llvm.extractvalue %[[ACC]][0]
  // CHECK-DAG: llvm.extractvalue %[[ACC]][4]
  // CHECK-DAG: llvm.extractvalue %[[ACC]][1]
  // CHECK-DAG: llvm.extractvalue %[[ACC]][5]
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<2xf32>
  // CHECK-NOT: nvvm.stmatrix
  // CHECK-COUNT-32: llvm.store %{{.*}} : bf16, !llvm.ptr<3>
  // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
  sm90.kernel @interleaved <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 16]>, #sm90.pointer<0>,
              #sm90.stride<arg = 0, dim = 0>, #sm90.size<arg = 0, dim = 0>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64, %end: i32):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<2 x 24576>
    %start = sm90.start
    %operand = sm90.operand %ring + %zero : !sm90.ring<2 x 24576> -> !sm90.operand<k>
    %undef = sm90.undef : !sm90.acc<128>
    %product = sm90.wgmma first bf16 %ring[%start] %operand, %operand, into %undef : !sm90.ring<2 x 24576>, !sm90.operand<k>, !sm90.operand<k>, !sm90.acc<128> -> !sm90.acc<128>
    %acc = sm90.wgmma_wait 0 %product : !sm90.acc<128> -> !sm90.acc<128>
    sm90.epilogue %acc at (%zero, %zero) end %end group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [bf16], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 2 : i64, buffers = 2 : i64, interleaved} {
    ^bb0(%gate: f32, %up: f32):
      %0 = arith.mulf %gate, %up : f32
      %t = arith.truncf %0 : f32 to bf16
      sm90.yield %t : bf16
    } : !llvm.ptr<3>, !sm90.acc<128> outs !llvm.ptr<1>
  }

  // Extras: the row's, the weight of the row's slot, the group's at the column (read at the edge past it), the element's.
  // CHECK-LABEL: llvm.func @extras
  // CHECK-SAME: %[[ROW:[^:]*]]: !llvm.ptr<1>, %[[SLOTS:[^:]*]]: !llvm.ptr<1>, %[[WEIGHTS:[^:]*]]: !llvm.ptr<1>, %[[BIAS:[^:]*]]: !llvm.ptr<1>, %[[ELEM:[^:]*]]: !llvm.ptr<1>
  // CHECK: llvm.getelementptr inbounds %[[ROW]]
  // CHECK: llvm.getelementptr inbounds %[[SLOTS]]
  // A row without a slot (-1) reads 0.
  // CHECK: %[[SLOT:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
  // CHECK: %[[IS:.*]] = arith.cmpi sge, %[[SLOT]], %{{.*}} : i32
  // CHECK: scf.if %[[IS]] -> (f32)
  // CHECK: arith.divui %[[SLOT]], %{{.*}} : i32
  // CHECK: llvm.getelementptr inbounds %[[WEIGHTS]]
  // CHECK: llvm.getelementptr inbounds %[[ELEM]]
  // CHECK: arith.minsi %{{.*}}, %{{.*}} : i32
  // CHECK: llvm.getelementptr inbounds %[[BIAS]]
  // CHECK-COUNT-8: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<3>
  sm90.kernel @extras <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, f32, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [32, 16]>, #sm90.pointer<0>,
              #sm90.stride<arg = 0, dim = 0>, #sm90.size<arg = 0, dim = 0>, #sm90.pointer<1>, #sm90.pointer<2>, #sm90.pointer<3>, #sm90.pointer<4>, #sm90.pointer<5>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64, %end: i32, %row: !llvm.ptr<1>, %slots: !llvm.ptr<1>, %weights: !llvm.ptr<1>, %bias: !llvm.ptr<1>, %elem: !llvm.ptr<1>):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<64>
    sm90.epilogue %acc at (%zero, %zero) end %end group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch) slots(%slots)
        extras(%row, %weights, %bias, %elem pitches %pitch, %pitch, %pitch, %pitch)
        attributes {types = [f32], extra_types = [f32, f32, bf16, f16], extra_kinds = array<i64: 0, 1, 2, 3>, columns = 770 : i64, parts = 1 : i64, buffers = 2 : i64,
                    slots_per_token = 6 : i64} {
    ^bb0(%x: f32, %r: f32, %w: f32, %b: bf16, %e: f16):
      %0 = arith.addf %x, %r : f32
      %1 = arith.mulf %0, %w : f32
      %2 = arith.extf %b : bf16 to f32
      %3 = arith.addf %1, %2 : f32
      %4 = arith.extf %e : f16 to f32
      %5 = arith.addf %3, %4 : f32
      sm90.yield %5 : f32
    } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1> slots !llvm.ptr<1> extras !llvm.ptr<1>, !llvm.ptr<1>, !llvm.ptr<1>, !llvm.ptr<1>
  }

  // A stack of matrices is stored by TMA alone, which clips at its edges.
  // CHECK-LABEL: llvm.func @plane
  // CHECK-NOT: vector<4xi32>
  // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %{{.*}}, box[%{{.*}}, %{{.*}}, %[[GROUP:.*]]]
  // CHECK-LABEL: llvm.func @reduce
  // CHECK-NOT: llvm.load
  // CHECK: nvvm.cp.async.bulk.tensor.reduce %{{.*}}, %{{.*}}, box[%{{.*}}, %{{.*}}, %{{.*}}] {redKind = #nvvm.tma_redux_kind<add>}
  // CHECK: nvvm.cp.async.bulk.commit.group
  sm90.kernel @plane <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, f32, dims = [<of = size, dim = 2>, <of = size, dim = 1>, <of = size>], strides = [<of = stride, dim = 1>, <of = stride>], box = [32, 16, 1]>,
              #sm90.pointer<0>, #sm90.stride<arg = 0, dim = 1>, #sm90.size<arg = 0, dim = 1>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64, %end: i32):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<64>
    sm90.epilogue %acc at (%zero, %zero) end %end group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [f32], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64, plane} {
    ^bb0(%x: f32):
      sm90.yield %x : f32
    } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1>
  }
  sm90.kernel @reduce <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, f32, dims = [<of = size, dim = 2>, <of = size, dim = 1>, <of = size>], strides = [<of = stride, dim = 1>, <of = stride>], box = [32, 16, 1]>,
              #sm90.pointer<0>, #sm90.stride<arg = 0, dim = 1>, #sm90.size<arg = 0, dim = 1>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64, %end: i32):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<64>
    sm90.epilogue %acc at (%zero, %zero) end %end group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [f32], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64, plane, reduce} {
    ^bb0(%x: f32):
      sm90.yield %x : f32
    } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1>
  }

  // Zeros: whole vectors, and elements where the columns end inside one.
  // CHECK-LABEL: llvm.func @zeros
  // CHECK: scf.for
  // CHECK:   scf.for
  // CHECK:     scf.if
  // CHECK:       llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<1>
  // CHECK:     } else {
  // CHECK-COUNT-3: llvm.store %{{.*}} : bf16, !llvm.ptr<1>
  sm90.kernel @zeros <threads = 384, per_sm = 1> params [#sm90.pointer<0>, #sm90.stride<arg = 0, dim = 0>, #sm90.size<arg = 0, dim = 0>] {
  ^bb0(%y: !llvm.ptr<1>, %pitch: i64, %end: i32):
    %zero = arith.constant 0 : i32
    sm90.store_zeros %y pitch %pitch at (%zero, %zero) end %end {element = bf16, columns = 771 : i64, height = 64 : i64, width = 256 : i64} : !llvm.ptr<1>
  }
}
