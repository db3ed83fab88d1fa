"""Load a PTX text, pack the arguments, and run a grid."""

import random
import struct
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import instructions as _families  # noqa: F401  (they register themselves)
from . import meeting
from .errors import Deadlock, Unsupported
from .lowering import Lowering
from .machine import Machine, special
from .memory import Memory
from .schedule import Chunk, Clock
from .syntax import Instruction, Kernel, Module, parse

# Lanes of a chunk: enough to hide numpy's overhead, few enough for the cache.
LANES = 16384


@dataclass(frozen=True)
class Limits:
    """The limits of one launch; None for no limit. `instructions` counts thread-instructions."""

    seconds: Optional[float] = None
    instructions: Optional[int] = None


@dataclass
class Result:
    """The resources that a launch used.

    Attributes:
        instructions: executed thread-instructions.
        seconds: wall time.
        ctas: executed.
        notes: remarks for the reader.
    """

    instructions: int
    seconds: float
    ctas: int = 0
    notes: List[str] = field(default_factory=list)


class Barrier(NamedTuple):
    """A barrier that begins a block: `kind` is "sync", "arrive", "cluster arrive" or "cluster wait"."""

    kind: str
    name: Any
    threads: Optional[int]


class Entry:
    """One kernel, lowered."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.static_shared, self.local = _lay_out(kernel)
        self._lowering = Lowering(kernel, special)
        self._functions: Dict[Tuple[int, bool], Callable[..., Any]] = {}
        self.sizes = [end - first for first, end in kernel.blocks]
        self.ranks = meeting.ranks(kernel)
        self.barriers: Dict[int, Barrier] = {}
        for number, (first, _) in enumerate(kernel.blocks):
            barrier = _barrier(kernel.instructions[first])
            if barrier is not None:
                self.barriers[number] = barrier
        # All of it once, so that unknown instructions fail before anything runs; compiled when it is reached.
        self._sources = [self.source(number) for number in range(len(kernel.blocks))]

    @property
    def register_bits(self) -> List[int]:
        return self._lowering.bits

    def function(self, block: int, masked: bool) -> Callable[..., Any]:
        key = (block, masked)
        if key not in self._functions:
            source = self.source(block, masked) if masked else self._sources[block]
            self._functions[key] = self._lowering.function(block, masked, source)
        return self._functions[key]

    def source(self, block: int, masked: bool = False) -> str:
        """The generated code of a block, to be read by people."""
        return self._lowering.source(block, masked)


class Program:
    """A PTX file, read and lowered.

    Attributes:
        target: such as "sm_80".
        version: of the PTX ISA.
        kernels: names of the entries.
    """

    def __init__(self, text: str):
        self._module: Module = parse(text)
        if not self._module.kernels:
            raise Unsupported("a file without an entry")
        self.target, self.version = self._module.target, self._module.version
        self.kernels = tuple(self._module.kernels)
        self._entries = {name: Entry(kernel) for name, kernel in self._module.kernels.items()}

    def entry(self, name: Optional[str] = None) -> Entry:
        """
        Raises:
            KeyError: no such kernel.
            ValueError: several, and none was named.
        """
        if name is None:
            if len(self.kernels) > 1:
                msg = f"the file holds {', '.join(self.kernels)}; name one with kernel=…"
                raise ValueError(msg)
            name = self.kernels[0]
        if name not in self._entries:
            msg = f"no kernel {name!r}; the file holds {', '.join(self.kernels)}"
            raise KeyError(msg)
        return self._entries[name]

    @property
    def threads(self) -> Optional[int]:
        """Threads of a CTA by .reqntid or .maxntid of the only kernel."""
        xyz = self.entry().kernel.threads
        return None if xyz is None else xyz[0] * xyz[1] * xyz[2]

    @property
    def shared(self) -> int:
        """Return the bytes of shared memory that the only kernel declares; a launch may add more."""
        return self.entry().static_shared

    @property
    def parameters(self):
        """The .param list of the only kernel."""
        return tuple(self.entry().kernel.parameters)


_programs: "OrderedDict[str, Program]" = OrderedDict()


def load(text: Union[str, bytes]) -> Program:
    """Read and lower a PTX text; the last 64 are kept.

    Raises:
        Unsupported: an instruction or construct that the emulator does not know.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    program = _programs.get(text)
    if program is None:
        program = _programs[text] = Program(text)
        if len(_programs) > 64:
            _programs.popitem(last=False)
    else:
        _programs.move_to_end(text)
    return program


