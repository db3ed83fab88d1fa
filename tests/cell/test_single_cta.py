"""A kernel that does not compile for a cluster of blocks is compiled for one; what compiles keeps its cluster."""

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.acts import acted
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu


@triton.jit
def _copy(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


@triton.jit
def _products(x_ptr, y_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.dot(tl.dot(x, x).to(tl.float16), x))


@triton.jit
def _gathered(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(y_ptr + at, tl.gather(tl.load(x_ptr + at), SIZE - 1 - at, 0))


@triton.jit
def _gathered_in_rows(x_ptr, y_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    places = (SIZE - 1 - rows)[None, :] + tl.zeros([SIZE, SIZE], tl.int32)
    tl.store(y_ptr + at, tl.gather(tl.load(x_ptr + at), places, 1))


@triton.jit
def _kept(x_ptr, y_ptr, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, 2 * SIZE), tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows[:, None] * SIZE + columns[None, :])
    y = tl.load(x_ptr + columns[:, None] * 2 * SIZE + rows[None, :])
    tl.store(x_ptr + rows[:, None] * SIZE + columns[None, :], x)
    tl.store(y_ptr + rows[:, None] * 2 * SIZE + rows[None, :], tl.dot(x, y))


@triton.jit
def _turned(x_ptr, y_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    tl.store(y_ptr + at, tl.trans(tl.load(x_ptr + at)))


def _blocks(compiled):
    """How many share a program, as the compiled kernel says."""
    metadata = compiled.metadata
    return metadata["num_ctas"] if isinstance(metadata, dict) else metadata.num_ctas


def _launch(kernel, dtype, size):
    x, y = torch.zeros(2 * size * size, dtype=dtype), torch.zeros(4 * size * size)
    return _blocks(kernel[(1,)](x, y, SIZE=size, num_ctas=2))


def test_what_does_not_compile_for_two_is_compiled_for_one(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        return _launch(_products, torch.float16, 32), "single_cta" in acted()

    # On 3.9 it compiles, and races with the other block.
    assert in_fork(run) == (1, True)


def test_what_compiles_keeps_its_cluster(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        return _launch(_copy, torch.float32, 32)

    assert in_fork(run) == (1 if in_window("<3.2", triton.__version__) else 2)


# Before 3.3 tl.gather is compat's own, which knows nothing of clusters.
@pytest.mark.triton(">=3.3")
@pytest.mark.parametrize(("kernel", "blocks"), [(_gathered, 1), (_gathered_in_rows, 2)])
def test_what_gathers_across_blocks_is_compiled_for_one(in_fork, kernel, blocks):
    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        return _launch(kernel, torch.float32, 32)

    assert in_fork(run) == blocks


def test_a_product_of_what_is_stored_as_well_is_compiled_for_one(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        return _launch(_kept, torch.float16, 64)

    assert in_fork(run) == 1


def test_what_is_fetched_from_the_other_block_keeps_its_cluster_but_on_3_3(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        return _launch(_turned, torch.float32, 32)

    # Others refuse it, but for 3.4 and 3.8 on.
    sound = in_window(">=3.4,<3.5", triton.__version__) or in_window(">=3.8", triton.__version__)
    assert in_fork(run) == (2 if sound else 1)


def test_an_error_that_is_not_the_cluster_s_is_the_caller_s(in_fork):
    @triton.jit
    def wrong(x_ptr, y_ptr, SIZE: tl.constexpr):
        tl.store(y_ptr + tl.arange(0, SIZE), tl.load(x_ptr + tl.arange(0, 2 * SIZE)))

    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        with pytest.raises(Exception) as raised:
            _launch(wrong, torch.float32, 32)
        return type(raised.value).__name__

    assert in_fork(run) in ("CompilationError", "ValueError")
