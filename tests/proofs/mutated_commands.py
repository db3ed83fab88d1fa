"""Hands mutated inputs to the commands, in one process: each ends with a documented exit status, and no traceback.

    python tests/proofs/mutated_commands.py --inputs 10000

The kinds of input are below, in KINDS: texts of the command line (signatures, versions, names), files (kernels,
modules, settings, tables in TOML and JSON, baselines, logs) and stores, whose bytes are changed too. The mutations are
the same every time: the seed is the number of the input. An input is amiss where a command ends with 70, an internal
error, raises anything, or takes more than `--seconds` of CPU. Exit status: 0 none is amiss, 1 one is.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

TESTS = Path(__file__).absolute().parent.parent
sys.path.insert(0, str(TESTS))
from test_mutated_inputs import PIECES, changed, first, mutated  # noqa: E402

from crosswarp.matrix.errors import EXIT_INTERNAL  # noqa: E402
from crosswarp.matrix.facts import columns, issues, language_table, targets  # noqa: E402
from crosswarp.matrix.results.record import Record  # noqa: E402
from crosswarp.matrix.results.store import Store  # noqa: E402
from crosswarp.matrix.work import library_ops  # noqa: E402
from crosswarp.reports import cli  # noqa: E402
from crosswarp.reports.commands import check  # noqa: E402

KERNELS = b"""\
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * scale, mask=at < n)

def launch(x):
    y = torch.empty_like(x, dtype=torch.float16)
    add[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), 2.0, BLOCK=64, num_warps=4)
    return y
"""
MODULE = b"""\
import triton
from triton.language.extra import libdevice

NEW = triton.__version__ >= "3.3"
if NEW and tuple(int(part) for part in triton.__version__.split(".")[:2]) < (3, 6):
    from triton.tools.tensor_descriptor import TensorDescriptor

@triton.autotune(configs=[triton.Config({"B": 64}, num_warps=4)], key=["n"])
@triton.jit
def k(x, n, B: triton.language.constexpr):
    triton.language.store(x + triton.language.arange(0, B), libdevice.tanh(1.0))
"""
SETTINGS = b"""\
[project]
name = "a-library"
dependencies = ["triton>=3.2", "torch>=2.5,<3"]

[tool.crosswarp]
targets = ["sm_90", "gfx942"]

lint-exclude = ["old/*"]

