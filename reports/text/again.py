"""The command that runs a kernel, or a library's test, again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import lru_cache

from crosswarp.matrix.results.store import Run
from crosswarp.reports.text import escape

_LONGEST = 200


def command(
    run: Run, kernel: str, column: str = "all", lane: str = "", targets: Sequence[str] = (), mode: str = ""
) -> str:  # fmt: skip
    words = ["crosswarp", run.described.command]
    # The device lane and the user's interpreter can only run where they are.
    if column.startswith("here-") or lane == "device":
        words.append("--here")
    else:
        words += ["--triton", column.removeprefix("triton-")]
        words += _given(run, "--main") if column == "main" else []
    if targets and lane in ("", "compile", "emulate"):
        words += ["--targets", ",".join(targets)]
    if lane:
        words += ["--lanes", lane]
    if mode:
        words += ["--modes", mode]
    words += ["--cases" if run.described.library else "--kernels", kernel]
    suite = run.described.suite
    if suite:
        words += ["--suite", suite]
    return " ".join(map(_quoted, words))


@lru_cache(maxsize=1024)
def _quoted(word: str) -> str:
    """A word for a shell. A page has thousands of commands, which are made of the same few words."""
    return shlex.quote(escape.line(word, _LONGEST))


def _given(run: Run, option: str) -> list[str]:
    """Returns an option of the run's command line, which its plan does not store."""
    for number, word in enumerate(run.argv):
        if word == option and number + 1 < len(run.argv):
            return [option, run.argv[number + 1]]
        if word.startswith(f"{option}="):
            return [option, word.partition("=")[2]]
    return []
