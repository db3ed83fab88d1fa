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
        self.collected = Findings(kernel)
        pointers = Pointers(kernel)
        shared = [
            Waits(self.collected),
            SharedUninitialised(self.collected),
            SharedRaces(self.collected, benign),
        ]
        detectors = (
            Bounds(self.collected, tensors, pointers), Uninitialised(self.collected, tensors, unwritten),
            GlobalRaces(self.collected, kernel, tensors, pointers, programs, benign), Divergence(self.collected),
            SharedMemory(kernel, shared),
        )  # fmt: skip
        ptx.pass_on(self, detectors)
        accumulators.check(self.collected, kernel)
        dependent.check(self.collected, kernel)

    @property
    def findings(self) -> List[Finding]:
        return self.collected.list()

    def stopped(self, error: ptx.PTXError) -> None:
        """Note the error that ended the launch, unless a detector reported it in more detail.

        Raises:
            PTXError: the error itself, where it is no fault of the kernel.
        """
        if isinstance(error, ptx.Deadlock):
            self.collected.note(Finding("deadlock", self.kernel.name, str(error), error.line))
        elif isinstance(error, ptx.Fault):
            if any(
                finding.kind == error.kind and finding.instruction == shortened(error.instruction)
                for finding in self.findings
            ):
                return
            self.collected.note(
                Finding(
                    error.kind, self.kernel.name, str(error).split(": ", 1)[-1].split(",")[0], error.line,
                    error.instruction, error.program_id, error.thread, error.address, error.nearest,
                )
            )  # fmt: skip
        else:
            raise error


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
        order.check(looking.collected, looking.kernel, looking.tensors, before, again)
    return looking.findings


def _programs(grid: Sequence[int]) -> int:
    count = 1
    for size in grid:
        count *= int(size)
    return count
