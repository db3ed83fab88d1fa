"""The parts of the PTX machine without a program: integers and warps against plain loops, windows, watches, texts."""

import random

import numpy as np
import pytest

from crosswarp.matrix.cell.machines.ptx import (
    atomics,
    cancels,
    descriptors,
    errors,
    floats,
    integers,
    memory,
    tensor_maps,
)
from crosswarp.matrix.cell.machines.ptx.operands import offsets, swizzled
from crosswarp.matrix.cell.machines.ptx.types import BY_BYTES, is_type, type_of
from crosswarp.matrix.cell.machines.ptx.warps import Warps
from crosswarp.matrix.cell.machines.ptx.watch import Watch, several

DRAW = random.Random(11)
WIDTHS = (16, 32, 64)
EDGES = {bits: [0, 1, 2, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1] for bits in WIDTHS}


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def pairs(bits):
    """Every two edges, and others at random."""
    edges = EDGES[bits]
    return [(a, b) for a in edges for b in edges] + [
        (DRAW.getrandbits(bits), DRAW.getrandbits(DRAW.randrange(1, bits + 1))) for _ in range(60)
    ]


def arrays(values, bits, kind="u"):
    return [
        np.array(each, f"u{bits // 8}").view(f"{kind}{bits // 8}").reshape(1, -1)
        for each in zip(*values)
    ]


def plain(array, bits):
    return [int(value) & ((1 << bits) - 1) for value in array.reshape(-1)]


