"""Count a compiled kernel's instructions by class.

NVIDIA: from PTX, which every Triton keeps, and which shows Triton's own decisions. It is not machine code: ptxas
merges, unrolls and schedules. Only ptxas decides on spills, so `scratch` is counted in the machine code. (nvdisasm is
in every wheel too, and takes a quarter of a second a kernel.) AMD: from the assembly, which is the code.

Classes, as a flat dictionary of counts without zeros:

| class                                    | what                                                                   |
| ---------------------------------------- | ---------------------------------------------------------------------- |
| `mma.…` `wgmma.…` `tcgen05.…`            | tensor cores, with shape and types: `mma.m16n8k16.f32.bf16.bf16.f32`   |
| `mfma.…` `wmma.…`                        | the same on AMD: `mfma.f32_32x32x8_f16`                                |
| `load.16` … `load.1`, `store.16` …       | global memory, by bytes that a thread moves at once                    |
| `async.16` … `async.4`                   | global to shared memory past the registers, likewise                   |
| `bulk`                                   | a whole tile between the two: TMA                                      |
| `shared.load` `shared.store` `matrix`    | shared memory; `matrix` is ldmatrix and stmatrix                       |
| `atomic` `barrier` `scratch` `total`     | scratch: loads from and stores to a thread's own memory, as of spills  |
"""

import re
import struct
from collections import Counter
from typing import Callable, Dict, List, Optional

# At the start of a line, after a brace and a predicate if there are any. The LLVM behind 3.9.0 ends the line there
# where the operands take several; the last argument of a call stands alone on its line as well, and has no point.
_PTX = re.compile(
    r"^[ \t]*(?:\{[ \t]*)?(?:@!?%\w+[ \t]+)?([a-z](?:[\w.:]*(?=[ \t;])|\w*\.[\w.:]*\w(?=\n)))", re.M
)
_PTX_ASYNC = re.compile(
    r"\bcp\.async\.c[ag]\.[\w.:]+\s+\[[^]]*\],\s*\[[^]]*\],\s*(0x[0-9a-f]+|\d+)"
)
_PTX_SHAPE = re.compile(r"m\d+n\d+k\d+$")
_PTX_TYPE = re.compile(r"(?:bf|tf|f|s|u|b)(\d+)(?:x\d)?$|e\dm\d$")
_AMD = re.compile(r"^\t([a-z]\w+)", re.M)
# gfx90a spills with buffer instructions, which other accesses use as well; the compiler marks spills by a comment. It
# comments nothing before Triton 3.2, which had no other use for these instructions.
_AMD_FOLDED = re.compile(r"^\tbuffer_\w+[^\n]*; \d+-byte Folded", re.M)
_AMD_BUFFER = re.compile(r"^\tbuffer_(?:load|store)_\w+", re.M)
_AMD_TO_LDS = re.compile(r"^\tbuffer_load_(\w+)[^\n;]*\blds\b", re.M)
_AMD_CODE = re.compile(r"^; codeLenInByte = (\d+)", re.M)
_AMD_ACCESS = re.compile(r"(?:global|buffer|flat)_(load|store)_(lds_)?(\w+)$")
_AMD_TENSOR = re.compile(r"v_(?:(mfma|smfmac)|wmma|swmmac)_(\w+)")
_AMD_ATOMIC = re.compile(
    r"(?:global|buffer|flat)_atomic_|ds_(?:add|sub|inc|dec|min|max|and|or|xor|cmpst|wrxchg)_"
)
_AMD_STARTS = (
    ("scratch_", "scratch"), ("ds_read", "shared.load"), ("ds_load", "shared.load"), ("ds_write", "shared.store"),
    ("ds_store", "shared.store"), ("s_barrier", "barrier"),
)  # fmt: skip
# The first match in the text after `global_load_`.
_AMD_BYTES = (
    ("x4", 16), ("128", 16), ("x3", 12), ("96", 12), ("x2", 8), ("64", 8), ("dword", 4), ("32", 4), ("byte", 1),
    ("8", 1), ("short", 2), ("16", 2),
)  # fmt: skip
# Since Volta an instruction has 16 bytes, and its lowest nine bits say which it is.
_SASS_BYTES, _SASS_MASK = 16, 0x1FF
_SASS_LOCAL = (0x183, 0x187)


