"""`crosswarp test` on a made-up library: the run, its pytest, the workers and the children are the real ones, and a
launch is counted by a stand-in (tests/fake_column/fake_lane.py). A real Triton: test_real_columns.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.kinds.library_tests import __main__ as cell_main
from crosswarp.matrix.cell.kinds.library_tests import judging, names, parts
from crosswarp.matrix.cell.kinds.suite import kernels
from crosswarp.matrix.cell.kinds.suite.kernels import SUITE_BYTECODE_ENV
from crosswarp.matrix.cell.stream import Stream
from crosswarp.matrix.checkout import metadata, settings
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.results.stream import Tail
from crosswarp.matrix.running import jobs
from crosswarp.matrix.running.merge import merge
from crosswarp.matrix.running.process import cell_environ
from crosswarp.matrix.running.progress import PlainProgress
from crosswarp.matrix.running.run import Runner
from crosswarp.matrix.work import library_tests

HERE = Path(__file__).parent
SETTINGS = 'time-limit = 5\nenv = { PYTEST_PLUGINS = "fake_lane" }\n'
TESTS = """
import os, signal, time
import fake_lane, pytest

@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_launches(dtype):
    fake_lane.launch()

class TestMore:
    def test_in_a_class(self):
        fake_lane.launch()

def test_launches_nothing():
    pass

def test_values():
    fake_lane.launch()
    assert [1.0] == [2.0]

def test_says_no():
    assert [1] == [2], "other lists"

def test_raises():
    raise ValueError("what it was")

@pytest.fixture
def broken():
    raise RuntimeError("the fixture is broken")

def test_with_a_broken_fixture(broken):
    pass

def test_skips():
    pytest.skip("no such GPU")

@pytest.mark.xfail(reason="known")
def test_expected():
    raise ValueError("as known")

def test_aborts():
    os.abort()

def test_hangs():
    time.sleep(600)

def test_kills_its_worker():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
"""


@pytest.fixture
def library(tmp_path):
    """`library({"tests/test_a.py": text})`: a checkout with these files and settings that name the stand-in."""

    def make(files, more=""):
        folder = tmp_path / "made_up"
        texts = {"crosswarp.toml": SETTINGS + more, **files}
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return folder

    return make


def fake_argv(python, spec):
    # Where crosswarp is, and before it what stands in for torch and Triton.
    environ = ("-u", "PYTHONDONTWRITEBYTECODE", f"PYTHONPATH={HERE / 'fake_column'}")
    return [
        "/usr/bin/env",
        *environ,
        str(python),
        "-m",
        library_tests.LibraryTests.MODULE,
        str(spec),
    ]


@pytest.fixture
def run(fake_run, fake_prepare):
    """`run(folder)`: the result of a run of that library's tests, and its cells by name."""

    def call(folder, issues=(), **changes):
        said = settings.load(folder).settings
        tests = library_tests.LibraryTests(
            folder, metadata.declared(folder), library_tests.paths_of(folder, said), said, said.sample
        )  # fmt: skip
        plan = {
            "modes": ("bare",), "jobs": 2, "time_limit": said.time_limit, "work": tests, **changes
        }  # fmt: skip
        with fake_run.store() as store:
            runner = Runner(
                fake_run.plan(**plan), store, fake_run.work, fake_prepare(expect={}),
                PlainProgress(fake_run.said), issues, command=fake_argv,
            )  # fmt: skip
            result = runner()
        records = fake_run.records(result.run)
        found = {(r.mode, r.kernel, r.case): r for r in records}
        assert len(found) == len(records)
        return result, found

    return call


