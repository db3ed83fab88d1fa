"""``python -m crosswarp.matrix.cell.kinds.suite.again SPEC.json LANE..``: the few items that the host names.

For so few pytest and its workers take longer to begin than the items to run. It is started again after an item that
it did not live through, and goes on behind that one.
"""

import sys
from typing import List

from crosswarp.compat.isolate import die_with_parent
from crosswarp.matrix.cell import asked
from crosswarp.matrix.cell.starting import specification, turns
from crosswarp.matrix.cell.starting.enduring import endure
from crosswarp.matrix.cell.stream import Stream

from .telling import run_and_tell


def main(arguments: List[str]) -> int:
    die_with_parent()
    endure()
    spec = asked.read(arguments[0], asked.AskedSuite)
    import torch

    torch.set_num_threads(1)
    from crosswarp.matrix.cell import forking
    from crosswarp.matrix.cell.starting.warm import warm

    from .plan import shared_plan

    warm(targets=spec.targets.values())
    forking.ready()
    stream = Stream(spec.records)
    for lane in arguments[1:]:
        for item in shared_plan(spec, lane).items[specification.done(spec, lane) :]:
            # Before: should this process die of it, the next one does not begin with it again.
            specification.one_more_done(spec, lane)
            with turns.core(specification.turns(spec), spec.cores or spec.jobs):
                run_and_tell(item, spec, stream)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
