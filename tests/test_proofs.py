"""Which known issues a run shows: red on the whole of a window and nowhere else, or what speaks against it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp.laboratory.pages import docs
from crosswarp.matrix.facts import issues
from crosswarp.matrix.results import baseline
from crosswarp.reports.findings.proofs import proofs

ROOT = Path(__file__).resolve().parent.parent
RELEASES = ("2.3.1", "3.0.0", "3.1.0", "3.2.0", "3.3.1")
ALL = tuple(f"triton-{release}" for release in RELEASES)
RED = {"outcome": "crash", "fingerprint": "SIGABRT: reshapeOuts"}


@pytest.fixture
def cells(make_record):
    """`cells("grr-o")`: green, red, not run, red in another way, each release; shimmed all green."""
    outcomes = {
        "g": {}, "r": RED, "o": {"outcome": "crash", "fingerprint": "SIGSEGV"},
        "-": {"outcome": "unsupported"}, "?": None,
    }  # fmt: skip

    def make(text, **changes):
        made = [make_record(column=column, kernel="other") for column in ALL]
        for column, letter in zip(ALL, text):
            if outcomes[letter] is not None:
                at = {"column": column, "kernel": "chunk", **changes}
                made.append(make_record(**{**at, **outcomes[letter]}))
                if letter == "r":
                    made.append(make_record(**at, mode="shimmed", shims=("guarded_autotune",)))
        return made

    return make


@pytest.fixture
def known(make_issue):
    def make(window=">=3.0,<3.2", **changes):
        return make_issue(
            **{"triton": window, "configs": ["*"], "case": {"kernel": "chunk"}, **changes}
        )

    return make


@pytest.mark.parametrize(
    ("text", "window", "verdict", "red", "green", "not_run"),
    [
        ("grrgg", ">=3.0,<3.2", "shown", (1, 2), (0, 3, 4), ()),
        ("grrog", ">=3.0,<3.2", "shown", (1, 2), (0, 4), ()),
        ("-rrgg", "<3.2", "in part", (1, 2), (3, 4), (0,)),
        ("grr??", ">=3.0", "in part", (1, 2), (0,), (3, 4)),
        ("g--gg", ">=3.0,<3.2", "not run", (), (0, 3, 4), (1, 2)),
        ("?????", ">=3.0,<3.2", "not run", (), (), (1, 2)),
        ("grrrg", ">=3.0,<3.2", "contradicted", (1, 2, 3), (0, 4), ()),
        ("grggg", ">=3.0,<3.2", "contradicted", (1,), (0, 2, 3, 4), ()),
        ("groog", ">=3.0,<3.2", "contradicted", (1,), (0, 4), ()),
    ],
)
def test_a_record_and_the_columns(cells, known, text, window, verdict, red, green, not_run):
    issue = known(window)
    other = replace(issue, id="other", triton="", fingerprint="SIGSEGV", status="unverified")
    (found, _) = proofs(cells(text), [issue, other])
    assert (found.verdict, found.red) == (verdict, tuple(ALL[n] for n in red))
    # What is red outside of the window is nothing that the shim promises.
    assert set(found.fixed) == set(found.red) - ({"triton-3.2.0"} if text == "grrrg" else set())
    assert (found.green, found.not_run) == (
        tuple(ALL[n] for n in green),
        tuple(ALL[n] for n in not_run),
    )
    assert bool(found.wrong) == (verdict == "contradicted")


def test_what_contradicts_is_told_with_its_edge(cells, known):
    (found,) = proofs(cells("grrrg"), [known()])
    assert found.wrong == (
        "its affected releases >=3.0,<3.2 are too narrow at the upper edge: it fails on 3.2.0 as well. Measured: "
        ">=3.0,<3.3.",
    )


def test_a_case_that_is_red_in_part_does_not_show_it(cells, known):
    records = [*cells("grrgg"), *cells("grogg", case="b")]
    (found,) = proofs(records, [known()])
    assert (found.verdict, found.mixed) == ("contradicted", ("triton-3.1.0",))


def test_records_that_claim_nothing(cells, known):
    unverified = known(status="unverified", case=[])
    gone = known(id="gone", status="no longer reproduces")
    assert [one.verdict for one in proofs(cells("ggggg"), [unverified, gone])] == [
        "no case",
        "shown",
    ]
    (again,) = proofs(cells("grrgg"), [gone])
    assert (again.verdict, again.wrong) == (
        "contradicted",
        ("it fails again on triton-3.0.0, triton-3.1.0.",),
    )


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("grggg", "shown"),
        ("ggggg", "not this time"),
        ("g??gg", "not run"),
        ("grrrg", "contradicted"),
    ],
)
def test_what_shows_in_some_processes_alone(cells, known, text, verdict):
    (found,) = proofs(cells(text), [known(status="by chance")])
    assert found.verdict == verdict


@pytest.fixture
def of_run(cells, stored, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "issues.toml").write_text(
        '[[issue]]\nid = "a-1"\ntitle = "it dies"\nstatus = "reproduced"\ntriton = ">=3.0,<3.2"\noutcome = "crash"\n'
        'fingerprint = "reshapeOuts"\nlinks = ["https://example.org/a/b/issues/1"]\nfixed_in = "3.2.0"\n'
        'case = { kernel = "chunk" }\nchecked = 2026-11-21\n'
    )

    def call(text, *words):
        stored(cells(text))
        return command("issues", "--store", "store.db", "--issues-file", "issues.toml", *words)

    return call


def test_the_table(of_run, command, tmp_path):
    status, out, _ = of_run("grrgg")
    assert status == 0 and "run 1: 5 columns. 1 known issue: 1 shown." in out
    assert "\n  a-1: Triton >=3.0,<3.2, passes with compat\n      it dies\n" in out
    status, out, _ = of_run("grrrg")
    assert (
        status == 1 and "its affected releases >=3.0,<3.2 are too narrow at the upper edge" in out
    )
    _, out, _ = of_run("grrrg", "--format", "json")
    assert json.loads(out)["issues"][0]["red"] == list(ALL[1:4])
    _, out, _ = of_run("grr??", "--format", "markdown")
    assert "| `>=3.0,<3.2` | 3.0.0 to 3.1.0 | 2.3.1 | passes | shown |" in out


def test_the_same_of_a_baseline(of_run, cells, command, tmp_path):
    baseline.write(tmp_path / "all.json", cells("grrgg"))
    status, out, _ = of_run("ggggg", "--baseline", "all.json")
    assert status == 0 and "all.json: 5 columns. 1 known issue: 1 shown." in out
    status, _, err = of_run("ggggg", "--baseline", "all.json", "--new")
    assert status == 2 and "Leave out --new" in err


def test_the_records_of_this_repository_are_what_its_baseline_says():
    found = proofs(baseline.read(ROOT / docs.BASELINE), issues.load())
    assert [(one.issue.id, one.wrong) for one in found if one.wrong] == []
    assert sum(one.verdict == "shown" for one in found) >= 25
