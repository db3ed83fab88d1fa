"""Read the machine code of a cubin without nvdisasm, by its earlier output for such instructions.

nvdisasm takes half a second to start, for any input: as long as a small kernel takes to compile and be executed. The
estimate needs only an instruction's operation. Its lowest 12 bits give the name (163 of them in 439,008 instructions
of sm_90, none with two names); for the few whose modifiers matter, those bits count too. So a column's first kernels
supply the encodings for later ones, and a file keeps them.

Each kernel that is learned from is then read both ways. If the two differ, nothing of that chip is read without
nvdisasm any more.
"""

import json
import struct
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from .machine_code import Instruction

# Instructions and labels, as of `machine_code.parsed`.
Code = Tuple[List[Instruction], Dict[str, int]]

# The model needs the modifiers of these, which further bits hold.
_MODIFIED = (
    "HMMA",
    "IMMA",
    "QMMA",
    "OMMA",
    "HGMMA",
    "IGMMA",
    "QGMMA",
    "LDG",
    "LDL",
    "LDS",
    "STG",
    "STL",
    "STS",
    "SYNCS",
    "BRA",
)
# Of these it needs the operands.
_WHOLE = ("DEPBAR", "WARPGROUP")
# Where these go to is not read here.
_STRANGE = ("CALL", "RET", "BRX", "JMP")
_GUARD_BITS, _NOT, _TRUE = 12, 8, 7
_ENCODED = (1 << 41) - 1
_MOST_TEXT = 200
_MOST_LINE = 1 << 31
_DISTRUSTED = "differs"
# How a branch has its distance: from bit 34 on; or, from sm_90 on, with its lowest bits in 16 to 23.
_JUMPS = ("whole", "split")

_Key = Tuple[int, ...]


class Encodings:
    """The instructions that are known. A file at `path` keeps them for other processes and later runs."""

    def __init__(self, path: Optional[Path] = None):
        self._path = path
        # By chip and bits: the operation with its modifiers, and the text without its guard.
        self._known: Dict[_Key, Tuple[str, str]] = {}
        self._distrusted: Set[int] = set()
        self._load()

    def read(self, cubin: bytes) -> Optional[Code]:
        """As `machine_code.parsed`; None where nvdisasm has to be asked."""
        try:
            return self._read(cubin)
        except (struct.error, ValueError, IndexError, KeyError):
            # Torn, or of a form that is not known here.
            return None

    def learn(self, cubin: bytes, code: Code) -> None:
        """Learn from nvdisasm's output for this cubin."""
        try:
            chip, text, _ = _sections(cubin)
        except (struct.error, ValueError, IndexError):
            return
        instructions, labels = code
        if len(text) // 16 < len(instructions) or chip in self._distrusted:
            return
        rows: List[Any] = []
        for place, (instruction, (low, high)) in enumerate(zip(instructions, _words(text))):
            shape = _shape(instruction)
            learned = [(key, shape) for key in _keys(chip, instruction.name, low, high)]
            if instruction.name == "BRA" and instruction.target in labels:
                forms = [
                    form
                    for form in _JUMPS
                    if place + 1 + _jump(form, low, high) == labels[instruction.target]
                ]
                learned += [((chip,), (form, "")) for form in forms if len(forms) == 1]
            for key, value in learned:
                if self._known.setdefault(key, value) is value:
                    rows.append([list(key), *value])
        read = self.read(cubin)
        if read is not None and not _alike(read, code):
            self._distrusted.add(chip)
            rows = [[[chip], _DISTRUSTED, ""]]
        self._keep(rows)

    def _read(self, cubin: bytes) -> Optional[Code]:
        chip, text, lines = _sections(cubin)
        if chip in self._distrusted:
            return None
        line_at = _lines(lines)
        line = 0
        instructions: List[Instruction] = []
        labels: Dict[str, int] = {}
        for place, (low, high) in enumerate(_words(text)):
            name = self._known[chip, low & 0xFFF][0].split(".")[0]
            if name in _STRANGE:
                return None
            op, body = self._known[_keys(chip, name, low, high)[-1]]
            line = line_at.get(16 * place, line)
            instruction = _decoded(op, body, low, high, line)
            if name == "BRA":
                # A jump to itself, behind the last EXIT, says nothing of the form.
                forms = (self._known[chip,][0],) if (chip,) in self._known else _JUMPS
                ways = {_jump(form, low, high) for form in forms}
                if len(ways) > 1:
                    return None
                target = place + 1 + ways.pop()
                instruction.target = f".L{target}"
                labels[instruction.target] = target
            instructions.append(instruction)
        return instructions, labels

    def _load(self) -> None:
        try:
            rows = self._path.read_text("utf-8").splitlines() if self._path else []
        except (OSError, ValueError):
            return
        for row in rows:
            try:
                key, op, text = json.loads(row)
                key = tuple(map(int, key))
            except (ValueError, TypeError, OverflowError):
                # Half a line of a process that ended there.
                continue
            if op == _DISTRUSTED:
                self._distrusted.add(key[0])
            else:
                self._known.setdefault(key, (str(op), str(text)))

    def _keep(self, rows: List[Any]) -> None:
        if self._path is None or not rows:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write("".join(json.dumps(row) + "\n" for row in rows))
        except OSError:
            # A full disk costs time, and nothing else.
            self._path = None


