"""From which lane each lane reads: tables of DPP and of LDS swizzles."""

import re

import numpy as np

from .errors import Unknown

DPP = ("quad_perm", "dpp8", "row_shr", "row_shl", "row_ror", "row_mirror", "row_half_mirror", "row_bcast",
       "row_newbcast", "row_share", "row_xmask", "wave_shr", "wave_shl", "wave_ror", "wave_rol")  # fmt: skip


def dpp(key, value, lanes):
    """(the lane that each lane reads from, whether there is one), of a modifier of DPP and its value."""
    lane = np.arange(lanes)
    row, place = lane // 16 * 16, lane % 16
    valid = np.ones(lanes, bool)
    number = int(value, 0) if re.fullmatch(r"-?(0x)?[0-9a-fA-F]+", value or "") else 0
    if key == "quad_perm":
        order = np.array([int(part) for part in value.strip("[]").split(",")])
        return lane // 4 * 4 + order[lane % 4], valid
    if key == "dpp8":
        order = np.array([int(part) for part in value.strip("[]").split(",")])
        return lane // 8 * 8 + order[lane % 8], valid
    if key == "row_shr":
        return row + (place - number) % 16, place >= number
    if key == "row_shl":
        return row + (place + number) % 16, place + number < 16
    if key == "row_ror":
        return row + (place - number) % 16, valid
    if key == "row_mirror":
        return row + 15 - place, valid
    if key == "row_half_mirror":
        return lane // 8 * 8 + 7 - lane % 8, valid
    if key == "row_bcast":
        if number == 15:
            return np.maximum(row - 1, 0), row > 0
        return np.full(lanes, 31), lane >= 32
    if key in ("row_newbcast", "row_share"):
        return row + number, valid
    if key == "row_xmask":
        return row + (place ^ number), valid
    if key == "wave_shr":
        return np.maximum(lane - 1, 0), lane > 0
    if key == "wave_shl":
        return np.minimum(lane + 1, lanes - 1), lane < lanes - 1
    if key == "wave_ror":
        return (lane - 1) % lanes, valid
    if key == "wave_rol":
        return (lane + 1) % lanes, valid
    raise Unknown(f"the DPP modifier {key}")


def swizzle(text, lanes):
    """The lane that each lane reads from, of the offset of ds_swizzle_b32."""
    lane = np.arange(lanes)
    in32, base = lane % 32, lane // 32 * 32
    if text[:1].isdigit():
        code = int(text, 0)
        if code & 0x8000:
            order = [(code >> shift) & 3 for shift in (0, 2, 4, 6)]
            return base + in32 // 4 * 4 + np.array(order)[in32 % 4]
        return base + (((in32 & (code & 31)) | (code >> 5 & 31)) ^ (code >> 10 & 31))
    kind, *rest = [part.strip().strip('"') for part in text.split(",")]
    if kind == "QUAD_PERM":
        return base + in32 // 4 * 4 + np.array([int(part) for part in rest])[in32 % 4]
    if kind == "SWAP":
        return base + (in32 ^ int(rest[0]))
    if kind == "REVERSE":
        return base + (in32 ^ (int(rest[0]) - 1))
    if kind == "BROADCAST":
        size, which = int(rest[0]), int(rest[1])
        return base + in32 // size * size + which
    if kind == "BITMASK_PERM":
        source = np.zeros(lanes, np.int64)
        for place, letter in enumerate(reversed(rest[0])):
            bit = (in32 >> place) & 1
            bit = {"0": 0 * bit, "1": 0 * bit + 1, "p": bit, "i": 1 - bit}[letter]
            source |= bit << place
        return base + source
    raise Unknown(f"the swizzle {text}")
