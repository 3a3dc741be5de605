"""Rows of one column, whose reductions upstream turns into vector.extract."""

import numpy as np
from harness import close, compile, equal, f32, tensor

NAN, INF = np.nan, np.inf


def case_a_router_with_one_expert() -> None:
    row, ids = tensor([None, 1], f32), "tensor<?x1xi32>"
    program = compile(f"""func.func @main(%l: {row}, %b: tensor<1xf32>) -> ({ids}, {row}, {row}) {{
  %s = moe.scores %l : {row}
  %g = moe.scores %l {{function = #moe.score<sigmoid>}} : {row}
  %ids, %v = moe.select %s bias %b {{k = 1}} : {row}, tensor<1xf32> -> {ids}, {row}
  %w = moe.normalize %v {{renormalize}} : {row}
  return %ids, %w, %g : {ids}, {row}, {row}
}}
""")
    ids, weights, scores = program.run(np.array([[1], [NAN], [-INF], [INF]], f32), np.ones(1, f32))
    equal(ids, np.zeros((4, 1)))
    equal(weights, [[1], [0], [0], [1]])
    close(scores, [[1 / (1 + np.exp(-1.0))], [NAN], [NAN], [1]], 1e-6)
    assert program.faults == {"NAN_ROUTER": (2, 1, 0, 1)}, program.faults
