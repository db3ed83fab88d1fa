"""Kernel to Python: each basic block becomes a generated function over all lanes.

A register is an array of raw bits that broadcasts to (CTAs, threads). A uniform value stays (1, 1), (CTAs, 1) or
(1, threads), and costs next to nothing. A block has two forms: for all lanes, and for those of a mask `m`.
In the generated code R holds the registers, S is the `machine.Machine`, and J collects the jumps as
(block, condition); block -1 is the end of a thread.
"""

import re
import struct
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import numpy as np

from . import floats, integers
from .errors import Unsupported
from .syntax import Instruction, Kernel, split_operands
from .types import RAW, RAW_NAME, f2, f4, f8, i1, i2, i4, i8, type_of, u1, u2, u4, u8

Lower = Callable[["Lowering", Instruction], Optional[bool]]
# How to lower an instruction, by the first part of its opcode.
FAMILIES: Dict[str, Lower] = {}

# The names that generated code may use.
NAMESPACE: Dict[str, Any] = {
    "np": np, "floats": floats, "integers": integers, "u1": u1, "u2": u2, "u4": u4, "u8": u8, "i1": i1, "i2": i2,
    "i4": i4, "i8": i8, "f2": f2, "f4": f4, "f8": f8,
}  # fmt: skip

_REGISTER = re.compile(r"%[\w$]+(?:\.[xyz])?")
_WORD = re.compile(r"[%\w$]+(?:\.[xyz])?")
_ADDRESS = re.compile(r"([%\w$]+)\s*(?:\+\s*(-?\w+))?\s*$")
# These write to no register, or read the one they write to.
_NO_RESULT = (
    "st", "red", "cp", "bra", "brx", "bar", "barrier", "wgmma", "nanosleep", "stmatrix", "tcgen05", "prefetch", "fence",
    "tensormap", "setmaxnreg", "applypriority", "discard", "multimem", "call",
)  # fmt: skip

_FLOATS = {16: f2, 32: f4, 64: f8}
_SIGNED = {8: i1, 16: i2, 32: i4, 64: i8}


def lowers(*names: str) -> Callable[[Lower], Lower]:
    """Register a function as the lowering of the opcodes that begin with one of `names`."""

    def register(function: Lower) -> Lower:
        for name in names:
            FAMILIES[name] = function
        return function

    return register


