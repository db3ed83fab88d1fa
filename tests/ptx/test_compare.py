"""setp in all its comparisons, set, selp, testp."""

import math

import exact
import numpy as np
import pytest
from exact import BF16, F16, F32, F64
from running import Row, check
from test_integers import columns, signed

ROWS = []
_ORDERED = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip

_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _bits(values):
    return np.array([int(value) for value in values], np.uint32)


def _with_negation(operation):
    return f"setp.{operation} %p|%q, %a, %b;\nselp.u32 %x, 1, 0, %p;\nselp.u32 %y, 1, 0, %q;"


def integers():
    for bits in (16, 32, 64):
        for kind, names in (("u", _ORDERED), ("s", _ORDERED), ("b", ("eq", "ne"))):
            a, b = columns(bits, 1, 1)[0], columns(bits, 1, 2)[0]
            b[::5] = a[::5]
            x = [signed(int(v), bits) if kind == "s" else int(v) for v in a]
            y = [signed(int(v), bits) if kind == "s" else int(v) for v in b]
            # Unsigned comparisons have names of their own as well.
            for name in (*names, *(_UNSIGNED if kind == "u" else ())):
                ordered = _ORDERED[_UNSIGNED.get(name, name)]
                found = _bits(ordered(p, q) for p, q in zip(x, y))
                operation = f"{name}.{kind}{bits}"
                ROWS.append(Row(operation, _with_negation(operation), [a, b], [found, 1 - found]))
            # ptxas takes the two words in either order.
            swapped = f"{kind}{bits}.eq"
            found = _bits(p == q for p, q in zip(x, y))
            ROWS.append(Row(swapped, _with_negation(swapped), [a, b], [found, 1 - found]))


def _float_comparisons():
    def ordered(function):
        return lambda a, b: not (math.isnan(a) or math.isnan(b)) and function(a, b)

    def unordered(function):
        return lambda a, b: math.isnan(a) or math.isnan(b) or function(a, b)

    found = {name: ordered(function) for name, function in _ORDERED.items()}
    found.update({name + "u": unordered(function) for name, function in _ORDERED.items()})
    found["num"], found["nan"] = ordered(lambda a, b: True), unordered(lambda a, b: False)
    return found


def floats():
    for form in (F32, F64, F16, BF16):
        a, b = exact.pairs(form, seed=3)
        b = b.copy()
        b[::4] = a[::4]
        x, y = exact.values_of(a, form), exact.values_of(b, form)
        target = "sm_90" if form is BF16 else "sm_80"
        for name, function in _float_comparisons().items():
            found = _bits(function(p, q) for p, q in zip(x, y))
            operation = f"{name}.{form.name}"
            # p|q is for 32 and 64 bits.
            body, expected = _with_negation(operation), [found, 1 - found]
            if form in (F16, BF16):
                body, expected = f"setp.{operation} %p, %a, %b;\nselp.u32 %x, 1, 0, %p;", [found]
            ROWS.append(Row(operation, body, [a, b], expected, target=target))
            if form is F32:
                flat = [_bits(function(exact.flushed(p), exact.flushed(q)) for p, q in zip(x, y))]
                body = f"setp.{name}.ftz.f32 %p, %a, %b;\nselp.u32 %x, 1, 0, %p;"
                ROWS.append(Row(f"{name}.ftz.f32", body, [a, b], flat))


def packed_halves():
    for form, target in ((F16, "sm_80"), (BF16, "sm_90")):
        low, high = exact.pairs(form, seed=4), exact.pairs(form, seed=5)
        raw = [a.astype(np.uint32) | b.astype(np.uint32) << 16 for a, b in zip(low, high)]
        for name in ("lt", "neu", "nan"):
            function = _float_comparisons()[name]
            found = [_bits(function(p, q) for p, q in zip(*(exact.values_of(v, form) for v in half)))
                     for half in (low, high)]  # fmt: skip
            # q is the high half, and not the negation.
            operation = f"{name}.{form.name}x2"
            ROWS.append(Row(operation, _with_negation(operation), raw, found, target=target))
            # As a number of the same form: 1.0 in the halves where it holds.
            ones = np.uint32(0x3C00 if form is F16 else 0x3F80)
            numbers = found[0] * ones | found[1] * ones << np.uint32(16)
            operation = f"set.{name}.{form.name}x2.{form.name}x2"
            ROWS.append(Row(operation, f"{operation} %x, %a, %b;", raw, [numbers], target=target))


integers()
floats()
packed_halves()


def _with_predicate(join, function):
    a, b = columns(32, 1, 1)[0], columns(32, 1, 2)[0]
    c = a & 1
    test = np.array([function(int(p) < int(q), bool(r)) for p, q, r in zip(a, b, c)]).astype(
        np.uint32
    )
    other = np.array([function(not int(p) < int(q), bool(r)) for p, q, r in zip(a, b, c)]).astype(
        np.uint32
    )
    body = (f"setp.ne.u32 %p9, %c, 0;\nsetp.lt.{join}.u32 %p|%q, %a, %b, %p9;\n"
            "selp.u32 %x, 1, 0, %p;\nselp.u32 %y, 1, 0, %q;")  # fmt: skip
    return Row(f"setp.lt.{join}.u32", body, [a, b, c], [test, other])


ROWS += [
    _with_predicate("and", lambda p, q: p and q),
    _with_predicate("or", lambda p, q: p or q),
    _with_predicate("xor", lambda p, q: p != q),
]
_a, _b = columns(32, 2, 7)
_test = (_a < _b).astype(np.uint32)
ROWS += [
    Row("set.lt.u32.u32", "set.lt.u32.u32 %x, %a, %b;", [_a, _b], [_test * np.uint32(0xFFFFFFFF)]),
    Row("set.lt.f32.u32", "set.lt.f32.u32 %x, %a, %b;", [_a, _b], [_test * np.uint32(0x3F800000)]),
    Row("slct.s32", "slct.b32.s32 %x, %a, %b, %c;", [_a, _b, _a], [np.where(_a < 2**31, _a, _b)]),
    Row("predicates", "setp.lt.u32 %p, %a, %b;\nsetp.gt.u32 %q, %a, 5;\nand.pred %p9, %p, %q;\n"
        "xor.pred %p, %p, %p9;\nnot.pred %q, %p;\nselp.u32 %x, 1, 0, %p;\nselp.u32 %y, 1, 0, %q;", [_a, _b],
        [_test ^ (_test & (_a > 5)), 1 - (_test ^ (_test & (_a > 5)))]),
    Row("constant predicates", "mov.pred %p, -1;\nmov.pred %q, 0;\nselp.u32 %x, 1, 0, %p;\nselp.u32 %y, 1, 0, %q;",
        [_a], [np.ones_like(_a), np.zeros_like(_a)]),
]  # fmt: skip


def _tests():
    raw = np.concatenate([exact.edges(F32), exact.pairs(F32, 300, 9, 1)[0]])
    values = exact.values_of(raw, F32)
    tiny = 2.0**-126
    meanings = {
        "finite": math.isfinite, "infinite": math.isinf, "notanumber": math.isnan,
        "number": lambda v: not math.isnan(v),
        "normal": lambda v: math.isfinite(v) and (abs(v) >= tiny or v == 0),
        "subnormal": lambda v: 0 < abs(v) < tiny,
    }  # fmt: skip
    for name, function in meanings.items():
        body = f"testp.{name}.f32 %p, %a;\nselp.u32 %x, 1, 0, %p;"
        ROWS.append(Row(f"testp.{name}", body, [raw], [_bits(function(v) for v in values)]))


_tests()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_comparisons(row):
    check(row)
