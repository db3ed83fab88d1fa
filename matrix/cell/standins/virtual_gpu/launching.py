"""The stand-in for the compiled launcher: it checks the launch against the target, notes it, and runs nothing.

With `run_with`, an executor runs the compiled code, as in the lane emulate.
"""

import contextlib
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from crosswarp.compat import guard

from . import reading, stages
from .binary import Binary
from .limits import Target


@dataclass
class Launch:
    """One launch as the driver would have got it.

    Attributes:
        code: bytes of machine code.
        binary: bytes of the cubin or hsaco; None where compilation stops at assembly (AMD before Triton 3.5).
        instructions: counts by class, see `instructions`.
        compile_seconds: how long the compiler took; None if the kernel, or the code of its TTGIR, was in a cache.
        processor_seconds: the same, as CPU time.
        stage_seconds: of them, the time of each of Triton's stages; None as above, or if not noted.
        pace_ms: CPU milliseconds of work that is always alike, at that time.
    """

    kernel: str
    num_warps: int
    num_stages: Optional[int]
    num_ctas: int
    shared: int
    registers: Optional[int]
    stack: Optional[int]
    spills: Optional[int]
    grid: Tuple[int, int, int]
    code: Optional[int]
    binary: Optional[int]
    instructions: Dict[str, int]
    compile_seconds: Optional[float]
    processor_seconds: Optional[float]
    stage_seconds: Optional[Dict[str, float]] = None
    pace_ms: Optional[float] = None


# In the metadata of a kernel whose later stages were reused from another's: it has no compile time.
TAKEN = "crosswarp_taken"

launches: List[Launch] = []
# Every launch that was asked for, those with an empty grid as well.
asked = 0


def noted() -> List[Dict[str, Any]]:
    """`launches` without repetitions, in order of their first time, as plain data."""
    unique: Dict[Any, Launch] = {}
    for launch in launches:
        values = dict(vars(launch), grid=tuple(launch.grid))
        values["instructions"] = frozenset(launch.instructions.items())
        # Compiled once and found in the cache later: the same launch.
        for name in ("compile_seconds", "processor_seconds", "stage_seconds", "pace_ms"):
            del values[name]
        unique.setdefault(tuple(values.values()), launch)
    return [dict(asdict(launch), grid=list(launch.grid)) for launch in unique.values()]


@dataclass
class Function:
    """The kernel's handle, returned by `load_binary`.

    Attributes:
        text: the last form of the kernel that can be read.
        form: its language, "ptx" or "amdgcn"; empty where there is none.
        image: the cubin or hsaco that Triton loaded.
    """

    name: str
    binary: Binary
    instructions: Dict[str, int]
    compile_seconds: Optional[float]
    processor_seconds: Optional[float]
    text: str = ""
    form: str = ""
    stage_seconds: Optional[Dict[str, float]] = None
    pace_ms: Optional[float] = None
    image: bytes = b""


# The kernel whose binary Triton is loading: `load_binary` itself gets no other form of it.
_loading: List[Any] = []


@contextlib.contextmanager
def loading(kernel: Any) -> Iterator[None]:
    _loading.append(kernel)
    try:
        yield
    finally:
        _loading.pop()


def _load(name: str, data: bytes) -> Function:
    kernel = _loading[-1] if _loading else None
    forms = getattr(kernel, "asm", {})
    binary, counts = reading.read(data, forms)
    seconds, processor = guard.compile_seconds(kernel), guard.processor_seconds(kernel)
    metadata = getattr(kernel, "metadata", None)
    if TAKEN in metadata if isinstance(metadata, dict) else hasattr(metadata, TAKEN):
        seconds = processor = None
    return Function(
        name,
        binary,
        counts,
        None if seconds is None else round(seconds, 3),
        None if processor is None else round(processor, 3),
        *_text(forms),
        stage_seconds=None if processor is None else stages.seconds_of(metadata) or None,
        pace_ms=None if processor is None else stages.pace_of(metadata),
        image=data,
    )


def _text(forms: Mapping[str, Any]) -> Tuple[str, str]:
    """The last readable form of a kernel, and its language."""
    for form in ("ptx", "amdgcn"):
        text = forms.get(form)
        if text:
            return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text), form
    return "", ""


@dataclass
class Handed:
    """A launch that passed the limits, with all that it takes to execute it.

    Attributes:
        function: the compiled function.
        source: Triton's own source object of the kernel: its function, signature and constants; None where unknown.
        metadata: of the compiled kernel.
        grid: blocks in x, y, z, as the caller asked (clusters of several blocks are not multiplied in).
        arguments: as Triton hands them to its launcher: which of the kernel's, differs by version.
    """

    function: Function
    source: Any
    metadata: Mapping[str, Any]
    grid: Tuple[int, int, int]
    arguments: Sequence[Any]


_executors: List[Callable[[Handed], None]] = []


def run_with(executor: Optional[Callable[[Handed], None]]) -> None:
    """Call `executor` for every launch from here on, in place of running nothing; None for nothing again."""
    _executors[:] = [] if executor is None else [executor]


