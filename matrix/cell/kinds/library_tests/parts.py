"""The parts of a lane: a pytest for each target and mode, and how its cells are reported."""

from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Sequence

from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.asked import AskedTests
from crosswarp.matrix.cell.judging.verdict import Verdict
from crosswarp.matrix.cell.stream import Stream

# The `Part` for `plugin`, as JSON.
PART_ENV = "CROSSWARP_PART"


@dataclass(frozen=True)
class Part:
    """One pytest of a lane.

    Attributes:
        target: as cells name it: ``cpu`` in the lane interpret.
        virtual: the target that the virtual GPU claims to be.
        tests: folders of tests, from which tests are named.
        cases: globs that choose tests.
        records: the stream.
        items: file that lists the collected tests, for parts that run nothing.
        shard: the number of this shard of the tests, and how many there are; None: all.
    """

    lane: str
    target: str
    mode: str
    virtual: str
    tests: Sequence[str]
    cases: Sequence[str]
    records: str
    items: str
    shard: Optional[Sequence[int]] = None

    @property
    def name(self) -> str:
        """``sm_90/bare``: one of those that the host expects of the lane."""
        return f"{self.target}/{self.mode}"

    def item(self, kernel: str, case: str) -> str:
        return "/".join((self.target, self.lane, self.mode, kernel, case))

    def cell(self, kernel: str, case: str, verdict: Verdict, seconds: float = 0.0) -> protocol.Cell:
        return protocol.Cell(
            target=self.target,
            lane=self.lane,
            mode=self.mode,
            kernel=kernel,
            case=case,
            seconds=round(seconds, 4),
            **vars(verdict),
        )

    def tell(
        self, stream: Stream, kernel: str, case: str, verdict: Verdict, seconds: float = 0.0
    ) -> None:
        """Write start, cell and end of an item that no pytest runs."""
        stream.write(protocol.Start(self.item(kernel, case)))
        self.end(stream, kernel, case, verdict, seconds)

    def end(self, stream: Stream, kernel: str, case: str, verdict: Verdict, seconds: float) -> None:
        """The cell and the end of a test, at once: one with a cell and no end would pass for one that died."""
        stream.write(
            self.cell(kernel, case, verdict, seconds), protocol.End(self.item(kernel, case), 1)
        )


def parts(spec: AskedTests, lane: str) -> List[Part]:
    """Return the parts of a lane. The modes of a target are adjacent: the second reuses Triton's cache of the first."""
    # Beside the records, whose name is the column's: other columns of a run keep theirs in the same folder.
    beside = Path(spec.records).with_suffix("")
    first = next(iter(spec.targets))
    virtual = {"cpu": first} if lane == "interpret" else {name: name for name in spec.targets}
    tests = spec.tests
    return [
        Part(
            lane,
            target,
            mode,
            claimed,
            tests.folders,
            tests.cases,
            spec.records,
            f"{beside}.{lane}-{target}-{mode}.json",
            spec.shard,
        )
        for target, claimed in virtual.items()
        for mode in spec.modes
    ]
