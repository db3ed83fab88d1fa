"""A kind of work is one file, and the engine needs no other change for it."""

from __future__ import annotations

import importlib
import importlib.util
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crosswarp.matrix import work
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.running.plan import Work
from crosswarp.matrix.running.progress import PlainProgress
from crosswarp.matrix.running.run import Runner

# The cell side of a tenth kind: it says of each of its words whether it is short.
CELL = """
    import json, os, sys

    spec = json.loads(open(sys.argv[1]).read())
    with open(spec["records"], "a") as out:
        def say(**event):
            print(json.dumps(event), file=out, flush=True)

        words = spec["words"]
        for target in spec["targets"]:
            for mode in spec["modes"]:
                if mode in spec["leaves_out"]:
                    continue
                say(event="session", lane="compile", part=f"{target}/{mode}", planned=len(words), versions={})
                for word in words:
                    item = f"{target}/compile/{mode}/{word}/length"
                    say(event="start", item=item)
                    if word == "dies":
                        os._exit(3)
                    outcome = "pass" if len(word) < 6 else "mismatch"
                    say(event="cell", target=target, lane="compile", mode=mode, kernel=word, case="length",
                        outcome=outcome, seconds=0.0, fingerprint="" if outcome == "pass" else "it is long")
                    say(event="end", item=item)
"""


@dataclass(frozen=True)
class AskedWords(Asked):
    words: Sequence[str] = ()
    leaves_out: Sequence[str] = ()


@dataclass(frozen=True)
class _AtMost:
    long: int

    @property
    def as_expected(self) -> bool:
        return self.long <= 1


@dataclass(frozen=True)
class Words(Work):
    MODULE = "tenth_kind"
    BY_PART = True

    words: Sequence[str] = ()
    leaves_out: Sequence[str] = ()

    def asked(self, column: str, common: Mapping[str, Any]) -> AskedWords:
        return AskedWords(**common, words=self.words, leaves_out=self.leaves_out)

    def about(self) -> Mapping[str, Any]:
        return {"words": len(self.words)}

    def kernels(self) -> Sequence[str]:
        return self.words

    def judge(self, records, issues) -> _AtMost:
        return _AtMost(sum(one.red for one in records))


@pytest.fixture
def run(fake_run, fake_prepare, monkeypatch, tmp_path):
    """`run(Words(...))`: its exit code, and what is in the store."""
    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds" / "tenth_kind.py").write_text(textwrap.dedent(CELL))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "kinds"))

    def go(kind, fail=(), **plan):
        with fake_run.store() as store:
            result = Runner(
                fake_run.plan(work=kind, **plan), store, fake_run.work, fake_prepare(fail=fail, expect={}),
                PlainProgress(fake_run.said), here=True,
            )()  # fmt: skip
            return result.exit_code, store.records(result.run), store.run(result.run).plan

    return go


def test_a_tenth_kind_is_run_recorded_and_judged_by_itself(run):
    code, records, described = run(Words(words=("one", "twenty"), leaves_out=("shimmed",)))
    assert {(one.mode, one.kernel, one.outcome) for one in records if one.ran} == {
        ("bare", "one", "pass"), ("bare", "twenty", "mismatch"),
    }  # fmt: skip
    # A part that was never begun is said, by the names that the kind gave.
    lost = [one for one in records if not one.ran]
    assert {(one.mode, one.kernel, one.reason) for one in lost} == {
        ("shimmed", "one", "lane did not start"), ("shimmed", "twenty", "lane did not start"),
    }  # fmt: skip
    assert described["words"] == 2 and described["suite"] is None
    assert code == 1


def test_a_tenth_kind_decides_what_is_expected(run):
    assert run(Words(words=("one", "twenty")))[0] == 1
    # One that is red is what this kind allows.
    assert run(Words(words=("one", "twenty")), modes=("bare",))[0] == 0


def test_what_a_tenth_kind_did_not_end_is_named(run):
    _, records, _ = run(Words(words=("one", "dies")))
    (dead,) = [one for one in records if one.outcome == "crash"]
    assert (dead.kernel, dead.case, dead.reason) == ("dies", "length", "worker died")


def test_where_no_environment_could_be_built_its_names_stand_for_it(run):
    code, records, _ = run(Words(words=("one", "two")), fail=("triton-3.2.0",))
    assert code == 3 and {one.kernel for one in records} == {"one", "two"}
    assert {one.reason for one in records} == {"environment failed"}


def kinds():
    files = (path.stem for path in sorted(Path(work.__file__).parent.glob("[a-z]*.py")))
    modules = [importlib.import_module(f"crosswarp.matrix.work.{name}") for name in files]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Work) and value.__module__ == module.__name__
    ]  # fmt: skip


@pytest.mark.parametrize("kind", kinds())
def test_each_kind_has_a_cell_side(kind):
    assert importlib.util.find_spec(f"{kind.MODULE}.__main__")
