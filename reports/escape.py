"""Text from a cell is strange text: compiler output, exception messages, whatever a kernel prints.

On a terminal it must not move the cursor, and in Markdown it must not become markup.
"""

from __future__ import annotations

import html
import re
import unicodedata

# Colours and cursor moves, window titles and the like, and two-character escapes, in that order.
_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]",
    re.S,
)
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# What starts or ends inline markup, and the pipe that ends a table cell.
_INLINE = re.compile(r"([\\`*_{}\[\]|~$!#@])")


def terminal(text: str) -> str:
    """Safe to print: lines and tabs are kept, every other control or invisible direction mark is dropped."""
    if text.isprintable():
        return text
    text = _ANSI.sub("", text).replace("\t", "    ")
    return "".join(char for char in text if char == "\n" or not _hidden(char))


def line(text: str, width: int | None = None) -> str:
    """On one line, and no longer than `width`."""
    if width is not None and len(text) > 100 * width:
        # Of a megabyte the beginning is enough, whatever of it is dropped.
        text = f"{text[: 99 * width]}{'.' * width}"
    text = " ".join(terminal(text.replace("\r", "\n")).split())
    return text if width is None or len(text) <= width else text[: max(width - 3, 0)] + "..."


def middle(text: str, longest: int) -> str:
    """With the middle left out where it is longer: what a compiler says first and last is what counts."""
    half = longest // 2
    if len(text) <= longest:
        return text
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def markdown(text: str) -> str:
    """Plain text inside a paragraph or a table cell."""
    escaped = _INLINE.sub(r"\\\1", line(text))
    escaped = "".join(_HTML.get(char, char) for char in escaped)
    # A bare address would become a link, with whatever the text says as its target.
    return escaped.replace("://", ":&#47;&#47;")


def code(text: str) -> str:
    """An inline code span. Its fence outgrows any run of backticks inside; a pipe ends a table cell even there."""
    text = line(text) or " "
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")


def html_code(text: str, width: int) -> str:
    """A code span where Markdown is not read, as in a `<summary>`."""
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
    return f"[{markdown(text)}]({url})"


def _hidden(char: str) -> bool:
    # Cc: controls; Cf: direction marks, zero-width joiners; Cs, Co, Cn: no characters at all; Zl, Zp: line ends.
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
