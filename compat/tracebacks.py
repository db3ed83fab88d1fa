"""The text of any exception, even one that holds itself, or names a pipe as the file it was raised in."""

from __future__ import annotations

import linecache
import os
import stat
import traceback
from typing import Any, List

# The most exceptions of a chain or a group to show. One that is reached in several ways counts each time.
_MOST = 200
_LONGEST = 1 << 20


def text_of(error: BaseException) -> str:
    """The traceback of `error` and of the exceptions that led to it, at most a megabyte of it."""
    errors: List[BaseException] = []
    whole = _reach(error, errors)
    for part in errors:
        _leave_files_alone(part)
    if whole:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))[
            -_LONGEST:
        ]
    lines = traceback.format_tb(error.__traceback__, _MOST)
    name = str.__str__(type.__dict__["__name__"].__get__(type(error)))
    return "".join(
        ["Traceback (most recent call last):\n", *lines, f"{name}: of more than {_MOST} others\n"]
    )


def _reach(error: BaseException, reached: List[BaseException]) -> bool:
    """Collect `error` and its causes, each as often as it would be shown; returns whether that comes to an end."""
    left: List[Any] = [error]
    while left:
        part = left.pop()
        if not isinstance(part, BaseException):
            continue
        reached.append(part)
        if len(reached) > _MOST:
            return False
        within = getattr(part, "exceptions", ())
        left += within if isinstance(within, (tuple, list)) else ()
        cause = part.__cause__
        if cause is not None:
            left.append(cause)
        elif not part.__suppress_context__:
            left.append(part.__context__)
    return True


def _leave_files_alone(error: BaseException) -> None:
    """Leave out source lines of anything but a regular file: opening a pipe blocks until somebody writes."""
    frame = error.__traceback__
    while frame is not None:
        name = frame.tb_frame.f_code.co_filename
        if name not in linecache.cache and not _is_regular(name):
            linecache.cache[name] = (0, None, [], name)
        frame = frame.tb_next


def _is_regular(name: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(name).st_mode)
    except (OSError, ValueError):
        # Not a file, as for code compiled from a string: Python asks the module's loader for it.
        return True
