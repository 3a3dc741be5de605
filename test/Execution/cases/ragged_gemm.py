"""Random `tile.ragged_gemm` ops, written in the tile dialect so that everything the op can be is reached, against products
in float64. The seed is printed; MOE_SEED repeats it."""

import platform
from dataclasses import dataclass, field

import numpy as np
from harness import NAMES, bf16, compile, f16, f32, i32, i64, rng, tensor

FLOATS = [f32, bf16, f16]
HALF_ULP = {f32: 2.0**-24, bf16: 2.0**-8, f16: 2.0**-11}  # of a normal number, relative


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


@dataclass
class Sum:
    """A value of the epilogue: its name in the IR, what it is, and the sum of the magnitudes that were added to it."""

    name: str
    value: np.ndarray
    magnitude: np.ndarray


@dataclass
class Product:
    """One op: text and inputs of a function of its own, and the results to expect."""

    generator: np.random.Generator
    name: str
    inputs: list[tuple[str, np.ndarray, str]] = field(default_factory=list)  # name, array, type
    attributes: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)  # of the epilogue
    body: list[str] = field(default_factory=list)

    def pick(self, *choices):
        return choices[int(self.generator.integers(len(choices)))]

    def normal(self, *shape: int, dtype: np.dtype) -> np.ndarray:
        """Normal numbers in rows that may have a pitch, with NaN between them."""
        whole = np.full((*shape[:-1], shape[-1] + int(self.generator.integers(0, 4))), np.nan, dtype)
        rows = whole[..., : shape[-1]]
        rows[...] = self.generator.standard_normal(shape).astype(dtype)
        return rows

    def operand(self, name: str, array: np.ndarray, dynamic: int | None = None) -> str:
        """Adds an input; returns `%name : type`."""
        sizes = [None if i == dynamic else size for i, size in enumerate(array.shape)]
        self.inputs.append((name, array, tensor(sizes, array.dtype)))
        return f"%{name} : {self.inputs[-1][2]}"

    def argument(self, name: str, dtype: np.dtype) -> str:
        """Adds an argument of the epilogue; returns the name of its value in f32."""
        self.arguments.append(f"%{name}: {NAMES[dtype]}")
        if dtype == f32:
            return f"%{name}"
        self.body.append(f"%{name}_f32 = arith.extf %{name} : {NAMES[dtype]} to f32")
        return f"%{name}_f32"

    def add(self, sum: Sum, name: str, value: np.ndarray) -> Sum:
        new = f"%s{len(self.body)}"
        self.body.append(f"{new} = arith.addf {sum.name}, {name} : f32")
        return Sum(new, sum.value + value, sum.magnitude + np.abs(value))

    def bounds(self, groups: int, rows: int) -> np.ndarray:
        """Ascending ranges with gaps between some of them, many of them empty."""
        cuts = np.sort(self.generator.integers(0, rows + 1, 2 * groups)).reshape(groups, 2)
        if self.pick(False, True) and groups:
            cuts[1:, 0] = cuts[:-1, 1]  # no gaps
        empty = self.generator.random(groups) < self.pick(0.0, 0.3, 1.0)
        cuts[empty, 0] = cuts[empty, 1]
        return np.ascontiguousarray(cuts).astype(i64)

    def build(self) -> None:
        pick, dtype = self.pick, self.pick(*FLOATS)
        form = pick("ragged", "ragged", "ragged", "single", "batch", "contraction", "contraction", "sum")
        m, k = pick(0, 1, 5, 17, 64, 130, 300), pick(0, 1, 3, 8, 16, 33, 100, 256, 300)
        accs = (
            pick("single", "single", "concatenated", "interleaved")
            if form in ("ragged", "single", "batch")
            else "single"
        )
        count = 1 if accs == "single" else 2
        n = count * pick(1, 2, 5, 16, 33, 64, 112, 260 // count, 560)
        bounded = form in ("ragged", "contraction", "sum")
        g = pick(0, 1, 2, 5) if bounded else pick(1, 3)
        offset = pick(0, 0, 2) if bounded else 0
        # Group of the weights that a row belongs to, or -1.
        group = np.zeros(m, int) if form == "single" else np.full(m, -1)
        bounds = self.bounds(g + offset + pick(0, 1), m) if bounded else None
        for i in range(g if bounded else 0):
            group[slice(*bounds[offset + i])] = i
        outside = group < 0

        text = ""
        gathered = form in ("ragged", "single") and pick(False, True)
        if form in ("ragged", "single"):
            x = self.normal(pick(1, 40) if gathered else m, k, dtype=dtype)
            text += f"lhs({self.operand('x', x, 0)}) "
            rows = wide(x)
            if gathered:
                index = self.generator.integers(-1, len(x), m).astype(i32)
                rows = np.where(index[:, None] >= 0, wide(x[np.maximum(index, 0)]), 0)
                index[outside] = 123456  # not to be followed
                text += f"gather({self.operand('index', index, 0)}) "
            else:
                x[outside] = np.nan
        elif form == "batch":
            x = self.normal(g, m, k, dtype=dtype)
            text += f"lhs({self.operand('x', x, 1)}) "
        elif form == "contraction":
            x = self.normal(m, k, dtype=dtype)
            x[outside] = np.nan
            text += f"lhs({self.operand('x', x, 0)}) "

        layout = pick("kn", "nk") if form in ("ragged", "single", "batch") else "kn"
        if form in ("contraction", "sum"):
            w = self.normal(m, n, dtype=dtype)
            w[outside] = np.nan
            text += f"rhs({self.operand('w', w, 0)}) "
        else:
            w = self.normal(*([] if form == "single" else [g]), *((k, n) if layout == "kn" else (n, k)), dtype=dtype)
            text += f"rhs({self.operand('w', w)}) "
        weights = wide(w) if layout == "kn" else wide(w).swapaxes(-1, -2)
        if bounded:
            text += f"bounds({self.operand('b', bounds)}) "

        def multiply(left: np.ndarray, right: np.ndarray, of) -> np.ndarray:
            return of(left) @ of(right)

        def product(of) -> np.ndarray:
            if form == "batch":
                return multiply(x_wide, weights, of)
            if form in ("contraction", "sum"):
                shape = (g, n) if form == "sum" else (g, k, n)
                ones = np.ones((m, 1)) if form == "sum" else wide(x)
                each = [multiply(ones[group == i].T, weights[group == i], of) for i in range(g)]
                return np.array(each).reshape(shape)
            result = np.zeros((m, n))
            for i in range(max(g, 1)):
                if (group == i).any():
                    matrix = weights if form == "single" else weights[i]
                    result[group == i] = multiply(rows[group == i], matrix, of)
            return result

        x_wide = wide(x) if form == "batch" else None
        parts = {
            "single": [np.s_[..., :]],
            "concatenated": [np.s_[..., : n // 2], np.s_[..., n // 2 :]],
            "interleaved": [np.s_[..., 0::2], np.s_[..., 1::2]],
        }[accs]
        value, magnitude = product(np.asarray), product(np.abs)
        self.arguments += [f"%acc{i}: f32" for i in range(count)]
        if count == 1:
            total = Sum("%acc0", value, magnitude)
        else:
            self.body.append("%difference = arith.subf %acc0, %acc1 : f32")
            total = Sum("%difference", value[parts[0]] - value[parts[1]], magnitude[parts[0]] + magnitude[parts[1]])
        shape = total.value.shape

        extras, kinds, slots = [], [], None
        for e in range(pick(0, 1, 3) if form in ("ragged", "single") else 0):
            kind, element = pick("row", "slot", "group", "elem"), pick(*FLOATS)
            kinds.append(f"#tile.extra<{kind}>")
            if kind == "row":
                extra = self.generator.standard_normal(m).astype(element)
                values = [wide(extra)[:, None] + np.zeros(shape)]
            elif kind == "slot":
                extra = self.normal(7, pick(1, 2, 4), dtype=element)
                if slots is None:
                    slots = self.generator.integers(-1, 7, m).astype(i32)
                flat = wide(extra).reshape(-1)
                values = [np.where(slots >= 0, flat[np.maximum(slots, 0)], 0)[:, None] + np.zeros(shape)]
            elif kind == "group":
                extra = self.normal(*([] if form == "single" else [g]), n, dtype=element)
                table = wide(extra)[None] if form == "single" else np.concatenate([wide(extra), np.zeros((1, n))])
                values = [table[group][part] for part in parts]
            else:
                extra = self.normal(*shape, dtype=element)
                extra[outside] = np.nan
                values = [np.where(outside[:, None], 0, wide(extra))]
            extras.append(self.operand(f"extra{e}", extra, None if kind == "group" else 0))
            for i, each in enumerate(values):
                total = self.add(total, self.argument(f"e{e}_{i}", element), each)
        if slots is not None:
            text += f"slots({self.operand('slots', slots, 0)}) "
        if extras:
            names, types = zip(*(extra.split(" : ") for extra in extras), strict=True)
            text += f"extras({', '.join(names)} : {', '.join(types)}) "
            self.attributes.append(f"extra_kinds = [{', '.join(kinds)}]")

        accumulate = pick(False, False, True)
        elements = [pick(*FLOATS) for _ in range(pick(1, 1, 2))]
        dynamic = {"ragged": 0, "single": 0, "batch": 1}.get(form)
        out_types = [tensor([None if i == dynamic else s for i, s in enumerate(shape)], e) for e in elements]
        self.expected, setup, yields = [], "", []
        if not accumulate and dynamic is not None:
            source, axis = ("index", 0) if gathered else ("x", dynamic)
            kind = next(t for name, _, t in self.inputs if name == source)
            setup += f"  %axis = arith.constant {axis} : index\n  %m = tensor.dim %{source}, %axis : {kind}\n"
        for i, (element, kind) in enumerate(zip(elements, out_types, strict=True)):
            result = total
            if accumulate:
                old = self.normal(*shape, dtype=element)
                self.operand(f"init{i}", old, dynamic)
                result = self.add(total, self.argument(f"old{i}", element), wide(old))
            else:
                setup += f"  %init{i} = tensor.empty({'%m' if dynamic is not None else ''}) : {kind}\n"
            yields.append(result.name)
            if element != f32:
                yields[-1] = f"%out{i}"
                self.body.append(f"%out{i} = arith.truncf {result.name} : f32 to {NAMES[element]}")
            limit = result.magnitude * (k + m + 8) ** 0.5 * 2.0**-23 + np.abs(result.value) * HALF_ULP[element] * 1.05
            limit += 2.0**-24 if element == f16 else 1e-37  # subnormals
            value = result.value
            if form == "ragged":
                value, limit = (np.where(outside[:, None], 0, a) for a in (value, limit))
            self.expected.append((value, limit))

        self.attributes += [f"accs = #tile.accs<{accs}>", f"layout = #tile.rhs<{layout}>"]
        self.attributes += ["mode = #tile.mode<contraction>"] if form in ("contraction", "sum") else []
        self.attributes += [f"group_offset = {offset} : i64"] if bounded else []
        self.attributes += ["accumulate"] if accumulate else []
        arguments = ", ".join(f"%{name}: {kind}" for name, _, kind in self.inputs)
        results = ", ".join(out_types)
        inits = ", ".join(f"%init{i}" for i in range(len(elements)))
        values = ", ".join(f"%y#{i}" for i in range(len(elements)))
        body = "".join(f"    {line}\n" for line in self.body)
        self.text = f"""func.func @{self.name}({arguments}) -> ({results}) {{
{setup}  %y:{len(elements)} = tile.ragged_gemm {text}outs({inits} : {results}) attributes {{{", ".join(self.attributes)}}} {{
  ^bb0({", ".join(self.arguments)}):
{body}    tile.yield {", ".join(yields)} : {", ".join(NAMES[e] for e in elements)}
  }} -> {results}
  return {values} : {results}
}}
"""
        self.what = f"{self.name}: {form} {dtype} M={m} K={k} N={n} g={g} {', '.join(self.attributes)}"


def products(*options: str) -> None:
    generator = rng()
    all = [Product(generator, f"p{i}") for i in range(12)]
    for product in all:
        product.build()
        print(product.what)
    program = compile("".join(product.text for product in all), *options)
    for product in all:
        inputs = [array for _, array, _ in product.inputs]
        once = program.run(*inputs, entry=product.name, threads=1)
        again = program.run(*inputs, entry=product.name, threads=3)
        for i, (value, limit) in enumerate(product.expected):
            assert once[i].tobytes() == again[i].tobytes(), f"{product.what}: bits depend on the number of threads"
            error = np.abs(wide(once[i]) - value)
            bad = ~(error <= limit)
            if bad.any():
                at = tuple(int(j) for j in np.argwhere(bad)[0])
                raise AssertionError(
                    f"{product.what}: {bad.sum()} of {bad.size} elements of result {i} differ; the first at {at} is "
                    f"{wide(once[i])[at]:.9g}, expected {value[at]:.9g} +- {limit[at]:.3g}; largest error {error.max():.3g}"
                )


def property_products_of_every_kind() -> None:
    products()


def property_products_of_every_kind_with_avx2() -> None:
    if platform.machine() == "x86_64":
        products("--cpu=x86-64-v3")
