"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<24x32xf32>, tensor<24x48xf32>, tensor<6xi32>) -> tensor<6x32x48xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<24x32xf32>, %arg4: tensor<24x48xf32>, %arg5: tensor<6xi32>):
    %82 = "stablehlo.composite"(%arg3, %arg4, %arg5) <{composite_attributes = {precision_config = ["HIGHEST", "HIGHEST"], ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<> : tensor<0xi64>]}, decomposition = @chlo.ragged_dot.impl, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<24x32xf32>, tensor<24x48xf32>, tensor<6xi32>) -> tensor<6x32x48xf32>
    "func.return"(%82) : (tensor<6x32x48xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<24x32xf32>, tensor<24x48xf32>, tensor<6xi32>) -> tensor<6x32x48xf32>, sym_name = "chlo.ragged_dot.impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<24x32xf32>, %arg1: tensor<24x48xf32>, %arg2: tensor<6xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<24x32xf32>}> : () -> tensor<24x32xf32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24x1xi64>
    %3 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %4 = "stablehlo.reshape"(%3) : (tensor<1xi32>) -> tensor<i32>
    %5 = "stablehlo.convert"(%4) : (tensor<i32>) -> tensor<i64>
    %6 = "stablehlo.add"(%1, %5) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %7 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %8 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %9 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x32xi64>
    %10 = "stablehlo.compare"(%9, %7) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %11 = "stablehlo.compare"(%9, %8) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %12 = "stablehlo.and"(%10, %11) : (tensor<24x32xi1>, tensor<24x32xi1>) -> tensor<24x32xi1>
    %13 = "stablehlo.select"(%12, %arg0, %0) : (tensor<24x32xi1>, tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %14 = "stablehlo.dot_general"(%13, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x32xf32>, tensor<24x48xf32>) -> tensor<32x48xf32>
    %15 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %16 = "stablehlo.reshape"(%15) : (tensor<1xi32>) -> tensor<i32>
    %17 = "stablehlo.convert"(%16) : (tensor<i32>) -> tensor<i64>
    %18 = "stablehlo.add"(%6, %17) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %19 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %20 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %21 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x32xi64>
    %22 = "stablehlo.compare"(%21, %19) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %23 = "stablehlo.compare"(%21, %20) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %24 = "stablehlo.and"(%22, %23) : (tensor<24x32xi1>, tensor<24x32xi1>) -> tensor<24x32xi1>
    %25 = "stablehlo.select"(%24, %arg0, %0) : (tensor<24x32xi1>, tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %26 = "stablehlo.dot_general"(%25, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x32xf32>, tensor<24x48xf32>) -> tensor<32x48xf32>
    %27 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %28 = "stablehlo.reshape"(%27) : (tensor<1xi32>) -> tensor<i32>
    %29 = "stablehlo.convert"(%28) : (tensor<i32>) -> tensor<i64>
    %30 = "stablehlo.add"(%18, %29) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %31 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %32 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %33 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x32xi64>
    %34 = "stablehlo.compare"(%33, %31) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %35 = "stablehlo.compare"(%33, %32) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %36 = "stablehlo.and"(%34, %35) : (tensor<24x32xi1>, tensor<24x32xi1>) -> tensor<24x32xi1>
    %37 = "stablehlo.select"(%36, %arg0, %0) : (tensor<24x32xi1>, tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %38 = "stablehlo.dot_general"(%37, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x32xf32>, tensor<24x48xf32>) -> tensor<32x48xf32>
    %39 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %40 = "stablehlo.reshape"(%39) : (tensor<1xi32>) -> tensor<i32>
    %41 = "stablehlo.convert"(%40) : (tensor<i32>) -> tensor<i64>
    %42 = "stablehlo.add"(%30, %41) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %43 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %44 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %45 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x32xi64>
    %46 = "stablehlo.compare"(%45, %43) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %47 = "stablehlo.compare"(%45, %44) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %48 = "stablehlo.and"(%46, %47) : (tensor<24x32xi1>, tensor<24x32xi1>) -> tensor<24x32xi1>
    %49 = "stablehlo.select"(%48, %arg0, %0) : (tensor<24x32xi1>, tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %50 = "stablehlo.dot_general"(%49, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x32xf32>, tensor<24x48xf32>) -> tensor<32x48xf32>
    %51 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 5>, start_indices = array<i64: 4>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %52 = "stablehlo.reshape"(%51) : (tensor<1xi32>) -> tensor<i32>
    %53 = "stablehlo.convert"(%52) : (tensor<i32>) -> tensor<i64>
    %54 = "stablehlo.add"(%42, %53) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %55 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %56 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %57 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x32xi64>
    %58 = "stablehlo.compare"(%57, %55) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %59 = "stablehlo.compare"(%57, %56) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %60 = "stablehlo.and"(%58, %59) : (tensor<24x32xi1>, tensor<24x32xi1>) -> tensor<24x32xi1>
    %61 = "stablehlo.select"(%60, %arg0, %0) : (tensor<24x32xi1>, tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %62 = "stablehlo.dot_general"(%61, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x32xf32>, tensor<24x48xf32>) -> tensor<32x48xf32>
    %63 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 6>, start_indices = array<i64: 5>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %64 = "stablehlo.reshape"(%63) : (tensor<1xi32>) -> tensor<i32>
    %65 = "stablehlo.convert"(%64) : (tensor<i32>) -> tensor<i64>
    %66 = "stablehlo.add"(%54, %65) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %67 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %68 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x32xi64>
    %69 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x32xi64>
    %70 = "stablehlo.compare"(%69, %67) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %71 = "stablehlo.compare"(%69, %68) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x32xi64>, tensor<24x32xi64>) -> tensor<24x32xi1>
    %72 = "stablehlo.and"(%70, %71) : (tensor<24x32xi1>, tensor<24x32xi1>) -> tensor<24x32xi1>
    %73 = "stablehlo.select"(%72, %arg0, %0) : (tensor<24x32xi1>, tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %74 = "stablehlo.dot_general"(%73, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x32xf32>, tensor<24x48xf32>) -> tensor<32x48xf32>
    %75 = "stablehlo.reshape"(%14) : (tensor<32x48xf32>) -> tensor<1x32x48xf32>
    %76 = "stablehlo.reshape"(%26) : (tensor<32x48xf32>) -> tensor<1x32x48xf32>
    %77 = "stablehlo.reshape"(%38) : (tensor<32x48xf32>) -> tensor<1x32x48xf32>
    %78 = "stablehlo.reshape"(%50) : (tensor<32x48xf32>) -> tensor<1x32x48xf32>
    %79 = "stablehlo.reshape"(%62) : (tensor<32x48xf32>) -> tensor<1x32x48xf32>
    %80 = "stablehlo.reshape"(%74) : (tensor<32x48xf32>) -> tensor<1x32x48xf32>
    %81 = "stablehlo.concatenate"(%75, %76, %77, %78, %79, %80) <{dimension = 0 : i64}> : (tensor<1x32x48xf32>, tensor<1x32x48xf32>, tensor<1x32x48xf32>, tensor<1x32x48xf32>, tensor<1x32x48xf32>, tensor<1x32x48xf32>) -> tensor<6x32x48xf32>
    "func.return"(%81) : (tensor<6x32x48xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

