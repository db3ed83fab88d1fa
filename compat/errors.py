"""The exceptions and warnings of compat. Each message is given once, as a warning and to the logger
``crosswarp.compat``."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Optional, Tuple

from .copies import COMMON, the_same_for_all


@the_same_for_all
class CompatError(Exception):
    """An error of crosswarp.compat itself."""


@the_same_for_all
class CompatWarning(UserWarning):
    """A shim changed what a program asked for, and says so once."""


@the_same_for_all
class CompilerCrashed(CompatError):
    """The Triton compiler died (signal, exit, time or memory limit) while it compiled a kernel in a forked child.

    Attributes:
        kernel: name of the kernel.
        kind: ``signal``, ``exit``, ``timeout``, ``memory``, or ``assertion`` (that MLIR recovered from).
        reason: ``SIGABRT``, ``exit 0``, ``120 s``, ``4096 MiB`` …
        stderr: what the compiler printed, first and last part.
    """

    def __init__(
        self, kernel: str, kind: str, reason: str, stderr: str, remembered: Optional[str] = None
    ):
        self.kernel, self.kind, self.reason, self.stderr = kernel, kind, reason, stderr
        self.remembered = remembered
        message = f"the Triton compiler died ({reason}) while compiling {kernel}"
        if remembered:
            message += (
                f" (remembered from an earlier run in {remembered}; delete that file to try again)"
            )
        lines = [line for line in stderr.splitlines() if line.strip()]
        if lines:
            message += ":\n" + "\n".join(lines[-20:])
        super().__init__(message)

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.kernel, self.kind, self.reason, self.stderr, self.remembered)


def _logger() -> Any:
    """The logger of every copy. A program that has set up no logging sees each warning, once."""
    import logging

    logger = logging.getLogger("crosswarp.compat")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger


def say_once(text: str) -> None:
    """Warn with `text`, once per process."""
    with COMMON.said_lock:
        if text in COMMON.said:
            return
        COMMON.said.add(text)
    _logger().warning("%s", text)
    warnings.warn(text, CompatWarning, stacklevel=3)


def log(text: str) -> None:
    """Log it as information, without a warning."""
    _logger().info("%s", text)


def say_without_raising(text: str) -> None:
    """Warn with `text`, even where warnings are errors: a failure of ours is reported and does not end the program."""
    try:
        say_once(text)
    except Exception:
        if sys.stderr is not None:
            print(f"CompatWarning: {text}", file=sys.stderr)
