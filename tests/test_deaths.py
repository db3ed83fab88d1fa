"""A suite of deaths, run as any suite is: each kind twenty times, nothing lost, each with the right reason.

The suite, its pytest, its workers and its children are the real ones; torch and Triton are stand-ins of a few lines,
so that a child costs milliseconds. tests/suites/hostile is the same in little with the real Triton.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from crosswarp.matrix import run
from crosswarp.matrix.progress import PlainProgress

HERE = Path(__file__).parent
SUITE = HERE / "suites" / "deaths"
REPEATED = int(os.environ.get("DEATHS_REPEATED", "20"))
# A module's death costs the module, and is told as one case.
IMPORTS = {
    "import_aborts": ("import os; os.abort()", "crash", "SIGABRT"),
    "import_leaves": ("import os; os._exit(0)", "crash", "exit 0 without a result"),
    "import_raises": ("import no_such_module", "api-error", "ModuleNotFoundError"),
    "import_interrupts": ("raise KeyboardInterrupt", "api-error", "KeyboardInterrupt"),
    "import_without_text": ("import _kinds; raise _kinds.NoText", "api-error", "NoText"),
    "import_exits": ("import sys; sys.exit(0)", "api-error", "SystemExit"),
}


@pytest.fixture
def kinds(monkeypatch):
    monkeypatch.syspath_prepend(str(SUITE))
    import _kinds

    yield _kinds
    sys.modules.pop("_kinds", None)


@pytest.fixture
def die(fake_run, fake_prepare, monkeypatch):
    """`die(kernels=("quick",))`: the result of a run of that part of the suite."""

    def suite(python, spec):
        path = os.pathsep.join((str(HERE / "fake_column"), str(HERE.parent / ".links")))
        return ["/usr/bin/env", f"PYTHONPATH={path}", *run.suite_argv(python, spec)]

    def call(**plan):
        settings = {"targets": {}, "lanes": ("interpret",), "modes": ("bare",), "suite": SUITE}
        with fake_run.store() as store:
            runner = run.Runner(
                fake_run.plan(**{**settings, "jobs": 2, "time_limit": 60, **plan}), store, fake_run.work,
                fake_prepare(expect={}), PlainProgress(fake_run.said), suite=suite,
            )  # fmt: skip
            return runner()

    return call


def whole(fake_run):
    return [record for record in fake_run.records() if record.config == ""]


def kind_of(record):
    return record.case.rpartition("-")[0]


def as_they_must_be(fake_run, kinds, names):
    found = whole(fake_run)
    assert Counter(map(kind_of, found)) == {name: REPEATED for name in names}
    wrong = {}
    for record in found:
        outcome, reason = kinds.EXPECTED[kind_of(record)]
        if record.outcome != outcome or not record.reason.startswith(reason):
            wrong[kind_of(record)] = (record.outcome, record.reason[:80], record.message[-600:])
    assert wrong == {}


def test_seventy_kinds_of_death_twenty_times(die, fake_run, kinds):
    slow = kinds.HANGS | kinds.EATS | kinds.KILLERS
    quick = [name for name in kinds.EXPECTED if name not in slow]
    assert len(kinds.EXPECTED) + len(IMPORTS) >= 70
    result = die(kernels=("quick",))
    as_they_must_be(fake_run, kinds, quick)
    # A disk that is full is told of; nothing else is amiss.
    assert len(fake_run.notes()) == 1 and "Free space" in fake_run.notes()[0]
    assert result.exit_code == 1
