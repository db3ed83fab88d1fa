"""How many of the instructions that the suite executes on gfx942 are held to an oracle.

executed.txt is what `tests/proofs/amd_executed.py --counts` wrote: the first case of each kernel, Triton 3.9.0. This
file, run as a program, prints the shares and the opcodes that no oracle covers.
"""

from collections import Counter
from pathlib import Path

import oracle
import test_layouts
import test_oracle
import test_whole

from crosswarp.matrix.cell.machines.amdgcn import names
from crosswarp.matrix.cell.machines.amdgcn.instructions import scalar_arithmetic
from crosswarp.matrix.cell.machines.amdgcn.sources import ROWS

EXECUTED = Path(__file__).parent / "executed.txt"
TEXT, CLOSE, CALCULATOR, TEXTLESS, REST = (
    "AMD's pseudo-code, bit for bit", "AMD's pseudo-code, within one unit in the last place", "AMD's calculator",
    "no text says what they compute", "rows of ours",
)  # fmt: skip
# Waits, and instructions that change no value: test_waits.py and test_scalars.py have rows of ours.
_NOTHING = (
    "s_waitcnt", "s_nop", "s_barrier", "s_endpgm", "s_setprio", "s_sleep", "buffer_inv", "buffer_wbl2",
    "s_sendmsg", "s_trap",
)  # fmt: skip


def held():
    """Opcode -> which oracle a test of this folder holds it to."""
    codes = oracle.texts("cdna")
    exact = [
        name
        for name in (*ROWS, *scalar_arithmetic._TABLE)
        if name in codes
        and name not in test_oracle.DIFFERENT
        and not name.startswith(oracle.APPROXIMATE)
    ]
    exact += test_oracle.COMPARISONS
    rows = (*test_whole.SCALARS, *test_whole.VECTORS, *test_whole.MEMORY)
    lines = [*(row[0] for row in rows), *test_whole.LANES]
    exact += [names.base(line.split()[0]) for line in lines]
    exact += [*(f"s_cbranch_{name}" for name in test_whole.CONDITIONS), "s_branch"]
    by_opcode = dict.fromkeys(exact, TEXT)
    by_opcode.update((f"v_{name}_f32", CLOSE) for name in test_whole.CLOSE)
    by_opcode.update(
        (opcode, CALCULATOR) for target, opcode in test_layouts.EXECUTED if target == "gfx942"
    )
    return by_opcode


def counted():
    """(share by oracle, in waves that execute an instruction; what no oracle covers, opcode -> count)."""
    by_opcode = held()
    shares, rest = Counter(), Counter()
    for line in EXECUTED.read_text().splitlines():
        count, name = line.split()
        name = names.base(name)
        which = TEXTLESS if name.startswith(_NOTHING) else by_opcode.get(name, REST)
        shares[which] += int(count)
        if which == REST:
            rest[name] += int(count)
    total = sum(shares.values())
    return {which: count / total for which, count in shares.items()}, rest, total


def test_nine_tenths_of_the_executed_instructions_are_held_to_an_oracle():
    shares, rest, _ = counted()
    assert shares[TEXT] + shares[CLOSE] + shares[CALCULATOR] >= 0.9, rest


if __name__ == "__main__":
    shares, rest, total = counted()
    print(f"{total:,} executed")
    for which, share in sorted(shares.items(), key=lambda item: -item[1]):
        print(f"{100 * share:.2f} % {which}")
    for name, count in rest.most_common():
        print(f"{100 * count / total:.3f} % {name}")
