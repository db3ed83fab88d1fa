"""cp.async.bulk of bytes: to shared memory, to a neighbour's, and to global memory. No GPU has run these rows yet."""

import numpy as np
import pytest
from running import execute, on_machine_only
from test_clusters import _BARRIER, _MEET, _PAIR, _wait
from test_hopper import kernel

from crosswarp.matrix.cell.machines import ptx

# Each thread's word of the 512 bytes at %r2: 1000 times the CTA, and the thread.
_FILL = """mad.lo.u32 %r5, %r0, 4, %r2; mad.lo.u32 %r6, %r1, 1000, %r0; st.shared.b32 [%r5], %r6;
fence.proxy.async.shared::cta; bar.sync 0;
"""
_SHOW = (
    "mad.lo.u32 %r5, %r0, 4, %r8; ld.shared.b32 %r6, [%r5]; mad.lo.u32 %r5, %r1, 128, %r0;\n"
    + ("mad.wide.u32 %d2, %r5, 4, %d1; st.global.b32 [%d2], %r6;\n")
)


def _sent(nbytes=512, waits=True):
    """Where each CTA of a pair sends its words to the other; a word that nobody sent is 0xFFFFFFFF."""
    body = (
        "ld.param.u64 %d1, [p1];\n" + _BARRIER + _FILL
        + f"@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512;\n"
        f"{_MEET}\nxor.b32 %r6, %r4, 1; add.u32 %r8, %r2, 512; mapa.shared::cluster.u32 %r7, %r3, %r6;\n"
        f"mapa.shared::cluster.u32 %r9, %r8, %r6; mov.u32 %r10, {nbytes};\n"
        "@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r9], [%r2], %r10, [%r7];\n"
        + (_wait() if waits else "") + "\n" + _SHOW + _MEET
    )  # fmt: skip
    got = np.zeros((2, 128), np.uint32)
    execute(kernel(body, cluster=_PAIR), (2,), [0, got, 0], shared=2048)
    return got


def test_words_go_to_a_neighbour():
    assert np.array_equal(_sent(), [np.arange(128) + 1000, np.arange(128)])


@on_machine_only
def test_words_that_were_sent_are_not_there_before_a_wait():
    assert (_sent(waits=False) == 0xFFFFFFFF).all()


@on_machine_only
def test_bytes_beyond_the_neighbours_memory_are_a_fault():
    with pytest.raises(ptx.Fault, match="out-of-bounds"):
        _sent(nbytes=4096)


def test_words_go_to_global_memory():
    body = (
        "ld.param.u64 %d1, [p1];\n" + _FILL + "mov.u32 %r10, 256;\n"
        "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], %r10;\n"
        "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;"
    )  # fmt: skip
    got = np.zeros(128, np.uint32)
    execute(kernel(body), (1,), [0, got, 0], shared=512)
    assert np.array_equal(got, np.where(np.arange(128) < 64, np.arange(128), 0))


def test_words_come_from_global_memory():
    body = (
        "ld.param.u64 %d1, [p1]; ld.param.u64 %d3, [p2]; add.u32 %r3, %r2, 512; mov.u32 %r8, %r2;\n"
        "@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;\nbar.sync 0; mov.u32 %r10, 512;\n"
        "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512;\n"
        "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%d3], %r10, [%r3];\n"
        + _wait() + "\n" + _SHOW
    )  # fmt: skip
    got, source = np.zeros(128, np.uint32), np.arange(7, 135, dtype=np.uint32)
    execute(kernel(body), (1,), [0, got, source], shared=1024)
    assert np.array_equal(got, source)
