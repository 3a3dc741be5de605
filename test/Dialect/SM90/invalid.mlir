// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{has 2 strides, expected 1}}
module attributes {sm90.x = #sm90.tensor_map<0, bf16, dims = [<constant = 64>, <of = size>], strides = [<of = stride>, <of = stride>], box = [64, 128]>} {}

// -----

// expected-error @+1 {{box size #1 is 512, expected 1 to 256}}
module attributes {sm90.x = #sm90.tensor_map<0, bf16, dims = [<constant = 64>, <of = size>], strides = [<of = stride>], box = [64, 512]>} {}

// -----

// expected-error @+1 {{inner box has 256 bytes, expected 128, the width of the swizzle}}
module attributes {sm90.x = #sm90.tensor_map<0, f32, dims = [<constant = 64>, <of = size>], strides = [<of = stride>], box = [64, 128]>} {}

// -----

// expected-error @+1 {{tile takes 256 accumulator registers a thread, expected at most 128}}
module attributes {sm90.schedule = #sm90.schedule<roles = pingpong, m = 128, n = 256, stages = 2>} {}

// -----

// expected-error @+1 {{m is 64, expected 128 for roles cooperative}}
module attributes {sm90.schedule = #sm90.schedule<m = 64, n = 256, stages = 2>} {}

// -----

// expected-error @+1 {{n is 96, expected 64, 128, 192 or 256}}
module attributes {sm90.schedule = #sm90.schedule<m = 128, n = 96, stages = 2>} {}

// -----

// expected-error @+1 {{cluster is 4, expected 1 or 2}}
module attributes {sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4, cluster = 4>} {}

// -----

// expected-error @+1 {{cluster is 2 and n is 64, expected n to be at least 128}}
module attributes {sm90.schedule = #sm90.schedule<m = 128, n = 64, stages = 4, cluster = 2>} {}

// -----

// expected-error @+1 {{5 stages and 2 buffers take 278608 bytes of shared memory, expected at least 2 stages and at most 232448}}
module attributes {sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 5>} {}

// -----

// expected-error @+1 {{ring has 1 stages, expected at least 2}}
func.func private @f(!sm90.ring<1 x 1024>)

// -----

// expected-error @+1 {{stage has 1000 bytes, expected a positive multiple of 16}}
func.func private @f(!sm90.ring<2 x 1000>)

// -----

// expected-error @+1 {{accumulator has 12 columns, expected a multiple of 8 from 8 to 256}}
func.func private @f(!sm90.acc<12>)

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sm90.kernel' op has 0 block arguments, expected 1, one for each parameter}}
  sm90.kernel @k <threads = 128, blocks = 1> params [#sm90.pointer<0>] {
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sm90.kernel' op argument #0 is 'i32', expected 'i64'}}
  sm90.kernel @k <threads = 128, blocks = 1> params [#sm90.scalar<index = 0>] {
  ^bb0(%n: i32):
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sm90.kernel' op needs 262208 bytes of shared memory, expected at most 232448}}
  sm90.kernel @k <threads = 384, per_sm = 1> params [] {
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 65536>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [] {
    %warp = sm90.warp
    // expected-error @+1 {{'sm90.specialize' op budget of consumers is 236 registers, expected a multiple of 8 from 24 to 256}}
    sm90.specialize %warp producer 40 {
    } consumers 236 {
    }
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [] {
    %warp = sm90.warp
    // expected-error @+1 {{'sm90.specialize' op budgets come to 66560 registers for 384 threads, expected at most 65536}}
    sm90.specialize %warp producer 40 {
    } consumers 240 {
    }
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [#sm90.tensor_map<0, bf16, dims = [<constant = 64>, <of = size>], strides = [<of = stride>], box = [64, 16]>] {
  ^bb0(%a: !sm90.tensor_map):
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 4096>
    %cursor = sm90.start
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sm90.acquire' op expects 4096 bytes, but its block loads 2048}}
    sm90.acquire %ring[%cursor] expect 4096 : !sm90.ring<4 x 4096>
    sm90.tma_load %a[%zero, %zero] to %ring[%cursor] + %zero bytes 2048 : !sm90.ring<4 x 4096>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [#sm90.tensor_map<0, bf16, dims = [<constant = 64>, <of = size>], strides = [<of = stride>], box = [64, 16]>] {
  ^bb0(%a: !sm90.tensor_map):
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 4096>
    %cursor = sm90.start
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sm90.tma_load' op is multicast in a cluster of 1, expected 2}}
    sm90.tma_load %a[%zero, %zero] to %ring[%cursor] + %zero bytes 2048 multicast : !sm90.ring<4 x 4096>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 16]>, #sm90.pointer<0>, #sm90.stride<arg = 0, dim = 0>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<64>
    // expected-error @+1 {{'sm90.epilogue' op has 1 accumulators, 1 maps, 2 outs, 1 pitches and 1 types, expected at least one accumulator and one of each for an out}}
    sm90.epilogue %acc at (%zero, %zero) end %zero group %zero warp %warp staging %staging maps(%map) outs(%y, %y pitches %pitch)
        attributes {types = [f32], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64} {
    ^bb0(%x: f32):
      sm90.yield %x : f32
    } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1>, !llvm.ptr<1>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 16]>, #sm90.pointer<0>, #sm90.stride<arg = 0, dim = 0>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<96>
    // expected-error @+1 {{'sm90.epilogue' op has 96 result columns, expected a multiple of 64}}
    sm90.epilogue %acc at (%zero, %zero) end %zero group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [f32], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64} {
    ^bb0(%x: f32):
      sm90.yield %x : f32
    } : !llvm.ptr<3>, !sm90.acc<96> outs !llvm.ptr<1>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 16]>, #sm90.pointer<0>, #sm90.stride<arg = 0, dim = 0>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<64>
    // expected-error @+1 {{'sm90.epilogue' op has 0 extras, 0 pitches, 0 types and 1 kinds of them, expected equal numbers}}
    sm90.epilogue %acc at (%zero, %zero) end %zero group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [f32], extra_types = [], extra_kinds = array<i64: 0>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64} {
    ^bb0(%x: f32):
      sm90.yield %x : f32
    } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 16]>, #sm90.pointer<0>, #sm90.stride<arg = 0, dim = 0>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<64>
    // expected-error @+1 {{'sm90.epilogue' op has reduce but not plane, expected plane without accumulate}}
    sm90.epilogue %acc at (%zero, %zero) end %zero group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [f32], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64, reduce} {
    ^bb0(%x: f32):
      sm90.yield %x : f32
    } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 16]>, #sm90.pointer<0>, #sm90.stride<arg = 0, dim = 0>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<64>
    // expected-error @+1 {{'sm90.epilogue' op has reduce and accumulate, expected plane without accumulate}}
    sm90.epilogue %acc at (%zero, %zero) end %zero group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [f32], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64, plane, reduce, accumulate} {
    ^bb0(%x: f32):
      sm90.yield %x : f32
    } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 16]>, #sm90.pointer<0>, #sm90.stride<arg = 0, dim = 0>] {
  ^bb0(%map: !sm90.tensor_map, %y: !llvm.ptr<1>, %pitch: i64):
    %warp = sm90.warp
    %zero = arith.constant 0 : i32
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %acc = sm90.undef : !sm90.acc<64>
    // expected-error @+1 {{'sm90.epilogue' op has reduce into an out of bf16, expected f32}}
    sm90.epilogue %acc at (%zero, %zero) end %zero group %zero warp %warp staging %staging maps(%map) outs(%y pitches %pitch)
        attributes {types = [bf16], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64, plane, reduce} {
    ^bb0(%x: f32):
      sm90.yield %x : f32
    } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [] {
    %warp = sm90.warp
    sm90.elect %warp {
      // expected-error @+1 {{'sm90.turns' op stands in a nested region, expected the block of a sm90.kernel}}
      %turns = sm90.turns : !llvm.ptr<3>
    }
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [#sm90.tensor_map<0, bf16, dims = [<constant = 64>, <of = size>], strides = [<of = stride>], box = [64, 4]>] {
  ^bb0(%a: !sm90.tensor_map):
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 512>
    %cursor = sm90.start
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sm90.tma_load' op loads into stages of 512 bytes, expected a multiple of 1024}}
    sm90.tma_load %a[%zero, %zero] to %ring[%cursor] + %zero bytes 512 : !sm90.ring<4 x 512>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 128, per_sm = 1> params [#sm90.counter, #sm90.size<arg = 0, dim = 0>] {
  ^bb0(%counter: !llvm.ptr<1>, %rows: i32):
    // expected-error @+1 {{'sm90.for_tiles' op takes tiles without a queue, expected one to hand them on}}
    sm90.for_tiles rows(%rows) takes(%counter : !llvm.ptr<1>)
        attributes {groups = 1 : i64, columns = 64 : i64, tile_m = 128 : i64, tile_n = 64 : i64, raster = 16 : i64} {
    ^bb0(%m: i32, %c: i32, %g: i32, %b: i32, %e: i32, %live: i1):
    }
  }
}

// -----

// expected-error @+1 {{align is 24, expected a power of two up to 128}}
module attributes {sm90.x = #sm90.pointer<0, align = 24>} {}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [] {
    %zero = arith.constant 0 : i32
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 24576>
    %start = sm90.start
    %a = sm90.operand %ring + %zero : !sm90.ring<4 x 24576> -> !sm90.operand<k>
    %b = sm90.operand %ring + %zero : !sm90.ring<4 x 24576> -> !sm90.operand<mn>
    %undef = sm90.undef : !sm90.acc<64>
    // expected-error @+1 {{'sm90.wgmma' op operand b of tf32 is '!sm90.operand<mn>', expected K-major}}
    %acc = sm90.wgmma first tf32 %ring[%start] %a, %b, into %undef : !sm90.ring<4 x 24576>, !sm90.operand<k>, !sm90.operand<mn>, !sm90.acc<64> -> !sm90.acc<64>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [] {
    %zero = arith.constant 0 : i32
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 24576>
    %start = sm90.start
    %a = sm90.operand %ring + %zero : !sm90.ring<4 x 24576> -> !sm90.operand<k>
    %undef = sm90.undef : !sm90.acc<64>
    // expected-error @+1 {{'sm90.wgmma' op element is 'f32', expected bf16, f16 or tf32}}
    %acc = sm90.wgmma first f32 %ring[%start] %a, %a, into %undef : !sm90.ring<4 x 24576>, !sm90.operand<k>, !sm90.operand<k>, !sm90.acc<64> -> !sm90.acc<64>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [] {
    %zero = arith.constant 0 : i32
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 24576>
    %start = sm90.start
    %a = sm90.operand %ring + %zero : !sm90.ring<4 x 24576> -> !sm90.operand<k>
    %undef = sm90.undef : !sm90.acc<64>
    // expected-error @+1 {{'sm90.wgmma' op has halves apart of 64 columns, expected a multiple of 128}}
    %acc = sm90.wgmma first bf16 %ring[%start] %a, %a, into %undef {apart = 8192 : i64} : !sm90.ring<4 x 24576>, !sm90.operand<k>, !sm90.operand<k>, !sm90.acc<64> -> !sm90.acc<64>
  }
}

// -----

// expected-error @+1 {{count is 12, expected a multiple of 8 from 8 to 256}}
func.func private @f(!sm90.rows<12>)

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [#sm90.pointer<1>, #sm90.size<arg = 0, dim = 1>] {
  ^bb0(%p: !llvm.ptr<1>, %n: i32):
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<2 x 16384>
    %start = sm90.start
    %rows = sm90.gather_rows %p[%n to %n] : !llvm.ptr<1> -> !sm90.rows<128>
    // expected-error @+1 {{'sm90.gather_load' op gathers into a ring of 1 arrivals, expected 65}}
    sm90.gather_load %p pitch %n width %n [%rows] block %n to %ring[%start] + %n : !llvm.ptr<1>, !sm90.rows<128>, !sm90.ring<2 x 16384>
  }
}

// -----

gpu.module @kernels {
  sm90.kernel @k <threads = 384, per_sm = 1> params [#sm90.pointer<1>, #sm90.size<arg = 0, dim = 1>] {
  ^bb0(%p: !llvm.ptr<1>, %n: i32):
    %ring = sm90.ring arrivals 65 releases 8 : !sm90.ring<2 x 8192>
    %start = sm90.start
    %rows = sm90.gather_rows %p[%n to %n] : !llvm.ptr<1> -> !sm90.rows<128>
    // expected-error @+1 {{'sm90.gather_load' op loads 16384 bytes into a stage of 8192}}
    sm90.gather_load %p pitch %n width %n [%rows] block %n to %ring[%start] + %n : !llvm.ptr<1>, !sm90.rows<128>, !sm90.ring<2 x 8192>
  }
}
