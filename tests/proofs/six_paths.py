"""Six ways into crosswarp, walked as a reader would who has the documentation and nothing else. Run by hand.

    python tests/proofs/six_paths.py WHEEL --triton COLUMN [--only ERROR,..] [--work DIR]

Each path is a page of docs/: its blocks of ```sh are run line by line in a new virtual environment and an empty folder,
its blocks with title="PATH" are the files that the reader writes. No other file is opened. What is substituted:

- `crosswarp` in a `pip install` is WHEEL, as long as no index has it;
- who comes for the shims has Triton and torch: those of the environment COLUMN are on that path;
- who comes with a library has one: a small one is written, with a test for a GPU;
- who comes for a CI has kernels: those of docs/your-kernels.md;
- a CI's machine is this one: the steps of action.yml are not run, the same commands "by hand" are.

Prints a table with the seconds to the installation, to the first answer after it, and to the end; and, because a
machine may be busy, the seconds of CPU time that each took. --first ends each path at its first answer.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
LIBRARY = {
    "pyproject.toml": """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "mylib"
version = "1.0"
dependencies = ["triton>=3.2"]

[tool.setuptools]
packages = ["mylib"]
""",
    "mylib/__init__.py": "",
    "mylib/ops.py": """\
import torch
import triton
import triton.language as tl


@triton.jit
def _double_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (BLOCK,), (0,))
    tl.store(y_ptr + tl.arange(0, BLOCK), 2 * tl.load(block))


def double(x):
    y = torch.empty_like(x)
    _double_kernel[(1,)](x, y, x.numel(), BLOCK=x.numel())
    return y
""",
    "tests/test_ops.py": """\
import torch

from mylib import ops


def test_double():
    x = torch.ones(64, device="cuda")
    torch.testing.assert_close(ops.double(x), 2 * x)
""",
}


@dataclass(frozen=True)
class Way:
    """A way in: the page that is followed, and the words that answer what the reader came with."""

    name: str
    page: str
    answer: str
    files: Mapping[str, str] = field(default_factory=dict)
    # The page whose files the reader has written before.
    after: str = ""
    has_triton: bool = False


PATHS = (
    Way("an error seen", "error.md", "reserved_options"),
    Way("shims only", "shim-only.md", "block_pointers", has_triton=True),
    Way("a kernel of one's own", "your-kernels.md", "block_pointers"),
    Way("a library of one's own", "your-library.md", "block_pointers", files=LIBRARY),
    Way("a CI job", "ci.md", "crosswarp run --columns triton-3.9.0", after="your-kernels.md"),
    Way("what did 3.9 break", "upgrade.md", "triton-10833"),
)
# A comparison that finds something, a lint that does, and a library that is red: the answer, and no failure.
ANSWERED = (0, 1)
_BLOCK = re.compile(r"^```(?P<language>\w+)(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)


# Seconds by the clock, and of CPU time.
Took = tuple[float, float]


@dataclass
class Walk:
    """What came of a path."""

    path: Way
    # The line, its exit status, seconds, and seconds of CPU time.
    commands: list[tuple[str, int, float, float]] = field(default_factory=list)
    installed: Took = (0.0, 0.0)
    answered: Took | None = None
    whole: Took = (0.0, 0.0)
    stopped: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    parser.add_argument(
        "--triton", type=Path, required=True, metavar="COLUMN", help="an environment with Triton"
    )
    parser.add_argument("--only", default="", metavar="PAGE,..", help="such as error.md")
    parser.add_argument("--work", type=Path, help="where the folders are made")
    parser.add_argument("--first", action="store_true", help="no further than the first answer")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else [path.page for path in PATHS]
    walks = []
    for path in PATHS:
        if path.page in only:
            with tempfile.TemporaryDirectory(dir=options.work) as folder:
                home, environ = machine(path, Path(folder), options.triton.resolve())
                walks.append(walk(path, home, environ, options.wheel.resolve(), options.first))
    print("\nSeconds by the clock (and of CPU time).\n")
    print(
        "| path | page | installed | first answer | to the end | |\n| --- | --- | --- | --- | --- | --- |"
    )
    for one in walks:
        answer = "none" if one.answered is None else shown(one.answered)
        what = one.stopped or f"{len(one.commands)} commands"
        print(
            f"| {one.path.name} | {one.path.page} | {shown(one.installed)} | {answer} | {shown(one.whole)} | {what} |"
        )
    return int(any(one.stopped or one.answered is None for one in walks))


def machine(path: Way, folder: Path, column: Path) -> tuple[Path, dict[str, str]]:
    """An empty folder but for what the reader has, and the environment of a shell in it."""
    home, environment = folder / "home", folder / "venv"
    home.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    if path.has_triton:
        (there,) = column.glob("lib/python3.*/site-packages")
        (here,) = environment.glob("lib/python3.*/site-packages")
        (here / "triton_and_torch.pth").write_text(f"{there}\n")
    before = blocks((DOCS / path.after).read_text("utf-8")) if path.after else []
    for name, text in (*path.files.items(), *((title, body) for _, title, body in before if title)):
        put(home / name, text)
    # What installs is asked for packages as it is set up here, and keeps its cache.
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "UV_", "SSL_", "LANG")) or name == "HOME"
    }
    return home, {**kept, "PATH": f"{environment}/bin:/usr/bin:/bin", "COLUMNS": "80"}


def walk(path: Way, home: Path, environ: Mapping[str, str], wheel: Path, first: bool) -> Walk:
    done, start = Walk(path), clock()
    for language, title, body in blocks((DOCS / path.page).read_text(encoding="utf-8")):
        if title:
            put(home / title, body)
        for line in filter(None, map(str.strip, body.splitlines() if language == "sh" else ())):
            began = clock()
            status, said = shell(with_wheel(line, wheel), home, environ)
            done.commands.append((line, status, *since(began)))
            print(f"[{path.name}] {line}: exit {status}, {shown(since(began))} s", flush=True)
            done.whole = since(start)
            installs = line.startswith("pip ")
            if installs:
                done.installed = done.whole
            elif done.answered is None and path.answer in said:
                done.answered = (
                    done.whole[0] - done.installed[0],
                    done.whole[1] - done.installed[1],
                )
            if status not in ANSWERED or (status and installs):
                done.stopped = f"`{line}` ended with {status}"
                print(said[-3000:], flush=True)
                return done
            if first and done.answered:
                return done
    return done


def clock() -> Took:
    """Now, and the CPU time of all that was waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), used.ru_utime + used.ru_stime


def since(then: Took) -> Took:
    now = clock()
    return now[0] - then[0], now[1] - then[1]


def shown(took: Took) -> str:
    return f"{took[0]:.1f} ({took[1]:.1f})"


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, title and body of each fenced block, in their order."""
    return [
        (one["language"], "".join(re.findall(r'title="([^"]+)"', one["info"])), one["body"])
        for one in _BLOCK.finditer(page)
    ]


def with_wheel(line: str, wheel: Path) -> str:
    return re.sub(
        r'(?<=^pip install )"?crosswarp(\[\w+\])?"?',
        lambda found: f'"crosswarp{found[1] or ""} @ {wheel.as_uri()}"',
        line,
    )


def shell(line: str, home: Path, environ: Mapping[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-c", line], cwd=home, env=dict(environ), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    return done.returncode, done.stdout


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
