"""A process that owns a CUDA context: it is asked through its standard streams, and thrown away after a fault.

A kernel that faults takes its context with it, and everything that comes after in that process: so each process of
tests has one of these, and takes another when it has died. It needs the standard library alone.
"""

import ctypes
import os
import pickle
import sys

_SUCCESS = 0
# CU_TENSOR_MAP_DATA_TYPE of each element type.
_TENSOR_TYPES = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9,
                 "tf32": 11}  # fmt: skip
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
# CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
_CAPABILITY = (75, 76)
# CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_DYNAMIC_SHARED = 8
# Behind each array: what is written there is nobody's.
_GUARD = 256


class Device:
    """The first GPU, through the driver."""

    def __init__(self):
        self._library = ctypes.CDLL(os.environ.get("CROSSWARP_LIBCUDA", "libcuda.so.1"))
        self._call("cuInit", 0)
        self._device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(self._device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._call("cuCtxSetCurrent", context)
        self._held = []

    def _call(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        if status != _SUCCESS:
            words = ctypes.c_char_p()
            self._library.cuGetErrorString(status, ctypes.byref(words))
            raise RuntimeError(f"{name}: {status} {(words.value or b'').decode()}")

    def describe(self):
        """Compute capability as a number, such as 90, and the name."""
        parts = []
        for attribute in _CAPABILITY:
            value = ctypes.c_int()
            self._call("cuDeviceGetAttribute", ctypes.byref(value), attribute, self._device)
            parts.append(value.value)
        name = ctypes.create_string_buffer(100)
        self._call("cuDeviceGetName", name, 100, self._device)
        return 10 * parts[0] + parts[1], name.value.decode()

    def hold(self, contents):
        """Copy each of the bytes to memory of its own; returns the addresses."""
        for raw in contents:
            address = ctypes.c_uint64()
            self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(raw) + _GUARD))
            self._held.append(address)
            self._call("cuMemcpyHtoD_v2", address, ctypes.c_char_p(raw), ctypes.c_size_t(len(raw)))
        return [address.value for address in self._held]

    def encode(self, address, element_type, shape, strides, box, swizzle=0, fill_nan=False):
        """The driver's own tensor map, with the arguments of `ptx.tensor_map`."""
        rank = len(shape)
        # The driver wants it aligned to 64 bytes.
        room, start = _aligned(bytes(128))
        self._call(
            "cuTensorMapEncodeTiled", ctypes.c_void_p(ctypes.addressof(room) + start), _TENSOR_TYPES[element_type],
            ctypes.c_uint32(rank), ctypes.c_void_p(address), (ctypes.c_uint64 * 5)(*shape),
            (ctypes.c_uint64 * 5)(*strides), (ctypes.c_uint32 * 5)(*box), (ctypes.c_uint32 * 5)(*[1] * rank), 0,
            _SWIZZLES[swizzle], 0, int(fill_nan),
        )  # fmt: skip
        return bytes(room)[start : start + 128]

    def launch(self, cubin, name, grid, threads, shared, parameters):
        """Load the kernel, launch it and wait; parameters are bytes. Clusters are declared in the PTX."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(cubin))
        self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 * 1024:
            self._call("cuFuncSetAttribute", function, _DYNAMIC_SHARED, shared)
        rooms = [_aligned(raw) for raw in parameters]
        pointers = [ctypes.c_void_p(ctypes.addressof(room) + start) for room, start in rooms]
        packed = (ctypes.c_void_p * len(pointers))(*pointers)
        self._call("cuLaunchKernel", function, *grid, threads, 1, 1, shared, None, packed, None)
        self._call("cuCtxSynchronize")
        self._call("cuModuleUnload", module)

    def release(self, sizes):
        """The contents of what is held, that many bytes of each; then it is freed."""
        found = []
        for address, size in zip(self._held, sizes):
            room = ctypes.create_string_buffer(size)
            self._call("cuMemcpyDtoH_v2", room, address, ctypes.c_size_t(size))
            self._call("cuMemFree_v2", address)
            found.append(room.raw)
        self._held = []
        return found


def _aligned(raw):
    """A buffer that holds the bytes at a multiple of 64, and where."""
    room = (ctypes.c_uint8 * (len(raw) + 64))()
    start = -ctypes.addressof(room) % 64
    ctypes.memmove(ctypes.addressof(room) + start, raw, len(raw))
    return room, start


def main():
    # What the driver prints is no answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    device = None
    while True:
        try:
            method, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            device = device or Device()
            answer = True, getattr(device, method)(*arguments)
        except Exception as error:
            answer = False, f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
