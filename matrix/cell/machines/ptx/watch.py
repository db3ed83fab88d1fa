"""Base of observers of a running program: the calls that the emulator makes, all of them doing nothing."""

from typing import Any, Sequence


class Watch:
    """Base of the watches for `run(watch=…)`.

    `mask` and `condition` say which lanes: None for all, else an array that broadcasts to (CTAs, threads). `at` is the
    index of an instruction of `machine.program.kernel`. `index` are places in `machine.shared.data[size]`.

    Attributes:
        each_copy: whether `access` is called for each bulk copy of several CTAs, with its own lane; else once for all.
    """

    each_copy = False

    def executing(self, machine, block, mask) -> None:
        """Before a basic block runs, in the lanes of `mask`."""

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        """Before an access: `what` is "load", "store", "atomic", "ldmatrix", "stmatrix", "mbarrier", "mbarrier init",
        "tensor map", "cp.async", "cp.async load", "bulk load", "bulk copy", "bulk store" or "wgmma".

        `lane` is the (CTA, thread) in charge where `address` is not by lane. The address of a "wgmma" is by CTA,
        warpgroup, row and column.
        """

    def written(self, machine, at, space, address, condition, values, nbytes) -> None:
        """After a store by lane: `values` are of `nbytes` bytes each, behind each other at the address."""

    def arrived(self, machine, at, name, mask) -> None:
        """Threads have come to the barrier `name`, and wait there or go on."""

    def released(self, machine, name, mask) -> None:
        """Threads that waited at the barrier `name` go on."""

    def copying(self, machine, at, lanes, index, size, barrier=None) -> None:
        """Copies into shared memory begin, one for each (CTA, thread) of `lanes`.

        `index` is (copies,) or (copies, elements); `barrier` holds the index of the mbarrier object that each completes
        on; None for cp.async.
        """

    def landed(self, machine, lanes, index, size, done) -> None:
        """Copies into shared memory have arrived: those of `done`, None for all; `lanes` is None for bulk copies."""

    def reading(self, machine, at, lanes, index, size) -> None:
        """A bulk copy out of shared memory begins; writes there must come after the thread has waited for it."""

    def group(self, machine, unit, mask) -> None:
        """Threads commit what they began: `unit` is "bulk" or "wgmma"."""

    def waited_group(self, machine, unit, newest, mask) -> None:
        """Threads have waited for all but the `newest` last groups."""

    def multiplying(self, machine, at, lanes, index, size) -> None:
        """A tcgen05.mma or tcgen05.cp begins to read shared memory: `index` is (copies, …) for each (CTA, thread) of
        `lanes`. Writes there must come after a wait for a commit of the thread."""

    def committed(self, machine, at, objects, lanes) -> None:
        """A tcgen05.commit: the mbarriers `objects` are signalled when all earlier operations of `lanes` are done."""

    def signals(self, machine, at, objects, active) -> None:
        """The threads of `active` arrive at the mbarriers `objects`, one each."""

    def finished(self, machine) -> None:
        """All threads of a chunk have ended."""

    def early(self, machine, at, register, mask) -> None:
        """AMD's code alone: an instruction names a register whose load is under way, in the waves of `mask`."""

    def waited(self, machine, at, objects, active, done) -> None:
        """The threads of `active` ask the mbarriers `objects`; the phase is over for those of `done`."""


_CALLS = [name for name, value in vars(Watch).items() if callable(value)]


def several(watches: Sequence[Any]) -> Any:
    """One watch that passes every call on to each of `watches`."""
    watches = [watch for watch in watches if watch is not None]
    if len(watches) == 1:
        return watches[0]
    together = Watch()
    together.each_copy = any(watch.each_copy for watch in watches)
    pass_on(together, watches)
    return together


def pass_on(watch: Watch, others: Sequence[Watch]) -> None:
    """Have `watch` pass each call on to those of `others` that hear it: most calls are only of interest to one."""
    for name in _CALLS:
        heard = [
            getattr(other, name)
            for other in others
            if name in vars(other) or getattr(type(other), name) is not getattr(Watch, name)
        ]
        if heard:
            setattr(watch, name, heard[0] if len(heard) == 1 else _all(heard))


def _all(functions: Sequence[Any]) -> Any:
    def call(*args: Any, **options: Any) -> None:
        for function in functions:
            function(*args, **options)

    return call
