"""Programs with an odd process around them: what runs without compat runs with it, and computes the same.

Each runs twice, without and with compat, in a process of its own, and answers with what can be seen of it.
"""

import os

import pytest
import small_kernels
import targets
import torch

from crosswarp import compat
from crosswarp.compat import crash_memory
from crosswarp.matrix.cell import virtual_gpu


def launch(block=128):
    small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=block)
    launched = virtual_gpu.launches[-1]
    return launched.kernel, launched.num_warps, launched.code


def outcome_of(function):
    """What `function` returns, or the type of what it raises."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__


@pytest.fixture
def both(in_fork):
    """Runs ``prepare()``, then ``program()``, without compat and with it; the two outcomes, compat's last."""

    def run(program, prepare=lambda: None, guard="always"):
        def with_compat(wanted):
            prepare()
            if wanted:
                compat.install(guard=guard)
            virtual_gpu.activate(targets.SM_90, guarded=False)
            return outcome_of(program)

        return in_fork(lambda: with_compat(False)), in_fork(lambda: with_compat(True))

    return run


def without_a_home():
    for name in ("HOME", "XDG_CACHE_HOME", "CROSSWARP_CACHE_DIR"):
        os.environ.pop(name, None)
    # A container's random user has no entry in the system's table.
    os.getuid = lambda: 54321


def test_a_user_without_a_home(both):
    def program():
        return [launch(block) for block in (64, 128)]

    bare, with_compat = both(program, without_a_home)
    assert with_compat == bare
    assert [kernel.split("_")[0] for kernel, *_ in bare] == ["scaled"] * 2


def test_a_user_without_a_home_remembers_nothing_and_asks_the_doctor(in_fork):
    def run():
        without_a_home()
        from crosswarp.compat import doctor_text, facts

        entry = crash_memory.Entry(None, "a")
        entry.write({"kind": "signal", "reason": "SIGABRT", "stderr": ""})
        doctor_text._home("/x")
        facts.inductor_folder()
        return crash_memory.folder(), entry.read(), facts.crashes(), str(facts.cache_folder())

    folder, read, crashes, cache = in_fork(run)
    assert folder is None and read is None
    assert crashes == {"path": "nowhere: this user has no home", "count": 0, "listed": []}
    assert cache.startswith(os.environ["TRITON_CACHE_DIR"])
