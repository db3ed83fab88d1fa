"""The lines of a kernel's source that a change to its IR is about, by the locations that MLIR notes."""

from __future__ import annotations

import re
from typing import Dict, List, Set, Tuple

from ..patterns import lazily

_PLACE = lazily(r"^(#loc\w*) = loc\((.*)\)$", re.MULTILINE)
_FILE = lazily(r'"([^"]+)":(\d+)')
_NAMED = lazily(r"#loc\w*")
_AT = lazily(r'loc\((#loc\w*|"[^"]*":\d+[^)]*)\)\s*$')
# A kernel of more lines is compared only up to here: the time grows faster than the number of lines.
_MOST = 20_000


def changed_lines(before: str, after: str) -> Tuple[str, ...]:
    """``file:line`` of each line of IR that differs, each once, sorted; none where the IR does not say."""
    if not after or before.count("\n") > _MOST:
        return ()
    import difflib

    places = dict(_PLACE.findall(before))
    changed: Set[str] = set()
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False) if len(old) < 500 else None
    if matcher is None:
        # Deleted lines; their order does not affect where they came from.
        remaining = set(new)
        gone = [line for line in old if line not in remaining]
    else:
        gone = [
            line
            for kind, start, end, _, _ in matcher.get_opcodes()
            if kind != "equal"
            for line in old[start:end]
        ]
    for line in gone:
        at = _AT.search(line)
        if at:
            changed.update(_of_place(at[1], places, []))
    return tuple(sorted(changed))


def _of_place(text: str, places: Dict[str, str], seen: List[str]) -> List[str]:
    """The innermost line: a call site names the line in the called function first."""
    direct = _FILE.search(text)
    if direct:
        return [f"{direct[1]}:{direct[2]}"]
    for name in _NAMED.findall(text):
        if name not in seen and name in places:
            lines = _of_place(places[name], places, [*seen, name])
            if lines:
                return lines
    return []
