"""The pytest plugin that reports a library's tests as cells. Loaded with ``-p`` by `__main__`, beside `pytest_plugin`.

Each process reports its tests as they begin and end; the first that has collected reports how many there are. Tests
that no process reports are missing, and the host says so.

PYTEST_DONT_REWRITE
"""

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from crosswarp.compat.isolate import die_with_parent
from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.starting.enduring import endure
from crosswarp.matrix.cell.stream import Stream

from . import judging, names
from .parts import PART_ENV, Part

NAME = "crosswarp-cells"
_CONFTEST = "conftest.py"


# Before conftests: they may register hooks, which see the library's tests only.
@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    die_with_parent()
    endure()
    part = Part(**json.loads(os.environ[PART_ENV]))
    early_config.pluginmanager.register(Cells(part), NAME)


class Cells:
    def __init__(self, part: Part):
        self.part = part
        self.stream = Stream(part.records)
        self.reports: List[Any] = []
        # By the collector's node id: the reports of collection errors.
        self.not_collected: Dict[str, Any] = {}

    # A test runs in a child of xdist's worker, and is reported in the worker and its controller. What a conftest notes
    # of a test before it runs may be in another process: its KeyError must not end the whole run.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> None:
        hooks = session.config.hook
        for hook in (hooks.pytest_runtest_logstart, hooks.pytest_runtest_logreport):
            for implementation in hook.get_hookimpls():
                if Path(getattr(implementation.plugin, "__file__", None) or "").name == _CONFTEST:
                    implementation.function = _forgiving(implementation.function)

    # Collecting

    # Select the chosen tests before all other hooks, and this shard's part after all of them, the sample included.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, config: Any, items: List[Any]) -> Any:
        called = {item: self._item(item.nodeid) for item in items}
        self._keep(config, items, lambda item: names.chosen(*called[item], self.part.cases))
        result = yield
        called = {item: self._item(item.nodeid) for item in items}
        mine = names.share(list(called.values()), self.part.shard)
        self._keep(config, items, lambda item: called[item] in mine)
        return result

    def _keep(self, config: Any, items: List[Any], wanted: Callable[[Any], bool]) -> None:
        selected = [item for item in items if wanted(item)]
        left = [item for item in items if not wanted(item)]
        if left:
            items[:] = selected
            config.hook.pytest_deselected(items=left)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.not_collected[report.nodeid] = report

    # With xdist only the workers collect, each the same.
    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        if session.config.pluginmanager.hasplugin("dsession") or not self._first():
            return
        from crosswarp.matrix.cell.starting import versions

        items = [self._item(item.nodeid) for item in session.items]
        planned = len(set(items)) + len(self.not_collected)
        self.stream.write(
            protocol.Session(self.part.lane, planned, versions.installed(), self.part.name)
        )
        Path(self.part.items).write_text(json.dumps(items), "utf-8")
        for nodeid, report in self.not_collected.items():
            kernel = names.module(nodeid, self.part.tests)
            self.part.tell(self.stream, kernel, names.IMPORT, judging.of_collection(report))

    def _first(self) -> bool:
        try:
            os.close(os.open(f"{self.part.items}.announced", os.O_CREAT | os.O_EXCL, 0o644))
        except FileExistsError:
            return False
        return True

    # Running

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        kernel, case = self._item(item.nodeid)
        self.reports = []
        # Before anything else: if this process dies, the host knows its victim.
        self.stream.write(protocol.Start(self.part.item(kernel, case)))
        result = yield
        verdict = judging.of_reports(self.reports)
        seconds = sum(getattr(report, "duration", 0.0) for report in self.reports)
        self.part.end(self.stream, kernel, case, verdict, seconds)
        return result

    # In the test's child.
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        error: Optional[BaseException] = None if call.excinfo is None else call.excinfo.value
        if error is not None and not report.failed:
            # Skipped, or expected.
            error = None
        setattr(report, judging.ATTRIBUTE, judging.of_call(error, call.when))
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.reports.append(report)

    def _item(self, nodeid: str) -> Tuple[str, str]:
        return names.names(nodeid, self.part.tests)


def _forgiving(hook: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        try:
            return hook(*args)
        except Exception:
            return None

    return call
