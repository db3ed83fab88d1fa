"""Text from a cell is strange text: compiler output, exception messages, whatever a kernel prints.

On a terminal it must not move the cursor, and in the log of a CI system it must not be a command.
"""

from __future__ import annotations

import re
import unicodedata

# Colours and cursor moves, window titles and the like, and two-character escapes, in that order.
ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]",
    re.S,
)
# Commands that a CI runner obeys when it reads them in a log: GitHub at the beginning of a line
# (https://docs.github.com/actions, "Workflow commands") and after `##[`, Azure and TeamCity after theirs. They match
# anywhere in a line, because a long one is folded, and any fold may be a beginning.
COMMAND = re.compile(
    r"::(?=(?:add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|internal-set-repo-path|notice"
    r"|remove-matcher|save-state|set-env|set-output|stop-commands|warning)(?:[ ]|::))"
    r"|##(?=\[|vso\[|teamcity\[)",
    re.I,
)


def printable(text: str) -> str:
    """Lines and tabs are kept, every other control or invisible direction mark is dropped, a command to the runner of
    a CI job is broken."""
    if not text.isprintable():
        text = ANSI.sub("", text).replace("\t", "    ")
        hidden = {ord(char): None for char in set(text) if char != "\n" and _hidden(char)}
        text = text.translate(hidden) if hidden else text
    if "::" in text or "##" in text:
        text = COMMAND.sub(lambda match: " ".join(match[0]), text)
    return text


def _hidden(char: str) -> bool:
    # Cc: controls; Cf: direction marks, zero-width joiners; Cs, Co, Cn: no characters at all; Zl, Zp: line ends.
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
