// REQUIRES: cpu-target
// RUN: moe-compile %s -o %t.moe
// RUN: moe-run %t.moe --input %S/../jax/layer_qwen3_30b_a3b_f32.npz --check %S/../jax/layer_qwen3_30b_a3b_f32.npz --rtol-of-max 1e-5
// RUN: moe-compile %s -o %t.unfused.moe --disable-fusion=epilogue,gather,rows,weights
// RUN: moe-run %t.unfused.moe --input %S/../jax/layer_qwen3_30b_a3b_f32.npz --check %S/../jax/layer_qwen3_30b_a3b_f32.npz --rtol-of-max 1e-5

// Qwen3-30B-A3B: softmax over 128 experts, the best eight, renormalised.
func.func @qwen3_30b_a3b(%x: tensor<32x48xf32>,
    %router: tensor<48x128xf32>,
    %w_gate_up: tensor<128x48x48xf32>,
    %w_down: tensor<128x24x48xf32>) -> tensor<32x48xf32> {
  %logits = moe.logits %x, %router : tensor<32x48xf32>, tensor<48x128xf32> -> tensor<32x128xf32>
  %scores = moe.scores %logits : tensor<32x128xf32>
  %ids, %values = moe.select %scores {k = 8} : tensor<32x128xf32> -> tensor<32x8xi32>, tensor<32x8xf32>
  %weights = moe.normalize %values {renormalize} : tensor<32x8xf32>
  %plan = moe.plan %ids : tensor<32x8xi32> -> !moe.plan<groups = 128, rows = 256, tokens = 32, topk = 8>
  %rows = moe.gather %x, %plan : tensor<32x48xf32>, !moe.plan<groups = 128, rows = 256, tokens = 32, topk = 8> -> tensor<256x48xf32, #moe.ragged<groups = 128>>
  %h = moe.ragged_matmul %rows, %w_gate_up plan %plan
      : tensor<256x48xf32, #moe.ragged<groups = 128>>, tensor<128x48x48xf32>, !moe.plan<groups = 128, rows = 256, tokens = 32, topk = 8>
      -> tensor<256x48xf32, #moe.ragged<groups = 128>>
  %a = moe.gated_activation %h : tensor<256x48xf32, #moe.ragged<groups = 128>> -> tensor<256x24xf32, #moe.ragged<groups = 128>>
  %y = moe.ragged_matmul %a, %w_down plan %plan
      : tensor<256x24xf32, #moe.ragged<groups = 128>>, tensor<128x24x48xf32>, !moe.plan<groups = 128, rows = 256, tokens = 32, topk = 8>
      -> tensor<256x48xf32, #moe.ragged<groups = 128>>
  %out = moe.combine %y, %plan weights %weights
      : tensor<256x48xf32, #moe.ragged<groups = 128>>, !moe.plan<groups = 128, rows = 256, tokens = 32, topk = 8>, tensor<32x8xf32> -> tensor<32x48xf32>
  return %out : tensor<32x48xf32>
}
