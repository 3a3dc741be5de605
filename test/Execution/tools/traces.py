"""moe-run --trace, --report and --bench on layers of random sizes, against costs and sizes worked out here."""

import json
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np
from harness import equal, f32, i32, rng, tool

LAYER = """
!plan = !moe.plan<groups = {E}, topk = {k}>
#by_expert = #moe.ragged<groups = {E}>
func.func @layer(%x: tensor<?x{K}xf32> {{moe.name = "x"}}, %ids: tensor<?x{k}xi32>, %w: tensor<{E}x{K}x{N}xf32>) -> tensor<?x{N}xf32> {{
  %plan = moe.plan %ids : tensor<?x{k}xi32> -> !plan
  %rows = moe.gather %x, %plan : tensor<?x{K}xf32>, !plan -> tensor<?x{K}xf32, #by_expert>
  %y = moe.ragged_matmul %rows, %w plan %plan : tensor<?x{K}xf32, #by_expert>, tensor<{E}x{K}x{N}xf32>, !plan -> tensor<?x{N}xf32, #by_expert>
  %out = moe.combine %y, %plan : tensor<?x{N}xf32, #by_expert>, !plan -> tensor<?x{N}xf32>
  return %out : tensor<?x{N}xf32>
}}
"""


class Layer:
    """Random sizes and ids, compiled in a folder; `run` calls moe-run with options in which FOLDER stands for it."""

    def __init__(self, folder: str, **sizes: int):
        random = rng()
        draw = {
            "T": random.integers(1, 60),
            "k": 2,
            "E": random.integers(2, 40),
            "K": random.integers(1, 50),
            "N": random.integers(1, 50),
        }
        self.__dict__.update({name: int(size) for name, size in (draw | sizes).items()})
        self.M = self.T * self.k
        self.folder = Path(folder)
        (self.folder / "layer.mlir").write_text(LAYER.format(**self.__dict__))
        done = tool("moe-compile", f"{folder}/layer.mlir", "-o", f"{folder}/layer.moe")
        assert done.returncode == 0, done.stderr
        self.ids = random.integers(0, self.E, (self.T, self.k)).astype(i32)
        self.x = random.standard_normal((self.T, self.K), f32)
        self.w = random.standard_normal((self.E, self.K, self.N), f32)
        np.savez(self.folder / "in.npz", in0=self.x, in1=self.ids, in2=self.w)

    def run(self, *options: str, good: bool = True) -> str:
        options = [option.replace("FOLDER", str(self.folder)) for option in options]
        done = tool("moe-run", f"{self.folder}/layer.moe", "--input", f"{self.folder}/in.npz", "--threads=2", *options)
        assert (done.returncode == 0) == good, done.stdout + done.stderr
        return done.stdout + done.stderr

    @property
    def sizes(self) -> list[int]:
        return np.bincount(self.ids.ravel(), minlength=self.E).tolist()

    @property
    def costs(self) -> list[tuple[int, int]]:
        """(flops, bytes) of the plan, the product and the combine."""
        plan = 4 * (2 * self.M + self.E + 2 * self.M) + 16 * self.E + 8
        product = 4 * (self.T * self.K + min(self.E, self.M) * self.K * self.N + self.M * self.N + self.M) + 16 * self.E
        combine = 4 * (self.M * self.N + self.T * self.N + self.M)
        return [(0, plan), (2 * self.M * self.K * self.N, product), (self.M * self.N, combine)]


def slices(layer: Layer, *options: str) -> tuple[dict, list[dict], list[dict]]:
    """The trace, and its slices on the device and on the host."""
    layer.run("--trace", "FOLDER/trace.json", *options)
    trace = json.loads((layer.folder / "trace.json").read_text())
    events = trace["traceEvents"]
    tracks = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    assert sorted(tracks) == ["host: enqueue", "kernels"]
    device, host = (
        [e for e in events if e["ph"] == "X" and e["tid"] == tracks[name]] for name in ("kernels", "host: enqueue")
    )
    return trace, device, host


