"""The C API of the runtime (runtime/include/moert/moert.h) for Python: programs, sessions, buffers, faults.

Needs the standard library alone. Tensors are described by pointer, shape and byte strides: `Buffer.of` takes them from NumPy
arrays and from PyTorch tensors, host or device, without a copy. Whoever calls owns all memory and keeps it until the
device has used it.
"""

from __future__ import annotations

import ctypes
import enum
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_RANK = 8
CODES = (
    "OK INVALID_ARGUMENT BAD_PROGRAM WRONG_VERSION WRONG_TARGET UNSUPPORTED OUT_OF_MEMORY SYSTEM COMM_FAILED".split()
)
FAULT_KINDS = 4


class MoeError(RuntimeError):
    """A status that is not success: `code` is its name, such as "INVALID_ARGUMENT", `where` the file and line."""

    def __init__(self, message: str, code: str, where: str):
        super().__init__(message)
        self.code, self.where = code, where


class DType(enum.IntEnum):
    f32 = 0
    bf16 = 1
    f16 = 2
    i32 = 3
    i64 = 4
    i8 = 5
    u8 = 6
    i1 = 7

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return (4, 2, 2, 4, 8, 1, 1, 1)[self]

    @classmethod
    def named(cls, name: str) -> DType:
        """The type that NumPy, ml_dtypes or PyTorch calls `name` ("float32", "torch.bfloat16", "bool")."""
        try:
            return _NAMES[name.removeprefix("torch.")]
        except KeyError:
            raise TypeError(f"element type {name}, expected one of {', '.join(_NAMES)}") from None


_NAMES = {
    "float32": DType.f32,
    "bfloat16": DType.bf16,
    "float16": DType.f16,
    "int32": DType.i32,
    "int64": DType.i64,
    "int8": DType.i8,
    "uint8": DType.u8,
    "bool": DType.i1,
}


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("size_bytes", ctypes.c_size_t),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class _Argument(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.c_int64 * MAX_RANK),
        ("alias", ctypes.c_int32),
    ]


class _Entry(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("num_inputs", ctypes.c_uint32),
        ("num_outputs", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("ranks", ctypes.c_uint32),
        ("axis", ctypes.c_char_p),
    ]


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("num_threads", ctypes.c_uint32), ("threads_of", ctypes.c_void_p)]


class _CommOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("timeout_ms", ctypes.c_uint32)]


class _Fault(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), *((n, ctypes.c_int64) for n in ("count", "row", "value", "limit"))]


class _Step(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("kind", ctypes.c_int),
        ("name", ctypes.c_char_p),
        *((n, ctypes.c_double) for n in ("begin", "end", "host_begin", "host_end")),
        ("flops", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
        ("rows", ctypes.POINTER(ctypes.c_int64)),
        ("num_groups", ctypes.c_size_t),
    ]


_StepFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Step))
_pointer, _u32, _size = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t
_buffers, _longs = ctypes.POINTER(_Buffer), ctypes.POINTER(ctypes.c_int64)
# Functions that return a status, with the types of their arguments.
_CALLS = {
    "moe_program_load": [ctypes.c_char_p, _size, ctypes.POINTER(_pointer)],
    "moe_program_entry": [_pointer, _u32, ctypes.POINTER(_Entry)],
    "moe_program_input": [_pointer, _u32, _u32, ctypes.POINTER(_Argument)],
    "moe_program_output": [_pointer, _u32, _u32, ctypes.POINTER(_Argument)],
    "moe_output_shape": [_pointer, _u32, _buffers, _size, _u32, _longs],
    "moe_workspace_query": [_pointer, _u32, _buffers, _size, ctypes.POINTER(_size), ctypes.POINTER(_size)],
    "moe_session_create": [_pointer, ctypes.c_int32, ctypes.POINTER(_Options), ctypes.POINTER(_pointer)],
    "moe_session_connect": [_pointer, _u32, _buffers, _size, _pointer, _pointer],
    "moe_enqueue": [_pointer, _u32, _buffers, _size, _buffers, _size, _pointer, _size, _pointer, _pointer],
    "moe_enqueue_traced": [
        *[_pointer, _u32, _buffers, _size, _buffers, _size, _pointer, _size, _pointer, _pointer],
        *[_StepFunction, _pointer],
    ],
    "moe_comm_create_local": [ctypes.c_int32, ctypes.POINTER(_CommOptions), ctypes.POINTER(_pointer)],
    "moe_comm_create_processes": [
        ctypes.c_char_p,
        ctypes.c_int32,
        ctypes.c_int32,
        ctypes.POINTER(_CommOptions),
        ctypes.POINTER(_pointer),
    ],
    "moe_comm_unique_id": [ctypes.c_char_p],
    "moe_comm_create_nccl": [
        ctypes.c_char_p,
        ctypes.c_int32,
        ctypes.c_int32,
        ctypes.c_int32,
        ctypes.POINTER(_CommOptions),
        ctypes.POINTER(_pointer),
    ],
    "moe_comm_status": [_pointer],
    "moe_comm_sent": [_pointer, ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64)],
    "moe_session_poll": [_pointer, _pointer, ctypes.POINTER(_Fault), ctypes.POINTER(_size)],
}
_STRINGS = {
    "moe_status_message": [_pointer],
    "moe_status_where": [_pointer],
    "moe_program_target": [_pointer],
    "moe_program_arch": [_pointer],
    "moe_fault_name": [ctypes.c_int],
    "moe_version": [],
}


