// REQUIRES: cpu-target
// RUN: moe-compile %s -o %t.moe
// RUN: moe-run %t.moe --input %S/../jax/layer_mixtral_f32.npz --check %S/../jax/layer_mixtral_f32.npz --rtol-of-max 1e-5
// RUN: moe-compile %s -o %t.unfused.moe --disable-fusion=epilogue,gather,rows,weights
// RUN: moe-run %t.unfused.moe --input %S/../jax/layer_mixtral_f32.npz --check %S/../jax/layer_mixtral_f32.npz --rtol-of-max 1e-5

// Mixtral: softmax over all experts, the best two of eight, renormalised.
func.func @mixtral(%x: tensor<48x64xf32>,
    %router: tensor<64x8xf32>,
    %w_gate_up: tensor<8x64x224xf32>,
    %w_down: tensor<8x112x64xf32>) -> tensor<48x64xf32> {
  %logits = moe.logits %x, %router : tensor<48x64xf32>, tensor<64x8xf32> -> tensor<48x8xf32>
  %scores = moe.scores %logits : tensor<48x8xf32>
  %ids, %values = moe.select %scores {k = 2} : tensor<48x8xf32> -> tensor<48x2xi32>, tensor<48x2xf32>
  %weights = moe.normalize %values {renormalize} : tensor<48x2xf32>
  %plan = moe.plan %ids : tensor<48x2xi32> -> !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2>
  %rows = moe.gather %x, %plan : tensor<48x64xf32>, !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2> -> tensor<96x64xf32, #moe.ragged<groups = 8>>
  %h = moe.ragged_matmul %rows, %w_gate_up plan %plan
      : tensor<96x64xf32, #moe.ragged<groups = 8>>, tensor<8x64x224xf32>, !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2>
      -> tensor<96x224xf32, #moe.ragged<groups = 8>>
  %a = moe.gated_activation %h : tensor<96x224xf32, #moe.ragged<groups = 8>> -> tensor<96x112xf32, #moe.ragged<groups = 8>>
  %y = moe.ragged_matmul %a, %w_down plan %plan
      : tensor<96x112xf32, #moe.ragged<groups = 8>>, tensor<8x112x64xf32>, !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2>
      -> tensor<96x64xf32, #moe.ragged<groups = 8>>
  %out = moe.combine %y, %plan weights %weights
      : tensor<96x64xf32, #moe.ragged<groups = 8>>, !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2>, tensor<48x2xf32> -> tensor<48x64xf32>
  return %out : tensor<48x64xf32>
}
