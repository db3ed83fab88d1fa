"""Instructions of the emulator beside AMD's pseudo-code, bit for bit.

The text of each opcode comes from tinygrad's tables, which are a test dependency; `pseudocode` evaluates it.
"""

import functools
import importlib
import random
import sys
from collections import Counter

import numpy as np
from pseudocode.evaluator import Run
from pseudocode.floats import FORMATS, decode, encode, is_nan
from pseudocode.values import Bits, Float, Int, truth

from crosswarp.matrix.cell.machines.amdgcn import names, syntax
from crosswarp.matrix.cell.machines.amdgcn.instructions import scalar_arithmetic
from crosswarp.matrix.cell.machines.amdgcn.lowering import Lowering, bits_of
from crosswarp.matrix.cell.machines.amdgcn.operands import VCC
from crosswarp.matrix.cell.machines.amdgcn.registers import Registers
from crosswarp.matrix.cell.machines.amdgcn.sources import ROWS

u4, u8 = np.uint32, np.uint64
# tinygrad's name of a generation -> target, lanes of a wave.
GENERATIONS = {"cdna": ("gfx942", 64), "rdna3": ("gfx1100", 32), "rdna4": ("gfx1201", 32)}
# AMD allows these to be inexact.
APPROXIMATE = ("v_exp", "v_log", "v_rcp", "v_rsq", "v_sqrt", "v_sin", "v_cos", "v_s_")


@functools.lru_cache(maxsize=None)
def _texts(generation):
    """Opcode, by its base name -> pseudo-code."""
    found = {}
    module = importlib.import_module(f"tinygrad.runtime.autogen.amd.{generation}.str_pcode")
    for key, text in module.PCODE.items():
        name = key.name.lower()
        for suffix in ("_e32", "_e64"):
            name = name.removesuffix(suffix)
        if name not in found or type(key).__name__.startswith("VOP3"):
            found[name] = text
    for new, old in names.ALIASES.items():
        if new in found:
            found.setdefault(old, found[new])
    return found


def texts(generation):
    return dict(_texts(generation))


def _lookup(codes):
    """The text of another instruction that a text names: gfx950 has some of gfx12's, and names more."""
    return lambda name: codes[name] if name in codes else texts("rdna4")[name]


def interesting(kind, generator):
    """Bits of one operand: edges, numbers of a like size, anything."""
    width = bits_of(kind)
    top = (1 << width) - 1
    if kind[0] == "f":
        exponent, mantissa = FORMATS[width]
        sign = generator.getrandbits(1) << (width - 1)
        infinity = ((1 << exponent) - 1) << mantissa
        special = [0, 1, (1 << mantissa) - 1, 1 << mantissa, infinity - 1, infinity, infinity | 1 << (mantissa - 1),
                   infinity | 1, ((1 << (exponent - 1)) - 1) << mantissa]  # fmt: skip
        roll = generator.random()
        if roll < 0.35:
            return sign | generator.choice(special)
        if roll < 0.7:
            middle = (1 << (exponent - 1)) - 1 + generator.randint(-3, 20)
            return (
                sign
                | min(middle, (1 << exponent) - 2) << mantissa
                | generator.getrandbits(mantissa)
            )
        return generator.getrandbits(width)
    roll = generator.random()
    if roll < 0.3:
        edges = [
            0,
            1,
            2,
            top,
            top >> 1,
            (top >> 1) + 1,
            31,
            32,
            33,
            63,
            64,
            0x80,
            0xFF,
            0x7FFF,
            0x8000,
        ]
        return generator.choice(edges) & top
    return generator.getrandbits(6 if roll < 0.5 else width)


def function_of(target, text, lanes):
    """The generated function of one instruction."""
    one = syntax.instruction(text, 1)
    kernel = syntax.Kernel("one", target, [one], [(0, 1)], {}, {}, [], lanes)
    low = Lowering(kernel)
    return low.function(0, low.source(0))


def same(kind, a, b):
    """How two results of one kind compare."""
    width, form = (16, (8, 7)) if kind == "bf16" else (bits_of(kind), None)
    a, b = a & ((1 << width) - 1), b & ((1 << width) - 1)
    if a == b:
        return "same"
    if (kind[0] == "f" or form) and all(is_nan(decode(one, width, form)) for one in (a, b)):
        return "another NaN"
    return "different"


