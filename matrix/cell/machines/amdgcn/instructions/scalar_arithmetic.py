"""Arithmetic and comparisons of scalars.

Rows: kind of the result, kinds of the sources, expression, SCC (None where it stays).
"""

from ..lowering import handles

_NZ = "({t} != 0)"
# A half in the lower bits of a register.
_HALF = "({}).view(u2).astype(u4)"
_TABLE = {
    "s_add_u32": ("u32", "u32 u32", "{a} + {b}", "({t} < {a})"),
    "s_sub_u32": ("u32", "u32 u32", "{a} - {b}", "({a} < {b})"),
    "s_add_i32": ("i32", "i32 i32", "{a} + {b}", "((~({a} ^ {b}) & ({a} ^ {t})) < 0)"),
    "s_sub_i32": ("i32", "i32 i32", "{a} - {b}", "((({a} ^ {b}) & ({a} ^ {t})) < 0)"),
    "s_mul_i32": ("i32", "i32 i32", "{a} * {b}", None),
    "s_mul_hi_u32": ("u32", "u32 u32", "(({a}.astype(u8) * {b}.astype(u8)) >> u8(32)).astype(u4)", None),
    "s_mul_hi_i32": ("i32", "i32 i32", "(({a}.astype(i8) * {b}.astype(i8)) >> i8(32)).astype(i4)", None),
    "s_mul_u64": ("u64", "u64 u64", "{a} * {b}", None),
    "s_add_nc_u64": ("u64", "u64 u64", "{a} + {b}", None),
    "s_sub_nc_u64": ("u64", "u64 u64", "{a} - {b}", None),
    "s_lshl_b32": ("u32", "u32 u32", "{a} << ({b} & u4(31))", _NZ),
    "s_lshr_b32": ("u32", "u32 u32", "{a} >> ({b} & u4(31))", _NZ),
    "s_ashr_i32": ("i32", "i32 u32", "{a} >> ({b} & u4(31)).view(i4)", _NZ),
    "s_lshl_b64": ("u64", "u64 u32", "{a} << ({b} & u4(63)).astype(u8)", _NZ),
    "s_lshr_b64": ("u64", "u64 u32", "{a} >> ({b} & u4(63)).astype(u8)", _NZ),
    "s_ashr_i64": ("i64", "i64 u32", "{a} >> ({b} & u4(63)).astype(i8)", _NZ),
    "s_min_i32": ("i32", "i32 i32", "np.minimum({a}, {b})", "({a} < {b})"),
    "s_max_i32": ("i32", "i32 i32", "np.maximum({a}, {b})", "({a} >= {b})"),
    "s_min_u32": ("u32", "u32 u32", "np.minimum({a}, {b})", "({a} < {b})"),
    "s_max_u32": ("u32", "u32 u32", "np.maximum({a}, {b})", "({a} >= {b})"),
    "s_lshl1_add_u32": (
        "u32",
        "u32 u32",
        "({a} << u4(1)) + {b}",
        "((({a}.astype(u8) << u8(1)) + {b}) >= u8(1 << 32))",
    ),
    "s_lshl2_add_u32": (
        "u32",
        "u32 u32",
        "({a} << u4(2)) + {b}",
        "((({a}.astype(u8) << u8(2)) + {b}) >= u8(1 << 32))",
    ),
    "s_lshl3_add_u32": (
        "u32",
        "u32 u32",
        "({a} << u4(3)) + {b}",
        "((({a}.astype(u8) << u8(3)) + {b}) >= u8(1 << 32))",
    ),
    "s_lshl4_add_u32": (
        "u32",
        "u32 u32",
        "({a} << u4(4)) + {b}",
        "((({a}.astype(u8) << u8(4)) + {b}) >= u8(1 << 32))",
    ),
    "s_pack_ll_b32_b16": ("u32", "u32 u32", "({a} & u4(0xFFFF)) | ({b} << u4(16))", None),
    "s_pack_lh_b32_b16": ("u32", "u32 u32", "({a} & u4(0xFFFF)) | ({b} & u4(0xFFFF0000))", None),
    "s_pack_hh_b32_b16": ("u32", "u32 u32", "({a} >> u4(16)) | ({b} & u4(0xFFFF0000))", None),
    "s_pack_hl_b32_b16": ("u32", "u32 u32", "({a} >> u4(16)) | ({b} << u4(16))", None),
    "s_bfm_b32": ("u32", "u32 u32", "((u4(1) << ({a} & u4(31))) - u4(1)) << ({b} & u4(31))", None),
    "s_bfm_b64": (
        "u64",
        "u32 u32",
        "((u8(1) << ({a} & u4(63)).astype(u8)) - u8(1)) << ({b} & u4(63)).astype(u8)",
        None,
    ),
    "s_absdiff_i32": ("i32", "i32 i32", "np.abs({a} - {b})", _NZ),
    "s_bfe_u32": ("u32", "u32 u32", "bits.bfe({a}, {b})", _NZ),
    "s_bfe_i32": ("i32", "u32 u32", "bits.bfe_signed({a}, {b})", _NZ),
    "s_bfe_u64": ("u64", "u64 u32", "bits.bfe64({a}, {b})", _NZ),
    "s_bfe_i64": ("i64", "u64 u32", "bits.bfe64_signed({a}, {b})", _NZ),
    "s_brev_b64": (
        "u64",
        "u64",
        "bits.reversed_bits(({a} >> u8(32)).astype(u4)) | "
        "(bits.reversed_bits({a}.astype(u4)).astype(u8) << u8(32))",
        None,
    ),
    "s_bcnt0_i32_b32": ("u32", "u32", "bits.counted(~{a})", _NZ),
    "s_bcnt0_i32_b64": ("u32", "u64", "bits.counted(~{a})", _NZ),
    "s_flbit_i32_i64": ("u32", "i64", "bits.leading_signs({a})", None),
    "s_abs_i32": ("i32", "i32", "np.abs({a})", _NZ),
    "s_brev_b32": ("u32", "u32", "bits.reversed_bits({a})", None),
    "s_bcnt1_i32_b32": ("u32", "u32", "bits.counted({a})", _NZ),
    "s_bcnt1_i32_b64": ("u32", "u64", "bits.counted({a})", _NZ),
    "s_ff1_i32_b32": ("u32", "u32", "bits.lowest({a}, 32)", None),
    "s_ff1_i32_b64": ("u32", "u64", "bits.lowest({a}, 64)", None),
    "s_flbit_i32_b32": ("u32", "u32", "bits.leading({a}, 32)", None),
    "s_flbit_i32_b64": ("u32", "u64", "bits.leading({a}, 64)", None),
    "s_flbit_i32": ("u32", "i32", "bits.leading_signs({a})", None),
    "s_sext_i32_i8": ("i32", "u32", "{a}.astype(u1).view(i1).astype(i4)", None),
    "s_sext_i32_i16": ("i32", "u32", "{a}.astype(u2).view(i2).astype(i4)", None),
    "s_add_f32": ("f32", "f32 f32", "{a} + {b}", None),
    "s_sub_f32": ("f32", "f32 f32", "{a} - {b}", None),
    "s_mul_f32": ("f32", "f32 f32", "{a} * {b}", None),
    "s_max_num_f32": ("f32", "f32 f32", "floats.maximum({a}, {b})", None),
    "s_min_num_f32": ("f32", "f32 f32", "floats.minimum({a}, {b})", None),
    "s_maximum_f32": ("f32", "f32 f32", "np.maximum({a}, {b})", None),
    "s_minimum_f32": ("f32", "f32 f32", "np.minimum({a}, {b})", None),
    "s_add_f16": ("u32", "f16 f16", _HALF.format("{a} + {b}"), None),
    "s_sub_f16": ("u32", "f16 f16", _HALF.format("{a} - {b}"), None),
    "s_mul_f16": ("u32", "f16 f16", _HALF.format("{a} * {b}"), None),
    "s_max_num_f16": ("u32", "f16 f16", _HALF.format("floats.maximum({a}, {b})"), None),
    "s_min_num_f16": ("u32", "f16 f16", _HALF.format("floats.minimum({a}, {b})"), None),
    "s_maximum_f16": ("u32", "f16 f16", _HALF.format("np.maximum({a}, {b})"), None),
    "s_minimum_f16": ("u32", "f16 f16", _HALF.format("np.minimum({a}, {b})"), None),
    "s_floor_f16": ("u32", "f16", _HALF.format("np.floor({a})"), None),
    "s_ceil_f16": ("u32", "f16", _HALF.format("np.ceil({a})"), None),
    "s_trunc_f16": ("u32", "f16", _HALF.format("np.trunc({a})"), None),
    "s_rndne_f16": ("u32", "f16", _HALF.format("np.rint({a})"), None),
    "s_cvt_f16_f32": ("u32", "f32", _HALF.format("{a}.astype(f2)"), None),
    "s_cvt_hi_f32_f16": ("f32", "u32", "({a} >> u4(16)).astype(u2).view(f2).astype(f4)", None),
    "s_cvt_pk_rtz_f16_f32": (
        "u32",
        "f32 f32",
        "floats.toward_zero16({a}).view(u2).astype(u4) | (floats.toward_zero16({b}).view(u2).astype(u4) << "
        "u4(16))",
        None,
    ),
    "s_cvt_f32_i32": ("f32", "i32", "{a}.astype(f4)", None),
    "s_cvt_f32_u32": ("f32", "u32", "{a}.astype(f4)", None),
    "s_cvt_i32_f32": ("i32", "f32", "floats.to_int({a}, -2**31, 2**31-1, i4)", None),
    "s_cvt_u32_f32": ("u32", "f32", "floats.to_int({a}, 0, 2**32-1, u4)", None),
    "s_cvt_f32_f16": ("f32", "u32", "{a}.astype(u2).view(f2).astype(f4)", None),
    "v_s_rcp_f32": ("f32", "f32", "floats.rcp_32({a})", None),
    "v_s_rsq_f32": ("f32", "f32", "floats.rsq_32({a})", None),
    "v_s_sqrt_f32": ("f32", "f32", "floats.sqrt_32({a})", None),
    "v_s_exp_f32": ("f32", "f32", "floats.exp2_32({a})", None),
    "v_s_log_f32": ("f32", "f32", "floats.log2_32({a})", None),
    "s_trunc_f32": ("f32", "f32", "np.trunc({a})", None),
    "s_floor_f32": ("f32", "f32", "np.floor({a})", None),
    "s_ceil_f32": ("f32", "f32", "np.ceil({a})", None),
    "s_rndne_f32": ("f32", "f32", "np.rint({a})", None),
}  # fmt: skip


