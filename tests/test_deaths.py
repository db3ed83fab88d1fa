"""A suite of deaths, run as any suite is: each kind once, or as often as DEATHS_REPEATED says; nothing is lost.

The suite, its workers and its children are the real ones; torch and Triton are stand-ins of a few lines,
so that a child costs milliseconds. tests/suites/hostile is the same in little with the real Triton.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.judging import verdict
from crosswarp.matrix.cell.kinds.suite import item as runner
from crosswarp.matrix.cell.kinds.suite import plan as suite_plan
from crosswarp.matrix.cell.kinds.suite import telling
from crosswarp.matrix.cell.stream import Stream
from crosswarp.matrix.results.stream import Tail
from crosswarp.matrix.running import run
from crosswarp.matrix.running.progress import PlainProgress
from crosswarp.matrix.work.suite import Suite

HERE = Path(__file__).parent
SUITE = HERE / "suites" / "deaths"
REPEATED = int(os.environ.get("DEATHS_REPEATED", "1"))
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


@pytest.fixture(scope="module")
def bytecode(tmp_path_factory):
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def die(fake_run, fake_prepare, bytecode):
    """`die(kernels=("quick",))`: the result of a run of that part of the suite."""

    def suite(python, spec):
        # Each child imports the suite: compiled once, and not into the checkout.
        environ = (f"PYTHONPATH={HERE / 'fake_column'}", f"PYTHONPYCACHEPREFIX={bytecode}")
        return [
            "/usr/bin/env",
            "-u",
            "PYTHONDONTWRITEBYTECODE",
            *environ,
            *Suite().argv(python, spec),
        ]

    def call(**plan):
        settings = {"targets": {}, "lanes": ("interpret",), "modes": ("bare",), "suite": SUITE}
        with fake_run.store() as store:
            runner = run.Runner(
                fake_run.plan(**{**settings, "jobs": 1, "time_limit": 60, **plan}), store, fake_run.work,
                fake_prepare(expect={}), PlainProgress(fake_run.said), command=suite,
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


def test_seventy_kinds_of_death(die, fake_run, kinds):
    slow = kinds.HANGS | kinds.EATS | kinds.KILLERS
    quick = [name for name in kinds.EXPECTED if name not in slow]
    assert len(kinds.EXPECTED) + len(IMPORTS) >= 70
    result = die(kernels=("quick",))
    as_they_must_be(fake_run, kinds, quick)
    # A disk that is full is told of; nothing else is amiss.
    assert len(fake_run.notes()) == 1 and "Free space" in fake_run.notes()[0]
    assert result.exit_code == 1


@pytest.mark.parametrize(
    "kernel, group, plan",
    [
        ("hangs", "HANGS", {"jobs": 5, "time_limit": 1}),
        ("eats", "EATS", {"memory_limit_mb": 200}),
        ("killers", "KILLERS", {"jobs": 1}),
    ],
)
def test_deaths_that_take_their_time(die, fake_run, kinds, kernel, group, plan):
    result = die(kernels=(kernel,), **plan)
    as_they_must_be(fake_run, kinds, getattr(kinds, group))
    assert fake_run.notes() == []
    assert result.exit_code == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_rest_of_a_share_runs_after_the_death_of_its_worker(die, fake_run, tmp_path, jobs):
    suite = tmp_path / "suite"
    suite.mkdir()
    for helper in ("_kinds.py", "_kernel.py"):
        (suite / helper).symlink_to(SUITE / helper)
    kinds = ["kills_its_worker", "passes"]
    (suite / "good.py").write_text(
        f"from _kernel import kernel\n\nKERNEL = kernel('good', {[*kinds, 'in_vain']})\n"
    )
    die(suite=suite, jobs=jobs)
    assert {(kind_of(record), record.outcome) for record in whole(fake_run)} == {
        ("kills_its_worker", "crash"),
        ("passes", "pass"),
        ("in_vain", "pass"),
    }


def test_modules_that_die_at_import(die, fake_run, tmp_path):
    suite = tmp_path / "suite"
    suite.mkdir()
    for helper in ("_kinds.py", "_kernel.py"):
        (suite / helper).symlink_to(SUITE / helper)
    (suite / "good.py").write_text(
        'from _kernel import kernel\n\nKERNEL = kernel("good", ["passes"])\n'
    )
    for name, (body, _, _) in IMPORTS.items():
        for number in range(REPEATED):
            (suite / f"{name}_{number}.py").write_text(f"KERNEL = None\n{body}\n")
    result = die(suite=suite)
    found = whole(fake_run)
    assert Counter(r.outcome for r in found if r.kernel == "good") == {"pass": REPEATED}
    dead = [record for record in found if record.kernel != "good"]
    assert Counter((r.kernel.rpartition("_")[0], r.case, r.outcome, r.reason) for r in dead) == {
        (name, "import", outcome, reason): REPEATED
        for name, (_, outcome, reason) in IMPORTS.items()
    }
    # Each is told at once, by its file, and once.
    told = Counter(
        text.partition("_")[2].partition(".py")[0].rpartition("_")[0] for text in fake_run.notes()
    )
    assert told == {name.partition("_")[2]: REPEATED for name in IMPORTS}
    assert result.exit_code == 1


def test_what_is_installed_beside_a_column_is_imported(die, fake_run, tmp_path):
    suite, there = tmp_path / "suite", tmp_path / "there"
    for folder in (suite, there):
        folder.mkdir()
    for helper in ("_kinds.py", "_kernel.py"):
        (suite / helper).symlink_to(SUITE / helper)
    (there / "made_up_helper.py").write_text("NAMES = ['passes']\n")
    (suite / "good.py").write_text(
        "from _kernel import kernel\nfrom made_up_helper import NAMES\n\nKERNEL = kernel('good', NAMES)\n"
    )
    assert die(suite=suite, beside={"triton-3.2.0": [there]}).exit_code == 0
    assert {record.outcome for record in whole(fake_run)} == {"pass"}


@pytest.mark.parametrize("cells", [0, 2])
def test_a_bug_beside_the_child_is_told(tmp_path, monkeypatch, cells):
    """What `runner.run` raises is a verdict; planned cells do not vanish with it."""

    def run_with_a_bug(item, spec, emit):
        for number in range(cells):
            emit(f"num_warps={number}", verdict.Verdict("pass"), 0.1)
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(runner, "run", run_with_a_bug)
    path = tmp_path / "records.jsonl"
    item = suite_plan.Item("cpu", "interpret", "bare", "softmax", "a")
    found = telling.run_and_tell(item, {}, Stream(path))
    assert (found.outcome, found.reason) == ("crash", "harness: RuntimeError")
    start, *told, end = Tail(path).finish()
    assert start == protocol.Start(item.id) and end == protocol.End(item.id, cells + 1)
    assert [cell.config for cell in told] == [*(f"num_warps={n}" for n in range(cells)), ""]
    assert told[-1].reason == "harness: RuntimeError" and "a bug of ours" in told[-1].message


def test_a_case_is_judged_and_ended_at_once(tmp_path, monkeypatch):
    """A worker that is killed between the two would leave a verdict and a death of one case."""
    written = []

    class Watched(Stream):
        def write(self, *events):
            written.append([event.EVENT for event in events])

    monkeypatch.setattr(
        runner, "run", lambda item, spec, emit: emit("", verdict.Verdict("pass"), 0.1)
    )
    item = suite_plan.Item("cpu", "interpret", "bare", "softmax", "a")
    telling.run_and_tell(item, {}, Watched(tmp_path / "records.jsonl"))
    assert written == [["start"], ["cell", "end"]]
