"""Answers that the language table gives: which releases of Triton have a name, or an option of a function.

language.json is read as it is written: `language_table`, which checks it, wants pydantic, and `crosswarp why` is to
answer on the small install.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from crosswarp.matrix import facts
from crosswarp.matrix.facts.errors import Cause, Entry
from crosswarp.reports.findings.error_text import Line

_FILE = Path(facts.__file__).with_name("language.json")
_Q = r"[`'\"\\]*"
_NAME = r"([A-Za-z_]\w*)"
WANTED = (
    re.compile(rf"module {_Q}(triton[\w.]*){_Q} has no attribute {_Q}{_NAME}"),
    re.compile(rf"(?s)cannot import name {_Q}{_NAME}{_Q} from {_Q}(triton[\w.]*)"),
    re.compile(rf"No module named {_Q}(triton(?:\.\w+)*)\.{_NAME}"),
)
KEYWORD = re.compile(rf"\b{_NAME}\(\) got an unexpected keyword argument {_Q}{_NAME}")
# Under which of the table's names a module's are.
SHORT = (
    ("triton.language.extra.libdevice.", "libdevice."), ("triton.language.extra.cuda.", "tl.extra.cuda."),
    ("triton.language.core.", "tl."), ("triton.language.standard.", "tl."), ("triton.language.", "tl."),
)  # fmt: skip
ORDER = ("2.3", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9")
PAIRS = (
    "torch pins its own Triton (pip show torch): 2.3 wants 2.3, 2.4 3.0, 2.5 3.1, 2.6 3.2, 2.7 3.3, 2.8 3.4, 2.9 3.5, "
    "2.10 3.6."
)

WHOLE = (
    "It is not the whole Triton that was imported: a folder or file named triton shadows it, the installation is "
    "broken or mixed, or a library put a placeholder in its place (vLLM does so where it finds no driver, or two)."
)
PRINT = (
    "Print triton.__file__ and triton.__path__; rename or leave that folder, or reinstall Triton: "
    f"pip install --force-reinstall triton. {PAIRS}"
)
# A release that the table does not have.
OLD = Cause(
    "The installed Triton is older than 2.3 (2.0 to 2.2, of torch 2.0 to 2.2) and does not have the name yet.",
    f"Upgrade Triton with the torch that pins it. {PAIRS}",
    log=r"(?i)triton[\"' =:v-]{0,12}(?:1\.\d|2\.[0-2])(?!\d)"
    r"|torch[\"' =:v-]{0,12}(?:1\.\d|2\.[0-2])(?!\d)|triton\.\w+. is not a package"
    r"|KernelInterface|custom_autotune"
    # A file of the package is named: it is Triton, and no folder of that name.
    r"|from \W?triton[\w.]*\W? \([^)\n]*[/\\]triton[/\\][^)\n]*\.py\)",
    triton="<2.3",
)
# Names removed in Triton 2.0, which no other cause covers.
LEGACY = Cause(
    "The code was written for Triton 0.x or 1.x (2020 to 2022: triton.kernel, triton.code_gen, the old sparse "
    "attention), whose names went with Triton 2.0.",
    "Use a newer release of the library, or its path without Triton; else an environment of its own with the Triton "
    "that it names (0.4.2, 1.0.0, 1.1.1) and the torch of that time.",
    log=r"triton\W{1,3} has no attribute \W{0,2}(?:kernel|code_gen|function|softmax|heuristic)\b"
    r"|triton\.(?:kernel\(|code_gen)",
)
# Parts that `import triton` alone does not bring.
PARTS = Cause(
    "It is a part of the package that `import triton` alone does not import; and triton.ops is gone since Triton 3.2.",
    "Import it by name (import triton.ops.blocksparse, with Triton 3.1 or older), or use the library's own kernels.",
    log=r"triton\W{1,3} has no attribute \W{0,2}(?:ops|tools|experimental)\b",
)
ASK = 'What does `python -c "import triton; print(triton.__version__, triton.__file__)"` print?'
SPELLING = "Check the spelling in docs/language.md, or the vendor's build that has it."


def entries(lines: Sequence[Line], triton: str = "") -> Iterator[tuple[Entry, int]]:
    """For each name of Triton's that a line misses: the language table's entry, and the line's position.

    A release `triton` that has the name cannot be the imported one.
    """
    for place, line in enumerate(lines):
        text = line.text
        if "triton" in text:
            for pattern in WANTED:
                match = pattern.search(text)
                if match:
                    module, name = match.groups()
                    if not module.startswith("triton"):
                        module, name = name, module
                    made = _of_name(module.rstrip("."), name, triton)
                    if made:
                        yield made, place
                    break
        if "unexpected keyword" in text:
            match = KEYWORD.search(text)
            made = _of_option(match[1], match[2], triton) if match else None
            if made:
                yield made, place


def _of_name(module: str, name: str, triton: str) -> Entry | None:
    path = f"{module}.{name}"
    have = _releases(path)
    elsewhere = {other: runs for other, runs in _elsewhere(name) if other != path}
    if not have and not elsewhere:
        return None
    mine = ".".join(triton.split(".")[:2])
    if have and (_every(have) or mine in _minors(have)):
        whose = "Every release of Triton" if _every(have) else f"Triton {mine}"
        title = f"{whose} has {path}: something else was imported"
        return Entry(
            "triton-name",
            "versions",
            title[:110],
            (Cause(WHOLE, PRINT), OLD),
            ask=ASK,
            shared=True,
            framed=True,
        )
    if have:
        title = f"{path} is in Triton {_spoken(have)} alone"
        why = f"The Triton that runs is none of them: {path} is in {_spoken(have)}."
    else:
        title = f"No release of Triton has {path}"
        why = f"No release from 2.3.1 to 3.9.0 has {path}."
    other = "; ".join(
        f"{outcome} in {_spoken(runs)}" for outcome, runs in list(elsewhere.items())[:3]
    )
    do = f"It is also {other}. " if other else ""
    if have:
        do += f"Install one of {_spoken(have)}, or the release of torch or the library that fits yours. "
    own = Cause(why, do + PAIRS)
    if have and path in ("triton.ops", "triton.tools", "triton.experimental"):
        return Entry("triton-name", "versions", title[:110], (PARTS, own), ask=ASK, shared=True)
    causes = (own,) if have else (own, LEGACY)
    return Entry("triton-name", "versions", title[:110], causes, shared=not have)


def _of_option(function: str, option: str, triton: str) -> Entry | None:
    """An option of a function of triton.language that some releases have."""
    having: list[str] = []
    known = False
    for runs, kind, signature in table_names().get(f"tl.{function}", ()):
        known = known or kind == "function"
        if re.search(rf"[(\s*]{re.escape(option)}\b", signature):
            having += runs.split()
    if not known:
        return None
    path = f"tl.{function}"
    if not having:
        return Entry(
            "triton-option", "versions", f"{path} has no option {option}"[:110],
            (Cause(f"No release from 2.3.1 to 3.9.0 has {option}= for {path}.",
                   SPELLING),),
            shared=True, framed=True,
        )  # fmt: skip
    if _every(having) or ".".join(triton.split(".")[:2]) in _minors(having):
        # It is another function of that name.
        return None
    spoken = _spoken(having)
    return Entry(
        "triton-option", "versions", f"{path} takes {option}= in Triton {spoken} alone"[:110],
        (Cause(f"The Triton that runs is none of them: {path} takes {option}= in {spoken}.",
               f"Leave {option}= out on other releases, or install one of {spoken}. {PAIRS}"),),
        framed=True,
    )  # fmt: skip


@lru_cache(maxsize=1)
def table_names() -> Mapping[str, Sequence[tuple[str, str, str]]]:
    return json.loads(_FILE.read_text(encoding="utf-8"))["names"]  # type: ignore[no-any-return]


def _keys(path: str) -> Iterator[str]:
    yield path
    for long, short in SHORT:
        if path.startswith(long):
            yield short + path[len(long) :]


def _releases(path: str) -> list[str]:
    for key in _keys(path):
        if key in table_names():
            return [run for runs, _, _ in table_names()[key] for run in runs.split()]
    return []


def _elsewhere(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the other places of a name with this spelling, if it is long enough to be the same thing."""
    if len(name) < 5:
        return
    for key, table_name in table_names().items():
        if key.rpartition(".")[2] == name and not key.startswith(("tensor.", "launch.")):
            yield key, [run for runs, _, _ in table_name for run in runs.split()]


