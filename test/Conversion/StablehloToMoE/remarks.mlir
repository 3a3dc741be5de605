// RUN: moe-opt %s --allow-unregistered-dialect --convert-stablehlo-to-moe --verify-diagnostics -o /dev/null

// What cannot be taken stays, with a remark.
func.func @all(%x: tensor<8x16xf32>, %xt: tensor<16x8xf32>, %xb: tensor<8x16xbf16>, %xf64: tensor<8x16xf64>, %xv: tensor<3x8x16xf32>,
    %w: tensor<4x16x5xf32>, %wf64: tensor<4x16x5xf64>, %wv: tensor<3x4x16x5xf32>, %s: tensor<4xi32>, %sv: tensor<3x4xi32>, %s5: tensor<5xi32>,
    %sd: tensor<?xi32>, %s16: tensor<4xi16>, %o: tensor<1xi32>, %u: tensor<*xf32>) {
  // expected-remark @below {{ragged dot is left as it is: its dimension numbers are not among those taken: batching [0] x [0], contracting [2] x [2], ragged [1], group [1]}}
  %0 = "chlo.ragged_dot"(%xv, %wv, %sv) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [1]>}> : (tensor<3x8x16xf32>, tensor<3x4x16x5xf32>, tensor<3x4xi32>) -> tensor<3x8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: its dimension numbers are not among those taken: batching [] x [], contracting [0] x [1], ragged [1], group [0]}}
  %1 = "chlo.ragged_dot"(%xt, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<16x8xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: it has 4 operands and 1 results, expected lhs, rhs and group sizes, and one result; a group offset is not taken}}
  %2 = "chlo.ragged_dot"(%x, %w, %s, %o) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>, tensor<1xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: an operand or result is no ranked tensor}}
  %3 = "chlo.ragged_dot"(%u, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<*xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: lhs has element type f64, expected f32, bf16 or f16}}
  %4 = "chlo.ragged_dot"(%xf64, %wf64, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf64>, tensor<4x16x5xf64>, tensor<4xi32>) -> tensor<8x5xf64>
  // expected-remark @below {{ragged dot is left as it is: lhs has element type bf16 and rhs f32, expected equal ones}}
  %5 = "chlo.ragged_dot"(%xb, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xbf16>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: the result has element type bf16, expected f32 or f32}}
  %6 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xbf16>
  // expected-remark @below {{ragged dot is left as it is: group sizes have type tensor<3x4xi32>, expected rank 1 and a static length}}
  %7 = "chlo.ragged_dot"(%x, %w, %sv) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<3x4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: group sizes have type tensor<?xi32>, expected rank 1 and a static length}}
  %8 = "chlo.ragged_dot"(%x, %w, %sd) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<?xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: group sizes have element type i16, expected i32 or i64}}
  %9 = "chlo.ragged_dot"(%x, %w, %s16) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi16>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: lhs and rhs have rank 3 and 3, expected 2 and 3}}
  %10 = "chlo.ragged_dot"(%xv, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<3x8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: shapes do not fit: lhs tensor<8x16xf32>, rhs tensor<4x16x5xf32>, 5 group sizes, result tensor<8x5xf32>}}
  %11 = "chlo.ragged_dot"(%x, %w, %s5) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<5xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: shapes do not fit: lhs tensor<8x16xf32>, rhs tensor<4x16x5xf32>, 4 group sizes, result tensor<8x6xf32>}}
  %12 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x6xf32>
  // expected-remark @below {{ragged dot is left as it is: the ragged dot has the unknown attribute algorithm}}
  %13 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, algorithm = "x"}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: ragged_dot_dimension_numbers is missing}}
  %14 = "chlo.ragged_dot"(%x, %w, %s) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision HIGHEST>]}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: ragged_dot_dimension_numbers has the unknown key lhs_tiling}}
  %15 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0], lhs_tiling = [1]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: ragged_dot_dimension_numbers is not readable: ragged_dot<lhs_contracting_dimensions = 1>}}
  %16 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = 1>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: ragged_dot_dimension_numbers is not readable: ragged_dot<lhs_contracting_dimensions = [a]>}}
  %17 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [a]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: ragged_dot_dimension_numbers is not readable: ragged_dot<lhs_contracting_dimensions>}}
  %18 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: ragged_dot_dimension_numbers is not readable: ragged_dot<lhs_contracting_dimensions = [1] rhs_contracting_dimensions = [1]>}}
  %19 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1] rhs_contracting_dimensions = [1]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: ragged_dot_dimension_numbers is not readable: ragged_dot<lhs_contracting_dimensions = [1], lhs_contracting_dimensions = [1]>}}
  %20 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], lhs_contracting_dimensions = [1]>}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: precision_config is 1 : i32, expected a list of two}}
  %21 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = 1 : i32}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: precision_config is [#chlo<precision HIGH>], expected a list of two}}
  %22 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision HIGH>]}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: precision_config has #chlo<precision PACKED_NIBBLE>, expected DEFAULT, HIGH or HIGHEST}}
  %23 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision PACKED_NIBBLE>, #chlo<precision HIGH>]}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: the composite has version 2, expected 1}}
  %24 = "stablehlo.composite"(%x, %w, %s) <{composite_attributes = {ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]}, decomposition = @impl, name = "chlo.ragged_dot", version = 2 : i32}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: the composite has the unknown attribute has_side_effect}}
  %25 = "stablehlo.composite"(%x, %w, %s) <{composite_attributes = {ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]}, decomposition = @impl, name = "chlo.ragged_dot", version = 1 : i32, has_side_effect = false}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: the composite has no composite_attributes}}
  %26 = "stablehlo.composite"(%x, %w, %s) <{decomposition = @impl, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: the ragged dot has the unknown attribute k}}
  %27 = "stablehlo.composite"(%x, %w, %s) <{composite_attributes = {k = 1 : i64}, decomposition = @impl, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: ragged_dot_dimension_numbers has 1 lists, expected 6}}
  %28 = "stablehlo.composite"(%x, %w, %s) <{composite_attributes = {ragged_dot_dimension_numbers = [dense<1> : tensor<1xi64>]}, decomposition = @impl, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  // expected-remark @below {{ragged dot is left as it is: ragged_dot_dimension_numbers has "a", expected a dense list of i64}}
  %29 = "stablehlo.composite"(%x, %w, %s) <{composite_attributes = {ragged_dot_dimension_numbers = ["a", "a", "a", "a", "a", "a"]}, decomposition = @impl, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
  return
}
func.func private @impl(tensor<8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<8x5xf32>
