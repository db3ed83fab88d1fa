"""Kernels on a real GPU through the CUDA driver: assembled by ptxas, loaded and launched by ctypes."""

import ctypes
import importlib.util
import os
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

_SUCCESS = 0
# CU_TENSOR_MAP_DATA_TYPE of each element type.
_TENSOR_TYPES = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9,
                 "tf32": 11}  # fmt: skip
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


@lru_cache(maxsize=None)
def _driver():
    library = ctypes.CDLL("libcuda.so.1")
    _check(library, library.cuInit(0))
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _check(library, library.cuDeviceGet(ctypes.byref(device), 0))
    _check(library, library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    _check(library, library.cuCtxSetCurrent(context))
    return library


def _check(library, status):
    if status != _SUCCESS:
        words = ctypes.c_char_p()
        library.cuGetErrorString(status, ctypes.byref(words))
        msg = f"CUDA driver: {status} {(words.value or b'').decode()}"
        raise RuntimeError(msg)


@lru_cache(maxsize=None)
def architecture():
    """Compute capability as a number, such as 90."""
    library, device = _driver(), ctypes.c_int(0)
    parts = []
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
    for attribute in (75, 76):
        value = ctypes.c_int()
        _check(library, library.cuDeviceGetAttribute(ctypes.byref(value), attribute, device))
        parts.append(value.value)
    return 10 * parts[0] + parts[1]


@lru_cache(maxsize=None)
def ptxas():
    """The assembler of $CROSSWARP_PTXAS, or of the Triton that is installed."""
    named = os.environ.get("CROSSWARP_PTXAS")
    if named:
        return named
    spec = importlib.util.find_spec("triton")
    root = Path(spec.origin).parent if spec and spec.origin else Path()
    for place in (
        "backends/nvidia/bin/ptxas",
        "third_party/cuda/bin/ptxas",
        "common/../third_party/cuda/bin/ptxas",
    ):
        if (root / place).is_file():
            return str(root / place)
    msg = (
        "no ptxas: set CROSSWARP_PTXAS to that of a Triton wheel (triton/backends/nvidia/bin/ptxas)"
    )
    raise RuntimeError(msg)


def assemble(text, target):
    """PTX to a cubin.

    Raises:
        RuntimeError: ptxas refuses it, with its words.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "row.ptx"), Path(folder, "row.cubin")
        source.write_text(text, "utf-8")
        command = [ptxas(), f"-arch={target}", str(source), "-o", str(cubin)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr + "\n" + text)
        return cubin.read_bytes()


def _target(text):
    wanted = next(line.split()[1] for line in text.splitlines() if line.startswith(".target"))
    number = int("".join(char for char in wanted if char.isdigit()))
    own = architecture()
    # A target with an `a` runs on that architecture alone; the others on every later one.
    if wanted.endswith("a") and number != own or number > own:
        pytest.skip(f"the GPU is sm_{own}, and the row is for {wanted}")
    return wanted if wanted.endswith("a") else f"sm_{own}"


class _Buffers:
    """Device copies of arrays, with a guard of 256 bytes behind each."""

    def __init__(self, library, arrays):
        self._library = library
        self.addresses = {}
        for place, array in arrays.items():
            address = ctypes.c_uint64()
            _check(
                library,
                library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(array.nbytes + 256)),
            )
            self.addresses[place] = address
            _check(library, library.cuMemcpyHtoD_v2(address, ctypes.c_void_p(array.ctypes.data),
                                                    ctypes.c_size_t(array.nbytes)))  # fmt: skip

    def fetch(self, arrays):
        for place, array in arrays.items():
            _check(self._library, self._library.cuMemcpyDtoH_v2(
                ctypes.c_void_p(array.ctypes.data), self.addresses[place], ctypes.c_size_t(array.nbytes)))  # fmt: skip

    def free(self):
        for address in self.addresses.values():
            self._library.cuMemFree_v2(address)


def _tensor_map(library):
    """The driver's own encoder, with the arguments of `ptx.tensor_map`."""

    def encode(address, element_type, shape, strides, box, swizzle=0, fill_nan=False):
        rank = len(shape)
        # The driver wants it aligned to 64 bytes.
        room = (ctypes.c_uint8 * 192)()
        start = -ctypes.addressof(room) % 64
        place = ctypes.c_void_p(ctypes.addressof(room) + start)
        _check(library, library.cuTensorMapEncodeTiled(
            place, _TENSOR_TYPES[element_type], ctypes.c_uint32(rank), ctypes.c_void_p(address),
            (ctypes.c_uint64 * 5)(*shape), (ctypes.c_uint64 * 5)(*strides), (ctypes.c_uint32 * 5)(*box),
            (ctypes.c_uint32 * 5)(*[1] * rank), 0, _SWIZZLES[swizzle], 0, int(fill_nan)))  # fmt: skip
        return bytes(room)[start : start + 128]

    return encode


def execute(text, grid, buffers, shared=0, cluster=(1, 1, 1)):
    """As `running.execute`, on the GPU."""
    library = _driver()
    cubin = assemble(text, _target(text))
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    name = text.split(".entry", 1)[1].split("(", 1)[0].strip().encode()
    threads = 1
    for line in text.splitlines():
        if line.strip().startswith(".reqntid"):
            threads = int(line.split()[1].rstrip(","))
    _check(library, library.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(cubin)))
    arrays = {
        place: buffer for place, buffer in enumerate(buffers) if isinstance(buffer, np.ndarray)
    }
    held = _Buffers(library, arrays)
    try:
        _check(library, library.cuModuleGetFunction(ctypes.byref(function), module, name))
        if shared > 48 * 1024:
            # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _check(library, library.cuFuncSetAttribute(function, 8, shared))
        addresses = {place: address.value for place, address in held.addresses.items()}
        values, pointers = [], []
        for place, buffer in enumerate(buffers):
            if place in addresses:
                value = held.addresses[place]
            elif callable(buffer):
                raw = buffer(_tensor_map(library), addresses)
                room = (ctypes.c_uint8 * (len(raw) + 64))()
                start = -ctypes.addressof(room) % 64
                ctypes.memmove(ctypes.addressof(room) + start, raw, len(raw))
                values.append(room)
                pointers.append(ctypes.c_void_p(ctypes.addressof(room) + start))
                continue
            else:
                value = ctypes.c_uint64(buffer)
            values.append(value)
            pointers.append(ctypes.c_void_p(ctypes.addressof(value)))
        packed = (ctypes.c_void_p * len(pointers))(*pointers)
        # Clusters are declared in the PTX (.reqnctapercluster), so that a plain launch makes them.
        _check(
            library,
            library.cuLaunchKernel(
                function, *(*grid, 1, 1)[:3], threads, 1, 1, shared, None, packed, None
            ),
        )
        _check(library, library.cuCtxSynchronize())
        held.fetch(arrays)
    finally:
        held.free()
        library.cuModuleUnload(module)
