"""Writes messages.json, the messages that Triton's source can say, each with the condition under which it says it.

  python tests/proofs/error_messages.py INDEX.jsonl [--envs DIR]

INDEX.jsonl has a line for each message: `text`, `side`, `how`, `exception`, `where`, `first`, `last`. The conditions of
what Python raises are read from the newest installed release (`DIR/triton-*`) that has the text; what C++ asserts
prints its own condition. For a new release, `--new` lists the texts that DIR/triton-VERSION has and the index has not,
and those of its last release that are gone.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from packaging.version import Version

from crosswarp.matrix.facts import errors
from crosswarp.matrix.facts.errors import models, source


def conditions(envs: Path) -> dict[tuple[str, str], str]:
    """The condition of each text by file and text, of the newest release that has it."""
    found: dict[tuple[str, str], str] = {}
    for folder in sorted(envs.glob("triton-*"), key=_version):
        for package in folder.glob("lib/python3*/site-packages/triton"):
            found.update(((one.where, one.text), one.condition) for one in source.messages(package))
    return found


def _version(folder: Path) -> Version:
    return Version(folder.name.removeprefix("triton-").removesuffix(".lock"))


def new(rows: list[dict[str, str]], envs: Path, release: str) -> None:
    """Prints what that release says that no other did, and what it says no more."""
    (package,) = (envs / f"triton-{release}").glob("lib/python3*/site-packages/triton")
    says = {one.text: one.where for one in source.messages(package)}
    known = {one["text"] for one in rows}
    last = max((one["last"] for one in rows if one["side"] == "python"), key=Version)
    for text, where in sorted(says.items(), key=lambda one: one[1]):
        if text not in known:
            print(f"new   {where}: {text}")
    for one in rows:
        if one["side"] == "python" and one["last"] == last and one["text"] not in says:
            print(f"gone  {one['where']}: {one['text']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("--envs", type=Path, default=Path(".crosswarp/envs"))
    parser.add_argument("--new", metavar="VERSION")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.index.read_text("utf-8").splitlines()]
    if options.new:
        new(rows, options.envs, options.new)
        return 0
    known = conditions(options.envs)
    extracted = [
        {
            "text": " ".join(one["text"].split()),
            "where": one["where"],
            "exception": one["exception"] or one["how"],
            "first": one["first"].removesuffix(".x"),
            "last": one["last"].removesuffix(".x"),
            "condition": known.get((one["where"], " ".join(one["text"].split())), ""),
        }
        for one in rows
    ]
    errors.MESSAGES.write_text(models.compiled_messages(extracted), encoding="utf-8")
    print(
        len(extracted),
        "messages,",
        sum(bool(one["condition"]) for one in extracted),
        "with a condition",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
