"""Load an assembly text, pack the arguments, and run a grid."""

import random
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from crosswarp.matrix.cell.machines.ptx.launch import Limits, Result, spread
from crosswarp.matrix.cell.machines.ptx.memory import Memory

from . import instructions as _families  # noqa: F401  (they register themselves)
from . import metadata
from .dispatch import pack, packet
from .errors import Unsupported
from .lowering import Lowering
from .schedule import Clock, run_all
from .syntax import Kernel, parse

__all__ = ["Limits", "Memory", "Program", "Result", "load", "run"]

# Lanes of a chunk: enough to hide numpy's overhead, few enough for the cache.
LANES = 16384
_NO_LIMITS = Limits()


class Program:
    """A kernel, read and lowered.

    Attributes:
        target: such as "gfx942".
        vectors, accumulators: how many registers it names.
        sizes: instructions of each block.
    """

    def __init__(self, text: str, checked: bool = False):
        self.kernel: Kernel = parse(text)
        self.target = self.kernel.target
        _check_directives(self.kernel)
        self._lowering = Lowering(self.kernel, checked)
        self._functions: Dict[int, Callable[..., Any]] = {}
        self.vectors, self.accumulators = _registers(self.kernel)
        self.sizes = [end - first for first, end in self.kernel.blocks]
        # All of it once, so that unknown instructions fail before anything runs; compiled when it is reached.
        self._sources = [self.source(number) for number in range(len(self.kernel.blocks))]

    @property
    def parameters(self) -> List[metadata.Argument]:
        """The arguments that a launch hands over, Triton's own scratch memory among them."""
        return [argument for argument in self.kernel.arguments if not argument.hidden]

    def source(self, block: int) -> str:
        """The generated code of a block, to be read by people."""
        return self._lowering.source(block)

    def function(self, block: int) -> Callable[..., Any]:
        if block not in self._functions:
            self._functions[block] = self._lowering.function(block, self._sources[block])
        return self._functions[block]


def _check_directives(kernel: Kernel) -> None:
    for name, value in metadata.ASSUMED.items():
        given = kernel.directive(name, value)
        if given != value:
            raise Unsupported(f".amdhsa_{name} {given}")


def _registers(kernel: Kernel) -> Tuple[int, int]:
    sizes = {"v": 1, "a": 1}
    for instruction in kernel.instructions:
        for half in instruction.halves():
            for operand in half.operands:
                if operand.kind in sizes:
                    sizes[operand.kind] = max(sizes[operand.kind], operand.number + operand.count)
    return sizes["v"], sizes["a"]


_programs: "OrderedDict[Tuple[str, bool], Program]" = OrderedDict()


def load(text: Union[str, bytes], checked: bool = False) -> Program:
    """Read and lower an assembly text; the last 64 are kept.

    Args:
        checked: report to the watch registers that are used while their load is under way.

    Raises:
        Unsupported: an instruction, modifier or directive that the emulator does not know.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    key = (text, checked)
    program = _programs.get(key)
    if program is None:
        program = _programs[key] = Program(text, checked)
        if len(_programs) > 64:
            _programs.popitem(last=False)
    else:
        _programs.move_to_end(key)
    return program


def run(
    program: Union[str, bytes, Program],
    grid: Sequence[int],
    arguments: Sequence[Any],
    *,
    threads: int,
    shared: int = 0,
    memory: Optional[Memory] = None,
    limits: Limits = _NO_LIMITS,
    order: Union[str, int] = "forward",
    watch: Any = None,
    lanes: int = LANES,
    sample: Optional[int] = None,
) -> Result:
    """Execute a kernel on the CPU.

    Args:
        grid: workgroups in x, y and z; missing ones are 1.
        arguments: one for each visible argument of the kernel: ints (also addresses), floats, numpy scalars, or bytes.
            Missing ones at the end are null pointers: Triton's scratch memory.
        threads: work-items of a workgroup, along x.
        shared: bytes of LDS that the launch adds to those of the kernel.
        memory: windows that may be touched; none without.
        order: in which workgroups run: "forward", "reversed", or the seed of a shuffle.
        watch: a `ptx.Watch`, which is called for every access and barrier.
        lanes: how many lanes are computed together.
        sample: execute so many workgroups, at equal distances in the grid, and no others; None for all.

    Raises:
        Unsupported, Fault, Deadlock, OutOfTime: see `errors`.
        ValueError: arguments that do not fit the kernel.
    """
    if not isinstance(program, Program):
        program = load(program)
    launch = _Launch(program, grid, arguments, threads, shared, memory, order, watch, sample)
    clock = Clock(limits)
    if launch.count == 0:
        return Result(0, clock.seconds())
    with np.errstate(all="ignore"):
        total = run_all(launch, clock, max(1, lanes))
    return Result(total, clock.seconds(), len(launch.numbers()))


class _Launch:
    """The state that all chunks of a launch share."""

    def __init__(self, program: Program, grid: Sequence[int], arguments: Sequence[Any], threads: int, shared: int,
                 memory: Optional[Memory], order: Union[str, int], watch: Any,
                 sample: Optional[int] = None):  # fmt: skip
        kernel = program.kernel
        self.program, self.watch, self.threads = program, watch, threads
        x, y, z = (int(size) for size in (*grid, 1, 1)[:3])
        self.grid = (x, y, z)
        self.count = x * y * z if min(self.grid) > 0 else 0
        if threads % kernel.wave:
            raise Unsupported(f"{threads} threads in waves of {kernel.wave}")
        self.shared = kernel.directive("group_segment_fixed_size") + shared
        self.memory = memory if memory is not None else Memory()
        self.backwards = order == "reversed"
        self._order, self._sample = order, sample
        self.packed = pack(kernel, arguments, self.grid, threads)
        # A compiler may load more words than there are arguments.
        block = np.zeros(len(self.packed) + 128, np.uint8)
        start = -block.ctypes.data % 64
        self._arguments = block[start : start + len(self.packed) + 64]
        self._arguments[: len(self.packed)] = np.frombuffer(self.packed, np.uint8)
        self.argument_address = self.memory.add_array(self._arguments, "the kernel's arguments")
        self._packet = packet(kernel, self.grid, threads, self.shared, self.argument_address)
        self.packet_address = self.memory.add_array(self._packet, "the dispatch packet")
        for name, table in kernel.tables.items():
            self.memory.add_array(table, name)

    def numbers(self) -> np.ndarray:
        """Linear ids of the workgroups in the order they run."""
        numbers = np.arange(self.count)
        if self._order == "reversed":
            numbers = numbers[::-1]
        elif self._order != "forward":
            places = list(range(self.count))
            random.Random(self._order).shuffle(places)
            numbers = numbers[places]
        if self._sample is not None and self._sample < self.count:
            numbers = numbers[spread(self.count, self._sample)]
        return numbers