def toward_zero(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("kind", ["u", "i"])
@pytest.mark.parametrize("bits", WIDTHS)
def test_divisions_and_products(bits, kind):
    values, ones = pairs(bits), (1 << bits) - 1
    if kind == "i":
        # Overflow, which numpy warns of.
        values = [(a, b) for a, b in values if (a, b) != (1 << bits - 1, ones)]
    a, b = arrays(values, bits, kind)
    own = [[signed(x, bits) if kind == "i" else x for x in pair] for pair in values]
    assert plain(integers.divide(a, b), bits) == [
        (toward_zero(x, y) if y else -1) & ones for x, y in own
    ]
    assert plain(integers.remainder(a, b), bits) == [
        (x - toward_zero(x, y) * y if y else x) & ones for x, y in own
    ]
    assert plain(integers.multiply_high(a, b), bits) == [(x * y >> bits) & ones for x, y in own]


@pytest.mark.parametrize("bits", (32, 64))
def test_carries(bits):
    values, ones = pairs(bits), (1 << bits) - 1
    a, b = arrays(values, bits)
    for carry in (None, 0, 1):
        given = None if carry is None else np.full((1, len(values)), carry, a.dtype)
        total, out = integers.carried(a, b, given)
        sums = [x + y + (carry or 0) for x, y in values]
        assert plain(total, bits) == [each & ones for each in sums]
        assert plain(out, bits) == [each >> bits for each in sums]
        total, out = integers.borrowed(a, b, given)
        rests = [x - y - (carry or 0) for x, y in values]
        assert plain(total, bits) == [each & ones for each in rests]
        assert plain(out, bits) == [int(each < 0) for each in rests]


@pytest.mark.parametrize("bits", WIDTHS)
def test_shifts(bits):
    values = [
        (a, n)
        for a in EDGES[bits] + [DRAW.getrandbits(bits)]
        for n in (0, 1, bits - 1, bits, bits + 1, 999)
    ]
    ones = (1 << bits) - 1
    numbers = np.array([n for _, n in values], "u4").reshape(1, -1)
    (a,) = arrays([(a,) for a, _ in values], bits)
    assert plain(integers.shift_left(a, numbers), bits) == [(x << n) & ones for x, n in values]
    assert plain(integers.shift_right(a, numbers), bits) == [x >> n for x, n in values]
    assert plain(integers.shift_right(a.view(f"i{bits // 8}"), numbers), bits) == [
        (signed(x, bits) >> n) & ones for x, n in values
    ]


def test_funnel_shifts():
    values = [(a, b, n) for a, b in pairs(32)[:50] for n in (0, 1, 31, 32, 33, 200)]
    low, high, n = arrays(values, 32)
    for left in (False, True):
        for wrap in (False, True):
            expected = []
            for x, y, by in values:
                by = by & 31 if wrap else min(by, 32)
                both = y << 32 | x
                expected.append((both << by >> 32 if left else both >> by) & 0xFFFFFFFF)
            assert plain(integers.funnel_shift(low, high, n, left, wrap), 32) == expected


@pytest.mark.parametrize("bits", (32, 64))
def test_bit_fields(bits):
    ones = (1 << bits) - 1
    places = (0, 1, 7, bits - 1, bits, 70, 255, 256)
    values = [(x, x ^ ones, p, n) for p in places for n in places for x in [DRAW.getrandbits(bits)]]
    a, b = arrays([each[:2] for each in values], bits)
    position, length = arrays([each[2:] for each in values], 32)
    taken, extended, inserted = [], [], []
    for x, y, p, n in values:
        p, n = p & 255, n & 255
        field = x >> p & ((1 << n) - 1) & ones
        taken.append(field)
        sign = x >> min(p + n - 1, bits - 1) & 1 if n else 0
        if p >= bits:
            extended.append(ones if n and x >> (bits - 1) else 0)
        else:
            inside = min(n, bits - p)
            extended.append(((field & ((1 << inside) - 1)) - (sign << inside)) & ones if n else 0)
        mask = ((1 << n) - 1) << p & ones
        inserted.append(y & ~mask & ones | x << p & mask)
    assert plain(integers.bit_field(a, position, length), bits) == taken
    assert plain(integers.bit_field(a.view(f"i{bits // 8}"), position, length), bits) == extended
    assert plain(integers.insert_bit_field(a, b, position, length), bits) == inserted


def test_bytes_in_another_order():
    values = [(DRAW.getrandbits(32), DRAW.getrandbits(32), DRAW.getrandbits(16)) for _ in range(80)]
    a, b, selector = arrays(values, 32)
    expected = []
    for x, y, chosen in values:
        data, word = (y << 32 | x).to_bytes(8, "little"), []
        for place in range(4):
            nibble = chosen >> 4 * place & 15
            byte = data[nibble & 7]
            word.append((255 if byte & 128 else 0) if nibble & 8 else byte)
        expected.append(int.from_bytes(bytes(word), "little"))
    assert plain(integers.permute(a, b, selector), 32) == expected
    for number, (x, y, chosen) in enumerate(values):
        single = integers.permute_constant(*arrays([(x, y)], 32), chosen)
        assert plain(single, 32) == [expected[number]]


def test_every_table_of_three_operands():
    a, b, c = (np.array([[value]], "u4") for value in (0xF0, 0xCC, 0xAA))
    for table in range(256):
        assert int(integers.lop3(a, b, c, table)[0, 0]) & 0xFF == table


@pytest.mark.parametrize("bits", (32, 64))
def test_counted_bits(bits):
    values = [(x,) for x in EDGES[bits]] + [
        (DRAW.getrandbits(DRAW.randrange(1, bits)),) for _ in range(40)
    ]
    (a,) = arrays(values, bits)
    numbers = [x for (x,) in values]
    assert plain(integers.population(a), 32) == [bin(x).count("1") for x in numbers]
    assert plain(integers.leading_zeros(a), 32) == [bits - x.bit_length() for x in numbers]
    assert plain(integers.reversed_bits(a), bits) == [
        int(f"{x:0{bits}b}"[::-1], 2) for x in numbers
    ]
    highest = integers.highest_bit(a)
    assert plain(highest, 32) == [(x.bit_length() - 1) & 0xFFFFFFFF for x in numbers]
    assert plain(integers.shift_to_top(highest, bits), 32) == [
        bits - x.bit_length() if x else 0xFFFFFFFF for x in numbers
    ]
    of_signed = [signed(x, bits) for x in numbers]
    assert plain(integers.highest_bit(a.view(f"i{bits // 8}")), 32) == [
        ((~x if x < 0 else x).bit_length() - 1) & 0xFFFFFFFF for x in of_signed
    ]


def test_products_of_bytes():
    values = [(DRAW.getrandbits(32), DRAW.getrandbits(32), DRAW.getrandbits(32)) for _ in range(40)]
    a, b, c = arrays(values, 32)
    for first in (False, True):
        for second in (False, True):
            expected = [
                sum(
                    (signed(p, 8) if first else p) * (signed(q, 8) if second else q)
                    for p, q in zip(x.to_bytes(4, "little"), y.to_bytes(4, "little"))
                ) + signed(z, 32)
                for x, y, z in values
            ]  # fmt: skip
            total = integers.dot_product(a, b, c.view("i4").astype("i8"), first, second)
            assert plain(total, 32) == [each & 0xFFFFFFFF for each in expected]


ATOMIC = {
    "add": lambda x, y: x + y, "and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y,
    "exch": lambda x, y: y, "min": min, "max": max, "inc": lambda x, y: 0 if x >= y else x + 1,
    "dec": lambda x, y: y if x == 0 or x > y else x - 1,
}  # fmt: skip


@pytest.mark.parametrize("operation", ATOMIC)
@pytest.mark.parametrize("name", ["u32", "s32", "u64", "s64"])
def test_atomic_operations_on_integers(operation, name):
    bits = int(name[1:])
    values = pairs(bits)
    own = [[signed(x, bits) if name[0] == "s" and operation in ("min", "max") else x for x in pair]
           for pair in values]  # fmt: skip
    with np.errstate(over="ignore"):
        result = atomics.combine(operation, name, *arrays(values, bits), None)
    assert plain(result, bits) == [ATOMIC[operation](x, y) & ((1 << bits) - 1) for x, y in own]


def test_compare_and_swap():
    old, value, wanted = arrays([(5, 7, 5), (5, 7, 6)], 32)
    assert plain(atomics.combine("cas", "b32", old, value, wanted), 32) == [7, 5]


@pytest.mark.parametrize("operation", ["add", "min", "max"])
def test_atomic_operations_on_floats(operation):
    numbers = [(1.5, -2.25), (-0.5, 4.0), (3.0, 3.0), (0.0, -1.0)]
    expected = [float(ATOMIC[operation](*pair)) for pair in numbers]
    for name, dtype in (("f16", "f2"), ("f32", "f4"), ("f64", "f8")):
        raw = [np.array(each, dtype).view(f"u{dtype[1]}") for each in zip(*numbers)]
        assert list(atomics.combine(operation, name, *raw, None).view(dtype)) == expected
    raw = [floats.to_bf16(np.array(each, "f4")) for each in zip(*numbers)]
    assert list(floats.from_bf16(atomics.combine(operation, "bf16", *raw, None))) == expected
    halves = [np.array(each, "f2").view("u4") for each in zip(*numbers)]
    assert list(atomics.combine(operation, "f16x2", *halves, None).view("f2")) == expected
    halves = [floats.to_bf16(np.array(each, "f4")).view("u4") for each in zip(*numbers)]
    packed = atomics.combine(operation, "bf16x2", *halves, None)
    assert list(floats.from_bf16(packed.view("u2"))) == expected


class Machine:
    ctas, threads = 2, 64


def lanes(bits=32):
    return np.array([DRAW.getrandbits(bits) for _ in range(128)], "u4").reshape(2, 64)


def by_warp(*values):
    """The lanes of each warp, of each of the arrays."""
    return zip(*(np.broadcast_to(value, (2, 64)).reshape(-1, 32).tolist() for value in values))


@pytest.mark.parametrize("mode", ["bfly", "up", "down", "idx"])
def test_shuffles_of_every_segment(mode):
    warps, a = Warps(Machine), lanes()
    for width in (2, 8, 32):
        segment = 32 - width
        c = np.array([[segment << 8 | (0 if mode == "up" else 31)]], "u4")
        for b in (np.array([[DRAW.randrange(40)]], "u4"), lanes(6)):
            moved, inside = warps.shuffle(mode, a, b, c, None)
            for values, by, got, flags in by_warp(a, b, moved, inside):
                for lane in range(32):
                    low = lane & segment
                    high, step = low + width - 1, by[lane] & 31
                    source = {
                        "bfly": lane ^ step, "up": lane - step, "down": lane + step,
                        "idx": low | step & ~segment & 31,
                    }[mode]  # fmt: skip
                    valid = source >= low if mode == "up" else source <= high
                    assert flags[lane] == valid, (mode, width, lane, step)
                    assert got[lane] == values[source if valid else lane]


def test_votes_and_ballots():
    warps = Warps(Machine)
    mixed, mask = lanes(1) == 1, lanes(1) == 1
    for predicate in (mixed, np.ones((2, 64), bool), np.zeros((2, 64), bool)):
        for active in (None, mask):
            chosen = np.ones((2, 64), bool) if active is None else active
            votes = {mode: warps.vote(mode, predicate, active) for mode in ("any", "all")}
            ballot = warps.ballot(predicate, active)
            for own, there, some, every, bits in by_warp(
                predicate, chosen, votes["any"], votes["all"], ballot
            ):
                active_votes = [vote for vote, here in zip(own, there) if here]
                assert {*some} == {any(active_votes)} and {*every} == {all(active_votes)}
                assert {*bits} == {sum(1 << at for at in range(32) if own[at] and there[at])}
    uniform = warps.vote("uni", mixed, None)
    for own, same in by_warp(mixed, uniform):
        assert {*same} == {len({*own}) == 1}
    with pytest.raises(errors.Unsupported, match="vote.uni in divergence"):
        warps.vote("uni", mixed, mask)


@pytest.mark.parametrize("mode", ["add", "min", "max", "and", "or", "xor"])
@pytest.mark.parametrize("kind", ["u4", "i4"])
def test_reductions_of_a_warp(mode, kind):
    warps, a, mask = Warps(Machine), lanes().view(kind), lanes(1) == 1
    for active in (None, mask):
        chosen = np.ones((2, 64), bool) if active is None else active
        for values, there, results in by_warp(a, chosen, warps.reduce(mode, a, active)):
            first, *rest = [value for value, here in zip(values, there) if here]
            for value in rest:
                first = ATOMIC[mode](first, value)
            assert {value & 0xFFFFFFFF for value in results} == {first & 0xFFFFFFFF}


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("nan_wins", [False, True])
def test_reductions_of_floats(mode, nan_wins):
    a, mask = np.arange(128, dtype="f4").reshape(2, 64)[:, ::-1] - 70, lanes(1) == 1
    with_nan = a.copy()
    with_nan[0, 3] = np.nan
    for values in (a, with_nan):
        for active in (None, mask):
            chosen = np.ones((2, 64), bool) if active is None else active
            reduced = Warps(Machine).reduce_f32(mode, values, active, nan_wins)
            for own, there, results in by_warp(values, chosen, reduced):
                here = [value for value, one in zip(own, there) if one]
                numbers = [value for value in here if value == value]
                if nan_wins and len(numbers) < len(here):
                    assert np.isnan(results).all()
                else:
                    assert {*results} == {ATOMIC[mode](numbers)}


def test_lanes_with_the_same_value_and_the_first():
    warps, a, mask = Warps(Machine), lanes(3), lanes(1) == 1
    for active in (None, mask):
        chosen = np.ones((2, 64), bool) if active is None else active
        matches = warps.match_any(a, active)
        for own, there, bits in by_warp(a, chosen, matches):
            for lane in range(32):
                assert bits[lane] == sum(
                    1 << at for at in range(32) if own[at] == own[lane] and there[at]
                )
        leader, elected = warps.elect(active)
        for there, first, chosen_lanes in by_warp(chosen, leader, elected):
            assert {*first} == {there.index(True)}
            assert [at for at in range(32) if chosen_lanes[at]] == [there.index(True)]


def test_windows_of_memory():
    windows = memory.Memory()
    assert windows.nearest(100) == "no memory is allowed"
    assert windows.outside(np.array([100], "u8"), 4).all()
    windows.add(1000, 100, "a")
    windows.add(1100, 50, "b")
    windows.add(1200, 0, "nothing")
    windows.add(1120, 60, "view")
    windows.add(1130, 10, "in it")
    windows.add(1000, 50, "smaller")
    assert windows.windows() == [
        (1000, 100, "a"), (1100, 50, "b"), (1120, 60, "view"), (1130, 10, "in it"),
    ]  # fmt: skip
    cases = [
        (1000, 4, True), (999, 4, False), (1096, 4, True), (1097, 4, False), (1100, 4, True), (1150, 4, True),
        (1176, 4, True), (1177, 4, False), (1200, 1, False), (0, 1, False), (1000, 100, True), (1000, 101, False),
    ]  # fmt: skip
    for address, size, inside in cases:
        outside = windows.outside(np.array([address], "u8"), size)
        assert (outside is None) == inside, address
    for size in (1, 4):
        addresses = [address for address, of, _ in cases if of == size]
        outside = windows.outside(np.array(addresses, "u8"), size)
        assert outside.tolist() == [not inside for _, of, inside in cases if of == size]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (990, "10 bytes before a of 100 bytes"), (1000, "inside a of 100 bytes"), (1099, "inside a of 100 bytes"),
        (1100, "at the end of a of 100 bytes"), (1101, "1 bytes behind a of 100 bytes"),
        (1999, "1 bytes before a window of 8 bytes"), (2009, "1 bytes behind a window of 8 bytes"),
    ],
)  # fmt: skip
def test_the_nearest_window(address, words):
    windows = memory.Memory()
    windows.add(1000, 100, "a")
    windows.add(2000, 8)
    assert windows.nearest(address) == words