def test_every_end_of_a_test_is_a_cell(run, library, fake_run):
    files = {"tests/test_a.py": TESTS, "tests/deep/test_b.py": "import no_such_module\n"}
    result, found = run(library(files))
    assert result.exit_code == 1
    assert {(kernel, case): (r.outcome, r.reason) for (_, kernel, case), r in found.items()} == {
        ("test_a::test_launches", "fp16"): ("pass", ""),
        ("test_a::test_launches", "bf16"): ("pass", ""),
        ("test_a::TestMore::test_in_a_class", "-"): ("pass", ""),
        ("test_a::test_launches_nothing", "-"): ("unsupported", "no launch"),
        ("test_a::test_values", "-"): ("pass", ""),
        ("test_a::test_says_no", "-"): ("mismatch", "AssertionError"),
        ("test_a::test_raises", "-"): ("api-error", "ValueError"),
        ("test_a::test_with_a_broken_fixture", "-"): ("api-error", "RuntimeError"),
        ("test_a::test_skips", "-"): ("unsupported", "skipped"),
        ("test_a::test_expected", "-"): ("unsupported", "expected to fail"),
        ("test_a::test_aborts", "-"): ("crash", "SIGABRT"),
        ("test_a::test_hangs", "-"): ("timeout", "longer than 5 s"),
        ("test_a::test_kills_its_worker", "-"): ("crash", "worker died"),
        ("deep.test_b", "import"): ("api-error", "ModuleNotFoundError"),
    }
    assert {r.target for r in found.values()} == {"sm_90"}
    assert found["bare", "test_a::test_values", "-"].resources["noted"] == 1
    said = found["bare", "test_a::test_says_no", "-"]
    assert said.fingerprint == "AssertionError: other lists"
    assert "no_such_module" in found["bare", "deep.test_b", "import"].fingerprint
    # One test died with its worker; that is told by its cell, and nothing else is amiss.
    assert fake_run.notes() == []
    with fake_run.store() as store:
        assert store.planned(1) == {("triton-3.2.0", "compile"): len(found)}
        assert store.run(1).plan["library"]["name"] == "made_up"


def test_a_conftest_that_expects_one_process_does_not_end_the_run(run, library, fake_run):
    # As FlagGems' does: xdist's controller sees reports of tests that it never began.
    conftest = (
        "began = {}\n"
        "def pytest_runtest_setup(item):\n    began[item.nodeid] = None\n"
        "def pytest_runtest_logreport(report):\n    began[report.nodeid]\n"
    )
    text = "import fake_lane\ndef test_one():\n    fake_lane.launch()\ndef test_two():\n    fake_lane.launch()\n"
    result, found = run(library({"tests/conftest.py": conftest, "tests/test_a.py": text}))
    assert result.exit_code == 0, [(r.outcome, r.message) for r in found.values()]
    assert {record.outcome for record in found.values()} == {"pass"} and len(found) == 2


def test_tests_that_launch_nothing_end_with_what_to_name(run, library, fake_run):
    result, _ = run(library({"tests/test_a.py": "def test_one(): pass\n"}))
    assert result.exit_code == 2
    (note,) = fake_run.notes()
    assert "None of these tests launched a kernel" in note and "`tests`" in note


def test_all_green_is_exit_0_in_both_modes(run, library):
    text = "import fake_lane\ndef test_one():\n    fake_lane.launch()\n"
    result, found = run(library({"test/test_a.py": text}), modes=("bare", "shimmed"), jobs=1)
    assert result.exit_code == 0
    assert set(found) == {(mode, "test_a::test_one", "-") for mode in ("bare", "shimmed")}


def test_only_tests_that_launch_count(run, library):
    result, found = run(library({"tests/test_a.py": "def test_one(): pass\n"}), jobs=1)
    assert result.exit_code == 2 and len(found) == 1


def test_cases_and_sample_choose(run, library):
    more = 'sample = 2\ncases = ["*test_launches/*", "!*bf16"]\n'
    result, found = run(library({"tests/test_a.py": TESTS}, more), jobs=1)
    assert [key[1:] for key in found] == [("test_a::test_launches", "fp16")]
    assert result.exit_code == 0


def test_a_conftest_that_cannot_be_imported_is_red(run, library):
    files = {"tests/test_a.py": TESTS, "tests/conftest.py": "import made_up_extension\n"}
    result, found = run(library(files))
    assert result.exit_code == 1
    (cell,) = found.values()
    assert (cell.kernel, cell.case, cell.outcome) == ("collection", "import", "api-error")
    assert "No module named 'made_up_extension'" in cell.fingerprint


GREEN = "import fake_lane\ndef test_{}():\n    fake_lane.launch()\n"


