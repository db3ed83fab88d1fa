"""Write gpu_rows.txt, what tinygrad's tests say that a GPU of RDNA3 gives. Run by hand, once:

    PYTHONPATH=CHECKOUT python tests/amdgcn/gpu_recorder.py CHECKOUT > tests/amdgcn/gpu_rows.txt

CHECKOUT is tinygrad's repository (MIT). Its tests run here with registers that note what is asked of them, so no
emulator takes part. A line lists instructions, registers before them and registers after them; `gpu_rows` reads it.
A test that touches global memory, branches, or asks in a way that is not noted here gives no line.
"""

import functools
import importlib
import math
import re
import struct
import sys
import types
import unittest

from oracle import APPROXIMATE

PARTS = ("vop1", "vop2", "vop3", "vop3p", "vopc", "vopd", "sop", "ds", "dpp")
LEFT_OUT = re.compile(
    r"^(global_|flat_|scratch_|buffer_|s_load|s_cbranch|s_branch|s_getpc)|s8[01]\b"
)
SPECIAL = {106: "vcc", 126: "exec"}
FLOATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}


class NotNoted(Exception):
    """A test asks something that has no place in a line."""


def encoded(number, width):
    """The bits of a number, and whether they are exactly that number."""
    kind, raw = FLOATS[width]
    try:
        packed = struct.pack(kind, number)
    except OverflowError:
        return 0, False
    return struct.unpack(raw, packed)[0], struct.unpack(kind, packed)[0] == number


class Word:
    """An integer, each bit of which is a bit of a register, or 0."""

    def __init__(self, bits):
        self.bits = bits

    def __and__(self, mask):
        return Word([bit if mask >> place & 1 else None for place, bit in enumerate(self.bits)])

    def __rshift__(self, count):
        return Word([*self.bits[count:], *[None] * count])

    def __lshift__(self, count):
        return Word([None] * count + self.bits[: 64 - count])

    def __or__(self, other):
        return Word([one or another for one, another in zip(self.bits, other.bits)])

    def __ge__(self, other):
        """Tests ask so before they subtract 2^32; a negative number expected has the same bits."""
        if other != 1 << 31 and other != 1 << 15:
            raise NotNoted("an order")
        return False

    def __lt__(self, other):
        return not self >= other

    def __index__(self):
        raise NotNoted("a number out of a register")

    def __format__(self, form):
        return "the register"


class Number:
    """The float that the low bits of a word are."""

    def __init__(self, word, width):
        self.bits, self.width = word.bits[:width], width

    def __format__(self, form):
        return "the number"

    def __gt__(self, other):
        return Claim(self, "sign", 0)

    def __lt__(self, other):
        return Claim(self, "sign", 1)


class Claim:
    """A condition of a test on one number. As a truth it is noted and holds, as in `isinf(x) and x > 0`."""

    noted = []

    def __init__(self, number, kind, value=None):
        self.number, self.kind, self.value = number, kind, value

    def __bool__(self):
        self.noted.append(self)
        return True


