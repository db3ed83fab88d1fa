"""Floats of vectors.

Rows: kind of the result, kinds of the sources, expression.
"""

from ..lowering import handles
from ..sources import arithmetic, finish, sources

arithmetic(
    {
        "v_add_f32": ("f32", "f32 f32", "{a} + {b}"),
        "v_sub_f32": ("f32", "f32 f32", "{a} - {b}"),
        "v_subrev_f32": ("f32", "f32 f32", "{b} - {a}"),
        "v_mul_f32": ("f32", "f32 f32", "{a} * {b}"),
        "v_mul_legacy_f32": (
            "f32",
            "f32 f32",
            "np.where(({a} == 0) | ({b} == 0), f4(0), {a} * {b})",
        ),
        "v_mul_dx9_zero_f32": (
            "f32",
            "f32 f32",
            "np.where(({a} == 0) | ({b} == 0), f4(0), {a} * {b})",
        ),
        "v_fma_f32": ("f32", "f32 f32 f32", "floats.fma32({a}, {b}, {c})"),
        "v_max_f32": ("f32", "f32 f32", "floats.maximum({a}, {b})"),
        "v_min_f32": ("f32", "f32 f32", "floats.minimum({a}, {b})"),
        "v_max3_f32": ("f32", "f32 f32 f32", "floats.maximum(floats.maximum({a}, {b}), {c})"),
        "v_min3_f32": ("f32", "f32 f32 f32", "floats.minimum(floats.minimum({a}, {b}), {c})"),
        "v_med3_f32": ("f32", "f32 f32 f32", "floats.med3({a}, {b}, {c})"),
        "v_maximum_f32": ("f32", "f32 f32", "np.maximum({a}, {b})"),
        "v_minimum_f32": ("f32", "f32 f32", "np.minimum({a}, {b})"),
        "v_maximum3_f32": ("f32", "f32 f32 f32", "np.maximum(np.maximum({a}, {b}), {c})"),
        "v_minimum3_f32": ("f32", "f32 f32 f32", "np.minimum(np.minimum({a}, {b}), {c})"),
        "v_maximumminimum_f32": ("f32", "f32 f32 f32", "np.minimum(np.maximum({a}, {b}), {c})"),
        "v_minimummaximum_f32": ("f32", "f32 f32 f32", "np.maximum(np.minimum({a}, {b}), {c})"),
        "v_minmax_num_f32": ("f32", "f32 f32 f32", "floats.maximum(floats.minimum({a}, {b}), {c})"),
        "v_maxmin_num_f32": ("f32", "f32 f32 f32", "floats.minimum(floats.maximum({a}, {b}), {c})"),
        "v_exp_f32": ("f32", "f32", "floats.exp2_32({a})"),
        "v_log_f32": ("f32", "f32", "floats.log2_32({a})"),
        "v_rcp_f32": ("f32", "f32", "floats.rcp_32({a})"),
        "v_rcp_iflag_f32": ("f32", "f32", "floats.rcp_32({a})"),
        "v_rsq_f32": ("f32", "f32", "floats.rsq_32({a})"),
        "v_sqrt_f32": ("f32", "f32", "floats.sqrt_32({a})"),
        "v_sin_f32": ("f32", "f32", "floats.sin_turns({a})"),
        "v_cos_f32": ("f32", "f32", "floats.cos_turns({a})"),
        "v_floor_f32": ("f32", "f32", "np.floor({a})"),
        "v_ceil_f32": ("f32", "f32", "np.ceil({a})"),
        "v_trunc_f32": ("f32", "f32", "np.trunc({a})"),
        "v_rndne_f32": ("f32", "f32", "np.rint({a})"),
        "v_fract_f32": ("f32", "f32", "np.minimum({a} - np.floor({a}), f4(0.99999994))"),
        "v_ldexp_f32": ("f32", "f32 i32", "floats.ldexp({a}, {b})"),
        "v_frexp_mant_f32": ("f32", "f32", "floats.frexp_mantissa({a})"),
        "v_frexp_exp_i32_f32": ("i32", "f32", "floats.frexp_exponent({a})"),
        "v_frexp_mant_f64": ("f64", "f64", "floats.frexp_mantissa({a})"),
        "v_frexp_exp_i32_f64": ("i32", "f64", "floats.frexp_exponent({a})"),
        "v_div_fixup_f32": ("f32", "f32 f32 f32", "division.div_fixup32({a}, {b}, {c})"),
        "v_div_fmas_f32": ("f32", "f32 f32 f32", "division.div_fmas32({a}, {b}, {c}, S.mask(106))"),
        "v_add_f16": ("f16", "f16 f16", "{a} + {b}"),
        "v_sub_f16": ("f16", "f16 f16", "{a} - {b}"),
        "v_subrev_f16": ("f16", "f16 f16", "{b} - {a}"),
        "v_mul_f16": ("f16", "f16 f16", "{a} * {b}"),
        "v_fma_f16": ("f16", "f16 f16 f16", "floats.fma16({a}, {b}, {c})"),
        "v_max_f16": ("f16", "f16 f16", "floats.maximum({a}, {b})"),
        "v_min_f16": ("f16", "f16 f16", "floats.minimum({a}, {b})"),
        "v_max3_f16": ("f16", "f16 f16 f16", "floats.maximum(floats.maximum({a}, {b}), {c})"),
        "v_exp_f16": ("f16", "f16", "np.exp2({a}.astype(f8)).astype(f2)"),
        "v_log_f16": ("f16", "f16", "np.log2({a}.astype(f8)).astype(f2)"),
        "v_rcp_f16": ("f16", "f16", "(1.0 / {a}.astype(f8)).astype(f2)"),
        "v_sqrt_f16": ("f16", "f16", "np.sqrt({a}.astype(f8)).astype(f2)"),
        "v_rsq_f16": ("f16", "f16", "(1.0 / np.sqrt({a}.astype(f8))).astype(f2)"),
        "v_min3_f16": ("f16", "f16 f16 f16", "floats.minimum(floats.minimum({a}, {b}), {c})"),
        "v_med3_f16": ("f16", "f16 f16 f16", "floats.med3({a}, {b}, {c})"),
        "v_maximum_f16": ("f16", "f16 f16", "np.maximum({a}, {b})"),
        "v_minimum_f16": ("f16", "f16 f16", "np.minimum({a}, {b})"),
        "v_maximum3_f16": ("f16", "f16 f16 f16", "np.maximum(np.maximum({a}, {b}), {c})"),
        "v_minimum3_f16": ("f16", "f16 f16 f16", "np.minimum(np.minimum({a}, {b}), {c})"),
        "v_minmax_num_f16": ("f16", "f16 f16 f16", "floats.maximum(floats.minimum({a}, {b}), {c})"),
        "v_maxmin_num_f16": ("f16", "f16 f16 f16", "floats.minimum(floats.maximum({a}, {b}), {c})"),
        "v_mad_f16": ("f16", "f16 f16 f16", "{a} * {b} + {c}"),
        "v_sin_f16": ("f16", "f16", "floats.sin_turns({a})"),
        "v_cos_f16": ("f16", "f16", "floats.cos_turns({a})"),
        "v_ceil_f16": ("f16", "f16", "np.ceil({a})"),
        "v_fract_f16": ("f16", "f16", "np.minimum({a} - np.floor({a}), f2(0.9995))"),
        "v_frexp_mant_f16": ("f16", "f16", "floats.frexp_mantissa({a})"),
        "v_frexp_exp_i16_f16": ("i16", "f16", "floats.frexp_exponent({a}).astype(i2)"),
        "v_floor_f16": ("f16", "f16", "np.floor({a})"),
        "v_trunc_f16": ("f16", "f16", "np.trunc({a})"),
        "v_rndne_f16": ("f16", "f16", "np.rint({a})"),
        "v_ldexp_f16": ("f16", "f16 i16", "floats.ldexp({a}, {b})"),
        "v_div_fixup_f16": ("f16", "f16 f16 f16", "division.div_fixup16({a}, {b}, {c})"),
        "v_add_f64": ("f64", "f64 f64", "{a} + {b}"),
        "v_mul_f64": ("f64", "f64 f64", "{a} * {b}"),
        "v_fma_f64": ("f64", "f64 f64 f64", "floats.fma64({a}, {b}, {c})"),
        "v_max_f64": ("f64", "f64 f64", "floats.maximum({a}, {b})"),
        "v_min_f64": ("f64", "f64 f64", "floats.minimum({a}, {b})"),
        "v_rcp_f64": ("f64", "f64", "1.0 / {a}"),
        "v_rsq_f64": ("f64", "f64", "1.0 / np.sqrt({a})"),
        "v_sqrt_f64": ("f64", "f64", "np.sqrt({a})"),
        "v_maximum_f64": ("f64", "f64 f64", "np.maximum({a}, {b})"),
        "v_minimum_f64": ("f64", "f64 f64", "np.minimum({a}, {b})"),
        "v_div_fixup_f64": ("f64", "f64 f64 f64", "division.div_fixup64({a}, {b}, {c})"),
        "v_div_fmas_f64": ("f64", "f64 f64 f64", "division.div_fmas64({a}, {b}, {c}, S.mask(106))"),
        "v_floor_f64": ("f64", "f64", "np.floor({a})"),
        "v_ceil_f64": ("f64", "f64", "np.ceil({a})"),
        "v_trunc_f64": ("f64", "f64", "np.trunc({a})"),
        "v_rndne_f64": ("f64", "f64", "np.rint({a})"),
        "v_ldexp_f64": ("f64", "f64 i32", "floats.ldexp({a}, {b})"),
        "v_fract_f64": ("f64", "f64", "{a} - np.floor({a})"),
    }  # fmt: skip
)


