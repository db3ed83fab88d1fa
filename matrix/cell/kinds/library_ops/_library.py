"""Turn an op of a library into cases of the suite: one for each release that has it.

The host names in the specification, under `libraries`, the folder that holds each release, globs of the ops that are
wanted and the number of configurations to which autotuning is limited. A case runs in a forked child: it puts the
release's folder at the end of the import path (torch and Triton are the column's own), lets torch speak for the
virtual GPU, imports the library, and launches forward and backward. All of it must bind, compile and fit the target.
Nothing is executed, so no numbers are compared.
"""

import fnmatch
import importlib.util
import os
import sys
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from crosswarp.compat.versions import in_window
from crosswarp.kernels.case import Case, Kernel
from crosswarp.matrix.cell import asked
from crosswarp.matrix.cell.asked import LibraryOps


def kernel(
    name: str,
    library: str,
    ops: Sequence[Callable[[], Any]],
    releases: Optional[Mapping[str, str]] = None,
) -> Kernel:
    """The family `name` of ops of `library`, as a kernel whose cases are op x release.

    Args:
        ops: each has an op's name, imports it from the library, calls it, and returns its outputs.
        releases: the releases that have an op, of those ops that some release lacks.
    """
    settings = _settings()
    by_name = {op.__name__: op for op in ops}
    cases = [
        Case(f"{op}-{release}", "bf16", {}, lanes=("compile",), options={"op": op, "release": release})
        for release in settings.releases.get(library, {})
        for op in by_name
        if in_window((releases or {}).get(op, ""), release)
        and any(fnmatch.fnmatchcase(op, glob) for glob in settings.ops)
    ]  # fmt: skip

    def launch(op: str, release: str) -> Dict[str, Any]:
        _use(settings.releases[library][release], settings.configurations)
        _forward_and_backward(by_name[op])
        return {}

    return Kernel(
        name=name,
        cases=tuple(cases),
        inputs=lambda case, device, generator: {},
        launch=launch,
        reference=lambda **inputs: {},
        tolerance={},
    )


def tensor(*shape: int, dtype: str = "bfloat16", grad: bool = True) -> Any:
    """Random numbers that ask for a gradient."""
    import torch

    return torch.randn(*shape).to(getattr(torch, dtype)).requires_grad_(grad)


def labels(rows: int, classes: int) -> Any:
    import torch

    return torch.arange(rows) % classes


def without_root(package: str) -> None:
    """Let modules below `package` be imported without the package itself.

    For a package whose root imports models, C++ extensions and their dependencies, none of which its kernels use.
    """
    spec = importlib.util.find_spec(package)
    if package not in sys.modules and spec is not None:
        empty = importlib.util.module_from_spec(spec)
        sys.modules[package] = empty


def _settings() -> LibraryOps:
    libraries = asked.read(os.environ["CROSSWARP_SPEC"], asked.AskedSuite, ["libraries"]).libraries
    assert libraries is not None
    return libraries


def _use(folder: str, configurations: int) -> None:
    from crosswarp.matrix.cell.standins import virtual_torch
    from crosswarp.matrix.cell.standins.virtual_gpu.launching import active_target
    from crosswarp.matrix.cell.starting import warm

    sys.path.append(folder)
    warm.bring_back(folder)
    virtual_torch.install(active_target())
    _limit_tuning(configurations)


def _limit_tuning(configurations: int) -> None:
    """Let an autotuner try only so many of the configurations that survive its pruning: the first ones and the last.

    Every configuration is a compilation, a library has dozens for each kernel, and few of them differ in what makes a
    compiler fail. 0 tries all of them.
    """
    from triton.runtime.autotuner import Autotuner

    prune = Autotuner.prune_configs

    def pruned(tuner, *args, **kwargs):
        remaining = list(prune(tuner, *args, **kwargs))
        if 0 < configurations < len(remaining):
            remaining = remaining[: configurations - 1] + remaining[-1:]
        return remaining

    if configurations:
        Autotuner.prune_configs = pruned
    # A choice that an earlier process left on disk would hide this Triton's results for the others.
    if hasattr(Autotuner, "check_disk_cache"):
        Autotuner.check_disk_cache = lambda tuner, key, configs, bench: bool(bench())


def _forward_and_backward(call: Callable[[], Any]) -> None:
    stage = "import or forward"
    try:
        outputs = [out for out in _tensors(call()) if out.requires_grad]
        stage = "backward"
        if outputs:
            sum(out.float().sum() for out in outputs).backward()
    except (Exception, SystemExit) as error:
        error.crosswarp_stage = stage  # type: ignore[union-attr]
        raise


def _tensors(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _tensors(part)
