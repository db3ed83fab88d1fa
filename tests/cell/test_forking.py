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


def fenced():
    """An address, and the memory there, between two pages that nobody may touch: the kernel joins it to no other.

    Of memory that is joined it says only whether all of it became huge.
    """
    room = mmap.mmap(-1, SIZE + 2 * forking.HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    first = start + forking.HUGE - start % forking.HUGE
    for page in (first - mmap.PAGESIZE, first + SIZE):
        fence = ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), ctypes.c_int(0)
        assert ctypes.CDLL(None).mprotect(*fence) == 0
    memory = memoryview(room)[first - start : first - start + SIZE]
    memory[:] = os.urandom(1 << 10) * (SIZE >> 10)
    return first, memory


def huge_bytes(address):
    """How much of the memory that begins there is in huge pages."""
    text = Path("/proc/self/smaps").read_text().partition(f"\n{address:x}-")[2]
    return int(re.search(r"AnonHugePages: +(\d+) kB", text)[1]) << 10


def collapses():
    """Whether memory of our own becomes huge pages when asked."""
    address, _ = fenced()
    advice = ctypes.c_void_p(address), ctypes.c_size_t(SIZE), forking._COLLAPSE
    return ctypes.CDLL(None).madvise(*advice) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="pages are asked of Linux")
def test_memory_is_what_it_was_and_a_child_has_its_own(in_fork):
    def run():
        address, mine = fenced()
        before = bytes(mine)
        possible, done = collapses(), forking.huge_pages()
        same = bytes(mine) == before

        def child(send):
            mine[:: 1 << 12] = b"\0" * (SIZE >> 12)
            return bytes(mine).count(0)

        huge = huge_bytes(address)
        zeros = run_isolated(child, time_limit=60).value
        intact = zeros >= SIZE >> 12, bytes(mine) == before
        return possible, done, huge, same, intact

    possible, done, huge, same, intact = in_fork(run)
    assert same and intact == (True, True)
    # Linux before 6.1 cannot, nor can one whose memory is in too small pieces.
    if possible:
        assert done >= SIZE and huge == SIZE


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