def test_a_pytest_that_dies_costs_what_is_missing(run, library, fake_run):
    # The process that started the workers, after the first report.
    conftest = """
import os, signal
def pytest_runtest_logreport(report):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
"""
    tests = "".join(GREEN.format(number) for number in range(40))
    # None of these ends before the others' reports are read.
    slow = "import time\n" + "".join(f"def test_slow_{n}(): time.sleep(3)\n" for n in range(4))
    files = {"tests/test_a.py": tests, "tests/test_b.py": slow, "tests/conftest.py": conftest}
    result, found = run(library(files), modes=("bare", "shimmed"))
    assert result.exit_code == 1
    notes = " ".join(fake_run.notes())
    assert "planned cases did not run in the compile lane" in notes
    # Whether the second mode had begun when its pytest died is chance; what it did not begin is said to be not run.
    assert {r.outcome for r in found.values()} <= {"pass", "crash", "not-run"} and len(found) < 88


def test_nothing_of_a_pytest_that_runs_us_reaches_the_suites():
    names = ("PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS", "PYTEST_PLUGINS")
    for here in (True, False):
        found = cell_environ({**dict.fromkeys(names, "gw0"), "PATH": "/bin"}, here=here)
        assert found["PATH"] == "/bin" and not found.keys() & set(names)


def test_neither_a_cache_nor_the_interpreter_of_the_caller_reaches_the_suites():
    names = ("TRITON_CACHE_DIR", "TRITON_INTERPRET", "PYTHONHOME")
    for here in (True, False):
        assert not cell_environ(dict.fromkeys(names, "/x"), here=here).keys() & set(names)


def test_the_order_of_a_set_is_the_same_in_each_process():
    for here in (True, False):
        assert cell_environ({}, here=here)["PYTHONHASHSEED"] == "0"
        assert cell_environ({"PYTHONHASHSEED": "7"}, here=here)["PYTHONHASHSEED"] == "7"


