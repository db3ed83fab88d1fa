"""What did not change since a run of the store is taken from there; what did, runs."""

from __future__ import annotations

import json
import shutil
import time
import types
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp import kernels
from crosswarp.compat.install import wanted_shims
from crosswarp.matrix.environments import identity
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.environments.identity import Interpreter
from crosswarp.matrix.errors import WorkError
from crosswarp.matrix.facts import columns, targets
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import merge, unchanged
from crosswarp.matrix.running.plan import Coordinate, Plan
from crosswarp.matrix.work import suite_keys
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.findings import reused

HOME = Path(kernels.__file__).parent
ONE = "import _shared\nfrom crosswarp.kernels import Kernel\nKERNEL = Kernel()\n"
TWO = "from crosswarp.kernels import Kernel\nKERNEL = Kernel()\n"
RECORD = "env/lib/python3.11/site-packages/triton-3.2.0.dist-info/RECORD"


@pytest.fixture
def suite(tmp_path):
    """A folder of two kernels, of which `one` imports a helper, and the helper another."""
    folder = tmp_path / "suite"
    folder.mkdir()
    shared = "def f():\n    from _deeper import g\n    return g()\n"
    files = {"one": ONE, "two": TWO, "_shared": shared, "_deeper": "g = int\n"}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture
def found(suite, tmp_path):
    """`found()`: the keys now, by target, lane, mode and kernel."""
    (tmp_path / RECORD).parent.mkdir(parents=True)
    (tmp_path / RECORD).write_text("triton/__init__.py,sha256=a,1\n")

    def keys(expect=None, **changes):
        python, versions = tmp_path / "env/bin/python", {"triton": "3.2.0"}
        environment = Environment(python, "x", versions if expect is None else expect, versions, ())
        values = {
            "columns": tuple(columns.choose(columns.load(), ["triton-3.2.0"])),
            "lanes": ("compile", "emulate", "interpret", "device"),
            "targets": {name: targets.load()[name] for name in ("sm_80", "sm_90")}, **changes,
        }  # fmt: skip
        work = Suite(values.pop("suite", suite))
        return work.keys(Plan(work, **values), "triton-3.2.0", environment)

    return keys


def differ(before, after):
    """The coordinates of which a part differs, part by part."""
    assert before.keys() == after.keys()
    return [set(part) for part in zip(*(one for one in before if before[one] != after[one]))]


def test_there_is_a_key_for_all_but_what_is_measured(found):
    keys = found()
    assert {(one.lane, one.target) for one in keys} == {
        ("compile", "sm_80"), ("compile", "sm_90"), ("emulate", "sm_80"), ("emulate", "sm_90"), ("interpret", "cpu"),
    }  # fmt: skip
    assert len(set(keys.values())) == len(keys) == 5 * 2 * 2
    assert keys == found()
    # Which cases a share has decides on none of them.
    assert found(shard=(1, 2)) == keys


@pytest.mark.parametrize("name", ["one", "_shared", "_deeper"])
def test_a_kernel_is_what_it_imports(found, suite, name):
    before = found()
    (suite / f"{name}.py").write_text((suite / f"{name}.py").read_text() + "# another line\n")
    assert differ(before, found())[3] == {"one"}


def test_what_is_installed_decides_on_all(found, tmp_path):
    before = found()
    (tmp_path / RECORD).write_text("triton/__init__.py,sha256=b,1\n")
    assert len(differ(before, found())[0]) == 3
    # Nobody can tell what is installed: nothing is taken.
    (tmp_path / RECORD).unlink()
    assert found() == {}


def test_a_target_is_its_row(found):
    before = found()
    table = targets.load()
    smaller = replace(table["sm_90"], shared_memory_optin=1024)
    after = found(targets={"sm_80": table["sm_80"], "sm_90": smaller})
    assert differ(before, after)[0] == {"sm_90"}


@pytest.mark.parametrize(
    "option", ["time_limit", "memory_limit_mb", "sanitize", "sample", "estimate", "batch", "warps"]
)
def test_what_a_run_is_asked_for_decides_on_all(found, option):
    before, after = found(), found(**{option: 1})
    assert not set(before.values()) & set(after.values())


