"""The kernels and graphs of one program, of every torch that a folder holds, as a `Kernel`."""

import functools
import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

from crosswarp.kernels.case import Case, Kernel

from ..writing import HARVEST, RECORD, TENSORS
from . import launching
from .names import PREFIX

# torch's result on the CPU differs in the order of its sums, and in where half-precision values are rounded.
TOLERANCE = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 3e-2}
_HALVES = (("bfloat16", "bf16"), ("float8", "bf16"), ("float16", "fp16"))


def kernel(program: str, root: str, configurations: int = 0) -> Kernel:
    """`program`, as the torches wrote it whose folders lie in `root`.

    Args:
        configurations: of each kernel; 0: all.
    """
    launchers: Dict[str, Dict[str, Callable]] = {}
    targets: Dict[str, List[str]] = {}
    lanes: Dict[str, str] = {}
    dtypes: Dict[str, str] = {}
    inputs: Dict[str, Path] = {}
    for home, torch_version, record in _records(Path(root), program):
        for name, dtype, lane, go in _cases(home, torch_version, record, configurations):
            lanes[name], dtypes[name] = lane, dtype
            targets.setdefault(name, []).append(record["target"])
            launchers.setdefault(name, {})[record["target"]] = go
            if lane == "emulate":
                inputs[name] = home / TENSORS

    def launch(case: str, **tensors: Any) -> Dict[str, Any]:
        from crosswarp.matrix.cell.standins.virtual_gpu.launching import active_target

        return launchers[case][active_target().name](tensors)

    def given(case: Case, device: Any, generator: Any) -> Dict[str, Any]:
        return launching.inputs(inputs[case.id], _number(case.id)) if case.id in inputs else {}

    def reference(**tensors: Any) -> Dict[str, Any]:
        return launching.expected(tensors)

    cases = [
        Case(name, dtypes[name], {}, lanes=(lanes[name],), targets=tuple(targets[name]), options={"case": name})
        for name in launchers
    ]  # fmt: skip
    return Kernel(
        PREFIX + program, tuple(cases), inputs=given, launch=launch, reference=reference, tolerance=TOLERANCE
    )  # fmt: skip


def _records(root: Path, program: str) -> Iterator[Tuple[Path, str, Dict[str, Any]]]:
    for harvest in sorted(root.glob(f"*/{HARVEST}")):
        harvested = json.loads(harvest.read_text("utf-8"))
        for path in sorted(harvest.parent.glob(f"*/{program}/{RECORD}")):
            yield (
                path.parent,
                harvested["torch"].partition("+")[0],
                json.loads(path.read_text("utf-8")),
            )


def _cases(
    home: Path, torch_version: str, record: Dict[str, Any], most: int
) -> Iterator[Tuple[str, str, str, Callable]]:
    """Name, dtype, lane and launcher of each case."""
    first = {
        step["kernel"]: step
        for graph in record["graphs"]
        for step in reversed(graph["steps"])
        if "kernel" in step
    }
    for stored in record["kernels"]:
        for place, _ in enumerate(stored["configurations"]):
            if most and place >= most:
                break
            launch = functools.partial(
                launching.launch_once, home, record, stored, place, first.get(stored["id"])
            )
            # No parameter is compared, so the type is only a label.
            yield (
                f"{torch_version}-{stored['id']}-c{place}",
                "fp32",
                "compile",
                lambda given, go=launch: go(),
            )
    for number, graph in enumerate(record["graphs"]):
        if not graph["lack"]:
            launch = functools.partial(launching.graph, home, record, number)
            yield f"{torch_version}-graph{number}", _dtype(graph), "emulate", launch


def _number(case: str) -> int:
    return int(case.rpartition("-graph")[2])


def _dtype(graph: Dict[str, Any]) -> str:
    """Returns the least exact type among a graph's inputs and outputs."""
    arguments = [argument for step in graph["steps"] for argument in step["arguments"]]
    arguments += graph["outputs"]
    types = [argument.get("dtype", "") for argument in arguments]
    return next(
        (short for name, short in _HALVES if any(t.startswith(name) for t in types)), "fp32"
    )
