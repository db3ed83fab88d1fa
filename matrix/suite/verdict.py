"""From what happened to an outcome: kind, reason, fingerprint, phase."""

import errno
import os
import re
import traceback
from dataclasses import dataclass, field
from typing import Any, Dict, List

from . import fingerprint
from .stream import shortened


@dataclass
class Verdict:
    """How one cell fared; the fields of its record that are found where it runs."""

    outcome: str
    reason: str = ""
    fingerprint: str = ""
    message: str = ""
    phase: str = ""
    resources: Dict[str, Any] = field(default_factory=dict)
    shims: List[str] = field(default_factory=list)


# Says nothing about the kernel.
NO_ROOM = "disk full"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_DEVICE_FAULT = re.compile(
    r"(?:CUDA|HIP) error: (?!out of memory|invalid argument|no kernel image)"
)

# Files of Triton whose frames in a traceback tell how far a launch came, deepest phase first.
_PHASES = (
    ("launch", ("virtual_gpu/limits.py", "virtual_gpu/launching.py")),
    (
        "compile",
        ("triton/compiler/compiler.py", "triton/compiler/code_generator.py", "compat/guard.py"),
    ),
    ("interpret", ("triton/runtime/interpreter.py",)),
    ("bind", ("triton/runtime/jit.py", "triton/runtime/autotuner.py")),
)


def of_error(error: BaseException, phase: str = "") -> Verdict:
    """The verdict on a Python exception that ended a launch (or one configuration of it)."""
    told = getattr(error, "crosswarp_verdict", None)
    if told is not None:
        return told
    phase = _phase_of(error) or phase
    name, text = type(error).__name__, _with_cause(error)
    if name == "CompilerCrashed":
        return of_death(error.kind, error.reason, error.stderr, text, "compile")  # type: ignore[attr-defined]
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        message = (
            f"{name}: {text}. The disk is full or read-only: free space, or choose another --work."
        )
        return Verdict("not-run", reason=NO_ROOM, message=message, phase=phase)
    verdict = Verdict("api-error", reason=name, phase=phase)
    if name in ("OutOfResources", "LaunchRefused"):
        verdict.outcome, verdict.phase = "limit", "launch"
    elif _DEVICE_FAULT.search(text):
        # The launch was accepted and went wrong on the device; its context is lost with it.
        verdict.outcome, verdict.reason, verdict.phase = "crash", "device fault", "execute"
    elif isinstance(error, MemoryError):
        verdict.outcome, verdict.reason = "crash", "memory"
    elif phase == "compile" or name in ("CompilationError", "PTXASError"):
        verdict.outcome, verdict.phase = "compile-error", "compile"
    printed = getattr(error, "compiler_output", "")
    verdict.fingerprint = fingerprint.of_exception(name, text, printed)
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    told = f"{name}: {text}\n\n{''.join(lines[-6:])}"
    verdict.message = shortened(f"{told}\nThe compiler printed:\n{printed}" if printed else told)
    return verdict


def of_death(kind: str, reason: str, output: str, text: str = "", phase: str = "") -> Verdict:
    """The verdict on a process that ended without a result: `kind` and `reason` of an isolate.Outcome."""
    verdict = Verdict("timeout" if kind == "timeout" else "crash", reason=reason, phase=phase)
    if kind == "memory":
        verdict.reason = f"memory: more than {reason}"
    elif kind == "timeout":
        verdict.reason = f"longer than {reason}"
    elif kind == "exit":
        verdict.reason = f"{reason} without a result"
    verdict.fingerprint = fingerprint.of_death(
        "timeout" if kind == "timeout" else verdict.reason, output
    )
    verdict.message = shortened(text or f"the process ended: {verdict.reason}\n{output}".strip())
    return verdict


def _with_cause(error: BaseException) -> str:
    """Its text, and what it was raised from when that says more: Triton often shows only where in the source it was."""
    text, root = str(error), error
    while root.__cause__ is not None:
        root = root.__cause__
    if root is error or not str(root) or str(root) in text:
        return text
    return f"{text}\n{type(root).__name__}: {root}"


def _phase_of(error: BaseException) -> str:
    files = [
        frame.filename.replace(os.sep, "/") for frame in traceback.extract_tb(error.__traceback__)
    ]
    for phase, endings in _PHASES:
        if any(name.endswith(endings) for name in files):
            return phase
    return ""
