"""What AMD's compiler would exchange in a buffer is exchanged in global memory; other atomics become what they were."""

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.shims import buffer_exchange as shim
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu

TILE = (
    "    %5 = tt.atomic_rmw exch, acq_rel, gpu, %3, %4, %cst : "
    "(tensor<256x!tt.ptr<i32>>, tensor<256xi32>, tensor<256xi1>) -> tensor<256xi32> loc(#loc1)"
)
DOUBLE = TILE.replace("i32>", "f64>")
ONE = "    %1 = tt.atomic_rmw exch, acq_rel, gpu, %out, %0, %true : (!tt.ptr<f64>, f64, i1) -> f64"


@pytest.mark.parametrize(
    "ir, any_kind, double_alone",
    [
        (TILE, True, False),
        (TILE.replace("256x", "16x16x").replace("gpu", "cta"), True, False),
        (DOUBLE, True, True),
        (f"{ONE}\n{DOUBLE}\n{TILE}", True, True),
        (DOUBLE.replace("gpu", "sys"), False, False),
        (DOUBLE.replace("exch", "fadd"), False, False),
        # What an exchange hands on to another operation.
        (f"{ONE}\n{TILE.replace('exch', 'add')}", False, False),
        ("", False, False),
    ],
)
def test_what_may_become_an_instruction_of_a_buffer(ir, any_kind, double_alone):
    assert shim.exchanges(ir) is any_kind
    assert shim.exchanges(ir, double_alone=True) is double_alone


@triton.jit
def _exchanged(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.atomic_add(y_ptr + SIZE + at, tl.load(x_ptr + at))
    tl.atomic_xchg(y_ptr + at, tl.load(x_ptr + at))


@triton.jit
def _added(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.atomic_add(y_ptr + at, tl.load(x_ptr + at))


def _buffers(kernel, dtype):
    """How many atomics became instructions of a buffer, or that it did not compile."""
    x, y = torch.zeros(256, dtype=dtype), torch.zeros(512, dtype=dtype)
    try:
        compiled = kernel[(1,)](x, y, SIZE=256)
    except Exception:
        return "refused"
    return compiled.asm["ttgir"].count("buffer_atomic_rmw")


@pytest.mark.triton(">=3.6")
@pytest.mark.parametrize("dtype", [torch.int32, torch.float64])
def test_an_exchange_compiles_and_stays_global_where_it_must(in_fork, dtype):
    def run():
        virtual_gpu.activate(targets.GFX942)
        bare = _buffers(_exchanged, dtype)
        compat.install()
        shimmed = _buffers(_exchanged, dtype), compat.acted()
        compat.uninstall()
        _exchanged.device_caches.clear()
        return bare, shimmed, _buffers(_exchanged, dtype)

    bare, shimmed, after = in_fork(run)
    if dtype is torch.int32 and in_window(">=3.9", triton.__version__):
        assert (bare, shimmed, after) == (2, (2, []), 2)
    else:
        assert (bare, shimmed, after) == ("refused", (0, ["buffer_exchange"]), "refused")


@pytest.mark.triton(">=3.6")
def test_other_atomics_become_what_they_were(in_fork):
    def run():
        virtual_gpu.activate(targets.GFX942)
        compat.install()
        return _buffers(_added, torch.int32), compat.acted()

    assert in_fork(run) == (1, [])