def property_costs_and_rates() -> None:
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(folder)
        trace, device, host = slices(layer, "--peak-tflops", "2.5", "--peak-tbs", "0.125")
        assert trace["otherData"]["entry"] == "layer" and trace["otherData"]["peak TB/s"] == 0.125
        assert [e["name"] for e in device] == ["layer_0_plan", "layer_1_ragged_gemm", "layer_2_rows"]
        assert [(e["args"]["flops"], e["args"]["bytes"]) for e in device] == layer.costs
        assert [e["args"].get("rows") for e in device] == [layer.sizes, None, None]
        end = 0
        for e in device:
            flops, moved, seconds = e["args"]["flops"], e["args"]["bytes"], e["dur"] * 1e-6
            assert e["ts"] >= end and e["cat"] == "launch"
            end = e["ts"] + e["dur"] - 1e-3  # a time is a sum of two doubles
            np.testing.assert_allclose(e["args"]["TFLOP/s"], flops / seconds / 1e12)
            np.testing.assert_allclose(e["args"]["TB/s"], moved / seconds / 1e12)
            np.testing.assert_allclose(e["args"]["share of roofline"], max(flops / 2.5e12, moved / 0.125e12) / seconds)
        # The host's track has the whole enqueue and every step of it.
        assert [e["name"] for e in host] == ["enqueue", *(e["name"] for e in device)]
        assert all(e["ts"] >= 0 and e["ts"] + e["dur"] <= host[0]["dur"] + 1e-3 for e in host)


def case_no_share_of_an_unknown_roofline() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for options in ([], ["--peak-tflops", "1"]):
            trace, device, _ = slices(Layer(folder), *options)
            assert len(device) == 3 and not any("share of roofline" in e["args"] for e in device)
            assert "peak TB/s" not in trace["otherData"]


def case_no_tokens() -> None:
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(folder, T=0)
        _, device, _ = slices(layer, "--report", "FOLDER/report.html")
        assert [(e["args"]["flops"], e["args"]["bytes"]) for e in device] == layer.costs
        assert device[0]["args"]["rows"] == [0] * layer.E
        assert len(find(layer, "experts", "bar")) == layer.E


def case_outputs_are_those_of_a_run() -> None:
    """A trace is a run more, of whose outputs nothing is seen."""
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(folder)
        layer.run("--output", "FOLDER/plain.npz")
        layer.run(
            "--output",
            "FOLDER/traced.npz",
            "--trace",
            "FOLDER/trace.json",
            "--report",
            "FOLDER/report.html",
            "--bench",
            "--repeat=2",
        )
        equal(np.load(layer.folder / "traced.npz")["out0"], np.load(layer.folder / "plain.npz")["out0"])


# --- the page ----------------------------------------------------------------------------------------------------------------


def page(layer: Layer) -> xml.Element:
    return xml.parse(layer.folder / "report.html").getroot()


def find(layer: Layer, chart: str, kind: str) -> list[xml.Element]:
    """Elements of a class in a chart, which has an id or a class."""
    (svg,) = (s for s in page(layer).iter("svg") if chart in (s.get("id"), s.get("class")))
    return [e for e in svg.iter() if kind in (e.tag, e.get("class"))]


def property_bars_are_as_high_as_groups_are_large() -> None:
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(folder)
        layer.run("--report", "FOLDER/report.html")
        bars = find(layer, "experts", "bar")
        heights = np.array([float(b.get("height")) for b in bars])
        np.testing.assert_allclose(heights, np.array(layer.sizes) / max(layer.sizes) * 300, atol=0.01)
        np.testing.assert_allclose([float(b.get("y")) + float(b.get("height")) for b in bars], 310, atol=0.02)
        assert [b.find("title").text for b in bars] == [f"group {g}: {n} rows" for g, n in enumerate(layer.sizes)]
        left = [float(b.get("x")) for b in bars]
        assert left == sorted(left) and left[0] >= 52 and left[-1] + float(bars[-1].get("width")) <= 500.01
        (mean,) = find(layer, "experts", "mean")
        np.testing.assert_allclose(float(mean.get("y1")), 310 - layer.M / layer.E / max(layer.sizes) * 300, atol=0.01)


