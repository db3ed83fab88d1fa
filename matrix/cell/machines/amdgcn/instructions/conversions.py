"""Conversions between types, those of 8-bit floats among them.

Rows: kind of the result, kinds of the sources, expression.
"""

from ..lowering import handles
from ..sources import arithmetic, numbers

arithmetic(
    {
        "v_cvt_f32_f16": ("f32", "f16", "{a}.astype(f4)"),
        "v_cvt_f16_f32": ("f16", "f32", "{a}.astype(f2)"),
        "v_cvt_f32_i32": ("f32", "i32", "{a}.astype(f4)"),
        "v_cvt_f32_u32": ("f32", "u32", "{a}.astype(f4)"),
        "v_cvt_i32_f32": ("i32", "f32", "floats.to_int({a}, -2**31, 2**31-1, i4)"),
        "v_cvt_u32_f32": ("u32", "f32", "floats.to_int({a}, 0, 2**32-1, u4)"),
        "v_cvt_floor_i32_f32": ("i32", "f32", "floats.to_int(np.floor({a}), -2**31, 2**31-1, i4)"),
        "v_cvt_rpi_i32_f32": (
            "i32",
            "f32",
            "floats.to_int(np.floor({a}.astype(f8) + 0.5), -2**31, 2**31-1, i4)",
        ),
        "v_cvt_f16_i16": ("f16", "i16", "{a}.astype(f4).astype(f2)"),
        "v_cvt_f16_u16": ("f16", "u16", "{a}.astype(f4).astype(f2)"),
        "v_cvt_i16_f16": ("i16", "f16", "floats.to_int({a}, -2**15, 2**15-1, i2)"),
        "v_cvt_u16_f16": ("u16", "f16", "floats.to_int({a}, 0, 2**16-1, u2)"),
        "v_cvt_u32_u16": ("u32", "u16", "{a}.astype(u4)"),
        "v_cvt_i32_i16": ("i32", "i16", "{a}.astype(i4)"),
        "v_cvt_f32_ubyte0": ("f32", "u32", "({a} & u4(255)).astype(f4)"),
        "v_cvt_f32_ubyte1": ("f32", "u32", "(({a} >> u4(8)) & u4(255)).astype(f4)"),
        "v_cvt_f32_ubyte2": ("f32", "u32", "(({a} >> u4(16)) & u4(255)).astype(f4)"),
        "v_cvt_f32_ubyte3": ("f32", "u32", "({a} >> u4(24)).astype(f4)"),
        "v_cvt_f64_f32": ("f64", "f32", "{a}.astype(f8)"),
        "v_cvt_f32_f64": ("f32", "f64", "{a}.astype(f4)"),
        "v_cvt_f64_i32": ("f64", "i32", "{a}.astype(f8)"),
        "v_cvt_f64_u32": ("f64", "u32", "{a}.astype(f8)"),
        "v_cvt_i32_f64": ("i32", "f64", "floats.to_int({a}, -2**31, 2**31-1, i4)"),
        "v_cvt_u32_f64": ("u32", "f64", "floats.to_int({a}, 0, 2**32-1, u4)"),
        "v_cvt_pkrtz_f16_f32": (
            "u32",
            "f32 f32",
            "floats.toward_zero16({a}).view(u2).astype(u4) | (floats.toward_zero16({b}).view(u2).astype(u4) << "
            "u4(16))",
        ),
        "v_cvt_pk_bf16_f32": (
            "u32",
            "f32 f32",
            "floats.to_bf16({a}).astype(u4) | (floats.to_bf16({b}).astype(u4) << u4(16))",
        ),
        "v_cvt_pk_f16_f32": (
            "u32",
            "f32 f32",
            "{a}.astype(f2).view(u2).astype(u4) | ({b}.astype(f2).view(u2).astype(u4) << u4(16))",
        ),
        "v_cvt_f32_bf16": ("f32", "u16", "floats.from_bf16({a})"),
        "v_sat_pk_u8_i16": (
            "u32",
            "u32",
            "(np.clip({a}.astype(u2).view(i2), 0, 255).astype(u4) | (np.clip(({a} >> "
            "u4(16)).astype(u2).view(i2), 0, 255).astype(u4) << u4(8)))",
        ),
        "v_cvt_pk_i16_i32": (
            "u32",
            "i32 i32",
            "np.clip({a}, -2**15, 2**15-1).astype(i2).view(u2).astype(u4) | "
            "(np.clip({b}, -2**15, 2**15-1).astype(i2).view(u2).astype(u4) << u4(16))",
        ),
        "v_cvt_pk_i16_f32": (
            "u32",
            "f32 f32",
            "floats.to_int({a}, -2**15, 2**15-1, i2).view(u2).astype(u4) | "
            "(floats.to_int({b}, -2**15, 2**15-1, i2).view(u2).astype(u4) << u4(16))",
        ),
        "v_cvt_pk_u16_f32": (
            "u32",
            "f32 f32",
            "floats.to_int({a}, 0, 2**16-1, u4) | (floats.to_int({b}, 0, 2**16-1, u4) << u4(16))",
        ),
        "v_cvt_pk_u16_u32": (
            "u32",
            "u32 u32",
            "np.minimum({a}, u4(0xFFFF)) | (np.minimum({b}, u4(0xFFFF)) << u4(16))",
        ),
    }  # fmt: skip
)


@handles("v_cvt_f32_fp8", "v_cvt_f32_bf8")
def _from_fp8(low, name, instruction):
    d, a = instruction.operands
    part = instruction.modifiers.get("src0_sel", "BYTE_0")
    if "byte_sel" in instruction.modifiers:
        part = f"BYTE_{instruction.modifiers['byte_sel']}"
    code = f"({low.word(a)} >> u4({8 * int(part[-1])})) & u4(255)"
    low.write(d, f"small_floats.from_fp8({code}, {name[-3:]!r}, {low.fnuz})", "f32")


@handles("v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8")
def _from_fp8_pair(low, name, instruction):
    d, a = instruction.operands
    high = (
        instruction.modifiers.get("src0_sel") == "WORD_1" or numbers(instruction, "op_sel", 0, 1)[0]
    )
    base = low.temporary(low.word(a))
    words = [
        f"small_floats.from_fp8(({base} >> u4({shift})) & u4(255), {name[-3:]!r}, {low.fnuz}).view(u4)"
        for shift in ((16, 24) if high else (0, 8))
    ]
    low.write_words(d, [low.temporary(word) for word in words])


@handles("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32")
def _to_fp8_pair(low, name, instruction):
    d, a, b = instruction.operands
    kind = name[9:12]
    op_sel = numbers(instruction, "op_sel", 0, 3)
    how = f"{kind!r}, {low.fnuz}, False"
    codes = [
        f"small_floats.to_fp8({low.read(operand, 'f32')}, {how}).astype(u4)" for operand in (a, b)
    ]
    both = f"({codes[0]} | ({codes[1]} << u4(8)))"
    old = low.word(d)
    if op_sel[2]:
        low.write_words(d, [f"({both} << u4(16)) | ({old} & u4(0xFFFF))"])
    else:
        low.write_words(d, [f"{both} | ({old} & u4(0xFFFF0000))"])
