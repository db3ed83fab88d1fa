"""Describe a failure in one line, the same on every machine and target: no paths, addresses, line numbers.

Failures with the same fingerprint have the same root cause. The known issues of issues.toml are looked up by it.
"""

import os
import re

LONGEST = 240
# Compilers print without end, and no pattern below needs more: each is tried on a bounded piece of text.
_LOOKED_AT = 4000

# glibc's assert: "python: /src/LinearLayout.cpp:562: A B::f(C): Assertion `x == y' failed."
ASSERTION = re.compile(
    r"(?P<file>[^\s:]+\.(?:cpp|cc|c|h|hpp)):\d+:\s*(?P<where>.*?):?\s*Assertion\s+[`'](?P<what>.*?)['`]\s+failed",
    re.S,
)
UNREACHABLE_TEXT = re.compile(
    r"(?:(?P<what>[^\n]*)\n)?UNREACHABLE executed(?: at (?P<file>[^\s:!]+)(?::\d+)?)?"
)
LLVM_ERROR = re.compile(r"LLVM ERROR: (?P<what>[^\n]*)")
# One line for each error, above the lines about ptxas itself; its remarks may come first.
PTXAS = re.compile(
    r"^.{0,40}?\bptxas(?:-\w+)?\s+(?:\S+,\s*line \d+;\s*)?(?P<what>(?:fatal|error)\s*:[^\n]{0,400})",
    re.M,
)
_MOST_CAUSES = 3
_PTXAS_GAVE_UP = "Ptx assembly aborted"
# "kernel.py:31:20: error: 'ttg.local_alloc' op …", up to Triton 3.2 'loc("kernel.py":31:20): error: …': the first one
# is the cause.
MLIR_ERROR = re.compile(
    r"^(?:[^\n]*?:\d+:\d+|loc\([^\n]*?\)): error: (?P<what>[^\n]*)|^error: (?P<other>[^\n]*)", re.M
)
# The message of every pass manager for every failure; from 3.4 a note below it names the pass.
PIPELINE = "Failures have been detected while processing an MLIR pass pipeline"
PASS = re.compile(r"Pipeline failed while executing (?:\[`|`)?(?P<name>\w+)")
# torch's, of which the last line is advice; "AcceleratorError" as RuntimeError before torch 2.8.
_DEVICE_ERROR = re.compile(r"\b(?:CUDA|HIP) error: [^\n]{1,200}")
_RAISED = re.compile(r"^(?:[A-Z]\w*(?:Error|Failure)): (?=.)")
NOISE = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"(?:/[\w.+@-]+)+/(?P<name>[\w.+@-]+)"), r"\g<name>"),
    (re.compile(r"\b(?P<file>[\w.-]+\.(?:py|cpp|cc|h|ptx)):\d+(?::\d+)?"), r"\g<file>"),
    (re.compile(r"\bat \d+:\d+:"), "at …:"),
    (re.compile(r"\btmp\w{6,}\b"), "tmp…"),
    (re.compile(r"\bpid[ _=]\d+\b"), "pid …"),
    # As many as the configuration left to a thread.
    (re.compile(r"\bregister count of '\d+'"), "register count of '…'"),
    (re.compile(r"\b(?:sm_\d+[a-z]?|gfx[0-9a-f]{3,4})\b"), "<target>"),
    # A build of Triton under its own name. crosswarp.compat lists those, and takes long to import.
    (re.compile(r"\btokenspeed_triton(?=\.)"), "triton"),
    (re.compile(r"\s+"), " "),
)


def of_text(text: str) -> str:
    """One normalised line of at most `LONGEST` characters."""
    text = text[:_LOOKED_AT]
    for pattern, replacement in NOISE:
        text = pattern.sub(replacement, text)
    return text.strip()[:LONGEST]


def of_exception(type_name: str, text: str, output: str = "") -> str:
    """Of a Python exception: its type and the line that says most, which a compiler may have printed."""
    on_device = _DEVICE_ERROR.search(text[:_LOOKED_AT])
    if on_device:
        return of_text(on_device[0])
    known = of_output(text) or of_output(output)
    if known.startswith("ptxas "):
        # A RuntimeError up to Triton 3.2.
        type_name = "PTXASError"
    telling = known or _telling_line(text)
    if type_name == "CompilationError":
        # Up to 3.2 the name of the first exception stands before the same words.
        telling = _RAISED.sub("", telling)
    return of_text(f"{type_name}: {telling}")


def of_output(text: str) -> str:
    """Return the assertion, `LLVM ERROR`, `UNREACHABLE` or ptxas message in a dying compiler's output; else ''."""
    match = ASSERTION.search(_around(text, "Assertion"))
    if match:
        place = ": ".join(
            filter(None, (os.path.basename(match["file"]), _function(match["where"])))
        )
        return of_text(f"{place}: Assertion `{match['what']}' failed")
    match = LLVM_ERROR.search(_around(text, "LLVM ERROR"))
    if match:
        return of_text(f"LLVM ERROR: {match['what']}")
    match = UNREACHABLE_TEXT.search(_around(text, "UNREACHABLE"))
    if match:
        return of_text(
            f"UNREACHABLE in {os.path.basename(match['file'] or '?')}: {match['what'] or ''}"
        )
    if "ptxas" in text:
        # One line may be the same for two causes that differ in the next.
        messages = dict.fromkeys(of_text(error["what"]) for error in PTXAS.finditer(text))
        causes = [message for message in messages if _PTXAS_GAVE_UP not in message] or list(
            messages
        )
        if causes:
            return of_text(f"ptxas {'; '.join(causes[:_MOST_CAUSES])}")
    match = MLIR_ERROR.search(_around(text, "error: "))
    what = (match["what"] or match["other"] or "") if match else ""
    if what.startswith(PIPELINE) or not what:
        failed = PASS.search(_around(text, "Pipeline failed while executing"))
        if failed:
            return of_text(f"MLIR error: the pass {failed['name']} failed")
    return of_text(f"MLIR error: {what}") if what else ""


def _around(text: str, word: str) -> str:
    """The lines around the first `word`, or nothing."""
    place = text.find(word)
    if place < 0:
        return ""
    piece = text[max(0, place - _LOOKED_AT // 2) : place + _LOOKED_AT]
    before = piece[: place - max(0, place - _LOOKED_AT // 2)]
    # From the start of the line before: a message may stand there.
    start = before.rfind("\n", 0, max(0, before.rfind("\n"))) + 1
    return piece[start:]


def of_death(reason: str, output: str) -> str:
    """Return the fingerprint of a process that died: its message, or how it ended."""
    known = of_output(output)
    return of_text(f"{reason}: {known}") if known else of_text(reason)


def _function(signature: str) -> str:
    """`LinearLayout::reshapeOuts` out of a C++ signature with return type, arguments and template noise."""
    head = signature.split("(")[0].strip()
    return re.sub(r"\b(?:mlir|triton|llvm|gpu)::", "", head.split(" ")[-1]) if head else ""


def _telling_line(text: str) -> str:
    """The last line with words, for a traceback or a CompilationError, which shows source first."""
    lines = [line.strip() for line in text[-_LOOKED_AT:].splitlines()]
    worded = [line for line in lines if re.search(r"[A-Za-z]{3}", line)]
    return worded[-1] if worded else (lines[-1] if lines else "")