def test_a_shim_is_of_its_window_and_of_one_mode(found, monkeypatch, tmp_path):
    before = found()
    own = suite_keys._shims("3.2.0")
    assert {path.stem for path in own} == {shim.name for shim in wanted_shims("auto", "3.2.0")}
    assert all(path.is_file() for path in own)
    edited = tmp_path / "num_warps_parameter.py"
    edited.write_text("# edited")
    others = [path for path in own if path.name != edited.name]
    monkeypatch.setattr(suite_keys, "_shims", lambda version: [*others, edited])
    assert differ(before, found())[2] == {"shimmed"}


def test_an_interpreter_at_hand_has_the_shims_of_the_triton_that_is_found_there(found, monkeypatch):
    asked = []
    monkeypatch.setattr(suite_keys, "_shims", lambda version: asked.append(version) or [])
    found(expect={})
    assert asked == ["3.2.0"]


@pytest.mark.parametrize("room", ["ptx", "estimate"])
def test_what_only_the_emulator_needs_judges_its_own_lane(found, monkeypatch, room):
    before = found()
    real = Path.read_bytes
    edited = lambda path: real(path) + (b"#" if room in path.parts else b"")  # noqa: E731
    monkeypatch.setattr(Path, "read_bytes", edited)
    assert differ(before, found())[1] == {"emulate"}


def test_the_mapping_of_torch_judges_every_lane(found, monkeypatch):
    """A user's launchers may ask torch.cuda."""
    before = found()
    real = Path.read_bytes
    edited = lambda path: real(path) + (b"#" if "virtual_torch" in path.parts else b"")  # noqa: E731
    monkeypatch.setattr(Path, "read_bytes", edited)
    assert differ(before, found())[1] == set(suite_keys.LANES)


def test_what_our_own_kernels_reach():
    names = {path.stem for path in suite_keys.reach(HOME / "layer_norm.py", None)}
    assert {"layer_norm", "rms_norm", "case"} <= names and "softmax" not in names


def cell(kernel, case="a", **changes):
    return {
        "case": {
            "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": kernel, "case": case, "config": "",
            "outcome": "pass", "seconds": 0.5, **changes,
        }
    }  # fmt: skip


SESSION = {"event": "session", "lane": "compile", "versions": {"triton": "3.2.0"}, "planned": 0}
TARGET = {"event": "target", "target": "sm_90", "supported": True, "message": ""}
NEVER = [{"exit": 7}]


@pytest.fixture
def go(fake_run, suite):
    """`go(script)`: a run of that suite, which takes what did not change; the items that it took, and from where."""

    def call(script, **plan):
        values = {"suite": suite, "modes": ("bare",), "take": "verdicts", **plan}
        result = fake_run(script, **values)
        with fake_run.store() as store:
            taken = store.reused_items(result.run)
        return result, {item.split("/", 3)[3]: run for (_, item), run in taken.items()}

    return call


def test_nothing_changed_and_nothing_runs(go, fake_run):
    script = [TARGET, SESSION, cell("one"), cell("one", "b", outcome="unsupported"), cell("two")]
    first, taken = go(script)
    assert (first.exit_code, taken) == (0, {})
    # A suite that was started would end with 7.
    second, taken = go(NEVER)
    assert (second.exit_code, taken) == (0, {"one/a": 1, "one/b": 1, "two/a": 1})
    assert fake_run.records(2) == fake_run.records(1)
    assert "unchanged since run 1" in " ".join(fake_run.notes(2))
    with fake_run.store() as store:
        assert store.targets(2) == store.targets(1) and store.planned(2) == store.planned(1)
    # It names the run in which they ran.
    third, taken = go(NEVER)
    assert (third.exit_code, set(taken.values())) == (0, {1})


