"""The sign of each outcome, where a word is too long. `crosswarp why` has it with the base alone."""

from __future__ import annotations

from crosswarp.matrix.results.vocabulary import OUTCOMES

# Each colour has a sign with the same meaning. Each is in the fonts that systems come with.
SIGNS: dict[str, str] = {name: word.sign for name, word in OUTCOMES.items()}
