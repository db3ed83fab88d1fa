"""`crosswarp fuzz` from the command line to its findings, on stand-ins for columns that fail in known ways."""

import ast
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from crosswarp.laboratory.fuzzing import triage
from crosswarp.matrix.errors import EXIT_ENVIRONMENT, EXIT_EXPECTED, EXIT_UNEXPECTED, EXIT_USAGE
from crosswarp.reports import cli

# An interpreter whose Triton does `DOES` with a program: what a worker says to its host is all that the host knows.
STAND_IN = """#!{python}
import json, os, re, sys, time
RELEASE, DOES = {release!r}, {does!r}
if "crosswarp.laboratory.cell.fuzzing" not in sys.argv:
    print(json.dumps({{"python": "3.11.0", "triton": RELEASE, "torch": "2.0", "missing": []}}))
    sys.exit()
if DOES == "does not begin":
    sys.exit("no torch here")
targets = sorted(json.load(open(sys.argv[-1]))["targets"])
print(json.dumps({{"versions": {{"triton": RELEASE}}, "targets": targets}}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    text = asked["program"]["kernel"]
    verdict = dict(outcome="pass", reason="", fingerprint="", message="", phase="", resources={{}}, shims=[])
    seconds = 0.5
    if DOES == "dies of products" and "tl.dot(" in text:
        verdict.update(outcome="crash", reason="SIGABRT", fingerprint="SIGABRT: planted", phase="compile")
    if DOES == "wrong loops" and re.search("for i|while i", text):
        verdict.update(outcome="mismatch", reason="numbers", fingerprint="mismatch: y0", phase="compare")
    if DOES == "wrong once" and "for i" in text and asked["target"] == "sm_90" and not asked["options"]:
        verdict.update(outcome="mismatch", reason="numbers", fingerprint="mismatch: y0", phase="compare")
    if DOES == "refuses scans" and "tl.cumsum(" in text:
        verdict.update(outcome="compile-error", fingerprint="CompilationError: planted", phase="compile")
    if DOES == "refuses scans otherwise" and "tl.cumsum(" in text:
        verdict.update(outcome="compile-error", fingerprint="CompilationError: another", phase="compile")
    if DOES == "slow" and "tl.trans(" in text:
        seconds = 60.0
    if DOES == "a known one" and "tl.dot(" in text:
        told = "LinearLayout.cpp: LinearLayout::reshapeOuts: Assertion `getTotalOutDimSize() == 1' failed"
        verdict.update(outcome="crash", reason="SIGABRT", fingerprint=told, phase="compile")
    if DOES == "ends" and "tl.dot(" in text:
        os._exit(3)
    if DOES == "sleeps":
        time.sleep(0.2)
    print(json.dumps(dict(verdict=verdict, seconds=0.1, compile_seconds=seconds)), flush=True)
"""


@pytest.fixture
def column(tmp_path):
    def make(release, does=""):
        path = tmp_path / f"python-{release}"
        path.write_text(STAND_IN.format(python=sys.executable, release=release, does=does))
        path.chmod(0o755)
        return str(path)

    return make


# Program 2 of this seed alone, of the first four, has a product, a loop, a scan and a transposition, spread or not.
ALL_IN_ONE = 320