def home() -> Path:
    """The folder whose bin and lib hold the tools and the runtime: $MOE_HOME, else that of this package."""
    return Path(os.environ.get("MOE_HOME") or Path(__file__).parent)


class Runtime:
    """The library libmoert.so.0. Without a path, the one of this installation."""

    def __init__(self, path: str | os.PathLike[str] | None = None):
        self._library = ctypes.CDLL(os.fspath(path or home() / "lib" / "libmoert.so.0"))
        for name, arguments in _CALLS.items():
            self._declare(name, ctypes.c_void_p, arguments)
        for name, arguments in _STRINGS.items():
            self._declare(name, ctypes.c_char_p, arguments)
        self._declare("moe_status_code", ctypes.c_int, [_pointer])
        self._declare("moe_program_num_entries", ctypes.c_uint32, [_pointer])
        for name in ("moe_status_free", "moe_program_release", "moe_session_release", "moe_comm_release"):
            self._declare(name, None, [_pointer])
        self._declare("moe_comm_fail", None, [_pointer, ctypes.c_char_p])

    def _declare(self, name: str, result: Any, arguments: list[Any]) -> None:
        function = getattr(self._library, name)
        function.restype, function.argtypes = result, arguments

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    @property
    def version(self) -> str:
        return self.moe_version().decode()

    def check(self, status: int | None) -> None:
        """Raises what a call returned, unless it is success."""
        if status:
            code = self.moe_status_code(status)
            message, where = (f(status).decode() for f in (self.moe_status_message, self.moe_status_where))
            self.moe_status_free(status)
            raise MoeError(message, CODES[code] if code < len(CODES) else "?", where)


@dataclass(frozen=True)
class Argument:
    """An input or output of an entry. `dims` holds None where the size follows from the caller's buffers; `alias` is the
    number of the input whose memory an output may share, or None."""

    name: str
    dtype: DType
    dims: tuple[int | None, ...]
    alias: int | None


@dataclass(frozen=True)
class Entry:
    number: int
    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    needs_comm: bool
    host_sync: bool
    capturable: bool


@dataclass(frozen=True)
class Fault:
    """What the kernels saw in the data: how often, and row, value and limit of the first record."""

    kind: str
    count: int
    row: int
    value: int
    limit: int


@dataclass(frozen=True)
class Step:
    """What a launch, fill or copy of a traced run took, in microseconds since the call: on the device, and on the host that
    enqueued it. `flops` and `bytes` are None if the program does not say; `rows` are those of each group, if the step finds them."""

    name: str
    begin: float
    end: float
    host_begin: float
    host_end: float
    flops: int | None
    bytes: int | None
    rows: tuple[int, ...]


