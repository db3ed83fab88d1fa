"""A whole run with a fake cell process: everything that can go wrong between the host and a column."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp.matrix.cell.asked import AskedSuite, read
from crosswarp.matrix.environments import locks
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.errors import SUITE_FAILED, SUITE_WRONG_VERSIONS, Cancelled
from crosswarp.matrix.results.store import Store


def session(planned, triton="3.2.0", lane="compile"):
    return {"event": "session", "lane": lane, "versions": {"triton": triton}, "planned": planned}


def item(case, mode="bare"):
    return f"sm_90/compile/{mode}/softmax/{case}"


def start(case):
    return {"event": "start", "item": item(case)}


def end(case):
    return {"event": "end", "item": item(case)}


def cell(case, **changes):
    return {
        "event": "cell", "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "softmax", "case": case,
        "config": "", "outcome": "pass", "seconds": 0.1, **changes,
    }  # fmt: skip


def whole(case, **changes):
    return [start(case), cell(case, **changes), end(case)]


def outcomes(records):
    return {record.case: (record.outcome, record.reason) for record in records}


def test_all_green(fake_run):
    result = fake_run([session(2), *whole("a"), *whole("b")])
    assert result.exit_code == 0
    assert outcomes(fake_run.records()) == {"a": ("pass", ""), "b": ("pass", "")}
    assert fake_run.records()[0].versions == {"triton": "3.2.0"}
    with Store(fake_run.database) as store:
        assert (store.run().status, store.run().exit_code) == ("finished", 0)


def test_a_red_cell_that_no_issue_explains(fake_run):
    result = fake_run([session(1), *whole("a", outcome="crash", fingerprint="SIGABRT")])
    assert result.exit_code == 1
    assert [record.case for record in result.verdict.unexpected_red] == ["a"]


def test_a_known_issue_is_written_into_the_record(fake_run, make_issue):
    issue = make_issue(
        kernels=["softmax"], configs=["*"], fingerprint="SIGABRT", case={"kernel": "softmax"}
    )
    result = fake_run(
        [session(1), *whole("a", outcome="crash", fingerprint="SIGABRT")], issues=[issue]
    )
    assert result.exit_code == 0
    assert [record.issue for record in fake_run.records()] == ["triton-1"]


def test_an_issue_that_no_longer_reproduces(fake_run, make_issue):
    issue = make_issue(kernels=["softmax"], configs=["*"], case={"kernel": "softmax"})
    assert fake_run([session(1), *whole("a")], issues=[issue]).exit_code == 1


def test_a_process_that_is_killed_in_the_middle_of_a_case(fake_run):
    script = [session(2), *whole("a"), start("b"), {"say": "about to go"}, {"kill": signal.SIGKILL}]
    result = fake_run(script)
    assert result.exit_code == 1
    records = fake_run.records()
    assert outcomes(records) == {"a": ("pass", ""), "b": ("crash", "worker died")}
    assert "SIGKILL" in records[1].message and "about to go" in records[1].message


def test_a_worker_that_died_while_others_went_on(fake_run):
    result = fake_run(
        [session(2), start("b"), cell("b", config="num_warps=2"), *whole("a"), {"exit": 0}]
    )
    assert result.exit_code == 1
    assert [(r.case, r.config, r.outcome) for r in fake_run.records()] == [
        ("b", "num_warps=2", "pass"),
        ("a", "", "pass"),
        ("b", "", "crash"),
    ]


def test_a_worker_that_died_after_its_cell_was_written_is_still_recorded(fake_run):
    fake_run([session(1), start("a"), cell("a"), {"kill": signal.SIGSEGV}])
    assert [(r.config, r.outcome) for r in fake_run.records()] == [
        ("", "pass"),
        ("worker died", "crash"),
    ]


def test_planned_cases_that_never_ran_are_a_problem_even_at_exit_0(fake_run):
    result = fake_run([session(3), *whole("a")])
    assert result.exit_code == 1
    assert any("2 of 3 planned cases did not run" in note for note in fake_run.notes())


def test_the_suite_exits_with_an_error_though_all_ran(fake_run):
    result = fake_run([session(1), *whole("a"), {"exit": 7}])
    assert result.exit_code == 1
    assert any(re.search("exit status 7(?!:)", note) for note in fake_run.notes())


def test_a_suite_that_does_not_start_is_an_environment_failure(fake_run):
    result = fake_run(
        [{"say": "ModuleNotFoundError: No module named 'pytest'"}, {"exit": 1}],
        kernels=("softmax",),
    )
    assert result.exit_code == 3
    assert {(r.outcome, r.reason) for r in fake_run.records()} == {
        ("not-run", "suite did not start")
    }
    assert any("No module named 'pytest'" in note for note in fake_run.notes())


def test_torn_and_broken_lines(fake_run):
    script = [
        session(1),
        {"raw": "\xff\xfe nonsense\n"},
        *whole("a"),
        {"raw": '{"event": "cell", "targ'},
    ]
    result = fake_run(script)
    assert outcomes(fake_run.records()) == {"a": ("pass", "")}
    assert result.exit_code == 1
    assert any("2 lines of its results could not be read" in note for note in fake_run.notes())


@pytest.mark.parametrize(
    "event",
    [
        {"event": "cell", "target": "sm_90"},
        {"event": "start"},
        {"event": "session", "lane": "compile", "planned": "many"},
        {"event": "cheer"},
        {"event": "target", "target": "sm_90"},
    ],
)
def test_an_event_that_makes_no_sense_is_counted_not_believed(fake_run, event):
    result = fake_run([session(1), event, *whole("a")])
    assert outcomes(fake_run.records()) == {"a": ("pass", "")}
    assert result.exit_code == 1


def test_the_same_cell_twice(fake_run):
    result = fake_run([session(1), start("a"), cell("a", outcome="crash"), cell("a"), end("a")])
    assert outcomes(fake_run.records()) == {"a": ("crash", "")}
    assert result.exit_code == 1
    assert any("reported twice" in note for note in fake_run.notes())


def test_an_item_that_ends_twice_is_counted_not_believed(fake_run):
    result = fake_run([session(1), *whole("a"), end("a")])
    assert outcomes(fake_run.records()) == {"a": ("pass", "")}
    assert result.exit_code == 1
    assert any("could not be read" in note for note in fake_run.notes())


def test_an_item_that_nobody_offered_is_not_taken(fake_run):
    result = fake_run([session(1), {"event": "taken", "item": item("a")}])
    assert result.exit_code == 1
    assert any("could not be read" in note for note in fake_run.notes())


def test_wrong_versions_by_exit_status(fake_run):
    lines = ["a line of pytest", "another", "triton 3.1.0, planned was 3.2.0", "Nothing ran", "Bye"]
    result = fake_run([*({"say": line} for line in lines), {"exit": SUITE_WRONG_VERSIONS}])
    assert result.exit_code == 3
    records = fake_run.records()
    assert records and {(r.outcome, r.reason) for r in records} == {("not-run", "wrong versions")}
    # The last three lines of the log, and the way out.
    assert records[0].message.startswith("\n".join(lines[-3:]) + ". Delete ")


@pytest.mark.parametrize("status", [1, 2, 3, 4, SUITE_FAILED])
def test_another_status_is_not_taken_for_wrong_versions(fake_run, status):
    """4 is pytest's own for a usage error, and the command line's for a store."""
    result = fake_run([session(1), *whole("a"), {"exit": status}])
    assert result.exit_code == 1
    assert outcomes(fake_run.records()) == {"a": ("pass", "")}
    assert any(f"exit status {status}" in note for note in fake_run.notes())
    assert not any("wrong versions" in note for note in fake_run.notes())


def test_wrong_versions_are_noticed_by_the_host_too(fake_run, tmp_path):
    # The cell side would go on for ever; the host does not let it.
    result = fake_run([session(1, triton="3.1.0"), {"wait": str(tmp_path / "never")}])
    assert result.exit_code == 3
    assert {r.reason for r in fake_run.records()} == {"wrong versions"}


def test_a_column_off_its_versions_is_stored_as_such(fake_run):
    from_fixture = type(fake_run).__call__.__globals__["FakePrepare"]

    class Prepare(from_fixture):
        def __call__(self, column):
            made = super().__call__(column)
            return replace(made, overrides=("torch==2.5.1",), notes=("off the versions",))

    name = "triton-3.2.0+torch-2.5.1+python-3.12"
    expect = {"triton": "3.2.0", "python": "3.12"}
    script = [session(1), *whole("a")]
    script[0]["versions"]["python"] = "3.12.1"
    assert fake_run(script, ids=(name,), prepare=Prepare(expect=expect)).exit_code == 0
    with fake_run.store() as store:
        (environment,) = store.environments(1)
    assert (environment.column, environment.overrides) == (name, ("torch==2.5.1",))
    assert fake_run.notes() == ["off the versions"]
    script[0]["versions"]["python"] = "3.11.7"
    assert fake_run(script, ids=(name,), prepare=Prepare(expect=expect)).exit_code == 3
    (told,) = [r.message for r in fake_run.records(2)[-1:]]
    assert "python 3.11.7 was imported, planned was 3.12" in told


def test_a_local_build_of_the_planned_version_is_the_planned_version(fake_run):
    assert fake_run([session(1, triton="3.2.0+git1234"), *whole("a")]).exit_code == 0


def test_an_environment_that_fails_costs_the_other_columns_nothing(fake_run):
    from_fixture = type(fake_run).__call__.__globals__["FakePrepare"]
    result = fake_run(
        {"triton-3.2.0": [session(1), *whole("a")]}, ids=("triton-3.1.0", "triton-3.2.0"),
        prepare=from_fixture(fail=("triton-3.1.0",)),
    )  # fmt: skip
    assert result.exit_code == 3
    records = fake_run.records()
    assert {r.reason for r in records if r.column == "triton-3.1.0"} == {"environment failed"}
    assert {(r.kernel, r.mode) for r in records if r.column == "triton-3.1.0"} >= {
        ("chunk_gated_delta_rule", "bare"),
        ("chunk_gated_delta_rule", "shimmed"),
    }
    assert outcomes(r for r in records if r.column == "triton-3.2.0") == {"a": ("pass", "")}
    with Store(fake_run.database) as store:
        assert [e.state for e in store.environments(1)] == ["failed", "ready"]


def test_a_run_in_which_nothing_ran_is_not_green(fake_run):
    assert fake_run([session(0)]).exit_code == 2
    assert fake_run([session(1), *whole("a", outcome="unsupported")]).exit_code == 2


def test_the_column_s_time_limit(fake_run, tmp_path):
    result = fake_run(
        [session(2), *whole("a"), start("b"), {"wait": str(tmp_path / "never")}], column_limit=0
    )
    assert result.exit_code == 1
    # How far it came in that time is not for a test to say; what it left open is red.
    assert outcomes(fake_run.records()).get("b", ("timeout", "column limit")) == (
        "timeout",
        "column limit",
    )
    assert any("--column-limit" in note for note in fake_run.notes())


def test_what_a_target_and_a_note_say_is_kept(fake_run):
    fake_run([
        session(1), {"event": "target", "target": "sm_100", "supported": False, "message": "ptxas"},
        {"event": "note", "text": "dropped num_warps=8"}, *whole("a"),
    ])  # fmt: skip
    with Store(fake_run.database) as store:
        assert store.unsupported_targets(1) == [("triton-3.2.0", "sm_100", "ptxas")]
    assert fake_run.notes() == ["dropped num_warps=8"]
    assert "dropped num_warps=8" in fake_run.said.getvalue()


def test_the_spec_is_what_the_contract_says(fake_run):
    fake_run([session(1), *whole("a")])
    (path,) = (fake_run.work / "runs").glob("*/triton-3.2.0.spec.json")
    spec = read(path, AskedSuite)
    assert spec.expect == {"triton": "3.2.0"}
    assert spec.targets["sm_90"]["warp_size"] == 32
    assert (spec.column, spec.lanes, spec.modes) == (
        "triton-3.2.0", ["compile"], ["bare", "shimmed"],
    )  # fmt: skip


HOST = """
    import json, sys
    from pathlib import Path
    import pytest
    # The fixtures' own classes, outside of pytest.
    import importlib.util
    spec = importlib.util.spec_from_file_location("host_conftest", sys.argv[1])
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    from crosswarp.matrix.errors import CrosswarpError
    run = conftest.FakeRun(Path(sys.argv[2]), pytest.MonkeyPatch())
    try:
        sys.exit(run(json.loads(Path(sys.argv[3]).read_text()), ids=tuple(sys.argv[4:])).exit_code)
    except CrosswarpError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
