"""An answer with its causes, ordered by the evidence for each: the text, the release and the GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from crosswarp.matrix import plain_versions
from crosswarp.matrix.facts.errors import Cause, Entry, Message
from crosswarp.reports.findings.error_text import Facts
from crosswarp.reports.findings.why import Match

# Names of code that inductor writes: no author's.
WRITTEN = re.compile(
    r"\btriton_(?:poi|red|per)_|\btmp\d+ = |\bks\d+\b|\bxindex\b|\bR0_BLOCK\b|\brindex\b|_HEAD_DIM_ROUNDED\b"
)
INDUCTORS = Cause(
    "torch.compile (inductor) wrote this kernel: the mistake is one of this torch, mostly with dynamic shapes.",
    "Upgrade torch; torch.compile(dynamic=False) or mark the dimension static (torch._dynamo.mark_static); leave that "
    "part out with torch.compiler.disable, or TORCHDYNAMO_DISABLE=1.",
    "model = torch.compile(model, dynamic=False)",
)


@dataclass(frozen=True)
class Ranked:
    """A cause, with the evidence for it."""

    cause: Cause
    # How much of the evidence is there; -1 and less: it cannot be this one.
    share: float
    because: str = ""


@dataclass(frozen=True)
class Answer:
    # The line that says it, as it was given, and its number.
    line: str
    number: int
    # Index of the failure in the log, from 0; `also` has the others.
    failure: int
    certain: bool
    entry: Entry | None = None
    causes: tuple[Ranked, ...] = ()
    known: Match | None = None
    # The message of Triton's source with these words; the only answer where no entry explains it.
    message: Message | None = None
    # Nothing in the text is Triton's: another program may say the same.
    doubtful: bool = False
    # A known issue whose fingerprint matches and that nothing speaks against: its shim may be offered.
    fits: bool = False
    also: tuple[int, ...] = ()
    # Smaller is better.
    rank: tuple[object, ...] = field(default=(), compare=False)

    @property
    def id(self) -> str:
        if self.entry:
            return self.entry.id
        return self.known.issue.id if self.known else "source"


# The beginning of a cause that depends on a name in the text.
NAMED = "The text names"


def ranked(entry: Entry, text: str, facts: Facts) -> tuple[Ranked, ...]:
    """With those first for which there is evidence, and those last that the reader's release or GPU cannot have."""
    ranked = []
    # A GPU that is named beside the text is evidence as in it.
    text = f"{text}\n{facts.target}"
    for cause in entry.causes:
        share, because = 0.0, ""
        if cause.log:
            match = re.search(cause.log, text)
            # A cause whose evidence is missing ranks below one that needs no evidence. Where its sentence says that the
            # text names something, it would be false.
            missing = -1.0 if cause.why.startswith(NAMED) else -0.5
            share, because = (2.0, match[0][:80]) if match else (missing, "")
        for mine, window in ((facts.triton, cause.triton), (facts.torch, cause.torch)):
            if mine and window:
                share = _raised(share) if within(mine, window) else -5
        if facts.target and cause.targets:
            share = _raised(share) if is_one(facts.target, cause.targets) else -5
        ranked.append(Ranked(cause, share, because))
    # Sorted is stable: without evidence they stay as they are written, the likeliest first.
    return tuple(sorted(ranked, key=lambda each: -each.share))


def with_author(causes: tuple[Ranked, ...], because: str) -> tuple[Ranked, ...]:
    """Adds torch as the author of a kernel that inductor wrote: after a cause that the text names, else first."""
    place = sum(cause.share >= 2 for cause in causes)
    return (*causes[:place], Ranked(INDUCTORS, 2.0, because), *causes[place:])


def _raised(share: float) -> float:
    """A release or GPU that fits speaks for a cause, and makes up for no evidence that is missing."""
    return share + 1 if share >= 0 else max(share, -0.25)


def within(version: str, window: str) -> bool:
    release = plain_versions.numbers(version)
    if release and len(release) < 3:
        # `Triton 3.2` is any of its patches.
        return any(plain_versions.within(f"{version}.{patch}", window) for patch in (0, 9))
    if release is None:
        from crosswarp.matrix import versions

        if versions.parse(version) is None:
            return True
    return plain_versions.within(version, window)


def is_one(target: str, targets: Sequence[str]) -> bool:
    return any(fnmatchcase(target, glob) for glob in targets)
