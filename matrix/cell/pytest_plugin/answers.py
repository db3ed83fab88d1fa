"""The answer of `crosswarp why` to a failure, as a section below it.

PYTEST_DONT_REWRITE
"""

from typing import Any, Dict

from crosswarp.compat import passing

SECTION = "crosswarp why"
# Different failures of a run that are asked about: each takes a third of a second.
MOST = 20

_noted: Dict[str, str] = {}


def add(report: Any) -> None:
    """Adds the section to the report of a test that failed, where something is known of it."""
    if not report.failed:
        return
    text = str(report.longrepr).strip()
    key = "\n".join(line for line in text.splitlines() if line.startswith("E  ")) or text[-500:]
    if key not in _noted:
        if len(_noted) >= MOST:
            return
        _noted[key] = passing.note(text)
    if _noted[key]:
        report.sections.append((SECTION, _noted[key]))