"""


@pytest.fixture
def host(tmp_path):
    """Starts a run in a process of its own, and waits until its cell side has reached the `touch` step."""
    started = []

    def begin(script, *ids):
        reached = tmp_path / "reached"
        steps = [{**s, "touch": str(reached)} if "touch" in s else s for s in script]
        (tmp_path / "steps.json").write_text(json.dumps({ids[0]: steps}))
        conftest = Path(__file__).with_name("conftest.py")
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(HOST), conftest, tmp_path, tmp_path / "steps.json", *ids],
            stderr=subprocess.PIPE, text=True,
            # As a terminal starts it: under nohup it would ignore that signal.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )  # fmt: skip
        started.append(process)
        wait_for(reached.exists)
        return process, int(wait_for(reached.read_text))

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_for(question, seconds=120):
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return answer


def gone(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in ("Z", "X")


def test_sigkill_of_the_host_half_way(host, fake_run, tmp_path):
    script = [
        session(3),
        *whole("a"),
        *whole("b"),
        start("c"),
        {"touch": ""},
        {"wait": str(tmp_path / "never")},
    ]
    process, suite = host(script, "triton-3.2.0")
    process.kill()
    process.wait()
    # The cell side does not outlive it.
    wait_for(lambda: gone(suite))

    result = fake_run([session(1), *whole("d")])
    assert result.exit_code == 0
    assert "The last run (1, started" in fake_run.said.getvalue()
    assert "was cut off; the 2 cells that it had finished are kept" in fake_run.said.getvalue()
    assert outcomes(fake_run.records(1)) == {"a": ("pass", ""), "b": ("pass", "")}
    with Store(fake_run.database) as store:
        assert [(run.id, run.status) for run in store.runs()] == [(2, "finished"), (1, "cut off")]
    # Said once, not for ever.
    fake_run([session(1), *whole("d")])
    assert fake_run.said.getvalue().count("was cut off") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_keeps_what_had_finished(host, fake_run, tmp_path, number):
    first = session(2, triton="3.1.0")
    script = [first, *whole("a"), start("b"), {"touch": ""}, {"wait": str(tmp_path / "never")}]
    process, suite = host(script, "triton-3.1.0", "triton-3.2.0")
    process.send_signal(number)
    _, printed = process.communicate(timeout=120)
    assert process.returncode == Cancelled.exit_code == 130
    assert "crosswarp report --run 1" in printed
    assert gone(suite)
    records = fake_run.records(1)
    first = [record for record in records if record.column == "triton-3.1.0"]
    assert outcomes(first) == {"a": ("pass", ""), "b": ("not-run", "cancelled")}
    second = [record for record in records if record.column == "triton-3.2.0"]
    assert second and {(r.outcome, r.reason) for r in second} == {("not-run", "cancelled")}
    with Store(fake_run.database) as store:
        assert (store.run().status, store.run().exit_code) == ("cancelled", 130)
        assert store.mark_cut_off() == []


def test_looking_at_a_run_that_was_cut_off_takes_nothing_from_the_next(host, fake_run, tmp_path):
    process, _ = host(
        [session(2), *whole("a"), start("b"), {"touch": ""}, {"wait": str(tmp_path / "never")}],
        "triton-3.2.0",
    )
    process.kill()
    process.wait()
    with Store(fake_run.database, read_only=True) as store:
        assert [run.status for run in store.runs()] == ["cut off"]
    fake_run([session(1), *whole("c")])
    assert "The last run (1, started" in fake_run.said.getvalue()


def test_two_stores_in_one_work_folder_do_not_mix(fake_run):
    fake_run([session(1), *whole("a")])
    fake_run.database = fake_run.folder / "other.db"
    assert fake_run([session(1), *whole("b")]).exit_code == 0
    assert outcomes(fake_run.records()) == {"b": ("pass", "")}


def test_fresh_forgets_what_was_compiled(fake_run):
    kept = fake_run.work / "cache" / "triton-3.2.0" / "kernel.cubin"
    kept.parent.mkdir(parents=True)
    kept.write_text("")
    fake_run([session(1), *whole("a")])
    assert kept.exists()
    fake_run([session(1), *whole("a")], fresh=True)
    assert not kept.exists()


def test_a_full_disk_is_not_blamed_on_a_kernel(fake_run):
    full = cell("a", outcome="not-run", reason="disk full")
    result = fake_run([session(2), start("a"), full, end("a"), start("b")])
    assert result.exit_code == 1
    assert outcomes(fake_run.records()) == {
        "a": ("not-run", "disk full"),
        "b": ("not-run", "disk full"),
    }
    assert any("Free space" in note for note in fake_run.notes())


def test_environments_go_one_after_another_where_they_are_removed(fake_run):
    """No environment is prepared before the last one has gone, and what another run uses stays."""
    envs, seen = fake_run.work / "envs", []

    class Preparing:
        def __call__(self, column):
            seen.append(sorted(path.name for path in envs.iterdir() if path.is_dir()))
            (envs / column.id / "bin").mkdir(parents=True)
            return Environment(Path(sys.executable), column.id, {}, {}, ())

        def cancel(self):
            pass

    envs.mkdir(parents=True)
    ids = ("triton-3.1.0", "triton-3.2.0")
    script = [session(1), *whole("a")]
    fake_run(script, ids=ids, prepare=Preparing(), remove=True)
    assert seen == [[], []] and not [path for path in envs.iterdir() if path.is_dir()]
    assert not [path for path in (fake_run.work / "cache").iterdir() if path.is_dir()]
    held = locks.use(envs / "triton-3.2.0.lock", lambda: None, lambda: False)
    fake_run(script, ids=ids, prepare=Preparing(), remove=True)
    held.release()
    assert [path.name for path in envs.iterdir() if path.is_dir()] == ["triton-3.2.0"]
    assert any("not removed" in note and "Remove it when" in note for note in fake_run.notes(2))
