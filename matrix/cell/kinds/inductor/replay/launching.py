"""Launches recorded kernels: one, or all of a graph."""

import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import torch

from crosswarp.kernels.case import TORCH
from crosswarp.matrix.cell.starting import loading

# Replaces a number that was not recorded: only its type matters, and whether it is a multiple of 16.
_NUMBER = 65536
_ELEMENTS = 64


def launch_once(
    home: Path,
    record: Dict[str, Any],
    kernel: Dict[str, Any],
    place: int,
    step: Optional[Dict[str, Any]],
) -> Dict:
    """Launch one kernel in one configuration, with the arguments of its first launch, or else of its signature.

    Raises:
        whatever its import or its launch raises.
    """
    function = _function(home, kernel)
    if step is None:
        arguments, grid = _of_signature(kernel, place), (1, 1, 1)
    else:
        buffers: Dict[int, torch.Tensor] = {}
        arguments = [_argument(spec, _blank(buffers)) for spec in step["arguments"]]
        grid = tuple(step["grids"][place])
    _launch(function, kernel, place, arguments, grid)
    return {}


def graph(
    home: Path, record: Dict[str, Any], number: int, given: Dict[str, Any]
) -> Dict[str, torch.Tensor]:
    """Launches all of a graph, each kernel in its first configuration; returns its outputs and written inputs."""
    steps = record["graphs"][number]
    kernels = {kernel["id"]: kernel for kernel in record["kernels"]}
    functions = {name: _function(home, kernels[name]) for name in _names(steps)}
    buffers: Dict[int, torch.Tensor] = {}
    for place, at in enumerate(steps["inputs"]):
        if at is not None:
            buffers[at] = _bytes(given[f"input{place}"])
    for at, size in enumerate(steps["buffers"]):
        if at not in buffers:
            # float64, so that unwritten parts show.
            buffers[at] = torch.empty((size + 7) // 8, dtype=torch.float64).view(torch.uint8)
    for step in steps["steps"]:
        arguments = [_argument(argument, buffers.__getitem__) for argument in step["arguments"]]
        if "product" in step:
            named = {
                key: _argument(argument, buffers.__getitem__)
                for key, argument in step["named"].items()
            }
            getattr(torch, step["product"])(*arguments, **named)
        else:
            name = step["kernel"]
            _launch(functions[name], kernels[name], 0, arguments, tuple(step["grids"][0]))
    outputs = {
        f"output{place}": _argument(output, buffers.__getitem__)
        for place, output in enumerate(steps["outputs"])
        if "buffer" in output
    }
    written = {name: tensor for name, tensor in given.items() if name.startswith("input")}
    return {**outputs, **{f"after_{name}": tensor for name, tensor in written.items()}}


def inputs(path: Path, number: int) -> Dict[str, Any]:
    """The inputs of a graph by name, and under ``expected`` its outputs and changed inputs."""
    stored = torch.load(path)[number]
    arguments = {
        f"input{place}": tensor
        for place, tensor in enumerate(stored["inputs"])
        if isinstance(tensor, torch.Tensor)
    }
    # A backward pass may overwrite inputs that are no longer needed; only its intended writes count.
    after = {
        f"after_input{place}": value
        for place, (value, before) in enumerate(zip(stored["after"], stored["inputs"]))
        if isinstance(value, torch.Tensor) and (number == 0 or not _same(value, before))
    }
    outputs = {
        f"output{place}": output
        for place, output in enumerate(stored["outputs"])
        if isinstance(output, torch.Tensor)
    }
    return {**arguments, "expected": {**outputs, **after}}


def _same(first: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(_bytes(first), _bytes(other))


def expected(given: Dict[str, Any]) -> Dict[str, torch.Tensor]:
    """Returns the expected outputs of a graph, from its `inputs`."""
    return given["expected"]


def _names(spec: Dict[str, Any]) -> List[str]:
    return list(dict.fromkeys(step["kernel"] for step in spec["steps"] if "kernel" in step))


def _function(home: Path, kernel: Dict[str, Any]) -> Any:
    # The folder of a torch, with its helpers, is two above that of a program.
    helpers = str(home.parent.parent)
    if helpers not in sys.path:
        sys.path.insert(0, helpers)
    path = home / f"{kernel['id']}.py"
    name = f"crosswarp_{home.parent.parent.name}_{home.name}_{kernel['id']}".replace(
        ".", "_"
    ).replace("-", "_")
    return getattr(loading.load(name, path), kernel["name"])


def _launch(
    function: Any, kernel: Dict[str, Any], place: int, values: Sequence[Any], grid: Any
) -> None:
    configuration = kernel["configurations"][place]
    constants = configuration["constants"]
    names = [name for name in kernel["arguments"] if name not in constants]
    if len(values) != len(names):
        # The call may omit arguments that inductor has made constants.
        names = [name for name in names if name not in kernel["constants"]]
    if len(values) != len(names):
        msg = (
            f"{kernel['name']} takes {', '.join(names)}, and {len(values)} arguments were recorded"
        )
        raise TypeError(msg)
    keywords = {**_constants(kernel), **constants, **dict(zip(names, values))}
    function[grid](**keywords, **configuration["options"])


def _constants(kernel: Dict[str, Any]) -> Dict[str, Any]:
    return {
        name: value for name, value in kernel["constants"].items() if name in kernel["arguments"]
    }


def _of_signature(kernel: Dict[str, Any], place: int) -> List[Any]:
    constants = {**kernel["constants"], **kernel["configurations"][place]["constants"]}
    names = [name for name in kernel["arguments"] if name not in constants]
    return [
        _of_type(kernel["signature"].get(name, ""), name in kernel["divisible"]) for name in names
    ]


def _of_type(kind: str, divisible: bool) -> Any:
    if kind.startswith("*"):
        return torch.zeros(_ELEMENTS, dtype=torch.float32).to(getattr(torch, TORCH[kind[1:]]))
    if kind == "i1":
        return True
    if kind[:1] in "iu":
        return _NUMBER if divisible else _NUMBER + 1
    return 1.5


def _blank(buffers: Dict[int, torch.Tensor]) -> Any:
    """Makes buffers as they are asked for: where nothing is computed, a small one of each does."""

    def made(at: int) -> torch.Tensor:
        return buffers.setdefault(at, torch.zeros(0, dtype=torch.uint8))

    return made


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def _argument(spec: Dict[str, Any], buffer: Any) -> Any:
    if "buffer" not in spec:
        return spec["value"]
    dtype = getattr(torch, spec["dtype"])
    storage = buffer(spec["buffer"]).untyped_storage()
    # A buffer that does not exist yet grows to the required size.
    return torch.empty(0, dtype=dtype).set_(storage, spec["offset"], spec["shape"], spec["strides"])
