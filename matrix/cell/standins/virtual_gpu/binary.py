"""Registers, stack and size of a compiled kernel, read from the binary itself: no GPU, no driver.

CUDA: the `.nv.info` section of the cubin (attributes EIATTR_REGCOUNT 0x2f and EIATTR_FRAME_SIZE 0x11), checked
against `cuobjdump --dump-resource-usage` on every version. AMD: the kernel's metadata, as text in amdgcn or packed
(MessagePack) in the note of an hsaco. Triton before 3.5 stops at amdgcn here (no linker), so that there is no size of
a binary; the size of the code is taken from what the assembler notes in the text, which it does since 3.2.
"""

import io
import re
import struct
from dataclasses import dataclass
from typing import Optional

from .instructions import local_in_sass

_REGISTERS, _FRAME = 0x2F, 0x11
# Format byte of an attribute in .nv.info whose value states its size (EIFMT_SVAL); the others are 4 bytes.
_SIZED = 0x04


@dataclass
class Binary:
    """The cost of this binary for each thread of a launch.

    Attributes:
        registers: 32-bit registers a thread (AMD: vector registers a lane).
        stack: bytes of stack frame (AMD: scratch) a thread; not zero is the sign of spilling.
        spills: spilled registers a thread where the binary says so (AMD), else None.
        code: bytes of machine code (CUDA; `instructions.code_of_amdgcn` for AMD).
        size: bytes of the whole cubin or hsaco, with symbols and line numbers.
        local: loads from and stores to local memory in the machine code (CUDA).
    """

    registers: Optional[int] = None
    stack: Optional[int] = None
    spills: Optional[int] = None
    code: Optional[int] = None
    size: Optional[int] = None
    local: Optional[int] = None


def read_binary(data: bytes) -> Binary:
    """Read a cubin, an hsaco or amdgcn text. Unreadable figures are None, because they must never stop a launch."""
    if not data.startswith(b"\x7fELF"):
        return _amd(Binary(), data, _number_in_text)
    binary = Binary(size=len(data))
    try:
        from elftools.elf.elffile import ELFFile
    except ImportError:
        return binary
    try:
        elf = ELFFile(io.BytesIO(data))
        if elf.header["e_machine"] not in ("EM_CUDA", 190):
            return _amd(binary, data, _number_in_msgpack)
        code = [part.data() for part in elf.iter_sections() if part.name.startswith(".text")]
        binary.code = sum(map(len, code))
        binary.local = sum(map(local_in_sass, code))
        section = elf.get_section_by_name(".nv.info")
        return _cuda(binary, section.data()) if section is not None else binary
    except Exception:
        # Torn or unknown: pyelftools raises many kinds of errors on such input.
        return Binary(size=len(data))


def _cuda(binary: Binary, info: bytes) -> Binary:
    position = 0
    while position + 4 <= len(info):
        kind, attribute, size = struct.unpack_from("<BBH", info, position)
        position += 4
        if kind != _SIZED:
            continue
        if size == 8 and attribute in (_REGISTERS, _FRAME):
            value = struct.unpack_from("<II", info, position)[1]
            # One entry a function: the kernel's frame holds the largest of those it calls.
            if attribute == _REGISTERS:
                binary.registers = max(binary.registers or 0, value)
            else:
                binary.stack = max(binary.stack or 0, value)
        position += size
    return binary


def _amd(binary: Binary, data: bytes, number) -> Binary:
    binary.registers = number(data, b".vgpr_count")
    binary.stack = number(data, b".private_segment_fixed_size")
    binary.spills = number(data, b".vgpr_spill_count")
    return binary


def _number_in_text(data: bytes, key: bytes) -> Optional[int]:
    numbers = re.findall(re.escape(key) + rb":\s*(\d+)", data)
    return max(map(int, numbers)) if numbers else None


def _number_in_msgpack(data: bytes, key: bytes) -> Optional[int]:
    parts = []
    for match in re.finditer(re.escape(key), data):
        first, rest = data[match.end()], data[match.end() + 1 : match.end() + 5]
        if first < 0x80:
            parts.append(first)
        elif first == 0xCC:
            parts.append(rest[0])
        elif first == 0xCD:
            parts.append(int.from_bytes(rest[:2], "big"))
        elif first == 0xCE:
            parts.append(int.from_bytes(rest, "big"))
    return max(parts) if parts else None
