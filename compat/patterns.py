"""Regular expressions compiled on first use: a process that installs needs few of them."""

import re
from typing import Any, cast


class _Lazy:
    """Stands for a compiled expression; compiles it, and takes over its methods, on first use."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for method in ("search", "match", "fullmatch", "findall", "finditer", "sub", "split"):
            vars(self)[method] = getattr(compiled, method)
        return getattr(compiled, name)


def lazily(text: str, flags: int = 0) -> "re.Pattern[str]":
    """``re.compile(text, flags)``, when it is first used."""
    return cast("re.Pattern[str]", _Lazy(text, flags))