def test_what_is_ours_keeps_its_bytecode_and_what_is_not_gets_none(tmp_path, monkeypatch):
    wish = "PYTHONDONTWRITEBYTECODE"
    assert cell_environ({}, here=True)[wish] == "1"
    ours = cell_environ({wish: "1"}, here=False)
    assert wish not in ours and SUITE_BYTECODE_ENV not in cell_environ({}, here=False)
    monkeypatch.setenv(SUITE_BYTECODE_ENV, ours[SUITE_BYTECODE_ENV])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "k.py").write_text("import helper\nKERNEL = helper.KERNEL\n")
    (tmp_path / "helper.py").write_text("KERNEL = 1\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert kernels.load(str(tmp_path), "k") == 1
    assert not list(tmp_path.rglob("*.pyc"))


def test_a_worker_that_dies_behind_a_test_leaves_one_record_of_it(run, library):
    # The worker goes as soon as the test's cell is in the stream.
    conftest = """
import os, signal
write = os.write
def and_die(handle, data):
    written = write(handle, data)
    if b'"event": "cell"' in bytes(data):
        os.kill(os.getpid(), signal.SIGKILL)
    return written
def pytest_configure(config):
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.write = and_die
"""
    files = {"tests/test_a.py": GREEN.format("one"), "tests/conftest.py": conftest}
    _, found = run(library(files), jobs=1)
    assert {key: r.outcome for key, r in found.items()} == {
        ("bare", "test_a::test_one", "-"): "pass"
    }


def test_a_pytest_that_hangs_costs_what_is_missing(run, library, fake_run):
    files = {"tests/test_a.py": GREEN.format(1), "tests/conftest.py": "import time; time.sleep(600)\n"}  # fmt: skip
    result, found = run(library(files), modes=("bare", "shimmed"), column_limit=3)
    assert result.exit_code == 1
    assert {key: r.outcome for key, r in found.items()} == {
        (mode, "*", "*"): "not-run" for mode in ("bare", "shimmed")
    }
    assert "--column-limit" in " ".join(fake_run.notes())


def script_of_one_part():
    """The record of one test that passes, without compat."""
    item = "sm_90/compile/bare/test_a::test_1/-"
    cell = dict(zip(("target", "lane", "mode", "kernel", "case"), item.split("/", 4)))
    return [
        {"event": "session", "lane": "compile", "versions": {"triton": "3.2.0"}, "planned": 1, "part": "sm_90/bare"},
        {"event": "start", "item": item}, {"event": "cell", **cell, "outcome": "pass"}, {"event": "end", "item": item},
    ]  # fmt: skip


def test_a_part_that_nobody_told_of_is_missing(fake_run, library):
    """The stream ends between two parts."""
    folder = library({"tests/test_a.py": ""})
    tests = library_tests.LibraryTests(folder, metadata.declared(folder), ("tests",), settings.Settings())  # fmt: skip
    script = script_of_one_part()
    result = fake_run(script, work=tests)
    assert result.exit_code == 1
    assert "sm_90/shimmed: The compile lane did not say" in " ".join(fake_run.notes())
    found = {(r.mode, r.kernel): r.outcome for r in fake_run.records()}
    assert found == {("bare", "test_a::test_1"): "pass", ("shimmed", "*"): "not-run"}
    # The same part twice, and one that nobody planned, are no sessions.
    for part in ("sm_90/bare", "sm_80/bare", ""):
        fake_run([*script, {**script[0], "part": part}], work=tests)
        assert "1 lines of its results could not be read" in " ".join(fake_run.notes(_last(fake_run)))  # fmt: skip


def _last(fake_run):
    with fake_run.store() as store:
        return store.run().id


def test_a_target_that_this_triton_has_not(tmp_path, monkeypatch):
    """The tests that another target has are told as unsupported, and none is run."""
    monkeypatch.setattr(cell_main.versions, "installed", lambda: {"triton": "2.3.1"})
    monkeypatch.setattr(
        cell_main.plan, "targets", lambda *a: {"gfx942": "no backend for hip", "sm_90": ""}
    )
    ran = []

    def runs(part, spec, stream):
        ran.append(part.name)
        Path(part.items).write_text(json.dumps([["test_a::test_1", "fp16"]]))
        return 0

    monkeypatch.setattr(cell_main, "_run", runs)
    spec = {
        "records": str(tmp_path / "r.jsonl"), "lanes": ["compile"], "modes": ["bare"], "expect": {},
        "targets": {"gfx942": {}, "sm_90": {}}, "tests": {"folders": ["tests"], "cases": []},
    }  # fmt: skip
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    assert cell_main.main([str(tmp_path / "spec.json")]) == 0
    assert ran == ["sm_90/bare"]
    session, start, cell, end = Tail(tmp_path / "r.jsonl").finish()
    assert (session.part, session.planned) == ("gfx942/bare", 1)
    assert start.item == end.item == "gfx942/compile/bare/test_a::test_1/fp16"
    assert (cell.outcome, cell.message) == ("unsupported", "no backend for hip")


@pytest.mark.parametrize(
    ("nodeid", "kernel", "case"),
    [
        ("tests/test_a.py::test_one", "test_a::test_one", "-"),
        ("tests/ops/test_a.py::test_one[x-1]", "ops.test_a::test_one", "x-1"),
        ("tests/test_a.py::T::test_one[a::b[c]]", "test_a::T::test_one", "a::b[c]"),
        ("tests/test_a.py::test_one[a/b]", "test_a::test_one", "a/b"),
        ("tests/test_a.py::test_one[*]", "test_a::test_one", "[*]"),
        ("tests/test_a.py::test_one[]", "test_a::test_one", "-"),
        ("other/test_a.py::test_one", "other.test_a::test_one", "-"),
        ("docs/guide.md::guide.md", "docs.guide.md::guide.md", "-"),
        ("tests/test_a.py::test[a/b]::x", "test_a::test", "-"),
    ],
)
def test_what_a_test_is_called(nodeid, kernel, case):
    assert names.names(nodeid, ["tests"]) == (kernel, case)
    part = parts.Part("compile", "sm_90", "bare", "sm_90", [], [], "", "")
    item = part.item(kernel, case)
    # The protocol takes it apart again.
    assert protocol.read(protocol.line(protocol.Start(item)).encode()) == protocol.Start(item)
    assert item.split("/", 4)[3:] == [kernel, case]


@pytest.mark.parametrize(
    ("globs", "chosen"),
    [
        ([], True), (["test_a::*"], True), (["*/fp16"], True), (["test_b*"], False), (["!*fp16"], False),
        (["!*bf16"], True), (["test_a*", "!*/fp*"], False),
    ],
)  # fmt: skip
def test_which_tests_globs_choose(globs, chosen):
    assert names.chosen("test_a::test_one", "fp16", globs) == chosen


def test_a_compiler_that_kills_the_import_is_named():
    text = "python: /x/lib/Layout.cpp:52: int Layout::of(): Assertion `rank == 2' failed.\n"
    verdict = cell_main._never_began(-6, text)
    assert (verdict.outcome, verdict.reason) == ("crash", "SIGABRT")
    assert "rank == 2" in verdict.fingerprint
    verdict = cell_main._never_began(4, "ERROR: usage: unrecognized arguments: --cov\n")
    assert (verdict.outcome, verdict.fingerprint) == ("api-error", "pytest ended with status 4")


def test_a_test_without_reports_is_no_pass():
    assert judging.of_reports([]).outcome == "crash"
    strict = SimpleNamespace(failed=True, skipped=False, when="call", longrepr="[XPASS(strict)] x")
    assert judging.of_reports([strict]).outcome == "mismatch"


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"outcome": "not applicable"}, "not applicable"), ({"outcome": "timeout"}, "timeout"),
        ({"outcome": "unsupported", "opcode": "wgmma.sp"}, "unsupported wgmma.sp"),
        ({"outcome": "no launch"}, "skipped"),
    ],
)  # fmt: skip
def test_what_says_nothing_of_the_library_is_unsupported(told, reason):
    report = SimpleNamespace(failed=False, skipped=True, when="call", longrepr=("f", 1, "said"))
    report.crosswarp = told
    verdict = judging.of_reports([report])
    assert (verdict.outcome, verdict.reason, verdict.message) == ("unsupported", reason, "said")


