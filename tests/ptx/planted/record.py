"""Record launches of the suite for `test_planted.py`: PTX, arguments, inputs, and what PyTorch expects.

Run by hand in the environment of a column, one kernel's case a file:

    python tests/ptx/planted/record.py sm_80 softmax/fp16-33x77 matmul/fp16-128x96x80 …

Run again when a kernel of the suite changes its meaning; the mutations name what they change by its text, and tell when
they find it no more. A launcher that lets PyTorch work between its launches cannot be recorded.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import torch
import triton

from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.emulate import arguments
from crosswarp.matrix.cell.judging import tuning
from crosswarp.matrix.cell.judging.compare import compare, poisoned
from crosswarp.matrix.cell.kinds.suite import in_child, kernels
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import Target, launching

HERE = Path(__file__).parent
TARGETS = HERE.parents[2] / "matrix" / "facts" / "targets.toml"
# Lines that name files and places of the machine that recorded, or that nothing executes.
_NOISE = re.compile(r"^\s*(\.loc|\.file|//|\$L__tmp|\$L__func)|^\s*$")


class Recorder:
    """Stands where the PTX machine stands: notes each launch, and executes it."""

    def __init__(self, machine):
        self._machine = machine
        self.launches = []
        self.texts = []
        # Storages by address, as they were when first seen.
        self.storages = {}

    def __call__(self, handed):
        found = arguments.flattened(handed)
        noted = [self._note(one) for one in found]
        text = _without_noise(handed.function.text)
        if text not in self.texts:
            self.texts.append(text)
        self.launches.append(
            {
                "text": self.texts.index(text),
                "grid": list(handed.grid),
                "shared": int(handed.metadata.get("shared") or 0),
                "threads": 32 * int(handed.metadata["num_warps"]),
                "arguments": noted,
            }
        )
        self._machine(handed)

    def _note(self, argument):
        owner = argument.owner
        if owner is None:
            value = argument.value
            kind = "int" if isinstance(value, int) else type(value).__name__
            return [
                kind,
                value.hex()
                if isinstance(value, bytes)
                else float(value)
                if kind != "int"
                else value,
            ]
        if isinstance(argument.value, bytes):
            raise SystemExit("a tensor map: record another target")
        storage = owner.untyped_storage()
        return ["tensor", self.number(storage), argument.value - storage.data_ptr()]

    def number(self, storage):
        address = storage.data_ptr()
        if address not in self.storages:
            raw = torch.tensor([], dtype=torch.uint8).set_(storage).clone().numpy()
            # The storage is kept, so that no other takes its address.
            self.storages[address] = (len(self.storages), raw, storage)
        return self.storages[address][0]


def _without_noise(text):
    text = text.split("\t.section\t.debug", 1)[0].split(".section .debug", 1)[0]
    lines = (line for line in text.splitlines() if not _NOISE.match(line))
    return "\n".join(re.sub(r"\s*//.*", "", line).rstrip() for line in lines) + "\n"


def record(target, kernel_name, case_id):
    """Launch a case on the virtual GPU; returns the recorder, outputs, reference and tolerance."""
    kernel = kernels.load(None, kernel_name)
    case = next(case for case in kernel.cases if case.id == case_id)
    table = tomllib.loads(TARGETS.read_text("utf-8"))
    virtual_gpu.activate(Target.from_table(target, table[target]))
    tuning.use_first_configuration()
    recorder = Recorder(emulate.Machine(600))
    launching.run_with(recorder)
    inputs = in_child._inputs(kernel, case, "cpu", in_child.SEED)
    reference = kernel.reference(**in_child._cloned(inputs))
    with poisoned(torch, True):
        outputs = kernel.launch(**inputs, **case.options)
    return recorder, outputs, reference, kernel.tolerance[case.dtype]


def write(target, name, folder):
    kernel_name, case_id = name.split("/")
    stem = kernel_name if target == "sm_80" else f"{kernel_name}.{target}"
    recorder, outputs, reference, tolerance = record(target, kernel_name, case_id)
    verdict = compare(outputs, reference, tolerance)
    if verdict.outcome != "pass":
        raise SystemExit(f"{name} is wrong as it is: {verdict.message}")
    arrays = {f"storage{n}": raw for n, raw, _ in recorder.storages.values()}
    judged = {}
    for key in sorted(reference):
        out = outputs[key]
        address = out.untyped_storage().data_ptr()
        if address not in recorder.storages:
            raise SystemExit(f"{name}: {key} is the result of no launch; take another kernel")
        judged[key] = {
            "storage": recorder.storages[address][0],
            "offset": out.data_ptr() - address,
            "dtype": str(out.dtype).split(".")[1],
            "shape": list(out.shape),
            "strides": [step * out.element_size() for step in out.stride()],
        }
        arrays[f"expected {key}"] = reference[key].detach().to(torch.float32).numpy()
    told = {
        "recorded": f"triton {triton.__version__}, {target}, {name}",
        "tolerance": tolerance,
        "launches": recorder.launches,
        "outputs": judged,
    }
    (folder / f"{stem}.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    np.savez_compressed(folder / f"{stem}.npz", **arrays)
    for number, text in enumerate(recorder.texts):
        (folder / f"{stem}-{number}.ptx").write_text(text, "utf-8")


if __name__ == "__main__":
    for wanted in sys.argv[2:]:
        write(sys.argv[1], wanted, HERE)
