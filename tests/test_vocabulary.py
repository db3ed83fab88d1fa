"""One vocabulary: documents, pages, badges and the terminal have their words from results/vocabulary.py."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from crosswarp.matrix.cell import protocol
from crosswarp.matrix.results import comparison, supported, vocabulary
from crosswarp.reports.page.grid import _SIGNS
from crosswarp.reports.text.badges import COLOURS
from crosswarp.reports.text.signs import SIGNS

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["Outcome", "Fate", "Mark", "Standing", "Release", "Compared"])
def test_each_word_has_its_meaning(name):
    table = {"Outcome": "OUTCOMES", "Compared": "COMPARED"}.get(name, f"{name.upper()}S")
    words = getattr(vocabulary, table)
    assert tuple(words) == get_args(getattr(vocabulary, name))
    assert all(word.short and word.meaning for word in words.values())


def test_the_tables_stand_in_the_docs():
    text = (ROOT / "docs" / "concepts.md").read_text("utf-8")
    wanted = vocabulary.markdown()
    assert wanted in text, f"docs/concepts.md, Outcomes: write\n\n{wanted}"


def test_what_a_cell_says_has_a_word():
    """The cell side has its own list: it imports nothing of the host's."""
    assert set(protocol.OUTCOMES) == set(vocabulary.OUTCOMES) == set(vocabulary.WORST)
    assert SIGNS.keys() == vocabulary.OUTCOMES.keys()
    assert len(set(SIGNS.values())) == len(SIGNS)


def test_who_shows_a_word_has_all_of_them():
    assert _SIGNS.keys() == vocabulary.MARKS.keys()
    assert vocabulary.STANDINGS.keys() <= COLOURS.keys()
    assert supported.STATES == tuple(vocabulary.RELEASES)
    assert comparison.OUTCOMES == tuple(vocabulary.COMPARED)
    assert {*comparison._RULES.values(), *comparison.WORSE} <= vocabulary.COMPARED.keys()