@pytest.fixture
def fuzz(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(triage, "SHRINK_PROGRAMS", 20)

    def run(*pythons, options=("--programs", "12"), work="work", seed=3):
        words = ["fuzz", "--here", *pythons, "--work", str(tmp_path / work), "--seed", str(seed)]
        words += ["--shrink-seconds", "600"]
        code = cli.main([*words, *options])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def findings(tmp_path, work="work", on="", seed=3):
    return sorted((tmp_path / work / "fuzz" / f"seed-{seed}{on}" / "findings").glob("*"))


def test_nothing_is_found_where_all_is_well(column, fuzz, tmp_path):
    code, out, _ = fuzz(column("3.1.0"), column("3.2.0"), column("3.6.0"))
    assert code == EXIT_EXPECTED
    assert "12 programs" in out and "new" not in out
    assert not findings(tmp_path)


@pytest.mark.parametrize(
    "does, kind, told",
    [
        ("dies of products", "crash", "SIGABRT: planted"),
        ("wrong loops", "numbers", "wrong numbers"),
        ("refuses scans", "refusal", "CompilationError: planted"),
        ("slow", "slow", "60.0 s of compilation"),
    ],
)
def test_what_one_release_does_is_found_and_made_small(column, fuzz, tmp_path, does, kind, told):
    # One column is enough on each side, and programs until the first.
    pythons = column("3.1.0"), column("3.2.0", does), column("3.6.0")
    options = ("--programs", "3", "--targets", "sm_80")
    code, out, err = fuzz(*pythons, options=options, seed=ALL_IN_ONE)
    assert code == EXIT_UNEXPECTED, err
    assert f"{told}" in out and "here-triton-3.2.0" in out and "; new; " in out
    made = findings(tmp_path, seed=ALL_IN_ONE)
    assert len(made) == 1 and made[0].name.startswith(kind)
    text = next((made[0] / "suite").glob("*.py")).read_text()
    ast.parse(text)
    alone = (made[0] / "alone.py").read_text()
    ast.parse(alone)
    # Made by the writer of other scripts: it runs without a GPU as well.
    assert 'VIRTUAL = "--virtual" in sys.argv' in alone and "crosswarp.kernels" not in alone
    number = int(made[0].name.split("_")[-1])
    begun = fuzz(*pythons, options=("--replay", str(number)), seed=ALL_IN_ONE)[1]
    assert len(_kernel(text)) < len(_kernel(begun))
    record = tomllib.loads((made[0] / "issue.toml").read_text())["issue"][0]
    # An interpreter at hand is the column here-triton-3.2.0; its release is what a record is of.
    assert record["kernels"] == [made[0].name] and record["triton"] == "==3.2.0"


def test_two_findings_of_one_program_have_a_name_each(column, fuzz, tmp_path):
    pythons = (
        column("3.1.0", "refuses scans"),
        column("3.2.0", "refuses scans otherwise"),
        column("3.6.0"),
    )
    options = ("--programs", "3", "--targets", "sm_80")
    code, out, _ = fuzz(*pythons, options=options, seed=ALL_IN_ONE)
    made = [folder.name for folder in findings(tmp_path, seed=ALL_IN_ONE)]
    assert code == EXIT_UNEXPECTED and len(made) == 2
    assert made[1] == f"{made[0]}_2", out
    said = [
        (tmp_path / f"work/fuzz/seed-{ALL_IN_ONE}/findings/{name}/issue.toml").read_text()
        for name in made
    ]
    assert "planted" in said[0] and "another" in said[1]


def _kernel(text):
    return text[text.index("def kernel(") : text.index("def meaning(")].rstrip().splitlines()


def test_the_same_seed_finds_the_same(column, fuzz, tmp_path):
    pythons = column("3.1.0"), column("3.2.0", "dies of products"), column("3.6.0")
    texts = []
    for work, jobs in (("one", "1"), ("two", "1"), ("three", "3")):
        code, _, _ = fuzz(*pythons, options=("--programs", "6", "--jobs", jobs), work=work)
        made = findings(tmp_path, work)
        assert code == EXIT_UNEXPECTED and made
        cells = (tmp_path / work / "fuzz/seed-3/cells.jsonl").read_text()
        texts.append(([path.name for path in made], cells))
    assert texts[0] == texts[1]
    # Side by side they end in another order, and nothing else is otherwise.
    names, cells = texts[2]
    assert (names, sorted(cells.splitlines())) == (texts[0][0], sorted(texts[0][1].splitlines()))


def test_a_known_cause_is_told_as_known(column, fuzz):
    on = ("--programs", "12", "--targets", "sm_90")
    code, out, _ = fuzz(column("3.1.0"), column("3.2.0", "a known one"), options=on)
    assert code == EXIT_EXPECTED
    assert "fla-196: " in out


def test_a_wrong_number_without_a_second_witness_is_not_believed(column, fuzz, tmp_path):
    code, out, _ = fuzz(column("3.1.0"), column("3.2.0", "wrong once"))
    assert code == EXIT_EXPECTED
    assert "not believed, no second witness" in out
    assert not findings(tmp_path)


def test_a_run_goes_on_where_it_was(column, fuzz, tmp_path):
    pythons = column("3.1.0"), column("3.2.0")
    assert "48 cells in" in fuzz(*pythons)[1]
    _, out, err = fuzz(*pythons, options=("--programs", "18"))
    assert "holds 48 cells" in err and "24 cells in" in out and "72 cells;" in out
    # A line that was being written when its process died.
    file = tmp_path / "work/fuzz/seed-3/cells.jsonl"
    file.write_text(file.read_text()[:-40])
    assert "1 cells in" in fuzz(*pythons, options=("--programs", "18"))[1]


def test_what_an_earlier_run_found_is_not_new_again(column, fuzz):
    pythons = column("3.1.0"), column("3.2.0", "dies of products"), column("3.6.0")
    assert fuzz(*pythons, options=("--programs", "6"))[0] == EXIT_UNEXPECTED
    # The programs that were judged are not judged again, and the others die of the same.
    code, out, _ = fuzz(*pythons, options=("--programs", "12"))
    assert code == EXIT_EXPECTED and "crash-s3-" in out and "; new; " not in out


def test_spread_programs_run_once_where_they_pass(column, fuzz, tmp_path):
    pythons = column("3.1.0"), column("3.2.0"), column("3.6.0")
    code, out, err = fuzz(*pythons, options=("--programs", "24", "--spread"))
    assert code == EXIT_EXPECTED, err
    # Each column and target has its share of them.
    assert "24 programs, 24 cells" in out
    cells = [json.loads(line) for line in _cells(tmp_path, "-spread").splitlines()]
    ran = {(cell["column"], cell["target"]) for cell in cells}
    assert len(ran) == 6 and {target for _, target in ran} == {"sm_80", "sm_90"}
    settings = tmp_path / "work/fuzz/seed-3-spread/settings.json"
    assert json.loads(settings.read_text("utf-8"))["spread"] is True
    # And it goes on as any.
    assert "0 cells in" in fuzz(*pythons, options=("--programs", "24", "--spread"))[1]


@pytest.mark.parametrize(
    "does, kind",
    [
        ("dies of products", "crash"),
        ("wrong loops", "numbers"),
        ("refuses scans", "refusal"),
        ("slow", "slow"),
    ],
)
def test_a_spread_program_that_does_not_pass_runs_everywhere(column, fuzz, tmp_path, does, kind):
    pythons = column("3.1.0"), column("3.2.0", does), column("3.6.0"), column("3.9.0")
    options = ("--programs", "4", "--targets", "sm_80", "--spread")
    code, out, err = fuzz(*pythons, options=options, seed=ALL_IN_ONE)
    assert code == EXIT_UNEXPECTED, err
    made = findings(tmp_path, on="-spread", seed=ALL_IN_ONE)
    assert len(made) == 1 and made[0].name.startswith(kind), out
    record = tomllib.loads((made[0] / "issue.toml").read_text())["issue"][0]
    assert record["triton"] == "==3.2.0"
    # Its number alone, with the option, makes the same program.
    begun = made[0].name.split("_")[-1]
    replayed = fuzz(*pythons, options=("--replay", begun, *options[2:]), seed=ALL_IN_ONE)
    assert replayed[0] == (EXIT_EXPECTED if kind == "slow" else EXIT_UNEXPECTED)
    cells = _cells(tmp_path, "-spread", ALL_IN_ONE).splitlines()
    by_number = Counter(json.loads(line)["number"] for line in cells)
    assert by_number[int(begun)] > 1 and 1 in by_number.values()


def test_a_spread_program_that_shows_what_is_known_runs_once(column, fuzz, tmp_path):
    options = ("--programs", "60", "--targets", "sm_90", "--spread")
    pythons = column("3.1.0"), column("3.2.0", "a known one")
    for fresh in ("60 cells in", "0 cells in"):
        code, out, err = fuzz(*pythons, options=options)
        assert code == EXIT_EXPECTED, err
        assert "60 programs, 60 cells" in out and fresh in out
        assert "fla-196: " in out and " 0 programs that no column compiles" in out


def _cells(tmp_path, on="", seed=3):
    return (tmp_path / f"work/fuzz/seed-{seed}{on}/cells.jsonl").read_text()


def test_other_columns_do_not_go_on_in_the_same_folder(column, fuzz):
    fuzz(column("3.1.0"), column("3.2.0"))
    code, _, err = fuzz(column("3.1.0"), column("3.6.0"))
    assert code == EXIT_USAGE and "Take another --seed or --work" in err


def test_a_worker_that_ends_is_begun_anew(column, fuzz):
    code, out, _ = fuzz(column("3.1.0"), column("3.2.0", "ends"), options=("--programs", "6"))
    assert code == EXIT_EXPECTED
    assert "24 cells" in out


def test_errors_say_what_to_do(column, fuzz):
    code, _, err = fuzz(column("3.1.0"))
    assert code == EXIT_USAGE and "Name a second" in err
    code, _, err = fuzz(column("3.1.0"), column("3.2.0", "does not begin"))
    assert code == EXIT_ENVIRONMENT and "no torch here" in err and "Make `import torch" in err
    code, _, err = fuzz(column("3.1.0"), column("3.2.0"), options=("--minutes", "0"))
    assert code == EXIT_USAGE and "--minutes" in err
    code, _, err = fuzz(column("3.1.0"), options=("--columns", "all"))
    assert code == EXIT_USAGE and "exclude each other" in err


def test_replay_shows_a_program_and_what_each_column_says(column, fuzz):
    code, out, _ = fuzz(column("3.1.0"), column("3.2.0"), options=("--replay", "5"))
    assert code == EXIT_EXPECTED
    assert "def kernel(" in out and "def meaning(" in out
    assert "here-triton-3.1.0 sm_80: pass, 0.5 s" in out


def test_an_interrupted_run_keeps_what_it_has(column, tmp_path):
    words = ["fuzz", "--here", column("3.1.0", "sleeps"), column("3.2.0"), "--work", str(tmp_path)]
    words += ["--jobs", "2"]
    code = f"import sys; from crosswarp.reports import cli; sys.exit(cli.main({words!r}))"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ,
        # A job that a shell put into the background ignores Ctrl-C, and so do its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    file = Path(tmp_path, "fuzz/seed-1/cells.jsonl")
    ends = time.monotonic() + 60
    while time.monotonic() < ends and (not file.exists() or file.read_text().count("\n") < 4):
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert "the same command goes on there" in err and "not counted against" in out
    assert file.read_text().count("\n") >= 4
