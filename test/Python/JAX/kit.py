"""What the JAX tests share. Imported before JAX: eight devices on the CPU."""

import os

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from harness import close

# On a GPU f32 products would be rounded to TF32 otherwise.
jax.config.update("jax_default_matmul_precision", "highest")

MODES = {
    "kn": jax.lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,)),
    "nk": jax.lax.RaggedDotDimensionNumbers((((1,), (2,)), ((), ())), (0,), (0,)),
    "contraction": jax.lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ()),
}


def mesh(*sizes: int, names: str = "d") -> jax.sharding.Mesh:
    """Of two devices, or as many as said, with an axis for each letter of `names`."""
    return jax.make_mesh(sizes or (2,), tuple(names), axis_types=(jax.sharding.AxisType.Auto,) * len(names))


def same(actual: Any, expected: Any, of_max: float) -> None:
    """Every leaf within of_max of the largest expected magnitude, and of the same type."""
    a, e = jax.tree.leaves(actual), jax.tree.leaves(expected)
    assert len(a) == len(e), (len(a), len(e))
    for i, (x, y) in enumerate(zip(a, e, strict=True)):
        assert x.dtype == y.dtype, (i, x.dtype, y.dtype)
        close(np.asarray(x), np.asarray(y), of_max, f"leaf {i}")


def raised(error: type[BaseException], function: Callable[..., Any], *arguments: Any) -> str:
    """What a call says that must raise this."""
    try:
        jax.block_until_ready(function(*arguments))
    except error as found:
        return str(found)
    raise AssertionError(f"{error.__name__} was not raised")


def sizes(r: np.random.Generator, groups: int, rows: int) -> np.ndarray:
    """Group sizes, some of them 0, and sometimes a tail."""
    cuts = np.sort(r.integers(0, rows + 1, groups))
    found = np.diff(cuts, prepend=0)
    found[r.random(groups) < 0.3] = 0
    return found.astype(np.int32)


def normal(r: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    return jnp.asarray(r.standard_normal(shape), dtype)


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Variables of the environment, for a while."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def python(code: str, **environment: str) -> str:
    """Standard output of a Python of its own."""
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
