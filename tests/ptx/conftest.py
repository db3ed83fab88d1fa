"""The folder's modules can be imported by each other; what approximate instructions are off by is told at the end."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Names of the properties of a test: a process of pytest-xdist hands them over with the test's report.
_FIGURE, _WHERE = "ptx figure", "ptx machine"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    import running

    running.FIGURES.clear()
    yield
    if running.FIGURES:
        item.user_properties += [(_FIGURE, figure) for figure in running.FIGURES]
        item.user_properties.append((_WHERE, running.where()))


def pytest_terminal_summary(terminalreporter):
    told = [
        one
        for kind in ("passed", "failed")
        for report in terminalreporter.stats.get(kind, ())
        if getattr(report, "when", "") == "call"
        for one in report.user_properties
    ]
    figures = sorted(tuple(value) for name, value in told if name == _FIGURE)
    import running

    if not figures or not running.TOLD:
        return
    terminalreporter.section("errors of approximate instructions")
    terminalreporter.line("; ".join(sorted({value for name, value in told if name == _WHERE})))
    form = "{:34} {:>9} {:>9} {:>14}  {}"
    terminalreporter.line(
        form.format("instruction", "numbers", "nearest", "largest error", "allowed")
    )
    for name, count, same, error, allowed in figures:
        share = f"{100 * same / count:.1f} %"
        terminalreporter.line(form.format(name, count, share, f"{error:.4g} ulp", allowed))
