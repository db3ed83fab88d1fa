"""shfl, vote, match, redux, elect: whole warps, each lane against the ISA's pseudo-code."""

import math

import numpy as np
import pytest
from running import Row, check

_LANES = np.arange(64, dtype=np.uint32)
_VALUES = (_LANES.astype(np.uint64) * 2654435761 % 2**32).astype(np.uint32)
ROWS = []


def _shuffled(mode, value, distance, clamp):
    """The ISA's pseudo-code for one warp; `value` and `distance` by lane."""
    segment, bound = clamp >> 8 & 31, clamp & 31
    found, inside = [], []
    for lane in range(32):
        last = (lane & segment) | (bound & ~segment)
        first = lane & segment
        b = int(distance[lane]) & 31
        if mode == "up":
            source, ok = lane - b, lane - b >= last
        elif mode == "down":
            source, ok = lane + b, lane + b <= last
        elif mode == "bfly":
            source, ok = lane ^ b, (lane ^ b) <= last
        else:
            source = first | (b & ~segment)
            ok = source <= last
        found.append(value[source] if ok else value[lane])
        inside.append(int(ok))
    return found, inside


def shuffles():
    random = np.random.default_rng(1)
    for mode in ("up", "down", "bfly", "idx"):
        for distance in (0, 1, 3, 16, 31):
            for clamp in (0x0, 0x1F, 0x1C1F, 0x181F, 0x1800):
                both = [
                    _shuffled(mode, _VALUES[w : w + 32], [distance] * 32, clamp) for w in (0, 32)
                ]
                body = (f"shfl.sync.{mode}.b32 %x|%p, %a, {distance}, {clamp:#x}, -1;\n"
                        "selp.u32 %y, 1, 0, %p;")  # fmt: skip
                expected = [
                    np.array(sum((part[n] for part in both), []), np.uint32) for n in range(2)
                ]
                ROWS.append(Row(f"shfl.{mode} {distance} {clamp:#x}", body, [_VALUES], expected))
        by_lane = random.integers(0, 32, 64).astype(np.uint32)
        both = [
            _shuffled(mode, _VALUES[w : w + 32], by_lane[w : w + 32], 0x1F if mode != "up" else 0)
            for w in (0, 32)
        ]
        body = f"shfl.sync.{mode}.b32 %x, %a, %b, {0x1F if mode != 'up' else 0}, -1;"
        ROWS.append(
            Row(
                f"shfl.{mode} by lane",
                body,
                [_VALUES, by_lane],
                [np.array(sum((b[0] for b in both), []), np.uint32)],
            )
        )


def votes():
    some = (_LANES % 3 == 0).astype(np.uint32)
    for name, test in (
        ("mixed", some),
        ("all", np.ones(64, np.uint32)),
        ("none", np.zeros(64, np.uint32)),
    ):
        warps = [test[:32], test[32:]]
        ballots = np.repeat([sum(int(v) << i for i, v in enumerate(w)) for w in warps], 32).astype(
            np.uint32
        )
        ask = "setp.ne.u32 %p, %a, 0;\n"
        ROWS.append(
            Row(f"vote.ballot {name}", ask + "vote.sync.ballot.b32 %x, %p, -1;", [test], [ballots])
        )
        ROWS.append(
            Row(
                f"vote.ballot not {name}",
                ask + "vote.sync.ballot.b32 %x, !%p, -1;",
                [test],
                [~ballots],
            )
        )
        for mode, function in (("any", any), ("all", all), ("uni", lambda w: len(set(w)) == 1)):
            found = np.repeat([int(function([int(v) for v in w])) for w in warps], 32).astype(
                np.uint32
            )
            body = ask + f"vote.sync.{mode}.pred %q, %p, -1;\nselp.u32 %x, 1, 0, %q;"
            ROWS.append(Row(f"vote.{mode} {name}", body, [test], [found]))