def run(
    program: Union[str, bytes, Program],
    grid: Sequence[int],
    arguments: Sequence[Any],
    *,
    kernel: Optional[str] = None,
    shared: int = 0,
    memory: Optional[Memory] = None,
    limits: Limits = Limits(),
    order: Union[str, int] = "forward",
    watch: Any = None,
    threads: Optional[int] = None,
    cluster: Optional[Sequence[int]] = None,
    lanes: int = LANES,
    sample: Optional[int] = None,
) -> Result:
    """Execute a kernel on the CPU.

    Args:
        grid: CTAs in x, y and z; missing ones are 1.
        arguments: one a .param of the entry: ints (also addresses), floats, numpy scalars, or bytes for a block that
            is passed by value. Missing ones at the end are null pointers: Triton's scratch memory.
        shared: bytes of dynamic shared memory.
        memory: windows that may be touched; none without.
        order: in which CTAs run: "forward", "reversed", or the seed of a shuffle.
        watch: a `Watch`, called for every access, barrier and copy.
        threads: threads of a CTA where the PTX does not say.
        cluster: CTAs of a cluster where the PTX does not say.
        lanes: how many threads are computed together.
        sample: execute so many CTAs, at equal distances in the grid, and no others; None for all.

    Raises:
        Unsupported, Fault, Deadlock, OutOfTime: see `errors`.
        ValueError: arguments that do not fit the entry.
    """
    if not isinstance(program, Program):
        program = load(program)
    entry = program.entry(kernel)
    launch = _Launch(entry, grid, arguments, shared, memory, order, watch, threads, cluster, sample)
    clock = Clock(limits)
    if launch.count == 0:
        return Result(0, clock.seconds())
    with np.errstate(all="ignore"):
        total = _run_chunks(launch, clock, max(1, lanes))
    return Result(total, clock.seconds(), launch.begun, launch.notes)


