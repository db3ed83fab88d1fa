"""A compiled program, as files that any Triton can be given.

FOLDER/harvest.json                      torch, Triton and Python that wrote it, its targets and programs
FOLDER/TARGET/PROGRAM/record.json        kernels, launches, reasons for missing parts
FOLDER/TARGET/PROGRAM/NAME.py            a kernel, standing alone
FOLDER/TARGET/PROGRAM/NAME.txt           the same as inductor wrote it
FOLDER/TARGET/PROGRAM/tensors.pt         inputs and outputs of each graph
FOLDER/inductor_helpers_2_15_0/          torch's helpers, copied
"""

import hashlib
import importlib
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, List, Mapping

import torch

from . import launches, standalone
from .compiling import Compiled, Written

RECORD = "record.json"
TENSORS = "tensors.pt"
HARVEST = "harvest.json"
# The most characters of a kernel's name in a case's name.
_LONGEST = 56


def write(folder: Path, program: str, target: str, done: Compiled) -> Dict[str, Any]:
    """Writes the result of `program` on `target`, replacing an older one; returns the record.

    Raises:
        standalone.NotAlone: a kernel cannot be extracted from its module.
    """
    home = folder / target / program
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    package = standalone.package_name(torch.__version__)
    if not (folder / package).is_dir():
        inductor = importlib.import_module("torch._inductor")
        standalone.copy_helpers(Path(str(inductor.__file__)).parent, folder, package)
    kernels = []
    named: Dict[str, str] = {}
    for place, written in enumerate(done.kernels):
        name = f"{_short(written.name)}_{place}"
        # By its source: two graphs may have kernels of one name.
        named.setdefault(written.source, name)
        (home / f"{name}.txt").write_text(written.source, "utf-8")
        (home / f"{name}.py").write_text(standalone.alone(written.source, package), "utf-8")
        kernels.append({"id": name, **described(written)})
    tuners = {
        kernel.source: kernel.tuner
        for kernel in done.kernels
        if kernel.tuner is not None and not kernel.choice
    }
    recorded = [launches.record(graph, tuners) for graph in done.graphs]
    graphs = []
    for graph, recording in zip(done.graphs, recorded):
        for step in recording.steps:
            if "kernel" in step:
                step["kernel"] = named[step["kernel"]]
        graphs.append({**asdict(recording), "moved": graph.unmoved})
    record = {
        "program": program,
        "target": target,
        "package": package,
        "kernels": kernels,
        "graphs": graphs,
    }
    tensors = [
        {"inputs": traced.inputs, "outputs": traced.outputs, "after": traced.after}
        for traced in done.graphs
    ]
    torch.save(tensors, home / TENSORS)
    (home / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", "utf-8")
    return record


def _short(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name).removeprefix("triton_")[:_LONGEST].strip("_")


def described(written: Written) -> Dict[str, Any]:
    """A kernel's signature, constants, divisibility and configurations as plain data, by the names of its arguments."""
    facts: Dict[str, Any] = {"name": written.name, "choice": written.choice}
    if written.error is not None:
        facts["error"] = f"{type(written.error).__name__}: {written.error}"[:2000]
    tuner = written.tuner
    if tuner is None:
        return {
            **facts,
            "arguments": [],
            "signature": {},
            "constants": {},
            "divisible": [],
            "configurations": [],
        }
    meta, names = tuner.triton_meta, list(tuner.fn.arg_names)

    def named(key: Any) -> str:
        # Breakpoint: up to torch 2.5 arguments are named by position, or by a path to it.
        if isinstance(key, (tuple, list)):
            key = key[0]
        return names[key] if isinstance(key, int) else str(key)

    options = {name: meta[name] for name in ("num_warps", "num_stages", "num_ctas") if name in meta}
    return {
        **facts,
        "arguments": names,
        "signature": {named(key): str(kind) for key, kind in meta["signature"].items()},
        "constants": {
            named(key): _plain(value) for key, value in (meta.get("constants") or {}).items()
        },
        "divisible": [names[place] for place in _divisible(meta) if place < len(names)],
        "configurations": [
            {
                "constants": {name: _plain(value) for name, value in config.kwargs.items()},
                "options": {
                    "num_warps": config.num_warps,
                    "num_stages": config.num_stages,
                    **options,
                },
            }
            for config in written.configs
        ],
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, bool, str)) or value is None else str(value)


def _divisible(meta: Mapping[str, Any]) -> List[int]:
    """Places of the arguments that inductor knows to be multiples of 16.

    Breakpoint: a mapping of places to attributes from Triton 3.3 on; before, `AttrsDescriptor` in each of its forms.
    """
    described_as = (meta.get("configs") or [None])[0]
    if described_as is None:
        return []
    if isinstance(described_as, dict):
        return [
            path[0] for path, values in described_as.items() if ["tt.divisibility", 16] in values
        ]
    for name in ("divisible_by_16", "divisibility_16"):
        if hasattr(described_as, name):
            return sorted(getattr(described_as, name))
    if hasattr(described_as, "to_dict"):
        return sorted(described_as.to_dict().get("arg_properties", {}).get("tt.divisibility", []))
    return []


def digest(folder: Path) -> str:
    """Returns a hash of all kernels and records in a folder."""
    sha = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if (
            path.suffix in (".py", ".json", ".pt")
            and path.is_file()
            and "__pycache__" not in path.parts
        ):
            sha.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return sha.hexdigest()[:16]
