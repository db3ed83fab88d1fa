"""A kernel that a shim concerns is taken from bare Triton's cache where its TTIR shows that no shim changes it."""

import loop_sum_kernels
import memory_order_kernels
import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat import code_generator, guard
from crosswarp.compat.record import Patches
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
    """Whether anything was compiled, and the shims that acted."""
    if mode != "bare":
        compat.install()
        shimmed_cache.use()
    if mode == "untouched":
        guard.take_untouched()
    virtual_gpu.activate(targets.SM_80)
    launch()
    return launching.noted()[0]["compile_seconds"] is not None, compat.acted()


@pytest.fixture
def modes(in_fork):
    """What bare Triton, and then the shims, have compiled, with and without looking at what bare Triton made."""

    def call(launch, order=("bare", "untouched", "shimmed")):
        return [in_fork(lambda mode=mode: compiled(launch, mode)) for mode in order]

    return call


def test_what_no_shim_changes_is_taken_and_compiled_where_nobody_has_or_looks(modes):
    order = ("untouched", "bare", "untouched", "shimmed")
    told = modes(lambda: sums("plain"), order=order)
    # The first has left it under the key of the shims.
    assert told == [(True, []), (True, []), (False, []), (False, [])]
    assert modes(lambda: sums("part_first")) == [(True, []), (False, []), (True, [])]


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
    order = ("bare", "untouched")
    assert modes(launch, order=order)[1] == (True, [shim])
    assert modes(other, order=order)[1] == (False, [])


def test_a_shim_that_cannot_tell_by_the_ttir_keeps_its_kernels_apart(in_fork):
    def run():
        compat.install()
        from triton.compiler.compiler import ASTSource

        source = object.__new__(ASTSource)
        source.fn, source.constants, source.signature = loop_sum_kernels.plain, {}, {}
        sure = code_generator.who_keeps_apart(source)
        code_generator._keyed.append(code_generator._Keyed(lambda reached: True, None, None))
        return len(sure), code_generator.who_keeps_apart(source)

    told, unsure = in_fork(run)
    assert told > 0 and unsure is None


def test_each_shim_looks_at_a_kernel_once(in_fork):
    def run():
        compat.install()
        asked = []
        code_generator.key_with_revision(
            Patches(), lambda reached: bool(asked.append(len(reached))), lambda: "ours"
        )
        virtual_gpu.activate(targets.SM_80)
        scan(64)
        one = list(asked)
        scan(128)
        return one, asked

    one, both = in_fork(run)
    assert len(one) == 1 and one[0] > 1 and len(both) == 2


def test_who_uninstalls_keeps_nothing_apart(in_fork):
    def run():
        compat.install()
        before = len(code_generator._keyed)
        compat.uninstall()
        return before, len(code_generator._keyed)

    before, after = in_fork(run)
    assert before > 0 and after == 0
