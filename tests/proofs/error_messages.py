"""Writes messages.json, the messages that Triton's source can say, each with the condition under which it says it.

  python tests/proofs/error_messages.py INDEX.jsonl [--envs DIR]

INDEX.jsonl has a line for each message: `text`, `side`, `how`, `exception`, `where`, `first`, `last`. The conditions of
what Python raises are read from the newest installed release (`DIR/triton-*`) that has the text; what C++ asserts
prints its own condition. `crosswarp
update --errors` lists what a new release says.
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("--envs", type=Path, default=Path(".crosswarp/envs"))
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.index.read_text("utf-8").splitlines()]
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