def test_the_source_of_a_result_is_the_run_in_which_it_ran(make_record, tmp_path):
    asked, other, new = (make_record(kernel=name) for name in ("asked", "other", "new"))
    plan = types.SimpleNamespace(shard=None, has=lambda cell: True)
    with Store(tmp_path / "store.db") as store:
        for _ in range(2):
            run = store.begin(["run"], {})
        store.cells(run, [asked, other])
        store.keys(run, asked.column, {Coordinate.of(cell): cell.kernel for cell in (asked, other)})
        store.take(run, asked.column, {asked.item: 1})
        keys = {Coordinate.of(cell): cell.kernel for cell in (asked, new)}
        assert unchanged.take(store, plan, asked.column, keys).cells == [(asked, 1)]


def test_an_edited_kernel_runs_alone(go, fake_run, suite):
    script = [SESSION, cell("one"), cell("two")]
    go(script)
    (suite / "two.py").write_text(TWO + "# faster\n")
    second, taken = go([SESSION, cell("one", outcome="crash"), cell("two", outcome="mismatch")])
    assert second.exit_code == 1 and taken == {"one/a": 1}
    assert {r.kernel: r.outcome for r in fake_run.records(2)} == {"one": "pass", "two": "mismatch"}
    # Each from the run that is its newest.
    assert go(NEVER)[1] == {"one/a": 1, "two/a": 2}


@pytest.mark.parametrize("outcome", ["crash", "timeout"])
def test_chance_is_not_taken_unless_asked(go, fake_run, outcome):
    script = [SESSION, cell("one", outcome=outcome, fingerprint="x"), cell("two")]
    go(script)
    second, taken = go([SESSION, cell("one"), cell("two")])
    assert second.exit_code == 0 and taken == {"two/a": 1}
    go(script, fresh=True)
    assert go(NEVER, take="everything")[1] == {"one/a": 3, "two/a": 3}


def specs(fake_run):
    """What the suites were told, the newest first."""
    paths = fake_run.work.glob("runs/*/*.spec.json")
    newest = sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True)
    return [json.loads(path.read_text()) for path in newest]


CRASHES = [
    TARGET, SESSION, cell("one", outcome="crash", fingerprint="x"), cell("two", lane="interpret", target="cpu"),
    SESSION | {"lane": "interpret"}, cell("one", "b"), cell("two"),
]  # fmt: skip


def counted(script):
    """The fake suite counts all cases of its script for each lane."""
    items = [step["case"]["lane"] for step in script if "case" in step]
    return [
        {**step, "planned": items.count(step["lane"])} if step.get("event") == "session" else step
        for step in script
    ]


def told(script):
    """Without "case", whose number the fake suite would plan."""
    for step in counted(script):
        if "case" not in step:
            yield step
            continue
        one = step["case"]
        item = "/".join(one[name] for name in ("target", "lane", "mode", "kernel", "case"))
        yield from (
            {"event": "start", "item": item},
            {"event": "cell", **one},
            {"event": "end", "item": item},
        )


def test_what_crashed_runs_again_by_itself(go, fake_run):
    """The suite is told which, and how many cases there are with those that are taken; no other lane begins."""
    lanes = {"lanes": ("compile", "interpret"), "jobs": 8}
    first, _ = go([*told(CRASHES)], **lanes)
    assert first.exit_code == 1
    again = [SESSION | {"planned": 3}, *told([cell("one", outcome="crash", fingerprint="x")])]
    second, taken = go(again, **lanes)
    assert set(taken) == {"one/b", "two/a"} and len(fake_run.records(2)) == 4
    spec = specs(fake_run)[0]
    assert spec["again"] == {"compile": ["sm_90/compile/bare/one/a"]}
    assert spec["planned"] == {"compile": 3, "interpret": 1}
    # What else there is of the column is as it was.
    assert (spec["lanes"], spec["jobs"]) == (["compile"], 8)
    with fake_run.store() as store:
        assert store.planned(2) == store.planned(1) and store.targets(2) == store.targets(1)
    assert fake_run.notes(2)[1:] == []
    # It does not come to be believed: a third run asks for it once more.
    assert go(again, **lanes)[0].exit_code == 1 and specs(fake_run)[0]["again"] == spec["again"]


@pytest.mark.parametrize(
    "change", [{"shard": (1, 2)}, {"cases": ("a",)}, {"kernels": ("one",)}, {"fresh": True}]
)
def test_who_asks_for_something_else_asks_the_suite(go, fake_run, change):
    script = [SESSION, cell("one", outcome="crash", fingerprint="x"), cell("two")]
    go(script)
    go(script, **change)
    assert specs(fake_run)[0]["again"] is None


