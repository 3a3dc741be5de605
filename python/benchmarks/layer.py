"""Whole MoE layers on a GPU beside PyTorch's, in one process, interleaved.

    scripts/gpu --pack DIR --only nothing --layers mixtral qwen3 && DIR/scripts/gpu DIR --bench-only

Router with a bias on its logits, plan, gather, gate and up, SwiGLU, down, weighted sum: forward, bf16, weights [E, N, K]. TFLOP/s count the
experts' products only. Kinds: even, and skew, where the bias is normal. Variants of ours:

  default  what moe-compile makes of the layer
  copied   the tokens are copied in the experts' order before the first product (--disable-fusion=gather)
  fused    the first product gathers them (--keep-gathers)
  graph    the default, captured as a CUDA graph

One that takes far longer than the others is checked and not measured. Peers: torch._grouped_mm with a sort, eager and compiled. Regimes and rounds are those of ragged_gemm.py. Each of ours is first compared with
PyTorch in float32 on a sample of tokens. Beside the rates stand microseconds of each kernel from one profiled run, of the host for an enqueue (ten in a row), and
bytes beyond inputs and output.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from moe_mlir._runtime import Buffer, Call, Program, Runtime, Session
from ragged_gemm import FAR_BEHIND, measure, number, seconds_of


@dataclass(frozen=True)
class Shape:
    """E experts, rows of H, hidden width F, the best k of each of T tokens."""

    e: int
    h: int
    f: int
    k: int
    t: int

    @property
    def flops(self) -> float:
        return 2.0 * self.t * self.k * self.h * 3 * self.f

    def text(self) -> str:
        e, h, f, k, t = self.e, self.h, self.f, self.k, self.t
        m = t * k
        plan = f"!moe.plan<groups = {e}, rows = {m}, tokens = {t}, topk = {k}>"
        ragged = f"#moe.ragged<groups = {e}>"
        x, hidden, act, y = (
            f"tensor<{t}x{h}xbf16>",
            f"tensor<{m}x{2 * f}xbf16, {ragged}>",
            f"tensor<{m}x{f}xbf16, {ragged}>",
            "",
        )
        y = f"tensor<{m}x{h}xbf16, {ragged}>"
        w1, w2 = f"tensor<{e}x{2 * f}x{h}xbf16>", f"tensor<{e}x{h}x{f}xbf16>"
        logits, ids, weights = f"tensor<{t}x{e}xf32>", f"tensor<{t}x{k}xi32>", f"tensor<{t}x{k}xf32>"
        nk = "{layout = #moe.weights<nk>}"
        return f"""func.func @main(%x: {x}, %router: tensor<{h}x{e}xbf16>, %bias: tensor<{e}xf32>, %w1: {w1}, %w2: {w2}) -> {x} {{
  %l = moe.logits %x, %router bias %bias : {x}, tensor<{h}x{e}xbf16>, tensor<{e}xf32> -> {logits}
  %s = moe.scores %l : {logits}
  %ids, %v = moe.select %s {{k = {k}}} : {logits} -> {ids}, {weights}
  %w = moe.normalize %v {{renormalize}} : {weights}
  %p = moe.plan %ids : {ids} -> {plan}
  %g = moe.gather %x, %p : {x}, {plan} -> {y}
  %h = moe.ragged_matmul %g, %w1 plan %p {nk} : {y}, {w1}, {plan} -> {hidden}
  %a = moe.gated_activation %h : {hidden} -> {act}
  %y = moe.ragged_matmul %a, %w2 plan %p {nk} : {act}, {w2}, {plan} -> {y}
  %o = moe.combine %y, %p weights %w : {y}, {plan}, {weights} -> {x}
  return %o : {x}
}}
"""


SHAPES = {
    "mixtral": Shape(8, 4096, 14336, 2, 8192),
    "dsv3": Shape(32, 7168, 2048, 8, 4096),
    "qwen3": Shape(128, 2048, 768, 8, 8192),
    "gptoss": Shape(128, 2880, 2880, 4, 8192),
}
VARIANTS = {"default": (), "copied": ("--disable-fusion=gather",), "fused": ("--keep-gathers",)}


def program_name(shape: str, variant: str) -> str:
    return f"layer_{shape}_{variant}"


def needed_programs(shapes: list[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """name -> text and options of moe-compile"""
    return {program_name(s, v): (SHAPES[s].text(), options) for s in shapes for v, options in VARIANTS.items()}


class Data:
    def __init__(self, shape: Shape):
        import torch

        generator = torch.Generator("cuda").manual_seed(0)

        def normal(*extents: int, scale: float = 1.0) -> Any:
            tensor = torch.empty(extents, device="cuda", dtype=torch.bfloat16)
            # In pieces: the generator works in f32.
            for piece in tensor.view(-1).split(1 << 28):
                piece.copy_(torch.randn(piece.numel(), device="cuda", generator=generator) * scale)
            return tensor

        self.shape = shape
        self.x, self.router = normal(shape.t, shape.h), normal(shape.h, shape.e, scale=shape.h**-0.5)
        self.w1 = normal(shape.e, 2 * shape.f, shape.h, scale=shape.h**-0.5)
        self.w2 = normal(shape.e, shape.h, shape.f, scale=shape.f**-0.5)
        self.noise = torch.randn(shape.e, device="cuda", generator=generator)
        self.bias = torch.zeros_like(self.noise)
        self.out = torch.empty_like(self.x)

    def set_kind(self, kind: str) -> list[int]:
        """Returns the rows of each expert."""
        self.bias.copy_(self.noise * (1.0 if kind == "skew" else 0.0))
        ids, _ = self.route()
        return ids.flatten().bincount(minlength=self.shape.e).tolist()

    def route(self) -> tuple[Any, Any]:
        """Experts and weights of each token, from logits in float32."""
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        scores = (self.x.float() @ self.router.float() + self.bias).softmax(-1)
        weights, ids = scores.topk(self.shape.k, -1)
        return ids, weights / weights.sum(-1, keepdim=True)


class Ours:
    """A compiled layer bound to tensors."""

    def __init__(self, folder: Path, runtime: Runtime, data: Data, shape: str, variant: str):
        import torch

        program = Program.load(folder / "programs" / f"{program_name(shape, variant)}.moe", runtime)
        self.data, self.session, entry = data, Session(program), program.entry()
        inputs = [Buffer.of(t) for t in (data.x, data.router, data.bias, data.w1, data.w2)]
        self.bytes, _ = program.workspace(entry, inputs)
        self.workspace = torch.zeros(self.bytes, device="cuda", dtype=torch.uint8)
        self.call = Call(self.session, entry, inputs, [Buffer.of(data.out)], self.workspace.data_ptr(), self.bytes)

    def __call__(self) -> None:
        import torch

        self.call(torch.cuda.current_stream().cuda_stream)

    def check(self) -> str:
        """Compares a sample of tokens; returns the largest error of a token, relative to its largest element."""
        import torch
        import torch.nn.functional as functional

        data, shape = self.data, self.data.shape
        data.out.view(torch.uint8).fill_(0xFF)
        self()
        torch.cuda.synchronize()
        faults = self.session.poll(self.workspace.data_ptr())
        assert not faults, faults
        assert not torch.isnan(data.out).any(), "NaN in the output"
        ids, weights = data.route()
        worst, step = 0.0, shape.t // 64
        for token in range(0, shape.t, step):
            wanted = torch.zeros(shape.h, device="cuda")
            for expert, weight in zip(ids[token].tolist(), weights[token], strict=True):
                gate, up = (data.w1[expert].float() @ data.x[token].float()).chunk(2)
                hidden = (functional.silu(gate) * up).bfloat16().float()
                wanted += weight * (data.w2[expert].float() @ hidden)
            worst = max(worst, ((data.out[token].float() - wanted).abs().max() / wanted.abs().max()).item())
        assert worst < 2.0**-5, f"a token differs by {worst:.2e} of its largest element"
        return f"largest relative error {worst:.1e}"

    def captured(self) -> Callable[[], None]:
        import torch

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self()
        return graph.replay

    def kernels(self) -> dict[str, float]:
        """Microseconds of each kernel in one run."""
        import torch
        from torch.profiler import ProfilerActivity, profile

        for _ in range(3):
            self()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as trace:
            self()
            torch.cuda.synchronize()
        found: dict[str, float] = {}
        for event in trace.events():
            if event.device_type.name == "CUDA":
                found[event.name] = found.get(event.name, 0.0) + event.device_time
        return found

    def host_microseconds(self) -> float:
        import torch

        times = []
        for _ in range(20):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(10):
                self()
            times.append((time.perf_counter() - begin) / 10)
        return statistics.median(times) * 1e6


def grouped_layer(data: Data) -> Callable[[], Any]:
    """Sort and torch._grouped_mm."""
    import torch
    import torch.nn.functional as functional

    e, k = data.shape.e, data.shape.k

    def layer(x: Any, router: Any, w1: Any, w2: Any, bias: Any) -> Any:
        scores = ((x @ router).float() + bias).softmax(-1)
        weights, ids = scores.topk(k, -1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        flat = ids.flatten()
        order = flat.argsort(stable=True)
        token = order // k
        offsets = torch.bincount(flat, minlength=e).cumsum(0).to(torch.int32)
        gate, up = torch._grouped_mm(x[token], w1.transpose(1, 2), offs=offsets).chunk(2, -1)
        y = torch._grouped_mm(functional.silu(gate) * up, w2.transpose(1, 2), offs=offsets)
        return torch.zeros_like(x).index_add_(0, token, y * weights.flatten()[order, None])

    return layer


def peers(data: Data, compiled: bool) -> dict[str, Callable[[], Any]]:
    import torch

    layer, tensors = grouped_layer(data), (data.x, data.router, data.w1, data.w2, data.bias)
    found = {"torch.eager": lambda: layer(*tensors)}
    if compiled:
        torch._dynamo.reset()
        fast = torch.compile(layer)
        found["torch.compiled"] = lambda: fast(*tensors)
    return found


def extra_bytes(work: Callable[[], Any], output: int) -> int:
    """What PyTorch allocates at most beyond the output."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before - output