def _run_chunks(launch: "_Launch", clock: Clock, lanes: int) -> int:
    per = max(1, lanes // launch.threads // launch.cluster_size)
    waiting = launch.waiting
    stuck: List[Chunk] = []
    total = 0
    while waiting:
        numbers = np.concatenate([waiting.popleft() for _ in range(min(per, len(waiting)))])
        launch.begun += len(numbers)
        chunk = Chunk(launch.program, Machine(launch, numbers), clock)
        if chunk.run():
            total += chunk.instructions
            _finish(launch, clock, chunk)
        else:
            # It waits for CTAs that come later.
            stuck.append(chunk)
    rounds = 0
    while stuck:
        before = sum(chunk.machine.progress for chunk in stuck)
        for chunk in list(stuck):
            if chunk.run():
                stuck.remove(chunk)
                total += chunk.instructions
                _finish(launch, clock, chunk)
                rounds = 0
        if stuck and sum(chunk.machine.progress for chunk in stuck) == before:
            rounds += 1
            if rounds > 2:
                place = stuck[0].place()
                raise Deadlock(
                    f"threads ask forever for what nobody will change: {place}",
                    place,
                    stuck[0]._line(),
                )
    return total


def _finish(launch: "_Launch", clock: Clock, chunk: Chunk) -> None:
    clock.finished(chunk.instructions)
    if launch.watch is not None:
        launch.watch.finished(chunk.machine)


def spread(count: int, wanted: int) -> np.ndarray:
    """`wanted` indexes below `count` from the first on, at equal distances; the last is among several."""
    return np.unique(np.linspace(0, count - 1, wanted).astype(int))


class _Launch:
    """The state that all chunks of a launch share.

    Attributes:
        waiting: ids of the CTAs of each cluster that has not begun, in their order; begun: CTAs that have.
    """

    def __init__(
        self, entry, grid, arguments, shared, memory, order, watch, threads, cluster, sample
    ):
        kernel = entry.kernel
        self.program, self.watch = entry, watch
        self.grid = tuple(int(size) for size in (*grid, 1, 1)[:3])
        xyz = kernel.threads or (threads, 1, 1)
        if xyz[0] is None:
            msg = f"{kernel.name} has no .reqntid or .maxntid: give threads=…"
            raise ValueError(msg)
        self.threads_xyz = xyz
        self.threads = xyz[0] * xyz[1] * xyz[2]
        if self.threads % 32:
            raise Unsupported(f"{self.threads} threads a CTA", why="not a multiple of 32")
        self.cluster = tuple(kernel.cluster or cluster or (1, 1, 1))
        self.cluster_size = self.cluster[0] * self.cluster[1] * self.cluster[2]
        if any(size % part for size, part in zip(self.grid, self.cluster)):
            msg = f"a grid of {self.grid} is no whole number of clusters of {self.cluster}"
            raise ValueError(msg)
        self.dynamic_shared = shared
        self.shared = entry.static_shared + shared
        self.memory = memory if memory is not None else Memory()
        self.backwards = order == "reversed"
        self._order = order
        self._sample = sample
        self.notes: List[str] = []
        self.count = max(0, min(self.grid)) and self.grid[0] * self.grid[1] * self.grid[2]
        self._packed = pack(kernel, arguments)
        self._values: Dict[Any, np.ndarray] = {}
        self._variables: Dict[str, Tuple[int, np.ndarray]] = {}
        self._parameter_block: Optional[np.ndarray] = None
        self.waiting = deque(self._clusters()) if self.count else deque()
        self.begun = 0

    def cancel(self) -> Optional[int]:
        """Take the next cluster away that would begin; return its first CTA, or None where all have begun."""
        return int(self.waiting.popleft()[0]) if self.waiting else None

    def _clusters(self) -> np.ndarray:
        """Linear ids of the CTAs of each cluster, (clusters, CTAs), in the order they run."""
        cx, cy, cz = self.cluster
        x, y, z = self.grid
        ids = np.arange(self.count).reshape(z // cz, cz, y // cy, cy, x // cx, cx)
        clusters = ids.transpose(0, 2, 4, 1, 3, 5).reshape(-1, self.cluster_size)
        if self._order == "reversed":
            clusters = clusters[::-1]
        elif self._order != "forward":
            places = list(range(len(clusters)))
            random.Random(self._order).shuffle(places)
            clusters = clusters[places]
        if self._sample is not None and self._sample < self.count:
            wanted = max(1, self._sample // self.cluster_size)
            clusters = clusters[spread(len(clusters), wanted)]
        return clusters

    def parameter(self, offset: int, dtype: Any) -> np.ndarray:
        key = (offset, dtype)
        if key not in self._values:
            size = np.dtype(dtype).itemsize
            raw = self._packed[offset : offset + size].ljust(size, b"\0")
            self._values[key] = np.frombuffer(raw, dtype).reshape(1, 1)
        return self._values[key]

    def parameter_block(self) -> int:
        """Return the address of a copy of the parameters: a value parameter may be pointed at (tensor maps)."""
        if self._parameter_block is None:
            block = np.zeros(len(self._packed) + 64, np.uint8)
            start = -block.ctypes.data % 64
            self._parameter_block = block[start : start + len(self._packed)]
            self._parameter_block[:] = np.frombuffer(self._packed, np.uint8)
            self.memory.add_array(self._parameter_block, "the kernel's parameters")
        return self._parameter_block.ctypes.data

    def variable(self, name: str) -> int:
        if name not in self._variables:
            symbol = self.program.kernel.symbols[name]
            block = np.zeros(symbol.bytes + symbol.align, np.uint8)
            start = -block.ctypes.data % symbol.align
            data = block[start : start + symbol.bytes]
            if symbol.data is not None:
                data[:] = np.frombuffer(symbol.data, np.uint8)
            self._variables[name] = (self.memory.add_array(data, name), data)
        return self._variables[name][0]


_FORMATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
_BY_SIZE = {2: "<e", 4: "<f", 8: "<d"}


def pack(kernel: Kernel, arguments: Sequence[Any]) -> bytes:
    """The bytes of the parameters as the driver would lay them out.

    Raises:
        ValueError: too many arguments, too few, or one that does not fit.
    """
    parameters = kernel.parameters
    if len(arguments) > len(parameters):
        msg = f"{kernel.name} takes {len(parameters)} arguments, not {len(arguments)}"
        raise ValueError(msg)
    packed = b""
    for place, parameter in enumerate(parameters):
        if place < len(arguments):
            raw = _bytes_of(parameter, arguments[place], place)
        elif parameter.bytes == 8:
            raw = bytes(8)
        else:
            msg = f"{kernel.name} takes {len(parameters)} arguments: {parameter.name} is missing"
            raise ValueError(msg)
        packed = packed.ljust(parameter.offset, b"\0") + raw
    return packed


def _bytes_of(parameter: Any, value: Any, place: int) -> bytes:
    size = parameter.bytes
    if value is None:
        raw = bytes(size)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
    elif isinstance(value, np.generic):
        raw = value.tobytes()
    elif isinstance(value, float):
        # Triton declares floats as .b32 in newer versions: the size gives the format.
        raw = struct.pack(_FORMATS.get(parameter.type, _BY_SIZE.get(size, "<d")), value)
    elif hasattr(value, "__index__"):
        number = value.__index__()
        if parameter.type in _FORMATS:
            raw = struct.pack(_FORMATS[parameter.type], number)
        else:
            raw = (number % (1 << (8 * size))).to_bytes(size, "little")
    else:
        msg = f"argument {place} is a {type(value).__name__}: give an int, float, numpy scalar or bytes"
        raise ValueError(msg)
    if len(raw) != size:
        msg = f"argument {place} has {len(raw)} bytes, {parameter.name} takes {size}"
        raise ValueError(msg)
    return raw


def _lay_out(kernel: Kernel) -> Tuple[int, int]:
    """Give shared and local variables their addresses; returns the bytes of each space."""
    sizes = {"shared": 0, "local": 0}
    for space in sizes:
        own = [symbol for symbol in kernel.symbols.values() if symbol.space == space]
        for symbol in own:
            if symbol.bytes:
                start = -(-sizes[space] // symbol.align) * symbol.align
                symbol.address, sizes[space] = start, start + symbol.bytes
        # Those of unknown size begin where the dynamic part does.
        unknown = [symbol for symbol in own if not symbol.bytes]
        if unknown:
            align = max(symbol.align for symbol in unknown)
            sizes[space] = -(-sizes[space] // align) * align
        for symbol in unknown:
            symbol.address = sizes[space]
    return sizes["shared"], sizes["local"]


def _barrier(instruction: Instruction) -> Optional[Barrier]:
    if instruction.name not in ("bar", "barrier"):
        return None
    modifiers = instruction.modifiers
    if modifiers[0] == "warp":
        return None
    if modifiers[0] == "cluster":
        return Barrier("cluster " + modifiers[1], "cluster", None)
    kind = next((part for part in modifiers if part in ("sync", "arrive")), None)
    if kind is None:
        raise instruction.unsupported()
    operands = instruction.operands
    try:
        numbers = [int(operand, 0) for operand in operands]
    except ValueError:
        raise instruction.unsupported("a barrier whose number is in a register") from None
    return Barrier(kind, numbers[0], numbers[1] if len(numbers) > 1 else None)
