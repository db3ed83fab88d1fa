"""PTX text to kernels: statements, registers, symbols, labels. Nothing is executed here, and no opcode is known."""

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Set, Tuple

from .errors import Unsupported
from .types import is_type, type_of

_PIECE = re.compile(r"[;{}\n]|[^;{}\n]+")
_LABEL = re.compile(r"\s*([%$\w]+)\s*:(?!:)")
_INSTRUCTION = re.compile(r"(?:@(!?)\s*([%\w$]+)\s+)?([a-z][\w]*(?:(?:\.|::)\w+)*)\s*(.*)$", re.S)
_NAME = re.compile(r"[%\w$]+")
_OPERAND = re.compile(r"(?:\{[^{}]*\}|\[[^\[\]]*\]|\([^()]*\)|[^,{\[(])+")
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'(?m)^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s*,\s*\d+\s*,\s*\d+)?')
_DIRECTIVES_OF_A_LINE = (".loc", ".file", ".version", ".target", ".address_size", ".section")


@dataclass
class Parameter:
    """One .param of an entry. `bytes` is its size; `array` says that it is passed by value as a block of bytes."""

    name: str
    type: str
    bytes: int
    align: int
    array: bool
    offset: int = 0


@dataclass
class Symbol:
    """A variable: `space` is "shared", "global", "local" or "const"; `bytes` is 0 for one of unknown size."""

    name: str
    space: str
    bytes: int
    align: int
    data: Any = None
    address: int = 0


class Instruction:
    """One instruction as written; `block` and `targets` are set when the blocks are known."""

    __slots__ = (
        "opcode", "name", "modifiers", "operands", "guard", "negated", "line", "loc", "text", "scope", "block", "index"
    )  # fmt: skip

    def __init__(self, opcode, operands, guard, negated, line, loc, text, scope):
        parts = opcode.split(".")
        self.opcode, self.name, self.modifiers = opcode, parts[0], parts[1:]
        self.operands, self.guard, self.negated = operands, guard, negated
        self.line, self.loc, self.text, self.scope = line, loc, text, scope
        self.block = self.index = -1

    def unsupported(self, why: str = "") -> Unsupported:
        return Unsupported(self.opcode, self.line, why)


@dataclass
class Kernel:
    """One entry.

    Attributes:
        threads: (x, y, z) of .reqntid or .maxntid; None without either.
        cluster: (x, y, z) of .reqnctapercluster or .explicitcluster's; None without.
        widths: bits of each register.
        labels: index of the instruction that a label stands before.
        blocks: (first, end) of each basic block.
        version: of the PTX ISA, such as (8, 4); () where the file has none.
        of_calls: names of what calls take and return.
    """

    name: str
    parameters: List[Parameter]
    threads: Optional[Tuple[int, int, int]]
    cluster: Optional[Tuple[int, int, int]]
    symbols: Dict[str, Symbol]
    instructions: List[Instruction] = field(default_factory=list)
    widths: Dict[str, int] = field(default_factory=dict)
    labels: Dict[Tuple[str, int], int] = field(default_factory=dict)
    blocks: List[Tuple[int, int]] = field(default_factory=list)
    block_at: Dict[int, int] = field(default_factory=dict)
    version: Tuple[int, ...] = ()
    tables: Dict[str, List[str]] = field(default_factory=dict)
    of_calls: Set[str] = field(default_factory=set)

    def label(self, instruction: Instruction, name: str) -> int:
        """The block that `name` means where `instruction` stands; the number of blocks is the end."""
        for scope in reversed(instruction.scope):
            at = self.labels.get((name, scope))
            if at is not None:
                return self.block_at.get(at, len(self.blocks))
        raise Unsupported(f"label {name}", instruction.line)


@dataclass
class Module:
    version: str
    target: str
    kernels: Dict[str, Kernel]


def split_operands(text: str) -> List[str]:
    """Operands between commas, where brackets of any kind hold together."""
    return [part for part in map(str.strip, _OPERAND.findall(text)) if part]


def _without_comments(text: str) -> str:
    # A block comment keeps its line breaks: lines are counted.
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match.group(0).count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def parse(text: str) -> Module:
    """Read a PTX file.

    Raises:
        Unsupported: a construct that is not known, such as a function that is called.
    """
    text = _without_comments(text)
    files = {int(match.group(1)): match.group(2) for match in _FILE.finditer(text)}
    version = re.search(r"\.version\s+(\d+\.\d+)", text)
    target = re.search(r"\.target\s+(\w+)", text)
    reader = _Reader(files)
    reader.read(text)
    for kernel in reader.kernels.values():
        kernel.version = tuple(map(int, version.group(1).split("."))) if version else ()
    return Module(
        version.group(1) if version else "", target.group(1) if target else "", reader.kernels
    )


