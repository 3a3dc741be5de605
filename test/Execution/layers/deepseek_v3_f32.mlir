// REQUIRES: cpu-target
// RUN: moe-compile %s -o %t.moe
// RUN: moe-run %t.moe --input %S/../jax/layer_deepseek_v3_f32.npz --check %S/../jax/layer_deepseek_v3_f32.npz --rtol-of-max 1e-5
// RUN: moe-compile %s -o %t.unfused.moe --disable-fusion=epilogue,gather,rows,weights
// RUN: moe-run %t.unfused.moe --input %S/../jax/layer_deepseek_v3_f32.npz --check %S/../jax/layer_deepseek_v3_f32.npz --rtol-of-max 1e-5

// DeepSeek-V3: sigmoid scores, a bias for the choice only, the best eight experts of the best four groups of eight,
// renormalised and scaled.
func.func @deepseek_v3(%x: tensor<24x56xf32>,
    %router: tensor<56x64xf32>,
    %selection_bias: tensor<64xf32>,
    %w_gate_up: tensor<64x56x48xf32>,
    %w_down: tensor<64x24x56xf32>) -> tensor<24x56xf32> {
  %logits = moe.logits %x, %router : tensor<24x56xf32>, tensor<56x64xf32> -> tensor<24x64xf32>
  %scores = moe.scores %logits {function = #moe.score<sigmoid>} : tensor<24x64xf32>
  %ids, %values = moe.select %scores bias %selection_bias {k = 8, groups = 8, keep_groups = 4, group_top = 2}
      : tensor<24x64xf32>, tensor<64xf32> -> tensor<24x8xi32>, tensor<24x8xf32>
  %weights = moe.normalize %values {renormalize, scale = 2.5 : f32} : tensor<24x8xf32>
  %plan = moe.plan %ids : tensor<24x8xi32> -> !moe.plan<groups = 64, rows = 192, tokens = 24, topk = 8>
  %rows = moe.gather %x, %plan : tensor<24x56xf32>, !moe.plan<groups = 64, rows = 192, tokens = 24, topk = 8> -> tensor<192x56xf32, #moe.ragged<groups = 64>>
  %h = moe.ragged_matmul %rows, %w_gate_up plan %plan
      : tensor<192x56xf32, #moe.ragged<groups = 64>>, tensor<64x56x48xf32>, !moe.plan<groups = 64, rows = 192, tokens = 24, topk = 8>
      -> tensor<192x48xf32, #moe.ragged<groups = 64>>
  %a = moe.gated_activation %h : tensor<192x48xf32, #moe.ragged<groups = 64>> -> tensor<192x24xf32, #moe.ragged<groups = 64>>
  %y = moe.ragged_matmul %a, %w_down plan %plan
      : tensor<192x24xf32, #moe.ragged<groups = 64>>, tensor<64x24x56xf32>, !moe.plan<groups = 64, rows = 192, tokens = 24, topk = 8>
      -> tensor<192x56xf32, #moe.ragged<groups = 64>>
  %out = moe.combine %y, %plan weights %weights
      : tensor<192x56xf32, #moe.ragged<groups = 64>>, !moe.plan<groups = 64, rows = 192, tokens = 24, topk = 8>, tensor<24x8xf32> -> tensor<24x56xf32>
  return %out : tensor<24x56xf32>
}
