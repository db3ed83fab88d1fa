"""Miscompilations to plant in AMD's assembly: each kind changes one line into what a compiler's bug could leave."""

import re
from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of miscompilation.

    Attributes:
        group: what the bug would be about.
        pattern: finds the lines that it can change.
        instead: the template of the new line.
    """

    group: str
    pattern: str
    instead: str


KINDS = {
    "swapped operands of a subtraction": Kind(
        "operands", r"^\tv_sub_f32_e32 (v\d+), (v\d+), (v\d+)$", r"\tv_sub_f32_e32 \1, \3, \2"),
    "swapped operands of a matrix product": Kind(
        "operands", r"^\t(v_mfma_\w+) (\S+), (\S+), (\S+), (\S+)", r"\t\1 \2, \4, \3, \5"),
    "a factor in place of its neighbour": Kind(
        "operands", r"^\tv_mul_f32_e32 (v\d+), (v\d+), (v\d+)$", r"\tv_mul_f32_e32 \1, \2, \2"),
    "another shift of an address": Kind(
        "operands", r"^\tv_lshlrev_b32_e32 (v\d+), 2, (v\d+)$", r"\tv_lshlrev_b32_e32 \1, 3, \2"),
    "EXEC not narrowed": Kind(
        "EXEC", r"^\ts_and_saveexec_b64 (s\[\d+:\d+\]), \S+$", r"\ts_mov_b64 \1, exec"),
    "EXEC not restored": Kind("EXEC", r"^\ts_or_b64 exec, exec, (\S+)$", r"\ts_nop 0"),
    "a comparison that takes one more": Kind(
        "masks", r"^\tv_cmp_(gt|lt)_(i32|u32|i64)_e(32|64) ([^\n]*)$", None),
    "a selection that always takes the second": Kind(
        "masks", r"^\tv_cndmask_b32_e(?:32|64) (v\d+), [^,\n]+, (v\d+), \S+$", r"\tv_mov_b32_e32 \1, \2"),
    "another place of a store to LDS": Kind(
        "LDS offsets", r"^(\tds_write_b\w* [^\n]*?)(?: offset:\d+)?$", r"\1 offset:132"),
    "another place of a load from LDS": Kind(
        "LDS offsets", r"^(\tds_read_b\w* [^\n]*?)(?: offset:\d+)?$", r"\1 offset:68"),
    "a product that forgets its accumulator": Kind(
        "accumulators", r"^\t(v_mfma_\w+) (\S+), (\S+), (\S+), (\[?[av]\S+)$", r"\t\1 \2, \3, \4, 0"),
    "an accumulator that is not read": Kind(
        "accumulators", r"^\tv_(?:fmac|pk_fma)_f32\w* (v\d+), (v\d+), (v\d+)$", r"\tv_mul_f32_e32 \1, \2, \3"),
    "a term of a sum taken twice": Kind(
        "accumulators", r"^\tv_add_f32_e32 (v\d+), (v\d+), (v\d+)$", r"\tv_add_f32_e32 \1, \2, \2"),
    "another distance of DPP": Kind("DPP", r"row_shr:(?:8|4)\b", r"row_shr:1"),
    "another permutation by DPP": Kind(
        "DPP", r"(?:quad_perm:\[1,0,3,2\]|quad_perm:\[2,3,0,1\]|row_half_mirror|row_bcast:15)", r"quad_perm:[0,1,2,3]"),
    "no wait for memory": Kind("waits", r"^\ts_waitcnt vmcnt\(\d+\)$", r"\ts_nop 0"),
    "no wait for LDS or scalars": Kind("waits", r"^\ts_waitcnt lgkmcnt\(\d+\)$", r"\ts_nop 0"),
    "no barrier": Kind("barriers", r"^\ts_barrier$", r"\ts_nop 0"),
}  # fmt: skip
_OR_EQUAL = {"gt": "ge", "lt": "le"}


def places(text, kind):
    """How many lines a kind can change in an assembly text."""
    return len(_found(text, kind))


def planted(text, kind, place):
    """The text with one line changed, and that line before."""
    match = _found(text, kind)[place]
    if kind.instead is None:
        how, *rest = match.groups()
        instead = f"\tv_cmp_{_OR_EQUAL[how]}_{rest[0]}_e{rest[1]} {rest[2]}"
    else:
        instead = match.expand(kind.instead)
    begin, end = text.rfind("\n", 0, match.start() + 1) + 1, text.find("\n", match.end())
    return text[: match.start()] + instead + text[match.end() :], text[begin:end].strip()


def _found(text, kind):
    code = text.partition("\t.section\t.rodata")[0]
    return list(re.finditer(kind.pattern, code, re.M))