@pytest.mark.parametrize(("address", "size"), [(-1, 4), (1 << 48, 1), ((1 << 48) - 4, 5)])
def test_what_no_process_can_have(address, size):
    with pytest.raises(ValueError, match="are no memory of a process"):
        memory.Memory().add(address, size)
    memory.Memory().add((1 << 48) - 4, 4)


@pytest.mark.parametrize("size", BY_BYTES)
def test_elements_behind_each_other(size):
    data = np.arange(64, dtype="u1")
    address = np.array([[data.ctypes.data, data.ctypes.data + 16]], "u8")
    dtype = BY_BYTES[size]
    values = memory.read(address, 2, dtype)
    for place, value in enumerate(values):
        for lane in range(2):
            start = 16 * lane + place * size
            assert value[0, lane].tobytes() == data[start : start + size].tobytes()
    memory.write(address[:, ::-1], values, dtype)
    swapped = np.arange(64, dtype="u1")
    swapped[: 2 * size], swapped[16 : 16 + 2 * size] = (
        np.arange(16, 16 + 2 * size),
        np.arange(2 * size),
    )
    if size < 16:
        assert (data == swapped).all()


def test_the_response_to_a_request_of_a_clusters_work():
    class Launch:
        grid = (5, 3, 2)
        left = [22]

        def cancel(self):
            return self.left.pop() if self.left else None

    machine = Machine()
    machine.launch = Launch()
    requests = cancels.Cancels(machine)
    given, none = (
        integers.quad(np.array([[requests._take()]]), np.array([[0]], "u8")) for _ in range(2)
    )
    assert requests.cancelled(given).all() and not requests.cancelled(none).any()
    # 22 is (2, 1, 1) of that grid.
    assert [int(each[0, 0]) for each in requests.first(given)] == [2, 1, 1, 0]


