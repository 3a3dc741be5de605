// A Mixtral layer at a small size: 48 tokens of 64 numbers, the best 2 of 8 experts, 112 hidden units an expert.
// Returns the layer's result, and how many rows each expert was given.
!plan = !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2>
#by_expert = #moe.ragged<groups = 8>

func.func @mixtral(%x: tensor<48x64xf32>, %router: tensor<64x8xf32>, %w_gate_up: tensor<8x64x224xf32>,
                   %w_down: tensor<8x112x64xf32>) -> (tensor<48x64xf32>, tensor<8xi32>) {
  %logits = moe.logits %x, %router : tensor<48x64xf32>, tensor<64x8xf32> -> tensor<48x8xf32>
  %scores = moe.scores %logits : tensor<48x8xf32>
  %ids, %values = moe.select %scores {k = 2} : tensor<48x8xf32> -> tensor<48x2xi32>, tensor<48x2xf32>
  %weights = moe.normalize %values {renormalize} : tensor<48x2xf32>
  %plan = moe.plan %ids : tensor<48x2xi32> -> !plan
  %rows = moe.gather %x, %plan : tensor<48x64xf32>, !plan -> tensor<96x64xf32, #by_expert>
  %gate_up = moe.ragged_matmul %rows, %w_gate_up plan %plan
      : tensor<96x64xf32, #by_expert>, tensor<8x64x224xf32>, !plan -> tensor<96x224xf32, #by_expert>
  %hidden = moe.gated_activation %gate_up : tensor<96x224xf32, #by_expert> -> tensor<96x112xf32, #by_expert>
  %y = moe.ragged_matmul %hidden, %w_down plan %plan
      : tensor<96x112xf32, #by_expert>, tensor<8x112x64xf32>, !plan -> tensor<96x64xf32, #by_expert>
  %out = moe.combine %y, %plan weights %weights
      : tensor<96x64xf32, #by_expert>, !plan, tensor<48x2xf32> -> tensor<48x64xf32>
  %sizes = moe.plan_get %plan {field = #moe.field<sizes>} : !plan -> tensor<8xi32>
  return %out, %sizes : tensor<48x64xf32>, tensor<8xi32>
}
