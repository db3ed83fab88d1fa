"""The known causes: shapes that are left out by name, and known issues that explain a cell."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import verdict
from crosswarp.matrix.results.record import Record

from .judging import CRASH, NUMBERS, REFUSAL, RESOURCES, SLOW, Suspect

# Tag of the generator, the kind in which programs with it fail, and the known issue, whose case is another kernel.
# Where a program's columns include an affected release, a shape that the generator asks for (Builder.allowed) is not
# made, except in one program in UNRESTRICTED.
SHAPES = (
    ("alias-start", NUMBERS, "triton-7200"),
    ("loop-row-sum", NUMBERS, "triton-11836"),
    ("loop-row-sum", CRASH, "triton-11682"),
    ("loop-row-sum", REFUSAL, "triton-11682"),
    ("flip-outer", REFUSAL, "triton-6853"),
    ("dot-of-cast", CRASH, "triton-3435"),
    ("cast-float16", CRASH, "triton-3435"),
    ("expand", CRASH, "triton-4078"),
    ("trans", REFUSAL, "triton-2959"),
    ("dot-3d", CRASH, "triton-6157"),
    ("dot-3d", REFUSAL, "triton-5620"),
    ("dot-3d", CRASH, "triton-4796"),
    ("scan-short", NUMBERS, "triton-5840"),
    ("dot-int8-acc", REFUSAL, "triton-10341"),
    ("dot-trans-cast", NUMBERS, "transposed-product"),
    ("dot-trans-cast", CRASH, "transposed-product-crash"),
    ("dot-int8-made", NUMBERS, "triton-3580"),
    ("dot-made-cast", NUMBERS, "triton-3580-converted"),
    ("dot-float8e5", NUMBERS, "triton-3580-converted"),
    ("dot-trans", NUMBERS, "selected-operand"),
    ("sort-float", NUMBERS, "triton-5999"),
    ("loop-mask", NUMBERS, "ragged-mask"),
    ("atomic-result", NUMBERS, "triton-7402"),
    ("fetched-inside", NUMBERS, "overwritten-operand"),
    ("argmax-reshaped", NUMBERS, "flattened-argmax"),
    ("histogram-reduced", NUMBERS, "triton-6987"),
    ("max-bfloat16", CRASH, "triton-2677"),
    ("max-bfloat16", CRASH, "combined-bf16"),
    ("max-bfloat16", REFUSAL, "triton-3220"),
    ("trans", CRASH, "constant-transposed"),
    ("dot-trans", CRASH, "constant-transposed"),
    ("dot-trans", CRASH, "selected-operand-refused"),
    ("dot-trans", REFUSAL, "selected-operand-refused"),
    ("num-ctas", CRASH, "triton-11808"),
    ("num-ctas", REFUSAL, "triton-11808"),
    ("num-ctas", CRASH, "triton-9663"),
    ("num-ctas", REFUSAL, "triton-9663"),
    ("num-ctas", NUMBERS, "cluster-product"),
    ("num-ctas", NUMBERS, "cluster-product-chance"),
    ("num-ctas", NUMBERS, "cluster-operand-kept"),
    ("num-ctas", NUMBERS, "cluster-fetched-own"),
    ("num-ctas", NUMBERS, "cluster-narrow"),
    ("num-ctas", CRASH, "cluster-narrow-refused"),
    ("num-ctas", REFUSAL, "cluster-narrow-refused"),
    ("num-ctas", CRASH, "cluster-join"),
    ("num-ctas", REFUSAL, "cluster-join"),
    ("num-ctas", CRASH, "cluster-trans-crash"),
    ("num-ctas", CRASH, "cluster-trans"),
    ("num-ctas", REFUSAL, "cluster-trans"),
    ("num-ctas", CRASH, "cluster-product-refused"),
    ("num-ctas", REFUSAL, "cluster-product-refused"),
    ("num-ctas", CRASH, "cluster-product-stored"),
    ("num-ctas", REFUSAL, "cluster-product-stored"),
    ("num-ctas", CRASH, "cluster-product-crash"),
    ("num-ctas", CRASH, "cluster-product-turned"),
    ("num-ctas", REFUSAL, "cluster-product-turned"),
    ("num-ctas", CRASH, "cluster-turned-stored"),
    ("num-ctas", REFUSAL, "cluster-turned-stored"),
    ("num-ctas", CRASH, "cluster-square"),
    ("num-ctas", REFUSAL, "cluster-square"),
    ("cluster-gather", NUMBERS, "cluster-gather"),
    ("cluster-gather", CRASH, "cluster-gather-refused"),
    ("cluster-gather", REFUSAL, "cluster-gather-refused"),
    ("loop-flatten", REFUSAL, "triton-11620"),
    ("loop-flatten", REFUSAL, "triton-11612"),
    ("loop-flatten", CRASH, "triton-11612"),
    ("reduce-added", CRASH, "triton-3975"),
    ("dot-float32", CRASH, "triton-2853"),
    ("scan-outer", NUMBERS, "triton-3017"),
    ("compare-int8", NUMBERS, "compared-int8"),
)
UNRESTRICTED = 8


def avoided(issues: Iterable[Issue], releases: Collection[str], number: int) -> frozenset[str]:
    """Tags that program `number` is made without, if it is for these releases of Triton."""
    if number % UNRESTRICTED == UNRESTRICTED - 1:
        return frozenset()
    by_id = {issue.id: issue for issue in issues}
    return frozenset(
        tag
        for tag, _, name in SHAPES
        if name in by_id and any(versions.within(one, by_id[name].triton) for one in releases)
    )


def explains(suspect: Suspect, tags: Collection[str], release: str, issues: Sequence[Issue]) -> str:
    """Returns the id of the known issue that explains `suspect`, or an empty text."""
    by_id = {issue.id: issue for issue in issues}
    for tag, kind, name in SHAPES:
        issue = by_id.get(name)
        if issue is None or tag not in tags or kind != suspect.kind:
            continue
        # Wrong numbers have no fingerprint.
        alike = kind == NUMBERS or re.search(issue.fingerprint, suspect.bad.fingerprint)
        on_target = any(fnmatchcase(suspect.bad.target, glob) for glob in issue.targets)
        if alike and on_target and versions.within(release, issue.triton):
            return name
    if suspect.kind in (NUMBERS, RESOURCES, SLOW):
        # Wrong numbers look alike: no text distinguishes them.
        return ""
    assert suspect.kind in (CRASH, REFUSAL)
    bad = suspect.bad
    record = Record(
        column=bad.column, target=bad.target, lane="compile", mode="bare", kernel="", case="", config="",
        outcome=bad.outcome, reason=bad.reason, fingerprint=bad.fingerprint, message=bad.message, phase=bad.phase,
    )  # fmt: skip
    found = verdict.classify(record, issues, release)
    return "" if found is None else found.id
