// REQUIRES: cpu-target
// RUN: moe-compile %s -o %t.moe
// RUN: moe-run %t.moe --input %S/../jax/layer_gpt_oss_f32.npz --check %S/../jax/layer_gpt_oss_f32.npz --rtol-of-max 1e-5
// RUN: moe-compile %s -o %t.unfused.moe --disable-fusion=epilogue,gather,rows,weights
// RUN: moe-run %t.unfused.moe --input %S/../jax/layer_gpt_oss_f32.npz --check %S/../jax/layer_gpt_oss_f32.npz --rtol-of-max 1e-5

// gpt-oss: the best four of 128 logits, softmax over those; biased experts; interleaved, clamped gate and up, with up + 1.
func.func @gpt_oss(%x: tensor<24x45xf32>,
    %router: tensor<45x128xf32>,
    %router_bias: tensor<128xf32>,
    %w_gate_up: tensor<128x45x60xf32>,
    %b_gate_up: tensor<128x60xf32>,
    %w_down: tensor<128x30x45xf32>,
    %b_down: tensor<128x45xf32>) -> tensor<24x45xf32> {
  %logits = moe.logits %x, %router bias %router_bias : tensor<24x45xf32>, tensor<45x128xf32>, tensor<128xf32> -> tensor<24x128xf32>
  %ids, %values = moe.select %logits {k = 4} : tensor<24x128xf32> -> tensor<24x4xi32>, tensor<24x4xf32>
  %weights = moe.scores %values : tensor<24x4xf32>
  %plan = moe.plan %ids : tensor<24x4xi32> -> !moe.plan<groups = 128, rows = 96, tokens = 24, topk = 4>
  %rows = moe.gather %x, %plan : tensor<24x45xf32>, !moe.plan<groups = 128, rows = 96, tokens = 24, topk = 4> -> tensor<96x45xf32, #moe.ragged<groups = 128>>
  %h = moe.ragged_matmul %rows, %w_gate_up plan %plan bias %b_gate_up
      : tensor<96x45xf32, #moe.ragged<groups = 128>>, tensor<128x45x60xf32>, !moe.plan<groups = 128, rows = 96, tokens = 24, topk = 4>, tensor<128x60xf32>
      -> tensor<96x60xf32, #moe.ragged<groups = 128>>
  %a = moe.gated_activation %h
      {layout = #moe.halves<interleaved>, limit = 7.0 : f32, alpha = 1.702 : f32, up_offset = 1.0 : f32}
      : tensor<96x60xf32, #moe.ragged<groups = 128>> -> tensor<96x30xf32, #moe.ragged<groups = 128>>
  %y = moe.ragged_matmul %a, %w_down plan %plan bias %b_down
      : tensor<96x30xf32, #moe.ragged<groups = 128>>, tensor<128x30x45xf32>, !moe.plan<groups = 128, rows = 96, tokens = 24, topk = 4>, tensor<128x45xf32>
      -> tensor<96x45xf32, #moe.ragged<groups = 128>>
  %out = moe.combine %y, %plan weights %weights
      : tensor<96x45xf32, #moe.ragged<groups = 128>>, !moe.plan<groups = 128, rows = 96, tokens = 24, topk = 4>, tensor<24x4xf32> -> tensor<24x45xf32>
  return %out : tensor<24x45xf32>
}