def test_several_watches_hear_what_they_know():
    heard = []

    class First(Watch):
        each_copy = True

        def finished(self, machine):
            heard.append(("first", machine))

    class Second(Watch):
        def finished(self, machine):
            heard.append(("second", machine))

        def group(self, machine, unit, mask):
            heard.append((unit, mask))

    alone = Second()
    assert several([None, alone]) is alone
    both = several([First(), None, Second()])
    both.finished(1)
    both.group(1, "bulk", 2)
    both.arrived(1, 2, 3, 4)
    assert heard == [("first", 1), ("second", 1), ("bulk", 2)]
    assert both.each_copy and not several([Second(), Second()]).each_copy


def test_the_text_of_a_fault():
    bare = errors.Fault("deadlock", "nothing moves")
    assert str(bare) == "deadlock: nothing moves" and bare.line is None
    full = errors.Fault(
        "misaligned", "load", space="shared", address=18, program_id=(1, 2, 3), thread=4,
        line=("k.py", 7), instruction="ld", nearest="of 64 bytes",
    )  # fmt: skip
    assert str(full) == (
        "misaligned: load, at shared address 0x12, of 64 bytes, program (1, 2, 3), thread 4, k.py:7, `ld`"
    )
    assert "at global address 0x0" in str(errors.Fault("x", "y", address=0))
    assert "(line 0 of the PTX)" in str(errors.Unsupported("ld", 0))
    assert str(errors.Unsupported("ld", why="new")).startswith(
        "the PTX machine does not know ld: new;"
    )