@handles("v_fmac_f32", "v_mac_f32", "v_fmac_f16", "v_fmac_f64")
def _fmac(low, name, instruction):
    kind = f"f{name[-2:]}"
    (a, b), e = sources(low, instruction, [kind, kind], instruction.operands[1:])
    c = low.read(instruction.operands[0], kind, plain=True)
    finish(
        low,
        instruction,
        instruction.operands[0],
        f"floats.fma{kind[1:]}({a}, {b}, {c})",
        kind,
        e,
        2,
    )


@handles("v_fmamk_f32", "v_fmaak_f32", "v_fmamk_f16", "v_fmaak_f16", "v_madak_f32", "v_madmk_f32")
def _fmak(low, name, instruction):
    kind = f"f{name[-2:]}"
    d, a, b, c = instruction.operands
    values = [low.read(operand, kind) for operand in (a, b, c)]
    low.write(d, f"floats.fma{kind[1:]}({', '.join(values)})", kind)


@handles("v_div_scale_f32", "v_div_scale_f64")
def _div_scale(low, name, instruction):
    d, out, *operands = instruction.operands
    kind = name[-3:]
    arguments = ", ".join(low.read(operand, kind) for operand in operands)
    pair = low.temporary(f"division.div_scale{kind[1:]}({arguments})")
    low.write(d, f"{pair}[0]", kind)
    low.write_mask(out, f"S.whole({pair}[1]) if e is None else {pair}[1] & e")
