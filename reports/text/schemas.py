"""The documents of `--format json`, one JSON Schema a command, for docs/schemas/; export.py has that of a run.

Every document has a number, `format` (in the doctor's, `schema`): it is raised when a field changes its meaning or goes
away. A new field does not raise it, and readers ignore unknown fields.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from crosswarp.reports.text.check_schema import Checked
from crosswarp.reports.text.export import Outcome, plain

One = Literal[1]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


# diff


class _Taken(_Part):
    cells: int
    of: int
    runs: dict[int, int] = Field(description="how many are from each run; 0: another store's")


class _Side(_Part):
    name: str
    column: str | None = Field(description="null: all of them")
    columns: list[str]
    taken_over: _Taken | None = Field(
        default=None, description="what did not run again, because nothing had changed"
    )


class _Of(_Part):
    id: str = Field(description="column/target/lane/mode/kernel/case/config")
    outcome: Outcome
    reason: str
    fingerprint: str


class _Pair(_Part):
    before: _Of | None
    after: _Of | None
    comparison: str
    also: list[str] = Field(
        default=[], description="what is reported beside it: slower-to-compile, …"
    )
    changes: list[dict[str, Any]]
    predicted: float | None = Field(
        default=None,
        description="how many times as long it is predicted to take on its GPU, however near to 1",
    )


class _Group(_Part):
    """One root cause."""

    comparison: str = Field(description="regressed, fixed, changed-failure, resource-regressed, …")
    title: str
    kernels: dict[str, int] = Field(description="how many cells of each")
    issue: str | None
    links: list[str]
    shims: list[str]
    fixed_cells: int = Field(description="how many of the failing cells pass with compat")
    cells: list[_Pair]


class Diff(_Part):
    """`crosswarp diff`"""

    format: Literal[3]
    before: _Side
    after: _Side
    worse: bool
    counts: dict[str, int]
    notes: dict[str, int] = Field(description="what could not be compared, with its cells")
    groups: list[_Group]


# range


class _MeasuredRun(_Part):
    id: int
    started: str
    status: str


class _Release(_Part):
    triton: str
    torch: str | None
    columns: list[str]
    state: str
    red: int
    red_kernels: list[str]
    missing: int
    unsupported: list[str]


class _Range(_Part):
    triton: str | None = Field(description="a version specifier; null: no release is green")
    torch: str | None
    floor: str | None
    ceiling: str | None
    open: bool
    holes: list[str]
    unknown_inside: list[str]
    releases: list[_Release]


class Measured(_Part):
    """`crosswarp range`"""

    format: One
    run: _MeasuredRun
    kernels: list[str]
    targets: list[str]
    lanes: list[str]
    suite: dict[str, _Range] = Field(description="by mode")
    by_kernel: dict[str, dict[str, _Range]] = Field(description="by kernel, then mode")
    left_out: dict[str, Any]
    declares: dict[str, str] = {}


# issues


class _Proof(_Part):
    id: str
    status: str
    triton: str
    verdict: str
    red: list[str]
    green: list[str]
    mixed: list[str]
    otherwise: list[str]
    fixed: list[str]
    not_run: list[str]
    wrong: list[str]


class Issues(_Part):
    """`crosswarp issues`"""

    format: Literal[2]
    of: str
    columns: list[str]
    issues: list[_Proof]


# bisect


class _Red(_Part):
    cell: str
    outcome: Outcome
    fingerprint: str
    issue: str


class _Asked(_Part):
    run: int
    release: str
    answer: Literal["good", "bad", "cannot say"]
    why: str


class _Wanted(_Part):
    format: One
    kernel: str
    target: str | None
    lane: str | None
    mode: str | None
    case: str | None
    red: list[_Red]


class Searched(_Wanted):
    looked_for: Literal["first bad", "first good"]
    releases: list[str]
    last_good: str
    first_bad: str
    cannot_say: list[str]
    not_tried: list[str]
    asked: list[_Asked]


class Judged(_Wanted):
    column: str
    answer: Literal["good", "bad", "cannot say"]
    why: str


class Bisected(RootModel[Searched | Judged]):
    """`crosswarp bisect`; with --here, the verdict on one interpreter"""


# lint


class _Apart(_Part):
    folder: str
    vendor: str | None


class _Finding(_Part):
    rule: str
    path: str
    line: int
    column: int
    subject: str
    releases: list[str]
    what_happens: str
    fixed_by: dict[str, Any]
    message: str
    callers: list[str] = Field(
        default=[], description="places in other files that lead to the code, as path:line"
    )
    apart: _Apart | None = Field(
        default=None, description="the folder of another vendor's code, or of a copy, that it is in"
    )


class _Unreadable(_Part):
    path: str
    line: int
    why: str


class _Announced(_Part):
    release: str
    title: str
    effect: str
    do: str


class Linted(_Part):
    """`crosswarp lint`"""

    format: Literal[2]
    releases: list[str]
    files: int
    ignored: int
    findings: list[_Finding]
    announced: list[_Announced] = Field(
        default=[],
        description="what the newest of the releases says that the next one will do otherwise",
    )
    unreadable: list[_Unreadable]


# guards


class _Turned(_Part):
    kernel: str
    case: str
    outcome: Outcome
    words: str = Field(description="what it failed with")
    issue: str = Field(description="the known issue that it is; empty: none")


class _Place(_Part):
    column: str
    target: str
    need: Literal[
        "needed", "not needed", "wrong way", "red either way", "no launch hangs on it", "timed out", "not exercised"
    ]  # fmt: skip
    held: list[bool] = Field(description="what the guard was, wherever it was asked")
    cases: int
    red: list[_Turned] = Field(description="the cases that decide on it")


class _Guard(_Part):
    path: str
    line: int
    column: int
    test: str
    code: str = Field(description="the lines that it stands in")
    kinds: list[str] = Field(description="what it asks for: a version, the hardware")
    made_of: list[str] = Field(description="where what it asks is decided")
    holds: dict[str, bool] = Field(description="by release of Triton, where it asks for that alone")
    breaks_at_3_10: bool = Field(description="it compares versions as texts")
    verdict: str = Field(description="over all places; empty: it was not tried")
    places: list[_Place]


class Guards(_Part):
    """`crosswarp guards`"""

    format: One
    library: str
    files: int
    releases: list[str]
    lane: str
    runs: int
    guards: list[_Guard]
    unreadable: list[_Unreadable]


# why


class _Cause(_Part):
    why: str
    do: str
    code: str = Field(description="a command or lines of code; empty: none")
    evidence: str = Field(description="the part of the text that speaks for it")
    possible: bool = Field(description="false: not on the releases or the GPU that are named")
    issue: str | None = Field(description="the known issue that it is")


class _Found(_Part):
    issue: str = Field(description="id of the known issue or of the error")
    title: str
    status: str = Field(
        description="a known issue's; `error` of the index; `message` of the source"
    )
    exact: bool = Field(description="the answer is certain: no other cause says this text")
    share: float = Field(description="0 to 1: how much of the issue's text was there")
    line: str = Field(description="what spoke of it, as it was given")
    triton: str = Field(description="the releases that have it, as a specifier; empty: all")
    inside: bool | None = Field(description="whether --triton is one of them")
    fixed_in: str | None
    targets: list[str]
    links: list[str]
    shim: str | None
    paste: list[str]
    workaround: str = Field(description="what to do; of an error, for the likeliest cause")
    kind: str = Field(default="", description="known issue, source, or the error's kind")
    number: int = Field(default=0, description="of the line, from 1")
    failure: int = Field(default=0, description="of the text's failures, from 0")
    also_in: list[int] = Field(default=[], description="other failures that say the same")
    ask: str = Field(default="", description="the fact that decides between the causes")
    source: str = Field(
        default="", description="which releases' source says it, under which condition, and where"
    )
    causes: list[_Cause] = Field(default=[], description="of an error, the likeliest first")


class Explained(_Part):
    """`crosswarp why`"""

    format: One
    triton: str | None
    build: str = Field(
        default="",
        description="what follows where Triton is installed under another name; else empty",
    )
    found: list[_Found] = Field(description="the likeliest first")
    paste_for_all: list[str] = Field(
        default=[], description="the lines that apply the shims of all certain answers"
    )


# doctor


class _Shim(_Part):
    name: str
    tier: str = ""
    state: Literal["on", "off", "failed", "unknown"]
    why: str
    window: str
    inside: bool
    issue: str
    symptom: str
    link: str
    delete_when: str


class _KnownIssue(_Part):
    id: str
    title: str
    state: Literal["fixed", "not fixed", "reported"]
    shim: str | None
    lanes: list[str]
    targets: list[str]
    links: list[str]
    fixed_in: str | None
    workaround: str


class _Advice(_Part):
    level: Literal["problem", "note"]
    about: str
    text: str
    do: str


class Examined(_Part):
    """`crosswarp doctor`"""

    schema_: Annotated[Literal[2], Field(alias="schema")]
    crosswarp: str | None
    guard: str
    python: dict[str, Any]
    triton: dict[str, Any] | None
    torch: dict[str, Any] | None
    numpy: str | None
    ptxas: list[dict[str, Any]]
    devices: dict[str, Any]
    environment: dict[str, Any]
    caches: list[dict[str, Any]]
    crashes: dict[str, Any]
    shims: list[_Shim]
    installed_here: list[str]
    acted_here: list[str]
    issues: list[_KnownIssue] | None
    issues_scope: str = ""
    advice: list[_Advice]
    exit_code: int


MODELS: dict[str, type[BaseModel]] = {
    "bisect": Bisected,
    "check": Checked,
    "diff": Diff,
    "doctor": Examined,
    "guards": Guards,
    "issues": Issues,
    "lint": Linted,
    "range": Measured,
    "why": Explained,
}


def pages() -> dict[str, str]:
    """File name and text of each schema."""
    return {f"schemas/{name}.schema.json": _schema(name, model) for name, model in MODELS.items()}


def _schema(name: str, model: type[BaseModel]) -> str:
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:crosswarp:{name}:1"
    }  # fmt: skip
    return json.dumps({**head, **plain(model.model_json_schema())}, indent=1) + "\n"
