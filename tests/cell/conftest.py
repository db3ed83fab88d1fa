"""Each test runs in a forked child: a Triton that was patched, or a driver that was set, is gone with it."""

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

# A forked child does not have the threads of its parent's OpenMP, and waits for them for ever.
os.environ["OMP_NUM_THREADS"] = "1"

from crosswarp.compat.isolate import run_isolated  # noqa: E402
from crosswarp.compat.versions import in_window, triton_version  # noqa: E402
from crosswarp.matrix.cell.starting.warm import digest  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "triton(specifier): the test is about these versions of Triton, and runs on no other",
    )
    config.addinivalue_line(
        "markers",
        "both_ends: the test takes long, or is about processes, pytest or torch, so CI leaves it out between the ends",
    )
    config.addinivalue_line(
        "markers",
        "one_release: the test asks nothing of a release, so CI runs it on the oldest, whose torch is imported soonest",
    )


def pytest_collection_modifyitems(config, items):
    """Leave out the tests of other versions. Not a skip: on this version there is nothing to test."""
    version = triton_version()
    chosen, others = [], []
    for item in items:
        windows = [mark.args[0] for mark in item.iter_markers("triton")]
        inside = all(in_window(window, version) for window in windows)
        (chosen if inside else others).append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = chosen


@pytest.fixture(scope="session")
def digested():
    """Do once what each child would do again: Triton's digest of its files, 0.7 s of CPU with 3.9.0, and 0.14 s of
    imports, of its front end and of the reader of cubins. Nothing else: that is the tests' own."""
    digest()
    for module in ("triton.compiler.code_generator", "elftools.elf.elffile"):
        importlib.import_module(module)


@pytest.fixture
def in_fork(forked, tmp_path, monkeypatch):
    """Call a function in a forked child with caches of its own; returns what it returned."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("CROSSWARP_CACHE_DIR", str(tmp_path / "crosswarp"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    return forked


@pytest.fixture(scope="session")
def forked(digested):
    """Call a function in a forked child; returns what it returned."""

    def call(function, seconds=300):
        # Ours to trust: a test may return whatever it likes.
        outcome = run_isolated(lambda send: pickle.dumps(function()), time_limit=seconds)
        if outcome.kind != "returned":
            raised = outcome.raised.traceback if outcome.raised else ""
            pytest.fail(
                f"{outcome.kind} {outcome.reason}\n{raised}\n{outcome.output}", pytrace=False
            )
        return pickle.loads(outcome.value)

    return call


@pytest.fixture
def interpreted():
    """Run code in a process of its own, for TRITON_INTERPRET must be set before Triton is imported; its first line."""

    def run(code):
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent,
            env=dict(os.environ, TRITON_INTERPRET="1"),
        )  # fmt: skip
        if found.returncode:
            pytest.fail(found.stderr, pytrace=False)
        return found.stdout.split("\n")[0]

    return run
