"""tcgen05.mma: whole kernels against numpy, with exact numbers, so that sums have one value.

No GPU of this generation has run these rows yet.
"""

import ml_dtypes
import numpy as np
import pytest
from blackwell import (
    after,
    before,
    descriptor,
    in_shared,
    instruction,
    lanes_of,
    multiply,
    raw_cells,
    run,
    wait,
)
from running import on_machine_only

from crosswarp.matrix.cell.machines import ptx

# kind, type of A and B, of the result -> numpy's types, codes of A's, B's and D's types.
_KINDS = {
    "f16": ("f16", np.float16, 0, 1, np.float32), "bf16": ("f16", ml_dtypes.bfloat16, 1, 1, np.float32),
    "f16 to f16": ("f16", np.float16, 0, 0, np.float16), "tf32": ("tf32", np.float32, 2, 1, np.float32),
    "e4m3": ("f8f6f4", ml_dtypes.float8_e4m3fn, 0, 1, np.float32),
    "e5m2": ("f8f6f4", ml_dtypes.float8_e5m2, 1, 1, np.float32),
    "s8": ("i8", np.int8, 1, 2, np.int32), "u8": ("i8", np.uint8, 0, 2, np.int32),
}  # fmt: skip


def check(
    name,
    m=128,
    n=32,
    span=128,
    along=(False, False),
    adds=1,
    in_tensor=False,
    negated=(0, 0),
    a=None,
    shift=0,
):
    kind, dtype, code, d_code, out = _KINDS[name]
    depth = 32 // np.dtype(dtype).itemsize
    random = np.random.default_rng(7)
    low = 0 if dtype == np.uint8 else -8
    made = random.integers(low, 9, (m, depth)).astype(dtype)
    a = made if a is None else a
    b = random.integers(low, 9, (n, depth)).astype(dtype)
    c = random.integers(-100, 100, (128, 64)).astype(out)
    left, right = in_shared(a, span, along[0]), in_shared(b, span, along[1])
    padding = np.zeros(shift, np.uint8), np.zeros(-len(left[0]) % 1024, np.uint8)
    source = np.concatenate([padding[0], left[0], padding[1], right[0]])
    # The pattern of 1,024 bytes begins `shift` bytes later: the base offset.
    base = shift // 128 << 49
    forms = [
        (shift, descriptor(*left[1:], span) | base),
        (len(source) - len(right[0]), descriptor(*right[1:], span) | base),
    ]
    cells = raw_cells(c).copy()
    if in_tensor:
        words = np.ascontiguousarray(a).view(np.uint32).reshape(m, 8)
        cells[lanes_of(m), 40:48] = words
        source[: len(left[0])] = 0xFF
    idesc = instruction(m, n, code, code, d_code, [int(one) for one in along], negated)
    lines = [
        *before(64, len(source)),
        *multiply(kind, idesc, *forms, adds, 40 if in_tensor else None), *wait(), *after(64),
    ]  # fmt: skip
    got = run(lines, source, cells, 64)
    with np.errstate(all="ignore"):
        product = a.astype(np.float64) @ b.astype(np.float64).T
        product *= (-1) ** sum(negated)
        total = product + (c[lanes_of(m), :n].astype(np.float64) if adds else 0)
        expected = total.astype(out)
    found = got[lanes_of(m), :n]
    if out == np.float16:
        found = found.astype(np.uint16)
    assert np.array_equal(found.view(out), expected, equal_nan=out != np.int32)
    # Nothing else is touched.
    rest = np.ones((128, 64), bool)
    rest[np.ix_(lanes_of(m), range(n))] = False
    assert np.array_equal(got[rest], cells[rest])


@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize("name", list(_KINDS))
def test_products_of_shared_memory(name, span):
    check(name, span=span)


@pytest.mark.parametrize("m, n", [(64, 8), (64, 64), (128, 16), (128, 64)])
def test_products_of_other_sizes(m, n):
    check("f16", m, n)


