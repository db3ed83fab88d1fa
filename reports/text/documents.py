"""The JSON documents of commands that show no run: lint, guards, why, check and doctor."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from crosswarp.matrix.results.cause import words
from crosswarp.matrix.results.vocabulary import Outcome
from crosswarp.reports.text import escape, why_text
from crosswarp.reports.text.document import Part, read

# lint


class _Apart(Part):
    folder: str
    vendor: str | None


class _Finding(Part):
    rule: str
    path: str
    line: int
    column: int
    subject: str
    releases: list[str]
    what_happens: str = read("where.value")
    fixed_by: dict[str, Any]
    message: str
    callers: list[str] = read(
        about="places in other files that lead to the code, as path:line", default=()
    )
    apart: _Apart | None = read(
        about="the folder of another vendor's code, or of a copy, that it is in", default=None
    )


class _Unreadable(Part):
    path: str
    line: int
    why: str


class _Announced(Part):
    release: str
    title: str
    effect: str
    do: str


class Linted(Part):
    """`crosswarp lint`"""

    format: Literal[2]
    releases: list[str]
    files: int
    ignored: int
    findings: list[_Finding]
    announced: list[_Announced] = read(
        about="what the newest of the releases says that the next one will do otherwise",
        default=(),
    )
    unreadable: list[_Unreadable]


# guards


class _Turned(Part):
    kernel: str
    case: str
    outcome: Outcome
    words: str = read(words, "what it failed with")
    issue: str = read(about="the known issue that it is; empty: none")


class _Place(Part):
    column: str
    target: str
    need: Literal[
        "needed", "not needed", "wrong way", "red either way", "no launch hangs on it", "timed out", "not exercised"
    ] = read("need.value")  # fmt: skip
    held: list[bool] = read(about="what the guard was, wherever it was asked")
    cases: int
    red: list[_Turned] = read(about="the cases that decide on it")


class _Guard(Part):
    path: str = read("guard.path")
    line: int = read("guard.span.0")
    column: int = read(lambda answer: answer.guard.span[1] + 1)
    test: str = read("guard.text")
    code: str = read("guard.code", "the lines that it stands in")
    kinds: list[str] = read("guard.kinds", "what it asks for: a version, the hardware")
    made_of: list[str] = read("guard.made_of", "where what it asks is decided")
    holds: dict[str, bool] = read(
        "guard.holds", "by release of Triton, where it asks for that alone"
    )
    breaks_at_3_10: bool = read("guard.letters", "it compares versions as texts")
    verdict: str = read(
        lambda answer: answer.verdict if answer.places else "",
        "over all places; empty: it was not tried",
    )
    places: list[_Place]


class Guards(Part):
    """`crosswarp guards`"""

    format: Literal[1]
    library: str
    files: int
    releases: list[str]
    lane: str
    runs: int = read("ran")
    guards: list[_Guard] = read("answers")
    unreadable: list[_Unreadable]


# why


class _Cause(Part):
    why: str = read("cause.why")
    do: str = read("cause.do")
    code: str = read("cause.code", "a command or lines of code; empty: none")
    evidence: str = read(
        lambda ranked: escape.line(ranked.because, why_text.LINE),
        "the part of the text that speaks for it",
    )
    possible: bool = read(
        lambda ranked: ranked.share > -1, "false: not on the releases or the GPU that are named"
    )
    issue: str | None = read("cause.issue", "the known issue that it is")


class _Found(Part):
    issue: str = read("id", "id of the known issue or of the error")
    title: str = read(why_text.title)
    status: str = read(
        lambda answer: answer.known.issue.status if answer.known else "error" if answer.entry else "message",
        "a known issue's; `error` of the index; `message` of the source",
    )  # fmt: skip
    exact: bool = read("certain", "the answer is certain: no other cause says this text")
    share: float = read(
        lambda answer: answer.known.share if answer.known else 1.0,
        "0 to 1: how much of the issue's text was there",
    )
    line: str = read(
        lambda answer: escape.line(answer.line, 4 * why_text.LINE),
        "what spoke of it, as it was given",
    )
    triton: str = read(
        "known.issue.triton", "the releases that have it, as a specifier; empty: all"
    )
    inside: bool | None = read("known.inside", "whether --triton is one of them")
    fixed_in: str | None = read("known.issue.fixed_in")
    targets: list[str] = read(lambda answer: answer.known.issue.targets if answer.known else ["*"])
    links: list[str] = read(
        lambda answer: answer.known.issue.links if answer.known else answer.entry and answer.entry.links
    )  # fmt: skip
    shim: str | None = read("known.issue.shim")
    paste: list[str] = read(
        lambda answer: answer.known and answer.fits and why_text.paste(answer.known.shim)
    )
    workaround: str = read(
        lambda answer: answer.known.issue.workaround if answer.known else answer.causes and answer.causes[0].cause.do,
        "what to do; of an error, for the likeliest cause",
    )  # fmt: skip
    kind: str = read(
        lambda answer: "known issue" if answer.known else answer.entry.kind if answer.entry else "source",
        "known issue, source, or the error's kind",
        default="",
    )  # fmt: skip
    number: int = read(about="of the line, from 1", default=0)
    failure: int = read(about="of the text's failures, from 0", default=0)
    also_in: list[int] = read("also", "other failures that say the same", default=())
    ask: str = read("entry.ask", "the fact that decides between the causes", default="")
    source: str = read(
        lambda answer: answer.message and why_text.of_source(answer.message),
        "which releases' source says it, under which condition, and where",
        default="",
    )
    causes: list[_Cause] = read(about="of an error, the likeliest first", default=())


class Explained(Part):
    """`crosswarp why`"""

    format: Literal[1]
    triton: str | None
    build: str = read(
        about="what follows where Triton is installed under another name; else empty", default=""
    )
    found: list[_Found] = read(about="the likeliest first")
    paste_for_all: list[str] = read(
        about="the lines that apply the shims of all certain answers", default=()
    )


# check


class _Argument(Part):
    name: str
    type: str = read(about="*fp16, i32, fp32, i1, none, constexpr, descriptor, …")
    hint: str = read(
        about="16: a multiple of 16; any: neither that nor 1; 1; empty: its value is known"
    )
    value: Any = read(
        about="of a number that is known; of a constexpr, {value}, {dtype}, {name} or {made} by a call"
    )
    origin: str = read(about="where it was read")
    assumed: bool = read(
        about="the file does not say it: its dtype, or its type or value as a whole"
    )
    others: list[str] = read(about="what else the file says of it, which is not compiled")


class _Signature(Part):
    id: str = read(about="line-N: of the launch there; given; declared: by the kernel alone")
    lines: list[int]
    arguments: list[_Argument]
    options: dict[str, Any] = read(about="of the launch")
    origins: dict[str, str] = read(about="of the options")
    by_decorators: list[str] = read("left", "parameters that autotune or heuristics give")
    notes: list[str]


class _Kernel(Part):
    name: str = read("kernel")
    line: int
    not_checked: str = read("why", "why not, and what to do; empty: it was")
    part_of: list[str] = read(about="kernels that call it, where nobody launches it")
    device: bool = read(
        about="it returns a value or takes blocks, and no kernel calls it: nothing is compiled"
    )
    left_out: list[str] = read("lacking", "launches of which too little is known")
    signatures: list[_Signature]


class _Column(Part):
    id: str
    label: str
    versions: dict[str, str]


class _Cell(Part):
    column: str
    target: str
    mode: Literal["bare", "shimmed"]
    kernel: str
    case: str = read(about="id of the signature")
    config: str = read(about="one configuration of an autotuned kernel; empty: the case as a whole")
    outcome: Outcome
    reason: str
    fingerprint: str
    message: str
    phase: str
    seconds: float
    issue: str = read(about="the known issue that it is; empty: none")
    shims: list[str] = read(about="those that acted")
    shim: str = read(about="that of the issue; empty: none")


class Checked(Part):
    """`crosswarp check`"""

    format: Literal[1]
    file: str = read("path")
    targets: list[str]
    modes: list[str]
    kernels: list[_Kernel] = read("chosen")
    columns: list[_Column]
    cells: list[_Cell]
    notes: list[str]
    outcomes: dict[str, int] = read(
        lambda checked: Counter(item.outcome for item in checked.items),
        "how many cases as a whole, by mode each",
    )
    seconds: float = read(lambda checked: round(checked.seconds, 3))
    missing_packages: list[str] = read(
        "absent", "modules that the file imports and no environment has"
    )
    ending: str = read(about="the result in a sentence, with the reason of the exit code")
    exit_code: int


# doctor


class _Shim(Part):
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


class _KnownIssue(Part):
    id: str
    title: str
    state: Literal["fixed", "not fixed", "reported"]
    shim: str | None
    lanes: list[str]
    targets: list[str]
    links: list[str]
    fixed_in: str | None
    workaround: str


class _Advice(Part):
    level: Literal["problem", "note"]
    about: str
    text: str
    do: str


class Examined(Part):
    """`crosswarp doctor`"""

    schema: Literal[2]
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
