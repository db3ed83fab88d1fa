"""CTAs that work together: pairs of tcgen05, signals and stores to neighbours, launches that are cancelled.

And the copies by tensor map that take more than one box: gather4, scatter4, im2col, padded 4-bit numbers. Expected
numbers follow the text of the PTX manual, one element at a time. No GPU has run these rows yet.
"""

import numpy as np
import pytest
from blackwell import (
    HEAD,
    TAIL,
    descriptor,
    in_shared,
    instruction,
    multiply,
    names,
    operands,
    wait,
)
from running import execute, on_machine_only
from test_hopper import _swizzled, kernel

from crosswarp.matrix.cell.machines import ptx

_MEET = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
_PAIR = "\n.reqnctapercluster 2, 1, 1"
# %r3: an mbarrier behind 1,024 bytes; %r4: the rank.
_BARRIER = f"""add.u32 %r3, %r2, 1024; mov.u32 %r4, %cluster_ctarank;
@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;
fence.mbarrier_init.release.cluster;
{_MEET}
"""


def _wait(label="arrived", parity=0):
    return "\n".join(wait("%r3", parity, label)[:-1])


# ---------------------------------------------------------------- tcgen05 of a pair


def _pair(m, n):
    """A and B (halves of their rows in each CTA) multiplied; the (2, 128, n) cells of both."""
    random = np.random.default_rng(5)
    a, b = (random.integers(-8, 9, (rows, 16)).astype(np.float16) for rows in (m, n))
    parts = []
    for rank in range(2):
        left = in_shared(a[rank * m // 2 :][: m // 2], 32)
        right = in_shared(b[rank * n // 2 :][: n // 2], 32)
        parts.append(np.concatenate([left[0], right[0]]))
    source = np.stack(parts)
    forms = [(0, descriptor(*left[1:], 32)), (len(left[0]), descriptor(*right[1:], 32))]
    product = "\n".join(multiply("f16", instruction(m, n, 0, 0, 1), *forms, 0))
    product = product.replace(
        "arrive::one.shared::cluster.b64 [%r3]",
        "arrive::one.shared::cluster.multicast::cluster.b64 [%r3], %h0",
    )
    lines = [
        ".reg .b16 %h<4>; mov.b16 %h0, 3; mov.u32 %r31, %cluster_ctarank;",
        f"mad.wide.u32 %d0, %r31, {source.shape[1]}, %d0;",
        *operands(source.shape[1]),
        *_MEET.split("\n"),
        "setp.eq.and.u32 %p0, %r31, 0, %p0;",
        product,
        *wait(),
        f"tcgen05.ld.sync.aligned.32x32b.x{n}.b32 {names('o', n)}, [%r6]; tcgen05.wait::ld.sync.aligned;",
        f"mad.lo.u32 %r30, %r31, 128, %r0; mad.wide.u32 %d4, %r30, {4 * n}, %d2;",
        *[f"st.global.b32 [%d4+{4 * place}], %o{place};" for place in range(n)],
        *_MEET.split("\n"),
    ]
    text = HEAD.replace(".reqntid 128", ".reqntid 128" + _PAIR) + "\n".join(lines) + "\n" + TAIL
    got = np.zeros((2, 128, n), np.float32)
    execute(
        text.replace("cta_group::1", "cta_group::2"), (2,), [source, np.zeros(1, np.uint32), got],
        shared=1024 + source.shape[1],
    )  # fmt: skip
    return got, a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.parametrize("n", [32, 64])
def test_a_pair_multiplies_256_rows(n):
    got, expected = _pair(256, n)
    assert np.array_equal(got.reshape(256, n), expected)


def test_a_pair_multiplies_128_rows():
    got, expected = _pair(128, 32)
    for rank in range(2):
        # The ISA's layout B: the left half of the columns in lanes 0 to 63, the right one in lanes 64 to 127.
        mine = expected[64 * rank : 64 * rank + 64]
        assert np.array_equal(got[rank, :64, :16], mine[:, :16])
        assert np.array_equal(got[rank, 64:, :16], mine[:, 16:])


@on_machine_only
def test_an_instruction_of_a_pair_needs_one():
    text = HEAD + "@%p0 tcgen05.cp.cta_group::2.128x128b [%r5], %d0;\n" + TAIL
    with pytest.raises(ptx.Fault, match="cluster without pairs"):
        execute(text, (1,), [np.zeros(4, np.uint32)] * 3, shared=4096)


@pytest.mark.parametrize("multicast", [False, True])
def test_copies_of_a_pair_signal_the_cta_that_is_named(multicast):
    mask = ".multicast::cluster [%r2], [%d0, {%r20}], [%r7], %h1;"
    form = mask if multicast else " [%r2], [%d0, {%r20}], [%r7];"
    # Both CTAs copy, or one to both; the second one's mbarrier hears of everything.
    who = "setp.eq.and.u32 %p2, %r4, 0, %p0;" if multicast else "setp.eq.u32 %p2, %r0, 0;"
    body = (
        "ld.param.u64 %d1, [p1]; mov.b64 %d0, p0; cvta.param.u64 %d0, %d0;\n" + _BARRIER
        + "setp.eq.and.u32 %p3, %r4, 1, %p0; @%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1024;\n"
        f"{_MEET}\nmov.u32 %r6, 1; mapa.shared::cluster.u32 %r7, %r3, %r6; {who} mov.u32 %r20, 0; mov.b16 %h1, 3;\n"
        f"@%p2 cp.async.bulk.tensor.1d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes{form}\n"
        "setp.eq.u32 %p4, %r4, 0; @%p4 bra others;\n" + _wait() + f"\nothers:\n{_MEET}\n"
        "mad.lo.u32 %r5, %r0, 4, %r2; ld.shared.b32 %r6, [%r5];\nmad.lo.u32 %r9, %r1, 128, %r0;\n"
        f"mad.wide.u32 %d2, %r9, 4, %d1; st.global.b32 [%d2], %r6;\n{_MEET}"
    )  # fmt: skip
    tensor, got = np.arange(128, dtype=np.uint32), np.zeros((2, 128), np.uint32)
    parameters = ".param .align 64 .b8 p0[128], .param .u64 p1, .param .u64 p2"
    encoded = [lambda encode, at: encode(at[2], "u32", (128,), (), (128,)), got, tensor]
    execute(kernel(body, parameters=parameters, cluster=_PAIR), (2,), encoded, shared=2048)
    assert np.array_equal(got, np.stack([tensor, tensor]))


_ARRIVE, _WAIT = "barrier.cluster.arrive.relaxed.aligned;\n", "barrier.cluster.wait.aligned;\n"


def _arrivals(body):
    """The number of the pair's threads that come to the end; %p3: the first half of a CTA's threads, %p4: the other."""
    got = np.zeros((2, 128), np.uint32)
    body = (
        "ld.param.u64 %d1, [p1]; setp.lt.u32 %p3, %r0, 64; setp.ge.u32 %p4, %r0, 64;\n" + body
        + "mad.lo.u32 %r10, %r1, 128, %r0; mad.wide.u32 %d2, %r10, 4, %d1; st.global.b32 [%d2], 1;\n"
    )  # fmt: skip
    execute(kernel(body, cluster=_PAIR), (2,), [0, got, 0], shared=2048)
    return got.sum()


def test_halves_arrive_under_a_condition():
    # The second phase is a usual one.
    assert _arrivals(f"@%p3 {_ARRIVE}@!%p3 {_ARRIVE}@%p4 {_WAIT}{_MEET}\n") == 256


@on_machine_only
def test_threads_that_do_not_arrive_are_waited_for():
    with pytest.raises(ptx.Deadlock):
        _arrivals(f"@%p3 {_ARRIVE}@%p3 {_WAIT}@%p4 bar.sync 0;\n")


@on_machine_only
def test_a_wait_is_for_the_last_arrival():
    with pytest.raises(ptx.Deadlock):
        _arrivals(f"{_ARRIVE}@%p3 {_ARRIVE}@%p3 {_WAIT}@%p4 bar.sync 0;\n")


# ---------------------------------------------------------------- st.async


def _stores(vector, wait_for=True):
    count = 2 if vector else 1
    values = "{%r8, %r9}" if vector else "%r8"
    body = (
        "ld.param.u64 %d1, [p1];\n" + _BARRIER
        + f"@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {512 * count};\n{_MEET}\n"
        "xor.b32 %r6, %r4, 1; mapa.shared::cluster.u32 %r7, %r3, %r6;\n"
        f"mad.lo.u32 %r5, %r0, {4 * count}, %r2; mapa.shared::cluster.u32 %r10, %r5, %r6;\n"
        "mad.lo.u32 %r8, %r4, 1000, %r0; add.u32 %r9, %r8, 500;\n"
        f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{'.v2' if vector else ''}.b32 [%r10], {values}, "
        f"[%r7];\n" + (_wait() if wait_for else "") + "\nmad.lo.u32 %r5, %r0, 4, %r2; ld.shared.b32 %r11, [%r5];\n"
        "mad.lo.u32 %r12, %r1, 128, %r0; mad.wide.u32 %d2, %r12, 4, %d1; st.global.b32 [%d2], %r11;\n" + _MEET
    )  # fmt: skip
    got = np.zeros((2, 128), np.uint32)
    execute(kernel(body, cluster=_PAIR), (2,), [0, got, 0], shared=2048)
    return got


@pytest.mark.parametrize("vector", [False, True])
def test_st_async_writes_to_a_neighbour(vector):
    thread = np.arange(128)
    sent = thread // 2 + 500 * (thread % 2) if vector else thread
    assert np.array_equal(_stores(vector), [sent + 1000, sent])


@on_machine_only
def test_what_st_async_wrote_is_not_there_before_a_wait():
    assert (_stores(False, wait_for=False) == 0xFFFFFFFF).all()


# ---------------------------------------------------------------- copies of several boxes


def _copied(nbytes, copied, form, coordinates, array, encode, moved="", before=""):
    """The bytes of shared memory that a copy leaves; it counts `copied` of them on its mbarrier."""
    body = (
        f"ld.param.u64 %d1, [p1]; mov.b64 %d0, p0; cvta.param.u64 %d0, %d0; add.u32 %r3, %r2, {nbytes};\n"
        "@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;\nbar.sync 0;\n"
        f"@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {copied};\n"
        + "".join(f"mov.b32 %r{20 + place}, {value};\n" for place, value in enumerate(coordinates)) + before
        + f"@%p0 cp.async.bulk.tensor.{form}.mbarrier::complete_tx::bytes [%r2], "
        f"[%d0, {{{', '.join(f'%r{20 + place}' for place in range(len(coordinates)))}}}], [%r3]{moved};\n" + _wait()
        + f"\nmov.u32 %r5, %r0;\nloop:\nsetp.ge.u32 %p1, %r5, {nbytes // 4};\n@%p1 bra done;\n"
        "mad.lo.u32 %r6, %r5, 4, %r2; mad.wide.u32 %d3, %r5, 4, %d1;\nld.shared.b32 %r7, [%r6]; "
        "st.global.b32 [%d3], %r7;\nadd.u32 %r5, %r5, 128;\nbra loop;\ndone:"
    )  # fmt: skip
    got = np.zeros(nbytes, np.uint8)
    parameters = ".param .align 64 .b8 p0[128], .param .u64 p1, .param .u64 p2"
    execute(
        kernel(body, parameters=parameters), (1,), [lambda make, at: encode(make, at[2]), got, array],
        shared=nbytes + 16,
    )  # fmt: skip
    return got


@pytest.mark.parametrize("span", [0, 128])
def test_gather4_takes_four_rows(span):
    tensor = np.random.default_rng(1).integers(0, 2**32, (16, 64), np.uint32)
    rows = (5, 2, 20, 15)
    got = _copied(
        512, 512, "2d.tile::gather4.shared::cta.global", (40, *rows), tensor,
        lambda make, at: make(at, "u32", (64, 16), (256,), (32, 1), span),
    )  # fmt: skip
    expected = np.zeros((4, 32), np.uint32)
    for place, row in enumerate(rows):
        # Row 20 and the last eight columns are outside.
        expected[place, :24] = tensor[row, 40:] if row < 16 else 0
    assert np.array_equal(got, _swizzled(expected, span))


def test_scatter4_writes_four_rows():
    rows = (5, 2, 20, 15)
    body = (
        "mov.b64 %d0, p0; cvta.param.u64 %d0, %d0; mad.lo.u32 %r5, %r0, 4, %r2; add.u32 %r6, %r0, 1;\n"
        "st.shared.b32 [%r5], %r6; fence.proxy.async.shared::cta; bar.sync 0;\n"
        + "".join(f"mov.b32 %r{21 + place}, {row};\n" for place, row in enumerate(rows))
        + "mov.b32 %r20, 4;\n@%p0 cp.async.bulk.tensor.2d.tile::scatter4.global.shared::cta.bulk_group "
        "[%d0, {%r20, %r21, %r22, %r23, %r24}], [%r2];\n"
        "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;"
    )  # fmt: skip
    got = np.zeros((16, 64), np.uint32)
    parameters = ".param .align 64 .b8 p0[128], .param .u64 p1"
    encoded = [lambda make, at: make(at[1], "u32", (64, 16), (256,), (32, 1)), got]
    execute(kernel(body, parameters=parameters), (1,), encoded, shared=512)
    expected = np.zeros_like(got)
    for place, row in enumerate(rows):
        if row < 16:
            expected[row, 4:36] = np.arange(1, 33) + 32 * place
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("step", [1, 2])
def test_im2col_takes_pixels_one_after_another(step):
    images, height, width, channels = 2, 5, 6, 8
    tensor = np.arange(1, images * height * width * channels + 1, dtype=np.float32)
    tensor = tensor.reshape(images, height, width, channels)
    lower, upper, moved, pixels = (-1, -1), (-1, -1), (1, 2), 16
    # A filter of 3 × 3 with a border of one: its upper left corner begins at -1.
    starts = [
        (n, h, w) for n in range(images + 1)
        for h in range(lower[1], height + upper[1], step) for w in range(lower[0], width + upper[0], step)
    ]  # fmt: skip
    first = starts.index((0, lower[1] + 2, lower[0] + 2))
    expected = np.zeros((pixels, channels), np.float32)
    for place, (n, h, w) in enumerate(starts[first : first + pixels]):
        h, w = h + moved[1], w + moved[0]
        if n < images and h < height and w < width:
            expected[place] = tensor[n, h, w]
    got = _copied(
        32 * pixels, 32 * pixels, "4d.shared::cta.global.im2col", (0, lower[0] + 2, lower[1] + 2, 0), tensor,
        lambda make, at: make(
            at, "f32", (channels, width, height, images), (32, 32 * width, 32 * width * height), (channels, pixels),
            steps=(1, step, step, 1), corners=(lower, upper),
        ),
        ", {%h1, %h2}", f"mov.b16 %h1, {moved[0]}; mov.b16 %h2, {moved[1]};\n",
    )  # fmt: skip
    assert np.array_equal(got.view(np.float32).reshape(pixels, channels), expected)


def test_padded_4_bit_numbers_take_a_byte_each():
    tensor = np.random.default_rng(2).integers(0, 256, (4, 128), np.uint8)
    got = _copied(
        512, 256, "2d.shared::cta.global", (128, 0), tensor,
        lambda make, at: make(at, "u4", (256, 4), (128,), (128, 4)),
    )  # fmt: skip
    # 16 numbers lie in 8 bytes; 8 bytes that nobody writes come behind them.
    got = got.reshape(4, 8, 2, 8)
    assert np.array_equal(got[:, :, 0].reshape(4, 64), tensor[:, 64:])


# ---------------------------------------------------------------- launches that are cancelled


@pytest.mark.parametrize("cluster", [1, 2])
def test_a_cluster_takes_over_what_has_not_begun(cluster):
    everyone = ".multicast::cluster::all" if cluster == 2 else ""
    body = (
        "ld.param.u64 %d1, [p1]; ld.param.u64 %d3, [p2]; .reg .b128 %q<2>;\n" + _BARRIER.replace("%r4, ", "%r14, ")
        + "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 16;\n" + _MEET
        + "\nmov.u32 %r14, %cluster_ctarank; setp.eq.and.u32 %p2, %r14, 0, %p0;\n"
        "@%p2 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
        f"{everyone}.b128 [%r2], [%r3];\n" + _wait() + "\nld.shared.v2.b64 {%d5, %d6}, [%r2];\n"
        "mov.b128 %q1, {%d5, %d6};\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r8, %r9, %r10, _}, %q1;\n"
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r11, %q1;\n"
        "mov.u32 %r15, %ctaid.y; mad.lo.u32 %r12, %r15, 4, %r1; mul.wide.u32 %d7, %r12, 4; add.u64 %d1, %d1, %d7;\n"
        "mov.u32 %r13, 1; @%p0 st.global.b32 [%d1], %r13; and.pred %p4, %p0, %p3;\n"
        "mad.lo.u32 %r12, %r11, 4, %r8; add.u32 %r12, %r12, %r14; mul.wide.u32 %d7, %r12, 4; add.u64 %d3, %d3, %d7;\n"
        f"@%p4 st.global.b32 [%d3], %r13;\n{_MEET}"
    )  # fmt: skip
    launched, cancelled = np.zeros((3, 4), np.uint32), np.zeros((3, 4), np.uint32)
    text = kernel(body, cluster=f"\n.reqnctapercluster {cluster}, 1, 1")
    result = execute(text, (4, 3), [0, launched, cancelled], shared=2048, lanes=128 * 4)
    assert np.array_equal(launched + cancelled, np.ones((3, 4), np.uint32))
    # Four at a time: the first four take four over, and of the last four nobody is left.
    assert launched.sum() == 8
    if result is not None:
        assert result.ctas == 8
