"""One root cause is one in every report."""

import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from crosswarp.matrix.results.cause import cause_of, words
from crosswarp.reports.findings.causes import unexpected
from crosswarp.reports.text.summary import summary

ROOT = Path(__file__).parent.parent


def test_a_fingerprint_is_one_cause_wherever_it_shows(make_record):
    one = make_record(outcome="crash", fingerprint="SIGABRT: reshapeOuts")
    other = make_record(
        outcome="crash", fingerprint="SIGABRT: reshapeOuts", kernel="chunk", column="triton-3.1.0",
        target="sm_80", mode="shimmed", reason="SIGABRT", message="at 0x7f",
    )  # fmt: skip
    assert cause_of(one) == cause_of(other)
    assert cause_of(one) != cause_of(make_record(outcome="crash", fingerprint="SIGABRT: lower"))
    assert cause_of(one) != cause_of(make_record(outcome="compile-error", fingerprint=one.fingerprint))  # fmt: skip


@pytest.mark.parametrize(
    "red",
    [
        {"outcome": "mismatch", "fingerprint": "mismatch: y wrong"},
        {"outcome": "timeout", "fingerprint": "timeout"},
        {"outcome": "crash", "reason": "SIGSEGV"},
    ],
)
def test_what_says_nothing_of_its_cause_is_one_for_each_kernel(make_record, red):
    one, same = make_record(**red), make_record(**red, case="other", target="sm_80")
    assert cause_of(one) == cause_of(same) != cause_of(make_record(**red, kernel="chunk"))


def test_a_known_issue_is_one_cause(make_record):
    one = make_record(outcome="crash", fingerprint="a")
    other = make_record(outcome="mismatch", fingerprint="b", kernel="chunk")
    assert cause_of(one, "slow-loop") == cause_of(other, "slow-loop") != cause_of(one)
    assert cause_of(one, "slow-loop") != cause_of(one, "other")


def test_without_a_fingerprint_the_reason_tells_causes_apart_and_the_message_does_not(make_record):
    one = make_record(outcome="crash", reason="SIGSEGV", message="at 0x7f1")
    assert cause_of(one) == cause_of(make_record(outcome="crash", reason="SIGSEGV", message="0x2"))
    assert cause_of(one) != cause_of(make_record(outcome="crash", reason="SIGABRT"))


def test_a_symptom_is_a_cause_without_which_numbers_are_wrong(make_record):
    nan = cause_of(make_record(outcome="mismatch", fingerprint="mismatch: nan"))
    wrong = cause_of(make_record(outcome="mismatch", fingerprint="mismatch: y wrong"))
    assert nan != wrong and nan.symptom == wrong.symptom
    crash = cause_of(make_record(outcome="crash", fingerprint="abort"))
    assert crash.symptom == crash


def test_words(make_record):
    said = {"reason": "r", "message": "m"}
    assert words(make_record(outcome="crash", fingerprint="f", **said)) == "f"
    assert words(make_record(outcome="crash", **said)) == "r"
    assert words(make_record(outcome="crash", message="m")) == "m"
    assert words(make_record(outcome="unsupported", **said)) == "m"


def test_all_reports_count_the_same_causes(stored, command, make_record, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "issues.toml").write_text("")
    kinds = {
        "crash": {"outcome": "crash", "fingerprint": "SIGABRT: reshapeOuts"},
        "wrong": {"outcome": "mismatch", "fingerprint": "mismatch: y wrong"},
    }
    places = [
        {"kernel": kernel, "target": target, "case": case}
        for kernel in ("softmax", "chunk") for target in ("sm_80", "sm_90") for case in kinds
    ]  # fmt: skip
    stored([make_record(**place) for place in places])
    shown = stored([make_record(**place, **kinds[place["case"]]) for place in places], code=1)
    # The crash, and the wrong numbers of each kernel.
    sizes = Counter({4: 1, 2: 2})
    assert Counter(len(cause.records) for cause in unexpected(shown)) == sizes
    said = " ".join(summary(shown).split())
    assert said.count("more like it") == 3
    assert said.count("3 more like it, in 2 kernels") == 1
    paths = ("--store", "store.db", "--issues-file", "issues.toml")
    _, out, _ = command("diff", "1", "2", "--format", "json", *paths)
    groups = json.loads(out)["groups"]
    assert Counter(sum(group["kernels"].values()) for group in groups) == sizes


def test_nothing_else_makes_a_cause_of_a_fingerprint():
    """A tuple with an outcome and a fingerprint in it is a definition of its own."""
    home = ROOT / "matrix/results/cause.py"
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("laboratory", "matrix", "reports")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != home and "cell" not in path.relative_to(ROOT).parts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Tuple)
        and {"outcome", "fingerprint"}
        <= {part.attr for part in node.elts if isinstance(part, ast.Attribute)}
    ]
    # There it is asked whether one cell changed, by what every baseline holds.
    found = [place for place in found if not place.startswith("matrix/results/comparison.py:")]
    assert not found


def test_the_cause_of_what_is_unsupported_is_what_the_target_lacks(make_record):
    cell = make_record(outcome="unsupported", reason="dtype", message="fp8e4nv", fingerprint="f")
    assert cause_of(cell) == ("", "unsupported", "fp8e4nv", "") and words(cell) == "fp8e4nv"
    assert words(make_record(outcome="unsupported", reason="dtype")) == "dtype"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"fingerprint": "f", "reason": "r", "message": "m"}, "f"),
        ({"reason": "r", "message": "m"}, "r"),
        ({"message": "m"}, "m"),
    ],
)
def test_the_words_of_a_failure(make_record, changes, text):
    assert words(make_record(outcome="crash", **changes)) == text
