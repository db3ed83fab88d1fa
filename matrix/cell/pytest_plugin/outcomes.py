"""Outcomes of a test: compiled, computed, no launch, red, not applicable. Never "passed": that is for a GPU to say.

PYTEST_DONT_REWRITE
"""

from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

NO_LAUNCH = "no launch"
RED = "red"
NOT_APPLICABLE = "not applicable"
SKIPPED = "skipped"
# In the lane emulate: the emulator lacks an instruction, or is too slow. In the lane interpret: a kernel that the
# interpreter does not run. None says anything about the library.
UNSUPPORTED = "unsupported"
TIMEOUT = "timeout"
# Attribute of a pytest report: the input of `outcome_of`, as plain data that goes through xdist.
ATTRIBUTE = "crosswarp"
# The letters shown for outcomes that say nothing about the library.
_UNTOLD = {NOT_APPLICABLE: "n", UNSUPPORTED: "u", TIMEOUT: "t"}


class Ended(NamedTuple):
    """A launch was not executed to its end, even if the test handled that.

    Attributes:
        outcome: RED, UNSUPPORTED or TIMEOUT.
        why: the emulator's message.
        opcode: the instruction that it does not know.
    """

    outcome: str
    why: str
    opcode: str = ""


def done(word: str, launches: int) -> str:
    """The outcome of a test that is not red: it has launched, or nothing is known of it."""
    return word if launches else NO_LAUNCH


def untold(report: Any, outcome: str, why: str) -> None:
    """Make it the report of a test that says nothing about the library: pytest's own word for that is skipped."""
    report.outcome = "skipped"
    report.longrepr = (*report.location[:2], f"{outcome}: {why}")


def launches_text(count: int) -> str:
    return f"{count} launch" if count == 1 else f"{count} launches"


def status(report: Any) -> Optional[Tuple[str, str, Any]]:
    """pytest's category, letter and word for a report; None where pytest's own will do."""
    facts = getattr(report, ATTRIBUTE, None)
    if facts is None:
        return None
    outcome = facts["outcome"]
    if report.failed:
        # pytest shows tracebacks only for its own categories.
        category = "failed" if report.when == "call" else "error"
        return category, "R", ("RED", {"red": True})
    if outcome in _UNTOLD:
        word = f"{outcome.upper()} {facts.get('opcode', '')}".rstrip()
        return outcome, _UNTOLD[outcome], (word, {"yellow": True})
    if report.when != "call" or report.skipped or hasattr(report, "wasxfail"):
        return None
    if outcome == NO_LAUNCH:
        return NO_LAUNCH, "-", ("NO LAUNCH", {"yellow": True})
    return (
        outcome,
        ".",
        (f"{outcome.upper()} ({launches_text(facts['launches'])})", {"green": True}),
    )


def summary(reports: Dict[str, List[Any]], word: str) -> str:
    """One line: ``40 compiled (312 launches), 2 no launch, 1 red, 1 not applicable``."""
    launched = reports.get(word, [])
    count = sum(getattr(report, ATTRIBUTE)["launches"] for report in launched)
    red = len(reports.get("failed", [])) + len(reports.get("error", []))
    parts = [f"{len(launched)} {word} ({launches_text(count)})"]
    for name, number in (
        (NO_LAUNCH, len(reports.get(NO_LAUNCH, []))),
        (RED, red),
        *((outcome, len(reports.get(outcome, []))) for outcome in _UNTOLD),
        ("skipped by the tests themselves", len(reports.get(SKIPPED, []))),
    ):
        if number:
            parts.append(f"{number} {name}")
    return ", ".join(parts)


def unknown(reports: Dict[str, List[Any]]) -> str:
    """Which instructions kept tests from being executed: ``wgmma.mma_async.sp (3 tests), …``; empty if none did."""
    opcodes = (getattr(report, ATTRIBUTE).get("opcode") for report in reports.get(UNSUPPORTED, []))
    counts = Counter(opcode for opcode in opcodes if opcode)
    return ", ".join(f"{opcode} ({number})" for opcode, number in counts.most_common())


def record(report: Any) -> Optional[Dict[str, Any]]:
    """The line that a test's report adds to --crosswarp-records; None for phases that decide nothing."""
    facts = getattr(report, ATTRIBUTE, None)
    if facts is None or (report.when != "call" and report.passed):
        return None
    outcome = facts["outcome"]
    if report.failed:
        outcome = RED
    elif report.skipped and outcome not in _UNTOLD:
        outcome = "xfailed" if hasattr(report, "wasxfail") else SKIPPED
    line = {"test": report.nodeid, "when": report.when, "seconds": round(report.duration, 3)}
    return {**line, **facts, "outcome": outcome, "why": facts.get("why") or _why(report)}


def _why(report: Any) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr or "")
    return text[:1000]