class Recorder:
    """The instructions of one test, and the registers that it compares."""

    def __init__(self):
        self.texts, self.lanes, self.known, self.floats = [], 0, {}, {}

    def word(self, lane, name):
        return Word([(self, (lane, name), bit) for bit in range(32)] + [None] * 32)

    def bits(self, bits, value):
        for at, bit in enumerate(bits):
            if bit is not None:
                self.known[bit[1:]] = value >> at & 1
            elif value >= 0 and value >> at & 1:
                raise NotNoted("a bit that no register has")

    def number(self, number, value, tolerance):
        """`value` is what a test expects, within `tolerance` where AMD allows an instruction to be inexact."""
        if math.isnan(value):
            return self.float(number, "nan")
        raw, exact = encoded(value, number.width)
        inexact = any(text.startswith(APPROXIMATE) for text in self.texts)
        # A float64 within a bound is exact where few digits say so.
        close = tolerance and (inexact or number.width == 64 and not encoded(value, 32)[1])
        if exact and not close:
            # Python's 0.0 equals -0.0, so such a test says nothing of the sign.
            return self.bits(number.bits[: -1 if value == 0 else None], raw)
        self.float(number, f"{value!r}~{tolerance:g}")

    def float(self, number, words):
        _, place, start = number.bits[0]
        if None in number.bits or (number.bits[-1][2] - start) % 32 != (number.width - 1) % 32:
            raise NotNoted("a float across registers")
        self.floats[place] = f"f{number.width}{'h' if start else ''}:{words}"

    def claim(self, claim):
        for one in (*Claim.noted, claim):
            if one.kind == "nan":
                self.float(one.number, "nan")
            elif one.kind == "sign":
                self.bits(one.number.bits[-1:], one.value)
            else:
                self.bits(one.number.bits[:-1], encoded(math.inf, one.number.width)[0])

    def line(self):
        """The line of gpu_rows.txt."""
        before, texts = folded(self.texts)
        noted, after = {}, {}
        for (place, bit), value in self.known.items():
            noted.setdefault(place, {})[bit] = value
        for lane, name in {**noted, **self.floats}:
            after.setdefault(name, [None] * (self.lanes if name in VECTORS else 1))
            bits = noted.get((lane, name), {})
            mask = sum(1 << bit for bit in bits)
            words = f"{sum(value << bit for bit, value in bits.items()):x}"
            words += "" if mask == 0xFFFFFFFF else f"/{mask:x}"
            after[name][lane] = self.floats.get((lane, name), words)
        results = {}
        for name, values in after.items():
            same = len(set(values)) == 1
            results[name] = values[0] if same else ",".join(one or "-" for one in values)
        named = {*after, "vcc", *(name for text in texts for name in registers(text))}
        given = {name: f"{value:x}" for name, value in before.items() if name in named}
        head = f"@{self.lanes} " if self.lanes != 1 else ""
        return f"{head}{'; '.join(texts)} | {ranges(given)} | {ranges(results)}"


VECTORS = {f"v{number}" for number in range(256)}


def registers(text):
    """The names of the registers in an instruction."""
    for letter, first, last in re.findall(r"\b([sv])\[(\d+):(\d+)\]", text):
        yield from (f"{letter}{number}" for number in range(int(first), int(last) + 1))
    yield from re.findall(r"\b[sv]\d+\b", text)


def ranges(values):
    """`v0=1 v4:7=0`: neighbours with the same value in one word."""
    words = []
    for name, value in values.items():
        letter, number = name[0], name[1:]
        last = words[-1] if words else ["", 0, 0, ""]
        if (
            number.isdigit()
            and last[0] == letter
            and int(number) == last[2] + 1
            and last[3] == value
        ):
            last[2] += 1
        else:
            words.append(
                [letter, int(number), int(number), value]
                if number.isdigit()
                else [name, 0, 0, value]
            )
    return " ".join(
        f"{name}{'' if len(name) > 1 else first}{f':{last}' if last > first else ''}={value}"
        for name, first, last, value in words
    )


def folded(texts):
    """(registers before, the other instructions): moves of constants at the beginning become registers."""
    before, rest = {}, list(texts)
    while rest:
        match = re.fullmatch(r"[sv]_mov_b32(?:_e32)? ([sv]\d+|vcc_lo), (\S+)", rest[0])
        value = match and (before.get(match[2], constant(match[2])))
        if value is None:
            break
        before[match[1].removesuffix("_lo")] = value
        rest.pop(0)
    return before, rest


def owner(read):
    """The recorder of the registers that a word or a number is read from."""
    found = [bit[0] for bit in getattr(read, "bits", ()) if bit is not None]
    if not found:
        raise NotNoted("something that is not in a register")
    return found[0]


def text_of(instruction, disassembler, helpers):
    """An instruction as assembly. tinygrad prints no DPP of RDNA."""
    if "DPP16" not in type(instruction).__name__:
        return disassembler.disasm(instruction)
    name = repr(instruction).partition("_e32(")[0]
    kind, value = helpers.decode_dpp16(instruction.dpp)
    value = str(list(value)).replace(" ", "") if isinstance(value, tuple) else value
    control = kind if kind.endswith("mirror") else f"{kind}:{value}"
    out = f"v{instruction.vdst.offset - 256}" if hasattr(instruction, "vdst") else "vcc_lo"
    operands = ", ".join(
        [out, *(f"v{one.offset - 256}" for one in (instruction.vsrc0, instruction.vsrc1))]
    )
    more = f"row_mask:{instruction.row_mask:#x} bank_mask:{instruction.bank_mask:#x}"
    return f"{name}_dpp {operands} {control} {more}{' bound_ctrl:1' if instruction.bc else ''}"


def constant(text):
    if re.fullmatch(r"-?\d+\.\d+", text):
        return encoded(float(text), 32)[0]
    return int(text, 0) & 0xFFFFFFFF if re.fullmatch(r"-?(0x)?[0-9a-f]+", text) else None


