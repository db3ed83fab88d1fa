"""A kernel that a fix may concern is taken from Triton's own cache, under Triton's own key, where no fix acts on it."""

import loop_sum_kernels
import memory_order_kernels
import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat import guard
from crosswarp.compat.record import Concerned, Patches, Shim
from crosswarp.compat.seams import compilation, pipeline
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching
from crosswarp.matrix.cell.starting import shimmed_cache


@triton.jit
def scanned(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def batched(x, y, K: tl.constexpr, BATCHED: tl.constexpr):
    at = tl.arange(0, K)
    tile = at[:, None] * K + at[None, :]
    a = tl.load(x + tile).to(tl.float16)
    if BATCHED:
        b = tl.broadcast_to(a[None, :, :], (2, K, K))
        cube = tl.arange(0, 2)[:, None, None] * K * K + tile[None, :, :]
        tl.store(y + cube, tl.dot(b, b))
    else:
        tl.store(y + tile, tl.dot(a, a))


def sums(name):
    x, y, steps = torch.ones(8, 256), torch.zeros(8), torch.zeros(4, 8)
    return getattr(loop_sum_kernels, name)[(1,)](x, y, steps, 256)


def in_order(name):
    return getattr(memory_order_kernels, name)[(1,)](torch.zeros(256), 8)


def scan(size):
    return scanned[(1,)](torch.ones(size), torch.zeros(size), N=size)


def product(is_batched):
    return batched[(1,)](torch.ones(16, 16), torch.zeros(2, 16, 16), K=16, BATCHED=is_batched)


def compiled(launch, mode):
    """Whether anything was compiled, and the fixes that acted."""
    if mode != "bare":
        compat.install()
        shimmed_cache.use()
    guard.time_all()
    virtual_gpu.activate(targets.SM_80)
    launch()
    return launching.noted()[0]["compile_seconds"] is not None, compat.acted()


@pytest.fixture
def modes(in_fork):
    """What is compiled without compat, and then with it."""

    def call(launch, order=("bare", "compat", "compat")):
        return [in_fork(lambda mode=mode: compiled(launch, mode)) for mode in order]

    return call


def test_what_no_fix_acts_on_is_compiled_once_for_both(modes):
    assert modes(lambda: sums("plain"), order=("compat", "compat")) == [(True, []), (False, [])]
    assert modes(lambda: sums("part_first")) == [(True, []), (False, []), (False, [])]


@pytest.mark.parametrize(
    "shim, launch, other",
    [
        ("thread_locality", lambda: sums("minus"), lambda: sums("plain")),
        pytest.param(
            "read_back",
            lambda: in_order("above_store_then_load"),
            # Concerned, for nobody knows before what a branch comes to.
            lambda: in_order("above_in_two_branches_of_which_one_is_left"),
            marks=pytest.mark.triton(">=3.0"),
        ),
        pytest.param(
            "short_scans",
            lambda: scan(16),
            lambda: scan(64),
            marks=pytest.mark.triton(">=3.0,<3.3"),
        ),
        pytest.param(
            "batched_dot",
            lambda: product(True),
            lambda: product(False),
            marks=pytest.mark.triton(">=3.0,<3.3"),
        ),
    ],
)
def test_what_a_shim_changes_is_compiled_and_what_it_does_not_is_taken(modes, shim, launch, other):
    without, first, again = modes(launch)
    assert without[0] and first == (True, [shim])
    # It was kept, under its own key.
    assert again == (False, [shim])
    assert modes(other, order=("bare", "compat"))[1] == (False, [])


def of_its_own(kernels, **more):
    """A fix that is asked of every kernel, and of none of which it has anything to say."""
    return Shim(*("a fix", "", "", "", "", ""), concerns=Concerned(kernels, **more))


def test_each_fix_looks_at_a_kernel_once(in_fork):
    def run():
        compat.install()
        asked = []
        shim = of_its_own(lambda reached: bool(asked.append(len(reached))))
        pipeline.open_for(shim, Patches(fix=shim.name))
        virtual_gpu.activate(targets.SM_80)
        scan(64)
        one = list(asked)
        scan(128)
        return one, asked

    one, both = in_fork(run)
    assert len(one) == 1 and one[0] > 1 and len(both) == 2


def test_who_uninstalls_asks_no_fix(in_fork):
    def run():
        compat.install()
        before = len(compilation.placed_fixes())
        compat.uninstall()
        return before, len(compilation.placed_fixes())

    before, after = in_fork(run)
    assert before > 0 and after == 0


@triton.jit
def clipped(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    # Each a statement: Triton looks at no call inside of another.
    above = tl.maximum(tl.load(x + at), 0.0)
    between = tl.minimum(above, 6.0)
    tl.store(y + at, between)


def test_what_calls_a_function_of_tritons_that_compat_replaces_keeps_its_digest(in_fork):
    def digest(installs):
        if installs:
            compat.install()
        return clipped.cache_key

    assert in_fork(lambda: digest(installs=True)) == in_fork(lambda: digest(installs=False))