def test_a_launch_that_was_not_carried_out_is_red_whatever_the_test_made_of_it():
    report = SimpleNamespace(failed=True, skipped=False, when="call", longrepr="it went on")
    report.crosswarp = {"outcome": "red", "why": "a store out of bounds at line 7"}
    verdict = judging.of_reports([report])
    assert (verdict.outcome, verdict.reason) == ("crash", "launch failed")
    assert "out of bounds" in verdict.fingerprint


def test_a_specification_that_cannot_be_read(tmp_path, capsys):
    path = tmp_path / "spec.json"
    path.write_text("{}")
    assert cell_main.main([str(path)]) == 40
    assert "records is not there" in capsys.readouterr().err


def test_wrong_versions_run_nothing(tmp_path):
    spec = {
        "records": str(tmp_path / "r.jsonl"), "lanes": ["compile"], "modes": [], "targets": {}, "tests": {},
        "expect": {"pytest": "0.1"},
    }  # fmt: skip
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    assert cell_main.main([str(tmp_path / "spec.json")]) == 41
    (note,) = Tail(tmp_path / "r.jsonl").finish()
    assert "pytest" in note.text


# Shards


NODES = [("test_a::test_one", case) for case in "abcdefg"] + [("test_b::test_two", "-")]


@pytest.mark.parametrize("of", [1, 2, 3, 9])
def test_every_test_is_in_one_shard(of):
    dealt = [names.share(NODES, (number, of)) for number in range(1, of + 1)]
    assert sorted(test for shard in dealt for test in shard) == sorted(NODES)
    counts = [sum(kernel == "test_a::test_one" for kernel, _ in shard) for shard in dealt]
    assert max(counts) - min(counts) <= 1
    # Whatever order a machine collects in, and however often a name is there.
    assert names.share([*NODES[::-1], *NODES], (1, of)) == dealt[0]
    assert names.share(NODES, None) == set(NODES)


DEALT = """
import fake_lane, pytest

@pytest.mark.parametrize("n", range(12))
def test_many(n):
    fake_lane.launch()

def test_red():
    assert [1] == [2], "other lists"
"""


def test_shards_of_a_sample_merge_into_the_whole_run(run, library, fake_run, tmp_path):
    """The sample is one, and dealt out; a file that cannot be imported is told by each shard and counted once."""
    folder = library(
        {"tests/test_a.py": DEALT, "tests/test_b.py": "import no_such_module\n"}, "sample = 5\n"
    )
    fake_run.database = tmp_path / "whole.db"
    whole, found = run(folder, jobs=1)
    parts_of = []
    for number in (1, 2):
        fake_run.database = tmp_path / f"part{number}.db"
        _, mine = run(folder, shard=(number, 2), jobs=1)
        assert ("bare", "test_b", "import") in mine and 1 < len(mine) < len(found)
        parts_of.append(fake_run.database)
    merged = merge(parts_of, tmp_path / "merged.db")
    assert merged.exit_code == whole.exit_code == 1
    with Store(tmp_path / "merged.db") as store:
        assert {(r.mode, r.kernel, r.case): r.outcome for r in store.records(1)} == {
            key: record.outcome for key, record in found.items()
        }
        assert store.planned(1) == {("triton-3.2.0", "compile"): 6}
        assert store.notes(1) == []
        # Also what chose the tests has to be the same.
        assert "shard" not in store.run(1).plan
    with pytest.raises(UsageError, match="overlap"):
        merge([parts_of[0], parts_of[0]], tmp_path / "other.db")
    lost = merge(parts_of[:1], tmp_path / "other.db")
    assert lost.missing[0].startswith(
        "triton-3.2.0: shard 2 of 2 is missing. Run it (crosswarp test --triton"
    )


