"""Run an item, and write its results into the stream as they come."""

from typing import List

from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.cell.judging.verdict import Verdict, of_harness
from crosswarp.matrix.cell.protocol import Cell, End, Event, Start
from crosswarp.matrix.cell.starting.enduring import end_strays
from crosswarp.matrix.cell.stream import Stream

from . import item as runner
from . import plan


def run_and_tell(item: plan.Item, spec: Asked, stream: Stream) -> Verdict:
    """Write the item's start, cells and end, always with the cell of the whole, and return its verdict."""
    cells = 0
    # The cell of the whole, written with the item's end: with a cell and no end it would pass for one that died.
    last: List[Event] = []

    def emit(config: str, verdict: Verdict, seconds: float) -> None:
        nonlocal cells
        cell = Cell(
            target=item.target,
            lane=item.lane,
            mode=item.mode,
            kernel=item.kernel,
            case=item.case,
            config=config,
            seconds=round(seconds, 4),
            **vars(verdict),
        )
        if config:
            stream.write(cell)
            cells += 1
        else:
            last[:] = [cell]

    # Before anything else: if this process dies, the host knows its victim.
    stream.write(Start(item.id))
    try:
        verdict = runner.run(item, spec, emit)
    except Exception as error:
        # A bug here. An unreported item would count as not planned; if this fails too, the item stays open.
        verdict = of_harness(error)
        emit("", verdict, 0.0)
    end_strays()
    stream.write(*last, End(item.id, cells + len(last)))
    return verdict
