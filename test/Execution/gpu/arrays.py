"""Tensors in memory of a target, poisoned: NumPy on the CPU, the CUDA driver on a GPU. Nothing else is needed there."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
from isolate import Broken
from moe_mlir._runtime import Buffer, DType

DTYPES = {
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
}
ALIGN = 256


class Host:
    """Memory of this process, for programs of the cpu target."""

    stream = 0

    def allocate(self, size: int) -> tuple[int, object]:
        """The address of so many bytes and what keeps them."""
        raw = np.empty(size + ALIGN, np.uint8)
        start = -raw.ctypes.data % ALIGN
        return raw.ctypes.data + start, raw

    def write(self, address: int, data: np.ndarray) -> None:
        ctypes.memmove(address, data.ctypes.data, data.nbytes)

    def read(self, address: int, size: int) -> np.ndarray:
        data = np.empty(size, np.uint8)
        ctypes.memmove(data.ctypes.data, address, size)
        return data

    def fill(self, address: int, byte: int, size: int) -> None:
        ctypes.memset(address, byte, size)

    def wait(self) -> None:
        pass


class DeviceMemory:
    def __init__(self, device: Device, size: int):
        self.device, self.address = device, ctypes.c_uint64()
        device.call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(max(size, 1)))

    def __del__(self) -> None:
        if self.address.value:
            self.device.cuda.cuMemFree_v2(self.address)


class Device:
    """Memory of a GPU and a stream on it, through the driver."""

    def __init__(self, number: int = 0):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), number)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuStreamCreate", ctypes.byref(stream), 1)  # CU_STREAM_NON_BLOCKING
        self.stream = stream.value

    def call(self, name: str, *arguments: object) -> None:
        result = getattr(self.cuda, name)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(result, ctypes.byref(text))
            raise Broken(f"{name}: {(text.value or b'?').decode()} ({result})")

    def allocate(self, size: int) -> tuple[int, object]:
        memory = DeviceMemory(self, size)
        return memory.address.value, memory

    def write(self, address: int, data: np.ndarray) -> None:
        if data.nbytes:
            pointer, size = ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(data.nbytes)
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), pointer, size)
            # From pageable memory the call returns before the last bytes have arrived, and our stream waits for no other.
            self.call("cuCtxSynchronize")

    def read(self, address: int, size: int) -> np.ndarray:
        data = np.empty(size, np.uint8)
        if size:
            pointer = ctypes.c_void_p(data.ctypes.data)
            self.call("cuMemcpyDtoH_v2", pointer, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data

    def fill(self, address: int, byte: int, size: int) -> None:
        if size:
            self.call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(byte), ctypes.c_size_t(size))
            self.call("cuCtxSynchronize")

    def wait(self) -> None:
        self.call("cuStreamSynchronize", ctypes.c_void_p(self.stream))

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        """What `work` puts on the stream, as a graph to launch again and again."""
        stream, graph, ready = ctypes.c_void_p(self.stream), ctypes.c_void_p(), ctypes.c_void_p()
        # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: a call that synchronises or allocates is an error.
        self.call("cuStreamBeginCapture_v2", stream, 1)
        work()
        self.call("cuStreamEndCapture", stream, ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_uint64(0))
        return lambda: self.call("cuGraphLaunch", ready, stream)


class Placed:
    """A tensor whose memory is poisoned: 0xFF before, after and between its rows. `pitch` elements follow each row, `gap`
    rows follow each matrix of a rank-3 tensor, the first element is `shift` elements past an aligned address."""

    def __init__(
        self,
        memory: Host | Device,
        dtype: str,
        shape: tuple[int, ...],
        values: np.ndarray | None = None,
        pitch: int = 0,
        gap: int = 0,
        shift: int = 0,
    ):
        self.memory, self.dtype, self.shape = memory, DTYPES[dtype], tuple(shape)
        self.kind = DType[dtype]
        padded = list(shape)
        padded[-1] += pitch
        if len(shape) == 3:
            padded[1] += gap
        self.strides = tuple(math.prod(padded[i + 1 :]) for i in range(len(shape)))
        guard = ALIGN // self.dtype.itemsize
        self.first = guard + shift
        self.size = (self.first + math.prod(padded) + guard) * self.dtype.itemsize
        self.address, self.owner = memory.allocate(self.size)
        self.write(values)

    def _view(self, raw: np.ndarray) -> np.ndarray:
        strides = tuple(s * self.dtype.itemsize for s in self.strides)
        return np.ndarray(self.shape, self.dtype, raw, self.first * self.dtype.itemsize, strides)

    def write(self, values: np.ndarray | None) -> None:
        """Poisons all the memory, then writes the values, if any."""
        raw = np.full(self.size, 0xFF, np.uint8)
        if values is not None:
            self._view(raw)[...] = values
        self.memory.write(self.address, raw)

    def poison(self) -> None:
        self.memory.fill(self.address, 0xFF, self.size)

    def read(self) -> np.ndarray:
        """The values; fails if anything beside them was written."""
        raw = self.memory.read(self.address, self.size)
        values = self._view(raw).copy()
        self._view(raw).view(f"u{self.dtype.itemsize}")[...] = np.iinfo(f"u{self.dtype.itemsize}").max
        assert (raw == 0xFF).all(), (
            f"byte {int(np.argmax(raw != 0xFF))} of the output's memory, no part of it, was written"
        )
        return values

    @property
    def buffer(self) -> Buffer:
        strides = [s * self.dtype.itemsize for s in self.strides]
        return Buffer(self.address + self.first * self.dtype.itemsize, self.kind, self.shape, strides, self)