def test_shards_of_other_cases_are_no_parts_of_one_run(library, fake_run, tmp_path):
    made = []
    for number, cases in ((1, '["*many*"]'), (2, '["*red*"]')):
        folder = library({"tests/test_a.py": ""}, f"cases = {cases}\n")
        said = settings.load(folder).settings
        tests = library_tests.LibraryTests(folder, metadata.declared(folder), ("tests",), said)
        fake_run.database = tmp_path / f"part{number}.db"
        fake_run(script_of_one_part(), work=tests, modes=("bare",), shard=(number, 2))
        made.append(fake_run.database)
    with pytest.raises(UsageError, match="not parts of one run: library"):
        merge(made, tmp_path / "merged.db")


@pytest.mark.parametrize(("shard", "told"), [(None, 1), ([1, 2], 1), ([2, 2], 0)])
def test_where_nobody_collected_the_first_shard_tells(tmp_path, shard, told):
    part = parts.Part("compile", "gfx942", "bare", "gfx942", [], [], str(tmp_path / "r.jsonl"), "", shard)  # fmt: skip
    versions = {"triton": "2.3.1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_main.versions, "installed", lambda: versions)
        cell_main._unsupported(part, "no backend", None, Stream(part.records))
        # One that was collected, and whose shard is empty, is not the same as none.
        cell_main._unsupported(part, "no backend", [], Stream(part.records))
    events = Tail(tmp_path / "r.jsonl").finish()
    assert [event.planned for event in events if isinstance(event, protocol.Session)] == [told, 0]


# Jobs


def test_the_jobs_of_a_librarys_tests(library, command, monkeypatch, tmp_path):
    folder = library({"tests/test_a.py": DEALT}, 'columns = ["triton-3.2.0", "triton-3.6.0"]\n')
    monkeypatch.chdir(folder)
    status, out, _ = command("plan", "--library", "--shards", "2", "--modes", "bare")
    lines = out.splitlines()
    assert status == 0 and lines[:2] == [
        "crosswarp test --triton 3.2.0 --shard 1/2 --modes bare",
        "crosswarp test --triton 3.2.0 --shard 2/2 --modes bare",
    ]
    assert lines[-1] == "sm_90; compile; bare; tests of made_up: tests" and len(lines) == 6
    monkeypatch.chdir(tmp_path)
    words = ("plan", "--library", "made_up", "--columns", "triton-3.9.0", "--sample", "7")
    status, out, _ = command(*words, "--format", "github")
    (job,) = json.loads(out)["include"]
    assert (job["command"], job["run"]) == ("test", "--triton 3.9.0 --sample 7 made_up")
    (tmp_path / "plan.json").write_text(out)
    assert jobs.read(tmp_path / "plan.json")[0].command == "test"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--library", "nowhere"], "there is no such folder"),
        (["--library", ".", "--kernels", "softmax", "--sanitize"], "Leave out --kernels, --sanitize"),
        (["--sample", "3", "--sanitize"], "Leave out one of them"),
    ],
)  # fmt: skip
def test_jobs_that_there_are_not(command, arguments, said):
    status, _, err = command("plan", *arguments)
    assert status == 2 and said in err


def test_what_a_user_sets_for_triton_does_not_reach_a_published_column():
    given = {
        "TRITON_DISABLE_LINE_INFO": "1",
        "TRITON_INTERPRET": "1",
        "PYTHONPATH": "x",
        "PATH": "/bin",
    }
    published = cell_environ(given, here=False)
    assert published["PATH"] == "/bin"
    assert not any(name.startswith("TRITON_") or name == "PYTHONPATH" for name in published)
    at_hand = cell_environ(given, here=True)
    assert at_hand["TRITON_DISABLE_LINE_INFO"] == "1" and "TRITON_INTERPRET" not in at_hand