def in_ptx(text: str) -> Dict[str, int]:
    copies = (f"async.{int(size, 0)}" for size in _PTX_ASYNC.findall(text))
    return _summed(_PTX.findall(text), _ptx_class, Counter(copies))


def in_amdgcn(text: str) -> Dict[str, int]:
    special = Counter(f"async.{_amd_bytes(what)}" for what in _AMD_TO_LDS.findall(text))
    # Counted as a load already.
    special.update({f"load.{name[6:]}": -number for name, number in special.items()})
    spilling = _AMD_FOLDED if _AMD_CODE.search(text) else _AMD_BUFFER
    for line in spilling.findall(text):
        special["scratch"] += 1
        special[_amd_class(line.split()[0])] -= 1
    return _summed(_AMD.findall(text), _amd_class, special)


def code_of_amdgcn(text: str) -> Optional[int]:
    """Bytes of machine code, noted since Triton 3.2. The code section of an hsaco has a kilobyte of padding."""
    sizes = _AMD_CODE.findall(text)
    return sum(map(int, sizes)) if sizes else None


def local_in_sass(code: bytes) -> int:
    """Loads from and stores to local memory (LDL, STL) in the code of a kernel."""
    words = struct.iter_unpack("<H14x", code[: len(code) // _SASS_BYTES * _SASS_BYTES])
    return sum(1 for (word,) in words if word & _SASS_MASK in _SASS_LOCAL)


def _summed(
    operations: List[str], class_of: Callable[[str], str], counts: "Counter[str]"
) -> Dict[str, int]:
    for operation, number in Counter(operations).items():
        counts[class_of(operation)] += number
        counts["total"] += number
    return {name: number for name, number in sorted(counts.items()) if name and number > 0}


def _ptx_class(operation: str) -> str:
    name, *parts = operation.split(".")
    spaces = {part.partition("::")[0] for part in parts}
    if name in ("mma", "wgmma", "tcgen05"):
        return _ptx_tensor(name, parts)
    if name in ("ld", "st") and "global" in spaces:
        return f"{'load' if name == 'ld' else 'store'}.{_ptx_bytes(parts)}"
    if name in ("ld", "st") and "shared" in spaces:
        return "shared.load" if name == "ld" else "shared.store"
    if name in ("ldmatrix", "stmatrix"):
        return "matrix"
    if name == "cp" and "bulk" in parts and "global" in spaces:
        return "bulk"
    if name in ("atom", "red"):
        return "atomic"
    return "barrier" if name in ("bar", "barrier") else ""


def _ptx_tensor(name: str, parts: List[str]) -> str:
    if name == "tcgen05":
        kind = [part.partition("::")[2] for part in parts if part.startswith("kind::")]
        return ".".join([name, *kind]) if parts[:1] == ["mma"] else ""
    shape = [part for part in parts if _PTX_SHAPE.match(part)]
    types = [part for part in parts if _PTX_TYPE.match(part)]
    # wgmma.fence and its like have no shape.
    return ".".join([name, *shape, *types]) if shape else ""


def _ptx_bytes(parts: List[str]) -> int:
    lanes = next((int(part[1:]) for part in parts if re.match(r"v\d$", part)), 1)
    bits = _PTX_TYPE.match(parts[-1])
    return lanes * int(bits[1]) // 8 if bits else lanes


def _amd_class(operation: str) -> str:
    tensor = _AMD_TENSOR.match(operation)
    if tensor:
        return f"{'mfma' if tensor[1] else 'wmma'}.{tensor[2]}"
    access = _AMD_ACCESS.match(operation)
    if access:
        return f"{'async' if access[2] else access[1]}.{_amd_bytes(access[3])}"
    if _AMD_ATOMIC.match(operation):
        return "atomic"
    return next((name for start, name in _AMD_STARTS if operation.startswith(start)), "")


def _amd_bytes(what: str) -> int:
    return next((size for part, size in _AMD_BYTES if part in what), 4)
