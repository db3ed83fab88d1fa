"""The JSON documents of runs and of comparisons between them; documents.py has the others.

Every document has a number, `format` (in the doctor's, `schema`): it is raised when a field changes its meaning or goes
away. A new field does not raise it, and readers ignore unknown fields.
"""

from __future__ import annotations

from typing import Any, Literal

from crosswarp.matrix.results.vocabulary import Outcome
from crosswarp.reports.findings.missing import missing
from crosswarp.reports.text.document import Part, read

# report


class RunPart(Part):
    id: int
    started: str = read(about="ISO 8601, UTC; of the installed baseline, its name")
    finished: str | None
    status: str = read(about="finished, or why the run is not whole")
    exit_code: int | None
    argv: list[str]
    plan: dict[str, Any]
    cells: int


class TakenPart(Part):
    """Cells that did not run, because nothing that decides on them had changed since they last did."""

    cells: int
    of: int
    runs: dict[int, int] = read(
        about="how many are from each run; 0 is a run that another store holds"
    )


class EnvironmentPart(Part):
    column: str
    label: str = read(about="the column, and what a moving one such as main stands for")
    state: str = read(about="ready or failed")
    message: str
    versions: dict[str, Any]
    requirements: list[str]
    seconds: float
    overrides: list[str] = read(
        about="what was installed although another package forbids it", default=()
    )


class UnsupportedTarget(Part):
    column: str = read("0")
    target: str = read("1")
    message: str = read("2")


class NotePart(Part):
    column: str
    kind: str = read(about="note, or problem: the run is not what was planned")
    text: str


class Known(Part):
    cell: str = read("0.id")
    issue: str = read("1.id")


class FixedPart(Part):
    cell: str = read("bare.id", "the cell without compat")
    issue: str = read("issue.id")
    shims: list[str]


class WrongWindow(Part):
    issue: str = read("issue.id")
    text: str = read(about="which edge of its affected releases is wrong, and the measured one")
    cells: list[str] = read(lambda wrong: _ids(wrong.records))


class VerdictPart(Part):
    as_expected: bool = read("verdict.as_expected")
    known: list[Known] = read("verdict.known")
    fixed: list[FixedPart] = read("verdict.fixes")
    not_fixed: list[Known] = read(
        "verdict.not_fixed",
        "of the known, what fails with compat too: no shim fixes it",
        default=(),
    )
    unexpected_red: list[str] = read(lambda view: _ids(view.verdict.unexpected_red))
    shim_failed: list[Known] = read("verdict.shim_failed")
    unexpectedly_green: list[Known] = read(
        lambda view: [(green.record, green.issue) for green in view.verdict.unexpectedly_green]
    )
    wrong_windows: list[WrongWindow] = read(
        about="issues whose affected releases the cells contradict", default=()
    )


class Cell(Part):
    id: str = read(about="column/target/lane/mode/kernel/case/config")
    column: str
    target: str
    lane: Literal["compile", "emulate", "interpret", "device"]
    mode: Literal["bare", "shimmed"]
    kernel: str
    case: str = read(about="* stands for all cases of a kernel that never came to them")
    config: str
    outcome: Outcome
    reason: str
    fingerprint: str
    message: str
    phase: str
    seconds: float
    resources: dict[str, Any]
    shims: list[str]
    issue: str = read(about="the known issue that explained it when it ran")
    versions: dict[str, Any]


class Report(Part):
    """A run of crosswarp."""

    format: Literal[2]
    run: RunPart
    missing: list[str] = read(
        missing, "what the run was to hold and does not, a sentence each", default=()
    )
    taken_over: TakenPart | None = read("reused", default=None)
    environments: list[EnvironmentPart]
    unsupported_targets: list[UnsupportedTarget]
    notes: list[NotePart]
    verdict: VerdictPart = read(lambda view: view)
    cells: list[Cell] = read("records")


def _ids(records: Any) -> list[str]:
    return [record.id for record in records]


# diff


class _Taken(Part):
    cells: int
    of: int
    runs: dict[int, int] = read(about="how many are from each run; 0: another store's")


