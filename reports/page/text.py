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
# A tag, or an element that shows no text; or a long word. A table scrolls on a phone: only what is too wide for a
# screen breaks in it.
_TAG = r"<(?P<kind>script|style|svg|textarea|title)\b.*?</(?P=kind)>|<[^>]*>"
_LONG_WORD = re.compile(rf"(?P<table><table\b.*?</table>)|{_TAG}|(?P<word>[^\s<>]{{16,}})", re.S)
_LONG_IN_TABLE = re.compile(rf"{_TAG}|(?P<word>[^\s<>]{{50,}})", re.S)
# Behind a sign and before a capital, not inside of `&quot;`.
_JOINT = re.compile(r"&[#\w]+;|[._/:=(|-]+(?=[A-Za-z])|/(?=\d)|,(?=\S)|(?<=[a-z0-9])(?=[A-Z])")


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


def breakable(html: str) -> str:
    """A page whose long names break at their joints on a phone: `mask_layout` behind `_`, `isWarpLocal` before `W`."""

    def at_joints(part: re.Match[str]) -> str:
        parts = part.groupdict()
        if parts.get("table"):
            return _LONG_IN_TABLE.sub(at_joints, part[0])
        return _JOINT.sub(_with_break, part[0]) if parts["word"] else part[0]

    return _LONG_WORD.sub(at_joints, html)


def _with_break(joint: re.Match[str]) -> str:
    return joint[0] if joint[0].startswith("&") else f"{joint[0]}<wbr>"


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
