"""The examples of the documentation, run: `python docs/examples.py` writes what they print, `--check` compares.

An example is a block of ```console in docs/ or README.md: lines that begin with `$ crosswarp`, and below each what
it printed, in 80 columns; `| head -20` is understood. The blocks of a page run one after the other in a folder of
their own, in which there is no store: what asks for a run gets the baseline that is installed with crosswarp.
Comments above a block:

<!-- store -->            from here on there is a store with one run, what the baseline has of two columns
<!-- recorded: WHEN -->   it took environments, a GPU or a network, and stands as it was then; its options are parsed

A block of another language with title="PATH" in its first line is that file, in the folder.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from crosswarp.matrix.results import baseline, store
from crosswarp.reports import cli

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "baseline" / "all.json"
COLUMNS = ("triton-3.8.0", "triton-3.9.0")
STARTED = "2026-11-22T03:17:00+00:00"
BLOCK = re.compile(
    r"^(?P<comments>(?:<!--[^\n]*-->\n)*)```(?P<language>\w+)(?P<info>[^\n]*)\n(?P<body>.*?)^```$",
    re.M | re.S,
)
_TITLE = re.compile(r'title="([^"]+)"')
_HEAD = re.compile(r"\|\s*head\s+-(?:n\s*)?(\d+)\s*$")
_ENVIRONMENT = {"COLUMNS": "80", "LINES": "24", "NO_COLOR": "1", "TERM": "dumb"}
# Words of a shell that are no arguments.
_SHELL = re.compile(r"[<>|&;`$]")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `start` and `end` are those of its body."""

    language: str
    title: str
    comments: tuple[str, ...]
    body: str
    start: int
    end: int

    @property
    def recorded(self) -> bool:
        return any(one.startswith("recorded:") for one in self.comments)


@dataclass(frozen=True)
class Command:
    """A line after `$ `, and what stands below it."""

    line: str
    printed: str

    @property
    def arguments(self) -> list[str]:
        return shlex.split(_HEAD.sub("", self.line))[1:]


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    for match in BLOCK.finditer(text):
        title = _TITLE.search(match["info"])
        yield Block(
            match["language"], title[1] if title else "",
            tuple(re.findall(r"<!--\s*(.*?)\s*-->", match["comments"])), match["body"], *match.span("body"),
        )  # fmt: skip


def commands(body: str) -> list[Command]:
    parts = re.split(r"^\$ ", body, flags=re.M)
    if parts[0].strip():
        raise ValueError(f"an example begins with `$ `, not with {parts[0]!r}")
    return [
        Command(line, printed) for line, _, printed in (one.partition("\n") for one in parts[1:])
    ]


def examples(text: str) -> list[tuple[Block, Command]]:
    return [
        (block, command)
        for block in blocks(text)
        if block.language == "console"
        for command in commands(block.body)
        if command.line.startswith("crosswarp ")
    ]


def renewed(text: str) -> str:
    """`text` of a page with what its examples print now."""
    found = list(blocks(text))
    if not any(one.language == "console" and not one.recorded for one in found):
        return text
    parts, end = [], 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in found:
            if "store" in block.comments:
                fill(Path(".crosswarp/store.db"), COLUMNS)
            if block.title:
                Path(block.title).parent.mkdir(parents=True, exist_ok=True)
                Path(block.title).write_text(block.body, encoding="utf-8")
            if block.language != "console" or block.recorded:
                continue
            body = "".join(f"$ {one.line}\n{printed(one)}" for one in commands(block.body))
            parts += [text[end : block.start], body]
            end = block.end
    return "".join([*parts, text[end:]])


def printed(command: Command) -> str:
    """What it prints, on either stream, in the folder at hand."""
    if not command.line.startswith("crosswarp "):
        raise ValueError(f"only crosswarp is run, not: {command.line}")
    head = _HEAD.search(command.line)
    if _SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", _HEAD.sub("", command.line))):
        raise ValueError(f"no shell runs the examples: {command.line}")
    said = io.StringIO()
    with (
        mock.patch.dict(os.environ, _ENVIRONMENT),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        # As from a shell; a usage error is an example as well.
        with contextlib.suppress(SystemExit):
            cli.main(command.arguments)
    lines = [line.rstrip() for line in said.getvalue().replace(os.getcwd(), ".").splitlines()]
    if head and len(lines) > int(head[1]):
        lines = lines[: int(head[1])]
    return "".join(f"{line}\n" for line in lines)


def parsed(command: Command) -> argparse.Namespace:
    """Its options; raises SystemExit where crosswarp would not understand them."""
    name = command.arguments[0]
    parser = argparse.ArgumentParser(prog=f"crosswarp {name}")
    cli.load(name).add(parser)
    return parser.parse_args(command.arguments[1:])


def fill(path: Path, columns: Sequence[str] = ()) -> None:
    """A store with one run, which holds what the baseline does of `columns` (default: all)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    records = [one for one in baseline.read(BASELINE) if not columns or one.column in columns]
    planned = {
        name: list(dict.fromkeys(getattr(one, name.removesuffix("s")) for one in records))
        for name in ("columns", "targets", "lanes", "modes")
    }
    with mock.patch.object(store, "_now", lambda: STARTED), store.Store(path) as opened:
        run = opened.begin(
            ["run", "--triton", ",".join(columns) or "triton-*"], {**planned, "kernels": ["*"]}
        )
        opened.cells(run, records)
        opened.finish(run, "finished", 0)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the examples of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing, say what is old")
    options = parser.parse_args()
    old = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        new = renewed(text)
        if new != text:
            old.append(path.relative_to(ROOT).as_posix())
            if not options.check:
                path.write_text(new, encoding="utf-8")
    if old:
        print("old:" if options.check else "written:", ", ".join(old))
    return 1 if old and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
