"""`crosswarp run --dry-run`: what it would be, from the store or from measured defaults, and nothing is built."""

from __future__ import annotations

import re
import shutil
from collections import namedtuple

import pytest

from crosswarp import kernels
from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.facts import columns, costs, repeats, targets
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import plan
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.findings import estimate

CHOSEN = ("--columns", "triton-3.2.0,triton-3.6.0", "--targets", "sm_90", "--lanes", "compile")
# Of `nox -s matrix -- --fresh` on two idle cores (f67dc31b, 2026-11-28): each column, and the cells of each lane.
COLUMN_SECONDS = {
    "triton-2.3.1": 50,
    "triton-3.0.0": 65,
    "triton-3.1.0": 62,
    "triton-3.2.0": 68,
    "main": 92,
}
LANE_SECONDS = {"compile": 388, "emulate": 109, "interpret": 59}


@pytest.fixture
def dry(command, tmp_path, monkeypatch):
    disk = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: disk(50_000_000_000))
    work, store = tmp_path / "work", tmp_path / "store.db"

    def call(*arguments):
        where = ("--work", str(work), "--store", str(store))
        status, out, err = command("run", "--dry-run", *CHOSEN, *where, *arguments)
        assert status == 0, err
        assert max(map(len, out.splitlines())) <= 80
        return " ".join(out.split())

    call.store, call.work = store, work
    return call


def test_what_no_store_knows_has_a_source_and_a_date(dry):
    lane = costs.load().lanes.compile
    out = dry("--jobs", "4")
    assert (
        f"2 columns, about {lane.cases * 2 * 2:,} cells" in out and "11 GB of environments" in out
    )
    assert f"triton-3.2.0 to build {lane.cases * 2}" in out
    assert "2026-11-22" in out and "du -sm" in out
    half = dry("--jobs", "4", "--modes", "bare")
    assert f"about {lane.cases * 2:,} cells" in half
    one = dry("--kernels", kernels.SUITE[0])
    assert f"about {round(lane.cases * 2 / len(kernels.NAMES)) * 2} cells" in one
    assert not dry.store.exists() and not dry.work.exists()


def test_a_run_that_names_nothing_has_the_cases_that_are_no_repeats(dry, command):
    def cells(*arguments):
        where = (
            "--work",
            str(dry.work),
            "--store",
            str(dry.store),
            "--triton",
            "3.9.0",
            *arguments,
        )
        out = " ".join(command("run", "--dry-run", "--jobs", "1", *where)[1].split())
        return re.search(r"about ([0-9,]+) cells.* (\d+) min", out)

    known = costs.load().lanes
    some, all_of_them = cells(), cells("--all-cases")
    count = 2 * (3 * known.compile.cases + known.emulate.cases + known.interpret.cases)
    left_out = sum(len(cases) for places in repeats.load().values() for cases in places.values())
    assert all_of_them[1] == f"{count:,}" and some[1] == f"{count - 2 * left_out:,}"
    assert int(some[2]) < int(all_of_them[2]) / 2


def test_the_columns_and_lanes_of_the_main_job_take_what_was_measured():
    on = targets.choose(targets.load(), [targets.DEFAULT_PROFILE])
    lanes, emulated = plan.default_lanes(on)
    table = tuple(columns.choose(columns.load(), [*COLUMN_SECONDS]))
    work = Suite(left_out=repeats.load())
    planned = plan.Plan(work, table, on, lanes=lanes, emulated=emulated, jobs=2)
    of_columns = estimate.estimate(planned, None, costs.load(), {}, 0).columns
    seconds = {column.column: column.seconds for column in of_columns}
    assert seconds == pytest.approx(COLUMN_SECONDS, rel=0.25)
    of_lanes = {
        lane: sum(column.lanes[lane].cases * column.lanes[lane].seconds for column in of_columns)
        for lane in lanes
    }
    scale = sum(LANE_SECONDS.values()) / sum(of_lanes.values())
    shares = {lane: of_lane * scale for lane, of_lane in of_lanes.items()}
    assert shares == pytest.approx(LANE_SECONDS, rel=0.25)


def test_a_shard_has_its_part_of_the_cases_of_each_lane():
    def cases(shard):
        table = columns.choose(columns.load(), ["triton-3.2.0"])
        of = {"sm_80": targets.load()["sm_80"]}
        planned = plan.Plan(Suite(), tuple(table), of, lanes=("compile", "emulate"), shard=shard)
        lanes = estimate.estimate(planned, None, costs.load(), {}, 0).columns[0].lanes
        return {lane: counted.cases for lane, counted in lanes.items()}

    whole = cases(None)
    assert cases((1, 4)) == {lane: count / 4 for lane, count in whole.items()} != {}


def test_a_release_may_take_less_than_the_others(dry):
    def minutes(release):
        out = dry("--jobs", "1", "--columns", release, "--modes", "bare")
        return int(re.search(r"to build [0-9]+ ([0-9]+) min", out)[1])

    known = costs.load().releases
    assert (
        known.factor("here-triton-2.3.1")
        == known.factors["2.3.1"]
        < 1
        == known.factor("triton-3.9.0")
    )
    assert minutes("triton-2.3.1") < minutes("triton-3.9.0")


def test_the_store_knows_better(dry, make_record):
    with Store(dry.store) as store:
        run = store.begin(["run"], {"columns": ["triton-3.2.0"]})
        store.cells(run, [make_record(case=f"c{n}", seconds=60.0) for n in range(7)])
        store.cells(run, [make_record(target="sm_80", seconds=60.0)])
        store.finish(run, "finished", 0)
        other = store.begin(["run"], {"columns": ["triton-3.2.0"], "suite": "theirs"})
        store.cells(other, [make_record(case=f"o{n}") for n in range(99)])
        store.finish(other, "finished", 0)
    out = dry("--jobs", "2", "--columns", "triton-3.2.0")
    assert "triton-3.2.0 to build 7 4 min" in out and "as in run 1 of the store" in out
    assert "triton-3.6.0 to build 640" in out


def test_what_is_built_needs_no_disk_and_one_at_a_time_needs_little(dry, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Builder, "is_ready", lambda self, column: column.id == "triton-3.2.0")
        out = dry()
    assert "5.6 GB of environments" in out and "triton-3.2.0 there" in out
    # An interpreter alone: `run` would build it anew.
    python = dry.work / "envs" / "triton-3.2.0" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("")
    out = dry()
    assert "11 GB of environments" in out and "triton-3.2.0 to build" in out
    assert "There is not enough room: 50 GB" in dry("--columns", "all")
    out = dry("--columns", "all", "--environments", "remove")
    assert "5.6 GB of environments" in out and "not enough" not in out


def test_of_another_suite_nobody_knows_its_cases(dry, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.py").write_text("KERNEL = None\n")
    out = dry("--suite", str(tmp_path / "mine"))
    assert "cells that nobody has counted yet" in out and "triton-3.2.0 to build ? ?" in out
