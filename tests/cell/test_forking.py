"""What a process shares with the many children that it forks is put into huge pages, and is what it was."""

import ctypes
import mmap
import os
import re
import sys
from pathlib import Path

import pytest

from crosswarp.compat import launch
from crosswarp.compat.isolate import run_isolated
from crosswarp.matrix.cell import forking

SIZE = 16 << 20


def huge_kb():
    return int(re.search(r"AnonHugePages: +(\d+) kB", Path("/proc/self/smaps_rollup").read_text())[1])  # fmt: skip


def collapses():
    """Whether memory of our own becomes huge pages when asked."""
    room = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.write(b"x" * SIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    start += -start % forking.HUGE
    advice = ctypes.c_void_p(start), ctypes.c_size_t(SIZE - 2 * forking.HUGE), forking._COLLAPSE
    return ctypes.CDLL(None).madvise(*advice) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="pages are asked of Linux")
def test_memory_is_what_it_was_and_a_child_has_its_own(in_fork):
    def run():
        mine = bytearray(os.urandom(1 << 10) * (SIZE >> 10))
        before = bytes(mine), huge_kb()
        done = forking.huge_pages()
        same = bytes(mine) == before[0]

        def child(send):
            mine[:: 1 << 12] = b"\0" * (SIZE >> 12)
            return mine.count(0)

        zeros = run_isolated(child, time_limit=60).value
        told = zeros >= SIZE >> 12, bytes(mine) == before[0]
        return done, huge_kb() - before[1], same, told

    done, kb, same, told = in_fork(run)
    assert same and told == (True, True)
    # Linux before 6.1 cannot, nor can one whose memory is in too small pieces.
    if in_fork(collapses):
        assert done >= SIZE // 2 and kb >= SIZE // 2 >> 10


def test_where_the_kernel_cannot_nothing_is_said(monkeypatch):
    class Old:
        def madvise(self, *arguments):
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Old())
    assert forking.huge_pages() == 0
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert forking.huge_pages() == 0


def test_kernels_are_looked_for_before_the_fork_too(monkeypatch):
    called = []
    monkeypatch.setattr(launch, "ready_to_fork", lambda: called.append("kernels"))
    monkeypatch.setattr(forking, "huge_pages", lambda: called.append("pages"))
    monkeypatch.setattr(os, "register_at_fork", lambda **hooks: None)
    forking.ready()
    assert called == ["kernels", "pages"]


def test_each_child_renews_the_threads_of_torch_first(in_fork, monkeypatch):
    class Torch:
        threads = []

        def get_num_threads():
            return 3

        set_num_threads = threads.append

    monkeypatch.setattr(forking, "huge_pages", lambda: 0)
    monkeypatch.setitem(sys.modules, "torch", Torch)

    def run():
        forking.ready()
        return run_isolated(lambda send: Torch.threads, time_limit=60).value, Torch.threads

    assert in_fork(run) == ([3], [])
