"""Does the lane emulate see miscompilations of AMD's code? One plant a kind and kernel, each in a line of its own.

    PYTHON tests/proofs/amd_planted.py [--target gfx942] [--kernels softmax,..] [--all]

PYTHON is that of a column with crosswarp in it. The first launch of each text of a case is changed as
`amd_plants.py` beside it says, in the middle of the lines that its kind can change, and the case is judged as the
suite judges it: by its numbers, then by the sanitizer. Each kernel is judged unchanged first, by both: an alarm there
is a false one. Prints a table, and ends with 1 on a false alarm, when fewer than nine of ten plants are seen, or one
that is not seen has no reason in SURVIVES. The plants of CASES were picked after a run with --all, of every kind in
every kernel, where more of them change nothing that a case can show; for those no reasons are written down.
"""

import argparse
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import amd_plants  # noqa: E402

from crosswarp.matrix.cell import emulate  # noqa: E402
from crosswarp.matrix.cell.judging import tuning  # noqa: E402
from crosswarp.matrix.cell.judging.compare import compare, poisoned  # noqa: E402
from crosswarp.matrix.cell.judging.verdict import of_error  # noqa: E402
from crosswarp.matrix.cell.kinds.suite import in_child, kernels  # noqa: E402
from crosswarp.matrix.cell.standins import virtual_gpu  # noqa: E402
from crosswarp.matrix.cell.standins.virtual_gpu import Target, launching  # noqa: E402

TARGETS = HERE.parents[1] / "matrix" / "facts" / "targets.toml"
CASES = {
    "softmax/fp16-33x77": ("swapped operands of a subtraction", "another place of a store to LDS",
                           "another distance of DPP", "no wait for memory", "no barrier"),
    "rms_norm/fp32-5x333": ("a factor in place of its neighbour", "EXEC not narrowed", "EXEC not restored",
                            "a selection that always takes the second", "no barrier"),
    "layer_norm/fp32-7x100": ("swapped operands of a subtraction", "EXEC not narrowed",
                              "another place of a load from LDS", "a term of a sum taken twice", "no wait for memory"),
    "matmul/fp16-65x129x77": ("swapped operands of a matrix product", "another place of a load from LDS",
                              "a product that forgets its accumulator", "no wait for memory"),
    "cross_entropy/fp32-v1003": ("swapped operands of a subtraction", "a factor in place of its neighbour",
                                 "EXEC not restored", "a selection that always takes the second",
                                 "a term of a sum taken twice"),
    "cumulative_sum/fp32-3x1111": ("EXEC not narrowed", "a comparison that takes one more", "another distance of DPP",
                                   "another permutation by DPP", "no wait for LDS or scalars"),
    "flash_attention/fp32-d40-causal": ("swapped operands of a matrix product", "another place of a store to LDS",
                                        "a product that forgets its accumulator", "no barrier"),
    "histogram/fp32-3333-b10": ("another shift of an address", "a comparison that takes one more",
                                "a selection that always takes the second"),
    "selective_scan/fp32-2x19x37-n16": ("another permutation by DPP", "no wait for LDS or scalars"),
    "top_k/fp32-2x301-k5": ("a selection that always takes the second", "another permutation by DPP"),
}  # fmt: skip
_ALIKE = "equivalent: every lane stores the same result of a reduction to the same address"
# (kernel, kind) -> why nobody sees it.
SURVIVES = {
    ("rms_norm", "EXEC not narrowed"): _ALIKE,
    ("layer_norm", "EXEC not narrowed"): _ALIKE,
    ("cumulative_sum", "EXEC not narrowed"): "a race inside one instruction: all lanes of a wave store to one address "
    "of LDS, and the last lane, whose value is the right one, wins here",
}  # fmt: skip
# Seconds of one judgement.
LIMIT = 600


class Planting:
    """Stands where the emulator stands: changes one text before it is executed, and notes all texts."""

    def __init__(self, sanitize, text=None, instead=None):
        self._machine = emulate.Machine(LIMIT, sanitize=sanitize)
        self._text, self._instead = text, instead
        self.texts = []

    def __getattr__(self, name):
        return getattr(self._machine, name)

    def __call__(self, handed):
        text = handed.function.text
        if text not in self.texts:
            self.texts.append(text)
        if text == self._text:
            handed = replace(handed, function=replace(handed.function, text=self._instead))
        self._machine(handed)


def judged(kernel, case, planting):
    """(outcome, first line of what is said) of the case."""
    launching.run_with(planting)
    inputs = in_child._inputs(kernel, case, "cpu", in_child.SEED)
    reference = kernel.reference(**in_child._cloned(inputs))
    try:
        with poisoned(torch, True):
            outputs = kernel.launch(**inputs, **case.options)
        verdict = compare(outputs, reference, kernel.tolerance[case.dtype])
    except RuntimeError as error:
        verdict = of_error(error)
    return verdict.outcome, verdict.reason, verdict.message.split("\n")[0]


def plants(texts, names):
    """(name of the kind, text, which line): of each kind one, in the text that has most lines for it."""
    for name in names:
        kind = amd_plants.KINDS[name]
        text = max(texts, key=lambda one: amd_plants.places(one, kind))
        count = amd_plants.places(text, kind)
        if count:
            yield name, text, count // 2


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--target", default="gfx942")
    options.add_argument("--kernels", default="", help="names, comma between")
    options.add_argument("--all", action="store_true", help="every kind in every kernel")
    asked = options.parse_args()
    torch.set_num_threads(1)
    table = tomllib.loads(TARGETS.read_text("utf-8"))[asked.target]
    virtual_gpu.activate(Target.from_table(asked.target, table))
    tuning.use_first_configuration()
    groups: Counter = Counter()
    seen = total = false_alarms = unexplained = 0
    print(
        "| kernel | group | planted | line | seen by |\n| --- | --- | --- | --- | --- |", flush=True
    )
    for one, picked in CASES.items():
        name, case_id = one.split("/")
        if asked.kernels and name not in asked.kernels.split(","):
            continue
        kernel = kernels.load(None, name)
        case = next(case for case in kernel.cases if case.id == case_id)
        unchanged = Planting(False)
        for planting in (unchanged, Planting(True)):
            outcome, reason, message = judged(kernel, case, planting)
            if outcome != "pass":
                false_alarms += 1
                print(f"| {name} | | nothing | | false alarm: {outcome} {reason} {message[:120]} |")
        for kind_name, text, place in plants(
            unchanged.texts, amd_plants.KINDS if asked.all else picked
        ):
            kind = amd_plants.KINDS[kind_name]
            instead, line = amd_plants.planted(text, kind, place)
            how = ""
            outcome, reason, _ = judged(kernel, case, Planting(False, text, instead))
            if outcome in ("mismatch", "crash", "timeout"):
                how = f"{outcome}: {reason}"
            else:
                outcome, reason, _ = judged(kernel, case, Planting(True, text, instead))
                if outcome != "pass":
                    how = f"sanitizer: {reason}"
            total, seen = total + 1, seen + bool(how)
            if not how:
                why = SURVIVES.get((name, kind_name), "")
                unexplained += not why
                how = f"nothing: {why}" if why else "nothing"
            groups[kind.group, not how.startswith("nothing")] += 1
            print(f"| {name} | {kind.group} | {kind_name} | `{line}` | {how} |", flush=True)
    print(f"\n{seen} of {total} seen, {false_alarms} false alarms")
    for group in sorted({group for group, _ in groups}):
        print(f"  {group}: {groups[group, True]} of {groups[group, True] + groups[group, False]}")
    return int(false_alarms > 0 or seen < 0.9 * total or unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