class Utils:
    """The driver's `utils`: properties of the device, and loading of binaries."""

    def __init__(self, target: Target, returns_max_threads: bool):
        self._target = target
        self._returns_max_threads = returns_max_threads

    def get_device_properties(self, device: int) -> Dict[str, int]:
        return {
            "max_shared_mem": self._target.shared_memory_optin,
            "max_num_regs": self._target.registers_per_block,
            "multiprocessor_count": self._target.multiprocessors,
            "warpSize": self._target.warp_size,
            # Only `triton.testing` asks for clocks, to turn time into bandwidth; nothing is timed here.
            "sm_clock_rate": 1,
            "mem_clock_rate": 1,
            "mem_bus_width": 1,
        }

    def load_binary(self, name: str, data: Any, shared: int, device: int) -> tuple:
        function = _load(name, data if isinstance(data, bytes) else str(data).encode())
        binary = function.binary
        loaded = (object(), function, binary.registers or 0, binary.spills or 0)
        return (
            loaded + (self._target.max_threads_per_block,) if self._returns_max_threads else loaded
        )

    def unload_module(self, module: Any) -> None:
        pass

    def set_printf_fifo_size(self, size: int) -> None:
        pass


def launch(target: Target, handed: Handed) -> None:
    """The whole of a virtual launch. An empty grid launches nothing, as in Triton's own launcher."""
    check_and_note(target, handed.function, handed.metadata, handed.grid)
    if min(handed.grid) > 0:
        for execute in _executors:
            execute(handed)


def check_and_note(
    target: Target, function: Function, metadata: Mapping[str, Any], grid: Tuple[int, int, int]
) -> None:
    """Check a launch against the limits, and note it."""
    global asked
    asked += 1
    if min(grid) <= 0:
        return
    num_warps, shared = metadata["num_warps"], metadata["shared"]
    launches.append(
        Launch(
            kernel=metadata.get("name", function.name),
            num_warps=num_warps,
            num_stages=metadata.get("num_stages"),
            num_ctas=metadata.get("num_ctas", 1),
            shared=shared,
            registers=function.binary.registers,
            stack=function.binary.stack,
            spills=function.binary.spills,
            grid=grid,
            code=function.binary.code,
            binary=function.binary.size,
            instructions=function.instructions,
            compile_seconds=function.compile_seconds,
            processor_seconds=function.processor_seconds,
            stage_seconds=function.stage_seconds,
            pace_ms=function.pace_ms,
        )
    )
    target.check(num_warps, shared, function.binary.registers or 0, grid)


class Launcher:
    """Triton 3.0 and later: made once a compiled kernel, called once a launch."""

    target: Target

    def __init__(self, src: Any, metadata: Any):
        # Later versions ask the launcher, not the metadata, whether these are needed.
        self.launch_cooperative_grid = getattr(metadata, "launch_cooperative_grid", False)
        self.launch_pdl = getattr(metadata, "launch_pdl", False)
        self._metadata = metadata._asdict() if hasattr(metadata, "_asdict") else dict(metadata)
        self._source = src

    def __call__(
        self,
        grid_x,
        grid_y,
        grid_z,
        stream,
        function,
        packed_metadata,
        launch_metadata,
        enter,
        leave,
        *args,
    ):
        self._count(args)
        self._allocate(grid_x * grid_y * grid_z, stream)
        if enter is not None:
            enter(launch_metadata)
        grid = (grid_x, grid_y, grid_z)
        launch(self.target, Handed(function, self._source, self._metadata, grid, args))
        if leave is not None:
            leave(launch_metadata)

    def _count(self, args: Tuple[Any, ...]) -> None:
        """Refuse too few arguments, as who calls a compiled kernel himself may hand over.

        Triton's launcher refuses them up to 3.6 (`function takes exactly 25 arguments (21 given)`); later ones read on
        beyond the last.
        """
        signature = getattr(self._source, "signature", None)
        if signature is not None and len(args) < len(signature):
            msg = (
                f"a compiled kernel with {len(signature)} arguments was launched with {len(args)}: Triton's "
                "launcher refuses that, or reads beyond them. Hand over one for each of its signature, a "
                "constexpr too where that has it."
            )
            raise TypeError(msg)

    def _allocate(self, programs: int, stream: Any) -> None:
        """Ask Triton's allocator for scratch memory, as its launcher for NVIDIA does."""
        size = self._metadata.get("global_scratch_size") or 0
        if not size or not programs:
            return
        from triton.runtime import _allocation

        allocator = _allocation._allocator
        # Breakpoint: the allocator belongs to a context in Triton 3.6.0, not in 3.4.0.
        allocate = allocator.get() if hasattr(allocator, "get") else allocator
        size *= programs * self._metadata.get("num_ctas", 1)
        allocate(size, self._metadata["global_scratch_align"], stream)


def launch_before_3_0(
    grid_x, grid_y, grid_z, num_warps, num_ctas, cluster_x, cluster_y, cluster_z, shared, stream, function,
    enter, leave, compiled, *args
):  # fmt: skip
    """Triton 2.3.1: the `launch` of the module that its backend's launcher stub names."""
    if enter is not None:
        enter(compiled)
    source, grid = getattr(compiled, "src", None), (grid_x, grid_y, grid_z)
    launch(active_target(), Handed(function, source, compiled.metadata, grid, args))
    if leave is not None:
        leave(compiled)


_active: List[Target] = []


def set_active_target(target: Target) -> None:
    """The target that `launch_before_3_0` checks against: a stub file has no object to keep it in."""
    _active[:] = [target]


def active_target() -> Target:
    return _active[0]
