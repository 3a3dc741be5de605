"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<24x48xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x32xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<24x48xf32>, %arg4: tensor<6x32x48xf32>, %arg5: tensor<6xi32>):
    %92 = "stablehlo.composite"(%arg3, %arg4, %arg5) <{composite_attributes = {precision_config = ["HIGHEST", "HIGHEST"], ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>, dense<2> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]}, decomposition = @chlo.ragged_dot.impl, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<24x48xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x32xf32>
    "func.return"(%92) : (tensor<24x32xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<24x48xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x32xf32>, sym_name = "chlo.ragged_dot.impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<24x48xf32>, %arg1: tensor<6x32x48xf32>, %arg2: tensor<6xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<24x48xf32>}> : () -> tensor<24x48xf32>
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<24x1xi64>
    %3 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %4 = "stablehlo.reshape"(%3) : (tensor<1xi32>) -> tensor<i32>
    %5 = "stablehlo.convert"(%4) : (tensor<i32>) -> tensor<i64>
    %6 = "stablehlo.add"(%1, %5) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %7 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %8 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %9 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x48xi64>
    %10 = "stablehlo.compare"(%9, %7) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %11 = "stablehlo.compare"(%9, %8) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %12 = "stablehlo.and"(%10, %11) : (tensor<24x48xi1>, tensor<24x48xi1>) -> tensor<24x48xi1>
    %13 = "stablehlo.select"(%12, %arg0, %0) : (tensor<24x48xi1>, tensor<24x48xf32>, tensor<24x48xf32>) -> tensor<24x48xf32>
    %14 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 1, 32, 48>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<6x32x48xf32>) -> tensor<1x32x48xf32>
    %15 = "stablehlo.reshape"(%14) : (tensor<1x32x48xf32>) -> tensor<32x48xf32>
    %16 = "stablehlo.dot_general"(%13, %15) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x48xf32>, tensor<32x48xf32>) -> tensor<24x32xf32>
    %17 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %18 = "stablehlo.reshape"(%17) : (tensor<1xi32>) -> tensor<i32>
    %19 = "stablehlo.convert"(%18) : (tensor<i32>) -> tensor<i64>
    %20 = "stablehlo.add"(%6, %19) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %21 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %22 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %23 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x48xi64>
    %24 = "stablehlo.compare"(%23, %21) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %25 = "stablehlo.compare"(%23, %22) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %26 = "stablehlo.and"(%24, %25) : (tensor<24x48xi1>, tensor<24x48xi1>) -> tensor<24x48xi1>
    %27 = "stablehlo.select"(%26, %arg0, %0) : (tensor<24x48xi1>, tensor<24x48xf32>, tensor<24x48xf32>) -> tensor<24x48xf32>
    %28 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 2, 32, 48>, start_indices = array<i64: 1, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<6x32x48xf32>) -> tensor<1x32x48xf32>
    %29 = "stablehlo.reshape"(%28) : (tensor<1x32x48xf32>) -> tensor<32x48xf32>
    %30 = "stablehlo.dot_general"(%27, %29) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x48xf32>, tensor<32x48xf32>) -> tensor<24x32xf32>
    %31 = "stablehlo.add"(%16, %30) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %32 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %33 = "stablehlo.reshape"(%32) : (tensor<1xi32>) -> tensor<i32>
    %34 = "stablehlo.convert"(%33) : (tensor<i32>) -> tensor<i64>
    %35 = "stablehlo.add"(%20, %34) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %36 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %37 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %38 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x48xi64>
    %39 = "stablehlo.compare"(%38, %36) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %40 = "stablehlo.compare"(%38, %37) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %41 = "stablehlo.and"(%39, %40) : (tensor<24x48xi1>, tensor<24x48xi1>) -> tensor<24x48xi1>
    %42 = "stablehlo.select"(%41, %arg0, %0) : (tensor<24x48xi1>, tensor<24x48xf32>, tensor<24x48xf32>) -> tensor<24x48xf32>
    %43 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 3, 32, 48>, start_indices = array<i64: 2, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<6x32x48xf32>) -> tensor<1x32x48xf32>
    %44 = "stablehlo.reshape"(%43) : (tensor<1x32x48xf32>) -> tensor<32x48xf32>
    %45 = "stablehlo.dot_general"(%42, %44) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x48xf32>, tensor<32x48xf32>) -> tensor<24x32xf32>
    %46 = "stablehlo.add"(%31, %45) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %47 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %48 = "stablehlo.reshape"(%47) : (tensor<1xi32>) -> tensor<i32>
    %49 = "stablehlo.convert"(%48) : (tensor<i32>) -> tensor<i64>
    %50 = "stablehlo.add"(%35, %49) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %51 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %52 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %53 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x48xi64>
    %54 = "stablehlo.compare"(%53, %51) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %55 = "stablehlo.compare"(%53, %52) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %56 = "stablehlo.and"(%54, %55) : (tensor<24x48xi1>, tensor<24x48xi1>) -> tensor<24x48xi1>
    %57 = "stablehlo.select"(%56, %arg0, %0) : (tensor<24x48xi1>, tensor<24x48xf32>, tensor<24x48xf32>) -> tensor<24x48xf32>
    %58 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 4, 32, 48>, start_indices = array<i64: 3, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<6x32x48xf32>) -> tensor<1x32x48xf32>
    %59 = "stablehlo.reshape"(%58) : (tensor<1x32x48xf32>) -> tensor<32x48xf32>
    %60 = "stablehlo.dot_general"(%57, %59) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x48xf32>, tensor<32x48xf32>) -> tensor<24x32xf32>
    %61 = "stablehlo.add"(%46, %60) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %62 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 5>, start_indices = array<i64: 4>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %63 = "stablehlo.reshape"(%62) : (tensor<1xi32>) -> tensor<i32>
    %64 = "stablehlo.convert"(%63) : (tensor<i32>) -> tensor<i64>
    %65 = "stablehlo.add"(%50, %64) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %66 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %67 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %68 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x48xi64>
    %69 = "stablehlo.compare"(%68, %66) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %70 = "stablehlo.compare"(%68, %67) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %71 = "stablehlo.and"(%69, %70) : (tensor<24x48xi1>, tensor<24x48xi1>) -> tensor<24x48xi1>
    %72 = "stablehlo.select"(%71, %arg0, %0) : (tensor<24x48xi1>, tensor<24x48xf32>, tensor<24x48xf32>) -> tensor<24x48xf32>
    %73 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 5, 32, 48>, start_indices = array<i64: 4, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<6x32x48xf32>) -> tensor<1x32x48xf32>
    %74 = "stablehlo.reshape"(%73) : (tensor<1x32x48xf32>) -> tensor<32x48xf32>
    %75 = "stablehlo.dot_general"(%72, %74) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x48xf32>, tensor<32x48xf32>) -> tensor<24x32xf32>
    %76 = "stablehlo.add"(%61, %75) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    %77 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 6>, start_indices = array<i64: 5>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<1xi32>
    %78 = "stablehlo.reshape"(%77) : (tensor<1xi32>) -> tensor<i32>
    %79 = "stablehlo.convert"(%78) : (tensor<i32>) -> tensor<i64>
    %80 = "stablehlo.add"(%65, %79) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %81 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %82 = "stablehlo.broadcast_in_dim"(%80) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<24x48xi64>
    %83 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<24x1xi64>) -> tensor<24x48xi64>
    %84 = "stablehlo.compare"(%83, %81) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %85 = "stablehlo.compare"(%83, %82) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<24x48xi64>, tensor<24x48xi64>) -> tensor<24x48xi1>
    %86 = "stablehlo.and"(%84, %85) : (tensor<24x48xi1>, tensor<24x48xi1>) -> tensor<24x48xi1>
    %87 = "stablehlo.select"(%86, %arg0, %0) : (tensor<24x48xi1>, tensor<24x48xf32>, tensor<24x48xf32>) -> tensor<24x48xf32>
    %88 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 6, 32, 48>, start_indices = array<i64: 5, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<6x32x48xf32>) -> tensor<1x32x48xf32>
    %89 = "stablehlo.reshape"(%88) : (tensor<1x32x48xf32>) -> tensor<32x48xf32>
    %90 = "stablehlo.dot_general"(%87, %89) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<24x48xf32>, tensor<32x48xf32>) -> tensor<24x32xf32>
    %91 = "stablehlo.add"(%76, %90) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
    "func.return"(%91) : (tensor<24x32xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

