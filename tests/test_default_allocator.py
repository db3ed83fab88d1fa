"""default_allocator on 3.5, where a profiler's allocator is a context variable; tests/cell has the columns."""

import sys
import types
from contextvars import ContextVar

import pytest

from crosswarp.compat.record import Patches
from crosswarp.compat.shims import default_allocator


class NullAllocator:
    def __call__(self, size, alignment, stream):
        raise RuntimeError("no allocator was set")


@pytest.fixture
def allocation(monkeypatch):
    """Triton 3.5.1's module, as far as the shim looks at it."""
    module = types.ModuleType("triton.runtime._allocation")
    module.NullAllocator = NullAllocator
    module._allocator = ContextVar("_allocator", default=NullAllocator())  # noqa: B039
    module._profile_allocator = ContextVar("_allocator", default=NullAllocator())  # noqa: B039
    runtime = types.ModuleType("triton.runtime")
    runtime._allocation = module
    monkeypatch.setitem(sys.modules, "triton", types.ModuleType("triton"))
    monkeypatch.setitem(sys.modules, "triton.runtime", runtime)
    return module


def test_launches_get_memory_and_a_profiler_does_not(allocation, monkeypatch):
    monkeypatch.setattr(default_allocator, "scratch", lambda size, alignment, stream: bytes(size))
    # What acted in this process is told in other tests.
    monkeypatch.setattr(default_allocator, "note_acted", lambda name: None)
    patches = Patches()
    default_allocator.apply(patches)
    assert allocation._allocator.get()(3, 16, None) == bytes(3)
    with pytest.raises(RuntimeError, match="no allocator was set"):
        allocation._profile_allocator.get()(3, 16, None)
    patches.undo()
    with pytest.raises(RuntimeError, match="no allocator was set"):
        allocation._allocator.get()(3, 16, None)
