"""Write layouts.txt, the place of each element of AMD's dense matrix instructions. Run by hand, once:

    python tests/amdgcn/calculator.py CALCULATOR > tests/amdgcn/layouts.txt

CALCULATOR is matrix_calculator.py of ROCm/amd_matrix_instruction_calculator (MIT, it needs tabulate). Its layouts are
linear over bits: each bit of a row, a column or a block adds a lane, a register or some bits within a register. So a
line lists what each bit adds, the lowest bit first. Every element that the calculator names is compared with its line.
"""

import csv
import io
import re
import subprocess
import sys

TARGETS = {
    "cdna1": "gfx908", "cdna2": "gfx90a", "cdna3": "gfx942", "rdna3": "gfx1100", "rdna4": "gfx1201",
}  # fmt: skip
_PLACE = re.compile(r"v\[?(\d+)(?::(\d+)\])?\{(\d+)\}(?:\.\[\d+:(\d+)\])?")


def asked(calculator, *options):
    command = [sys.executable, calculator, *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def elements(calculator, arch, opcode, matrix):
    """{(row, column, block): the places of that element}, a place being (register, lane, bit)."""
    text = asked(calculator, "-a", arch, "-i", opcode, "--register-layout", f"-{matrix}", "--csv")
    places_of, block, columns = {}, 0, []
    for cells in csv.reader(io.StringIO(text)):
        if not cells:
            continue
        if cells[0].startswith("Block"):
            block = int(cells[0].split()[1])
        elif "[" in cells[0]:
            columns = [int(cell) for cell in cells[1:]]
        elif cells[0].isdigit():
            for column, cell in zip(columns, cells[1:]):
                places = _PLACE.findall(cell)
                places_of[int(cells[0]), column, block] = [
                    (int(low or high), int(lane), int(bit or 0)) for high, low, lane, bit in places
                ]
    return places_of


def spelled(register, lane, bit):
    named = zip("rlb", (register, lane, bit))
    return "+".join(f"{letter}{number}" for letter, number in named if number)


def line(calculator, target, arch, opcode, matrix):
    places_of = elements(calculator, arch, opcode, matrix)
    assert places_of[0, 0, 0][0] == (0, 0, 0)
    parts, bits = [f"{target} {opcode} {matrix}"], []
    for axis, name in enumerate(("row", "column", "block")):
        size = 1 + max(key[axis] for key in places_of)
        steps = []
        for power in range(size.bit_length() - 1):
            key = tuple(1 << power if place == axis else 0 for place in range(3))
            steps.append(spelled(*places_of[key][0]))
            bits.append((axis, power, places_of[key][0]))
        if steps:
            parts.append(f"{name}={','.join(steps)}")
    copies = places_of[0, 0, 0][1:]
    if copies:
        parts.append(f"copy={','.join(spelled(*copy) for copy in copies)}")
    for key, places in places_of.items():
        first = [0, 0, 0]
        for axis, power, step in bits:
            if key[axis] >> power & 1:
                first = [a + b for a, b in zip(first, step)]
        wanted = [tuple(a + b for a, b in zip(first, copy)) for copy in [(0, 0, 0), *copies]]
        assert places == wanted, (opcode, matrix, key, places, wanted)
    return " ".join(parts)


def main():
    calculator = sys.argv[1]
    for arch, target in TARGETS.items():
        for opcode in asked(calculator, "-a", arch, "-L").split():
            # Those of sparse matrices have an index as well; no release of Triton emits them.
            if opcode.startswith(("v_mfma_", "v_wmma_")):
                for matrix in "ABD":
                    print(line(calculator, target, arch, opcode, matrix))


if __name__ == "__main__":
    main()
