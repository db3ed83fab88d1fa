"""Miscompilations that are planted in AMD's assembly of this column: each changes one line, and must be seen."""

import re
from dataclasses import replace

import emulate_kernels
import pytest
import targets
import torch
from test_emulate import machine

from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.judging.verdict import of_error
from crosswarp.matrix.cell.standins.virtual_gpu import launching

pytestmark = pytest.mark.triton(">=3.0")

# Name -> (the line, by a pattern; its replacement; which match, from the end if negative).
PLANTS = {
    "operands of a subtraction": (r"^\tv_sub_f32_e32 (v\d+), (v\d+), (v\d+)$", r"\tv_sub_f32_e32 \1, \3, \2", 0),
    "operands of a product": (r"^\t(v_mfma_\w+) (\S+), (\S+), (\S+), (\S+)", r"\t\1 \2, \4, \3, \5", 0),
    "a lost accumulator": (r"^\t(v_mfma_\w+) (\S+), (\S+), (\S+), (\[?[av]\S+)$", r"\t\1 \2, \3, \4, 0", -1),
    "another distance of DPP": (r"row_shr:8", r"row_shr:7", 0),
    "another place in LDS": (r"^(\tds_(?:read|write)\w* [^\n]*?)(?: offset:\d+)?$", r"\1 offset:132", 0),
    "a wait for LDS": (r"^\ts_waitcnt lgkmcnt\(0\)$", r"\ts_nop 0", -1),
    "a wait for memory": (r"^\ts_waitcnt vmcnt\(0\)$", r"\ts_nop 0", 0),
    "another address": (r"^\tv_lshlrev_b32_e32 (v\d+), 2, (v\d+)$", r"\tv_lshlrev_b32_e32 \1, 3, \2", 0),
    "another factor": (r"0x3fb8aa3b", r"0x3fb0aa3b", 0),
    "an addend": (r"^\tv_add_f32_e32 (v\d+), (v\d+), (v\d+)$", r"\tv_add_f32_e32 \1, \2, \2", 0),
}  # fmt: skip


def planted(text, pattern, replacement, which):
    """The text with one match changed; the same text where nothing matches."""
    code, mark, rest = text.partition("\t.section\t.rodata")
    found = list(re.finditer(pattern, code, re.M))
    if not found:
        return text
    match = found[which]
    return code[: match.start()] + match.expand(replacement) + code[match.end() :] + mark + rest


def test_planted_miscompilations_are_seen(in_fork):
    def run():
        machine(targets.GFX942)
        handed = []
        launching.run_with(handed.append)
        a, b = torch.randn(32, 32).half(), torch.randn(32, 32).half()
        y, total = torch.zeros(32, 32), torch.zeros(1)
        emulate_kernels.scores[(1,)](a, b, y, total, SIZE=32)
        launch = handed[0]
        expected = torch.softmax(a.float() @ b.float(), 1)

        def outcome(text):
            y.fill_(float("nan"))
            total.zero_()
            try:
                emulate.Machine(100)(replace(launch, function=replace(launch.function, text=text)))
            except RuntimeError as error:
                return of_error(error).outcome
            small = expected[expected < 0.5].sum()
            right = torch.allclose(y, expected, atol=1e-5) and torch.allclose(
                total, small, atol=1e-3
            )
            return "right" if right else "other numbers"

        found = {"nothing": outcome(launch.function.text)}
        for name, plant in PLANTS.items():
            text = planted(launch.function.text, *plant)
            if text != launch.function.text:
                found[name] = outcome(text)
        return found

    found = in_fork(run)
    assert found.pop("nothing") == "right"
    unseen = [name for name, outcome in found.items() if outcome not in ("other numbers", "crash")]
    assert len(found) >= 7 and unseen == [], found
