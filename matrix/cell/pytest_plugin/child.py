"""Run one test in a forked child: a crash of the compiler, or of the child, is one failed test.

PYTEST_DONT_REWRITE
"""

import contextlib
import importlib
import sys
from typing import Any, Callable, List

from _pytest.runner import runtestprotocol

from crosswarp.compat.isolate import Outcome, run_isolated

from . import outcomes, stubs

# Modules of torch that a backward, an operator of torch.library or a test for DTensor imports at first use, which takes
# seconds. Once a child has needed one, it is imported here for later children.
_SHARED = (
    "torch.fx.experimental.symbolic_shapes",
    "torch._dynamo",
    "torch._inductor",
    "torch._higher_order_ops.triton_kernel_wrap",
    "torch.distributed.tensor",
)


def run(item: Any, lane: Any, begin: Callable[[], None], time_limit: float) -> List[Any]:
    """The reports of `item`, which runs in a forked child, set up and torn down there.

    `begin` is called in the child, before the test is set up.
    """
    config = item.config

    def work(send: Any) -> Any:
        _capture_here(config)
        stubs.running = True
        begin()
        lane.in_child()
        reports = [
            config.hook.pytest_report_to_serializable(config=config, report=report)
            for report in runtestprotocol(item, log=False, nextitem=None)
        ]
        return reports, [name for name in _SHARED if name in sys.modules]

    outcome = run_isolated(work, time_limit=time_limit)
    if outcome.kind == "returned":
        reports, needed = outcome.value
        _import(needed)
        return [
            config.hook.pytest_report_from_serializable(config=config, data=data)
            for data in reports
        ]
    return [_died(item, lane, outcome)]


def _import(names: List[str]) -> None:
    for name in names:
        # It went well in a child; if not here, each child does it itself.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def run_here(item: Any, lane: Any, begin: Callable[[], None]) -> List[Any]:
    """The same without a fork, for a debugger, which wants the terminal. One test a run."""
    stubs.running = True
    begin()
    lane.in_child()
    return runtestprotocol(item, log=False, nextitem=None)


def _capture_here(config: Any) -> None:
    """Have pytest's capture take this process's output, which went to the isolation's pipe so far."""
    manager = config.pluginmanager.getplugin("capturemanager")
    if manager is not None and manager.is_globally_capturing():
        manager.suspend_global_capture(in_=False)
        manager.resume_global_capture()


def _died(item: Any, lane: Any, outcome: Outcome) -> Any:
    """Return the report of a test whose child ended without sending reports."""
    import pytest

    if outcome.raised is not None:
        text = f"crosswarp could not run the test:\n{outcome.raised.traceback}"
    elif outcome.kind == "timeout":
        text = (
            f"the test took longer than {outcome.reason}: --crosswarp-time-limit gives it more, "
            "smaller sizes need less"
        )
    else:
        text = f"the process of the test died: {outcome.reason}"
    output = outcome.output + _captured(item.config)
    report = pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={name: 1 for name in item.keywords},
        outcome="failed",
        longrepr=f"{text}\n{output}" if output.strip() else text,
        when="call",
        duration=outcome.seconds,
    )
    why = text.splitlines()[0]
    became = lane.too_slow if outcome.kind == "timeout" else outcomes.RED
    record = {"outcome": became, "launches": 0, "why": why}
    if became != outcomes.RED:
        outcomes.untold(report, became, why)
    elif outcome.raised is None:
        record["death"] = [outcome.kind, outcome.reason, output[-8000:]]
    setattr(report, outcomes.ATTRIBUTE, record)
    return report


def _captured(config: Any) -> str:
    """Return the child's output from the capture that it shared with this process."""
    manager = config.pluginmanager.getplugin("capturemanager")
    if manager is None or not manager.is_globally_capturing():
        return ""
    out, err = manager.read_global_capture()
    return f"{out}{err}"[-8000:]