@handles(*_TABLE)
def _table(low, name, instruction):
    kind, sources, expression, scc = _TABLE[name]
    operands = instruction.operands
    names = {}
    for letter, source, operand in zip("abc", sources.split(), operands[1:]):
        names[letter] = low.temporary(low.read(operand, source))
    value = low.temporary(low.of_generation(expression).format(**names))
    if scc is not None:
        flag = low.temporary(scc.format(t=value, **names)) if not low.scc_dead else None
    low.write_scalar(operands[0], value, kind)
    if scc is not None and flag:
        low.write_scc(flag)


@handles("s_addc_u32")
def _addc(low, name, instruction):
    d, a, b = instruction.operands
    wide = low.temporary(
        f"{low.read(a, 'u32')}.astype(u8) + {low.read(b, 'u32')}.astype(u8) + S.scc.astype(u8)"
    )
    low.write_scalar(d, f"{wide}.astype(u4)", "u32")
    low.write_scc(f"({wide} >= u8(1 << 32))")


@handles("s_subb_u32")
def _subb(low, name, instruction):
    d, a, b = instruction.operands
    first = low.temporary(f"{low.read(a, 'u32')}.astype(i8)")
    second = low.temporary(f"{low.read(b, 'u32')}.astype(i8) + S.scc.astype(i8)")
    low.write_scalar(d, f"({first} - {second}).astype(u4)", "u32")
    low.write_scc(f"({second} > {first})")


