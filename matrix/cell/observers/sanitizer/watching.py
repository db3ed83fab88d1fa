"""A launch with all detectors looking on."""

from typing import Any, List, Optional, Sequence, Union

from crosswarp.matrix.cell.machines import ptx

from . import accumulators, dependent, order
from .bounds import Bounds
from .divergence import Divergence
from .findings import Finding, Findings, shortened
from .global_races import GlobalRaces
from .pointers import Pointers
from .shared_memory import SharedMemory
from .shared_races import SharedRaces
from .shared_uninitialised import SharedUninitialised
from .tensors import Tensor, memory_of
from .uninitialised import Uninitialised, Unwritten
from .waits import Waits

# Lanes of a chunk: fewer than without, since each byte of shared memory has its shadow.
LANES = 4096


class Watching(ptx.Watch):
    """The watch for `ptx.run(watch=…)`: every detector that needs to see accesses. Made by `watching`.

    Attributes:
        memory: the windows of the launch, for `ptx.run(memory=…)`.
        findings: the findings so far; see `Findings.list`.
    """

    each_copy = True

    def __init__(self, entry: Any, tensors: Sequence[Tensor], programs: int, unwritten: Sequence[Unwritten],
                 benign: bool):  # fmt: skip
        kernel = entry.kernel
        self.kernel, self.tensors = kernel, tensors
        self.memory = memory_of(tensors)
        self.found = Findings(kernel)
        pointers = Pointers(kernel)
        self._bounds = Bounds(self.found, tensors, pointers)
        self._uninitialised = Uninitialised(self.found, tensors, unwritten)
        self._races = GlobalRaces(self.found, kernel, tensors, pointers, programs, benign)
        self._divergence = Divergence(self.found)
        self._shared = SharedMemory(
            kernel,
            [Waits(self.found), SharedUninitialised(self.found), SharedRaces(self.found, benign)],
        )
        accumulators.check(self.found, kernel)
        dependent.check(self.found, kernel)

    @property
    def findings(self) -> List[Finding]:
        return self.found.list()

    def stopped(self, error: ptx.PTXError) -> None:
        """Note the error that ended the launch, unless a detector reported it in more detail.

        Raises:
            PTXError: the error itself, where it is no fault of the kernel.
        """
        if isinstance(error, ptx.Deadlock):
            self.found.note(Finding("deadlock", self.kernel.name, str(error), error.line))
        elif isinstance(error, ptx.Fault):
            if any(
                one.kind == error.kind and one.instruction == shortened(error.instruction)
                for one in self.findings
            ):
                return
            self.found.note(
                Finding(
                    error.kind, self.kernel.name, str(error).split(": ", 1)[-1].split(",")[0], error.line,
                    error.instruction, error.program_id, error.thread, error.address, error.nearest,
                )
            )  # fmt: skip
        else:
            raise error

    # ---------------------------------------------------------------- ptx.Watch

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if space == "shared":
            self._shared.access(machine, at, what, address, condition, nbytes)
        elif space == "global":
            self._bounds.access(machine, at, what, address, condition, nbytes, lane)
            self._uninitialised.access(machine, at, what, address, condition, nbytes, lane)
            self._races.access(machine, at, what, address, condition, nbytes, lane)

    def written(self, machine, at, space, address, condition, values, nbytes) -> None:
        if space == "shared":
            self._shared.written(machine, at, address, condition, values, nbytes)
        elif space == "global":
            self._races.written(machine, at, address, condition, values, nbytes)

    def arrived(self, machine, at, name, mask) -> None:
        self._divergence.arrived(machine, at, name, mask)
        self._shared.arrived(machine, name, mask)

    def released(self, machine, name, mask) -> None:
        self._divergence.released(machine, name, mask)
        self._shared.released(machine, name, mask)

    def copying(self, machine, at, lanes, index, size, barrier=None) -> None:
        self._shared.copying(machine, at, lanes, index, size, barrier)

    def landed(self, machine, lanes, index, size, done) -> None:
        self._shared.landed(machine, lanes, index, size, done)

    def reading(self, machine, at, lanes, index, size) -> None:
        self._shared.reading(machine, at, lanes, index, size)

    def multiplying(self, machine, at, lanes, address, size) -> None:
        self._shared.multiplying(machine, at, lanes, address, size)

    def committed(self, machine, at, objects, lanes) -> None:
        self._shared.committed(machine, objects, lanes)

    def group(self, machine, unit, mask) -> None:
        self._shared.group(machine, unit, mask)

    def waited_group(self, machine, unit, newest, mask) -> None:
        self._shared.waited_group(machine, unit, newest, mask)

    def signals(self, machine, at, objects, active) -> None:
        self._shared.signals(machine, objects, active)

    def finished(self, machine) -> None:
        self._shared.finished(machine)

    def waited(self, machine, at, objects, active, done) -> None:
        self._shared.waited(machine, objects, active, done)


def watching(
    program: Union[str, bytes, ptx.Program],
    grid: Sequence[int],
    tensors: Sequence[Tensor],
    *,
    kernel: Optional[str] = None,
    unwritten: Sequence[Unwritten] = (),
    benign: bool = False,
) -> Watching:
    """A watch for one launch: `ptx.run(program, grid, arguments, memory=it.memory, watch=it)`, then `it.findings`.

    Args:
        tensors: all memory that the launch may touch, each with the parameter that points to it.
        unwritten: allocations without contents, whose reads are findings until something is stored.
        benign: report races that write equal values.
    """
    if not isinstance(program, ptx.Program):
        program = ptx.load(program)
    count = 1
    for size in grid:
        count *= int(size)
    return Watching(program.entry(kernel), list(tensors), count, unwritten, benign)


def run(
    program: Union[str, bytes, ptx.Program],
    grid: Sequence[int],
    arguments: Sequence[Any],
    tensors: Sequence[Tensor],
    *,
    kernel: Optional[str] = None,
    unwritten: Sequence[Unwritten] = (),
    benign: bool = False,
    orders: bool = True,
    watch: Any = None,
    result: Optional[List[Any]] = None,
    **options: Any,
) -> List[Finding]:
    """Run `ptx.run` with every detector, the order of programs among them; return their findings.

    Memory then holds the results of the launch in its usual order, also if there are findings.

    Args:
        tensors, unwritten, benign: see `watching`.
        orders: execute the launch again, reversed and shuffled, and compare.
        watch: another watch for the usual order.
        result: gets the `ptx.Result` of the launch in its usual order.
        options: of `ptx.run`.

    Raises:
        ptx.Unsupported, ptx.OutOfTime: see `ptx.run`.
    """
    if not isinstance(program, ptx.Program):
        program = ptx.load(program)
    looking = watching(program, grid, tensors, kernel=kernel, unwritten=unwritten, benign=benign)
    options.setdefault("lanes", LANES)
    before = order.Kept(tensors) if orders else None

    def again(how: Any, seen: Any = None) -> Any:
        return ptx.run(
            program,
            grid,
            arguments,
            kernel=kernel,
            memory=looking.memory,
            order=how,
            watch=seen,
            **options,
        )

    try:
        done = again("forward", ptx.several([watch, looking]))
    except (ptx.Fault, ptx.Deadlock) as error:
        looking.stopped(error)
        return looking.findings
    if result is not None:
        result.append(done)
    if before is not None and _programs(grid) > 1 and not order.hands_out(looking.kernel):
        order.check(looking.found, looking.kernel, looking.tensors, before, again)
    return looking.findings


def _programs(grid: Sequence[int]) -> int:
    count = 1
    for size in grid:
        count *= int(size)
    return count
