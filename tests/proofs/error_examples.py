"""Run each example of the error index on the columns, and write matrix/facts/errors/proven.json.

    python tests/proofs/error_examples.py --columns 2.3.1,3.0.0,... [--only ID ...] [--envs DIR] [--show] [--kept DIR]

An example is proven on a release when the failing one says a wording of its entry there, and the corrected one
compiles. The file has, by example and release, `says` (with the wording), `passes` (the release takes it) or `other`
(it fails in other words), for the corrected one `passes` or `fails`, and the `message` of Triton's source that it
shows on the newest release. It has the date, too, and this command. A column takes three minutes on one core. After a
change of wordings alone `--kept` takes what was said before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from packaging.version import Version

from crosswarp.matrix.facts import errors, targets
from crosswarp.matrix.facts.errors import models

CELL = Path(__file__).with_name("error_examples_cell.py")
COMMAND = "python tests/proofs/error_examples.py"
_HEAD = """\
import torch
import triton
import triton.language as tl
{before}

@triton.jit
def kernel(x_ptr, y_ptr, n, N: tl.constexpr):
{body}


x = torch.zeros(4096, dtype=torch.{dtype})
y = torch.zeros(4096, dtype=torch.float32)
{launch}
"""
_BODY = "i = tl.arange(0, N)\ntl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n))"
_TUNED = 'tuned = triton.autotune([triton.Config({"N": 16})], key=["n"])(kernel)\n'


def modules() -> Iterator[dict[str, Any]]:
    """Each example, failing and corrected, as a module."""
    for file in models.load().values():
        for error in file.error:
            for number, one in enumerate(error.examples(), 1):
                for half, text in (("bad", one.bad), ("good", one.good)):
                    if text:
                        yield {
                            "key": f"{error.id}#{number}#{half}",
                            "text": _module(one, text),
                            "target": one.run.target,
                            "interpret": one.run.interpret,
                        }


def _module(example: models.Example, text: str) -> str:
    options = "".join(f", {name}={value!r}" for name, value in example.run.options.items())
    launch = f"kernel[(1,)](x, y, 1024, 16{options})\n"
    body = text
    if example.script:
        tuned = _TUNED if "tuned" in text else ""
        body, launch = _BODY, tuned + text
    return _HEAD.format(
        before=example.run.before, body=textwrap.indent(body, "    "), dtype=example.run.dtype,
        launch=launch,
    )  # fmt: skip


def run(
    python: Path, wanted: list[dict[str, Any]], interpret: bool, seconds: float
) -> dict[str, str]:
    """What each module says in that environment, of those that ran within `seconds`."""
    tables = tomllib.loads(targets.DEFAULT_FILE.read_text(encoding="utf-8"))
    names = {one["target"] for one in wanted}
    document = {"targets": {name: tables[name] for name in names}, "modules": wanted}
    environment = {**os.environ, "TRITON_CACHE_DIR": "/tmp/crosswarp-error-examples"}
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [python, CELL], stdin=subprocess.PIPE, stdout=output, stderr=subprocess.PIPE, text=True,
            env=environment, start_new_session=True,
        )  # fmt: skip
        try:
            _, complaint = process.communicate(json.dumps(document), timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            _, complaint = process.communicate()
        output.seek(0)
        said = [json.loads(line) for line in output if line.endswith("}\n")]
    if len(said) < len(wanted):
        print(f"{len(wanted) - len(said)} were not run", complaint[-500:], file=sys.stderr)
    return {one["key"]: one["said"] for one in said}


def message(said: str, column: str, index: errors.Index) -> str:
    """The message of that release's source that the text says; "" where it says none."""
    tidy = errors.tidy(said)
    words, release = set(errors.words(tidy)), Version(column)
    for wording in sorted(index.message_wordings, key=lambda one: -one.weight):
        one = index.messages[wording.number]
        if not words.issuperset(wording.anchors) or one.thin and f"triton/{one.where}" not in tidy:
            continue
        if has(one, release) and any(True for _ in wording.find(tidy)):
            return one.text
    return ""


def has(one: errors.Message, release: Version) -> bool:
    """Whether a release can say it. The index has minors (`3.3`, and `main` for what has no end) for C++."""
    if one.first == "main":
        return False
    last = Version("9999" if one.last == "main" else one.last)
    minor = Version(f"{release.major}.{release.minor}")
    return Version(one.first) <= release and (minor if len(last.release) < 3 else release) <= last


