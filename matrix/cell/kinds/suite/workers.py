"""``python -m crosswarp.matrix.cell.kinds.suite.workers SPEC.json``: run the items of all lanes.

One process imports torch. It forks a process for the lane interpret and one for the other lanes, because Triton reads
when it is imported whether it interprets. Each imports Triton and forks workers, and a worker forks a child for each
item. A worker may die of an item; another one takes its place, and runs what is left of its share.
"""

import fcntl
import itertools
import os
import sys
import time
import traceback
from array import array
from functools import partial
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from crosswarp.compat import child
from crosswarp.matrix.cell import asked, forking
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import prepared
from crosswarp.matrix.cell.starting import preloading, specification, turns, warm
from crosswarp.matrix.cell.starting.enduring import endure
from crosswarp.matrix.cell.stream import Stream

from .plan import Item, shared_plan
from .telling import run_and_tell

# Cases of a kernel that a worker takes together. Fewer would repeat its import, more leave the others idle at the end.
_CASES_AT_ONCE = 8
# Workers that may die one after the other without having begun an item.
_DEATHS_IN_VAIN = 10
_ASKS_AGAIN = 0.2

# Items with their places in the plan.
Share = List[Tuple[int, Item]]


def main(arguments: List[str]) -> int:
    child.die_with_parent()
    endure()
    spec = asked.read(arguments[0], AskedSuite)
    interpreting = [lane for lane in spec.lanes if lane == "interpret"]
    others = [lane for lane in spec.lanes if lane != "interpret"]
    # The lane compile compares nothing, and to import what few items need takes longer than the items.
    warm.without_triton(references=bool(set(spec.lanes) - {"compile"}) and spec.again is None)
    going: List[Tuple[int, List[str]]] = []
    for lanes in filter(None, (others, interpreting)):
        for pid, before in going:
            _wait_for_few(spec, pid, before)
        going.append((_forked(partial(_run, spec, lanes)), lanes))
    return max((_status(pid, lanes) for pid, lanes in going), default=0)


def _wait_for_few(spec: AskedSuite, pid: int, lanes: Sequence[str]) -> None:
    """Wait until so little is left of these lanes that others may make themselves ready."""
    # Nothing is measured beside another's imports.
    while "device" in lanes or not specification.few_left(spec, lanes[-1]):
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            return
        time.sleep(_ASKS_AGAIN)


def _status(pid: int, lanes: Sequence[str]) -> int:
    _, status = os.waitpid(pid, 0)
    if status:
        print(f"{', '.join(lanes)}: the process ended with status {status}", file=sys.stderr)
    return int(status != 0)


def _forked(work: Callable[[], int]) -> int:
    """Fork a process that does this work, and ends with this one at the latest."""
    here, library = os.getpid(), child.libc()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        child.die_with(library, here)
        endure()
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _run(spec: AskedSuite, lanes: Sequence[str]) -> int:
    """Run the lanes one after the other, without waiting for the last items of one but where a GPU is measured."""
    if "interpret" in lanes:
        os.environ["TRITON_INTERPRET"] = "1"
    warm.warm(spec.preload, targets=spec.targets.values())
    # To plan is to fork, too.
    forking.huge_pages()
    ahead, in_vain = list(lanes), 0
    queues: List[_Queue] = []
    workers: Dict[int, _Queue] = {}
    while in_vain < _DEATHS_IN_VAIN:
        queue = next((queue for queue in queues if queue.has_more()), None)
        if queue is not None and len(workers) < spec.jobs:
            workers[_forked(partial(_work, spec, queue))] = queue
        elif queue is None and ahead and not (workers and "device" in (ahead[0], queues[-1].lane)):
            queues.append(_Queue(spec, ahead.pop(0)))
        elif workers:
            pid, status = os.wait()
            of = workers.pop(pid, None)
            if of is not None and status:
                in_vain = 0 if of.give_back(pid) else in_vain + 1
        else:
            return 0
    print(f"{in_vain} workers died before they began an item", file=sys.stderr)
    return 1


def _work(spec: AskedSuite, queue: "_Queue") -> int:
    stream = Stream(spec.records)
    while (share := queue.take()) is not None:
        prepared.expect(item for _, item in share)
        for place, item in share:
            specification.begin(spec, queue.lane, place)
            try:
                with turns.core(specification.turns(spec), spec.jobs):
                    run_and_tell(item, spec, stream)
            except Exception:
                # The item stays open, and the host says so of it.
                traceback.print_exc()
    prepared.forget()
    return 0


class _Queue:
    """The shares of a lane, and in a file that the workers lock the process that has taken each."""

    def __init__(self, spec: AskedSuite, lane: str):
        self.lane = lane
        self._spec = spec
        items, preload = shared_plan(spec, lane)
        preloading.load(preload)
        forking.ready()
        self._shares: List[Share] = []
        together = itertools.groupby(
            enumerate(items), lambda item: (item[1].target, item[1].kernel)
        )
        for _, group in together:
            share = list(group)
            size = _CASES_AT_ONCE * len(spec.modes)
            self._shares += [share[at : at + size] for at in range(0, len(share), size)]
        self._path = Path(spec.records).with_suffix(f".taken-{lane}")
        self._path.write_bytes(array("q", [0] * len(self._shares)))

    def has_more(self) -> bool:
        return 0 in self._owners(self._path.read_bytes())

    def take(self) -> Optional[Share]:
        """The items of the next share that were not begun; None when all are taken."""
        with self._path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            owners = self._owners(file.read())
            if 0 not in owners:
                return None
            at = owners.index(0)
            os.pwrite(file.fileno(), array("q", [os.getpid()]), at * owners.itemsize)
        return self._left(at)

    def give_back(self, pid: int) -> bool:
        """Let others take what a process has left when it died; returns whether it had begun anything."""
        begun = False
        with self._path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            owners = self._owners(file.read())
            for at, owner in enumerate(owners):
                if owner == pid:
                    left = self._left(at)
                    begun = begun or len(left) < len(self._shares[at])
                    if left:
                        os.pwrite(file.fileno(), array("q", [0]), at * owners.itemsize)
        return begun

    def _left(self, at: int) -> Share:
        begun = specification.begun(self._spec, self.lane)
        return [item for item in self._shares[at] if item[0] not in begun]

    @staticmethod
    def _owners(data: bytes) -> "array[int]":
        owners = array("q")
        owners.frombytes(data)
        return owners


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
