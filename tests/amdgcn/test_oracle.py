"""Instructions of one expression beside AMD's own pseudo-code; `python tests/amdgcn/oracle.py` takes more inputs."""

import random
import re

import oracle
import pytest

# Opcodes whose text and emulator differ, and why.
DIFFERENT = {
    "v_cvt_pkrtz_f16_f32": "which NaN of a signalling one", "v_cvt_pk_f16_f32": "which NaN of a signalling one",
    "s_cvt_pk_rtz_f16_f32": "which NaN of a signalling one",
    "v_rndne_f32": "the text loses the sign of zero", "v_rndne_f64": "the text loses the sign of zero",
    "v_rndne_f16": "the text loses the sign of zero", "s_rndne_f32": "the text loses the sign of zero",
    "s_rndne_f16": "the text loses the sign of zero",
    "v_fract_f32": "1.0 by the text, of a small negative number",
    "v_fract_f16": "1.0 by the text, of a small negative number",
    "v_frexp_mant_f32": "-0.5 for -0 by the text", "v_frexp_mant_f16": "-0.5 for -0 by the text",
    "v_frexp_exp_i32_f32": "the text leaves denormal numbers as they are",
    "v_frexp_exp_i32_f64": "the text leaves denormal numbers as they are",
    "v_frexp_exp_i16_f16": "the text leaves denormal numbers as they are",
    "v_frexp_mant_f64": "the text leaves denormal numbers as they are",
    "v_div_fixup_f32": "rows run on RDNA3 are followed", "v_div_fixup_f64": "rows run on RDNA3 are followed",
    "v_ldexp_f16": "the text rounds the power of two first",
}  # fmt: skip
# Generation -> opcodes that agree, at least.
AGREE = {"cdna": 207, "rdna3": 238, "rdna4": 257}


@pytest.mark.parametrize("generation", AGREE)
def test_instructions_agree_with_the_text_of_amd(generation):
    found = oracle.swept(generation, samples=oracle.GENERATIONS[generation][1])
    different = {name: first for name, (tally, first) in found.items() if tally["different"]}
    assert set(different) <= set(DIFFERENT), different
    agree = [name for name, (tally, _) in found.items() if not tally["different"]]
    assert len(agree) >= AGREE[generation]


def test_an_error_would_be_seen():
    codes = oracle.texts("cdna")
    codes["v_lshrrev_b32"] = codes["v_ashrrev_i32"]
    tally, first = oracle.vector(
        "v_lshrrev_b32", ["u32", "u32"], "u32", codes, "gfx942", random.Random(1), 64, samples=64
    )
    assert tally["different"] and "the text says" in first


COMPARISONS = sorted(
    name
    for name in oracle.texts("cdna")
    if re.fullmatch(r"v_cmp_[a-z]+_[iuf](16|32|64)", name) and "class" not in name
)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_agree_with_the_text_of_amd(name):
    kind = name.rpartition("_")[2]
    codes = oracle.texts("cdna")
    tally, first = oracle.vector(
        name, [kind, kind], None, codes, "gfx942", random.Random(name), 64, samples=64, mask=True
    )
    assert tally == {"same": 64}, first


@pytest.mark.parametrize("generation, target", [("rdna3", "gfx1100"), ("rdna4", "gfx1201")])
def test_a_dot_product_of_bfloat16_agrees_with_the_text_of_amd(generation, target):
    name, kinds = "v_dot2_bf16_bf16", ["u32", "u32", "u16"]
    codes = oracle.texts(generation)
    tally, first = oracle.vector(
        name, kinds, "bf16", codes, target, random.Random(name), 32, samples=256
    )
    assert tally["same"] > 128 and not tally["different"], first
