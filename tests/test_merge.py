"""A run in parts: every case is in one shard, and the parts merged are the run that was cut."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import types

import pytest

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import plan as suite_plan
from crosswarp.matrix.errors import EXIT_ENVIRONMENT, EXIT_USAGE, ConfigError, UsageError
from crosswarp.matrix.results.store import Environment, Store
from crosswarp.matrix.running import jobs
from crosswarp.matrix.running.merge import (
    _columns,
    _keys,
    _missing,
    _of_whole_kernel,
    _runs_taken,
    merge,
)
from crosswarp.matrix.running.plan import Work
from crosswarp.matrix.running.revision import revision

NOTHING_RAN = Work.NOTHING_RAN
COLUMNS = ("triton-3.1.0", "triton-3.2.0")
CASES = {"softmax": "abcdefg", "chunk": "abc"}
SHARDS = [(number, 3) for number in (1, 2, 3)]
UNIQUE = {"seconds"}


def items(shard=None, broken=()):
    spec = AskedSuite(modes=["bare", "shimmed"], shard=shard)
    verdict = suite_plan.Verdict("api-error", reason="ImportError", phase="import")
    return [
        item
        for kernel, cases in CASES.items()
        for item in suite_plan._items(
            spec, "compile", kernel, verdict if kernel in broken else [(case, ["*"]) for case in cases],
            {"sm_90": "", "gfx942": ""},
        )
    ]  # fmt: skip


def script(shard=None, broken=(), triton=None):
    """What a suite with these cases writes: chunk crashes bare at case b of 3.2.0."""
    steps = {}
    for column in COLUMNS:
        mine = items(shard, broken)
        version = triton or column.removeprefix("triton-")
        found = {"triton": column.removeprefix("triton-"), "triton_build": version}
        steps[column] = [
            {"event": "session", "lane": "compile", "versions": found, "planned": len(mine)},
            {"event": "target", "target": "sm_90", "supported": True, "message": ""},
        ]
        for item in mine:
            red = item.broken or (
                (column[-5:], item.kernel, item.case, item.mode) == ("3.2.0", "chunk", "b", "bare")
            )
            outcome = {"outcome": "crash", "fingerprint": "SIGABRT"} if red else {"outcome": "pass"}
            phase = "import" if item.broken else "launch"
            cell = {**vars(item), **outcome, "phase": phase, "seconds": 0.5, "config": ""}
            steps[column] += [
                {"event": "start", "item": item.id}, {"event": "cell", **cell}, {"event": "end", "item": item.id},
            ]  # fmt: skip
    return steps


@pytest.fixture
def part(fake_run, tmp_path):
    """`part("name", shard)`: a store with the run of one shard."""

    def make(name, shard=None, ids=COLUMNS, prepare=None, script_of=script, **plan):
        fake_run.database = tmp_path / f"{name}.db"
        fake_run(script_of(shard), ids, prepare=prepare, shard=shard, **plan)
        return fake_run.database

    return make


@pytest.fixture
def into(tmp_path):
    return tmp_path / "merged.db"


def content(path):
    """All that two runs of the same thing share: no dates, no durations, no order."""
    with Store(path) as store:
        run = store.run()
        return {
            "run": (run.status, run.exit_code, run.plan),
            "environments": [
                {**vars(one), "seconds": 0, "message": one.message.replace("reused", "built")}
                for one in store.environments(run.id)
            ],
            "sessions": store.sessions(run.id),
            "planned": store.planned(run.id),
            "targets": store.targets(run.id),
            "cells": {
                record.id: {k: v for k, v in vars(record).items() if k not in UNIQUE}
                for record in store.records(run.id)
            },
            "notes": sorted((note.column, note.kind, note.text) for note in store.notes(run.id)),
        }


@pytest.mark.parametrize("of", [1, 2, 3, 7, 40])
def test_every_case_is_in_one_shard_with_both_of_its_modes(of):
    dealt = [items((number, of)) for number in range(1, of + 1)]
    assert sorted(item.id for shard in dealt for item in shard) == sorted(i.id for i in items())
    for shard in dealt:
        assert sum(item.mode == "bare" for item in shard) * 2 == len(shard)
    # The seven cases of a kernel on a target: as evenly as they go.
    counts = [
        sum((i.kernel, i.target, i.mode) == ("softmax", "sm_90", "bare") for i in s) for s in dealt
    ]
    assert max(counts) - min(counts) <= 1


def test_the_shards_merged_are_the_whole_run(part, into):
    whole = part("whole")
    parts = [part(f"part{number}", (number, of)) for number, of in SHARDS]
    merged = merge(parts, into)
    assert content(into) == content(whole)
    assert (merged.exit_code, merged.missing) == (1, ())
    assert len(content(into)["cells"]) == len(items()) * len(COLUMNS)


def test_so_are_columns_on_machines_of_their_own(part, into):
    whole = part("whole")
    parts = [part(column, ids=(column,)) for column in COLUMNS]
    merge(parts, into)
    assert content(into) == content(whole)


def test_the_order_of_the_stores_does_not_matter(part, tmp_path):
    parts = [part(f"part{number}", (number, of)) for number, of in SHARDS]
    stored = []
    for order in (parts, parts[::-1]):
        merge(order, tmp_path / "merged.db")
        with Store(tmp_path / "merged.db") as store:
            stored.append(store.records(store.run().id))
    assert stored[0] == stored[1]


def test_what_every_shard_tells_is_kept_once(part, into, fake_prepare):
    """A kernel that cannot be imported, and a column without an environment."""
    options = {
        "script_of": lambda shard: script(shard, broken=("chunk",)),
        "kernels": ("softmax", "chunk_gated_delta_rule"),
    }
    whole = part("whole", prepare=fake_prepare(fail=["triton-3.1.0"]), **options)
    parts = [
        part(f"part{number}", (number, of), prepare=fake_prepare(fail=["triton-3.1.0"]), **options)
        for number, of in SHARDS
    ]
    assert merge(parts, into).exit_code == 3
    assert content(into) == content(whole)


def test_an_environment_that_one_shard_lacked(part, into, fake_prepare):
    parts = [part(f"part{n}", (n, of)) for n, of in SHARDS[:2]]
    parts.append(part("part3", SHARDS[2], prepare=fake_prepare(fail=["triton-3.1.0"])))
    assert merge(parts, into).exit_code == 3
    with Store(into) as store:
        failed = {e.column: e.message for e in store.environments(1) if e.state == "failed"}
    assert failed == {"triton-3.1.0": "shard 3 of 3: triton-3.1.0: no such wheel. Check the index."}


def test_a_shard_that_is_missing_is_said(part, into, command):
    parts = [str(part(f"part{number}", (number, 3))) for number in (1, 3)]
    status, said, _ = command("merge", *parts, "--into", str(into))
    assert status == 1
    assert "triton-3.2.0: shard 2 of 3 is missing" in said and "--shard 2/3" in said
    with Store(into) as store:
        assert store.run().status == "incomplete"
    status, shown, _ = command("report", "--store", str(into))
    assert "shard 2 of 3 is missing" in shown and "not whole: incomplete" in shown


def test_a_column_that_never_came_is_missed_by_the_plan(part, into, tmp_path, command):
    one = part("one", ids=("triton-3.1.0",))
    status, planned, _ = command("plan", "--columns", ",".join(COLUMNS), "--format", "github")
    assert status == 0
    (tmp_path / "plan.json").write_text(planned)
    arguments = ["merge", str(one), "--into", str(into), "--expect", str(tmp_path / "plan.json")]
    status, said, _ = command(*arguments)
    assert status == 1 and "triton-3.2.0: nothing of it came" in said
    with Store(into) as store:
        assert store.run().plan["columns"] == list(COLUMNS)


def test_cases_without_a_record_are_never_green(part, into):
    """As an earlier crosswarp may have left a part: planned, ended, and not there."""
    stores = [part(str(number), (number, 2), ids=["triton-3.1.0"]) for number in (1, 2)]
    with sqlite3.connect(stores[0]) as db:
        db.execute('DELETE FROM cells WHERE kernel = ? AND "case" = ?', ("softmax", "a"))
        gone = db.total_changes
    assert merge(stores, into).exit_code == 1 and gone > 0
    with Store(into) as store:
        (note,) = store.notes(1)
    assert f"{gone} of 40 planned cases have no result in the compile lane" in note.text


def test_a_part_that_was_cut_short_is_said(part, into):
    parts = [part("a", (1, 2)), part("b", (2, 2))]
    with Store(parts[0]) as store:
        store.finish(1, "cancelled", 130)
    assert merge(parts, into).exit_code == 1
    with Store(into) as store:
        assert store.run().status == "incomplete"
        assert any("not whole (cancelled)" in note.text for note in store.notes(1))


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({}, {}, "overlap: both hold the run of triton-3.1.0"),
        ({"shard": (1, 3)}, {"shard": (1, 3)}, "overlap: both hold shard 1 of 3"),
        ({"shard": (1, 3)}, {"shard": (1, 2)}, "cut into"),
        ({"shard": (1, 2)}, {}, "cut into"),
        ({"shard": (1, 2)}, {"shard": (2, 2), "modes": ("bare",)}, "modes is"),
        ({"shard": (1, 2)}, {"shard": (2, 2), "lanes": ("compile", "interpret")}, "lanes is"),
        ({"shard": (1, 2)}, {"shard": (2, 2), "emulated": ("sm_90",)}, "emulated is"),
        ({"shard": (1, 2), "commit": "a" * 40}, {"shard": (2, 2), "commit": "b" * 40}, "commit is"),
        (
            {"shard": (1, 2)},
            {"shard": (2, 2), "script_of": lambda shard: script(shard, triton="main-1")},
            "triton_build of triton-3.1.0 is",
        ),
        (
            {"shard": (1, 2)},
            {"shard": (2, 2), "script_of": lambda shard: script((1, 2))},
            "both hold triton-3.1.0/",
        ),
    ],
)
def test_what_is_no_part_of_one_run_is_refused(part, into, first, second, why):
    parts = [part("first", **first), part("second", **second)]
    with pytest.raises(UsageError, match=f"{why}.*(Leave one out|Merge what).*"):
        merge(parts, into)
    assert not into.exists()


def test_environments_that_differ_are_refused(part, into):
    parts = [part("a", (1, 2)), part("b", (2, 2))]
    with Store(parts[1]) as store:
        store.environment(1, Environment("triton-3.1.0", "main (x)", "ready", "", {}, (), 0.0))
    with pytest.raises(UsageError, match="triton-3.1.0 is triton-3.1.0 in one and main"):
        merge(parts, into)


def test_shards_that_disagree_on_a_target(part, into):
    parts = [part("a", (1, 2)), part("b", (2, 2))]
    with Store(parts[1]) as store:
        store.target(1, "triton-3.1.0", "sm_90", False, "no compiler")
    merge(parts, into)
    with Store(into) as store:
        assert store.unsupported_targets(1) == [("triton-3.1.0", "sm_90", "no compiler")]
        assert any("disagree whether it has sm_90" in note.text for note in store.notes(1))


def test_into_one_of_the_parts(part):
    path = part("one")
    with pytest.raises(UsageError, match="one of the parts"):
        merge([path], path)


def test_an_earlier_run_stays_where_it_is(part, into):
    path = part("one")
    merge([path], into)
    merge([path], into)
    with Store(into) as store:
        assert [run.id for run in store.runs()] == [2, 1]


def test_the_cell_side_is_told_of_its_shard(part, fake_run):
    part("one", (2, 3))
    (path,) = fake_run.work.glob("runs/*/triton-3.1.0.spec.json")
    assert json.loads(path.read_text())["shard"] == [2, 3]


def test_a_shard_without_a_case_is_fine_and_a_run_without_one_is_not(part, into, fake_run):
    def none(shard):
        steps = [
            {"event": "session", "lane": "compile", "versions": {"triton": "3.1.0"}, "planned": 0}
        ]
        return {"triton-3.1.0": steps}

    parts = [part(f"p{n}", (n, 2), ids=COLUMNS[:1], script_of=none) for n in (1, 2)]
    with Store(parts[0]) as store:
        assert store.run().exit_code == 0
    assert merge(parts, into).exit_code == 2


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/3/5", "1/99999"])
def test_a_shard_that_is_none(command, text):
    status, _, said = command("run", "--columns", "triton-3.2.0", f"--shard={text}")
    assert status == 2 and "write 2/5 for the second of five" in said


def test_the_plan_for_github(command):
    status, text, _ = command(
        "plan", "--format", "github", "--shards", "2", "--columns", "triton-3.[12]*", "--targets", "sm_9*",
        "--modes", "bare", "--suite", "tests/suites/hostile", "--kernels", "pass*,raises",
    )  # fmt: skip
    assert status == 0 and text.count("\n") == 1
    jobs = json.loads(text)["include"]
    assert [job["name"] for job in jobs] == [
        f"{column}-{number}-of-2" for column in COLUMNS for number in (1, 2)
    ]
    assert jobs[1]["run"] == (
        "--triton 3.1.0 --shard 2/2 --targets sm_90 --modes bare --kernels passes,raises "
        "--suite tests/suites/hostile"
    )


def test_a_plan_that_github_cannot_run(command, tmp_path):
    status, _, said = command("plan", "--columns", "all", "--shards", "100")
    assert status == 2 and "holds 256" in said
    suite = tmp_path / "my kernels"
    suite.mkdir()
    (suite / "one.py").write_text("KERNEL = 1\n")
    status, _, said = command("plan", "--suite", str(suite))
    assert status == 2 and "without spaces" in said


@pytest.mark.parametrize("text", ["", "[]", '{"include": []}', '{"include": [{"column": "x"}]}'])
def test_a_plan_that_is_none(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ConfigError, match="crosswarp plan --format github"):
        jobs.read(tmp_path / "plan.json")


def test_the_commit_of_a_suite(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(
            ["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True
        )

    suite, other = tmp_path / "suite", tmp_path / "other"
    for folder in (suite, other):
        folder.mkdir()
        (folder / "kernel.py").write_text("KERNEL = 1\n")
    assert revision(suite) == ""
    git("init", "-q")
    git("add", "suite")
    git("commit", "-qm", "one")
    commit = revision(suite)
    assert len(commit) == 40
    # In the repository, and not of it.
    assert revision(other) == ""
    (suite / "kernel.py").write_text("KERNEL = 2\n")
    assert revision(suite) == f"{commit}-dirty"


@pytest.mark.parametrize(
    ("planned", "columns"),
    [
        ((), ["triton-3.9.0", "triton-3.10.0", "here-a", "here-b"]),
        (("here-b", "triton-3.10.0"), ["here-b", "triton-3.10.0", "triton-3.9.0", "here-a"]),
        (("gone",), ["gone", "triton-3.9.0", "triton-3.10.0", "here-a", "here-b"]),
    ],
)
def test_columns_come_as_planned_and_others_by_version(planned, columns):
    shares = dict.fromkeys(("here-b", "triton-3.10.0", "here-a", "triton-3.9.0"))
    expected = [types.SimpleNamespace(column=column) for column in planned]
    assert _columns(shares, expected) == columns


@pytest.mark.parametrize(
    ("shards", "planned", "text"),
    [
        ([(1, 1)], [], ""), ([(1, 2), (2, 2)], [], ""), ([(1, 2), (2, 2)], [(1, 2)], ""),
        ([(1, 3), (3, 3)], [], "shard 2 of 3 is missing. Run it (crosswarp run --triton 3.2.0 --shard 2/3 …), and"),
        ([(2, 3)], [], "shard 1, 3 of 3 is missing. Run it (crosswarp run --triton 3.2.0 --shard 1/3 …), and"),
        ([], [(1, 2)], "nothing of it came. Run it (crosswarp run --triton 3.2.0 …), and"),
    ],
)  # fmt: skip
def test_what_is_missing_of_a_column(shards, planned, text):
    shares = {"triton-3.2.0": dict.fromkeys(shards)} if shards else {}
    expected = [types.SimpleNamespace(column="triton-3.2.0", share=share) for share in planned]
    lost = [("triton-3.2.0", f"triton-3.2.0: {text} merge again.")] if text else []
    assert _missing(shares, expected, "run") == lost


def test_a_column_in_other_shards_than_planned():
    expected = [types.SimpleNamespace(column="c", share=(1, 3))]
    with pytest.raises(UsageError, match="c was planned in 3 shards and ran in 2"):
        _missing({"c": {(1, 2): None}}, expected, "run")


@pytest.mark.parametrize(
    ("case", "phase", "whole"),
    [("*", "compile", True), ("import", "import", True), ("import", "compile", False), ("a", "import", False)],
)  # fmt: skip
def test_a_record_of_a_whole_kernel(make_record, case, phase, whole):
    assert _of_whole_kernel(make_record(case=case, phase=phase)) is whole


def test_the_run_that_a_case_was_taken_from(tmp_path):
    """The same run is in the store already, or another has its number, or the part did not say which."""
    here = types.SimpleNamespace(id=3, started="a", finished="b", argv=("run",))
    others = [
        types.SimpleNamespace(**{**vars(here), name: "x"})
        for name in ("started", "finished", "argv")
    ]
    elsewhere = types.SimpleNamespace(**{**vars(here), "id": 4})
    sources = {
        ("c", str(number)): run for number, run in enumerate([here, *others, elsewhere, None])
    }
    part = types.SimpleNamespace(reused=sources)
    assert _runs_taken([part], [here]) == {"c": {"0": 3, "1": 0, "2": 0, "3": 0, "4": 0, "5": 0}}


def test_the_keys_of_a_column_are_those_on_which_its_shards_agree():
    first = types.SimpleNamespace(
        keys={("c", "a"): "1", ("c", "b"): "2", ("d", "a"): "9", ("c", "e"): "5"}
    )
    second = types.SimpleNamespace(keys={("c", "a"): "1", ("c", "b"): "3", ("d", "a"): "9"})
    both = {(1, 2): first, (2, 2): second}
    assert _keys({"c": both}) == {"c": {("a",): "1"}}
    assert _keys({"c": {(1, 2): first}}) == {}


@pytest.fixture
def halves(tmp_path, make_record):
    """`halves({}, {...})`: stores of shard 1 and 2 of 2 by hand, each with what differs in it."""

    def make(*changes):
        paths = []
        for number, change in enumerate(changes, 1):
            cells = [make_record(case=f"c{number}", target=("sm_90", "gfx942")[number - 1])]
            values = {
                "status": "finished",
                "code": 0,
                "planned": 1,
                "cells": cells,
                "days": (number, number),
                **change,
            }
            about = {
                "columns": ["triton-3.2.0"],
                "targets": ["gfx942", "sm_90"],
                "lanes": ["compile"],
                "modes": ["bare"],
                "suite": "/one/mine",
                "shard": [number, 2],
                **values.get("plan", {}),
            }
            path = tmp_path / f"half{number}-{len(changes)}.db"
            with Store(path) as store:
                started, finished = (
                    day and f"2026-01-0{day}T00:00:00+00:00" for day in values["days"]
                )
                run = store.begin(["run"], about, started)
                store.session(
                    run, "triton-3.2.0", "compile", {"triton": "3.2.0"}, values["planned"]
                )
                store.cells(run, values["cells"])
                if finished:
                    store.finish(run, values["status"], values["code"], finished)
            paths.append(path)
        return paths

    return make


@pytest.mark.parametrize(
    ("first", "second", "status", "code", "problems"),
    [
        ({}, {}, "finished", 0, []),
        ({"days": (2, 4)}, {"days": (1, 3)}, "finished", 0, []),
        ({}, {"status": "cancelled"}, "incomplete", 1, ["a part of this run is not whole (cancelled)"]),
        ({"code": EXIT_ENVIRONMENT}, {}, "finished", EXIT_ENVIRONMENT, []),
        ({}, {"code": EXIT_ENVIRONMENT}, "finished", EXIT_ENVIRONMENT, []),
        ({"planned": 0, "cells": []}, {"planned": 0, "cells": []}, "finished", EXIT_USAGE, [NOTHING_RAN]),
        ({}, {"planned": 3}, "finished", 1, ["2 of 4 planned cases have no result in the compile lane"]),
        ({"plan": {"suite": "/two/mine"}}, {}, "finished", 0, []),
        ({"plan": {"commit": "abc"}}, {}, "finished", 0, []),
        ({}, None, "incomplete", 1, ["triton-3.2.0: shard 2 of 2 is missing"]),
    ],
)  # fmt: skip
def test_two_halves_are_one_run(halves, into, first, second, status, code, problems):
    paths = halves(*(half for half in (first, second) if half is not None))
    for order in (paths, paths[::-1]):
        merge(order, into)
    with Store(into) as store:
        older, run = store.runs()[1], store.runs()[0]
        assert (run.status, run.exit_code) == (older.status, older.exit_code) == (status, code)
        notes = [note.text for note in store.notes(run.id)]
        assert len(notes) == len(problems) and all(
            part in text for part, text in zip(problems, notes)
        )
        cells = [cell.case for cell in store.records(run.id)]
        assert cells == sorted(cells, reverse=True)
        if second is not None and not second.get("status"):
            days = [
                half.get("days", (number, number)) for number, half in ((1, first), (2, second))
            ]
            assert run.started == f"2026-01-0{min(day for day, _ in days)}T00:00:00+00:00"
            assert run.finished == f"2026-01-0{max(day for _, day in days)}T00:00:00+00:00"
        assert "shard" not in run.plan and run.plan.get("commit") == first.get("plan", {}).get(
            "commit"
        )


@pytest.mark.parametrize(
    ("plan", "what"),
    [
        ({"suite": "/one/other"}, "suite"), ({"modes": ["bare", "shimmed"]}, "modes"),
        ({"lanes": ["emulate"]}, "lanes"),
    ],
)  # fmt: skip
def test_halves_of_other_selections(halves, into, plan, what):
    with pytest.raises(UsageError, match=f"are not parts of one run: {what} is"):
        merge(halves({}, {"plan": plan}), into)


def test_halves_of_two_commits(halves, into):
    with pytest.raises(UsageError, match="commit is abc in one and def in the other"):
        merge(halves({"plan": {"commit": "abc"}}, {"plan": {"commit": "def"}}), into)
