"""Turn a block of instructions into the text of a Python function over all waves of a chunk.

A family in `instructions/` registers its opcodes with `handles`, and writes lines with `Lowering.emit`. Names inside a
generated function: S the `machine.Machine`, V and A its vector registers, r reads a scalar register, m the waves that
are here and e the lanes that act (None for all).
"""

import re
from typing import Any, Callable, Dict, List, Optional, Set

import numpy as np

from . import bits, division, floats, names, small_floats
from .errors import Unknown, Unsupported
from .operands import EXEC, FLAGS, VCC, Operand, constant_bits
from .syntax import Instruction, Kernel

Handler = Callable[["Lowering", str, Instruction], Any]
HANDLERS: Dict[str, Handler] = {}
# Beginning of a name -> handler of all such opcodes.
PREFIXES: Dict[str, Handler] = {}
RAW = {16: np.uint16, 32: np.uint32, 64: np.uint64}
NAMESPACE: Dict[str, Any] = {
    "np": np, "where": np.where, "floats": floats, "division": division, "small_floats": small_floats, "bits": bits,
    "u1": np.uint8, "u2": np.uint16, "u4": np.uint32, "u8": np.uint64, "i1": np.int8, "i2": np.int16,
    "i4": np.int32, "i8": np.int64, "f2": np.float16, "f4": np.float32, "f8": np.float64,
}  # fmt: skip


def handles(*opcodes: str) -> Callable[[Handler], Handler]:
    """Register a function for the opcodes of these base names. It returns True if it ended the block."""

    def register(function: Handler) -> Handler:
        for name in opcodes:
            HANDLERS[name] = function
        return function

    return register


def handler_of(name: str) -> Optional[Handler]:
    """The function for an opcode, by its base name; None if no family knows it."""
    handler = HANDLERS.get(name)
    if handler is None:
        handler = next(
            (by_prefix for prefix, by_prefix in PREFIXES.items() if name.startswith(prefix)), None
        )
    return handler


def bits_of(kind: str) -> int:
    """32 of "f32"."""
    return int(kind[1:])


def view(kind: str) -> str:
    """The name of the numpy type of a kind: "f4" of "f32"."""
    return f"{kind[0]}{bits_of(kind) // 8}"