class _Reader:
    def __init__(self, files: Dict[int, str]):
        self._files = files
        self.kernels: Dict[str, Kernel] = {}
        self._globals: Dict[str, Symbol] = {}
        self._kernel: Optional[Kernel] = None
        self._loc: Optional[Tuple[str, int]] = None
        # Of the function that is read: one dict of renamed registers a scope, and the scope's number.
        self._names: List[Dict[str, str]] = []
        self._scopes: List[int] = []
        self._unique = 0
        self._last_label = ""
        self._skipping = 0

    def read(self, text: str) -> None:
        statement: List[str] = []
        line, begun, braces = 1, 1, 0
        for piece in _PIECE.findall(text):
            if piece == "\n":
                line += 1
                if statement:
                    head = "".join(statement).strip()
                    if head.startswith(_DIRECTIVES_OF_A_LINE):
                        self._directive(head)
                        statement = []
                    else:
                        statement.append(" ")
            elif self._skipping:
                self._skipping += {"{": 1, "}": -1}.get(piece, 0)
                statement = []
            elif piece == "{":
                head = "".join(statement).strip()
                if not head and self._kernel is not None:
                    self._open_scope()
                elif not head:
                    self._skipping = 1
                elif self._kernel is None and not braces and "=" not in head:
                    self._open_function(head, begun)
                    statement = []
                else:
                    braces += 1
                    statement.append(piece)
            elif piece == "}":
                if braces:
                    braces -= 1
                    statement.append(piece)
                elif self._kernel is not None:
                    self._close_scope()
                    statement = []
            elif piece == ";":
                self._statement("".join(statement).strip(), begun)
                statement = []
            else:
                if self._kernel is not None and not statement:
                    piece = self._labels(piece)
                if not statement:
                    if not piece.strip():
                        continue
                    begun = line
                statement.append(piece)

    def _labels(self, piece: str) -> str:
        while True:
            match = _LABEL.match(piece)
            if match is None:
                return piece
            kernel = self._kernel
            assert kernel is not None
            kernel.labels[match.group(1), self._scopes[-1]] = len(kernel.instructions)
            self._last_label = match.group(1)
            piece = piece[match.end() :]

    def _directive(self, text: str) -> None:
        match = _LOC.match(text)
        if match is not None:
            name = self._files.get(int(match.group(1)), match.group(1))
            self._loc = (name, int(match.group(2)))
        elif text.startswith(".section"):
            # Debugging sections hold data in braces.
            self._skipping = 0

    def _open_function(self, head: str, line: int) -> None:
        if head.startswith(".section"):
            self._skipping = 1
            return
        match = re.search(r"\.entry\s+([\w$]+)\s*(?:\((.*?)\))?(.*)$", head, re.S)
        if match is None:
            if ".func" not in head:
                raise Unsupported(head.split()[0], line)
            # Mathematics that is inlined where it is used is left behind as functions; a call of one is refused.
            self._skipping = 1
            return
        name, parameters, rest = match.groups()
        self._kernel = Kernel(
            name,
            _parameters(parameters or "", line),
            _triple(rest, r"\.(?:reqntid|maxntid)"),
            _triple(rest, r"\.reqnctapercluster"),
            dict(self._globals),
        )
        self._names, self._scopes, self._loc = [{}], [0], None

    def _open_scope(self) -> None:
        self._unique += 1
        self._names.append({})
        self._scopes.append(self._unique)

    def _close_scope(self) -> None:
        self._names.pop()
        self._scopes.pop()
        if not self._scopes:
            kernel = self._kernel
            assert kernel is not None
            _find_blocks(kernel)
            self.kernels[kernel.name] = kernel
            self._kernel = None

    def _statement(self, text: str, line: int) -> None:
        if not text:
            return
        if text.startswith("."):
            if text.startswith(".reg"):
                self._declare_registers(text, line)
            else:
                self._declare(text, line)
            return
        kernel = self._kernel
        if kernel is None:
            raise Unsupported(text.split()[0], line, "a statement outside of a function")
        match = _INSTRUCTION.match(text)
        if match is None:
            raise Unsupported(text[:60], line, "no instruction")
        negated, guard, opcode, rest = match.groups()
        rest, guard = self._renamed(rest), self._renamed(guard) if guard else None
        origin = line, self._loc, " ".join(text.split()), tuple(self._scopes)
        waits = guard and opcode.split(".")[0] in _WAITS
        if waits:
            # A barrier begins a block, so the others go round it.
            self._unique += 1
            behind = f"$behind{self._unique}"
            kernel.instructions.append(Instruction("bra", [behind], guard, negated != "!", *origin))
            kernel.labels[behind, self._scopes[-1]] = len(kernel.instructions) + 1
            guard, negated = None, None
        kernel.instructions.append(
            Instruction(opcode, split_operands(rest), guard, negated == "!", *origin)
        )

    def _renamed(self, text: str) -> str:
        if len(self._names) == 1:
            return text
        names: Dict[str, str] = {}
        for scope in self._names:
            names.update(scope)
        if not names:
            return text
        return _NAME.sub(lambda match: names.get(match.group(0), match.group(0)), text)

    def _declare_registers(self, text: str, line: int) -> None:
        kernel = self._kernel
        match = re.match(r"\.reg\s+\.(\w+)\s+(.*)$", text, re.S)
        if kernel is None or match is None or not (is_type(match.group(1))):
            raise Unsupported(text, line, "a declaration of registers")
        bits = type_of(match.group(1)).bits
        for name in match.group(2).split(","):
            several = re.fullmatch(r"\s*([%\w$]+)<(\d+)>\s*", name)
            names = (
                [f"{several.group(1)}{n}" for n in range(int(several.group(2)))]
                if several
                else [name.strip()]
            )
            for register in names:
                own = register
                if len(self._scopes) > 1:
                    # A scope's register hides one of the same name outside: it gets a unique name.
                    own = f"%s{self._scopes[-1]}_{register.lstrip('%')}"
                    self._names[-1][register] = own
                kernel.widths[own] = bits

    def _declare(self, text: str, line: int) -> None:
        if text.startswith(".branchtargets"):
            assert self._kernel is not None
            self._kernel.tables[self._last_label] = split_operands(text[len(".branchtargets") :])
            return
        if text.startswith((".pragma", ".callprototype", ".alias")):
            return
        if text.startswith(".param") and self._kernel is not None:
            # An argument or a result of a call.
            self._kernel.of_calls.add(text.split()[-1].partition("[")[0])
            return
        match = re.search(
            r"\.(shared|global|local|const)\b(?:\s*\.align\s+(\d+))?.*?\.(\w+)\s+([%\w$]+)\s*((?:\[\d*\])*)\s*(=.*)?$",
            text,
            re.S,
        )
        if match is None or not is_type(match.group(3)):
            if ".func" in text or ".entry" in text:
                # The declaration of an external function: only a call of it is unsupported.
                return
            raise Unsupported(text.split()[0], line, text[:80])
        space, align, kind, name, sizes, data = match.groups()
        element = type_of(kind).bits // 8
        count = 1
        for size in re.findall(r"\[(\d*)\]", sizes):
            count *= int(size or 0)
        symbol = Symbol(name, space, count * element, int(align or element))
        if data is not None:
            values = [int(value, 0) for value in re.findall(r"-?\b(?:0x)?[0-9a-fA-F]+\b", data[1:])]
            raw = b"".join((v % (1 << (8 * element))).to_bytes(element, "little") for v in values)
            symbol.data = raw.ljust(symbol.bytes, b"\0")
        (self._globals if self._kernel is None else self._kernel.symbols)[name] = symbol


