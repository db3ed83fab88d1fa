"""Inductor's compile workers: interpreters of their own, with the shims of the process that starts them."""

import importlib
import os
import pickle
import sys

import pytest
import torch

from crosswarp import compat
from crosswarp.compat.shims import compile_workers as shim
from crosswarp.compat.versions import in_window
from crosswarp.kernels.known_issues import moved_internals as case

pytestmark = [
    pytest.mark.both_ends,
    pytest.mark.triton(">=3.0"),
    pytest.mark.skipif(
        in_window("<2.4", torch.__version__), reason="its workers are forks of the process"
    ),
]

# Of a worker: what is installed there, and what the record of triton-7835 asks for.
_ASKED = """__import__("triton") and [
    sorted(one.name for one in __import__("crosswarp.compat").compat.active()),
    hasattr(__import__("triton.compiler.compiler").compiler.compiler, "triton_key"),
]"""


def _ask_a_worker(monkeypatch):
    # Or else a pool is started by the import alone.
    monkeypatch.setenv("TORCH_WARM_POOL", "0")
    pool = importlib.import_module("torch._inductor.compile_worker.subproc_pool").SubprocPool(1)
    try:
        return pool.submit(eval, _ASKED).result(timeout=900)
    finally:
        pool.shutdown()


# An interpreter that imports torch, and starts another: once is enough for CI.
@pytest.mark.triton(">=3.9")
def test_a_worker_has_the_shims_of_the_process_that_starts_it(in_fork, monkeypatch):
    def run():
        compat.install(exclude=["read_back"])
        importlib.import_module("triton")
        found = _ask_a_worker(monkeypatch)
        names = sorted(one.name for one in compat.active())
        module = sys.modules["torch._inductor.compile_worker.subproc_pool"]
        during = module.subprocess
        compat.uninstall()
        return found, names, [type(one).__name__ for one in (during, module.subprocess)]

    found, names, kinds = in_fork(run)
    assert found == [names, True]
    assert "moved_internals" in names and "read_back" not in names
    assert kinds == ["_Subprocess", "module"]


@pytest.mark.triton(">=3.5")
def test_a_kernels_function_goes_through_a_pipe_and_has_a_lock_again(in_fork):
    def run():
        function = case._double_kernel
        # As torch 2.8 makes it ready.
        function.fn = function.__globals__ = function.used_global_vals = function.repr = None
        try:
            pickle.dumps(function)
            bare = "green"
        except TypeError as error:
            bare = str(error)
        shim.torch_version = lambda: "2.8.0"
        compat.install()
        found = pickle.loads(pickle.dumps(function))
        with found._hash_lock:
            return bare, found.arg_names, found._hash_lock is not function._hash_lock

    bare, names, another = in_fork(run)
    assert bare == "cannot pickle '_thread.RLock' object"
    assert names == ["x_ptr", "y_ptr", "N", "BLOCK"] and another


def test_nobody_else_is_given_another_command():
    entry = os.path.join("somewhere", "torch", "_inductor", "compile_worker", "__main__.py")
    command = [sys.executable, entry, "--workers=2"]
    wrapped = shim.with_shims(command)
    assert wrapped[0] == sys.executable and wrapped[-2:] == command[1:]
    assert wrapped[3] == "crosswarp.compat"
    for other in (command[1:], [sys.executable, "train.py"], [sys.executable], "ls", ["ls", entry]):
        assert shim.with_shims(other) is other


def test_without_a_worker_nothing_but_a_finder_is_there_and_it_goes(in_fork):
    def run():
        before = len(sys.meta_path)
        compat.install(only=["compile_workers"])
        during = len(sys.meta_path)
        compat.uninstall()
        return during - before, len(sys.meta_path) - before

    assert in_fork(run) == (1, 0)
