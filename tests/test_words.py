"""One word for one thing: what a command prints, its help and the hand-written pages keep to docs/glossary.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crosswarp.reports.cli import COMMANDS

ROOT = Path(__file__).parents[1]
# Each has its word in the glossary. Option values, ids of cells and JSON keys are not text.
_OLD = re.compile(
    r"\b(bare|shimmed|green|red|heals?|healed|unhealed|at hand|held against|whole numbers?|demonstrations?|"
    r"windows? of (an? |the )?issues?|its window|inside its window)\b",
    re.I,
)
_NO_TEXT = re.compile(
    r"\S+/\S*|--modes? \S+|bare: without compat|shimmed: with compat|\{bare,shimmed\}|-bare\b|\(bare\)|"
    r"[\"'`][^\"'`\n]*[\"'`]"
)
# Generated: their generators keep them.
_OTHER_PAGES = {"shims.md", "api.md", "language.md", "targets.md", "issues.md", "commands.md"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(one for one in sorted((ROOT / "docs").glob("*.md")) if one.name not in _OTHER_PAGES),
]


def old_words(text):
    return [line for line in _NO_TEXT.sub(" ", text).splitlines() if _OLD.search(line)]


def prose(page):
    """A page without blocks of code and the names that it quotes."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    # A name in code counts as a word.
    return re.sub(r"`[^`\n]*`", "Code", re.sub(r"^    .*$|\]\([^)]*\)", "", text, flags=re.M))


def test_an_old_word_is_found():
    assert (
        old_words("3 cells fail bare")
        and old_words("it is green")
        and old_words("each healed by a shim")
    )
    assert not old_words("triton-3.2.0/sm_90/compile/bare/softmax --modes bare")


@pytest.mark.parametrize("words", ["report", "range", "diff 3.8.0 3.9.0", "columns", "targets"])
def test_what_a_command_prints(command, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    assert old_words(command(*words.split())[1]) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help(command, name):
    status, out, _ = command(name, "--help")
    assert status == 0 and old_words(" ".join(out.split())) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page(page):
    assert old_words(prose(page)) == []


def sentences(text):
    """The sentences of paragraphs and lists: no headings, tables or comments."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^(#|\||\s*[-*] ?$).*$", "\n", text, flags=re.M)
    text = re.sub(r"^\s*([-*]|\d+\.) ", "\n\n", text, flags=re.M)
    for paragraph in re.split(r"\n\s*\n", text):
        yield from re.split(r"(?<=[.!?:])\s+(?=[A-Z*\[(`])", " ".join(paragraph.split()))


def test_a_sentence_is_counted():
    assert [*sentences("# Title\n\nOne two. Three four\nfive.\n\n| a | b |\n\n- A list.\n")][
        -1
    ] == "A list."


def test_at_most_2_percent_of_the_sentences_have_more_than_35_words():
    every = [one for page in PAGES for one in sentences(prose(page)) if len(one.split()) > 2]
    long = [one for one in every if len(one.split()) > 35]
    assert len(long) <= 0.02 * len(every), (len(long), len(every), long)