def run(a: argparse.Namespace) -> int:
    import torch

    manifest = json.loads((a.folder / "manifest.json").read_text())
    runtime = Runtime(a.folder / "lib" / "libmoert.so")
    results: dict[str, Any] = {
        "command": " ".join(sys.argv), "gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "bad": {}, "rows": [],
    }  # fmt: skip
    bad = results["bad"]
    for name in [s for s in a.shapes if s in manifest["layers"]]:
        data = Data(SHAPES[name])
        others = {} if a.no_peers else peers(data, a.compiled)
        for kind in a.kinds:
            counts = data.set_kind(kind)
            row = {"name": name, "kind": kind, "largest": max(counts), "smallest": min(counts)}
            work: dict[str, Callable[[], object]] = {}
            fastest = math.inf
            for variant in a.variants:
                label = f"{name}.{kind}.{variant}"
                failure = manifest["failed"].get(program_name(name, variant))
                if failure:
                    bad[label] = failure
                    continue
                ours = Ours(a.folder, runtime, data, name, variant)
                try:
                    print(f"checked {label}: {ours.check()}", flush=True)
                except AssertionError as error:
                    bad[label] = str(error)
                    print(f"WRONG {label}: {error}", flush=True)
                    continue
                seconds = seconds_of(ours, 1)
                if seconds * FAR_BEHIND > fastest:
                    print(f"not measured: {label}: {seconds * 1e3:.1f} ms", flush=True)
                    continue
                fastest = min(fastest, seconds)
                if variant == "default":
                    work["ours.graph"] = ours.captured()
                work[f"ours.{variant}"] = ours
                row[f"kernels.{variant}"] = ours.kernels()
                row[f"host.{variant}"] = ours.host_microseconds()
                row[f"bytes.{variant}"] = ours.bytes
            for peer, function in others.items():
                function()
                row[f"bytes.{peer}"] = extra_bytes(function, data.out.nbytes)
                work[peer] = function
            row.update(measure(work, data.shape.flops, a))
            results["rows"].append(row)
            print(line_of(row), flush=True)
            a.out.write_text(json.dumps(results, indent=1))
        work, others, ours = {}, {}, None
        del data
        torch.cuda.empty_cache()
    return 1 if bad else 0


