"""Text from a cell is strange text: compiler output, exception messages, whatever a kernel prints.

On a terminal it must not move the cursor, and in Markdown it must not become markup.
"""

from __future__ import annotations

import json
import re

from crosswarp.matrix.printable import printable

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# Characters that start or end inline markup, and the pipe that ends a table cell.
_INLINE = re.compile(r"([\\`*_{}\[\]|~$!#@])")
# Words that GitHub turns into links or mentions although they are escaped, because it reads the rendered text:
# mentions and mail addresses, issues, web addresses, commits. Inside a code span they stay text.
_LIVE = re.compile(
    r"[@#]|://|www\.|\bGH-\d|\b(?:mailto|xmpp):|\b(?=[0-9]*[a-f])[0-9a-f]{7,40}\b", re.I
)
_PIPE = re.compile(r"(\\*)\|")


def terminal(text: str) -> str:
    """Safe to print: lines and tabs stay, every other control or invisible direction mark is dropped."""
    return printable(text)


def line(text: str, width: int | None = None) -> str:
    """On one line, and no longer than `width`."""
    if width is not None and len(text) > 100 * width:
        # The beginning of a megabyte is enough, even if parts of it are dropped.
        text = f"{text[: 99 * width]}{'.' * width}"
    text = " ".join(terminal(text.replace("\r", "\n")).split())
    return text if width is None or len(text) <= width else text[: max(width - 3, 0)] + "..."


def middle(text: str, longest: int) -> str:
    """Cuts out the middle of a long text: the beginning and end of a compiler's message matter most."""
    half = longest // 2
    if len(text) <= longest:
        return text
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def markdown(text: str) -> str:
    """Plain text inside a paragraph or a table cell. Links and mentions become code."""
    words = line(text).split(" ")
    return " ".join(code(word) if _LIVE.search(word) else _plain(word) for word in words)


def code(text: str) -> str:
    """An inline code span. Its fence outgrows any run of backticks inside; a pipe ends a table cell even there."""
    text = line(text) or " "
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return _PIPE.sub(_escaped_pipe, f"{fence}{pad}{text}{pad}{fence}")


def document(value: object) -> str:
    """Strict JSON, in ASCII. Printed into the log of a CI job, it holds no command to its runner."""
    # Only a text can hold it, and there a character may be written by its number.
    return json.dumps(value, indent=1, allow_nan=False).replace("##", "#\\u0023") + "\n"


def html_code(text: str, width: int) -> str:
    """A code span where Markdown is not read, as in a `<summary>`."""
    # Its table of characters takes longer to import than this module.
    import html

    return f"<code>{html.escape(line(text, width))}</code>"


def block(text: str, longest: int) -> str:
    """A fenced block of several lines, whose fence outgrows any inside."""
    text = terminal(middle(text.replace("\r", "\n"), longest))
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=2) + 1)
    fence = max(fence, "```", key=len)
    return f"{fence}text\n{text}\n{fence}"


def link(text: str, url: str) -> str:
    """A link when the address is an ordinary web address, else plain text."""
    if not re.fullmatch(r"https?://[^\s<>()\"'`\\|]+", url):
        return markdown(text)
    # Inside of a link nothing else becomes one.
    return f"[{_plain(line(text))}]({url})"


def _plain(text: str) -> str:
    escaped = _INLINE.sub(r"\\\1", text)
    return "".join(_HTML.get(char, char) for char in escaped)


def _escaped_pipe(match: re.Match[str]) -> str:
    """With an odd number of backslashes: an even one would be read in pairs, and the pipe end its cell."""
    before = match[1]
    return f"{before}\\{'' if len(before) % 2 == 0 else chr(92)}|"