def _parameters(text: str, line: int) -> List[Parameter]:
    parameters: List[Parameter] = []
    offset = 0
    for part in split_operands(text):
        match = re.search(r"([%\w$]+)\s*(\[(\d+)\])?\s*$", part)
        kind = next((word[1:] for word in part.split() if is_type(word[1:])), None)
        if match is None or kind is None:
            raise Unsupported(".param", line, part)
        element = type_of(kind).bits // 8
        array = match.group(2) is not None
        size = element * int(match.group(3)) if array else element
        # `.ptr .align n` is the alignment of the pointee; the parameter's own alignment stands before the type.
        before = re.match(r"\s*\.param\s+\.align\s+(\d+)", part)
        align = int(before.group(1)) if before else element
        offset = -(-offset // align) * align
        parameters.append(Parameter(match.group(1), kind, size, align, array, offset))
        offset += size
    return parameters


def _triple(text: str, directive: str) -> Optional[Tuple[int, int, int]]:
    match = re.search(directive + r"\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", text)
    if match is None:
        return None
    x, y, z = (int(part or 1) for part in match.groups())
    return x, y, z


_ENDS = ("bra", "ret", "exit", "trap", "brx")
# Threads wait for each other here: the scheduler has to see them arrive, so each begins a block.
_WAITS = ("bar", "barrier")


def _find_blocks(kernel: Kernel) -> None:
    """Cut the instructions at branches, at labels that something branches to, and before barriers."""
    starts = {0}
    # Debugging labels are many, and nothing branches to them.
    for instruction in kernel.instructions:
        if instruction.name in ("bra", "brx"):
            names = (
                instruction.operands[:1]
                if instruction.name == "bra"
                else kernel.tables[instruction.operands[1]]
            )
            for name in names:
                for scope in reversed(instruction.scope):
                    at = kernel.labels.get((name, scope))
                    if at is not None:
                        starts.add(at)
                        break
    for index, instruction in enumerate(kernel.instructions):
        if instruction.name in _ENDS:
            starts.add(index + 1)
        elif instruction.name in _WAITS and "warp" not in instruction.modifiers:
            starts.add(index)
    end = len(kernel.instructions)
    ordered = sorted(start for start in starts if start < end)
    kernel.blocks = list(zip(ordered, ordered[1:] + [end]))
    kernel.block_at = {first: number for number, (first, _) in enumerate(kernel.blocks)}
    for number, (first, last) in enumerate(kernel.blocks):
        for index in range(first, last):
            kernel.instructions[index].block = number
            kernel.instructions[index].index = index
