"""A run on many machines: how it is cut, what is gathered, what is missing, and going on with it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from crosswarp.matrix.dispatch import engines, part, shares
from crosswarp.matrix.dispatch.part import Died, Ended
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results.seed import seed
from crosswarp.matrix.results.store import Store
from crosswarp.reports import cli
from crosswarp.reports.commands import dispatched, options, run

FAKE = str(Path(__file__).with_name("fake_command.py"))
CASES = 7


def cell(number, **changes):
    return {
        "case": {
            "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "softmax", "case": f"c{number}",
            "config": "", "outcome": "pass", "seconds": 0.5, **changes,
        }
    }  # fmt: skip


SESSION = {"event": "session", "lane": "compile", "versions": {"triton": "3.2.0"}, "planned": 0}
TARGET = {"event": "target", "target": "sm_90", "supported": True, "message": ""}
SCRIPT = [
    SESSION,
    TARGET,
    *(cell(n, outcome="mismatch" if n == 3 else "pass") for n in range(CASES)),
]
WHAT = ("--columns", "3.2.0", "--targets", "sm_90", "--lanes", "compile", "--modes", "bare")


def content(path, run=None):
    """All that two runs of the same thing share: no dates, no durations."""
    with Store(path) as store:
        one = store.run(run)
        return {
            "run": (
                one.status,
                one.exit_code,
                {k: v for k, v in one.plan.items() if k != "commit"},
            ),
            "environments": [(e.column, e.label, e.state) for e in store.environments(one.id)],
            "sessions": (store.sessions(one.id), store.planned(one.id), store.targets(one.id)),
            "cells": {r.id: {**vars(r), "seconds": 0} for r in store.records(one.id)},
            "keys": store.keys_of(one.id),
            "taken": store.reused_items(one.id),
            "notes": sorted((n.column, n.kind, n.text) for n in store.notes(one.id)),
        }


def in_this_process(task):
    """As `part.work`, without the seconds that a process takes to import crosswarp."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "part.db")
        if task.seed:
            path.write_bytes(task.seed)
        status = cli.main(["run", *task.words, "--store", str(path)])
        return Ended(task.name, status, part._made(path, task.begun), "", "here", 1.0)


class Inline:
    """An engine that runs each share here, one after the other; those that `dies` names have no part."""

    def __init__(self, dies=(), stop_after=None):
        self.dies, self.stop_after = dies, stop_after
        self.ran: list[str] = []
        self.cancelled = False

    def __call__(self, tasks):
        for task in tasks:
            if len(self.ran) == self.stop_after:
                raise KeyboardInterrupt
            self.ran.append(task.name)
            yield (
                task,
                Died(task.name, "node down") if task.name in self.dies else in_this_process(task),
            )

    def cancel(self):
        self.cancelled = True


@pytest.fixture
def here(tmp_path, monkeypatch, fake_columns):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    monkeypatch.setenv("FAKE_SCRIPT", str(script))
    monkeypatch.setattr(dispatched, "COMMAND", (FAKE,))
    return tmp_path


@pytest.fixture
def go(here, command, monkeypatch):
    """`go(engine, *options)`: exit status and what is said of `crosswarp run --on` with that engine."""

    def call(engine, *options, shards=2, store="store.db"):
        cut = ["--shards", str(shards)] if shards else []
        monkeypatch.setattr(engines, "engine", lambda *given: engine)
        status, out, err = command(
            "run", *WHAT, "--on", "ray", *cut, "--store", str(here / store), "--work",
            str(here / "work"), *options,
        )  # fmt: skip
        return status, out + err

    return call


def test_parts_are_gathered_merged_and_taken_from(go, here):
    engine = Inline()
    status, said = go(engine)
    assert status == 1 and "2 of 2 shards" in said
    assert engine.ran == ["triton-3.2.0-1-of-2", "triton-3.2.0-2-of-2"]
    found = content(here / "store.db")
    assert found["run"][:2] == ("finished", 1) and len(found["cells"]) == CASES
    assert found["sessions"][1] == {("triton-3.2.0", "compile"): CASES}
    # The parts are gone, because the store has them; and what did not change comes from there, wherever it is cut.
    assert not list((here / "work/dispatched").iterdir())
    (here / "script.json").write_text(json.dumps(SCRIPT[:2] + [cell(n) for n in range(CASES)]))
    _, said = go(Inline(), shards=3)
    assert set(content(here / "store.db")["taken"].values()) == {1}
    assert f"{CASES} of {CASES} cells from run 1" in said
    assert content(here / "store.db")["cells"] == found["cells"]
    status, _ = go(Inline(), "--fresh")
    assert status == 0 and content(here / "store.db")["taken"] == {}


