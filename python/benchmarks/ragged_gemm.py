"""Ragged products of MoE layers on a GPU beside PyTorch's, cuBLAS's and JAX's, in one process, interleaved.

    DIR/scripts/gpu DIR --bench-only             (DIR was written by scripts/gpu --pack DIR)

For each layer's up and down projection and each pattern of group sizes: forward, the gradient of the input (dgrad) and of
the weights (wgrad), forward with the rows of tokens gathered (gather) and of f32 as TF32 (tf32), weights stored [E, K, N] (kn) and
[E, N, K] (nk). Peers: torch._grouped_mm in the same layout, a loop over the
experts with torch.mm (cuBLAS), jax.lax.ragged_dot on request. Useful TFLOP/s on normal data:

  burst      0.15 s idle, 3 runs to warm up, the median of 10; the median over the rounds
  sustained  after 1.3 s of load, each for 0.1 s and then 0.12 s timed, without a pause; two rounds in opposite order

A round runs all variants of a row in turn, every other one in opposite order: the card is power-limited, and only what ran
in turns can be compared. A peer under 0.6 times the fastest (but for dense) in the first round is not run in the others. Before anything is timed, each variant of ours is checked in a process of its own, on poisoned
outputs, against products in float32 on a sample of rows; one that fails is reported and left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from isolate import Broken, run_isolated, serve
from moe_mlir._runtime import Buffer, Call, MoeError, Program, Runtime, Session
from moe_mlir.products import Product


@dataclass(frozen=True)
class Shape:
    """M = rows (tokens times top-k), K to N, E experts."""

    m: int
    k: int
    n: int
    e: int
    kinds: tuple[str, ...]

    @property
    def tokens(self) -> int:
        return self.m // (2 if self.e == 8 else 8)

    def product(self, direction: str, variant: str) -> Product:
        if direction == "wgrad":
            out = "bf16" if variant == "bf16" else "f32"
            return Product(self.k, self.n, self.e, mode="contraction", out=out, accumulate=variant == "acc")
        if direction == "tf32":
            return Product(self.k, self.n, self.e, layout=variant, dtype="f32", out="f32", precision="tf32")
        if direction in ("fwd", "gather"):
            return Product(self.k, self.n, self.e, layout=variant, gather=direction == "gather")
        # dX = dY W^T: the stored weights, read the other way.
        return Product(self.n, self.k, self.e, layout="nk" if variant == "kn" else "kn")


FAR_BEHIND = 0.6  # of the fastest variant
EVEN, ZIPF = ("even", "skew"), ("even", "skew", "zipf")
SHAPES = {
    "mixtral.up": Shape(16384, 4096, 28672, 8, EVEN),
    "mixtral.down": Shape(16384, 14336, 4096, 8, EVEN),
    "dsv3.up": Shape(32768, 7168, 4096, 8, EVEN),
    "dsv3.down": Shape(32768, 2048, 7168, 8, EVEN),
    "qwen3.up": Shape(65536, 2048, 1536, 128, ZIPF),
    "qwen3.down": Shape(65536, 768, 2048, 128, ZIPF),
    "gptoss.up": Shape(32768, 2880, 5760, 128, ZIPF),
    "gptoss.down": Shape(32768, 2880, 2880, 128, ZIPF),
}
VARIANTS = {
    "fwd": ("kn", "nk"),
    "dgrad": ("kn", "nk"),
    "wgrad": ("bf16", "f32", "acc"),
    "gather": ("kn", "nk"),
    "tf32": ("nk",),
}


def needed_programs(shapes: list[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The text of each program and the options that it is compiled with: its rows decide its schedule."""
    found = {}
    for shape in (SHAPES[s] for s in shapes):
        for product in (shape.product(d, v) for d, variants in VARIANTS.items() for v in variants):
            found[product.name] = (product.text(), (f"--rows={shape.m}",))
    return found


