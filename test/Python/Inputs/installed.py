"""The installed package: it finds its own tools, and computes."""

import os
import sys
from pathlib import Path

import jax.numpy as jnp
import moe_mlir
import moe_mlir.jax

home = Path(moe_mlir.__file__).parent
assert home == Path.cwd() / "moe_mlir" and (home / "py.typed").exists(), home
assert moe_mlir.home() == home and moe_mlir.tool("moe-compile") == home / "bin" / "moe-compile"
y = moe_mlir.jax.ragged_dot(jnp.ones((5, 16)), jnp.ones((2, 16, 8)), jnp.array([2, 3], jnp.int32))
assert (y == 16).all(), y
linked = os.popen(f"ldd {home}/bin/moe-compile {home}/lib/*.so*").read()
for library in ("LLVM", "MLIR", "libstdc++", "libzstd"):
    assert library not in linked, linked
print(f"moe_mlir {moe_mlir.Runtime().version} runs on Python {sys.version.split()[0]}")
