# Plans the arenas of random programs and checks them by the definition: evaluated for random input sizes, buffers that are
# alive together are apart, and every buffer is aligned and inside the arena.
# RUN: %python %s

import os
import random
import re
import subprocess

seed = int(os.environ.get("MOE_SEED", random.randrange(2**32)))
print(f"MOE_SEED={seed}")
rng = random.Random(seed)


def random_program(number: int) -> str:
    lines = [f"prog.program @p{number}(%x: memref<?xi8>, %y: memref<?xi8>) {{"]
    lines += ["  %m = prog.dim %x, 0 : memref<?xi8>", "  %n = prog.dim %y, 0 : memref<?xi8>"]
    sizes = ["%m", "%n"]
    for i in range(rng.randrange(4)):
        op = rng.choice(["addi", "muli", "ceildivsi", "maxsi"])
        constant = rng.choice([1, 2, 3, 8, 64])
        lines.append(f"  %c{i} = arith.constant {constant} : i64")
        lines.append(f"  %s{i} = arith.{op} {rng.choice(sizes)}, %c{i} : i64")
        sizes.append(f"%s{i}")
    buffers = []
    for i in range(rng.randrange(1, 9)):
        shape = [rng.choice([1, 3, 16, 64, 100]) for _ in range(rng.randrange(1, 3))]
        element = rng.choice(["f32", "bf16", "i64", "i8"])
        dynamic = [rng.choice(sizes) for _ in range(rng.randrange(3))]
        type_ = "memref<" + "?x" * len(dynamic) + "".join(f"{d}x" for d in shape) + element + ">"
        lines.append(f"  %b{i} = prog.buffer ({', '.join(dynamic)}) : {type_}")
        buffers.append((f"%b{i}", type_))
    for _ in range(rng.randrange(1, 12)):
        name, type_ = rng.choice(buffers)
        lines.append(f"  prog.memset {name}, {rng.randrange(100)} : {type_}")
    return "\n".join([*lines, "  prog.return", "}"])


BYTES = {"f32": 4, "bf16": 2, "i64": 8, "i8": 1}
OPS = {
    "addi": lambda a, b: a + b,
    "muli": lambda a, b: a * b,
    "ceildivsi": lambda a, b: -(-a // b),
    "maxsi": max,
}


def check(text: str, inputs: dict[str, int]) -> tuple[int, int]:
    """Evaluates a planned program; the arena's size and the largest sum of sizes alive at once."""
    values: dict[str, int] = {}
    buffers: dict[str, tuple[int, int]] = {}
    uses: dict[str, list[int]] = {}
    arena = 0
    for position, line in enumerate(text.splitlines()):
        line = line.strip()
        if match := re.match(r"(%\w+) = arith.constant (-?\d+) : i64", line):
            values[match[1]] = int(match[2])
        elif match := re.match(r"(%\w+) = prog.dim (%\w+), 0", line):
            values[match[1]] = inputs[match[2]]
        elif match := re.match(r"(%\w+) = arith.(\w+) (%\w+), (%\w+) : i64", line):
            values[match[1]] = OPS[match[2]](values[match[3]], values[match[4]])
        elif match := re.match(r"(%\w+) = prog.buffer\((.*)\) at (%\w+) : memref<(.*)>", line):
            dynamic = [values[v] for v in match[2].split(", ") if v]
            *shape, element = match[4].split("x")
            size = BYTES[element]
            for dim in shape:
                size *= dynamic.pop(0) if dim == "?" else int(dim)
            buffers[match[1]] = (values[match[3]], size)
        elif match := re.match(r"prog.memset (%\w+),", line):
            uses.setdefault(match[1], []).append(position)
        elif match := re.match(r"prog.return arena\((%\w+)\)", line):
            arena = values[match[1]]
    assert buffers.keys() == uses.keys(), "buffers are planned if and only if they are used"
    for a, (begin, size) in buffers.items():
        assert begin % 64 == 0 and begin >= 0 and begin + size <= arena, f"{a} at {begin}, {size} bytes, arena {arena}"
        for b, (other, other_size) in buffers.items():
            together = max(uses[a][0], uses[b][0]) <= min(uses[a][-1], uses[b][-1])
            if a < b and together and size and other_size:
                assert begin + size <= other or other + other_size <= begin, f"{a} and {b} overlap in\n{text}"
    alive = max(
        (
            sum(size for b, (_, size) in buffers.items() if uses[b][0] <= p <= uses[b][-1])
            for v in uses.values()
            for p in v
        ),
        default=0,
    )
    return arena, alive


programs = [random_program(i) for i in range(200)]
result = subprocess.run(
    ["moe-opt", "-", "--pass-pipeline=builtin.module(prog.program(prog-plan-arena))"],
    input="\n".join(programs),
    capture_output=True,
    text=True,
)
assert result.returncode == 0, result.stderr
planned = re.findall(r"prog\.program @p\d+\(.*?\n  }", result.stdout, re.DOTALL)
assert len(planned) == len(programs), len(planned)
arenas = peaks = 0
for text in planned:
    names = re.match(r"prog\.program @p\d+\((%\w+): .*?, (%\w+):", text)
    for _ in range(3):
        arena, peak = check(text, {names[1]: rng.randrange(200), names[2]: rng.randrange(200)})
        arenas, peaks = arenas + arena, peaks + peak
print(f"arenas {arenas} bytes, alive at once {peaks}")