class Lowering:
    """Attributes:
    kernel: the kernel that is being lowered.
    block: number of the block that is being lowered.
    instruction: the one that is being lowered.
    scc_dead: the SCC that it writes is never read.
    """

    def __init__(self, kernel: Kernel, checked: bool = False):
        self.kernel, self._checked = kernel, checked
        self.generation = kernel.generation
        self.lanes = kernel.wave
        self.namespace = dict(NAMESPACE)
        self.block = 0
        self.instruction: Any = None
        self.scc_dead = False
        self._constants: Dict[Any, str] = {}
        self._tables = 0
        self._lines: List[str] = []
        self._temporaries = 0
        # Writes of a dual issue, which come after the reads of both halves.
        self._held: Optional[List[str]] = None

    @property
    def fnuz(self) -> bool:
        """Whether 8-bit floats are those without a negative zero."""
        return self.kernel.target in small_floats.FNUZ_TARGETS

    def of_generation(self, expression: str) -> str:
        """An expression with the rules of this generation for a signalling NaN: gfx12's largest and least pass it over,
        and those before make it quiet."""
        if self.generation < (12, 0):
            return expression
        for name in ("maximum", "minimum"):
            expression = expression.replace(f"floats.{name}(", f"floats.{name}_number(")
        return expression.replace("floats.med3(", "floats.med3_number(")

    # ---------------------------------------------------------------- blocks

    def source(self, number: int) -> str:
        """The text of the function of a block.

        Raises:
            Unsupported: by the first instruction that is not known.
        """
        self._lines, self._temporaries, self.block = [], 0, number
        first, end = self.kernel.blocks[number]
        block = self.kernel.instructions[first:end]
        dead = _dead_scc(block)
        ended = False
        for place, instruction in enumerate(block):
            self.scc_dead = place in dead
            self.emit(f"# {instruction.line}: {instruction.text}")
            if self._checked:
                self._check_under_way(instruction)
            ended = self._lower_one(instruction)
        if not ended:
            self.emit(f"return [({number + 1}, m)]")
        body = "\n    ".join(self._lines)
        return f"def block(S, m):\n    V, A, r, put = S.V, S.A, S.r, S.put\n    e = S.active(m)\n    {body}\n"

    def function(self, number: int, source: str) -> Callable[..., Any]:
        code = compile(source, f"<amdgcn {self.kernel.name} block {number}>", "exec")
        exec(code, self.namespace)
        return self.namespace.pop("block")

    def _lower_one(self, instruction: Instruction) -> bool:
        halves = instruction.halves()
        if len(halves) == 1:
            return self._lower(instruction, names.base(instruction.name))
        self._held = []
        for half in halves:
            self._lower(half, names.base(half.name.replace("v_dual_", "v_")))
        held, self._held = self._held, None
        for line in held:
            self.emit(line)
        return False

    def _lower(self, instruction: Instruction, name: str) -> bool:
        self.instruction = instruction
        handler = handler_of(name)
        if handler is None:
            raise Unsupported(instruction.name, instruction.line)
        try:
            ended = bool(handler(self, name, instruction))
            _check_modifiers(instruction)
            return ended
        except Unknown as error:
            raise Unsupported(
                instruction.name, instruction.line, f"{error} in `{instruction.text}`"
            ) from None
        except (IndexError, KeyError, ValueError, AttributeError) as error:
            why = (
                f"an operand or modifier in `{instruction.text}` ({type(error).__name__}: {error})"
            )
            raise Unsupported(instruction.name, instruction.line, why) from error

    def _check_under_way(self, instruction: Instruction) -> None:
        """Emits a question whether a load is under way to a register that the instruction names."""
        named = []
        for half in instruction.halves():
            loads = "_load_" in half.name or half.name.startswith("ds_read")
            # Of two loads into one register the later one lands last.
            for operand in half.operands[1:] if loads else half.operands:
                if operand.kind != "c":
                    named += [
                        (operand.kind, operand.number + place) for place in range(operand.count)
                    ]
        if named:
            self.emit(
                f"if S.counters.open: S.counters.look({instruction.index}, {tuple(named)!r}, m)"
            )

    # ---------------------------------------------------------------- emitting

    @property
    def at(self) -> int:
        """The index of the instruction, for messages at run time."""
        return self.instruction.index

    def emit(self, line: str) -> None:
        self._lines.append(line)

    def temporary(self, expression: str) -> str:
        """A name that holds the value of an expression from here on."""
        if re.fullmatch(r"[tc]\d+", expression):
            return expression
        self._temporaries += 1
        name = f"t{self._temporaries}"
        self.emit(f"{name} = {expression}")
        return name

    def constant(self, bits: int, kind: str) -> str:
        """The name of a constant of shape (1, 1)."""
        key = (bits, kind)
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._constants[key] = name
            raw = np.full((1, 1), bits, RAW[bits_of(kind)])
            self.namespace[name] = raw.view(self.namespace[view(kind)])
        return self._constants[key]

    def table(self, value: Any) -> str:
        """The name of a value that was computed while lowering, such as a table of lanes."""
        self._tables += 1
        name = f"table{self._tables}"
        self.namespace[name] = value
        return name

    # ---------------------------------------------------------------- reading

    def word(self, operand: Operand, place: int = 0) -> str:
        """The raw 32 bits of a part of an operand."""
        if operand.kind == "v":
            return f"V[{operand.number + place}]"
        if operand.kind == "a":
            return f"A[{operand.number + place}]"
        if operand.kind == "s":
            return f"r({operand.number + place})"
        if operand.text in FLAGS:
            flag = operand.text.replace("src_", "")
            number = {"vccz": VCC, "execz": EXEC}.get(flag)
            return "S.scc.astype(u4)" if number is None else f"(~S.nonzero({number})).astype(u4)"
        return self.constant(constant_bits(operand.text, 32, False), "u32")

    def words(self, operand: Operand, count: int) -> str:
        """A list of so many words; a constant is the same in each."""
        parts = [self.word(operand, place if operand.kind != "c" else 0) for place in range(count)]
        return f"[{', '.join(parts)}]"

    def read(
        self, operand: Operand, kind: str, half: Optional[int] = None, plain: bool = False
    ) -> str:
        """A typed expression of a source.

        Args:
            half: 0 or 1 of a 32-bit register, for kinds of 16 bits.
            plain: without the source's negation and absolute value.
        """
        bits = bits_of(kind)
        if operand.kind == "c" and operand.text not in FLAGS:
            expression = self.constant(constant_bits(operand.text, bits, kind[0] == "f"), kind)
        elif bits == 64:
            if operand.kind == "s":
                expression = f"S.r64({operand.number})"
            else:
                expression = f"({self.word(operand)}.astype(u8) | ({self.word(operand, 1)}.astype(u8) << u8(32)))"
            expression = expression if kind == "u64" else f"{expression}.view({view(kind)})"
        elif bits == 16:
            upper = operand.half == "h" or half == 1
            word = self.word(operand)
            expression = f"({word} >> u4(16)).astype(u2)" if upper else f"{word}.astype(u2)"
            expression = expression if kind == "u16" else f"{expression}.view({view(kind)})"
        else:
            expression = self.word(operand)
            expression = expression if kind == "u32" else f"{expression}.view({view(kind)})"
        if plain:
            return expression
        return self.modified(expression, kind, operand)

    def modified(self, expression: str, kind: str, operand: Operand) -> str:
        """An expression with the modifiers of its source."""
        operand.modifiers_read = True
        if not operand.negated and not operand.absolute:
            return expression
        if kind[0] == "i":
            raise Unknown("a negated source of integers")
        if kind[0] == "u":
            # On a move of bits the modifiers are those of floats.
            return f"floats.bits_with_sign({expression}, {operand.negated}, {operand.absolute})"
        if operand.absolute:
            expression = f"np.abs({expression})"
        return f"(-{expression})" if operand.negated else expression

    def mask(self, operand: Operand) -> str:
        """An operand as a lane mask."""
        if operand.kind == "c":
            if operand.text not in ("0", "-1"):
                raise Unknown(f"the mask {operand.text}")
            return f"np.full(S.shape, {operand.text != '0'})"
        return f"S.mask({operand.number})"

    # ---------------------------------------------------------------- writing

    def file_of(self, operand: Operand) -> str:
        """The name of the register file of a destination."""
        if operand.kind not in ("v", "a"):
            raise Unknown(f"the destination {operand.text}")
        return operand.kind.upper()

    def write_words(self, operand: Operand, words: List[str], e: str = "e") -> None:
        """Raw words into vector registers, under EXEC or under another mask by its name."""
        alone = len(words) == 1 and self._held is None
        for place, word in enumerate(words):
            # A later word may be of a register that this one changes.
            value = word if alone else self.temporary(word)
            target = f"{self.file_of(operand)}[{operand.number + place}]"
            line = f"{target} = put({value}, {e}, {target})"
            if self._held is not None:
                self._held.append(line)
            else:
                self.emit(line)

    def write(
        self, operand: Operand, expression: str, kind: str, e: str = "e", half: Optional[int] = None
    ) -> None:
        """A typed value into vector registers."""
        bits = bits_of(kind)
        if bits == 64:
            value = self.temporary(f"({expression}).view(u8)" if kind != "u64" else expression)
            self.write_words(operand, [f"{value}.astype(u4)", f"({value} >> u8(32)).astype(u4)"], e)
        elif bits == 16:
            value = (
                f"({expression}).view(u2).astype(u4)"
                if kind != "u16"
                else f"({expression}).astype(u4)"
            )
            half = 1 if operand.half == "h" else half
            old = self.word(Operand(operand.kind, operand.number))
            if half == 1:
                value = f"({value} << u4(16)) | ({old} & u4(0xFFFF))"
            elif half == 0 or self.generation >= (10, 0):
                # gfx9 clears the upper half.
                value = f"{value} | ({old} & u4(0xFFFF0000))"
            self.write_words(operand, [value], e)
        else:
            self.write_words(
                operand, [expression if kind == "u32" else f"({expression}).view(u4)"], e
            )

    def write_scalar(self, operand: Operand, expression: str, kind: str) -> None:
        if operand.kind != "s":
            raise Unknown(f"the destination {operand.text}")
        wide = bits_of(kind) == 64
        raw = kind if kind[0] == "u" else ""
        expression = expression if raw else f"({expression}).view(u{8 if wide else 4})"
        self.emit(f"S.w{'64' if wide else ''}({operand.number}, {expression}, m)")
        self.after_scalar(operand.number, 2 if wide else 1)

    def after_scalar(self, number: int, count: int = 1) -> None:
        """Read EXEC again where a write to scalar registers has changed it."""
        if number < EXEC + 2 and number + count > EXEC:
            self.emit("e = S.active(m)")

    def write_scc(self, expression: str) -> None:
        if not self.scc_dead:
            self.emit(f"S.condition({expression}, m)")

    def write_mask(self, operand: Operand, expression: str) -> None:
        """A lane mask into scalar registers."""
        if operand.kind != "s":
            raise Unknown(f"the destination {operand.text}")
        self.emit(f"S.setmask({operand.number}, {expression}, m)")
        self.after_scalar(operand.number, 2)


def _check_modifiers(instruction: Instruction) -> None:
    """Refuse modifiers that the family has not read: ignored, they would change results unseen.

    Raises:
        Unknown: the first of them.
    """
    for key in instruction.modifiers.unread():
        if key not in names.HINTS:
            raise Unknown(f"the modifier {key}")
    for operand in instruction.operands:
        if (operand.negated or operand.absolute or operand.signed) and not operand.modifiers_read:
            raise Unknown(f"the modifier of the source {operand.text}")


def _dead_scc(block: List[Instruction]) -> Set[int]:
    """Return the instructions whose SCC is not read before another instruction of the block writes it."""
    dead: Set[int] = set()
    writer = None
    for place, instruction in enumerate(block):
        name = names.base(instruction.name)
        reads = any(operand.text in ("scc", "src_scc") for operand in instruction.operands)
        if reads or names.reads_scc(name):
            writer = None
        if names.writes_scc(name):
            if writer is not None:
                dead.add(writer)
            writer = place
    return dead
