"""What is loaded from Triton's cache is one writer's, whoever else has written."""

import json
import os
import sys
from pathlib import Path

import pytest
import small_kernels
import targets
import torch

from crosswarp import compat
from crosswarp.kernels.known_issues.cache_groups import interleave
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

pytestmark = pytest.mark.both_ends


def launch():
    launches.clear()
    small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=128)
    return launches[-1].registers


def test_mixed_bare_and_whole_shimmed(in_fork):
    def run():
        from triton.runtime.cache import FileCacheManager

        bare = interleave(FileCacheManager)
        compat.install()
        return bare, interleave(FileCacheManager)

    assert in_fork(run) == (("second", "first"), ("first", "first"))


def test_the_same_file_system_without_links(in_fork, monkeypatch):
    def run():
        from triton.runtime.cache import FileCacheManager

        def link(*args):
            raise OSError("no links here")

        monkeypatch.setattr(os, "link", link)
        compat.install()
        return interleave(FileCacheManager)

    assert in_fork(run) == ("first", "first")


@pytest.mark.parametrize("order", ["bare first", "shimmed first"])
def test_each_reads_what_the_other_left(in_fork, monkeypatch, tmp_path, order):
    # The same key: no other shim compiles this kernel to something else.
    only = [shim for shim in compat.all_shims() if shim.name == "cache_groups"]
    monkeypatch.setattr(sys.modules["crosswarp.compat.install"], "listed", lambda: only)

    def run(shimmed):
        virtual_gpu.activate(targets.SM_80)
        if shimmed:
            compat.install()
        return launch()

    def kept():
        # Written anew by whoever compiles.
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "triton").rglob("__grp__*")}

    ways = [False, True] if order == "bare first" else [True, False]
    first = in_fork(lambda: run(ways[0]))
    compiled = kept()
    assert in_fork(lambda: run(ways[1])) == first
    assert compiled and kept() == compiled


def test_a_lost_folder_is_compiled_anew(in_fork, tmp_path):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_80)
        return launch()

    first = in_fork(run)
    lists = list((tmp_path / "triton").rglob("__grp__*"))
    for listed in lists:
        for path in json.loads(listed.read_text())["child_paths"].values():
            Path(path).unlink()
    assert lists and in_fork(run) == first
