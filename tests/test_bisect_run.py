"""`crosswarp bisect` from end to end with a fake cell process: what it says, how it ends, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from crosswarp.matrix.environments.here import Here
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts import columns
from crosswarp.matrix.results.store import Store
from crosswarp.reports import cli
from crosswarp.reports.commands import bisect, trials

HOSTILE = "\x1b[2J\x1b]0;title\x07\u202e \x9b31m\r\nnext"
ANSWERS = {"g": "good", "b": "bad", "-": "cannot say"}
OLD = ("triton-2.3.1", "triton-3.0.0", "triton-3.1.0", "triton-3.2.0")


@pytest.fixture
def history(fake_run, fake_trials, steps):
    """`history(**{"triton-3.2.0": "crash", ...})`: every other column passes; `environment` fails to be built."""

    def make(**outcomes):
        script = {}
        for column in columns.load():
            if column.official:
                outcome = outcomes.get(column.id, "pass")
                changes = outcome if isinstance(outcome, dict) else {"outcome": outcome}
                script[column.id] = steps(triton=column.triton, **changes)
        fake_run.script(script)
        fake_trials([name for name, outcome in outcomes.items() if outcome == "environment"])

    return make


@pytest.fixture
def crosswarp(history, command):
    where = ["--store", "store.db", "--work", "work", "--issues-file", "issues.toml"]
    return lambda *arguments: command("bisect", *arguments, *where)


def between(good="2.3.1", bad="3.2.0", kernel="softmax"):
    return [kernel, "--good", good, "--bad", bad]


def test_the_first_bad_release(crosswarp, history, tmp_path):
    history(**{"triton-3.1.0": "crash", "triton-3.2.0": "crash"})
    status, out, _ = crosswarp(*between())
    assert status == 0
    for said in (
        "softmax, sm_90, compile, bare: good on triton-2.3.1, bad on triton-3.2.0",
        "First bad: triton-3.1.0. triton-3.0.0 is the last good one.",
        "outcome   crash: SIGABRT: reshapeOuts", "where     sm_90: fp16",
        "known     no: report it upstream and add it to issues.toml",
    ):  # fmt: skip
        assert said in out
    assert max(map(len, out.splitlines())) <= 80
    with Store(tmp_path / "store.db") as store:
        plans = [run.plan for run in reversed(store.runs())]
    # Each step is a run of one kernel on one column, both ends first.
    assert [plan["columns"] for plan in plans] == [
        ["triton-2.3.1"], ["triton-3.2.0"], ["triton-3.0.0"], ["triton-3.1.0"],
    ]  # fmt: skip
    assert {tuple(plan[name]) for plan in plans for name in ("kernels", "targets", "modes")} == {
        ("softmax",), ("sm_90",), ("bare",),
    }  # fmt: skip


def test_a_known_issue_is_named(crosswarp, history, tmp_path):
    (tmp_path / "issues.toml").write_text(
        '[[issue]]\nid = "triton-1"\ntitle = "aborts at 8 warps"\nstatus = "unverified"\ntriton = "==3.2.*"\n'
        'outcome = "crash"\nfingerprint = "reshapeOuts"\nshim = "guarded_autotune"\nchecked = 2026-11-21\n'
        'links = ["https://example.org/owner/project/issues/1"]\nfixed_in = "3.3.0"\n'
    )
    history(**{"triton-3.2.0": "crash"})
    _, out, _ = crosswarp(*between("triton-3.1.0", "triton-3.2.0"))
    assert "known     aborts at 8 warps [triton-1], fixed in 3.3.0" in out
    assert "upstream  https://example.org/owner/project/issues/1" in out
    assert "shim      guarded_autotune" in out


def test_the_commit_that_fixed_it(crosswarp, history):
    history(**{"triton-3.2.0": "crash"})
    status, out, _ = crosswarp(*between("3.9.0", "3.2.0"))
    assert status == 0
    assert "First good: triton-3.3.1. triton-3.2.0 is the last bad one." in out
    assert "crash: SIGABRT: reshapeOuts" in out and "Not tried:" in out


@pytest.mark.parametrize(
    "outcome", ["environment", "not-run", "unsupported", {"planned": 2}, {"triton": "3.0.1"}]
)
def test_what_cannot_say_is_passed_over(crosswarp, history, fake_run, steps, outcome):
    if isinstance(outcome, dict) and "planned" in outcome:
        outcome = {}
        history(**{"triton-3.2.0": "crash"})
        script = {name: steps(triton=name[7:]) for name in OLD[:3]}
        script["triton-3.2.0"] = steps("crash")
        script["triton-3.0.0"][0]["planned"] = 2
        fake_run.script(script)
    elif isinstance(outcome, dict):
        history(**{"triton-3.2.0": "crash"})
        script = {name: steps(triton=name[7:]) for name in OLD[:3]}
        script["triton-3.2.0"], script["triton-3.0.0"] = steps("crash"), steps(**outcome)
        fake_run.script(script)
    else:
        history(**{"triton-3.0.0": outcome, "triton-3.2.0": "crash"})
    status, out, _ = crosswarp(*between())
    assert status == 0
    assert "First bad: triton-3.2.0. triton-3.1.0 is the last good one." in out
    assert "triton-3.0.0  cannot say" in out


def test_where_nothing_between_can_say_all_of_it_is_told(crosswarp, history):
    history(
        **{"triton-3.0.0": "unsupported", "triton-3.1.0": "environment", "triton-3.2.0": "crash"}
    )
    _, out, _ = crosswarp(*between())
    assert "First bad: triton-3.2.0. triton-2.3.1 is the last good one, as far as can be" in out
    assert "triton-3.0.0, triton-3.1.0 could not say" in " ".join(out.split())


def test_another_failure_at_the_end_is_another_cause(crosswarp, history):
    other = {"outcome": "compile-error", "fingerprint": "instrN"}
    history(**{"triton-3.1.0": "crash", "triton-3.2.0": other})
    _, out, _ = crosswarp(*between())
    assert "First bad: triton-3.1.0" in out
    assert "triton-3.2.0 fails in another way: compile-error: instrN." in " ".join(out.split())


@pytest.mark.parametrize(
    ("outcomes", "said", "todo", "status"),
    [
        ({"triton-2.3.1": "crash"}, "triton-2.3.1 was to be good; it is bad (crash: SIGABRT:", "--good", 2),
        ({"triton-2.3.1": "unsupported"}, "triton-2.3.1 was to be good; it cannot say (unsupported:", "--good", 2),
        ({"triton-2.3.1": "environment"}, "no such wheel. Check the index.", "--good", 3),
        ({}, "triton-3.2.0 was to be bad; it is good (1 cell passes)", "--bad", 2),
        ({"triton-3.2.0": "environment"}, "triton-3.2.0 was to be bad; it cannot say", "--bad", 3),
    ],
)  # fmt: skip
def test_wrong_ends(crosswarp, history, outcomes, said, todo, status):
    history(**outcomes)
    found, out, err = crosswarp(*between())
    assert (found, out) == (status, "")
    assert said in err and f"Name another with {todo}" in err and "crosswarp report --run" in err


@pytest.mark.parametrize(
    ("arguments", "named", "todo"),
    [
        (["softmax"], "needs --good and --bad", "crosswarp columns"),
        (["softmax", "--good", "3.1.0"], "needs --good and --bad", "--here"),
        (between("3.1.0", "3.1.0"), "both name triton-3.1.0", "Name two"),
        (between("3.1.O"), 'no release matches "3.1.O"', "There are: triton-2.3.1"),
        (between("main"), 'no release matches "main"', "There are: "),
        (between("triton-3.*"), "is triton-3.0.0, triton-3.1.0", "Name one"),
        (between(kernel="softmaxx"), 'no kernel matches "softmaxx"', "Did you mean"),
        (between(kernel="soft*"), '"soft*" is no one kernel', "There are: "),
        ([*between(), "--target", "sm_91"], 'no target matches "sm_91"', "crosswarp targets"),
        ([*between(), "--lane", "compiled"], 'no lane matches "compiled"', "There are: "),
        ([*between(), "--mode", "naked"], 'no mode matches "naked"', "There are: bare"),
        ([*between(), "--case", "fp8*"], 'no case of softmax matches "fp8*"', "There are: fp16"),
        ([*between(), "--suite", "nowhere"], "no such folder", "Name a folder"),
        ([*between(), "--wheels", "nowhere"], "no such folder", "Name a folder"),
        ([*between(), "--columns-file", "nowhere.toml"], "no such file", "Give a path"),
        ([*between(HOSTILE)], "no release matches", "There are: "),
    ],
)
def test_usage(crosswarp, history, arguments, named, todo):
    history()
    status, out, err = crosswarp(*arguments)
    assert (status, out) == (2, "")
    assert named in err and todo in err
    assert all(char == "\n" or char.isprintable() for char in err)


@pytest.mark.parametrize("arguments", [[], [*between(), "--jobs", "0"], [*between(), "--fast"]])
def test_argparse_errors_are_usage_errors_too(crosswarp, arguments):
    assert crosswarp(*arguments)[0] == 2


def test_hostile_text(crosswarp, history):
    red = {"outcome": "crash", "fingerprint": HOSTILE, "case": f"c{HOSTILE}", "config": HOSTILE}
    passed = {"case": f"c{HOSTILE}"}
    history(**{"triton-3.1.0": passed, "triton-3.2.0": red})
    status, out, _ = crosswarp(*between("3.1.0"))
    assert status == 0 and "title" not in out
    assert all(char == "\n" or char.isprintable() for char in out)


# Wheels


def test_a_search_among_wheels(
    crosswarp, history, fake_run, steps, tmp_path, make_wheel, monkeypatch
):
    history()
    for version in ("3.7.0", "3.8.0", "3.9.0"):
        make_wheel(tmp_path / "dist", "triton", version)
    fake_run.script({
        f"wheel-triton-{version}": steps(outcome, triton=version)
        for version, outcome in (("3.7.0", "pass"), ("3.8.0", "crash"), ("3.9.0", "crash"))
    })  # fmt: skip
    fake, asked = trials.Builder, []

    def build(*arguments):
        asked.append(Path(arguments[3]).name)
        prepare = fake()
        prepare.expect = {}
        return prepare

    monkeypatch.setattr(trials, "Builder", build)
    _, out, _ = crosswarp(*between("3.7.0", "3.9.0"), "--wheels", "dist")
    assert "First bad: wheel-triton-3.8.0. wheel-triton-3.7.0 is the last good one." in out
    assert asked == [
        f"triton-{version}-py3-none-any.whl" for version in ("3.7.0", "3.9.0", "3.8.0")
    ]


def test_a_search_among_the_builds_of_an_index(
    crosswarp, history, fake_run, steps, make_index, monkeypatch
):
    history()
    builds = ("3.9.0.dev1", "3.9.0.dev2", "3.9.0.dev10", "3.9.0")
    index = make_index(*builds, "3.8.0", "3.10.0.dev1")
    fake_run.script({
        f"index-triton-{version}": steps("crash" if version in builds[2:] else "pass", triton=version)
        for version in builds
    })  # fmt: skip
    fake, asked = trials.Builder, []

    def build(*arguments):
        asked.append((arguments[4], arguments[7]))
        prepare = fake()
        prepare.expect = {}
        return prepare

    monkeypatch.setattr(trials, "Builder", build)
    status, out, err = crosswarp(*between("3.9.0.dev1", "3.9.0"), "--index", index)
    assert status == 0, err
    said = " ".join(out.split())
    assert (
        "First bad: index-triton-3.9.0.dev10. index-triton-3.9.0.dev2 is the last good one." in said
    )
    assert asked == [
        (index, version) for version in ("3.9.0.dev1", "3.9.0", "3.9.0.dev2", "3.9.0.dev10")
    ]


def test_an_index_that_cannot_be_searched(crosswarp, history, make_index, make_wheel, tmp_path):
    history()
    make_wheel(tmp_path / "dist", "triton", "3.9.0")
    index = make_index("3.9.0.dev1", "3.9.0.dev2", "3.10.0+git1", "3.10.0+git2")
    for arguments, status, said, todo in (
        (
            [*between("3.9.0.dev1", "3.9.0.dev1"), "--index", index],
            2,
            "it holds 1 builds of Triton",
            "Name others",
        ),
        (
            [*between("3.9.0.dev1", "3.10.0"), "--index", index],
            2,
            "their versions do not tell",
            "git bisect run",
        ),
        (
            [*between("triton-3.9", "newest"), "--index", index],
            2,
            '"newest" is no version',
            "Name a build",
        ),
        (
            [*between("3.8.0", "3.9.0"), "--index", str(tmp_path / "dist")],
            2,
            "a folder of wheels",
            "--wheels",
        ),
        (
            [*between("3.8.0", "3.9.0"), "--index", "http://127.0.0.1:9/simple"],
            3,
            "did not say",
            "the network",
        ),
        ([*between(), "--index", index, "--wheels", "dist"], 2, "not allowed with", "--wheels"),
        (["softmax", "--here", "--index", index], 125, "Leave out", "--index"),
    ):
        found, out, err = crosswarp(*arguments)
        assert (found, out) == (status, "") and said in err and todo in err, (arguments, err)


# For programs


def test_a_search_as_json(crosswarp, history):
    history(**{"triton-3.0.0": "unsupported", "triton-3.1.0": "crash", "triton-3.2.0": "crash"})
    status, out, _ = crosswarp(*between(), "--format", "json")
    said = json.loads(out)
    published = Path(__file__).parent.parent / "docs" / "schemas" / "bisect.schema.json"
    jsonschema.validate(said, json.loads(published.read_text("utf-8")))
    assert status == 0 and [said[name] for name in ("looked_for", "last_good", "first_bad", "cannot_say")] == [
        "first bad", "triton-2.3.1", "triton-3.1.0", ["triton-3.0.0"],
    ]  # fmt: skip
    assert said["kernel"] == "softmax" and said["releases"] == list(OLD) and said["not_tried"] == []
    assert said["asked"][0] == {
        "run": 1,
        "release": "triton-2.3.1",
        "answer": "good",
        "why": "1 cell passes",
    }
    assert said["red"] == [{
        "cell": "triton-3.1.0/sm_90/compile/bare/softmax/fp16/", "outcome": "crash",
        "fingerprint": "SIGABRT: reshapeOuts", "issue": "",
    }]  # fmt: skip


# The interpreter at hand


@pytest.fixture
def at_hand(history, fake_run, monkeypatch):
    def make(*script):
        fake_run.script(list(script))
        found = Here(Path(sys.executable), {"triton": "3.9.0", "torch": "2.15.0"})
        monkeypatch.setattr(bisect.here, "look", lambda python: found)

    return make


@pytest.mark.parametrize(
    ("outcome", "status", "said"),
    [
        ("pass", 0, "softmax on here-triton-3.9.0: good (1 cell passes)"),
        ("crash", 1, "softmax on here-triton-3.9.0: bad outcome crash: SIGABRT: reshapeOuts"),
        ("unsupported", 125, "cannot say (unsupported: )"),
        ("not-run", 125, "cannot say (not run: )"),
    ],
)
def test_here_answers_as_git_bisect_understands_it(
    crosswarp, at_hand, steps, outcome, status, said
):
    at_hand(*steps(outcome, triton="3.9.0"))
    found, out, _ = crosswarp("softmax", "--here")
    assert found == status and said in " ".join(out.split())


def test_here_as_json(crosswarp, at_hand, steps):
    at_hand(*steps("crash", triton="3.9.0"))
    status, out, _ = crosswarp("softmax", "--here", "--format", "json")
    said = json.loads(out)
    assert (status, said["answer"], said["column"]) == (1, "bad", "here-triton-3.9.0")
    assert [one["outcome"] for one in said["red"]] == ["crash"]


def test_here_takes_nothing_from_the_build_before(crosswarp, at_hand, steps, tmp_path):
    at_hand(*steps(triton="3.9.0"))
    kept = tmp_path / "work/cache/here-triton-3.9.0/kernel.cubin"
    kept.parent.mkdir(parents=True)
    kept.write_text("")
    assert crosswarp("softmax", "--here")[0] == 0
    assert not kept.exists()


def test_a_suite_that_dies_at_once_is_no_verdict(crosswarp, at_hand):
    at_hand({"say": "ImportError: libtriton.so"}, {"exit": 1})
    status, out, _ = crosswarp("softmax", "--here")
    assert status == 125 and "ImportError: libtriton.so" in " ".join(out.split())


def test_here_never_takes_an_error_for_a_verdict(crosswarp, at_hand, steps, monkeypatch):
    at_hand(*steps())
    for arguments in (
        ["softmaxx", "--here"], ["softmax", "--here", "--good", "3.1.0"], ["softmax", "--here", "--fast"],
        ["softmax", "--here", "--case", "fp8*"], ["--here"], ["softmax", f"--here={sys.executable}", "--jobs", "0"],
    ):  # fmt: skip
        assert crosswarp(*arguments)[0] == 125, arguments
    failed = EnvironmentFailed("triton cannot be imported")
    monkeypatch.setattr(bisect.here, "look", lambda python: (_ for _ in ()).throw(failed))
    status, _, err = crosswarp("softmax", "--here")
    assert status == 125 and "triton cannot be imported" in err


def test_a_fault_of_our_own_is_no_verdict_either(at_hand, steps, monkeypatch, capsys):
    at_hand(*steps())
    monkeypatch.setattr(trials, "planned", lambda *a: 1 / 0)
    assert cli.main(["bisect", "softmax", "--here"]) == 125
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_git_bisect_run_finds_the_commit(tmp_path, monkeypatch):
    """A repository of eight commits, of which the sixth breaks it and the third and fourth do not build."""
    for name, value in (("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")):
        monkeypatch.setenv(name, value)

    def git(*arguments):
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        return subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout  # fmt: skip

    git("init", "-q")
    commits = []
    for number, state in enumerate("gg--gbbb"):
        (tmp_path / "state").write_text(f"{number} {bisect.GIT[ANSWERS[state]]}")
        git("add", "state")
        git("commit", "-q", "-m", str(number))
        commits.append(git("rev-parse", "HEAD").strip())
    git("bisect", "start", commits[-1], commits[0])
    out = git("bisect", "run", "sh", "-c", "exit $(cut -d' ' -f2 state)")
    assert f"{commits[5]} is the first bad commit" in out