@pytest.mark.parametrize(
    ("name", "bits", "kind"),
    [
        ("pred", 1, "p"), ("b128", 128, "b"), ("u16x2", 32, "u16x2"), ("f64", 64, "f"), ("bf16", 16, "bf"),
        ("s8", 8, "s"), ("f32x2", 64, "f32x2"), ("tf32", 32, "tf32"),
    ],
)  # fmt: skip
def test_types(name, bits, kind):
    assert type_of(name) == (bits, kind) and is_type(name)
    assert not is_type(f"{name}x") and not is_type("u24")


@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_matrix_of_a_descriptor_lies_in_cores_of_eight_rows(span, transposed):
    """Its cores are 8 rows of 16 bytes; with a swizzle the bytes of a row are together."""
    rows, depth, size, leading, stride = 64, 16, 2, 4096, 1024
    table, pitch = offsets(rows, depth, size, transposed, leading, stride, span), span or 16
    for row, k in [(DRAW.randrange(rows), DRAW.randrange(depth)) for _ in range(60)] + [
        (8, 8),
        (63, 15),
    ]:
        if not transposed:
            expected = row % 8 * pitch + row // 8 * stride
            expected += k * size if span else k // 8 * leading + k % 8 * size
        elif span:
            expected = (
                row % (span // 2) * 2
                + row // (span // 2) * leading
                + k % 8 * span
                + k // 8 * stride
            )
        else:
            expected = row % 8 * 2 + row // 8 * stride + k % 8 * 16 + k // 8 * leading
        assert table[row, k] == expected


def test_a_swizzle_moves_sixteen_bytes_by_the_bits_of_the_address():
    address = np.array([0, 16, 128, 144, 256, 896, 1024, 1040])
    expected = {
        0: [0, 16, 128, 144, 256, 896, 1024, 1040],
        32: [0, 16, 144, 128, 256, 912, 1024, 1040],
        64: [0, 16, 144, 128, 288, 944, 1024, 1040],
        128: [0, 16, 144, 128, 288, 1008, 1024, 1040],
    }
    for span, moved in expected.items():
        assert swizzled(address, span).tolist() == moved
    # The pattern begins at the base.
    assert swizzled(address, 128, 1).tolist()[2] == 128


@pytest.mark.parametrize(
    ("factors", "result"),
    [
        ((2.0, 3.0, 4.0), "10.0"), ((2.0, 3.0, -6.0), "0.0"), ((-2.0, 3.0, 6.0), "0.0"), ((0.0, 3.0, 0.0), "0.0"),
        ((-0.0, 3.0, -0.0), "-0.0"), ((-0.0, 3.0, 0.0), "0.0"), ((1e-200, 1e-200, 0.0), "0.0"),
        ((1e-200, -1e-200, 0.0), "-0.0"), ((1e200, 1e200, 1.0), "inf"), ((1e200, -1e200, 1.0), "-inf"),
        ((1e16, 1.0, 1.0), "1e+16"), ((1e16, 1.0, 1.5), "1.0000000000000002e+16"),
        ((0.1, 10.0, -1.0), "5.551115123125783e-17"),
    ],
)  # fmt: skip
def test_a_product_and_a_sum_rounded_once(factors, result):
    assert repr(floats._fma_exact(*factors)) == result


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""), ({0: 4}, ""), ({0: 5}, "rank 6 and element type 6"), ({1: 99}, "rank 1 and element type 99"),
        ({0: 5, 1: 99}, "rank 6 and element type 99"), ({2: 1}, "interleaving"), ({3: 3}, ""), ({3: 4}, "swizzle"),
        ({2: 1, 3: 4}, "interleaving or an unknown swizzle"),
    ],
)  # fmt: skip
def test_a_tensor_map_that_the_machine_does_not_read(changes, words):
    """By byte: rank - 1, element type, interleaving, swizzle."""
    raw = bytearray(tensor_maps.tensor_map(0, "f16", (4,), (), (2,)))
    for place, value in changes.items():
        raw[place] = value
    if not words:
        assert tensor_maps._Map(bytes(raw)).rank == 1 + changes.get(0, 0)
        return
    with pytest.raises(errors.Unsupported, match=words):
        tensor_maps._Map(bytes(raw))


