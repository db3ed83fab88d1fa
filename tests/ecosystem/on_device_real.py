"""pytest plugin of on_device.py: the same sample and configurations as on the virtual GPU, and a record of each test.

AGREE_RECORDS: file for the records. AGREE_SAMPLE: tests. PYTEST_DONT_REWRITE
"""

import json
import os

import pytest

from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.pytest_plugin import configurations, sampling

SAMPLE = int(os.environ["AGREE_SAMPLE"])
RECORDS = os.environ["AGREE_RECORDS"]


def pytest_configure(config):
    config.agree_worker = hasattr(config, "workerinput")
    configurations.limit(Patches(), 2)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    sampling.cut_parameters(metafunc, SAMPLE, lambda number: None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if len(items) <= SAMPLE:
        return
    chosen = set(sampling.sample([item.nodeid for item in items], SAMPLE))
    config.hook.pytest_deselected(items=[one for at, one in enumerate(items) if at not in chosen])
    items[:] = [one for at, one in enumerate(items) if at in chosen]


class Writer:
    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        line = {
            "test": report.nodeid,
            "when": report.when,
            "outcome": outcome,
            "seconds": report.duration,
            "why": str(report.longrepr or "")[-1500:],
        }
        with open(RECORDS, "a") as file:
            file.write(json.dumps(line) + "\n")


def pytest_sessionstart(session):
    if not session.config.agree_worker:
        session.config.pluginmanager.register(Writer(), "agree-writer")