def test_a_death_is_a_result_and_the_same_command_goes_on(go, here):
    lost = "triton-3.2.0-2-of-2"
    status, said = go(Inline(dies=[lost]))
    assert status == 1 and "1 of 2 shards came" in said and "node down" in said
    found = content(here / "store.db")
    assert found["run"][0] == "incomplete" and any(
        "shard 2 of 2 is missing" in n[2] for n in found["notes"]
    )
    again = Inline()
    go(again)
    assert again.ran == [lost]
    go(Inline(), store="whole.db")
    assert content(here / "store.db") == content(here / "whole.db")


def test_ctrl_c_keeps_what_had_come(go, here):
    stopped = Inline(stop_after=1)
    status, said = go(stopped)
    assert status == 130 and stopped.cancelled and "1 of 2 shards are kept" in said
    again = Inline()
    go(again)
    assert len(again.ran) == 1 and len(content(here / "store.db")["cells"]) == CASES


def test_other_files_are_another_run(go, here, monkeypatch):
    go(Inline(dies=["triton-3.2.0-2-of-2"]))
    monkeypatch.setattr("crosswarp.matrix.environments.lockkey.code", lambda suite: "edited")
    again = Inline()
    go(again)
    assert len(again.ran) == 2


def test_a_share_that_makes_no_run_says_why(go, monkeypatch):
    monkeypatch.setattr(dispatched, "COMMAND", ("-c", "import sys; sys.exit('no crosswarp here')"))
    status, said = go(lambda tasks: ((task, part.work(task)) for task in tasks))
    assert status == 3 and "no crosswarp here" in said


# How it is cut


def test_shares_are_as_long_as_each_other_and_the_longest_comes_first():
    costs = {"triton-3.1.0": 100.0, "triton-3.2.0": 3000.0, "triton-3.9.0": 700.0, "main": None}
    cut = shares.cut(costs, ["--targets", "sm_90"])
    assert [share.job.column for share in cut[:1]] == ["main"]
    counts = {column: sum(s.job.column == column for s in cut) for column in costs}
    assert counts == {"triton-3.1.0": 1, "triton-3.2.0": 10, "triton-3.9.0": 3, "main": 1}
    known = [share.cost for share in cut[1:]]
    assert known == sorted(known, reverse=True) and max(known) <= shares.EACH
    assert {s.job.share[1] for s in shares.cut(costs, [], shards=4)} == {4}


def test_the_store_says_what_a_column_costs(go, here, monkeypatch):
    seconds = [cell(n, seconds=shares.EACH / 3) for n in range(6)]
    (here / "script.json").write_text(json.dumps([SESSION, *seconds]))
    go(Inline())
    later = Inline()
    monkeypatch.setattr(shares, "EACH", shares.EACH / 2)
    go(later, "--fresh", shards=None)
    assert len(later.ran) == 4


def test_a_seed_has_one_column_under_the_numbers_of_its_runs(go, here, tmp_path):
    go(Inline())
    assert seed(here / "store.db", "triton-3.2.0", tmp_path / "seed.db") == 1
    assert seed(here / "store.db", "triton-3.1.0", tmp_path / "other.db") == 0
    assert not (tmp_path / "other.db").exists()
    assert content(tmp_path / "seed.db", 1)["cells"] == content(here / "store.db")["cells"]


@pytest.mark.parametrize(
    "options, told",
    [
        (["--on", "kubernetes"], "there is no such engine"),
        (["--on", "ray", "--here"], "Leave out --here"),
        (["--on", "ray", "--shard", "1/2"], "Leave out --shard"),
        (["--workers", "2"], "is of --on"),
    ],
)
def test_what_goes_together(command, here, options, told):
    status, _, said = command("run", *WHAT, *options)
    assert status == 2 and told in said


