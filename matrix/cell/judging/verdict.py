"""Turn an event into an outcome: kind, reason, fingerprint, phase."""

import errno
import os
import re
import traceback
from dataclasses import dataclass, field
from typing import Any, Dict, List

from crosswarp.compat.errors import CompilerCrashed
from crosswarp.compat.isolate import Outcome, Raised
from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.cell.plain import attribute, clean, text_of, type_name
from crosswarp.matrix.cell.stream import shortened


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

# Files of Triton whose frames in a traceback show how far a launch came, deepest phase first.
_PHASES = (
    ("launch", ("virtual_gpu/limits.py", "virtual_gpu/launching.py")),
    (
        "compile",
        ("triton/compiler/compiler.py", "triton/compiler/code_generator.py", "compat/guard.py"),
    ),
    ("interpret", ("triton/runtime/interpreter.py",)),
    ("bind", ("triton/runtime/jit.py", "triton/runtime/autotuner.py")),
)


def as_data(verdict: Verdict) -> Dict[str, Any]:
    """Return its fields as plain data that any process can read: a kernel's exception may hold objects of any class."""
    return clean(vars(verdict))


def of_error(error: BaseException, phase: str = "") -> Verdict:
    """Return the verdict on a Python exception that ended a launch (or one configuration of it).

    Accepts any exception, also KeyboardInterrupt and GeneratorExit: only the launch itself raises these.
    """
    name = type_name(error)
    try:
        return _of_error(error, name, phase)
    except BaseException as another:
        # Its class does not behave like an exception's.
        message = f"{name}: it cannot be read, because {type_name(another)} is raised meanwhile"
        return Verdict("api-error", reason=name, fingerprint=name, message=message, phase=phase)


def _of_error(error: BaseException, name: str, phase: str) -> Verdict:
    given = getattr(error, "crosswarp_verdict", None)
    if isinstance(given, Verdict):
        return given
    phase = _phase_of(error) or phase
    text = _with_cause(error)
    if isinstance(error, CompilerCrashed):
        return of_death(error.kind, error.reason, error.stderr, text, "compile")
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
    output = attribute(error, "compiler_output")
    printed = "" if output is None else text_of(output)
    verdict.fingerprint = fingerprint.of_exception(name, text, printed)
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    whole = f"{name}: {text}\n\n{''.join(lines[-6:])}"
    verdict.message = shortened(f"{whole}\nThe compiler printed:\n{printed}" if printed else whole)
    return verdict


def of_raised(raised: Raised) -> Verdict:
    """The verdict on an exception of our own, in a child: a kernel's are caught there."""
    return Verdict(
        "crash",
        reason=f"harness: {raised.type_name}",
        fingerprint=raised.type_name,
        message=shortened(raised.traceback),
        phase="suite",
    )


def of_harness(error: Exception) -> Verdict:
    """The verdict where our own code failed beside a child."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return of_raised(Raised(type_name(error), text_of(error), "".join(lines)))


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


def of_outcome(outcome: Outcome, phase: str = "") -> Verdict:
    """The verdict of a child that returns one as data, or on how the child ended."""
    if outcome.kind == "returned":
        return Verdict(**outcome.value)
    if outcome.raised is not None:
        return of_raised(outcome.raised)
    return of_death(outcome.kind, outcome.reason, outcome.output, phase=phase)


def _with_cause(error: BaseException) -> str:
    """Return its text, with that of its cause if that says more: Triton often shows only the source location."""
    text, root = text_of(error), error
    # `raise e from e` is a cause of itself.
    seen = {id(error)}
    while isinstance(root.__cause__, BaseException) and id(root.__cause__) not in seen:
        root = root.__cause__
        seen.add(id(root))
    description = text_of(root)
    if root is error or (description and description in text):
        return text
    if not description:
        # An assertion without text is identified by its location; the line of the kernel differs in each.
        return f"{text}\n{type_name(root)}{_raised_in(root)}"
    return f"{text}\n{type_name(root)}: {description}"


def _raised_in(error: BaseException) -> str:
    """`` in semantic.py: dot``, of the innermost frame, or nothing."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    return f" in {os.path.basename(frames[-1].filename)}: {frames[-1].name}"


def _phase_of(error: BaseException) -> str:
    files = [
        frame.filename.replace(os.sep, "/") for frame in traceback.extract_tb(error.__traceback__)
    ]
    for phase, endings in _PHASES:
        if any(name.endswith(endings) for name in files):
            return phase
    return ""
