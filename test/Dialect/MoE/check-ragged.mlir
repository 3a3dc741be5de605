// RUN: moe-opt %s -moe-check-ragged -split-input-file -verify-diagnostics -allow-unregistered-dialect -o /dev/null

#r = #moe.ragged<groups = 2>
#u = #moe.ragged<groups = 2, tail = undefined>
!p = !moe.plan<groups = 2, rows = 8>

//===--- accepted ---===//

// Undefined rows may be carried through elementwise work into ops that never read them.
func.func @undefined_inside(%x: tensor<8x4xf32, #u>, %w: tensor<2x4x6xf32>, %s: tensor<2xi32>)
    -> (tensor<8x6xf32, #r>, tensor<2x6xf32>) {
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !p
  %0 = math.exp %x : tensor<8x4xf32, #u>
  %1 = arith.addf %0, %x : tensor<8x4xf32, #u>
  %2 = moe.ragged_matmul %1, %w plan %p : tensor<8x4xf32, #u>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #r>
  %3 = moe.group_sum %2, %p : tensor<8x6xf32, #r>, !p -> tensor<2x6xf32>
  return %2, %3 : tensor<8x6xf32, #r>, tensor<2x6xf32>
}

// A plain tensor may become ragged and the result plain again: the product's tail is zero.
func.func @plain(%x: tensor<8x4xf32>, %w: tensor<2x4x6xf32>, %s: tensor<2xi32>) -> tensor<8x6xf32> {
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !p
  %0 = tensor.cast %x : tensor<8x4xf32> to tensor<8x4xf32, #r>
  %1 = moe.ragged_matmul %0, %w plan %p : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #r>
  %2 = tensor.cast %1 : tensor<8x6xf32, #r> to tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}

// Rows may be summed where they are zero outside the groups, and columns always.
func.func @reductions(%x: tensor<8x4xf32, #r>, %u: tensor<8x4xf32, #u>, %s: tensor<2xi32>) -> (tensor<4xf32>, tensor<8xf32, #r>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
                       iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32, #r>) outs(%i : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4xf32>
  %f = tensor.empty() : tensor<8xf32, #r>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<8xf32, #r>) -> tensor<8xf32, #r>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
                       iterator_types = ["parallel", "reduction"]} ins(%u : tensor<8x4xf32, #u>) outs(%j : tensor<8xf32, #r>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<8xf32, #r>
  return %0, %1 : tensor<4xf32>, tensor<8xf32, #r>
}

// One constant or empty tensor may serve two plans.
func.func @shared(%x: tensor<8x4xf32>, %w: tensor<2x4x4xf32>, %s: tensor<2xi32>, %t: tensor<2xi32>) -> (tensor<8x4xf32, #r>, tensor<8x4xf32, #r>) {
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !p
  %q = moe.plan_from_sizes %t : tensor<2xi32> -> !p
  %c = arith.constant dense<0.0> : tensor<8x4xf32, #r>
  %a = tensor.cast %x : tensor<8x4xf32> to tensor<8x4xf32, #r>
  %b = tensor.cast %x : tensor<8x4xf32> to tensor<8x4xf32, #r>
  %0 = moe.ragged_matmul %a, %w plan %p : tensor<8x4xf32, #r>, tensor<2x4x4xf32>, !p -> tensor<8x4xf32, #r>
  %1 = moe.ragged_matmul %b, %w plan %q : tensor<8x4xf32, #r>, tensor<2x4x4xf32>, !p -> tensor<8x4xf32, #r>
  %2 = arith.addf %0, %c : tensor<8x4xf32, #r>
  %3 = arith.addf %1, %c : tensor<8x4xf32, #r>
  return %2, %3 : tensor<8x4xf32, #r>, tensor<8x4xf32, #r>
}

// Element offsets are 64-bit: 299600 * 7168 passes 2^31.
func.func @large(%x: tensor<299600x7168xbf16>, %ids: tensor<299600x1xi32>) -> tensor<299600x7168xbf16> {
  %p = moe.plan %ids : tensor<299600x1xi32> -> !moe.plan<groups = 2, rows = 299600, tokens = 299600, topk = 1>
  %g = moe.gather %x, %p : tensor<299600x7168xbf16>, !moe.plan<groups = 2, rows = 299600, tokens = 299600, topk = 1>
      -> tensor<299600x7168xbf16, #r>
  %o = moe.combine %g, %p : tensor<299600x7168xbf16, #r>, !moe.plan<groups = 2, rows = 299600, tokens = 299600, topk = 1>
      -> tensor<299600x7168xbf16>
  return %o : tensor<299600x7168xbf16>
}

// Every dimension dynamic.
func.func @dynamic(%x: tensor<?x?xf32>, %w: tensor<?x?x?xf32>, %s: tensor<2xi32>, %m: index) -> tensor<?x?xf32> {
  %p = moe.plan_from_sizes %s rows %m : tensor<2xi32> -> !moe.plan<groups = 2>
  %0 = tensor.cast %x : tensor<?x?xf32> to tensor<?x?xf32, #r>
  %1 = moe.ragged_matmul %0, %w plan %p : tensor<?x?xf32, #r>, tensor<?x?x?xf32>, !moe.plan<groups = 2> -> tensor<?x?xf32, #r>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %0, %c0 : tensor<?x?xf32, #r>
  %2 = tensor.cast %1 : tensor<?x?xf32, #r> to tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

// -----

//===--- undefined rows ---===//

#u = #moe.ragged<groups = 2, tail = undefined>

// a function result
func.func @f(%x: tensor<8x4xf32, #u>) -> tensor<8x4xf32, #u> {
  // expected-note@+1 {{its encoding says tail = undefined here}}
  %0 = math.exp %x : tensor<8x4xf32, #u>
  // expected-error@+1 {{'func.return' op returns operand #0, which may hold anything in rows outside every group, expected zeros}}
  return %0 : tensor<8x4xf32, #u>
}

// -----

#r = #moe.ragged<groups = 2>

// a plain tensor that claims a zero tail
func.func @f(%x: tensor<8x4xf32>) -> (tensor<8x4xf32, #r>, tensor<8x4xf32>) {
  // expected-note@+1 {{a plain tensor becomes ragged here}}
  %0 = tensor.cast %x : tensor<8x4xf32> to tensor<8x4xf32, #r>
  // expected-error@+1 {{'tensor.cast' op makes a plain tensor of operand #0, which may hold anything in rows outside every group, expected zeros}}
  %1 = tensor.cast %0 : tensor<8x4xf32, #r> to tensor<8x4xf32>
  // expected-error@+1 {{'func.return' op returns operand #0, which may hold anything}}
  return %0, %1 : tensor<8x4xf32, #r>, tensor<8x4xf32>
}

// -----

#r = #moe.ragged<groups = 2>
#u = #moe.ragged<groups = 2, tail = undefined>

// a cast does not make rows zero
// expected-note@+1 {{its encoding says tail = undefined here}}
func.func @f(%x: tensor<8x4xf32, #u>) -> tensor<8x4xf32, #r> {
  %0 = tensor.cast %x : tensor<8x4xf32, #u> to tensor<8x4xf32, #r>
  // expected-error@+1 {{'func.return' op returns operand #0, which may hold anything}}
  return %0 : tensor<8x4xf32, #r>
}

// -----

#r = #moe.ragged<groups = 2>

// an uninitialised tensor and a constant
func.func @f() -> (tensor<8x4xf32, #r>, tensor<8x4xf32, #r>) {
  // expected-note@+1 {{rows outside every group are not set to zero here}}
  %0 = tensor.empty() : tensor<8x4xf32, #r>
  // expected-note@+1 {{rows outside every group are not set to zero here}}
  %1 = arith.constant dense<1.0> : tensor<8x4xf32, #r>
  // expected-error@+2 {{'func.return' op returns operand #0, which may hold anything}}
  // expected-error@+1 {{'func.return' op returns operand #1, which may hold anything}}
  return %0, %1 : tensor<8x4xf32, #r>, tensor<8x4xf32, #r>
}

// -----

#u = #moe.ragged<groups = 2, tail = undefined>

// an op that is not known to work row by row
// expected-note@+1 {{its encoding says tail = undefined here}}
func.func @f(%x: tensor<8x4xf32, #u>) {
  // expected-error@+1 {{'test.op' op does not work row by row on operand #0, which may hold anything}}
  "test.op"(%x) : (tensor<8x4xf32, #u>) -> ()
  return
}

// -----

#u = #moe.ragged<groups = 2, tail = undefined>

// a slice of rows
// expected-note@+1 {{its encoding says tail = undefined here}}
func.func @f(%x: tensor<8x4xf32, #u>) -> tensor<2x4xf32> {
  // expected-error@+1 {{'tensor.extract_slice' op does not work row by row on operand #0, which may hold anything}}
  %0 = tensor.extract_slice %x[6, 0] [2, 4] [1, 1] : tensor<8x4xf32, #u> to tensor<2x4xf32, #u>
  %1 = tensor.empty() : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

#u = #moe.ragged<groups = 2, tail = undefined>

// a reduction over rows
// expected-note@+1 {{its encoding says tail = undefined here}}
func.func @f(%x: tensor<8x4xf32, #u>, %i: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'linalg.generic' op reduces over the rows of operand #0, which may hold anything in rows outside every group, expected zeros}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
                       iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32, #u>) outs(%i : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#u = #moe.ragged<groups = 2, tail = undefined>

// a transpose moves rows to where no encoding speaks of them
// expected-note@+1 {{its encoding says tail = undefined here}}
func.func @f(%x: tensor<8x4xf32, #u>, %i: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{'linalg.generic' op does not work row by row on operand #0, which may hold anything}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>],
                       iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32, #u>) outs(%i : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

#u = #moe.ragged<groups = 2, tail = undefined>

// control flow
// expected-note@+1 {{its encoding says tail = undefined here}}
func.func @f(%x: tensor<8x4xf32, #u>, %c: i1) {
  %0 = scf.if %c -> tensor<8x4xf32, #u> {
    // expected-error@+1 {{'scf.yield' op returns operand #0, which may hold anything}}
    scf.yield %x : tensor<8x4xf32, #u>
  } else {
    %z = arith.constant dense<0.0> : tensor<8x4xf32, #u>
    // expected-note@-1 {{its encoding says tail = undefined here}}
    // expected-error@+1 {{'scf.yield' op returns operand #0, which may hold anything}}
    scf.yield %z : tensor<8x4xf32, #u>
  }
  return
}

// -----

//===--- mixed plans ---===//

#r = #moe.ragged<groups = 2>
!p = !moe.plan<groups = 2, topk = 1>

func.func @f(%x: tensor<?x4xf32>, %a: tensor<?x1xi32>, %b: tensor<?x1xi32>, %w: tensor<2x4x6xf32>) -> tensor<?x6xf32, #r> {
  // expected-note@+1 {{one plan is made here}}
  %p = moe.plan %a : tensor<?x1xi32> -> !p
  // expected-note@+1 {{the other plan is made here}}
  %q = moe.plan %b : tensor<?x1xi32> -> !p
  // expected-note@+1 {{and is that of the operand by this op}}
  %g = moe.gather %x, %p : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  %h = math.exp %g : tensor<?x4xf32, #r>
  // expected-error@+1 {{'moe.ragged_matmul' op mixes two plans, expected its ragged operands and results to be of one}}
  %0 = moe.ragged_matmul %h, %w plan %q : tensor<?x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<?x6xf32, #r>
  return %0 : tensor<?x6xf32, #r>
}

// -----

#r = #moe.ragged<groups = 2>
!p = !moe.plan<groups = 2, topk = 1>

// elementwise
func.func @f(%x: tensor<?x4xf32>, %a: tensor<?x1xi32>, %b: tensor<?x1xi32>) -> tensor<?x4xf32, #r> {
  // expected-note@+1 {{one plan is made here}}
  %p = moe.plan %a : tensor<?x1xi32> -> !p
  // expected-note@+1 {{the other plan is made here}}
  %q = moe.plan %b : tensor<?x1xi32> -> !p
  // expected-note@+1 {{and is that of the operand by this op}}
  %g = moe.gather %x, %p : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  %h = moe.gather %x, %q : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  // expected-error@+1 {{'arith.addf' op mixes two plans, expected its ragged operands and results to be of one}}
  %0 = arith.addf %g, %h : tensor<?x4xf32, #r>
  return %0 : tensor<?x4xf32, #r>
}

// -----

#r = #moe.ragged<groups = 2>
!p = !moe.plan<groups = 2, rows = 8>

// an argument is ragged by the first plan it meets, and so is what was computed from it before
func.func @f(%x: tensor<8x4xf32, #r>, %a: tensor<2xi32>, %b: tensor<2xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  // expected-note@+1 {{one plan is made here}}
  %p = moe.plan_from_sizes %a : tensor<2xi32> -> !p
  // expected-note@+1 {{the other plan is made here}}
  %q = moe.plan_from_sizes %b : tensor<2xi64> -> !p
  %y = math.exp %x : tensor<8x4xf32, #r>
  // expected-note@+1 {{and is that of the operand by this op}}
  %0 = moe.group_sum %x, %p : tensor<8x4xf32, #r>, !p -> tensor<2x4xf32>
  // expected-error@+1 {{'moe.group_sum' op mixes two plans}}
  %1 = moe.group_sum %y, %q : tensor<8x4xf32, #r>, !p -> tensor<2x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

#r = #moe.ragged<groups = 2>

// groups and alignment stay
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<8x4xf32, #moe.ragged<groups = 2, align = 8>>) {
  // expected-error@+1 {{'tensor.cast' op goes from groups = 2, align = 1 to groups = 4, align = 1, expected the same}}
  %0 = tensor.cast %x : tensor<8x4xf32, #r> to tensor<8x4xf32, #moe.ragged<groups = 4>>
  // expected-error@+1 {{'linalg.exp' op goes from groups = 2, align = 1 to groups = 2, align = 8, expected the same}}
  %1 = linalg.exp ins(%x : tensor<8x4xf32, #r>) outs(%y : tensor<8x4xf32, #moe.ragged<groups = 2, align = 8>>)
      -> tensor<8x4xf32, #moe.ragged<groups = 2, align = 8>>
  return
}

// -----

//===--- plans stay in their function ---===//

// expected-error@+1 {{'func.func' op argument #0 is '!moe.plan<groups = 2>', expected no plan to cross a function boundary}}
func.func private @f(!moe.plan<groups = 2>)

// -----

// expected-error@+1 {{'func.func' op result #0 is '!moe.plan<groups = 2, rows = 8>', expected no plan to cross a function boundary}}
func.func @f(%s: tensor<2xi32>) -> !moe.plan<groups = 2, rows = 8> {
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !moe.plan<groups = 2, rows = 8>
  // expected-error@+1 {{'func.return' op operand #0 is '!moe.plan<groups = 2, rows = 8>', expected a plan to be made and used by moe ops of one function only}}
  return %p : !moe.plan<groups = 2, rows = 8>
}

// -----

func.func @f(%s: tensor<2xi32>, %c: i1) {
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !moe.plan<groups = 2, rows = 8>
  // expected-error@+1 {{'arith.select' op operand #1 is '!moe.plan<groups = 2, rows = 8>', expected a plan to be made and used by moe ops of one function only}}
  %q = arith.select %c, %p, %p : !moe.plan<groups = 2, rows = 8>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{'test.op' op result #0 is '!moe.plan<groups = 2>', expected a plan to be made and used by moe ops of one function only}}
  %p = "test.op"() : () -> !moe.plan<groups = 2>
  // expected-error@+1 {{'test.region' op region argument #0 is '!moe.plan<groups = 2>', expected a plan to be made and used by moe ops of one function only}}
  "test.region"() ({
  ^bb0(%q: !moe.plan<groups = 2>):
    "test.done"() : () -> ()
  }) : () -> ()
  return
}

// -----

//===--- 32-bit rows ---===//

// slots
func.func @f(%ids: tensor<1073741824x2xi32>) {
  // expected-error@+1 {{'moe.plan' op number of slots (tokens * topk) of the plan is 2147483648, expected at most 2147483647 (they are numbered in i32)}}
  %p = moe.plan %ids {capacity = 8} : tensor<1073741824x2xi32> -> !moe.plan<groups = 2, rows = 8, tokens = 1073741824, topk = 2>
  // one slot fewer a token
  %0 = tensor.extract_slice %ids[0, 0] [1073741823, 2] [1, 1] : tensor<1073741824x2xi32> to tensor<1073741823x2xi32>
  %q = moe.plan %0 : tensor<1073741823x2xi32> -> !moe.plan<groups = 2, rows = 2147483646, tokens = 1073741823, topk = 2>
  return
}

// -----

// rows
func.func @f(%s: tensor<2xi64>) {
  // expected-error@+1 {{'moe.plan_from_sizes' op number of rows of the plan is 2147483648, expected at most 2147483647}}
  %p = moe.plan_from_sizes %s : tensor<2xi64> -> !moe.plan<groups = 2, rows = 2147483648>
  %q = moe.plan_from_sizes %s : tensor<2xi64> -> !moe.plan<groups = 2, rows = 2147483647>
  return
}

// -----

// groups
func.func @f(%ids: tensor<?x2xi32>) {
  // expected-error@+1 {{'moe.plan' op number of groups of the plan is 2147483648, expected at most 2147483647}}
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 2147483648, topk = 2>
  return
}