@handles("s_movk_i32")
def _movk(low, name, instruction):
    d, a = instruction.operands
    value = int(a.text, 0) & 0xFFFF
    value = value - 0x10000 if value & 0x8000 else value
    low.write_scalar(d, low.constant(value & 0xFFFFFFFF, "u32"), "u32")


@handles("s_cmovk_i32")
def _cmovk(low, name, instruction):
    d, a = instruction.operands
    value = int(a.text, 0) & 0xFFFF
    value = value - 0x10000 if value & 0x8000 else value
    constant = low.constant(value & 0xFFFFFFFF, "u32")
    low.write_scalar(d, f"where(S.scc, {constant}, {low.read(d, 'u32')})", "u32")


@handles("s_addk_i32", "s_mulk_i32")
def _addk(low, name, instruction):
    d, k = instruction.operands
    value = int(k.text, 0) & 0xFFFF
    value = value - 0x10000 if value & 0x8000 else value
    a, b = low.temporary(low.read(d, "i32")), low.constant(value & 0xFFFFFFFF, "i32")
    result = low.temporary(f"{a} {'+' if name == 's_addk_i32' else '*'} {b}")
    low.write_scalar(d, result, "i32")
    if name == "s_addk_i32":
        low.write_scc(f"((~({a} ^ {b}) & ({a} ^ {result})) < 0)")