@pytest.mark.parametrize("case", ["*", "import"])
def test_a_module_that_could_not_be_asked_for_its_cases_is_asked_again(go, fake_run, case):
    script = [SESSION, cell("one", case, outcome="crash", fingerprint="x"), cell("two")]
    go(script)
    go(script)
    assert specs(fake_run)[0]["again"] is None and specs(fake_run)[0]["reused"]


def test_columns_with_little_to_run_run_side_by_side(go, fake_run, tmp_path):
    ids = ("triton-3.1.0", "triton-3.2.0")
    crash = cell("one", outcome="crash", fingerprint="x")
    scripts = {
        one: [SESSION | {"versions": {"triton": one[7:]}}, crash, cell("two")] for one in ids
    }
    assert go(scripts, ids=ids)[0].exit_code == 1
    # The first ends when the second has begun.
    here, there = (str(tmp_path / name) for name in ("here", "there"))
    meet = {ids[0]: ({"touch": here}, {"wait": there}), ids[1]: ({"wait": here}, {"touch": there})}
    again = {one: [*meet[one], *scripts[one]] for one in ids}
    limits = {"jobs": 2, "column_limit": 30}
    result, _ = go(again, ids=ids, **limits)
    assert len(fake_run.records(2)) == 4 and fake_run.notes(2)[2:] == []
    assert {one.outcome for one in fake_run.records(2) if one.kernel == "one"} == {"crash"}
    turns = {spec["turns"] for spec in specs(fake_run)[:2]}
    assert len(turns) == 1


def test_a_cancelled_run_ends_columns_that_go_on_by_themselves(go, fake_run, tmp_path, monkeypatch):
    ids = ("triton-3.1.0", "triton-3.2.0")
    crash = cell("one", outcome="crash", fingerprint="x")
    scripts = {
        one: [SESSION | {"versions": {"triton": one[7:]}}, crash, cell("two")] for one in ids
    }
    go(scripts, ids=ids)
    pid = tmp_path / "pid"
    hangs = [{"touch": str(pid)}, {"sleep": 60}]
    # The second column cannot be run: what the first has begun ends with the run.
    monkeypatch.setattr(Plan, "spec", failing_on(ids[1], pid, Plan.spec))
    with pytest.raises(WorkError):
        go({ids[0]: hangs, ids[1]: []}, ids=ids, jobs=2)
    assert has_ended(int(pid.read_text()))