class Registers(dict):
    """The registers of a state, by name or number, as tests read them."""

    def __init__(self, recorder, lane, letter):
        self.recorder, self.lane, self.letter = recorder, lane, letter

    def __missing__(self, number):
        name = SPECIAL.get(number, f"{self.letter}{number}")
        return self.recorder.word(self.lane, name if self.letter == "s" else f"v{number}")


def prepared(checkout):
    """tinygrad's helpers and tests with this file's registers in place of an emulator; the recorder of each test."""
    for name in ("test.mockgpu", "test.mockgpu.amd", "test.mockgpu.amd.emu"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    sys.modules["test.mockgpu.amd.emu"].run_asm = None
    sys.path.insert(0, checkout)
    helpers = importlib.import_module("test.amd.hw.helpers")
    disassembler = importlib.import_module("test.amd.disasm")
    controls = importlib.import_module("test.amd.helpers")
    current = []

    def run_program(instructions, n_lanes=1, ulp_tolerance=0):
        recorder = Recorder()
        recorder.texts = [text_of(one, disassembler, controls) for one in instructions]
        recorder.lanes = n_lanes
        current.append(recorder)
        vectors = {lane: Registers(recorder, lane, "v") for lane in range(n_lanes)}
        return types.SimpleNamespace(
            vgpr=vectors, sgpr=Registers(recorder, 0, "s"), vcc=recorder.word(0, "vcc"),
            scc=recorder.word(0, "scc") & 1,
        )  # fmt: skip

    def reader(width, before):
        return lambda word: Number(word, width) if isinstance(word, Word) else before(word)

    def run_wave64(instructions, out_reg=1):
        state = run_program(instructions, 64)
        return [state.vgpr[lane][out_reg] for lane in range(64)]

    helpers.run_program = run_program
    for name, width in (("i2f", 32), ("_f32", 32), ("f16", 16), ("i642f", 64)):
        setattr(helpers, name, reader(width, getattr(helpers, name)))
    for name in ("isnan", "isinf"):
        before = getattr(math, name)
        setattr(math, name, lambda value, name=name, before=before: (
            Claim(value, name[2:]) if isinstance(value, Number) else before(value)))  # fmt: skip

    def equal(self, read, value, msg=None):
        if isinstance(read, Word):
            owner(read).bits(read.bits, value)
        else:
            owner(read).number(read, value, 0)

    def close(self, read, value, places=7, msg=None, delta=None):
        owner(read).number(read, value, 0.5 * 10.0**-places if delta is None else delta)

    def true(self, claim, msg=None):
        owner(claim.number).claim(claim)
        Claim.noted.clear()

    def below(self, read, value, msg=None, sign=1):
        if not isinstance(read, Number) or value != 0:
            raise NotNoted("an order")
        owner(read).claim(Claim(read, "sign", sign))

    def never(self, *arguments, **more):
        raise NotNoted("another question")

    case = unittest.TestCase
    case.assertEqual, case.assertAlmostEqual, case.assertTrue = equal, close, true
    case.assertLess, case.assertGreater = below, functools.partialmethod(below, sign=0)
    for name in ("False", "LessEqual", "GreaterEqual", "NotEqual", "In"):
        setattr(case, f"assert{name}", never)
    return current, run_wave64


def main(checkout):
    (current, run_wave64), tests, seen = prepared(checkout), 0, set()
    for part in PARTS:
        print(f"# test/amd/hw/test_{part}.py")
        module = importlib.import_module(f"test.amd.hw.test_{part}")
        module.run_wave64 = run_wave64
        for case in vars(module).values():
            if not (isinstance(case, type) and issubclass(case, unittest.TestCase)):
                continue
            for name in unittest.defaultTestLoader.getTestCaseNames(case):
                tests += 1
                current.clear()
                Claim.noted.clear()
                try:
                    getattr(case(name), name)()
                except Exception as error:
                    print(f"{part} {name}: {error!r}"[:160], file=sys.stderr)
                    continue
                for recorder in current:
                    bad = [one for one in recorder.texts if LEFT_OUT.search(one)]
                    line = recorder.line()
                    if bad or line in seen or line.startswith("|") or not folded(recorder.texts)[1]:
                        print(f"{part} {name}: left out {bad[:1]}", file=sys.stderr)
                        continue
                    seen.add(line)
                    print(line)
    print(f"{tests} tests, {len(seen)} lines", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
