"""Do the common work of a kernel's cases once: the mode's shims, the target, the import of the kernel.

A child does that and waits; each case of that kernel, target, lane and mode then runs in a fork of it. So a case still
has a separate process, untouched by other cases, and takes 8 to 15 ms less. The child that prepares may die or hang,
the kernel may fail to import, or its import may start a thread, which a fork does not copy. Then the cases run without
it and report their failures themselves.
"""

import contextlib
import functools
import os
import pickle
import time
from collections import Counter
from dataclasses import replace
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Tuple

from crosswarp.compat.isolate import Child, Outcome, fork, run_isolated
from crosswarp.compat.worker import next_work, write_work
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.cell.starting.preloading import threads

from .plan import Item

# With fewer cases the additional fork costs more than it saves.
WORTH_CASES = 3
# A driver of a GPU does not survive a fork.
_LANES = ("compile", "emulate", "interpret")
# Seconds beyond a case's limit in which the preparing child has to notice the timeout.
_GRACE = 30.0

# prepare(item, spec) -> what run_case(what, item, spec, send) is given, in a fork of the process that prepared.
Prepare = Callable[[Item, Asked], Any]
RunCase = Callable[[Any, Item, Asked, Callable[[Any], None]], Any]

_expected: "Counter[Tuple[str, ...]]" = Counter()
# Target, lane and kernel of the current cases; by mode, because the modes of a case are adjacent, the waiting children.
_group: Tuple[str, ...] = ()
_waiting: Dict[str, Optional["_Prepared"]] = {}


def expect(items: Iterable[Item]) -> None:
    """Note the items that are to be run here, for which preparing may be worthwhile."""
    _expected.clear()
    _expected.update((*_group_of(item), item.mode) for item in items)


def _group_of(item: Item) -> Tuple[str, ...]:
    return item.target, item.lane, item.kernel


def run(
    item: Item,
    spec: Asked,
    prepare: Prepare,
    run_case: RunCase,
    limits: Dict[str, Any],
    on_message: Callable[[Any], None],
) -> Optional[Outcome]:
    """Run a case in a fork of the child that has prepared for it.

    Args:
        limits: the fields of the specification that are only this case's, among them its time limit.

    Returns:
        Its outcome as of `run_isolated`; None if there is no such child, or it came to grief. `on_message` may have
        been called by then.
    """
    global _group
    group = _group_of(item)
    if item.lane not in _LANES or _expected[(*group, item.mode)] < WORTH_CASES:
        return None
    if group != _group:
        forget()
        _group = group
    if item.mode not in _waiting:
        _waiting[item.mode] = _Prepared.made(item, spec, prepare, run_case)
    prepared = _waiting[item.mode]
    if prepared is None:
        return None
    outcome = None
    try:
        outcome = prepared.run(item, limits, on_message)
    finally:
        if outcome is None:
            prepared.end()
            _waiting[item.mode] = None
    return outcome


def forget() -> None:
    """End those that wait for cases."""
    for prepared in _waiting.values():
        if prepared is not None:
            prepared.end()
    _waiting.clear()


class _Prepared:
    """The child, seen from the worker.

    Attributes:
        printed: what the preparation printed, as a case that prepares for itself would have.
    """

    printed = ""

    def __init__(self, item: Item, spec: Asked, prepare: Prepare, run_case: RunCase):
        read, self._write = os.pipe()
        write = self._write

        def serve(send: Callable[[Any], None]) -> Iterator[Any]:
            os.close(write)
            before = threads()
            what = prepare(item, spec)
            yield threads() == before
            while (work := next_work(read)) is not None:
                case, limits = pickle.loads(work)
                outcome = run_isolated(
                    functools.partial(run_case, what, case, replace(spec, **limits)),
                    time_limit=limits["time_limit"],
                    memory_limit_mb=spec.memory_limit_mb,
                    on_message=send,
                    # The limit is for one configuration, and not for the whole tuning.
                    anew=True,
                )
                yield outcome.as_data()

        try:
            self._child: Child = fork(serve)
        except BaseException:
            os.close(write)
            raise
        finally:
            os.close(read)

    @classmethod
    def made(
        cls, item: Item, spec: Asked, prepare: Prepare, run_case: RunCase
    ) -> Optional["_Prepared"]:
        try:
            prepared = cls(item, spec, prepare, run_case)
        except OSError:
            return None
        try:
            ready = prepared._next(spec.time_limit, None, spec.memory_limit_mb)
        except BaseException:
            prepared.end()
            raise
        if ready.kind == "returned" and ready.value is True:
            prepared.printed = ready.output
            return prepared
        prepared.end()
        return None

    def _next(
        self,
        limit: float,
        on_message: Optional[Callable[[Any], None]],
        memory_limit_mb: Optional[int] = None,
    ) -> Outcome:
        return self._child.watch(
            time.monotonic(), limit, memory_limit_mb, on_message, until_result=True, anew=True
        )

    def run(
        self, item: Item, limits: Dict[str, Any], on_message: Callable[[Any], None]
    ) -> Optional[Outcome]:
        try:
            write_work(self._write, pickle.dumps((item, limits)))
        except OSError:
            return None
        answer = self._next(limits["time_limit"] + _GRACE, on_message)
        outcome = Outcome.of_data(answer.value) if answer.kind == "returned" else None
        if outcome is None:
            return None
        outcome.output = self.printed + outcome.output
        return outcome

    def end(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._write)
        self._child.end()
