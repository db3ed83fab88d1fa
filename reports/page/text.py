"""Text of a store inside HTML and JavaScript.

Jinja escapes what it prints. This module does the rest: it drops terminal escapes, controls and direction marks, and
cuts endless text, with a note of how much.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from crosswarp.matrix.results.record import clean_text
from crosswarp.reports.text import escape

# A name fits in a row, a fingerprint in a line; a message may fill a screen or two.
MAX_LINE = 300
_NOT_IN_SLUGS = re.compile(r"[^a-z0-9._+-]+")
MAX_SLUG = 60
# A run of 37,000 cells has some ten thousand distinct texts, most of them repeated many times.
_DIFFERENT = 1 << 16


@lru_cache(maxsize=_DIFFERENT)
def block(text: str) -> str:
    """Lines, as a message has them."""
    text = clean_text(text)
    return text if text.isascii() and text.isprintable() else escape.terminal(text)


@lru_cache(maxsize=_DIFFERENT)
def line(text: str) -> str:
    text = escape.line(clean_text(text))
    if len(text) <= MAX_LINE:
        return text
    return f"{text[:MAX_LINE]} [... {len(text) - MAX_LINE} characters left out ...]"


def web(url: str) -> str:
    """Returns the address if it is an ordinary web address, else nothing."""
    return url if re.fullmatch(r"https?://[^\s<>()\"'`\\|]+", url) else ""


def script(value: Any) -> str:
    """A value as JavaScript that is safe inside HTML: ASCII, and nothing that could end or start a script."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Returns a file name for each name: the name itself if it is valid, else its valid characters and a hash."""
    return {name: slug_of(name) for name in names}


def slug_of(name: str) -> str:
    slug = _NOT_IN_SLUGS.sub("-", name.lower()).strip("-.")[:MAX_SLUG]
    # `index` is reserved; and some disks do not distinguish `Softmax` from `softmax`.
    if slug and slug == name and slug != "index":
        return slug
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{slug or 'unnamed'}-{digest[:10]}"
