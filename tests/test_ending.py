"""The end of a run: one screen with a verdict, a grid that adds up, and what each release broke."""

from __future__ import annotations

import pytest

from crosswarp.reports.text.ending import LINES, ending

HOSTILE = "\x1b[2J\x1b]0;title\x07\u202egnp.exe"
RELEASES = ("2.3.1", "3.0.0", "3.1.0", "3.2.0", "3.9.0")


@pytest.fixture
def run(stored, make_record, make_issue):
    """chunk fails from 3.2.0 on and compat fixes it, sorted fails on 3.9.0 and nothing does, 2.3.1 lacks gather."""

    def make(more=(), code=0):
        crash = {"outcome": "crash", "fingerprint": "SIGABRT: LinearLayout reshapeOuts"}
        wrong = {"outcome": "mismatch", "fingerprint": "mismatch: y wrong"}
        records = []
        for column in (f"triton-{release}" for release in RELEASES):
            for mode in ("bare", "shimmed"):
                at = {"column": column, "mode": mode}
                late, shimmed = column >= "triton-3.2.0", mode == "shimmed"
                lacks = {"outcome": "unsupported"} if column == "triton-2.3.1" else {}
                fixed = ("guarded_autotune",) if late and shimmed else ()
                records += [
                    make_record(**at),
                    make_record(**at, kernel="gather", **lacks),
                    make_record(
                        **at, kernel="chunk", shims=fixed, **(crash if late and not shimmed else {})
                    ),
                    make_record(
                        **at, kernel="sorted", **(wrong if column == "triton-3.9.0" else {})
                    ),
                ]
        issues = [
            make_issue(triton=">=3.2", configs=["*"]),
            make_issue(
                id="silent-1", title=f"sort is wrong {HOSTILE}", triton=">=3.9", outcome="mismatch", shim=None,
                fingerprint="mismatch: y wrong", kernels=["sorted"], configs=["*"],
            ),
        ]  # fmt: skip
        return stored([*records, *more], issues, code=code)

    return make


def grid(text):
    lines = [line.split() for line in text.splitlines() if line.startswith("triton-")]
    return {line[0]: [int(number) for number in line[1:]] for line in lines}


def test_one_screen_whose_numbers_add_up(run):
    text = ending(run())
    lines = text.splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= 80 and text.isprintable is not None
    first = " ".join(text.split("\n\n")[0].split())
    assert first == (
        "As expected: 3 cells fail without compat, each by a known issue. Compat fixes 2; 1 have no fix yet."
    )
    found = grid(text)
    # passes, compat fixes it, not fixed, not in it
    assert found["triton-2.3.1"] == [3, 0, 0, 1]
    assert found["triton-3.2.0"] == [3, 1, 0, 0]
    assert found["triton-3.9.0"] == [2, 1, 1, 0]
    assert sum(row[1] for row in found.values()) == 2 and sum(row[2] for row in found.values()) == 1
    assert {sum(row) for row in found.values()} == {4}


def test_what_each_release_broke_has_its_link_and_the_newest_comes_first(run):
    text = ending(run())
    broke = text.partition("What a release broke:\n")[2].partition("\n\n")[0].splitlines()
    assert broke[0].startswith("  3.9.0  sort is wrong") and broke[0].endswith("owner/project#1")
    assert broke[1].startswith("  3.2.0  aborts at 8 warps")
    assert "\x1b" not in text and "\u202e" not in text
    assert "crosswarp diff 1:3.2.0 1:3.9.0" in text and "--format html --out site" in text


def test_what_is_unexpected_comes_before_the_grid_and_the_verdict_again_at_the_end(
    run, make_record
):
    red = make_record(
        column="triton-3.9.0", kernel="softmax", case="big", outcome="crash", fingerprint="SIGSEGV"
    )
    text = ending(run([red], code=1))
    assert text.startswith("Not as expected: 1 cell fail unexpectedly (exit 1)")
    assert text.index("FAILS UNEXPECTEDLY") < text.index("release ")
    assert "unexpected" in text.partition("release ")[2].partition("\n")[0]
    assert grid(text)["triton-3.9.0"] == [2, 1, 1, 0, 1]
    assert text.rstrip().endswith("(exit 1)")


def test_a_suite_that_passes_needs_few_lines(stored, make_record):
    text = ending(stored([make_record(), make_record(mode="shimmed")], suite="mine"))
    assert "What a release broke" not in text and len(text.splitlines()) < 14


def test_a_users_failure_that_compat_fixes_is_counted_as_such(stored, make_record, make_issue):
    crash = {"outcome": "crash", "fingerprint": "SIGABRT: LinearLayout reshapeOuts"}
    records = [
        make_record(column="triton-3.9.0", kernel=kernel, mode=mode, **failure)
        for kernel, failures in (("fixed", (crash, {})), ("broken", (crash, crash)))
        for mode, failure in zip(("bare", "shimmed"), failures, strict=True)
    ]
    text = ending(stored(records, suite="mine", code=1))
    assert "compat fixes it  not fixed  not in it  fails" in text
    assert grid(text)["triton-3.9.0"] == [0, 1, 0, 0, 1]
