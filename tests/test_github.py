"""What is posted: found again by its marker, written anew or left alone, and never more than it says."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from crosswarp.reports.commands.github import LONGEST_TITLE, body, title
from crosswarp.reports.findings.causes import unexpected

MARK = re.compile(r"<!-- crosswarp-cause: [0-9a-f]{16} -->")


@pytest.fixture
def state(tmp_path, monkeypatch):
    """What the fake GitHub holds."""
    folder, programs = tmp_path / "github", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    gh = programs / "gh"
    gh.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("fake_gh.py")}" "$@"\n'
    )
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GH_STATE", str(folder))
    monkeypatch.setenv("GH_TOKEN", "token")
    return folder


@pytest.fixture
def github(command, tmp_path):
    def call(*words):
        where = ["--store", str(tmp_path / "store.db"), "--out", str(tmp_path / "out")]
        return command("github", *words, *where)

    return call


def posted(state, kind):
    return [path.read_text("utf-8") for path in sorted(state.glob(f"{kind}-*"))]


def test_the_next_comment_takes_the_place_of_the_last(state, github, stored, make_record):
    (state / "comment-1").write_text("<!-- crosswarp-comment: other -->\nsomebody else's")
    stored([make_record(outcome="crash", fingerprint="f")], code=1)
    status, said, _ = github("comment", "--pull-request", "3")
    assert (status, said) == (0, "posted the comment on #3\n")
    stored([make_record(mode="shimmed"), make_record()])
    status, said, _ = github("comment", "--pull-request", "3")
    assert (status, said) == (0, "updated the comment on #3\n")
    other, ours = posted(state, "comment")
    assert "somebody else" in other
    assert ours.startswith("<!-- crosswarp-comment: crosswarp -->\n### ✅ crosswarp: 1 ok")
    github("comment", "--pull-request", "3", "--name", "second-suite")
    assert len(posted(state, "comment")) == 3


def test_one_issue_for_each_root_cause(state, github, stored, make_record, tmp_path):
    red = {"outcome": "crash", "fingerprint": "SIGABRT: reshapeOuts"}
    records = [
        make_record(**red), make_record(**red, target="sm_80"), make_record(**red, kernel="chunk"),
        make_record(case="m", outcome="mismatch", fingerprint="wrong"),
        make_record(case="m", kernel="chunk", outcome="mismatch", fingerprint="wrong"),
    ]  # fmt: skip
    stored(records, code=1)
    status, said, _ = github("issues")
    assert status == 0 and said.count("https://example.org/owner/name/issues/") == 3
    titles = [text.split("\n")[0] for text in posted(state, "issue")]
    # Where a fingerprint says nothing of the cause, each kernel has its own.
    assert titles == [
        "softmax and 1 more on triton-3.2.0: crash: SIGABRT: reshapeOuts",
        "softmax on triton-3.2.0: mismatch: wrong",
        "chunk on triton-3.2.0: mismatch: wrong",
    ]
    # Again, later and with other cells: nothing is new.
    stored([make_record(**red, column="triton-3.9.0", kernel="other")], code=1)
    assert github("issues")[:2] == (0, "")
    assert len(posted(state, "issue")) == 3


def test_not_more_issues_at_once_than_asked_for(state, github, stored, make_record):
    records = [make_record(case=f"c{n}", outcome="crash", fingerprint=f"f{n}") for n in range(9)]
    stored(records, code=1)
    status, said, _ = github("issues", "--at-most", "2")
    assert status == 0 and "7 more root causes are new" in said
    assert len(posted(state, "issue")) == 2


def test_known_issues_and_good_runs_open_none(state, github, stored, make_record):
    stored([make_record()])
    assert github("issues")[:2] == (0, "")
    assert not (state / "log").exists()


def test_a_marker_that_a_kernel_wrote_hides_nothing(state, github, stored, make_record, tmp_path):
    stored([make_record(outcome="crash", fingerprint="one")], code=1)
    github("issues", "--dry-run")
    (path,) = (tmp_path / "out").glob("*.md")
    mark = MARK.match(path.read_text("utf-8"))[0]
    (state / "issue-1").write_text(f"title\n\n<!-- crosswarp-cause: {'0' * 16} -->\n\n{mark}\n")
    github("issues")
    assert len(posted(state, "issue")) == 2


def test_a_dry_run_posts_nothing(state, github, stored, make_record, tmp_path):
    stored([make_record(outcome="crash", fingerprint="f")], code=1)
    assert (
        github("issues", "--dry-run")[0]
        == github("comment", "--pull-request", "3", "--dry-run")[0]
        == 0
    )
    assert not list(state.iterdir())
    written = sorted(path.suffix for path in (tmp_path / "out").iterdir())
    assert written == [".md", ".md", ".txt"]


def test_without_gh_or_its_token(state, github, stored, make_record, monkeypatch):
    stored([make_record(outcome="crash", fingerprint="f")], code=1)
    monkeypatch.setenv("GH_TOKEN", "")
    status, _, said = github("issues")
    assert status == 2 and "set the GH_TOKEN" in said and "--dry-run" in said
    monkeypatch.setenv("PATH", str(state))
    status, _, said = github("comment", "--pull-request", "3")
    assert status == 2 and "Install the GitHub CLI" in said


@pytest.mark.parametrize("name", ["a b", "x -->", "a--b", "é", "x" * 99])
def test_a_name_that_would_end_its_marker(github, name):
    status, _, said = github("comment", "--pull-request", "3", f"--name={name}")
    assert status == 2 and "use letters" in said


def test_hostile_text_stays_in_its_block(hostile_view):
    for cause in unexpected(hostile_view):
        text = body(hostile_view, cause, "https://example.org")
        assert len(text) < 60_000 and len(title(cause)) <= LONGEST_TITLE
        assert title(cause).isprintable()
        text.encode("utf-8")
        outside = re.sub(r"```text\n.*?\n```", "", text, flags=re.S)
        outside = re.sub(r"(`+)(?!`).*?[^`]\1(?!`)", "", outside)
        assert "<script>" not in outside and "\x1b" not in text
        # The marker is the first thing, and the only comment that is one.
        assert MARK.match(text) and outside.count("<!--") == 1


def test_the_key_is_the_causes_own(make_record, stored):
    one = unexpected(stored([make_record(outcome="crash", fingerprint="f")]))
    two = unexpected(
        stored([make_record(outcome="crash", fingerprint="f", target="sm_80", kernel="other")])
    )
    other = unexpected(stored([make_record(outcome="crash", fingerprint="g")]))
    assert one[0].key == two[0].key != other[0].key
    # Wrong numbers look alike in every kernel.
    wrong = {"outcome": "mismatch", "fingerprint": "mismatch: y wrong"}
    causes = unexpected(stored([make_record(**wrong), make_record(**wrong, kernel="other")]))
    assert len({cause.key for cause in causes}) == 2
