"""The ctypes binding of the runtime, on programs for the CPU."""

import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Execution" / "cases"))
import numpy as np
import texts
from harness import BUILD, bf16, compile, equal, f32, i32
from moe_mlir._runtime import Argument, Buffer, Call, DType, MoeError, Program, Runtime, Session

RUNTIME = Runtime(BUILD / "lib" / "libmoert.so.0")


def program(text: str) -> Program:
    return Program(compile(text).blob, RUNTIME)


def raised(error: type[Exception], function, *arguments) -> Exception:
    try:
        function(*arguments)
    except error as found:
        return found
    raise AssertionError(f"{error.__name__} was not raised")


def case_what_a_program_says_of_itself() -> None:
    p = program(texts.forward(None, 16, 8, 2, bf16, name="dot"))
    assert p.target == "cpu" and p.arch, (p.target, p.arch)
    assert RUNTIME.version
    entry = p.entry()
    assert entry == p.entry("dot") == p.entries[0]
    assert [a.dtype for a in entry.inputs] == [DType.bf16, DType.bf16, DType.i32]
    assert [a.dims for a in entry.inputs] == [(None, 16), (2, 16, 8), (2,)]
    (output,) = entry.outputs
    assert isinstance(output, Argument) and output.dims == (None, 8) and output.alias is None
    assert not entry.needs_comm and not entry.host_sync


def case_entries_are_found_by_name() -> None:
    p = program(texts.forward(4, 8, 8, 2, f32, name="a") + texts.wgrad(4, 8, 8, 2, f32, name="b"))
    assert p.entry("b").name == "b"
    for name in (None, "c"):
        assert "a, b" in str(raised(KeyError, p.entry, name))


def case_a_call_that_is_repeated() -> None:
    p = program(texts.forward(None, 16, 8, 2, f32))
    entry, session = p.entry(), Session(p, threads=2)
    x, w = np.ones((8, 16), f32), np.stack([np.full((16, 8), e, f32) for e in (1, 2)])
    sizes, y = np.array([4, 4], i32), np.full((8, 8), np.nan, f32)
    inputs = [Buffer.of(a) for a in (x, w, sizes)]
    assert p.output_shapes(entry, inputs) == [(8, 8)]
    size, align = p.workspace(entry, inputs)
    memory = np.zeros(size + align, np.uint8)
    workspace = memory.ctypes.data + -memory.ctypes.data % align
    call = Call(session, entry, inputs, [Buffer.of(y)], workspace, size)
    call()
    equal(y[:, 0], [16] * 4 + [32] * 4)
    sizes[:] = [1, 7]
    call()
    equal(y[:, 0], [16] + [32] * 7)
    assert session.poll(workspace) == []
    sizes[:] = [-3, 7]
    call()
    (fault,) = session.poll(workspace)
    assert (fault.kind, fault.count, fault.row, fault.value) == ("BAD_SIZES", 1, 0, -3), fault


def case_a_trace() -> None:
    p = program(texts.forward(None, 16, 8, 3, f32))
    entry, session = p.entry(), Session(p, threads=2)
    x, w, sizes, y = (
        np.ones((9, 16), f32),
        np.ones((3, 16, 8), f32),
        np.array([4, 0, 7], i32),
        np.full((9, 8), np.nan, f32),
    )
    inputs = [Buffer.of(a) for a in (x, w, sizes)]
    size, align = p.workspace(entry, inputs)
    memory = np.zeros(size + align, np.uint8)
    workspace = memory.ctypes.data + -memory.ctypes.data % align
    steps = Call(session, entry, inputs, [Buffer.of(y)], workspace, size).trace()
    equal(y, np.full((9, 8), 16, f32))
    assert [s.rows for s in steps if s.rows] == [(4, 0, 5)], steps  # as many as there are
    assert [s.flops for s in steps if s.flops] == [2 * 9 * 16 * 8], steps
    assert all(s.begin <= s.end and s.bytes > 0 for s in steps), steps
    wrong = [Buffer.of(x), Buffer.of(w), Buffer.of(sizes[:2])]
    error = raised(MoeError, Call(session, entry, wrong, [Buffer.of(y)], workspace, size).trace)
    assert error.code == "INVALID_ARGUMENT", error


def case_sessions_share_threads() -> None:
    """The second outlives the first, whose threads it uses."""
    texts_of = [texts.forward(None, 16, 8, 2, f32), texts.wgrad(None, 16, 8, 2, f32)]
    p, q = (program(t) for t in texts_of)
    before = len(list(Path("/proc/self/task").iterdir()))
    first = Session(p, threads=3)
    second = Session(q, threads_of=first)
    assert len(list(Path("/proc/self/task").iterdir())) == before + 3
    del first
    x, dy, sizes, dw = np.ones((8, 16), f32), np.ones((8, 8), f32), np.array([3, 5], i32), np.zeros((2, 16, 8), f32)
    inputs = [Buffer.of(a) for a in (x, dy, sizes)]
    size, align = q.workspace(q.entry(), inputs)
    memory = np.zeros(size + align, np.uint8)
    second.enqueue(q.entry(), inputs, [Buffer.of(dw)], memory.ctypes.data + -memory.ctypes.data % align, size)
    equal(dw[:, 0, 0], [3, 5])


def case_errors_carry_code_message_and_place() -> None:
    error = raised(MoeError, Program, b"not a program", RUNTIME)
    assert error.code == "BAD_PROGRAM" and str(error) and ":" in error.where, (error.code, error, error.where)
    p = program(texts.forward(4, 16, 8, 2, f32))
    wrong = [Buffer.of(np.zeros(s, d)) for s, d in (((4, 15), f32), ((2, 16, 8), f32), ((2,), i32))]
    error = raised(MoeError, p.workspace, p.entry(), wrong)
    assert error.code == "INVALID_ARGUMENT" and "15" in str(error) and "16" in str(error), error


def case_buffers() -> None:
    x = np.zeros((6, 10), f32)
    b = Buffer.of(x[1::2, 2:5])
    assert (b.dtype, b.shape, b.strides) == (DType.f32, (3, 3), (80, 4))
    assert b.pointer == x.ctypes.data + 48 and b.size_bytes == 2 * 80 + 3 * 4
    assert Buffer(64, DType.bf16, (2, 3, 4)).strides == (24, 8, 2)
    assert Buffer.of(np.zeros((0, 4), bf16)).size_bytes == 0
    # What PyTorch offers: a pointer, strides in elements, a type with a prefix.
    tensor = types.SimpleNamespace(dtype="torch.bfloat16", shape=(5, 7), data_ptr=lambda: 4096, stride=lambda: (8, 1))
    b = Buffer.of(tensor)
    assert (b.pointer, b.dtype, b.strides, b.size_bytes, b.owner) == (4096, DType.bf16, (16, 2), 4 * 16 + 14, tensor)
    assert "complex128" in str(raised(TypeError, Buffer.of, np.zeros(3, np.complex128)))
    assert "below 0" in str(raised(ValueError, Buffer.of, x[::-1]))
    assert "rank 2" in str(raised(ValueError, Buffer, 0, DType.f32, (1, 2), (4,)))
