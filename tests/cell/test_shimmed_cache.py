"""What was compiled with the shims is kept apart from what bare Triton compiled."""

import json
import shutil
from pathlib import Path

import pytest
import small_kernels
import targets
import torch
import triton
from triton.runtime.cache import get_cache_manager

from crosswarp import compat
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.starting import shimmed_cache


def launch():
    small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64)


def kernels(folder):
    return sorted(path.parent.name for path in Path(folder).glob("*/__grp__*"))


def run(shimmed, folder, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    if shimmed:
        compat.install()
        shimmed_cache.use()
    virtual_gpu.activate(targets.SM_80)
    launch()


def test_bare_takes_nothing_from_the_shims_and_they_take_from_bare(in_fork, tmp_path, monkeypatch):
    in_fork(lambda: run(True, tmp_path, monkeypatch))
    (compiled,) = kernels(tmp_path / "shimmed")
    assert kernels(tmp_path) == []
    in_fork(lambda: run(False, tmp_path, monkeypatch))
    assert kernels(tmp_path) == [compiled]
    for path in (tmp_path / "shimmed" / compiled).iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    in_fork(lambda: run(True, tmp_path, monkeypatch))
    ours, bare = (
        {path.name: path.stat().st_ino for path in (folder / compiled).glob("*.json")}
        for folder in (tmp_path / "shimmed", tmp_path)
    )
    assert ours == bare and ours


@pytest.mark.parametrize("whole", [True, False])
def test_what_bare_has_not_finished_is_left_alone(in_fork, tmp_path, monkeypatch, whole):
    def look():
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
        cache = get_cache_manager("ab" * 32)
        cache.put("text", "kernel.ttir", binary=False)
        path = Path(cache.put(json.dumps({}), "kernel.json", binary=False))
        if whole:
            cache.put_group("kernel.json", {"kernel.json": str(path)})
        shimmed_cache.use()
        ours = get_cache_manager("ab" * 32)
        assert type(ours) is shimmed_cache.ShimmedCache
        return len(list(Path(ours.cache_dir).iterdir()))

    assert in_fork(look) == (3 if whole else 0), triton.__version__
