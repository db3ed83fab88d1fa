"""Colours and links for a terminal, added to plain text.

No other module knows of them: text for a file or a pipe, or under `NO_COLOR`, has none. A cell's output has lost its
escapes before (escape.py), and an address is shown unchanged, so that a link leads where it says.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from crosswarp.matrix.results.record import RED
from crosswarp.reports.text.signs import SIGNS

_RED, _GREEN, _YELLOW, _BOLD, _FAINT = "31", "32", "33", "1", "2"
# Whole lines, by how they begin.
_LINES = (
    (r"FAILS UNEXPECTEDLY|NOT FIXED|Breaks|Heavier|SLOWER", f"{_BOLD};{_RED}"),
    (r"Not as expected|Nothing ran|This run is not whole|Worse:|Problem:|.*: not run:$", _RED),
    (r"PASSES UNEXPECTEDLY|Missing:", _YELLOW),
    (r"As expected|Nothing regressed", _GREEN),
    (
        r"(column|kernel|comparison|outcome|reproducer)  |Known upstream|[a-z]+: [\w, ]+$|First (bad|good):",
        _BOLD,
    ),
)
_LINE = [(re.compile(pattern), style) for pattern, style in _LINES]
# An outcome by itself: in a grid, or at the head of its row.
_OUTCOME = re.compile(
    rf"(?<=  |→ )({'|'.join(map(re.escape, RED))}|pass|unsupported|not-run)(?=  | →|:|$)"
)
# Two signs of a grid, or one, in their column.
_SIGN = re.compile(rf"(?<=  )[{re.escape(''.join(SIGNS.values()))}]{{1,2}}(?=  |$)")
_OF_OUTCOME = {"pass": _GREEN, "unsupported": _FAINT, "not-run": _YELLOW}
_WORDS = {sign: outcome for outcome, sign in SIGNS.items()}
# ASCII only, as the escape sequence requires; without the punctuation that ends a sentence.
_ADDRESS = re.compile(r"https?://[!-~]+(?<![.,;:!?)\"'])")

# Terminals known to support OSC 8. The others ignore it at best.
_PROGRAMS = {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "zed"}
_TERMS = re.compile(r"xterm-kitty|xterm-ghostty|alacritty|foot|wezterm|contour")
_MARKS = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "KITTY_WINDOW_ID")
_VTE_WITH_LINKS = 5000


@dataclass(frozen=True)
class Terminal:
    colours: bool = False
    links: bool = False


def terminal(out: TextIO, environ: Mapping[str, str]) -> Terminal:
    """Returns the escapes that `out` may get: https://no-color.org, and FORCE_HYPERLINK=1 or 0 for links."""
    if not out.isatty() or environ.get("TERM", "dumb") == "dumb":
        return Terminal()
    forced = environ.get("FORCE_HYPERLINK")
    links = forced != "0" if forced else _follows_links(environ)
    return Terminal(colours=not environ.get("NO_COLOR"), links=links)


def decorated(text: str, able: Terminal) -> str:
    return "\n".join(_line(line, able) for line in text.split("\n"))


def show(text: str) -> None:
    """Prints `text`, which ends with a newline, with colours and links where standard output shows them."""
    print(decorated(text, terminal(sys.stdout, os.environ)), end="")


def show_as(form: str, text: str) -> None:
    """Prints a report of a `--format`: only the one for people has colours and links."""
    if form == "table":
        show(text)
    else:
        print(text, end="")


def _line(line: str, able: Terminal) -> str:
    if able.colours:
        style = next((style for pattern, style in _LINE if pattern.match(line)), "")
        if style:
            line = _styled(line, style)
        else:
            line = _OUTCOME.sub(lambda m: _styled(m[0], _OF_OUTCOME.get(m[0], _RED)), line)
            line = _SIGN.sub(lambda m: "".join(_sign(sign) for sign in m[0]), line)
    if able.links:
        line = _ADDRESS.sub(lambda m: f"\x1b]8;;{m[0]}\x1b\\{m[0]}\x1b]8;;\x1b\\", line)
    return line


def _sign(sign: str) -> str:
    return _styled(sign, _OF_OUTCOME.get(_WORDS[sign], _RED))


def _styled(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def _follows_links(environ: Mapping[str, str]) -> bool:
    if environ.get("TERM_PROGRAM") in _PROGRAMS or any(environ.get(name) for name in _MARKS):
        return True
    vte = environ.get("VTE_VERSION", "")
    if vte.isdecimal() and int(vte) >= _VTE_WITH_LINKS:
        return True
    return _TERMS.match(environ.get("TERM", "")) is not None
