"""Integer arithmetic, logic, shifts, bit fields, permutes."""

import numpy as np
import pytest
from running import Row, check, on_machine_only

from crosswarp.matrix.cell.machines import ptx

ROWS = []
_RAW = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def edges(bits):
    top = 1 << bits
    return [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 255, top // 2 - 1, top // 2, top // 2 + 1, top - 1, top - 2, 0x55 % top,
            0x123456789ABCDEF0 % top]  # fmt: skip


def columns(bits, count, seed=1):
    """Edges with edges, then anything."""
    random = np.random.default_rng(seed + bits)
    found = []
    for _ in range(count):
        some = random.choice(np.array(edges(bits), np.uint64), 384)
        wild = random.integers(0, 1 << bits, 256, np.uint64, endpoint=False)
        small = random.integers(0, 100, 64, np.uint64)
        found.append(np.concatenate([some, wild, small]).astype(_RAW[bits]))
    return found


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def row(
    operation, function, bits, operands=2, out=None, is_signed=False, widths=None, body=None, **more
):
    """`function` takes Python ints, signed where the type is, and gives one of any size."""
    out = out or bits
    widths = widths or [bits] * operands
    inputs = [columns(width, 1, 10 * place)[0] for place, width in enumerate(widths)]
    found = []
    for lane in zip(*inputs):
        values = [int(value) for value in lane]
        if is_signed:
            values = [signed(v, w) if w == bits else v for v, w in zip(values, widths)]
        found.append(function(*values) % (1 << out))
    names = ", ".join("%" + letter for letter in "abcd"[: len(widths)])
    body = body or f"{operation} %x, {names};"
    ROWS.append(Row(operation, body, inputs, [np.array(found, _RAW[out])], **more))