class Lowering:
    """Lowers the blocks of one kernel.

    Attributes:
        bits: width of each register of R.
        guard: the condition of the instruction in hand, as an expression; None for none.
        condition: the same with the block's mask.
        special: function name -> expression of a special register, or None if it is unknown.
        carry: the expression of the carry flag, where the block in hand has set it.
    """

    def __init__(self, kernel: Kernel, special: Callable[[str], Optional[str]]):
        self.kernel, self.special = kernel, special
        self.bits: List[int] = []
        self.guard: Optional[str] = None
        self.condition: Optional[str] = None
        self.carry: Optional[str] = None
        self.namespace: Dict[str, Any] = dict(NAMESPACE)
        self._index: Dict[str, int] = {}
        self._constants: Dict[Tuple[str, Any], str] = {}
        self._temporaries = 0
        self._lines: List[str] = []
        self._local: Dict[str, str] = {}
        self._defined: Set[str] = set()
        self._blocks_of: Dict[str, Set[int]] = {}
        for instruction in kernel.instructions:
            for name in self._names(instruction):
                self._blocks_of.setdefault(name, set()).add(instruction.block)

    def _names(self, instruction: Instruction) -> List[str]:
        names = _WORD.findall(" ".join(instruction.operands))
        if instruction.guard:
            names.append(instruction.guard)
        return [name for name in names if name in self.kernel.widths]

    # ---------------------------------------------------------------- blocks

    def function(
        self, number: int, masked: bool, source: str
    ) -> Callable[..., List[Tuple[int, Any]]]:
        """Return the compiled function of a block, from the text of `source`."""
        name = f"<ptx {self.kernel.name} block {number}{' masked' if masked else ''}>"
        space = self.namespace
        exec(compile(source, name, "exec"), space)
        return space.pop("block")

    def source(self, number: int, masked: bool) -> str:
        """The generated code of a block.

        Raises:
            Unsupported: an instruction that no family knows.
        """
        first, end = self.kernel.blocks[number]
        instructions = self.kernel.instructions[first:end]
        self._lines, self._defined, self._temporaries = [], set(), 0
        self.carry = None
        self._local = self._local_registers(number, instructions)
        ended = False
        for instruction in instructions:
            ended = self._lower(instruction, masked)
        if not ended:
            self.emit(f"J.append(({number + 1}, None))")
        body = "\n    ".join(["J = []"] + self._lines + ["return J"])
        return f"def block(R, S, m):\n    {body}\n"

    def _lower(self, instruction: Instruction, masked: bool) -> bool:
        self.guard = None
        if instruction.guard:
            self.guard = ("~" if instruction.negated else "") + self.raw(instruction.guard)
        if masked and self.guard:
            self.condition = f"(m & {self.guard})"
        else:
            self.condition = self.guard or ("m" if masked else None)
        family = FAMILIES.get(instruction.name)
        if family is None:
            raise instruction.unsupported()
        try:
            ends = bool(family(self, instruction))
        except Unsupported as error:
            if error.line is None:
                error = Unsupported(error.opcode, instruction.line, f"in {instruction.opcode}")
            raise error from None
        except (IndexError, KeyError, ValueError, StopIteration) as error:
            raise instruction.unsupported(f"{type(error).__name__}: {error}") from error
        return ends and not instruction.guard

    def _local_registers(self, number: int, instructions: List[Instruction]) -> Dict[str, str]:
        """Registers that live in this block alone, as Python variables: first seen where they are written."""
        first: Dict[str, bool] = {}
        for instruction in instructions:
            operands = instruction.operands
            writes = bool(operands) and instruction.name not in _NO_RESULT
            read = operands[1:] if writes else operands
            if writes and "[" in operands[0]:
                read, writes = operands, False
            for name in _WORD.findall(" ".join(read)):
                first.setdefault(name, False)
            if instruction.guard:
                first.setdefault(instruction.guard, False)
            if writes:
                for name in _WORD.findall(operands[0]):
                    first.setdefault(name, not instruction.guard)
        return {
            name: f"v{self._register(name)}"
            for name, written in first.items()
            if written and name in self.kernel.widths and len(self._blocks_of[name]) == 1
        }

    # ---------------------------------------------------------------- what families use

    def emit(self, line: str) -> None:
        self._lines.append(line)

    def temporary(self, expression: str) -> str:
        """A variable that holds the expression."""
        self._temporaries += 1
        name = f"t{self._temporaries}"
        self.emit(f"{name} = {expression}")
        return name

    def constant(self, value: Any, dtype: Any) -> str:
        """The name of a (1, 1) array."""
        dtype = np.dtype(dtype)
        key = (repr(value), dtype)
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._constants[key] = name
            self.namespace[name] = np.full((1, 1), value, dtype)
        return self._constants[key]

    def width(self, register: str) -> int:
        if register not in self.kernel.widths:
            raise Unsupported(f"register {register}")
        return self.kernel.widths[register]

    def _register(self, name: str) -> int:
        if name not in self._index:
            self._index[name] = len(self.bits)
            self.bits.append(self.width(name))
        return self._index[name]

    def raw(self, register: str) -> str:
        """The expression of a register's raw bits."""
        return self._local.get(register) or f"R[{self._register(register)}]"

    def read(self, operand: str, type_name: str) -> str:
        """The expression of an operand as a value of the type; bfloat16 is read as float32."""
        operand = operand.strip()
        bits, kind = type_of(type_name)
        if operand.startswith("{"):
            return self._typed(self._joined(operand, bits), bits, kind)
        if operand.startswith("!"):
            return f"~{self.read(operand[1:], type_name)}"
        if operand in self.kernel.widths:
            expression, width = self.raw(operand), self.width(operand)
            if width > bits and kind != "p":
                expression = f"{expression}.astype({RAW_NAME[bits]})"
            elif width < bits or (kind == "p") != (width == 1):
                raise Unsupported(f"operand {operand} of {width} bits as .{type_name}")
            return self._typed(expression, bits, kind)
        if operand.startswith("%"):
            special = self.special(operand)
            if special is None:
                raise Unsupported(f"special register {operand}")
            if bits == 64:
                special = f"{special}.astype(u8)"
            return self._typed(special, bits, kind)
        if operand.lstrip("-")[:1].isdigit() or operand in ("true", "false"):
            return self._immediate(operand, bits, kind)
        return self._typed(self.symbol(operand, bits), bits, kind)

    def symbol(self, operand: str, bits: int = 64) -> str:
        """The address of a variable, plus an offset, as an unsigned expression."""
        match = _ADDRESS.match(operand)
        if match is None:
            raise Unsupported(f"operand {operand}")
        name, offset = match.group(1), int(match.group(2) or "0", 0)
        symbol = self.kernel.symbols.get(name)
        if symbol is None:
            for parameter in self.kernel.parameters:
                if parameter.name == name:
                    # An offset in parameter space; cvta.param makes an address of it.
                    return self.constant(parameter.offset + offset, RAW[bits])
            raise Unsupported(f"operand {operand}")
        if symbol.space == "shared":
            address = self.constant(symbol.address + offset, RAW[bits])
            return f"S.shared.address({address})"
        if symbol.space == "local":
            return self.constant(symbol.address + offset, RAW[bits])
        return f"S.variable({name!r}, {offset})"

    @staticmethod
    def _typed(expression: str, bits: int, kind: str) -> str:
        if kind == "s":
            return f"{expression}.view(i{bits // 8})"
        if kind == "f":
            return f"{expression}.view(f{bits // 8})"
        if kind == "bf":
            return f"floats.from_bf16({expression})"
        return expression

    def _joined(self, operand: str, bits: int) -> str:
        parts = split_operands(operand[1:-1])
        width = bits // len(parts)
        values = [self.read(part, f"b{width}") for part in parts]
        if len(values) == 1:
            return values[0]
        if bits == 128 and len(values) == 2:
            return f"integers.quad({values[0]}, {values[1]})"
        whole = RAW_NAME[bits]
        shifted = [
            f"({value}.astype({whole}) << {whole}({width * place}))" if place else f"{value}.astype({whole})"
            for place, value in enumerate(values)
        ]  # fmt: skip
        return f"({' | '.join(shifted)})"

    def _immediate(self, text: str, bits: int, kind: str) -> str:
        if kind == "p":
            return self.constant(text == "true" or text != "false" and int(text, 0) != 0, np.bool_)
        if re.match(r"0[fFdD][0-9a-fA-F]{8}", text):
            number = struct.unpack(">f" if text[1] in "fF" else ">d", bytes.fromhex(text[2:]))[0]
            raw = int(text[2:], 16)
            if kind == "f" and bits != 4 * len(text[2:]):
                raw = int(np.array(number, _FLOATS[bits]).view(RAW[bits]))
        elif re.fullmatch(r"-?\d+\.\d*([eE][-+]?\d+)?", text):
            raw = int(np.array(float(text), _FLOATS[bits]).view(RAW[bits]))
        else:
            raw = int(text.rstrip("U"), 0) & ((1 << bits) - 1)
        if kind == "s":
            value = raw - (1 << bits) if raw >> (bits - 1) else raw
            return self.constant(value, _SIGNED[bits])
        if kind == "f":
            # By bits: a NaN keeps its payload.
            name = self.constant(raw, RAW[bits])
            return f"{name}.view(f{bits // 8})"
        return self._typed(self.constant(raw, RAW[bits]), bits, kind)

    def write(self, destination: str, expression: str, type_name: str) -> None:
        """Assign a value of the type, under the condition in hand; into {a, b} by parts."""
        if destination == "_":
            self.emit(expression)
            return
        bits, kind = type_of(type_name)
        if destination.startswith("{"):
            parts = split_operands(destination[1:-1])
            if len(parts) == 1:
                self.write(parts[0], expression, type_name)
                return
            width, whole = bits // len(parts), RAW_NAME[bits]
            value = self.temporary(expression)
            for place, part in enumerate(parts):
                if part != "_":
                    self._assign(
                        part, f"({value} >> {whole}({width * place})).astype({RAW_NAME[width]})"
                    )
            return
        width = self.width(destination)
        if kind == "bf":
            expression = f"floats.to_bf16({expression})"
        elif kind == "s" and width > bits:
            # Registers may be wider than the written value: signs are extended.
            expression, bits = (
                f"({expression}).astype(i{width // 8}).view({RAW_NAME[width]})",
                width,
            )
        elif kind in ("s", "f"):
            expression = f"({expression}).view({RAW_NAME[bits]})"
        if width != bits:
            expression = f"({expression}).astype({RAW_NAME[width]})"
        self._assign(destination, expression)

    def _assign(self, register: str, expression: str) -> None:
        local = self._local.get(register)
        if local is not None:
            if self.guard and register in self._defined:
                expression = f"np.where({self.guard}, {expression}, {local})"
            self._defined.add(register)
            self.emit(f"{local} = {expression}")
            return
        name = f"R[{self._register(register)}]"
        if self.condition:
            expression = f"np.where({self.condition}, {expression}, {name})"
        self.emit(f"{name} = {expression}")

    def address(self, operand: str, bits: int = 64) -> str:
        """The address in brackets as an unsigned expression of `bits` bits."""
        match = _ADDRESS.match(operand.strip()[1:-1].strip())
        if match is None:
            raise Unsupported(f"address {operand}")
        base, offset = match.group(1), int(match.group(2) or "0", 0)
        if base in self.kernel.widths:
            expression, width = self.raw(base), self.width(base)
            if width != bits:
                expression = f"{expression}.astype({RAW_NAME[bits]})"
            if offset:
                expression = f"({expression} + {self.constant(offset % (1 << bits), RAW[bits])})"
            return expression
        if base.lstrip("-").isdigit():
            return self.constant((int(base) + offset) % (1 << bits), RAW[bits])
        return self.symbol(f"{base}+{offset}" if offset else base, bits)

    def registers(self, operand: str) -> List[str]:
        """The parts of {a, b, …}, or the one."""
        return split_operands(operand[1:-1]) if operand.startswith("{") else [operand]

    def values(self, operand: str, type_name: str) -> str:
        """A tuple of the values of {a, b, …}."""
        return f"({', '.join(self.read(part, type_name) for part in self.registers(operand))},)"

    def scatter(self, operand: str, values: str, type_name: str) -> None:
        """Assign the elements of a sequence to {a, b, …}."""
        for place, destination in enumerate(self.registers(operand)):
            if destination != "_":
                self.write(destination, f"{values}[{place}]", type_name)

    @staticmethod
    def integer(operand: str) -> int:
        """An operand that must be a constant.

        Raises:
            ValueError: it is not.
        """
        return int(operand, 0)


def check_modifiers(instruction: Instruction, allowed: Tuple[str, ...]) -> Set[str]:
    """The modifiers but the type, which stands last.

    Raises:
        Unsupported: one that is not among `allowed`.
    """
    modifiers = set(instruction.modifiers[:-1])
    for modifier in modifiers.difference(allowed):
        raise instruction.unsupported(f"modifier .{modifier}")
    return modifiers
