"""Turn the reports of one test into the verdict on its cell.

The outcome `pass` says that the launches ran in the lane and nothing failed. A test that launched nothing is
`unsupported`: it may pass, and says nothing about Triton.
"""

import re
from typing import Any, Dict, List, Optional

from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data, of_death, of_error
from crosswarp.matrix.cell.plain import clean, text_of, type_name
from crosswarp.matrix.cell.pytest_plugin import outcomes
from crosswarp.matrix.cell.stream import shortened

# Attribute of a pytest report: the data from the process of the test, as plain data.
ATTRIBUTE = "crosswarp_cell"
# Outcomes that say nothing about the library: the test needs more than is available.
_UNTOLD = (outcomes.NOT_APPLICABLE, outcomes.UNSUPPORTED, outcomes.TIMEOUT)
# In a traceback as pytest prints it.
_RAISED = re.compile(
    r"^(?:E\s+)?(?P<name>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt)): (?P<what>.*)$",
    re.M,
)


def of_call(error: Optional[BaseException], phase: str) -> Dict[str, Any]:
    """Return the data for a test's report: the verdict on `error`, the launches, the shims that acted."""
    from crosswarp import compat
    from crosswarp.matrix.cell.standins.virtual_gpu import launching

    figures: Dict[str, Any] = {"launches": launching.noted(), "shims": sorted(compat.acted())}
    if error is not None:
        verdict = of_error(error, phase=phase)
        if isinstance(error, AssertionError) and verdict.outcome == "api-error":
            verdict.outcome, verdict.phase = "mismatch", "compare"
            # Its first line is the assertion; pytest explains below.
            first = next(iter(text_of(error).strip().splitlines()), "")
            verdict.fingerprint = fingerprint.of_text(f"{type_name(error)}: {first}")
        figures["verdict"] = as_data(verdict)
    return clean(figures)


def of_reports(reports: List[Any]) -> Verdict:
    """The verdict on a test by the reports of its phases."""
    last: Dict[str, Any] = {}
    for report in reports:
        last = getattr(report, ATTRIBUTE, None) or last
    verdict = _verdict(reports)
    if last.get("launches"):
        verdict.resources["launches"] = last["launches"]
    verdict.shims = sorted({*verdict.shims, *last.get("shims", ())})
    return verdict


def _verdict(reports: List[Any]) -> Verdict:
    if not reports:
        nothing = "pytest did not say how the test fared"
        return Verdict("crash", "no report", "no report", nothing, "suite")
    for report in reports:
        if report.failed:
            return _red(report)
    for report in reports:
        if report.skipped:
            return _skipped(report)
    call = next((report for report in reports if report.when == "call"), reports[-1])
    saying = getattr(call, outcomes.ATTRIBUTE, None) or {}
    if saying.get("outcome") in (None, outcomes.NO_LAUNCH):
        message = "It passes and launched no kernel: it says nothing of Triton."
        return Verdict("unsupported", outcomes.NO_LAUNCH, message=message, phase="launch")
    noted = saying.get("noted") or []
    verdict = Verdict("pass")
    if noted:
        verdict.message = f"{len(noted)} asserts about values were noted, not judged."
        verdict.resources["noted"] = len(noted)
    return verdict


def _red(report: Any) -> Verdict:
    death = (getattr(report, outcomes.ATTRIBUTE, None) or {}).get("death")
    if death:
        return of_death(*death)
    known = (getattr(report, ATTRIBUTE, None) or {}).get("verdict")
    if known:
        return Verdict(**known)
    why = (getattr(report, outcomes.ATTRIBUTE, None) or {}).get("why") or _text(report)
    if _text(report).startswith("[XPASS"):
        # Strictly expected to fail, and green: no exception was raised.
        return Verdict("mismatch", "expected to fail", "expected to fail", shortened(why), "call")
    # A launch was not carried out, and the test did not notice.
    return Verdict("crash", "launch failed", fingerprint.of_text(why), shortened(why), "launch")


def _skipped(report: Any) -> Verdict:
    saying = getattr(report, outcomes.ATTRIBUTE, None) or {}
    # (file, line, text)
    why = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else _text(report)
    if saying.get("outcome") in _UNTOLD:
        reason = f"{saying['outcome']} {saying.get('opcode', '')}".strip()
    elif hasattr(report, "wasxfail"):
        reason, why = "expected to fail", str(report.wasxfail)
    else:
        reason = outcomes.SKIPPED
    return Verdict("unsupported", reason, message=shortened(why), phase=report.when)


def _text(report: Any) -> str:
    return str(report.longrepr or "")


def of_collection(report: Any) -> Verdict:
    """The verdict on a file that could not be collected."""
    return of_output(_text(report), "api-error", "import")


def of_output(text: str, outcome: str, reason: str) -> Verdict:
    """Return the verdict from pytest's output: the last exception that it names, or a compiler's last message."""
    raised = list(_RAISED.finditer(text))
    known = fingerprint.of_output(text)
    if known:
        words = known
    elif raised:
        words = fingerprint.of_exception(raised[-1]["name"], raised[-1]["what"])
        reason = raised[-1]["name"].rpartition(".")[2]
    else:
        words = fingerprint.of_text(reason)
    return Verdict(outcome, reason, words, shortened(text.strip()), "import")
