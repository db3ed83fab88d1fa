"""Whose fault a failure of a user's kernel is, and the next step, in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from crosswarp.matrix.cell.kinds.check import absent
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record

Whose = Literal["your kernel", "your host code", "your environment", "Triton", "crosswarp"]
# Phases of a record that are neither in the compiler nor in a kernel.
_HOST = {"host": "outside of the compiler", "import": "in the import of its file"}
_NEW = "no known issue is like it, so report it upstream, with `crosswarp reproduce`"
INSTALL = "from crosswarp import compat; compat.install()"
_MISSING = re.compile(r"No module named '([\w.]+)'")
_COMPILER = re.compile(
    r"PassManager::run failed|LLVM ERROR|Assertion `|UNREACHABLE|failed to (?:translate|legalize)|"
    r"Cannot select|Internal Triton PTX|operation destroyed but|op operand #\d"
)
_GONE = re.compile(
    r"module '?triton[\w.]*'? has no attribute '(?P<name>\w+)'|(?:has|have) been removed|"
    r"\w\(\) got an unexpected keyword argument '(?P<keyword>\w+)'|"
    r"Keyword argument (?P<option>\w+) was specified but unrecognised|"
    r"'(?:JITFunction|Autotuner|CompiledKernel)' object has no attribute '(?P<attribute>\w+)'|"
    r"cannot import name '(?P<imported>\w+)' from 'triton|No module named '(?P<module>triton[\w.]*)'"
)
# Launch options of every release.
_OPTIONS = ("num_warps", "num_stages", "num_ctas")
# A line of pytest's traceback in a package that was installed for a library, in the folder that beside.py names.
_IN_REQUIRED = re.compile(r"(?m)^\S*/requires-[0-9a-f]{16}/(\w+)\S*:\d+: in (.*)$")
_OF_ANOTHER = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_UNSUPPORTED = re.compile(r"unsupported AST node type: (\w+)")
_STATIC_ASSERT = re.compile(r"CompileTimeAssertionFailure\W*([^\n]*)")
_NO_TYPE = re.compile(r"type (\w+) not supported in this architecture")
# Operations of one vendor's GPUs alone, where the compiler is asked for another's.
_OF_NVIDIA = re.compile(
    r"failed to legalize operation '(?:ttng\.|ttg\.warp_specialize|tt\.grid_dep|nvgpu\.)"
)
# The messages of ptxas and LLVM's assembler about text that they cannot read.
_ASSEMBLY = re.compile(
    r"(?s)ptxas.*?(?:Parsing error|Not a name of any known instruction|Unexpected instruction types|"
    r"Arguments mismatch|Unknown symbol|Illegal modifier|Feature '[^']+' (?:requires|not supported on) \.target)|"
    r"MLIR error: (?:invalid instruction|invalid operand|unknown token|not a valid operand)|"
    r"could not allocate (?:output register|input reg) for constraint"
)
_GLOBAL = re.compile(r"Cannot access global variable (\w+)")
_TWICE = re.compile(
    r"JITFunction.*got multiple values for keyword argument '(\w+)'|Conflicting meta-parameters: (\w+)"
)
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
    fault = _of(record, issue, fixed, broken)
    # A global that is only annotated has the same message; in that case its shim was seen to fix it.
    if alike is not None and issue is None and not _GLOBAL.search(record.fingerprint):
        likeness = f"looks like {alike.id} ({alike.links[0]})"
        if alike.workaround:
            likeness += f": {alike.workaround}"
        return Fault(fault.whose, f"{fault.next}; {likeness}")
    return fault


def missing_module(record: Record) -> str:
    """The module that an environment lacks, other than Triton's and torch's own; empty for another failure."""
    missing = _MISSING.search(f"{record.fingerprint}\n{record.message}")
    return "" if missing is None or missing[1].split(".")[0] in ("triton", "torch") else missing[1]


def _of(record: Record, issue: Issue | None, fixed: Sequence[str] | None, broken: bool) -> Fault:
    text = f"{record.fingerprint}\n{record.message}"
    if record.reason.startswith("harness") or broken:
        return Fault("crosswarp", "report it to crosswarp, with `crosswarp reproduce`")
    if issue is not None:
        return Fault("Triton", f"known issue {issue.id} ({issue.links[0]}): {_ways(issue, fixed)}")
    if missing := missing_module(record):
        return Fault("your environment", f"{absent.pip([missing])}, or add it to `requires`")
    if (missing_in_torch := _MISSING.search(text)) and missing_in_torch[1].startswith("torch."):
        return Fault(
            "your environment",
            f"the torch that is installed has no {missing_in_torch[1]}: install another release of it",
        )
    if fixed is not None:
        shims = f" ({', '.join(fixed)})" if fixed else ""
        return Fault("Triton", f"passes with compat{shims}: {INSTALL}")
    return _unknown(record, text)


@lru_cache(maxsize=None)
def _ever(name: str) -> bool:
    """Whether some release has a name."""
    # Imported where it is asked, as few do: it brings pydantic.
    from crosswarp.matrix.facts import language_table

    releases = language_table.load().values()
    return any(
        full_name.rpartition(".")[2] == name for release in releases for full_name in release.names
    )


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
    if (twice := _TWICE.search(text)) is not None:
        return Fault(
            "your host code",
            f"leave {twice[1] or twice[2]} out of the launch, or out of the kernel's configurations",
        )
    if (node := _UNSUPPORTED.search(text)) is not None:
        return Fault("your kernel", f"write it without {node[1].lower()}, which no kernel may have")
    if (asserted := _STATIC_ASSERT.search(text)) is not None:
        assertion = f" ({asserted[1]})" if asserted[1] else ""
        return Fault("your kernel", f"its tl.static_assert fails{assertion}: pass what it asks for")
    if (refused := _NO_TYPE.search(text)) is not None:
        return Fault("your kernel", f"{record.target} has no {refused[1]}: use a type that it has")
    if not record.target.startswith("sm_") and _OF_NVIDIA.search(text):
        return Fault(
            "your kernel",
            f"it uses what NVIDIA's GPUs alone have: leave it out for {record.target}",
        )
    required = _IN_REQUIRED.search(record.message) if record.phase == "import" else None
    # A function of it that the library's file calls may fail by what it is passed.
    if required is not None and required[2] == "<module>":
        return Fault(
            "your environment",
            f"{required[1]} fails while it is imported: name another release of it in `requires`",
        )
    if (gone := _GONE.search(text)) is not None:
        what = next(filter(None, gone.groups()), "it")
        if gone["option"] and what.lower() in _OPTIONS:
            return Fault("your kernel", f"write the option {what} as {what.lower()}")
        if what.startswith("triton.language.extra.tlx"):
            return Fault(
                "your kernel",
                "TLX is fbtriton's, and in no release of Triton: install fbtriton in its place",
            )
        if gone["name"] and not _ever(what):
            return Fault("your kernel", f"no release of Triton has {what}: correct its name")
        return Fault(
            "your kernel", f"this Triton does not have {what}: `crosswarp lint` says since when"
        )
    if (lacking := _OF_ANOTHER.search(text)) is not None:
        return Fault(
            "your environment",
            f"the {lacking[2].split('.')[0]} that is installed has no {lacking[1]}: install another release of it",
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
    where = _HOST.get(record.phase)
    if record.outcome == "timeout" and where:
        return Fault(
            "your host code",
            f"it takes too long {where}: look for a loop without an end, or raise --time-limit",
        )
    if record.outcome == "timeout" and "::" in record.kernel:
        # A library's test: its own work counts as well, and that of other programs on the machine.
        return Fault(
            "your environment",
            "the test, with what it compiles, takes longer than its time: raise time-limit, or leave it out",
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
    # Who calls triton.compile by hand has the compiler die there as well.
    if record.outcome == "crash" and where and not _COMPILER.search(text):
        return Fault(
            "your host code",
            f"the process ends {where} ({record.reason}): look for what aborts or exits there",
        )
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