def reductions():
    functions = {"add": sum, "min": min, "max": max}
    for mode, function in functions.items():
        for kind in "us":
            own = _VALUES.view(np.int32) if kind == "s" else _VALUES
            found = [function([int(v) for v in own[w : w + 32]]) % 2**32 for w in (0, 32)]
            body = f"redux.sync.{mode}.{kind}32 %x, %a, -1;"
            ROWS.append(Row(body[:-8], body, [_VALUES], [np.repeat(found, 32).astype(np.uint32)]))
    for mode, ufunc in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
        some = _VALUES | np.uint32(0x10) if mode == "and" else _VALUES & np.uint32(0xFF0F)
        found = [ufunc.reduce(some[w : w + 32]) for w in (0, 32)]
        ROWS.append(Row(f"redux.{mode}", f"redux.sync.{mode}.b32 %x, %a, -1;", [some],
                        [np.repeat(found, 32).astype(np.uint32)]))  # fmt: skip


def float_reductions():
    """NaN loses, or wins with .NaN; -0 lies below +0; .abs takes sizes."""
    numbers = np.linspace(-3, 4, 64).astype(np.float32)
    special = numbers.copy()
    special[[3, 9, 40]] = np.nan, np.inf, -np.inf
    zeros = np.where(np.arange(64) % 3 == 0, np.float32(-0.0), np.float32(0.0))
    nothing = np.full(64, np.nan, np.float32)
    for name, values in (
        ("", numbers),
        (" special", special),
        (" zeros", zeros),
        (" nan", nothing),
    ):
        for mode, function in (("min", min), ("max", max)):
            for more in ("", ".NaN", ".abs", ".abs.NaN"):
                found = []
                for warp in values.reshape(2, 32):
                    numbered = [abs(float(x)) if "abs" in more else float(x) for x in warp]
                    known = [x for x in numbered if x == x]
                    if not known or "NaN" in more and len(known) < 32:
                        found.append(np.nan)
                    else:
                        found.append(function(known, key=lambda x: (x, math.copysign(1, x))))
                raw = np.repeat(np.array(found, np.float32), 32)
                raw = np.where(np.isnan(raw), np.uint32(0x7FFFFFFF), raw.view(np.uint32))
                body = f"redux.sync.{mode}{more}.f32 %x, %a, -1;"
                ROWS.append(Row(f"redux.{mode}{more}.f32{name}", body, [values.view(np.uint32)], [raw],
                                target="sm_100a", version="8.6"))  # fmt: skip


def others():
    some = (_LANES * 7 % 5).astype(np.uint32)
    same = [
        [sum(1 << j for j in range(32) if some[w + j] == some[w + i]) for i in range(32)]
        for w in (0, 32)
    ]
    ROWS.append(
        Row(
            "match.any",
            "match.any.sync.b32 %x, %a, -1;",
            [some],
            [np.array(sum(same, []), np.uint32)],
        )
    )
    body = "elect.sync %r1|%p, -1;\nselp.u32 %x, 1, 0, %p;\nmov.u32 %y, %r1;"
    ROWS.append(Row("elect", body, [some], [(_LANES % 32 == 0).astype(np.uint32), np.zeros(64, np.uint32)],
                    target="sm_90"))  # fmt: skip
    lane = _LANES % 32
    body = (
        "mov.u32 %r1, %laneid;\nsetp.ge.u32 %q, %r1, 5;\nsetp.ne.u32 %p, %r1, %r1;\n"
        "@%q elect.sync %r1|%p, 0xffffffe0;\nselp.u32 %x, 1, 0, %p;\nmov.u32 %y, %r1;"
    )
    leaders = [(lane == 5).astype(np.uint32), np.minimum(lane, 5).astype(np.uint32)]
    ROWS.append(Row("elect of some", body, [some], leaders, target="sm_90"))
    body = "mov.u32 %x, %laneid;\nmov.u32 %y, %lanemask_lt;\nmov.u32 %z, %lanemask_ge;"
    lower = ((1 << lane.astype(np.uint64)) - 1).astype(np.uint32)
    ROWS.append(Row("lane registers", body, [some], [lane, lower, ~lower]))


shuffles()
votes()
reductions()
float_reductions()
others()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_warps(row):
    check(row)