def _every(runs: Sequence[str]) -> bool:
    """Whether they are all the releases of the table."""
    return _spoken(runs) == f"{ORDER[0]} to {ORDER[-1]}"


def _minors(runs: Sequence[str]) -> list[str]:
    """The minor releases of `3.0.0..3.4.0`."""
    releases: list[str] = []
    for run in runs:
        first, last = (
            ".".join(end.split(".")[:2]) for end in (run.split("..")[0], run.split("..")[-1])
        )
        releases += ORDER[ORDER.index(first) : ORDER.index(last) + 1]
    return releases


def _spoken(runs: Sequence[str]) -> str:
    """`3.0 to 3.4` of `3.0.0..3.4.0`."""

    def minor(version: str) -> str:
        return ".".join(version.split(".")[:2])

    ends = [[minor(end) for end in run.split("..")] for run in runs]
    merged: list[list[str]] = []
    for end in ends:
        if merged and _next(merged[-1][-1]) == end[0]:
            merged[-1] = [merged[-1][0], end[-1]]
        else:
            merged.append([end[0], end[-1]])
    return ", ".join(a if a == b else f"{a} to {b}" for a, b in merged)


def _next(minor: str) -> str:
    """The minor release after one, of those in the table."""
    return ORDER[ORDER.index(minor) + 1] if minor in ORDER[:-1] else ""