[[tool.crosswarp.xfail]]
cells = "k/line-*"
reason = "not yet"
triton = "<3.3"
"""
# Nothing is compiled: `check` ends once it has read the file and worked out the signatures.
NOTHING_RUNS = ("--no-run", "--triton", "3.2.0")
SIGNATURE = "add:x_ptr=*fp32:16,y_ptr=*fp16,n=i32,scale=fp32,BLOCK=64"


def _record(**changes: object) -> Record:
    plain = {
        "column": "triton-3.2.0", "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "softmax",
        "case": "fp16-1x1", "config": "", "outcome": "crash", "reason": "SIGABRT", "fingerprint": "SIGABRT",
    }  # fmt: skip
    return Record(**{**plain, **changes})


def _store(path: Path) -> bytes:
    plan = {
        "columns": ["triton-3.2.0"], "targets": ["sm_90"], "lanes": ["compile"], "modes": ["bare"], "kernels": ["*"],
        "suite": None, "commit": "abc", "shard": [1, 2],
    }  # fmt: skip
    with Store(path) as store:
        for _ in range(2):
            run = store.begin(["run"], plan)
            store.session(run, "triton-3.2.0", "compile", {"triton": "3.2.0"}, 2)
            store.cells(
                run, [_record(), _record(case="b", outcome="pass", reason="", fingerprint="")]
            )
            store.note(run, "triton-3.2.0", "read me", kind="problem")
            store.finish(run, "finished", 1)
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA journal_mode = DELETE")
    raw.close()
    return path.read_bytes()


def _text(data: bytes, number: int) -> str:
    """Mutated, as an argument of a command may be: no NUL, and bytes that are no text as Python hands them over."""
    return os.fsdecode(mutated(data, number).replace(b"\0", b""))


class Kinds:
    """Returns the command line of an input by its kind and number; what is a file is written for it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = _store(folder / "good.db")
        self._logs = [
            line.encode()
            for line in (TESTS / "data" / "error_texts.jsonl").read_text("utf-8").splitlines()[:400]
        ]
        (folder / "kernels.py").write_bytes(KERNELS)
        (folder / "module.py").write_bytes(MODULE)
        files = {
            "columns.toml": first(columns.DEFAULT_FILE, "[[column]]"),
            "targets.toml": first(targets.DEFAULT_FILE, "[sm_", 3),
            "issues.toml": first(issues.DEFAULT_FILE, "[[issue]]"),
            "libraries.toml": first(library_ops.DEFAULT_FILE, "[[library]]", 2),
        }
        self._files = files
        releases = {
            version: language_table.Release(
                {"triton": version, "checked": "2026-11-21"},
                {"tl.load": language_table.Name("function", "(pointer)")},
                {"tl.load": {"sm_90": "pass", "interpreter": "crash: SIGABRT"}},
            )
            for version in ("3.1.0", "3.2.0")
        }
        self._language = language_table.dumped(releases).encode()

    def _written(self, name: str, data: bytes) -> str:
        (self._folder / name).write_bytes(data)
        return str(self._folder / name)

    def signature(self, number: int) -> list[str]:
        path = str(self._folder / "kernels.py")
        return ["check", path, *NOTHING_RUNS, "--signature", _text(SIGNATURE.encode(), number)]

    def kernels(self, number: int) -> list[str]:
        return ["check", self._written("k.py", mutated(KERNELS, number)), *NOTHING_RUNS]

    def options(self, number: int) -> list[str]:
        path = str(self._folder / "kernels.py")
        option, value = (
            ("--constexpr", b"add:BLOCK=64"), ("--dtype", b"fp16"), ("--targets", b"sm_90,gfx9*"),
            ("--kernels", b"ad*"),
            ("--triton", b"3.2.0,triton-3.4*"),
        )[number % 5]  # fmt: skip
        return ["check", path, *NOTHING_RUNS, f"{option}={_text(value, number)}"]

    def version(self, number: int) -> list[str]:
        which = number % 3
        if which == 0:
            return ["why", "SIGABRT", f"--triton={_text(b'3.2.0+git1a2b3c', number)}"]
        if which == 1:
            return [
                "lint",
                str(self._folder / "module.py"),
                f"--triton={_text(b'>=3.2,!=3.4.*', number)}",
            ]
        return ["columns", _text(b"3.2.0+torch-2.5.1", number).lstrip("-")]

    def module(self, number: int) -> list[str]:
        return ["lint", self._written("m.py", mutated(MODULE, number)), "--triton", ">=2.3"]

    def settings(self, number: int) -> list[str]:
        folder = self._folder / "library"
        folder.mkdir(exist_ok=True)
        (folder / "k.py").write_bytes(MODULE)
        (folder / "pyproject.toml").write_bytes(mutated(SETTINGS, number))
        return ["lint", str(folder)]

    def table(self, number: int) -> list[str]:
        name = list(self._files)[number % 3]
        path = self._written(name, mutated(self._files[name], number))
        return {
            "columns.toml": ["columns", "--columns-file", path],
            "targets.toml": ["targets", "--targets-file", path],
            "issues.toml": [
                "issues",
                "--baseline",
                str(self._folder / "small.json"),
                "--issues-file",
                path,
            ],
        }[name]

    def baseline(self, number: int) -> list[str]:
        good = (self._folder / "small.json").read_bytes()
        bad = changed(json.loads(good), number) if number % 2 else mutated(good, number)
        return ["diff", str(self._folder / "small.json"), self._written("other.json", bad)]

    def language(self, number: int) -> list[str]:
        return [
            "language",
            "tl.load",
            "--language-file",
            self._written("l.json", mutated(self._language, number)),
        ]

    def store(self, number: int) -> list[str]:
        command = (
            ["runs"],
            ["report"],
            ["report", "--json"],
            ["diff", "1", "2"],
            ["range"],
            ["issues"],
        )[number % 6]
        return [*command, "--store", self._written("bad.db", mutated(self._store, number))]

    def selection(self, number: int) -> list[str]:
        store = str(self._folder / "good.db")
        which = number % 3
        if which == 0:
            return ["diff", _text(b"1:triton-3.2.0", number).lstrip("-"), "2", "--store", store]
        if which == 1:
            cell = b"triton-3.2.0/sm_90/compile/bare/softmax/fp16-1x1"
            return ["reproduce", _text(cell, number).lstrip("-"), "--store", store]
        return ["range", f"--kernels={_text(b'soft*', number)}", "--store", store]

    def log(self, number: int) -> list[str]:
        text = self._logs[number % len(self._logs)]
        if number % 5 == 0:
            dice = random.Random(number)
            text += dice.choice(PIECES) * dice.choice((1, 100, 10_000))
        return ["why", self._written("log.txt", mutated(text, number))]

    def words(self, number: int) -> list[str]:
        return ["why", "--", _text(self._logs[number % len(self._logs)][:300], number)]


KINDS = (
    "signature", "kernels", "options", "version", "module", "settings", "table", "baseline", "language", "store",
    "selection", "log", "words",
)  # fmt: skip


class _Late(BaseException):
    """The time of an input is over."""


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise _Late

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def ended(
    argv: list[str], seconds: int, main: Callable[[list[str]], int] = cli.main
) -> tuple[object, str]:
    """The exit status of a command line, and the fault: empty where there is none."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with _limited(seconds), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status: object = main(argv)
    except SystemExit as stopped:
        status = stopped.code
    except _Late:
        return "late", f"more than {seconds} s of CPU"
    except BaseException:
        return "raised", traceback.format_exc()
    if status == EXIT_INTERNAL or "Traceback (most recent" in err.getvalue():
        return status, err.getvalue()[-600:]
    return status, "" if isinstance(status, int) else f"exit status {status!r}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--kinds", default=",".join(KINDS), help="only these")
    parser.add_argument("--seconds", type=int, default=20, help="of CPU, for one input")
    options = parser.parse_args()
    check._compiled = lambda options, argv, checked, *rest: checked
    chosen = options.kinds.split(",")
    amiss, statuses, spent = 0, {kind: Counter() for kind in chosen}, Counter()
    with tempfile.TemporaryDirectory(prefix="crosswarp-inputs-") as name:
        os.chdir(name)
        kinds = Kinds(Path(name))
        assert cli.main(["baseline", "write", "small.json", "--store", "good.db"]) == 0
        for number in range(options.first, options.first + options.inputs):
            kind = chosen[number % len(chosen)]
            argv = getattr(kinds, kind)(number)
            begun = time.process_time()
            status, fault = ended(argv, options.seconds)
            spent[kind] += time.process_time() - begun
            statuses[kind][status] += 1
            if fault:
                amiss += 1
                print(f"{number} {kind} {ascii(argv)[:300]}: {status}\n{fault}", flush=True)
    for kind in chosen:
        print(f"{kind}: {dict(statuses[kind])}, {spent[kind]:.0f} s")
    print(f"{options.inputs} inputs, {amiss} amiss")
    return 1 if amiss else 0


if __name__ == "__main__":
    sys.exit(main())