@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize("along", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("name", ["bf16", "e4m3"])
def test_products_of_matrices_that_lie_the_other_way(name, along, span):
    check(name, n=64, span=span, along=along)


def test_products_of_matrices_with_a_base_offset():
    check("f16", shift=384)


@pytest.mark.parametrize("m", [64, 128])
@pytest.mark.parametrize("name", ["f16", "tf32", "e5m2", "s8"])
def test_products_with_a_in_tensor_memory(name, m):
    check(name, m, in_tensor=True)


def test_products_without_what_was_there():
    check("bf16", adds=0)


@pytest.mark.parametrize("negated", [(1, 0), (0, 1), (1, 1)])
def test_products_of_negated_matrices(negated):
    check("f16", negated=negated)


def test_products_of_special_numbers():
    a = np.zeros((128, 16), np.float16)
    a[0, 0], a[1, 3], a[2, 5] = np.inf, np.nan, 2.0**-24
    a[3, :2], a[4, 0] = (np.inf, -np.inf), 65504
    check("f16", a=a)


# ---------------------------------------------------------------- products with scale factors

_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6] + [-0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def _scale_columns(scales):
    """(128 lanes, 4 columns): row r in lane r % 32 of each quarter and column r // 32, a byte for each block of K."""
    found = np.zeros((32, 4, 4), np.uint8)
    for row in range(len(scales)):
        found[row % 32, row // 32, : scales.shape[1]] = scales[row]
    return np.tile(found.view(np.uint32)[..., 0], (4, 1))


@pytest.mark.parametrize("which", [0, 1, 3])
@pytest.mark.parametrize("form", ["mxf8f6f4", "mxf8f6f4 of e2m1", "mxf4", "mxf4nvf4"])
def test_scaled_products(form, which):
    kind, _, small = form.partition(" of ")
    block = 16 if kind == "mxf4nvf4" else 32
    random = np.random.default_rng(11)
    dense = kind.startswith("mxf4")
    depth = 64 if dense else 32
    n, per = 32, depth // block
    # Of A and of B: other bytes, where there is a choice.
    starts = [0 if per == 4 else one % 4 // per * per for one in (which, which + 2)]
    first = starts[0]
    values, stored = [], []
    for rows in (128, n):
        if dense or small:
            codes = random.integers(0, 16, (rows, depth), np.uint8)
            values.append(_FP4[codes])
            raw = codes[:, ::2] | codes[:, 1::2] << 4
            if small:
                # 8 bytes of numbers, and 8 that nobody reads.
                raw = np.concatenate(
                    [raw.reshape(rows, -1, 8), np.full((rows, 2, 8), 0xFF, np.uint8)], 2
                )
            stored.append(raw.reshape(rows, 32))
        else:
            x = random.integers(-8, 9, (rows, depth)).astype(ml_dtypes.float8_e4m3fn)
            values.append(x.astype(np.float64))
            stored.append(x.view(np.uint8))
    if kind == "mxf4nvf4":
        scales = [random.integers(0x20, 0x50, (rows, 4), np.uint8) for rows in (128, n)]
        factors = [x.view(ml_dtypes.float8_e4m3fn).astype(np.float64) for x in scales]
    else:
        scales = [random.integers(120, 135, (rows, 4), np.uint8) for rows in (128, n)]
        scales[0][5, first] = 255
        factors = [np.where(x == 255, np.nan, 2.0 ** (x.astype(np.float64) - 127)) for x in scales]
    wide = [
        x * np.repeat(factor[:, start : start + per], block, 1)
        for x, factor, start in zip(values, factors, starts)
    ]
    expected = (wide[0] @ wide[1].T).astype(np.float32)
    left, right = (in_shared(np.ascontiguousarray(x), 32) for x in stored)
    source = np.concatenate([left[0], right[0]])
    forms = [(0, descriptor(*left[1:], 32)), (len(left[0]), descriptor(*right[1:], 32))]
    cells = np.zeros((128, 64), np.uint32)
    cells[:, 40:44], cells[:, 44:48] = _scale_columns(scales[0]), _scale_columns(scales[1])
    code = 5 if small else 1 if dense else 0
    idesc = (
        code << 7 | code << 10 | n >> 3 << 17 | (kind != "mxf4nvf4") << 23 | 1 << 27 | starts[0] << 29 | starts[1] << 4
    )  # fmt: skip
    vector = {"mxf8f6f4": "scale_vec::1X", "mxf4": "block32", "mxf4nvf4": "block16"}[kind]
    lines = [
        *before(64, len(source)),
        *multiply(f"{kind}.block_scale.{vector}", idesc, *forms, 0, more="[%r5 + 40], [%r5 + 44], "),
        *wait(), *after(64),
    ]  # fmt: skip
    got = run(lines, source, cells, 64)[:, :n].view(np.float32)
    assert np.isnan(got[5]).all() == (kind != "mxf4nvf4")
    assert np.array_equal(got, expected, equal_nan=True)


def _product(*, wait_for=True, between=()):
    a, b = np.eye(128, 16, dtype=np.float16), np.ones((32, 16), np.float16)
    left, right = in_shared(a, 32), in_shared(b, 32)
    source = np.concatenate([left[0], right[0]])
    forms = [(0, descriptor(*left[1:], 32)), (len(left[0]), descriptor(*right[1:], 32))]
    waited = wait() if wait_for else []
    lines = [
        *before(32, len(source)),
        *multiply("f16", instruction(128, 32, 0, 0, 1), *forms, 0),
        *between,
    ]
    return run([*lines, *waited, *after(32)], source, np.zeros((128, 32), np.uint32), 32).view(
        np.float32
    )


@on_machine_only
class TestMissingWaits:
    def test_a_product_is_there_when_it_was_waited_for(self):
        got = _product()
        assert (got[:16] == 1).all() and (got[16:] == 0).all()

    def test_a_product_that_nobody_waits_for_is_nan(self):
        assert np.isnan(_product(wait_for=False)).all()

    def test_operands_are_read_as_late_as_a_device_may(self):
        zero = ["mov.u32 %r20, 0; mad.lo.u32 %r21, %r0, 16, %r2;",
                "st.shared.v4.b32 [%r21+1024], {%r20, %r20, %r20, %r20};", "bar.sync 0;"]  # fmt: skip
        overwritten = _product(between=zero)
        assert (overwritten[:16] == 0).any()

    def test_each_commit_ends_a_phase(self):
        # Two commits on one mbarrier: who waits for the first phase must not see the second end it again.
        again = ["@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%r3];"]
        got = _product(
            between=[*again, *wait("%r3", 0, "first"), *wait("%r3", 1, "second")], wait_for=False
        )
        assert (got[:16] == 1).all()

    def test_a_commit_that_nobody_makes_is_a_deadlock(self):
        with pytest.raises(ptx.Deadlock):
            run(wait(), b"", np.zeros((128, 1), np.uint32), 1)
