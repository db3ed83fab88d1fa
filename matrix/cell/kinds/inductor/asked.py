"""Which programs a specification asks for: ours, or one function of a user's file."""

import fnmatch
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Sequence, Tuple

from crosswarp.matrix.cell.asked import Programs
from crosswarp.matrix.cell.starting import loading

from .programs import load
from .programs.registry import Program


class NoProgram(RuntimeError):
    """The file has no such function, or no inputs for it."""


def programs(
    asked: Programs, torch_version: str, target: str
) -> Tuple[Dict[str, Program], Dict[str, str]]:
    """The programs that `asked` names, and those among them that this torch or the target lacks, with why.

    Raises:
        NoProgram, or whatever a user's file raises.
    """
    from crosswarp.compat.versions import in_window

    if asked.file:
        written = {asked.name: of_file(asked.file, asked.name, asked.dynamic)}
    else:
        written = {
            name: program
            for name, program in load().items()
            if any(fnmatch.fnmatchcase(name, glob) for glob in asked.programs)
        }
    lacking = {
        name: f"it uses what torch has in {program.torch}"
        for name, program in written.items()
        if program.torch and not in_window(program.torch, torch_version)
    }
    for name, program in written.items():
        if any(fnmatch.fnmatchcase(target, glob) for glob in program.not_on):
            lacking[name] = f"{target} has no type that it uses"
    return written, lacking


def of_file(path: str, name: str, dynamic: bool) -> Program:
    """Returns `name` of a file, with its inputs in the same file: ``NAME_inputs`` or ``example_inputs``.

    Raises:
        NoProgram, or any exception of the file.
    """
    import torch

    where = Path(path)
    sys.path.insert(0, str(where.parent))
    if where.suffix != ".py":
        msg = f"{path}: no Python file. Name one: my_module.py:step"
        raise NoProgram(msg)
    module = loading.load(where.stem, where)
    function = getattr(module, name, None)
    if not callable(function):
        msg = f"{path}: there is no {name} in it that can be called. Name a function of its own: {path}:step"
        raise NoProgram(msg)
    given = next(
        (vars(module)[key] for key in (f"{name}_inputs", "example_inputs") if key in vars(module)),
        None,
    )
    if given is None:
        msg = (
            f"{path}: there are no example inputs for {name}. Write a function {name}_inputs() beside it that returns "
            "them as a tuple, on the CPU."
        )
        raise NoProgram(msg)

    def make() -> Tuple[Callable, Sequence[Any]]:
        torch.manual_seed(0)
        inputs = given() if callable(given) else given
        return function, list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]

    def of_inputs(value: Any) -> bool:
        if isinstance(value, (tuple, list)):
            return any(of_inputs(part) for part in value)
        return isinstance(value, torch.Tensor) and value.requires_grad

    learns = isinstance(function, torch.nn.Module) and any(
        parameter.requires_grad for parameter in function.parameters()
    )
    return Program(name, make, backward=of_inputs(make()[1]) or learns, dynamic=dynamic)