for bits in (16, 32, 64):
    for kind in "us":
        name, sign = f"{kind}{bits}", kind == "s"
        row(f"add.{name}", lambda a, b: a + b, bits, is_signed=sign)
        row(f"sub.{name}", lambda a, b: a - b, bits, is_signed=sign)
        row(f"mul.lo.{name}", lambda a, b: a * b, bits, is_signed=sign)
        row(f"mul.hi.{name}", lambda a, b, bits=bits: (a * b) >> bits, bits, is_signed=sign)
        row(f"mad.lo.{name}", lambda a, b, c: a * b + c, bits, 3, is_signed=sign)
        row(f"sad.{name}", lambda a, b, c: abs(a - b) + c, bits, 3, is_signed=sign)
        row(f"min.{name}", min, bits, is_signed=sign)
        row(f"max.{name}", max, bits, is_signed=sign)
        if bits < 64:
            row(f"mul.wide.{name}", lambda a, b: a * b, bits, out=2 * bits, is_signed=sign)
            row(f"mad.wide.{name}", lambda a, b, c: a * b + c, bits, out=2 * bits, is_signed=sign,
                widths=[bits, bits, 2 * bits])  # fmt: skip
    row(f"neg.s{bits}", lambda a: -a, bits, 1, is_signed=True)
    row(f"abs.s{bits}", abs, bits, 1, is_signed=True)
    for operation, function in (("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)):
        row(f"{operation}.b{bits}", function, bits)
    row(f"not.b{bits}", lambda a: ~a, bits, 1)
    row(f"shl.b{bits}", lambda a, n, bits=bits: a << n if n < bits else 0, bits, widths=[bits, 32])
    row(f"shr.u{bits}", lambda a, n, bits=bits: a >> n if n < bits else 0, bits, widths=[bits, 32])
    row(f"shr.b{bits}", lambda a, n, bits=bits: a >> n if n < bits else 0, bits, widths=[bits, 32])
    body = f"shr.s{bits} %x, %a, %b;"
    a, n = columns(bits, 1)[0], columns(32, 1, 5)[0]
    found = [signed(int(v), bits) >> min(int(k), 1000) for v, k in zip(a, n)]
    ROWS.append(
        Row(f"shr.s{bits}", body, [a, n], [np.array([v % (1 << bits) for v in found], _RAW[bits])])
    )
    for amount in (0, 1, bits - 1):
        row(
            f"shl.b{bits} by {amount}",
            lambda a, n=amount: a << n,
            bits,
            1,
            body=f"shl.b{bits} %x, %a, {amount};",
        )
        row(
            f"shr.u{bits} by {amount}",
            lambda a, n=amount: a >> n,
            bits,
            1,
            body=f"shr.u{bits} %x, %a, {amount};",
        )
        row(f"shr.s{bits} by {amount}", lambda a, n=amount: a >> n, bits, 1, is_signed=True,
            body=f"shr.s{bits} %x, %a, {amount};")  # fmt: skip


def wide_sums():
    """Two registers as one number: the low halves give the carry, the high ones take it, and give one again."""
    for bits in (32, 64):
        raw, top = _RAW[bits], 1 << bits
        a, b, c, d = ([int(v) for v in column] for column in columns(bits, 4, 40))
        inputs = [np.array(column, raw) for column in (a, b, c, d)]

        def wide(name, body, numbers, count, raw=raw, top=top, inputs=inputs):
            outputs = [
                np.array([n // top**place % top for n in numbers], raw) for place in range(count)
            ]
            ROWS.append(Row(name, body, inputs, outputs))

        for kind in "us":
            of = f"{kind}{bits}"
            lines = f"{{0}}.cc.{of} %x, %a, %c; {{0}}c.cc.{of} %y, %b, %d; {{0}}c.{of} %z, 0, 0;"
            for name, way in (("add", 1), ("sub", -1)):
                found = [p + q * top + way * (r + s * top) for p, q, r, s in zip(a, b, c, d)]
                wide(f"{name}.cc and {name}c.{of}", lines.format(name), found, 3)
            # As libdevice does: a digit times a number, and what is left of the digits before.
            body = f"mad.lo.cc.{of} %x, %a, %b, %c; madc.hi.cc.{of} %y, %a, %b, %d; addc.{of} %z, 0, 0;"
            found = []
            for p, q, r, s in zip(a, b, c, d):
                x, y = (signed(p, bits), signed(q, bits)) if kind == "s" else (p, q)
                found.append(p * q % top + r + ((x * y >> bits) % top + s) * top)
            wide(f"mad.lo.cc and madc.hi.{of}", body, found, 3)
            body = f"mad.hi.cc.{of} %x, %a, %b, %c; madc.lo.{of} %y, %a, %b, %d;"
            found = []
            for p, q, r, s in zip(a, b, c, d):
                x, y = (signed(p, bits), signed(q, bits)) if kind == "s" else (p, q)
                found.append((x * y >> bits) % top + r + (p * q % top + s) * top)
            wide(f"mad.hi.cc and madc.lo.{of}", body, found, 2)


wide_sums()


def _saturated(value):
    return max(-(2**31), min(2**31 - 1, value))


row("add.sat.s32", lambda a, b: _saturated(a + b), 32, is_signed=True)
row("sub.sat.s32", lambda a, b: _saturated(a - b), 32, is_signed=True)


def _quotient(a, b):
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def divisions():
    for bits in (16, 32, 64):
        for kind in "us":
            a, b = columns(bits, 1, 20)[0], columns(bits, 1, 30)[0]
            b[b == 0] = 3
            x = [signed(int(v), bits) if kind == "s" else int(v) for v in a]
            y = [signed(int(v), bits) if kind == "s" else int(v) for v in b]
            over = 1 << bits
            for name, function in (
                ("div", _quotient),
                ("rem", lambda p, q: p - q * _quotient(p, q)),
            ):
                found = np.array([function(p, q) % over for p, q in zip(x, y)], _RAW[bits])
                ROWS.append(
                    Row(f"{name}.{kind}{bits}", f"{name}.{kind}{bits} %x, %a, %b;", [a, b], [found])
                )


divisions()


def _field(a, position, length, bits, is_signed):
    """The ISA's own pseudo-code."""
    position, length = position & 0xFF, length & 0xFF
    msb = bits - 1
    if not is_signed or length == 0:
        sign = 0
    else:
        sign = a >> min(position + length - 1, msb) & 1
    result = 0
    for place in range(bits):
        at = a >> position + place & 1 if place < length and position + place <= msb else sign
        result |= at << place
    return result


def _inserted(a, b, position, length, bits):
    position, length = position & 0xFF, length & 0xFF
    result = b
    for place in range(length):
        if position + place < bits:
            result = result & ~(1 << position + place) | (a >> place & 1) << position + place
    return result


def _positions(bits, seed):
    random = np.random.default_rng(seed)
    edge = np.array([0, 1, 3, 4, 8, 15, 16, 31, 32, 33, 63, 64, 65, 255, 256, 257], np.uint32)
    if bits == 64:
        # The ISA has eight bits count; what ptxas 12.8 makes of the 64-bit forms for sm_90 takes more of them.
        edge = edge[edge < 256]
    return np.where(random.integers(0, 2, 704) == 1, random.choice(edge, 704),
                    random.integers(0, bits, 704)).astype(np.uint32)  # fmt: skip


for bits in (32, 64):
    a, b = columns(bits, 2, 40)
    position, length = _positions(bits, 1), _positions(bits, 2)
    for kind in "us":
        found = [
            _field(int(v), int(p), int(n), bits, kind == "s")
            for v, p, n in zip(a, position, length)
        ]
        ROWS.append(Row(f"bfe.{kind}{bits}", f"bfe.{kind}{bits} %x, %a, %b, %c;", [a, position, length],
                        [np.array(found, _RAW[bits])]))  # fmt: skip
    found = [_inserted(*(int(v) for v in lane), bits) for lane in zip(a, b, position, length)]
    ROWS.append(Row(f"bfi.b{bits}", f"bfi.b{bits} %x, %a, %b, %c, %d;", [a, b, position, length],
                    [np.array(found, _RAW[bits])]))  # fmt: skip


def _permuted(a, b, selector):
    source = (a | b << 32).to_bytes(8, "little")
    result = bytearray()
    for place in range(4):
        nibble = selector >> 4 * place & 15
        byte = source[nibble & 7]
        result.append((255 if byte & 128 else 0) if nibble & 8 else byte)
    return int.from_bytes(result, "little")


row("prmt.b32", lambda a, b, c: _permuted(a, b, c), 32, 3)
for selector in (0x3210, 0x7654, 0x5410, 0x7632, 0x0123, 0x8888, 0xBA98, 0xFEDC, 0x4440):
    row(f"prmt.b32 {selector:#x}", lambda a, b, s=selector: _permuted(a, b, s), 32, 2,
        body=f"prmt.b32 %x, %a, %b, {selector:#x};")  # fmt: skip
for table in (0x00, 0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1B, 0xFF, 0x6A):
    row(f"lop3.b32 {table:#x}",
        lambda a, b, c, t=table: sum((t >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i
                                     for i in range(32)),
        32, 3, body=f"lop3.b32 %x, %a, %b, %c, {table:#x};")  # fmt: skip
row("shf.l.wrap.b32", lambda a, b, n: ((a | b << 32) << (n & 31)) >> 32, 32, 3)
row("shf.r.wrap.b32", lambda a, b, n: (a | b << 32) >> (n & 31), 32, 3)
row("shf.l.clamp.b32", lambda a, b, n: ((a | b << 32) << min(n, 32)) >> 32, 32, 3)
row("shf.r.clamp.b32", lambda a, b, n: (a | b << 32) >> min(n, 32), 32, 3)
for bits in (32, 64):
    row(f"popc.b{bits}", lambda a: bin(a).count("1"), bits, 1, out=32)
    row(f"clz.b{bits}", lambda a, bits=bits: bits - a.bit_length(), bits, 1, out=32)
    row(f"brev.b{bits}", lambda a, bits=bits: int(format(a, f"0{bits}b")[::-1], 2), bits, 1)
    row(f"bfind.u{bits}", lambda a: a.bit_length() - 1, bits, 1, out=32)
    row(
        f"bfind.s{bits}",
        lambda a: (~a if a < 0 else a).bit_length() - 1,
        bits,
        1,
        out=32,
        is_signed=True,
    )
    row(
        f"bfind.shiftamt.u{bits}",
        lambda a, bits=bits: bits - a.bit_length() if a else -1,
        bits,
        1,
        out=32,
    )


def _dot(a, b, c, a_signed, b_signed):
    parts = zip(a.to_bytes(4, "little"), b.to_bytes(4, "little"))
    return c + sum(
        (signed(x, 8) if a_signed else x) * (signed(y, 8) if b_signed else y) for x, y in parts
    )


for a_kind in "us":
    for b_kind in "us":
        row(f"dp4a.{a_kind}32.{b_kind}32",
            lambda a, b, c, p=a_kind == "s", q=b_kind == "s": _dot(a, b, c, p, q), 32, 3)  # fmt: skip


def _halves(a, b, function, is_signed):
    result = 0
    for place in (0, 16):
        x, y = a >> place & 0xFFFF, b >> place & 0xFFFF
        if is_signed:
            x, y = signed(x, 16), signed(y, 16)
        result |= function(x, y) % 65536 << place
    return result


for kind in "us":
    row(f"max.{kind}16x2", lambda a, b, s=kind == "s": _halves(a, b, max, s), 32, target="sm_90")
    row(f"min.{kind}16x2", lambda a, b, s=kind == "s": _halves(a, b, min, s), 32, target="sm_90")
    row(f"add.{kind}16x2", lambda a, b: _halves(a, b, int.__add__, False), 32, target="sm_90")

# With .relu what is negative is nothing: sm_90 has it for a maximum with 0.
for name, function in (("max", max), ("min", min)):
    relu = lambda a, b, of=function: max(of(a, b), 0)  # noqa: E731
    row(f"{name}.relu.s32", relu, 32, is_signed=True, target="sm_90")
    row(f"{name}.relu.s16x2", lambda a, b, of=relu: _halves(a, b, of, True), 32, target="sm_90")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_integers(row):
    check(row)


def test_division_by_zero_is_all_ones():
    a = np.array([0, 1, 5, 2**31, 2**32 - 1], np.uint32)
    ones = np.full(5, 2**32 - 1, np.uint32)
    check(Row("div.u32 by 0", "div.u32 %x, %a, %b;", [a, np.zeros(5, np.uint32)], [ones]))


def test_parts_of_registers():
    a = columns(64, 1)[0]
    low, high = (a & 0xFFFFFFFF).astype(np.uint32), (a >> 32).astype(np.uint32)
    check(Row("mov.b64 apart", "mov.b64 {%x, %y}, %a;", [a], [low, high]))
    check(Row("mov.b64 together", "mov.b64 %x, {%a, %b};", [low, high], [a]))
    body = "mov.b32 {%h1, %h2}, %a;\nmov.b32 %x, {%h2, %h1};"
    check(Row("mov.b32 swapped", body, [low], [(low >> 16) | (low << 16)]))


def test_scoped_registers_hide_those_outside():
    body = "mov.u32 %r1, %a;\n{\n.reg .b32 %r1;\nmov.u32 %r1, 7;\nadd.u32 %x, %r1, 1;\n}\nadd.u32 %y, %r1, 0;"
    a = np.arange(32, dtype=np.uint32)
    check(Row("scopes", body, [a], [np.full(32, 8, np.uint32), a]))


@on_machine_only
def test_a_carry_that_nobody_gave_is_refused():
    a = np.arange(32, dtype=np.uint32)
    for body in ("addc.u32 %x, %a, %a;", "setp.eq.u32 %p, %a, 1;\n@%p add.cc.u32 %x, %a, %a;"):
        with pytest.raises(ptx.Unsupported, match="carry"):
            check(Row("carry", body, [a], [a]))