def test_windows_come_in_the_order_of_their_addresses():
    windows = memory.Memory()
    for address in (3000, 1000, 2000):
        windows.add(address, 8, str(address))
    assert [name for _, _, name in windows.windows()] == ["1000", "2000", "3000"]


def test_a_watch_is_heard_by_what_it_sets_on_itself():
    alone, other = Watch(), Watch()
    heard = []
    alone.finished = heard.append
    several([alone, other]).finished(7)
    assert heard == [7]


def shape(kind="f16", d=1, a=0, b=0, m=128, n=64, group=1, more=0):
    """A tcgen05 instruction descriptor by its fields."""
    scaled = kind.startswith("mx")
    raw = a << 7 | b << 10 | n >> 3 << 17 | more
    raw |= m >> 7 << 27 if scaled else d << 4 | m >> 4 << 24
    return descriptors.Shape(kind, raw, group)


@pytest.mark.parametrize(
    ("fields", "types", "rows", "depth"),
    [
        ({}, ("f16", "f16", "f32"), 128, 16), ({"d": 0, "a": 1, "b": 1}, ("bf16", "bf16", "f16"), 128, 16),
        ({"m": 64}, ("f16", "f16", "f32"), 64, 16), ({"m": 256, "group": 2}, ("f16", "f16", "f32"), 128, 16),
        ({"m": 128, "group": 2, "n": 256}, ("f16", "f16", "f32"), 64, 16),
        ({"kind": "tf32", "a": 2, "b": 2}, ("tf32", "tf32", "f32"), 128, 8),
        ({"kind": "f8f6f4", "a": 1, "b": 5}, ("e5m2", "e2m1", "f32"), 128, 32),
        ({"kind": "i8", "d": 2, "b": 1}, ("u8", "s8", "s32"), 128, 32),
        ({"kind": "mxf8f6f4", "b": 5}, ("e4m3", "e2m1", "f32"), 128, 32),
        ({"kind": "mxf4", "a": 1, "b": 1}, ("e2m1", "e2m1", "f32"), 128, 64),
    ],
)  # fmt: skip
def test_the_shape_of_a_product(fields, types, rows, depth):
    made = shape(**fields)
    assert ((made.a, made.b, made.d), made.m, made.depth) == (types, rows, depth)
    assert (made.n, made.dense_fp4) == (fields.get("n", 64), fields.get("kind") == "mxf4")
    assert (made.transposed, made.negated) == ((0, 0), False)
    for more, transposed, negated in ((1 << 13, (0, 0), True), (1 << 14, (0, 0), True), (3 << 13, (0, 0), False),
                                      (1 << 15, (1, 0), False), (1 << 16, (0, 1), False)):  # fmt: skip
        other = shape(**fields, more=more)
        assert (other.transposed, other.negated) == (transposed, negated)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"more": 1 << 2}, "sparse or saturates"), ({"more": 1 << 3}, "sparse or saturates"),
        ({"a": 2}, "of types 2 and 0"), ({"b": 2}, "of types 0 and 2"), ({"d": 2}, "with a result of type 2"),
        ({"kind": "i8", "d": 1}, "with a result of type 1"),
        ({"kind": "tf32", "a": 2, "b": 2, "d": 0}, "result of type 0"),
        ({"m": 32}, "of M 32 and N 64"), ({"m": 256}, "of M 256"), ({"m": 64, "group": 2}, "of M 64"),
        ({"n": 0}, "N 0"), ({"n": 264}, "N 264"), ({"kind": "mxf4", "a": 0, "b": 1}, "of types 0 and 1"),
    ],
)  # fmt: skip
def test_shapes_that_no_product_has(fields, words):
    with pytest.raises(errors.Unsupported, match=words):
        shape(**fields)


