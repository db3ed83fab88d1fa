"""Whose fault a failure of somebody's kernel is, and the next step, in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record

Whose = Literal["your kernel", "your environment", "Triton", "crosswarp"]
_NEW = "no known issue is like it, so report it upstream, with `crosswarp reproduce`"
INSTALL = "from crosswarp import compat; compat.install()"
_MISSING = re.compile(r"No module named '([\w.]+)'")
_COMPILER = re.compile(
    r"PassManager::run failed|LLVM ERROR|Assertion|UNREACHABLE|failed to (?:translate|legalize)|"
    r"Cannot select|Internal Triton PTX|operation destroyed but|op operand #\d"
)
_GONE = re.compile(
    r"module '?(triton[\w.]*)'? has no attribute '(\w+)'|(?:has|have) been removed|"
    r"(\w+)\(\) got an unexpected keyword argument '(\w+)'|cannot import name '(\w+)' from '(triton[\w.]*)"
)
# What ptxas and LLVM's assembler say of text that they cannot read.
_ASSEMBLY = re.compile(
    r"(?s)ptxas.*?(?:Parsing error|Not a name of any known instruction|Unexpected instruction types|"
    r"Arguments mismatch|Unknown symbol|Illegal modifier)|"
    r"MLIR error: (?:invalid instruction|invalid operand|unknown token|not a valid operand)|"
    r"could not allocate (?:output register|input reg) for constraint"
)
_GLOBAL = re.compile(r"Cannot access global variable (\w+)")
_UNDEFINED = re.compile(r"(?:NameError\W+|name ')(\w+)'? is not defined")


@dataclass(frozen=True)
class Fault:
    whose: Whose
    next: str

    def __str__(self) -> str:
        return f"{self.whose}: {self.next}"


def of(
    record: Record,
    issue: Issue | None = None,
    alike: Issue | None = None,
    fixed: Sequence[str] | None = None,
    broken: bool = False,
) -> Fault:
    """Whose fault a failing record is.

    Args:
        issue: the known issue that explains it.
        alike: a known issue that it looks like.
        fixed: the shims with which it was seen to pass; None where that was not seen.
        broken: whether it passes without compat.
    """
    found = _of(record, issue, fixed, broken)
    # The same words stand for a global that is only annotated; where that is meant, its shim was seen to fix it.
    if alike is not None and issue is None and not _GLOBAL.search(record.fingerprint):
        return Fault(found.whose, f"{found.next}; looks like {alike.id} ({alike.links[0]})")
    return found


def _of(record: Record, issue: Issue | None, fixed: Sequence[str] | None, broken: bool) -> Fault:
    text = f"{record.fingerprint}\n{record.message}"
    if record.reason.startswith("harness") or broken:
        return Fault("crosswarp", "report it to crosswarp, with `crosswarp reproduce`")
    if issue is not None:
        return Fault("Triton", f"known issue {issue.id} ({issue.links[0]}): {_ways(issue, fixed)}")
    missing = _MISSING.search(text)
    if missing and missing[1].split(".")[0] != "triton":
        return Fault("your environment", f"pip install {missing[1].split('.')[0]}")
    if fixed is not None:
        shims = f" ({', '.join(fixed)})" if fixed else ""
        return Fault("Triton", f"passes with compat{shims}: {INSTALL}")
    return _unknown(record, text)


def _ways(issue: Issue, fixed: Sequence[str] | None) -> str:
    ways = []
    if fixed is not None:
        ways.append(f"fixed by compat: {INSTALL}")
    if issue.fixed_in:
        ways.append(f"fixed in Triton {issue.fixed_in}")
    if fixed is None and issue.workaround:
        ways.append(issue.workaround)
    return "; or ".join(ways) or "no fix is known yet"


def _unknown(record: Record, text: str) -> Fault:
    if "SyntaxError" in text or "IndentationError" in text:
        return Fault("your kernel", "correct its syntax")
    if (name := _UNDEFINED.search(text)) is not None:
        return Fault("your kernel", f"define {name[1]}, or pass it as a tl.constexpr")
    if (name := _GLOBAL.search(text)) is not None:
        made = f"{name[1]} = tl.constexpr(...)"
        return Fault(
            "your kernel", f"a kernel reads no plain global: {made}, or pass it to the kernel"
        )
    if (gone := _GONE.search(text)) is not None:
        what = gone[2] or gone[4] or gone[5] or "it"
        return Fault(
            "your kernel", f"this Triton does not have {what}: `crosswarp lint` says since when"
        )
    if record.outcome == "limit":
        return Fault(
            "your kernel",
            f"too large for {record.target}: smaller blocks, or fewer num_stages or num_warps",
        )
    if record.outcome == "mismatch":
        return Fault(
            "your kernel",
            "its numbers differ from its reference: `crosswarp reproduce` shows where",
        )
    if record.outcome == "timeout" and record.lane == "compile":
        return Fault(
            "your kernel",
            "it takes too long to compile: smaller blocks, or less to unroll, or raise --time-limit",
        )
    if record.outcome == "timeout":
        return Fault(
            "your kernel", "it does not end: look for a loop without an end, or raise --time-limit"
        )
    if record.outcome == "fault" or record.fingerprint.startswith("fault: out-of-bounds"):
        return Fault(
            "your kernel", "it reads or writes out of its memory: the message has the line"
        )
    if record.outcome == "crash" and record.reason.startswith("memory"):
        return Fault("your environment", "it needs more memory than --memory-limit allows")
    if (
        record.outcome == "crash"
        and record.phase not in ("import", "execute")
        and "exit" not in record.reason
    ):
        return Fault(
            "Triton",
            f"its compiler dies: {_NEW}",
        )
    if record.outcome == "compile-error" and _ASSEMBLY.search(text):
        return Fault(
            "your kernel",
            "the assembler refuses its inline assembly; if it has none, hand it to Triton with `crosswarp reproduce`",
        )
    if record.outcome in ("compile-error", "crash") and _COMPILER.search(text):
        return Fault(
            "Triton",
            f"its compiler fails: {_NEW}",
        )
    return Fault("your kernel", "the message says where; `crosswarp why` takes it for more")