def line_of(row: dict) -> str:
    rates = [
        f"{n}={statistics.median(r):.0f}/{statistics.median(row['sustained'][n] or [0]):.0f}"
        for n, r in row["burst"].items()
        if r
    ]
    lines = [f"{row['name']}.{row['kind']} (rows {row['smallest']} to {row['largest']}): {' '.join(rates)}"]
    for variant in VARIANTS:
        if f"kernels.{variant}" in row:
            kernels = " ".join(f"{n.removeprefix('main_')}={us:.1f}" for n, us in row[f"kernels.{variant}"].items())
            lines.append(
                f"  {variant}: host {row[f'host.{variant}']:.0f} us, {row[f'bytes.{variant}'] / 1e6:.0f} MB; us: {kernels}"
            )
    return "\n".join(lines)


def table(results: dict) -> str:
    """Markdown: TFLOP/s as burst / sustained, the share of the products in the time of all kernels, bytes."""
    columns = list(dict.fromkeys(name for row in results["rows"] for name in row["burst"]))
    heads = [*columns, "best of ours to best peer", "outside the products", "MB, ours / PyTorch"]
    lines = [
        "### layers, TFLOP/s, burst / sustained",
        "",
        "| layer | experts' rows | " + " | ".join(heads) + " |",
        "|" + "---|" * (2 + len(heads)),
    ]
    for row in results["rows"]:

        def rate(name: str, regime: str, row: dict = row) -> float | None:
            return statistics.median(row[regime][name]) if row[regime].get(name) else None

        cells = [f"{number(rate(c, 'burst'))} / {number(rate(c, 'sustained'))}" for c in columns]
        ratios = []
        for regime in ("burst", "sustained"):
            ours = [r for c in columns if c.startswith("ours") and (r := rate(c, regime))]
            others = [r for c in columns if c.startswith("torch") and (r := rate(c, regime))]
            ratios.append(number(max(ours) / max(others) if ours and others else None, 2))
        cells.append(" / ".join(ratios))
        timed = [row[f"kernels.{v}"] for v in VARIANTS if f"kernels.{v}" in row]
        if timed:
            kernels = min(timed, key=lambda k: sum(k.values()))
            products = sorted((us for n, us in kernels.items() if "ragged_gemm" in n), reverse=True)[:2]
            cells.append(f"{100 * (1 - sum(products) / sum(kernels.values())):.0f}%")
        else:
            cells.append("-")
        memory = [row[f"bytes.{v}"] for v in VARIANTS if f"bytes.{v}" in row]
        peers_memory = [row[key] for key in row if key.startswith("bytes.torch")]
        cells.append(f"{min(memory) / 1e6:.0f} / {min(peers_memory) / 1e6:.0f}" if memory and peers_memory else "-")
        lines.append(
            f"| {row['name']} {row['kind']} | {row['smallest']} to {row['largest']} | " + " | ".join(cells) + " |"
        )
    lines.append("")
    lines += [f"- left out: {name}: {why.splitlines()[0]}" for name, why in results["bad"].items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("layers.json"))
    parser.add_argument("--shapes", type=lambda s: s.split(","), default=list(SHAPES))
    parser.add_argument("--kinds", type=lambda s: s.split(","), default=["even", "skew"])
    parser.add_argument("--variants", type=lambda s: s.split(","), default=list(VARIANTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-sustained", dest="sustained", action="store_false")
    parser.add_argument("--no-compiled", dest="compiled", action="store_false", help="leave torch.compile out")
    parser.add_argument("--no-peers", action="store_true")
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