def test_an_engine_that_is_not_installed_is_told_how(monkeypatch, tmp_path):
    for name in ("ray", "submitit"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("on_ray", "on_slurm"):
        monkeypatch.delitem(sys.modules, f"crosswarp.matrix.dispatch.{name}", raising=False)
    for name in ("ray", "slurm"):
        with pytest.raises(UsageError, match=rf"crosswarp\[{name}\]"):
            engines.engine(name, tmp_path, 0, 1)


def test_nothing_is_imported_that_was_not_asked_for(tmp_path):
    names = "{'ray', 'submitit', 'watchfiles'}"
    asked = (
        f"import sys; from crosswarp.reports.commands import run; print({names} & {{*sys.modules}})"
    )
    assert os.popen(f'{sys.executable} -c "{asked}"').read().strip() == "set()"


# GitHub


def test_a_workflow_is_not_written_but_copied(command, here):
    """It held --requires unquoted in shell: `einops>=0.7` redirected into a file."""
    status, out, said = command("run", *WHAT, "--on", "github", "--requires", "einops>=0.7")
    assert (status, out) == (2, "") and "examples/github-fan-out.yml" in said


# Slurm, whose commands are stood in for


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """sbatch, srun, sacct and scancel that run an array here, in the background."""
    folder = tmp_path / "bin"
    folder.mkdir()
    source = Path(__file__).with_name("fake_slurm.py")
    for name in ("sbatch", "srun", "sacct", "scancel", "squeue"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {source} {name} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(tmp_path / "slurm-state"))
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    return tmp_path / "slurm-state"


def test_a_slurm_array(here, command, slurm):
    arguments = (
        "run", *WHAT, "--on", "slurm", "--shards", "2", "--workers", "1", "--store", str(here / "store.db"), "--work",
        str(here / "work"),
    )  # fmt: skip
    # The second task is lost with its node.
    (slurm.parent / "slurm-lose").write_text("1")
    status, out, said = command(*arguments)
    assert status == 1 and "1 of 2 shards came" in out and "NODE_FAIL" in said
    array = (slurm / "sbatch").read_text()
    assert "--array=0-1%1" in array and "--no-requeue" in array
    status, _, said = command(*arguments)
    assert "1 of 2 shards are there" in said
    found = content(here / "store.db")
    assert found["run"][0] == "finished" and len(found["cells"]) == CASES


def test_a_task_that_left_the_queue_without_a_result_is_lost(slurm):
    """As on a real Slurm 22.05 that keeps no accounts, where sacct only says so."""
    from crosswarp.matrix.dispatch import on_slurm

    class Job:
        def __init__(self, id, state="UNKNOWN", done=False):
            self.job_id, self.state, self.done = id, state, lambda: done

    slurm.mkdir()
    for name, state in (("7_0", "RUNNING"), ("7_1", "FAILED"), ("7_3", "PENDING")):
        (slurm / name).write_text(state)
    jobs = [Job("7_0"), Job("7_1"), Job("7_2", done=True), Job("7_3"), Job("7_4", "RUNNING")]
    engine = on_slurm.OnSlurm(slurm, 0, 1)
    engine._running = dict.fromkeys(jobs)
    assert [job.job_id for job in engine._left()] == ["7_1"]
    # Nobody remembers the array at all.
    for path in slurm.glob("7_*"):
        path.unlink()
    assert [job.job_id for job in engine._left()] == ["7_0", "7_1", "7_3"]


def test_a_cluster_that_is_not_there(here, command, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    status, _, said = command("run", *WHAT, "--on", "slurm", "--work", str(here / "work"))
    assert status == 3 and "sbatch" in said


# Of the options of `run`: what a shard is given resolved (`asked.words`), and what is of this machine alone.
RESOLVED = {
    "quick", "columns", "targets", "lanes", "modes", "kernels", "cases", "sanitize", "sample", "estimate", "batch",
    "warps", "all_cases",
    "suite", "main", "nightly_index", "columns_file", "targets_file", "issues_file",
}  # fmt: skip
OF_THIS_MACHINE = {
    "help", "shard", "here", "dry_run", "watch", "environments", "on", "shards", "workers", "envs", "jobs", "work",
    "store", "verbose",
}  # fmt: skip


def _options():
    parser = argparse.ArgumentParser()
    run.add(parser)
    return parser


def test_each_option_of_a_run_is_passed_on_or_is_of_this_machine():
    """One that nobody has decided on would be lost on the way to the workers."""
    parser = _options()
    passed = {one.dest for one in parser._actions if getattr(one, "to_workers", False)}
    every = {one.dest for one in parser._actions}
    assert every - passed == RESOLVED | OF_THIS_MACHINE
    assert {"xfail", "baseline", "fail_on", "requires", "fresh", "time_limit"} <= passed


def test_what_is_passed_on_is_as_it_was_written():
    parser = _options()
    words = [
        "--requires",
        "einops>=0.7",
        "--requires",
        "numpy",
        "--fresh",
        "--xfail",
        "a*/b",
        "--fail-on",
        "compat",
    ]
    given = parser.parse_args([*words, "--jobs", "3"])
    told = options.for_workers(given, given.declared)
    again = parser.parse_args(told)
    assert "--jobs" not in told
    for name in ("requires", "fresh", "xfail", "fail_on", "time_limit", "take_all", "baseline"):
        assert getattr(again, name) == getattr(given, name), name
