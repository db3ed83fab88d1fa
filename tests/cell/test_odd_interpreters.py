"""Python itself started otherwise: without assertions, without site, and anew by torch for its workers."""

import ast
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import small_kernels
import targets
import torch

from crosswarp import compat
from crosswarp.matrix.cell.standins import virtual_gpu

pytestmark = pytest.mark.both_ends

HERE = str(Path(__file__).parent)


def launched(folder):
    """A launch of a kernel that is compiled anew: its name, warps and code."""
    os.environ["TRITON_CACHE_DIR"] = folder
    for name in ("cache", "device_caches"):
        getattr(small_kernels.scaled, name, {}).clear()
    small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64)
    one = virtual_gpu.launches[-1]
    return one.kernel, one.num_warps, one.code


class Launches(torch.utils.data.Dataset):
    """The first item is launched without compat, the second with it, both by the worker."""

    def __init__(self, folder):
        self.folder = folder

    def __len__(self):
        return 2

    def __getitem__(self, wanted):
        if wanted:
            compat.install(guard="always")
        else:
            virtual_gpu.activate(targets.SM_90, guarded=False)
        return repr((launched(f"{self.folder}/{wanted}"), len(compat.active()) > 10))


def test_a_worker_that_a_data_loader_spawns(in_fork, monkeypatch, tmp_path):
    # The new interpreter finds the class by the name of this file.
    monkeypatch.syspath_prepend(HERE)

    def run():
        import test_odd_interpreters as this

        compat.install()
        loader = torch.utils.data.DataLoader(
            this.Launches(str(tmp_path)), num_workers=1, multiprocessing_context="spawn"
        )
        return [ast.literal_eval(found) for (found,) in loader]

    (bare, none), (with_compat, some) = in_fork(run)
    assert with_compat == bare and "scaled" in bare[0]
    assert (none, some) == (False, True)


# Without torch, of which Python would compile every module again, without its assertions.
PROGRAM = """
import os, site, sys
# Without site nobody has added what is installed here.
site.addsitedir({site!r})
sys.path[:0] = {path!r}
import small_kernels, targets
import triton.language as tl
from crosswarp import compat
from crosswarp.matrix.cell.standins import virtual_gpu

class Pointer:
    dtype = tl.float32

    def data_ptr(self):
        return 4096

virtual_gpu.activate(targets.SM_90, guarded=False)
for wanted in (False, True):
    os.environ["TRITON_CACHE_DIR"] = {folder!r} + str(wanted)
    if wanted:
        compat.install(guard="always")
        for name in ("cache", "device_caches"):
            getattr(small_kernels.scaled, name, {{}}).clear()
    small_kernels.scaled[(1,)](Pointer(), Pointer(), 100, BLOCK=64)
    one = virtual_gpu.launches[-1]
    print(((one.kernel, one.num_warps, one.code), len(compat.active()) > 10))
print((sys.flags.optimize, sys.flags.no_site))
"""


def test_python_without_assertions_and_without_site(tmp_path):
    purelib = sysconfig.get_paths()["purelib"]
    program = tmp_path / "program.py"
    program.write_text(
        PROGRAM.format(
            site=purelib, path=[HERE, *filter(None, sys.path)], folder=str(tmp_path / "triton")
        )
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-OS", str(program)],
        env=dict(os.environ, CROSSWARP_CACHE_DIR=str(tmp_path / "crosswarp")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (bare, none), (with_compat, some), flags = map(ast.literal_eval, done.stdout.splitlines())
    assert with_compat == bare and "scaled" in bare[0]
    assert (none, some, flags) == (False, True, (1, 1))