class Buffer:
    """A tensor of the caller: pointer, element type, shape and byte strides (None: row-major without padding). Keeps
    `owner` alive."""

    def __init__(
        self,
        pointer: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        owner: object = None,
    ):
        self.pointer, self.dtype, self.shape, self.owner = pointer, DType(dtype), tuple(shape), owner
        if strides is None:
            strides, step = [], self.dtype.size
            for extent in reversed(self.shape):
                strides.insert(0, step)
                step *= max(extent, 1)
        self.strides = tuple(strides)
        if len(self.strides) != len(self.shape):
            raise ValueError(f"{len(self.strides)} strides for a tensor of rank {len(self.shape)}")
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        empty = 0 in self.shape
        if not empty and any(r < 0 for r in reach):
            raise ValueError(f"strides {self.strides}, expected none below 0")
        self.size_bytes = 0 if empty else sum(reach) + self.dtype.size

    @classmethod
    def of(cls, tensor: Any) -> Buffer:
        """Describes a PyTorch tensor or a NumPy array, wherever it lies and whatever its strides."""
        dtype = DType.named(str(tensor.dtype))
        if hasattr(tensor, "data_ptr"):
            return cls(tensor.data_ptr(), dtype, tensor.shape, [s * dtype.size for s in tensor.stride()], tensor)
        return cls(tensor.ctypes.data, dtype, tensor.shape, tensor.strides, tensor)

    def _fill(self, to: _Buffer) -> None:
        longs = ctypes.c_int64 * max(len(self.shape), 1)
        to.data = self.pointer if self.size_bytes else None
        to.size_bytes, to.dtype, to.rank = self.size_bytes, self.dtype, len(self.shape)
        to.shape, to.strides = longs(*self.shape), longs(*self.strides)


def _array(buffers: Sequence[Buffer]) -> ctypes.Array[_Buffer]:
    array = (_Buffer * max(len(buffers), 1))()
    for buffer, to in zip(buffers, array, strict=False):
        buffer._fill(to)
    return array


class Program:
    """A loaded .moe: what it holds, and what its entries need."""

    def __init__(self, blob: bytes, runtime: Runtime | None = None):
        self.runtime = runtime or Runtime()
        self._handle = _pointer()
        self.runtime.check(self.runtime.moe_program_load(blob, len(blob), ctypes.byref(self._handle)))
        self.target: str = self.runtime.moe_program_target(self._handle).decode()
        self.arch: str = self.runtime.moe_program_arch(self._handle).decode()
        count = self.runtime.moe_program_num_entries(self._handle)
        self.entries = tuple(self._entry(i) for i in range(count))

    @classmethod
    def load(cls, path: str | os.PathLike[str], runtime: Runtime | None = None) -> Program:
        return cls(Path(path).read_bytes(), runtime)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.runtime.moe_program_release(self._handle)

    def _entry(self, number: int) -> Entry:
        info = _Entry(ctypes.sizeof(_Entry))
        self.runtime.check(self.runtime.moe_program_entry(self._handle, number, ctypes.byref(info)))

        def argument(call: Any, i: int) -> Argument:
            found = _Argument()
            self.runtime.check(call(self._handle, number, i, ctypes.byref(found)))
            dims = tuple(None if d < 0 else d for d in found.dims[: found.rank])
            return Argument(found.name.decode(), DType(found.dtype), dims, None if found.alias < 0 else found.alias)

        inputs = tuple(argument(self.runtime.moe_program_input, i) for i in range(info.num_inputs))
        outputs = tuple(argument(self.runtime.moe_program_output, i) for i in range(info.num_outputs))
        flags = (bool(info.flags & bit) for bit in (1, 2, 4))
        return Entry(number, info.name.decode(), inputs, outputs, *flags)

    def entry(self, name: str | None = None) -> Entry:
        """The entry of this name; without a name the only one."""
        found = [e for e in self.entries if name in (None, e.name)]
        if len(found) != 1:
            names = ", ".join(e.name for e in self.entries)
            raise KeyError(f"entry {name}, expected one of {names}" if name else f"no name, expected one of {names}")
        return found[0]

    def output_shapes(self, entry: Entry, inputs: Sequence[Buffer]) -> list[tuple[int, ...]]:
        """Shapes of the outputs for these inputs, of which only types and shapes are read."""
        array, shapes = _array(inputs), []
        for i, output in enumerate(entry.outputs):
            shape = (ctypes.c_int64 * MAX_RANK)()
            self.runtime.check(self.runtime.moe_output_shape(self._handle, entry.number, array, len(inputs), i, shape))
            shapes.append(tuple(shape[: len(output.dims)]))
        return shapes

    def workspace(self, entry: Entry, inputs: Sequence[Buffer]) -> tuple[int, int]:
        """Bytes and alignment of the workspace for these inputs, of which only types and shapes are read."""
        size, align = _size(), _size()
        self.runtime.check(
            self.runtime.moe_workspace_query(
                self._handle, entry.number, _array(inputs), len(inputs), ctypes.byref(size), ctypes.byref(align)
            )
        )
        return size.value, align.value