def has_ended(pid):
    """Whether the process is gone, or dead and not yet fetched by the init that inherited it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def failing_on(column, pid, own):
    def spec(self, one, *args, **kwargs):
        if one != column:
            return own(self, one, *args, **kwargs)
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.01)
        raise OSError(28, "No space left on device")

    return spec


def test_a_configuration_that_crashed_is_of_its_case(go):
    mixed = cell("one", config="num_warps=8", outcome="crash")["case"]
    item = "sm_90/compile/bare/one/a"
    events = [{"event": "start", "item": item}, {"event": "cell", **mixed}]
    events += [{"event": "cell", **cell("one")["case"]}, {"event": "end", "item": item}]
    go([SESSION | {"planned": 1}, *events])
    assert go([SESSION | {"planned": 1}, *events])[1] == {}


def test_fresh_runs_all_and_so_does_who_did_not_ask(go):
    script = [SESSION, cell("one"), cell("two")]
    go(script)
    assert go(script, fresh=True)[1] == {}
    assert go(script, take="nothing")[1] == {}


def test_a_wider_selection_runs_what_is_new(go, fake_run):
    go([SESSION, cell("one"), cell("one", "b")], kernels=("one",), cases=("a",))
    second, taken = go([SESSION, cell("one"), cell("one", "b"), cell("two")])
    assert second.exit_code == 0 and taken == {"one/a": 1, "one/b": 1}
    # A narrower one takes what it asks for. How many that are the suite is asked.
    third, taken = go([SESSION, cell("one", "b")], cases=("b",), kernels=("one",))
    assert third.exit_code == 0 and taken == {"one/b": 1}


def test_a_suite_that_knows_less_than_is_taken_is_a_problem(go, fake_run, suite):
    go([SESSION, cell("one"), cell("two")])
    (suite / "two.py").write_text(TWO + "# another\n")
    second, _ = go([SESSION])
    assert second.exit_code == 1


def test_what_is_cut_short_is_gone_on_with(go, fake_run):
    item = "sm_90/compile/bare/two/a"
    torn = [SESSION | {"planned": 2}]
    whole = "sm_90/compile/bare/one/a"
    torn += [{"event": "start", "item": whole}, {"event": "cell", **cell("one")["case"]}]
    torn += [{"event": "end", "item": whole}, {"event": "start", "item": item}, {"exit": 7}]
    assert go(torn)[0].exit_code == 1
    second, taken = go([SESSION, cell("one"), cell("two")])
    assert second.exit_code == 0 and taken == {"one/a": 1}


def test_lines_without_sense_leave_no_key(go):
    go([SESSION, {"raw": "nonsense\n"}, cell("one"), cell("two")])
    assert go([SESSION, cell("one"), cell("two")])[1] == {}


FIVE = [TARGET, SESSION, *(cell("one", name) for name in "abc"), cell("two", "a"), cell("two", "b")]
# Of these, by the deal of fake_suite.py.
SECOND = {"one/b", "two/a"}


def test_a_share_is_taken_from_a_run_of_the_whole(go, fake_run):
    go(FIVE)
    second, taken = go(FIVE, shard=(2, 2))
    assert second.exit_code == 0 and taken == dict.fromkeys(SECOND, 1)
    assert {f"{r.kernel}/{r.case}" for r in fake_run.records(2)} == SECOND
    assert "2 cases are unchanged since run 1" in " ".join(fake_run.notes(2))
    # From the same share the suite is not even asked.
    assert go(NEVER, shard=(2, 2))[1] == dict.fromkeys(SECOND, 1)


def test_a_share_is_no_whole(go, fake_run, suite):
    go(FIVE, shard=(2, 2))
    second, taken = go(FIVE)
    assert second.exit_code == 0 and taken == {} and len(fake_run.records(2)) == 5
    # Nor another share.
    go(FIVE, shard=(2, 2), fresh=True)
    assert set(go(FIVE, shard=(2, 3))[1].values()) <= {2}
    (suite / "two.py").write_text(TWO + "# another\n")
    assert go(FIVE, shard=(2, 2))[1] == {"one/b": 3}


def test_a_share_believes_no_suite_that_takes_what_was_not_offered(go):
    go(FIVE)
    strange = {"event": "taken", "item": "sm_90/compile/bare/one/z"}
    twice = {"event": "taken", "item": "sm_90/compile/bare/one/b"}
    second, taken = go([*FIVE, strange, twice], shard=(2, 2))
    assert second.exit_code == 1 and taken == dict.fromkeys(SECOND, 1)


def test_what_was_merged_is_taken_from(go, fake_run, tmp_path):
    whole, parts = fake_run.database, []
    for number in (1, 2, 3):
        fake_run.database = tmp_path / f"part{number}.db"
        go(FIVE, shard=(number, 3))
        parts.append(fake_run.database)
    fake_run.database = whole
    merge.merge(parts, whole)
    second, taken = go(NEVER)
    assert second.exit_code == 0 and set(taken.values()) == {1} and len(taken) == 5
    # One that lacks a share has no keys: which cases it lacks nobody knows.
    fake_run.database = tmp_path / "short.db"
    merge.merge(parts[:2], fake_run.database)
    assert go(FIVE)[1] == {}


def test_a_merged_run_names_the_runs_of_its_own_store(go, fake_run, tmp_path):
    go(FIVE)
    whole, parts = fake_run.database, []
    for number in (1, 2):
        fake_run.database = tmp_path / f"part{number}.db"
        shutil.copy(whole, fake_run.database)
        go(FIVE, shard=(number, 2))
        parts.append(fake_run.database)
    merge.merge(parts, whole)
    merge.merge(parts, tmp_path / "elsewhere.db")
    for path, source in ((whole, 1), (tmp_path / "elsewhere.db", 0)):
        with Store(path) as store:
            found = store.reused_items(store.run().id)
            assert len(found) == 5 and set(found.values()) == {source}


# At hand


@pytest.fixture
def at_hand(tmp_path):
    """`at_hand()`: the identity now of an interpreter with two folders of packages, one of which is worked in."""
    site, present = tmp_path / "env/site-packages", tmp_path / "project"
    for path in (
        "env/site-packages/triton/__init__.py",
        "env/site-packages/crosswarp/a.py",
        "project/mylib/ops.py",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("a = 1\n")
    (present / "suite").mkdir()

    def now(path=(), environ=(), suite=present / "suite"):
        asked = Interpreter(
            ["3.11.7"],
            ["", str(present), *path, str(site)],
            [str(tmp_path / "lib")],
            [str(site / "triton")],
        )
        return identity.of(asked, suite, present, dict(environ)), identity.sources(
            asked, suite, present
        )

    return now


def test_an_interpreter_at_hand_is_its_files(at_hand, tmp_path):
    before, worked_in = at_hand()
    assert before and at_hand() == (before, worked_in) and worked_in == ((tmp_path / "project"),)
    # What a kernel does not import is no matter, and what it imports is that kernel's.
    (tmp_path / "project/mylib/ops.py").write_text("b = 12\n")
    (tmp_path / "env/site-packages/crosswarp/a.py").write_text("b = 12\n")
    assert at_hand()[0] == before
    (tmp_path / "env/site-packages/triton/__init__.py").write_text("b = 12\n")
    edited = at_hand()[0]
    assert edited != before
    assert at_hand(environ={"TRITON_PTXAS_PATH": "x"}.items())[0] != edited
    assert at_hand(environ={"HOME": "x"}.items())[0] == edited
    overlay = tmp_path / "overlay"
    (overlay / "triton").mkdir(parents=True)
    assert at_hand(path=[str(overlay)])[0] != edited


def test_a_module_in_the_present_folder_that_hides_another_counts(at_hand, tmp_path):
    before = at_hand()[0]
    (tmp_path / "project/triton.py").write_text("a = 1\n")
    hidden = at_hand()[0]
    assert hidden != before
    (tmp_path / "project/triton.py").write_text("a = 12\n")
    assert at_hand()[0] not in (hidden, before)


def test_a_checkout_that_is_installed_as_it_is_counts(at_hand, tmp_path):
    checkout, told = (
        tmp_path / "project/src",
        tmp_path / "env/site-packages/mine-1.dist-info/direct_url.json",
    )
    (checkout / "mine").mkdir(parents=True)
    (checkout / "mine/a.py").write_text("a = 1\n")
    told.parent.mkdir()
    told.write_text(json.dumps({"url": checkout.as_uri(), "dir_info": {"editable": True}}))
    before = at_hand()[0]
    (checkout / "mine/a.py").write_text("a = 12\n")
    assert at_hand()[0] != before


def test_too_many_files_are_no_identity(at_hand, monkeypatch):
    monkeypatch.setattr(identity, "MOST", 0)
    assert at_hand()[0] == ""


def test_a_kernel_is_what_it_imports_of_a_folder_that_is_worked_in(suite, tmp_path):
    package = tmp_path / "lib/ops"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import beside\n")
    (package / "one.py").write_text("")
    (tmp_path / "lib/beside.py").write_text("")
    (suite / "one.py").write_text("from ops.one import f\n")
    names = {path.name for path in suite_keys.reach(suite / "one.py", suite, [tmp_path / "lib"])}
    assert names == {"one.py", "__init__.py", "beside.py"}
    assert len(suite_keys.reach(suite / "one.py", suite)) == 1


# What is said of it


@pytest.fixture
def partly(page_run):
    """A store whose run 2 has one kernel of one column from run 1, and whose run 1 has all of its own."""
    path = page_run()
    page_run()
    with Store(path) as store:
        mine = {
            r.item: 1 for r in store.records(2) if (r.column, r.kernel) == ("triton-3.2.0", "chunk")
        }
        store.take(2, "triton-3.2.0", mine)
        cells = sum(r.item in mine and r.column == "triton-3.2.0" for r in store.records(2))
        return path, f"{cells} of {len(store.records(2))} cells from run 1"


@pytest.mark.parametrize("form", ["table", "markdown", "comment"])
def test_each_report_says_how_many_cells_are_taken_over(partly, command, form):
    path, told = partly
    _, out, _ = command("report", "--store", str(path), "--format", form)
    assert told in " ".join(out.split())
    _, out, _ = command("report", "--store", str(path), "--format", form, "--run", "1")
    assert "from run" not in out


def test_the_page_and_the_json_say_so_too(partly, command, tmp_path):
    path, told = partly
    _, out, _ = command("report", "--store", str(path), "--format", "json")
    assert json.loads(out)["taken_over"] == {
        "cells": 8,
        "of": int(told.split()[2]),
        "runs": {"1": 8},
    }
    command("report", "--store", str(path), "--format", "html", "--out", str(tmp_path / "site"))
    assert told in (tmp_path / "site/index.html").read_text()


def test_badges_and_diff_say_so_too(partly, command, tmp_path):
    path, told = partly
    command("badge", "--store", str(path), "--out", str(tmp_path / "badges"))
    whole, other = (
        json.loads((tmp_path / f"badges/{name}.json").read_text())["message"]
        for name in ("all", "columns/triton-3.1.0")
    )
    assert told in whole and "from run" not in other
    for form in ("table", "markdown", "json"):
        _, out, _ = command("diff", "1", "2", "--store", str(path), "--format", form)
        if form == "json":
            sides = json.loads(out)
            assert (
                sides["after"]["taken_over"]["cells"] == 8
                and not sides["before"]["taken_over"]["cells"]
            )
        else:
            assert told in " ".join(out.split())


def test_what_another_store_ran_is_said_without_a_number(make_record):
    one = make_record()
    assert (
        str(reused.reused([one], {(one.column, one.item): 0}))
        == "1 of 1 cells from runs of another store"
    )
    assert str(reused.reused([one], {})) == ""


def test_the_files_of_a_folder_and_of_a_checkout(tmp_path):
    root = tmp_path / "root"
    names = ("b.py", "a.so", "notes.txt", ".hidden.py", "part/c.py", "part/data.bin", ".git/config")
    for name in (*names, "__pycache__/x.pyc"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (root / "gone.py").symlink_to(root / "nowhere")
    for code_only, expected in (
        (
            False,
            [
                ".git/config",
                ".hidden.py",
                "a.so",
                "b.py",
                "gone.py",
                "notes.txt",
                "part/c.py",
                "part/data.bin",
            ],
        ),
        (True, ["a.so", "b.py", "gone.py", "part/c.py"]),
    ):
        lines = dict(identity._walked(root, set(), code_only=code_only))
        assert [name.removeprefix(f"{root}/") for name in lines] == expected
        assert lines[f"{root}/gone.py"] == "gone"
        assert lines[f"{root}/b.py"].startswith("4 ")
    seen = {root.resolve()}
    assert not list(identity._walked(root, seen))
    ((alone, facts),) = identity._walked(root / "b.py", seen)
    assert alone == f"{root}/b.py" and facts.startswith("4 ") and (root / "b.py").resolve() in seen


def test_where_work_is_in_progress(tmp_path):
    present, suite, other = (tmp_path / name for name in ("here", "suite", "other"))
    inside, installed = present / "src", present / "venv" / "site-packages"
    for folder in (suite / "kernels", other, inside, installed, present / "dist-packages"):
        folder.mkdir(parents=True)
    paths = (str(inside), str(installed), str(present / "dist-packages"), str(other), str(suite))
    asked = Interpreter(("b",), paths, (), ())
    base = {present.resolve(), inside.resolve()}
    assert set(identity.sources(asked, None, present)) == base
    assert set(identity.sources(asked, suite / "kernels", present)) == {*base, suite.resolve()}
    assert set(identity.sources(asked, installed, present)) == {*base, installed.resolve()}