def vector(name, kinds, result, codes, target, generator, lanes, samples, mask=False):
    """Counts of verdicts, and the first difference in words. `mask`: the result is one bit of each lane."""
    registers = Registers(samples // lanes, lanes, 32, 4)
    inputs, operands = [], []
    for place, kind in enumerate(kinds):
        first = 4 + 2 * place
        operands.append(f"v[{first}:{first + 1}]" if bits_of(kind) == 64 else f"v{first}")
        raw = [interesting(kind, generator) for _ in range(samples)]
        inputs.append(raw)
        whole = np.array(raw, u8).reshape(-1, lanes)
        registers.V[first] = (whole & u8(0xFFFFFFFF)).astype(u4)
        registers.V[first + 1] = (whole >> u8(32)).astype(u4)
    registers.V[2] = np.zeros(registers.shape, u4)
    registers.setmask(VCC, np.zeros(registers.shape, bool), None)
    pair = "s[20:21]" if lanes == 64 else "s20"
    wide = not mask and result.endswith("64")
    out = pair if mask else "v[2:3]" if wide else "v2"
    suffix = "" if name.startswith("v_pk_") else "_e64"
    with np.errstate(all="ignore"):
        function_of(target, f"{name}{suffix} {', '.join([out, *operands])}", lanes)(registers, None)
    if mask:
        got = [int(one) for one in registers.mask(20).reshape(-1)]
    else:
        whole = registers.V[2].astype(u8)
        if wide:
            whole = whole | (registers.V[3].astype(u8) << u8(32))
        got = [int(one) for one in whole.reshape(-1)]
    tally, first = Counter(), ""
    for sample in range(samples):
        lane = sample % lanes
        variables = {f"S{place}": Bits(one[sample], 64) for place, one in enumerate(inputs)}
        variables.update(laneId=Int(lane), VCC=Bits(0, 64), EXEC=Bits((1 << lanes) - 1, 64), D0=Bits(0, 64),
                         D1=Bits(0, 64), SCC=Int(0, 1), OPSEL=Int(0, 4))  # fmt: skip
        run = Run(_lookup(codes), variables)
        run.zero_has_sign = name.startswith(("v_min", "v_max", "v_med"))
        value = run.execute(codes[name])["D0"]
        if mask:
            verdict = "same" if value.raw(64) >> lane & 1 == got[sample] else "different"
        elif isinstance(value, Float) and value.width != bits_of(result):
            verdict = same(result, got[sample], encode(value.value, bits_of(result)))
        else:
            verdict = same(result, got[sample], value.raw(64))
        tally[verdict] += 1
        if verdict == "different" and not first:
            first = f"{[hex(one[sample]) for one in inputs]}: {got[sample]:#x}, the text says {value.raw(64):#x}"
    return tally, first


def scalar(name, codes, target, generator, lanes, samples):
    """The same of an instruction of scalars, with SCC."""
    kind, kinds, _, _ = scalar_arithmetic._TABLE[name]
    registers = Registers(samples, lanes, 1, 1)
    inputs, operands = [], []
    for place, one in enumerate(kinds.split()):
        first = 20 + 2 * place
        raw = [interesting(one, generator) for _ in range(samples)]
        inputs.append(raw)
        registers.w64(first, np.array(raw, u8).reshape(-1, 1), None)
        operands.append(f"s[{first}:{first + 1}]" if bits_of(one) == 64 else f"s{first}")
    flags = [generator.getrandbits(1) for _ in range(samples)]
    registers.scc = np.array(flags, bool).reshape(-1, 1)
    out = "s[10:11]" if bits_of(kind) == 64 else "s10"
    with np.errstate(all="ignore"):
        function_of(target, f"{name} {', '.join([out, *operands])}", lanes)(registers, None)
    got, scc = registers.r64(10).reshape(-1), registers.scc.reshape(-1)
    tally, first = Counter(), ""
    for sample in range(samples):
        variables = {f"S{place}": Bits(one[sample], 64) for place, one in enumerate(inputs)}
        variables.update(SCC=Int(flags[sample], 1, False), D0=Bits(0, 64))
        run = Run(_lookup(codes), variables)
        run.zero_has_sign = "_m" in name
        found = run.execute(codes[name])
        # A half is kept as 32 bits, of which the upper ones are 0.
        as_text = (
            "f16" if kind == "u32" and name.endswith("_f16") or name == "s_cvt_f16_f32" else kind
        )
        verdict = same(as_text, int(got[sample]), found["D0"].raw(64))
        if truth(found["SCC"]) != bool(scc[sample]):
            verdict = "different"
        tally[verdict] += 1
        if verdict == "different" and not first:
            first = (
                f"{[hex(one[sample]) for one in inputs]}: {int(got[sample]):#x} scc {scc[sample]}"
            )
    return tally, first


def swept(generation, samples):
    """Opcode -> (counts of verdicts, first difference), of all that have a text and are exact."""
    codes = texts(generation)
    target, lanes = GENERATIONS[generation]
    found = {}
    for name, (result, kinds, _) in ROWS.items():
        if name in codes and not name.startswith(APPROXIMATE):
            more = (codes, target, random.Random(name), lanes, samples)
            found[name] = vector(name, kinds.split(), result, *more)
    for name in scalar_arithmetic._TABLE:
        if name in codes and not name.startswith(APPROXIMATE):
            found[name] = scalar(name, codes, target, random.Random(name), lanes, samples)
    return found


if __name__ == "__main__":
    for name, (tally, first) in swept(sys.argv[1] if sys.argv[1:] else "cdna", 256).items():
        print(name, dict(tally), first)