@pytest.mark.parametrize(
    ("more", "ids", "kind"),
    [(0, (0, 0), "ue4m3"), (1 << 23, (0, 0), "ue8m0"), (1 << 29, (1, 0), "ue4m3"), (2 << 4, (0, 2), "ue4m3")],
)  # fmt: skip
def test_the_factors_of_a_scaled_product(more, ids, kind):
    made = shape("mxf4nvf4", a=1, b=1, more=more)
    assert (made.scale_ids, made.scale_kind) == (ids, kind)
    plain = shape(more=1 << 23)
    assert (plain.scale_ids, plain.scale_kind) == ((0, 0), "")


def test_a_matrix_that_no_descriptor_can_say():
    made = descriptors.Descriptor(3 << 16 | 5 << 32 | 6 << 49 | 2 << 61)
    assert (made.leading, made.stride, made.base, made.span) == (48, 80, 6, descriptors._SPANS[2])
    for raw, words in ((7 << 61, "swizzle mode 7"), (1 << 52, "absolute stride")):
        with pytest.raises(errors.Unsupported, match=words):
            descriptors.Descriptor(raw)


def test_a_table_of_three_operands_that_gives_nothing():
    ones = np.full((1, 4), 0xFFFFFFFF, "u4")
    made = integers.lop3(ones, ones, ones, 0)
    assert made.shape == (1, 1) and not made.any()