class _Side(Part):
    name: str
    column: str | None = read(about="null: all of them")
    columns: list[str]
    taken_over: _Taken | None = read(
        "reused", "what did not run again, because nothing had changed", default=None
    )


class _Of(Part):
    id: str = read(about="column/target/lane/mode/kernel/case/config")
    outcome: Outcome
    reason: str
    fingerprint: str


class _Pair(Part):
    before: _Of | None
    after: _Of | None
    comparison: str = read("comparison.outcome")
    also: list[str] = read(
        "comparison.also", "what is reported beside it: slower-to-compile, …", default=()
    )
    changes: list[dict[str, Any]] = read("comparison.changes")
    predicted: float | None = read(
        "comparison.predicted",
        "how many times as long it is predicted to take on its GPU, however near to 1",
        default=None,
    )


class _Group(Part):
    """One root cause."""

    comparison: str = read("outcome", "regressed, fixed, changed-failure, resource-regressed, …")
    title: str
    kernels: dict[str, int] = read(about="how many cells of each")
    issue: str | None = read("issue.id")
    links: list[str] = read("issue.links")
    shims: list[str]
    fixed_cells: int = read(about="how many of the failing cells pass with compat")
    cells: list[_Pair] = read("pairs")


class Diff(Part):
    """`crosswarp diff`"""

    format: Literal[3]
    before: _Side
    after: _Side
    worse: bool
    counts: dict[str, int]
    notes: dict[str, int] = read(about="what could not be compared, with its cells")
    groups: list[_Group]


# range


class _MeasuredRun(Part):
    id: int
    started: str
    status: str


class _Release(Part):
    triton: str = read("release.triton")
    torch: str | None = read("release.torch")
    columns: list[str] = read("release.columns")
    state: str
    red: int = read(lambda release: len(release.red))
    red_kernels: list[str] = read(lambda release: sorted({cell.kernel for cell in release.red}))
    missing: int
    unsupported: list[str] = read("lacking")


class _Range(Part):
    triton: str | None = read(
        lambda of: of.triton.specifier or None, "a version specifier; null: no release is green"
    )
    torch: str | None = read(lambda of: of.torch.specifier or None)
    floor: str | None = read("triton.floor")
    ceiling: str | None = read("triton.ceiling")
    open: bool = read(lambda of: bool(of.triton.specifier) and of.triton.above is None)
    holes: list[str] = read("triton.holes")
    unknown_inside: list[str] = read("triton.inside")
    releases: list[_Release]


class Measured(Part):
    """`crosswarp range`"""

    format: Literal[1]
    run: _MeasuredRun
    kernels: list[str]
    targets: list[str]
    lanes: list[str]
    suite: dict[str, _Range] = read("supported.suite", "by mode")
    by_kernel: dict[str, dict[str, _Range]] = read("supported.kernels", "by kernel, then mode")
    left_out: dict[str, Any] = read("supported.left_out")
    declares: dict[str, str] = read(default_factory=dict)


# issues


class _Proof(Part):
    id: str = read("issue.id")
    status: str = read("issue.status")
    triton: str = read("issue.triton")
    verdict: str
    red: list[str]
    green: list[str]
    mixed: list[str]
    otherwise: list[str]
    fixed: list[str]
    not_run: list[str]
    wrong: list[str]


class Issues(Part):
    """`crosswarp issues`"""

    format: Literal[2]
    of: str
    columns: list[str]
    issues: list[_Proof]


# bisect


class _Red(Part):
    cell: str = read("id")
    outcome: Outcome
    fingerprint: str
    issue: str


class _Asked(Part):
    run: int
    release: str
    answer: Literal["good", "bad", "cannot say"]
    why: str


class _Wanted(Part):
    format: Literal[1]
    kernel: str
    target: str | None
    lane: str | None
    mode: str | None
    case: str | None


class Searched(_Wanted):
    looked_for: Literal["first bad", "first good"]
    releases: list[str] = read(about="from the good end to the bad one")
    last_good: str
    first_bad: str
    cannot_say: list[str]
    not_tried: list[str]
    asked: list[_Asked]
    red: list[_Red]


class Judged(_Wanted):
    column: str
    answer: Literal["good", "bad", "cannot say"]
    why: str
    red: list[_Red]