def sayings(
    kept: Path | None,
    wanted: list[dict[str, Any]],
    ask: Callable[[list[dict[str, Any]]], dict[str, str]],
) -> dict[str, str]:
    """The message of each module: as it was kept, otherwise asked for and kept."""
    have = json.loads(kept.read_text("utf-8")) if kept and kept.exists() else {}
    left = [one for one in wanted if one["key"] not in have]
    made = ask(left) if left else {}
    if kept and made:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({**have, **made}), encoding="utf-8")
    return {
        one["key"]: {**have, **made}[one["key"]] for one in wanted if one["key"] in {*have, *made}
    }


def verdict(said: str, wordings: list[errors.Wording]) -> str:
    """`passes`, `says: WORDING` or `other: ...` for what a failing example said."""
    if not said:
        return "passes"
    tidy = errors.tidy(said)
    for wording in sorted(wordings, key=lambda one: -one.weight):
        if any(True for _ in wording.find(tidy)):
            return f"says: {wording.text}"
    # Without the folder of this machine's packages.
    lines = [re.sub(r"/\S*/site-packages/", "", line) for line in said.splitlines() if line.strip()]
    return f"other: {lines[-1].strip()[:160]}" if lines else "other"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--envs", type=Path, default=Path(".crosswarp/envs"))
    parser.add_argument("--halves", default="bad,good", help="bad, good or both")
    parser.add_argument("--seconds", type=float, default=3600, help="of each column")
    parser.add_argument(
        "--kept", type=Path, help="a folder of what was said: what it has is not run"
    )
    parser.add_argument("--show", action="store_true", help="what is not as the entry says")
    options = parser.parse_args()
    index = errors.committed()
    ids = {entry.id: number for number, entry in enumerate(index.entries)}
    by_entry: dict[int, list[errors.Wording]] = {}
    for wording in index.wordings:
        by_entry.setdefault(wording.number, []).append(wording)
    seen: list[tuple[str, str, str, str]] = []
    messages: dict[str, str] = {}
    halves = options.halves.split(",")
    every = [
        one
        for half in halves
        for one in modules()
        if one["key"].endswith(half)
        and (not options.only or one["key"].split("#")[0] in options.only)
    ]
    for column in options.columns.split(","):
        python = options.envs / f"triton-{column}" / "bin" / "python"
        for interpret in (False, True):
            wanted = [one for one in every if one["interpret"] == interpret]
            if not wanted:
                continue
            for key, said in sayings(
                options.kept and options.kept / f"{column}.json",
                wanted,
                lambda left, way=interpret, where=python: run(where, left, way, options.seconds),
            ).items():
                name, _, half = key.rpartition("#")
                result = verdict(said, by_entry[ids[name.split("#")[0]]])
                if half == "good" and said:
                    result = "fails: " + result.partition(": ")[2]
                elif half == "bad" and result.startswith("says"):
                    messages[name] = message(said, column, index) or messages.get(name, "")
                seen.append((name, half, column, result))
                if options.show and ((half == "good") == bool(said) or result.startswith("other")):
                    print(column, key, result, flush=True)
    # Another one may have written meanwhile.
    there = json.loads(errors.PROVEN.read_text("utf-8")) if errors.PROVEN.exists() else {}
    proven: dict[str, Any] = there.get("examples", {})
    for name, half, column, result in seen:
        proven.setdefault(name, {"bad": {}, "good": {}})[half][column] = result
    for name, text in messages.items():
        if text:
            proven[name]["message"] = text
    for halves in proven.values():
        for column, said in halves["bad"].items():
            # The release lacks what both need.
            if said.startswith("says") and said[6:] == halves["good"].get(column, "")[7:]:
                halves["bad"][column] = f"other: {said[6:]}"
    known = {f"{e.id}#{n}" for f in models.load().values() for e in f.error
             for n, _ in enumerate(e.examples(), 1)}  # fmt: skip
    lines = ",\n".join(
        f'"{name}": {json.dumps(proven[name], sort_keys=True)}'
        for name in sorted(proven)
        if name in known
    )
    errors.PROVEN.write_text(
        f'{{"date": "{date.today()}", "command": "{COMMAND}",\n"examples": {{\n{lines}\n}}}}\n',
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