def group_sizes(e: int, m: int, kind: str) -> Any:
    """Rows of each expert: all alike; drawn with probabilities softmax(0.8 normal), or 1/rank with the last eighth empty."""
    import torch

    generator = torch.Generator().manual_seed(0)
    if kind == "even":
        return torch.full((e,), m // e)
    if kind == "skew":
        chances = torch.softmax(torch.randn(e, generator=generator) * 0.8, 0)
    else:
        chances = 1 / torch.arange(1, e + 1).float()
        chances[-max(1, e // 8) :] = 0
    chances = chances / chances.sum()
    return torch.multinomial(chances, m, replacement=True, generator=generator).bincount(minlength=e)


class Data:
    """The tensors of a shape, normal / 8, in bf16."""

    def __init__(self, shape: Shape, directions: list[str]):
        import torch

        generator = torch.Generator("cuda").manual_seed(0)

        def normal(*extents: int) -> Any:
            tensor = torch.empty(extents, device="cuda", dtype=torch.bfloat16)
            # In pieces: the generator works in f32.
            for piece in tensor.view(-1).split(1 << 28):
                piece.copy_(torch.randn(piece.numel(), device="cuda", generator=generator) / 8)
            return tensor

        self.shape = shape
        self.x, self.dy = normal(shape.m, shape.k), normal(shape.m, shape.n)
        self.y = torch.empty_like(self.dy)
        self.dx = torch.empty_like(self.x)
        if set(directions) & {"fwd", "dgrad", "gather"}:
            self.kn = normal(shape.e, shape.k, shape.n)
            self.nk = self.kn.transpose(1, 2).contiguous()
        if "wgrad" in directions:
            self.dw = {"bf16": torch.empty(shape.e, shape.k, shape.n, device="cuda", dtype=torch.bfloat16)}
            self.dw["f32"] = self.dw["acc"] = torch.empty(shape.e, shape.k, shape.n, device="cuda")
        if "tf32" in directions:
            self.x32, self.y32 = self.x.float(), torch.empty(shape.m, shape.n, device="cuda")
            self.nk32 = normal(shape.e, shape.n, shape.k).float()

    def set_sizes(self, kind: str) -> None:
        import torch

        sizes = group_sizes(self.shape.e, self.shape.m, kind)
        self.counts: list[int] = sizes.tolist()
        self.ends: list[int] = sizes.cumsum(0).tolist()
        self.sizes = sizes.to(torch.int32).cuda()
        self.offsets = sizes.cumsum(0).to(torch.int32).cuda()
        # Each token as often as it has slots, in the order of tokens within a group.
        shuffled = torch.randperm(self.shape.m, generator=torch.Generator().manual_seed(1)) % self.shape.tokens
        groups = torch.repeat_interleave(torch.arange(self.shape.e), sizes)
        order = torch.sort(groups * self.shape.tokens + shuffled).values % self.shape.tokens
        self.index = order.to(torch.int32).cuda()

    def groups(self) -> list[tuple[int, int, int]]:
        """(expert, first row, end) of those with rows."""
        return [(g, end - n, end) for g, (n, end) in enumerate(zip(self.counts, self.ends, strict=True)) if n]


class Ours:
    """A compiled product bound to the tensors of a shape."""

    def __init__(self, folder: Path, runtime: Runtime, data: Data, direction: str, variant: str):
        import torch

        self.data, self.direction, self.variant = data, direction, variant
        product = data.shape.product(direction, variant)
        program = Program.load(folder / "programs" / f"{product.name}.moe", runtime)
        session, entry = Session(program), program.entry()
        if direction == "tf32":
            tensors, self.out = [data.x32, data.nk32, data.sizes], data.y32
        elif direction == "wgrad":
            tensors, self.out = [data.x, data.dy, data.sizes], data.dw[variant]
            if variant == "acc":
                tensors.append(self.out)
        else:
            weights = data.kn if variant == "kn" else data.nk
            source, self.out = (data.dy, data.dx) if direction == "dgrad" else (data.x, data.y)
            tensors = [source, weights, data.sizes]
            if direction == "gather":
                tensors = [data.x[: data.shape.tokens], weights, data.sizes, data.index]
        if variant == "acc" and entry.outputs[0].alias is None:
            self.out = torch.empty_like(self.out)
        inputs = [Buffer.of(t) for t in tensors]
        size, _ = program.workspace(entry, inputs)
        self.workspace = torch.zeros(size, device="cuda", dtype=torch.uint8)
        self.session = session
        self.call = Call(session, entry, inputs, [Buffer.of(self.out)], self.workspace.data_ptr(), size)
        self.stream = torch.cuda.current_stream().cuda_stream

    def __call__(self) -> None:
        self.call(self.stream)

    def check(self) -> str:
        """Runs once on a poisoned output and compares a sample; returns the largest relative error of a row."""
        import torch

        if self.variant == "acc":
            self.data.dw["acc"].fill_(1.0)
        if self.variant != "acc" or self.out is not self.data.dw["acc"]:
            self.out.view(torch.uint8).fill_(0xFF)
        self()
        torch.cuda.synchronize()
        faults = self.session.poll(self.workspace.data_ptr())
        assert not faults, faults
        assert not torch.isnan(self.out).any(), "NaN in the output"
        torch.backends.cuda.matmul.allow_tf32 = False
        worst = 0.0
        for g, begin, end in self.data.groups():
            if self.direction == "wgrad":
                step = max(1, self.out.shape[1] // 16)
                wanted = self.data.x[begin:end, ::step].float().t() @ self.data.dy[begin:end].float()
                wanted += 1.0 if self.variant == "acc" else 0.0
                found = self.out[g, ::step].float()
            else:
                rows = sorted({begin, *range(begin, end, max(1, (end - begin) // 8)), end - 1})
                source = self.data.dy if self.direction == "dgrad" else self.data.x
                picked = self.data.index[rows].long() if self.direction == "gather" else rows
                w = self.data.nk32[g].t() if self.direction == "tf32" else self.data.kn[g].float()
                w = w.t() if self.direction == "dgrad" else w
                wanted, found = source[picked].float() @ w, self.out[rows].float()
            error = ((found - wanted).abs().amax(1) / wanted.abs().amax(1)).max().item()
            worst = max(worst, error)
        assert worst < 2.0**-7, f"a row differs by {worst:.2e} of its largest element"
        if self.direction == "wgrad":
            fill = 1.0 if self.variant == "acc" else 0.0
            for g, n in enumerate(self.data.counts):
                assert n or (self.out[g] == fill).all(), f"expert {g} has no rows and is not {fill}"
        return f"largest relative error {worst:.1e}"


def peers(data: Data, direction: str) -> dict[str, Callable[[], object]]:
    """What others have for this direction, by name; the part after the dot is the layout."""
    import torch

    def loop(into: Any, source: Any, weights: Any) -> Callable[[], None]:
        groups = data.groups()

        def run() -> None:
            for g, begin, end in groups:
                torch.mm(source[begin:end], weights[g], out=into[begin:end])

        return run

    def loop_wgrad() -> None:
        for g, begin, end in groups_of_wgrad:
            torch.mm(data.x[begin:end].t(), data.dy[begin:end], out=data.dw["bf16"][g])

    offsets = data.offsets
    if direction == "wgrad":
        groups_of_wgrad = data.groups()
        return {
            "torch.bf16": lambda: torch._grouped_mm(data.x.t(), data.dy, offs=offsets),
            "cublas.bf16": loop_wgrad,
        }
    if direction == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
        return {"cublas.nk": loop(data.y32, data.x32, data.nk32.transpose(1, 2))}
    if direction == "gather":
        tokens = data.x[: data.shape.tokens]
        by_layout = {"kn": data.kn, "nk": data.nk.transpose(1, 2)}
        return {
            f"torch.{layout}": lambda w=w: torch._grouped_mm(tokens.index_select(0, data.index), w, offs=offsets)
            for layout, w in by_layout.items()
        }
    if direction == "fwd":
        source, into = data.x, data.y
        weights = {"kn": data.kn, "nk": data.nk.transpose(1, 2)}
    else:
        source, into = data.dy, data.dx
        weights = {"kn": data.kn.transpose(1, 2), "nk": data.nk}
    found: dict[str, Callable[[], object]] = {}
    for layout, w in weights.items():
        found[f"torch.{layout}"] = lambda w=w: torch._grouped_mm(source, w, offs=offsets)
        found[f"cublas.{layout}"] = loop(into, source, w)
    found["dense.kn"] = lambda: torch.mm(source, weights["kn"][0], out=into)
    return found


def jax_product(data: Data) -> Callable[[], object]:
    """jax.lax.ragged_dot, forward, kn."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax

    x, w, sizes = (jax.dlpack.from_dlpack(t) for t in (data.x, data.kn, data.sizes))
    dot = jax.jit(jax.lax.ragged_dot)
    jax.block_until_ready(dot(x, w, sizes))
    return lambda: jax.block_until_ready(dot(x, w, sizes))


def seconds_of(work: Callable[[], object], runs: int) -> float:
    """The median time of a run, from events on the stream."""
    import torch

    events = []
    for _ in range(runs):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        events.append((begin, end))
    torch.cuda.synchronize()
    return statistics.median(b.elapsed_time(e) for b, e in events) * 1e-3


def burst(work: Callable[[], object]) -> float:
    import torch

    torch.cuda.synchronize()
    time.sleep(0.15)
    for _ in range(3):
        work()
    return seconds_of(work, 10)


def sustained(work: Callable[[], object]) -> float:
    estimate = max(seconds_of(work, 2), 1e-5)
    for _ in range(max(2, int(0.10 / estimate))):
        work()
    return seconds_of(work, max(5, int(0.12 / estimate)))


def load(work: Callable[[], object], duration: float = 1.3) -> None:
    """Keeps the card busy, so that its power limiter has settled."""
    end = time.perf_counter() + duration
    while time.perf_counter() < end:
        seconds_of(work, 20)


def measure(
    work: dict[str, Callable[[], object]], flops: float, a: argparse.Namespace
) -> dict[str, dict[str, list[float]]]:
    """TFLOP/s of each variant in each round. A peer far behind in the first is not run again."""
    found: dict[str, dict[str, list[float]]] = {"burst": {n: [] for n in work}, "sustained": {n: [] for n in work}}
    names = list(work)
    for number in range(a.rounds):
        if number == 1:
            first = {n: rates[0] for n, rates in found["burst"].items()}
            fastest = max(rate for n, rate in first.items() if not n.startswith("dense"))
            names = [n for n in names if n.startswith("ours") or first[n] > FAR_BEHIND * fastest]
        for name in names if number % 2 == 0 else reversed(names):
            found["burst"][name].append(flops / burst(work[name]) / 1e12)
    if a.sustained:
        load(work[names[0]])
        for order in (names, names[::-1]):
            for name in order:
                found["sustained"][name].append(flops / sustained(work[name]) / 1e12)
    return found


def check_name(shape: str, direction: str, variant: str) -> str:
    return f"{shape}/{direction}/{variant}"


def serve_checks(a: argparse.Namespace) -> None:
    """The worker that checks variants of ours, one after another."""
    runtime, at_hand = Runtime(a.folder / "lib" / "libmoert.so"), {}

    def run(name: str) -> str:
        shape, direction, variant = name.split("/")
        try:
            if at_hand.get("name") != shape:
                at_hand.clear()
                import torch

                torch.cuda.empty_cache()
                at_hand.update(name=shape, data=Data(SHAPES[shape], a.directions))
            notes = []
            for kind in SHAPES[shape].kinds:
                at_hand["data"].set_sizes(kind)
                notes.append(f"{kind}: {Ours(a.folder, runtime, at_hand['data'], direction, variant).check()}")
            return ", ".join(notes)
        except MoeError as error:
            raise Broken(f"{error.code}: {error} [{error.where}]") from error
        except RuntimeError as error:  # PyTorch's: the context is gone
            raise Broken(f"{type(error).__name__}: {str(error).splitlines()[0]}") from error

    serve(run)


def check_all(a: argparse.Namespace, manifest: dict) -> dict[str, str]:
    """Variants that cannot be timed, and why."""
    bad, names = {}, []
    for shape in a.shapes:
        for direction in a.directions:
            for variant in VARIANTS[direction]:
                name = check_name(shape, direction, variant)
                failure = manifest["failed"].get(SHAPES[shape].product(direction, variant).name)
                if failure is None:
                    names.append(name)
                else:
                    bad[name] = f"not compiled: {failure}"
    command = [sys.executable, __file__, str(a.folder), "--serve-checks", f"--directions={','.join(a.directions)}"]
    for result in run_isolated(command, names, 90):
        print(
            f"{'checked' if result.ok else 'WRONG'} {result.name} {result.seconds:.1f} s: {result.message}", flush=True
        )
        if not result.ok:
            bad[result.name] = result.message
    return bad


def run(a: argparse.Namespace) -> int:
    import torch

    begin = time.perf_counter()
    manifest = json.loads((a.folder / "manifest.json").read_text())
    a.shapes = [s for s in a.shapes if s in manifest["shapes"]]
    bad = {} if a.no_check else check_all(a, manifest)
    runtime = Runtime(a.folder / "lib" / "libmoert.so")
    results: dict[str, Any] = {
        "command": " ".join(sys.argv),
        "gpu": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "rounds": a.rounds,
        "bad": bad,
        "rows": [],
        "left_out": [],
    }
    for name in a.shapes:
        shape, data = SHAPES[name], None
        for kind in [k for k in shape.kinds if k in a.kinds]:
            for direction in a.directions:
                label = f"{name}.{kind}.{direction}"
                if a.seconds and time.perf_counter() - begin > a.seconds:
                    results["left_out"].append(label)
                    continue
                data = data or Data(shape, a.directions)
                data.set_sizes(kind)
                work: dict[str, Callable[[], object]] = {}
                for variant in VARIANTS[direction]:
                    if check_name(name, direction, variant) not in bad:
                        work[f"ours.{variant}"] = Ours(a.folder, runtime, data, direction, variant)
                    if direction == "gather":  # what it would take were the rows in order already
                        work[f"contiguous.{variant}"] = Ours(a.folder, runtime, data, "fwd", variant)
                for peer, function in peers(data, direction).items():
                    try:
                        function()
                        torch.cuda.synchronize()
                        work[peer] = function
                    except RuntimeError as error:
                        bad[f"{label}/{peer}"] = str(error).splitlines()[0]
                flops = 2.0 * shape.m * shape.k * shape.n
                row = {"name": name, "kind": kind, "direction": direction, "largest": max(data.counts)}
                row.update(m=shape.m, k=shape.k, n=shape.n, e=shape.e, **measure(work, flops, a))
                if direction == "fwd" and label.removesuffix(".fwd") in a.jax:
                    try:
                        dot = jax_product(data)
                        times = []
                        for _ in range(3):
                            start = time.perf_counter()
                            dot()
                            times.append(time.perf_counter() - start)
                        row["burst"]["jax.kn"] = [flops / t / 1e12 for t in times]
                    except Exception as error:
                        bad[f"{label}/jax"] = repr(error)[:200]
                results["rows"].append(row)
                print(line_of(row), flush=True)
                a.out.write_text(json.dumps(results, indent=1))
        del data
        work = {}
        torch.cuda.empty_cache()
    results["seconds"] = time.perf_counter() - begin
    a.out.write_text(json.dumps(results, indent=1))
    print(table(results))
    return (
        1 if any("/" in b and not b.split("/")[-1].startswith(("torch", "cublas", "dense", "jax")) for b in bad) else 0
    )


# --- the table -----------------------------------------------------------------------------------------------------------------


def median(row: dict, regime: str, name: str) -> float | None:
    values = row[regime].get(name)
    return statistics.median(values) if values else None


def best_peer(row: dict, regime: str, layout: str) -> float | None:
    """The best of those with the same layout. JAX's is far behind and timed in bursts only."""
    found = [median(row, regime, f"{p}.{layout}") for p in ("torch", "cublas", "jax")]
    return max((f for f in found if f), default=None)


def layouts(row: dict) -> tuple[str, ...]:
    return {"wgrad": ("bf16",), "tf32": ("nk",)}.get(row["direction"], ("kn", "nk"))


def ratio(row: dict, regime: str, layout: str, peer: str = "") -> float | None:
    ours = median(row, regime, f"ours.{layout}")
    other = median(row, regime, f"{peer}.{layout}") if peer else best_peer(row, regime, layout)
    return ours / other if ours and other else None


def line_of(row: dict) -> str:
    label = f"{row['name']}.{row['kind']}.{row['direction']}"
    parts = [
        f"{n}={median(row, 'burst', n):.0f}/{median(row, 'sustained', n) or 0:.0f}"
        for n in row["burst"]
        if row["burst"][n]
    ]
    return f"{label:28} {' '.join(parts)}"


def terabytes(row: dict, regime: str) -> float | None:
    """TB/s of the product that is added to an f32 buffer: that read and written, both inputs read once."""
    rate = median(row, regime, "ours.acc")
    moved = 8.0 * row["e"] * row["k"] * row["n"] + 2.0 * row["m"] * (row["k"] + row["n"])
    return rate and moved * rate / (2.0 * row["m"] * row["k"] * row["n"])


def mean(values: list[float | None]) -> float | None:
    found = [v for v in values if v]
    return math.exp(sum(map(math.log, found)) / len(found)) if found else None


def number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def table(results: dict) -> str:
    """Markdown: TFLOP/s as burst / sustained, the ratio to the best peer, geometric means."""
    lines = []
    for direction in VARIANTS:
        rows = [r for r in results["rows"] if r["direction"] == direction]
        if not rows:
            continue
        columns = [n for n in rows[0]["burst"] if not n.startswith("jax")]
        for r in rows:
            columns += [n for n in r["burst"] if n not in columns]
        of = layouts(rows[0])
        heads = [*columns, *(f"{x} to best peer" for x in of), *(["acc TB/s"] if direction == "wgrad" else [])]
        lines += [f"### {direction}, TFLOP/s, burst / sustained", ""]
        lines += ["| shape | sizes | " + " | ".join(heads) + " |", "|" + "---|" * (2 + len(heads))]
        for r in rows:
            cells = [f"{number(median(r, 'burst', c))} / {number(median(r, 'sustained', c))}" for c in columns]
            cells += [f"{number(ratio(r, 'burst', x), 2)} / {number(ratio(r, 'sustained', x), 2)}" for x in of]
            if direction == "wgrad":
                cells.append(f"{number(terabytes(r, 'burst'), 2)} / {number(terabytes(r, 'sustained'), 2)}")
            lines.append(f"| {r['name']} | {r['kind']} | " + " | ".join(cells) + " |")
        lines.append("")
        for x in of:
            for peer in ("torch", ""):
                means = [mean([ratio(r, regime, x, peer) for r in rows]) for regime in ("burst", "sustained")]
                what = "torch._grouped_mm" if peer else "the best peer"
                lines.append(f"- {x} to {what}, geometric mean: {number(means[0], 3)} / {number(means[1], 3)}")
        lines.append("")
    for name, why in results["bad"].items():
        lines.append(f"- left out: {name}: {why.splitlines()[0]}")
    if results["left_out"]:
        lines.append(f"- not run for want of time: {', '.join(results['left_out'])}")
    return "\n".join(lines)


def merged(files: list[Path]) -> dict:
    """Results of several calls as one; a row that was measured again replaces the earlier one."""
    rows, bad = {}, {}
    for file in files:
        found = json.loads(file.read_text())
        found = found.get("benchmark") or found
        bad.update(found["bad"])
        rows.update({(r["name"], r["kind"], r["direction"]): r for r in found["rows"]})
    order = {name: i for i, name in enumerate(SHAPES)}
    ordered = sorted(rows.items(), key=lambda item: (order[item[0][0]], ZIPF.index(item[0][1])))
    return {"rows": [row for _, row in ordered], "bad": bad, "left_out": []}


def listed(choices: list[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        found = text.split(",")
        wrong = [f for f in found if f not in choices]
        if wrong:
            raise argparse.ArgumentTypeError(f"{', '.join(wrong)}, expected some of {', '.join(choices)}")
        return found

    return parse


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="a folder packed by scripts/gpu --pack")
    parser.add_argument("--shapes", type=listed(list(SHAPES)), default=list(SHAPES))
    parser.add_argument("--kinds", type=listed(list(ZIPF)), default=list(ZIPF))
    parser.add_argument("--directions", type=listed(list(VARIANTS)), default=["fwd", "dgrad", "wgrad"])
    parser.add_argument("--rounds", type=int, default=5, help="bursts of each variant")
    parser.add_argument("--no-sustained", dest="sustained", action="store_false")
    parser.add_argument(
        "--no-check", action="store_true", help="leave out the check of each variant in its own process"
    )
    parser.add_argument("--seconds", type=float, help="start no row after so many")
    parser.add_argument("--jax", nargs="*", default=[], help="rows on which JAX is timed too, such as qwen3.up.skew")
    parser.add_argument("--out", type=Path, default=Path("benchmark.json"))
    parser.add_argument("--table", type=Path, nargs="+", help="print the table of results written before, merged")
    parser.add_argument("--serve-checks", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.table:
        print(table(merged(a.table)))
        return 0
    if a.folder is None:
        parser.error("expected a packed folder")
    if a.serve_checks:
        serve_checks(a)
        return 0
    return run(a)


if __name__ == "__main__":
    sys.exit(main())