def property_time_line_and_roofline_are_those_of_the_trace() -> None:
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(folder)
        _, device, _ = slices(layer, "--report", "FOLDER/report.html", "--peak-tflops", "2", "--peak-tbs", "0.1")
        last = max(e["ts"] + e["dur"] for e in device)
        drawn = find(layer, "timeline", "device")
        assert not find(layer, "timeline", "host")  # the cpu enqueues nothing
        for e, rect in zip(device, drawn, strict=True):
            np.testing.assert_allclose(float(rect.get("x")), 52 + e["ts"] / last * 958, atol=0.02)
            np.testing.assert_allclose(float(rect.get("width")), max(0.5, e["dur"] / last * 958), atol=0.02)
        # Logarithmic axes: from the two lowest marks the place of any number follows.
        marks = [
            (float(t.text), float(t.get("x")), float(t.get("y")), t.get("text-anchor"))
            for t in find(layer, "roofline", "text")
            if is_number(t.text)
        ]
        xs = sorted((v, x) for v, x, y, _ in marks if y == 326)
        ys = sorted((v, y - 4) for v, x, y, anchor in marks if anchor == "end")

        def at(axis: list[tuple[float, float]], value: float) -> float:
            (v0, p0), (v1, p1) = axis[0], axis[-1]
            return p0 + np.log(value / v0) / np.log(v1 / v0) * (p1 - p0)

        dots = find(layer, "roofline", "circle")
        computing = [e for e in device if e["args"]["flops"]]
        for e, dot in zip(computing, dots, strict=True):
            np.testing.assert_allclose(float(dot.get("cx")), at(xs, e["args"]["flops"] / e["args"]["bytes"]), atol=0.05)
            np.testing.assert_allclose(float(dot.get("cy")), at(ys, e["args"]["TFLOP/s"]), atol=0.05)
            assert 52 <= float(dot.get("cx")) <= 500 and 10 <= float(dot.get("cy")) <= 310
        (ceiling,) = find(layer, "roofline", "ceiling")
        points = np.array(ceiling.get("d").replace("M", "").replace("L", "").split(), float).reshape(3, 2)
        np.testing.assert_allclose(points[1], [at(xs, 20), at(ys, 2)], atol=0.05)
        np.testing.assert_allclose(points[0], [52, at(ys, xs[0][0] * 0.1)], atol=0.05)
        np.testing.assert_allclose(points[2], [500, points[1][1]], atol=0.05)


def is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("e-", "").isdigit()


def case_the_page_needs_nothing_else() -> None:
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(folder)
        layer.run("--report", "FOLDER/report.html")
        assert not any(e.get(a) for e in page(layer).iter() for a in ("src", "href")) and not list(
            page(layer).iter("script")
        )
        assert not find(layer, "roofline", "ceiling") and "--peak-tflops" in (layer.folder / "report.html").read_text()
        rows = list(page(layer).iter("tr"))
        assert [row[1].text for row in rows] == ["step", "layer_0_plan", "layer_1_ragged_gemm", "layer_2_rows"]


def case_names_are_escaped() -> None:
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(folder)
        text = (layer.folder / "layer.mlir").read_text().replace("@layer", '@"<b>&"')
        (layer.folder / "layer.mlir").write_text(text)
        done = tool("moe-compile", f"{folder}/layer.mlir", "-o", f"{folder}/layer.moe")
        assert done.returncode == 0, done.stderr
        _, device, _ = slices(layer, "--report", "FOLDER/report.html")
        assert device[0]["name"] == "<b>&_0_plan"
        assert [t.text for t in page(layer).iter("h1")] == ["<b>&"]


# --- the table, and what is refused ------------------------------------------------------------------------------------------


def case_bench_has_a_line_for_each_step() -> None:
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(folder, T=10, E=4, K=3, N=5)
        lines = layer.run("--bench", "--repeat=3", "--peak-tflops=1", "--peak-tbs=1").splitlines()
        assert lines[0].startswith("time: median") and lines[1].split()[0] == "step", lines
        table = [line.split() for line in lines[2:]]
        assert [row[0] for row in table] == ["layer_0_plan", "layer_1_ragged_gemm", "layer_2_rows"], lines
        assert [row[3] for row in table] == ["0", "600", "100"] and all(row[-1].endswith("%") for row in table), lines
        np.testing.assert_allclose(sum(float(row[2].rstrip("%")) for row in table), 100, atol=0.2)


def case_what_cannot_be_written() -> None:
    with tempfile.TemporaryDirectory() as folder:
        layer = Layer(folder)
        for option in ("--trace", "--report"):
            assert "cannot write '/absent/file': No such file" in layer.run(option, "/absent/file", good=False)
            assert "cannot write '/dev/full': No space left" in layer.run(option, "/dev/full", good=False)
        for option in ("--peak-tflops", "--peak-tbs"):
            for value in ("0", "-1", "x"):
                assert option in layer.run(option, value, good=False)