_COMPARE = {"eq": "==", "lg": "!=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
# Of floats: the negation of another one, and whether one or none is NaN.
_FLOATS = {
    "neq": "~({a} == {b})", "nge": "~({a} >= {b})", "ngt": "~({a} > {b})", "nle": "~({a} <= {b})",
    "nlt": "~({a} < {b})", "nlg": "~(({a} < {b}) | ({a} > {b}))", "lg": "({a} < {b}) | ({a} > {b})",
    "o": "~(np.isnan({a}) | np.isnan({b}))", "u": "np.isnan({a}) | np.isnan({b})",
}  # fmt: skip


@handles(
    *(
        f"s_cmp{k}_{c}_{t}"
        for k in ("", "k")
        for c in _COMPARE
        for t in ("i32", "u32", "u64", "f32", "f16")
    ),
    *(f"s_cmp_{c}_{t}" for c in _FLOATS for t in ("f32", "f16")),
)
def _compare(low, name, instruction):
    _, _, how, kind = name.split("_")
    a, b = instruction.operands
    if name.startswith("s_cmpk"):
        value = int(b.text, 0) & 0xFFFF
        if kind == "i32" and value & 0x8000:
            value -= 0x10000
        second = low.constant(value & 0xFFFFFFFF, kind)
    else:
        second = low.read(b, kind)
    first = low.read(a, kind)
    if kind.startswith("f") and how in _FLOATS:
        # One of two floats is neither less nor greater where it is NaN.
        low.emit(f"f = {_FLOATS[how].format(a=first, b=second)}")
    else:
        low.emit(f"f = {first} {_COMPARE[how]} {second}")
    if not low.scc_dead:
        low.emit("f = np.broadcast_to(f, (S.waves, 1))")
        low.emit("S.scc = f if m is None else where(m, f, S.scc)")


@handles("s_bitcmp0_b32", "s_bitcmp1_b32", "s_bitcmp0_b64", "s_bitcmp1_b64")
def _bitcmp(low, name, instruction):
    a, b = instruction.operands
    bits = int(name[-2:])
    kind = f"u{bits}"
    raw = f"u{bits // 8}"
    place = f"({low.read(b, 'u32')} & u4({bits - 1})).astype({raw})"
    low.write_scc(f"((({low.read(a, kind)} >> {place}) & {raw}(1)) == {int(name[8] == '1')})")


@handles("s_bitset0_b32", "s_bitset1_b32", "s_bitset0_b64", "s_bitset1_b64")
def _bitset(low, name, instruction):
    d, a = instruction.operands
    bits = int(name[-2:])
    kind, raw = f"u{bits}", f"u{bits // 8}"
    bit = f"({raw}(1) << ({low.read(a, 'u32')} & u4({bits - 1})).astype({raw}))"
    old = low.read(d, kind)
    low.write_scalar(d, f"{old} | {bit}" if name[8] == "1" else f"{old} & ~{bit}", kind)


@handles("s_fmac_f32", "s_fmamk_f32", "s_fmaak_f32")
def _sfma(low, name, instruction):
    d, *rest = instruction.operands
    a, b = rest[0], rest[1]
    c = rest[2] if len(rest) > 2 else d
    low.write_scalar(
        d, f"floats.fma32({low.read(a, 'f32')}, {low.read(b, 'f32')}, {low.read(c, 'f32')})", "f32"
    )