def _keys(chip: int, name: str, low: int, high: int) -> List[_Key]:
    """Under which bits an instruction is known: its operation, and where more is asked of it, the finest last."""
    operation = (chip, low & 0xFFF)
    if name in _WHOLE:
        return [operation, (*operation, low >> 16, high & _ENCODED)]
    if name in _MODIFIED:
        # Of a wgmma the size is there where others have a constant; a branch has its distance above bit 34.
        more = low >> 48 if "GMMA" in name else low >> 32 & 3 if name == "BRA" else 0
        return [operation, (*operation, more, high >> 8 & _ENCODED >> 8)]
    return [operation]


def _shape(instruction: Instruction) -> Tuple[str, str]:
    """Return the operation, with modifiers where they matter, and the operands that the model needs."""
    if instruction.name in _WHOLE:
        return instruction.op, instruction.text[:_MOST_TEXT]
    if instruction.name not in _MODIFIED:
        return instruction.name, ""
    if instruction.name == "BRA":
        # Execution may continue behind it, by a predicate besides its guard's.
        return instruction.op, "," if "," in instruction.text or "UP" in instruction.text else ""
    return instruction.op, "gsb" if "gsb" in instruction.text else ""


def _decoded(op: str, text: str, low: int, high: int, line: int) -> Instruction:
    predicate, negated = low >> _GUARD_BITS & 7, low >> _GUARD_BITS & _NOT
    guard = ""
    if predicate != _TRUE or negated:
        guard = f"{'!' if negated else ''}P{'T' if predicate == _TRUE else predicate}"
    return Instruction(
        op, text, guard, line, stall=high >> 41 & 15, write_barrier=high >> 46 & 7,
        read_barrier=high >> 49 & 7, waits=high >> 52 & 63, name=op.split(".")[0],
    )  # fmt: skip


def _jump(form: str, low: int, high: int) -> int:
    """Instructions from the next one on."""
    distance = (high & 0x3FFFF) << 30 | low >> 34
    if distance >> 47:
        distance -= 1 << 48
    if form == "split":
        distance = distance << 8 | low >> 16 & 0xFF
    return distance >> 2


def _alike(read: Code, code: Code) -> bool:
    """Whether both say the same of all that the model asks."""

    def asked(code: Code) -> List[Any]:
        instructions, labels = code
        return [
            (
                _shape(instruction), instruction.guard.replace("U", ""), instruction.line, instruction.stall,
                instruction.write_barrier, instruction.read_barrier, instruction.waits,
                labels.get(instruction.target) if instruction.name == "BRA" else None,
            )
            for instruction in instructions
        ]  # fmt: skip

    return asked(read) == asked(code)


def _words(text: bytes) -> Iterator[Tuple[int, int]]:
    return struct.iter_unpack("<QQ", text[: len(text) // 16 * 16])  # type: ignore[return-value]


def _sections(cubin: bytes) -> Tuple[int, bytes, bytes]:
    """The chip's flags, the code of the only kernel, and its table of lines.

    Raises:
        ValueError, struct.error, IndexError: no ELF file, torn, or of several functions.
    """
    if cubin[:5] != b"\x7fELF\x02":
        msg = "no ELF file"
        raise ValueError(msg)
    (offset, flags) = struct.unpack_from("<QI", cubin, 0x28)
    size, number, of_names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, offset + size * at) for at in range(number)]
    names = headers[of_names][4]

    def named(prefix: bytes) -> List[bytes]:
        return [
            cubin[header[4] : header[4] + header[5]]
            for header in headers
            if cubin.startswith(prefix, names + header[0])
        ]

    (text,) = named(b".text.")
    (lines,) = named(b".debug_line\0") or [b""]
    return flags, text, lines


def _lines(table: bytes) -> Dict[int, int]:
    """The source line from each address on, of DWARF 2's program of line numbers (its chapter 6.2)."""
    lines: Dict[int, int] = {}
    if not table:
        return lines
    end, version, prologue, least, _, base, span, first = struct.unpack_from("<IHIBBbBB", table)
    if version != 2 or not span:
        msg = f"a table of lines of version {version}"
        raise ValueError(msg)
    # Arguments of each operation below `first`, from 1 on.
    lengths = table[15 : 14 + first]
    at, end = 10 + prologue, end + 4
    address, line = 0, 1
    while at < end:
        code = table[at]
        at += 1
        if code >= first:
            address += (code - first) // span * least
            line += base + (code - first) % span
            lines[address] = line
        elif code == 0:
            length, at = _number(table, at)
            if table[at] == 1:
                address, line = 0, 1
            elif table[at] == 2:
                address = int.from_bytes(table[at + 1 : at + length], "little")
            at += length
        elif code == 1:
            lines[address] = line
        elif code == 2:
            step, at = _number(table, at)
            address += step * least
        elif code == 3:
            step, at = _number(table, at, signed=True)
            line += step
        elif code == 8:
            address += (255 - first) // span * least
        elif code == 9:
            address += struct.unpack_from("<H", table, at)[0]
            at += 2
        else:
            for _ in range(lengths[code - 1]):
                _, at = _number(table, at)
    if any(not 0 <= line < _MOST_LINE for line in lines.values()):
        msg = "lines out of range"
        raise ValueError(msg)
    return lines


def _number(table: bytes, at: int, signed: bool = False) -> Tuple[int, int]:
    """A LEB128 number and the place behind it."""
    value = shift = 0
    while True:
        byte = table[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    if signed and value >> (shift - 1) & 1:
        value -= 1 << shift
    return value, at