class Comm:
    """One rank's end of a communicator. It serves one enqueue at a time; `close` leaves the others."""

    def __init__(self, handle: ctypes.c_void_p, rank: int, size: int, runtime: Runtime):
        self._handle, self.rank, self.size, self.runtime = handle, rank, size, runtime

    @classmethod
    def local(cls, size: int, timeout_ms: int = 0, runtime: Runtime | None = None) -> list[Comm]:
        """The communicators of `size` ranks that are threads of this process."""
        runtime, handles = runtime or Runtime(), (_pointer * size)()
        options = _CommOptions(ctypes.sizeof(_CommOptions), timeout_ms)
        runtime.check(runtime.moe_comm_create_local(size, ctypes.byref(options), handles))
        return [cls(_pointer(handle), rank, size, runtime) for rank, handle in enumerate(handles)]

    @classmethod
    def processes(cls, store: str, rank: int, size: int, timeout_ms: int = 0, runtime: Runtime | None = None) -> Comm:
        """This process's communicator with others, which meet in the folder `store`, empty at first, or at "tcp://host:port"."""
        runtime, handle = runtime or Runtime(), _pointer()
        options = _CommOptions(ctypes.sizeof(_CommOptions), timeout_ms)
        name = os.fspath(store).encode()
        runtime.check(runtime.moe_comm_create_processes(name, rank, size, ctypes.byref(options), ctypes.byref(handle)))
        return cls(handle, rank, size, runtime)

    @staticmethod
    def unique_id(runtime: Runtime | None = None) -> bytes:
        """What one rank makes and gives to the others before all call `nccl`."""
        runtime, identity = runtime or Runtime(), ctypes.create_string_buffer(128)
        runtime.check(runtime.moe_comm_unique_id(identity))
        return identity.raw

    @classmethod
    def nccl(
        cls, identity: bytes, rank: int, size: int, device: int, timeout_ms: int = 0, runtime: Runtime | None = None
    ) -> Comm:
        """The communicator of GPU number `device` with those of the other ranks."""
        runtime, handle = runtime or Runtime(), _pointer()
        options = _CommOptions(ctypes.sizeof(_CommOptions), timeout_ms)
        create = runtime.moe_comm_create_nccl
        runtime.check(create(identity, rank, size, device, ctypes.byref(options), ctypes.byref(handle)))
        return cls(handle, rank, size, runtime)

    def check(self) -> None:
        """Raises how it has failed, if it has: for exchanges on a stream, whose failure comes after the enqueue."""
        self.runtime.check(self.runtime.moe_comm_status(self._handle))

    def sent(self) -> list[int]:
        """Bytes sent to each rank so far."""
        bytes_ = ctypes.c_uint64()
        found = []
        for peer in range(self.size):
            self.runtime.check(self.runtime.moe_comm_sent(self._handle, peer, ctypes.byref(bytes_)))
            found.append(bytes_.value)
        return found

    def fail(self, message: str) -> None:
        """Makes it fail on all ranks: for an error that no enqueue has seen."""
        self.runtime.moe_comm_fail(self._handle, message.encode())

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle:
            self.runtime.moe_comm_release(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()


class Session:
    """A program whose kernels are loaded onto a device. Enqueues may run concurrently, each with its own workspace. On a CPU
    it has threads of its own (0: one for each core), or uses those of another session."""

    def __init__(self, program: Program, device: int = 0, threads: int = 0, threads_of: Session | None = None):
        self.program, self.runtime = program, program.runtime
        self._handle = _pointer()
        options = _Options(ctypes.sizeof(_Options), threads, threads_of._handle if threads_of else None)
        self.runtime.check(
            self.runtime.moe_session_create(program._handle, device, ctypes.byref(options), ctypes.byref(self._handle))
        )

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.runtime.moe_session_release(self._handle)

    def connect(self, entry: Entry, inputs: Sequence[Buffer], comm: Comm, stream: int = 0) -> None:
        """Compares what the ranks would exchange for these inputs, of which only types and shapes are read: an error of all if
        they disagree. Gives an entry's exchanges by kernels memory in common with the other ranks, which is needed before a
        graph is captured. All ranks call it."""
        call = self.runtime.moe_session_connect
        self.runtime.check(call(self._handle, entry.number, _array(inputs), len(inputs), comm._handle, stream or None))

    def enqueue(
        self,
        entry: Entry,
        inputs: Sequence[Buffer],
        outputs: Sequence[Buffer],
        workspace: int,
        workspace_bytes: int,
        stream: int = 0,
        comm: Comm | None = None,
    ) -> None:
        """Runs an entry on a stream (cuda: a CUstream as an integer; cpu: 0, and the outputs are written on return)."""
        Call(self, entry, inputs, outputs, workspace, workspace_bytes, comm)(stream)

    def poll(self, workspace: int) -> list[Fault]:
        """Faults of the last enqueue that used this workspace."""
        found, count = (_Fault * FAULT_KINDS)(), _size(FAULT_KINDS)
        self.runtime.check(self.runtime.moe_session_poll(self._handle, workspace, found, ctypes.byref(count)))
        name = self.runtime.moe_fault_name
        return [Fault(name(f.kind).decode(), f.count, f.row, f.value, f.limit) for f in found[: count.value]]


class Call:
    """An enqueue whose arguments are converted once, for loops that repeat it: `call(stream)`. Keeps the buffers' owners."""

    def __init__(
        self,
        session: Session,
        entry: Entry,
        inputs: Sequence[Buffer],
        outputs: Sequence[Buffer],
        workspace: int,
        workspace_bytes: int,
        comm: Comm | None = None,
    ):
        self.session, self._owners = session, (tuple(inputs), tuple(outputs), comm)
        self._enqueue, self._check = session.runtime.moe_enqueue, session.runtime.check
        self._arguments = (
            session._handle,
            entry.number,
            _array(inputs),
            len(inputs),
            _array(outputs),
            len(outputs),
            workspace,
            workspace_bytes,
            comm._handle if comm else None,
        )

    def __call__(self, stream: int = 0) -> None:
        self._check(self._enqueue(*self._arguments, stream or None))

    def trace(self, stream: int = 0) -> list[Step]:
        """Runs it once, waits, and returns what each step took. On cuda each step is timed by events, and the stream begins when
        everything is enqueued."""
        steps: list[Step] = []

        @_StepFunction
        def report(_: Any, step: Any) -> None:
            s = step.contents
            cost = (None if n < 0 else n for n in (s.flops, s.bytes))
            times = (s.begin, s.end, s.host_begin, s.host_end)
            steps.append(Step(s.name.decode(), *times, *cost, tuple(s.rows[: s.num_groups])))

        self._check(self.session.runtime.moe_enqueue_traced(*self._arguments, stream or None, report, None))
        return steps
