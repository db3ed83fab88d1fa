"""Eleven of Helion's own examples, computed on the CPU with every Triton: docs/evidence/helion.md.

Run by hand. EXAMPLES is the folder `examples` of Helion's repository, HELION an interpreter with Helion, Triton 3.9.0
and crosswarp, each PYTHON another with some Triton and crosswarp.

    python tests/proofs/helion_examples.py write EXAMPLES HELION OUT        the Triton that Helion makes, once
    python tests/proofs/helion_examples.py compute OUT bare PYTHON..        on each; `shimmed`: with compat
    python tests/proofs/helion_examples.py table OUT                        print what was computed

OUT is not ours to publish. The first two run this file as tests on the virtual GPU.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TARGET = "sm_90"
# The kernel -> the file of the example that has it.
EXAMPLES = {
    "add": "add", "exp_fwd": "exp", "sum_kernel": "sum", "softmax": "softmax", "softmax_decomposed": "softmax",
    "welford": "welford", "concat2d_dim1": "concatenate", "cross_entropy": "cross_entropy",
    "embedding": "embedding", "bmm": "bmm", "rms_norm_fwd": "rms_norm",
}  # fmt: skip
# Helion needs a newer torch than the oldest columns have. Its output needs a launcher and one file of helpers.
LAUNCHER = """\
def default_launcher(kernel, grid, *args, **options):
    return kernel[grid](*args, **options)
"""


def _inputs(name: str) -> tuple[Any, ...]:
    import torch

    torch.manual_seed(0)
    x, y = (torch.randn(24, 40, device="cuda") for _ in range(2))
    if name in ("add", "concat2d_dim1"):
        return x, y
    if name == "welford":
        return torch.randn(40, device="cuda"), torch.randn(40, device="cuda"), x
    if name == "cross_entropy":
        return x, torch.randint(0, 40, (24,), device="cuda")
    if name == "embedding":
        return torch.randint(0, 24, (6, 4), device="cuda"), x
    if name == "rms_norm_fwd":
        return x, torch.randn(40, device="cuda")
    if name == "bmm":
        a, b = torch.randn(2, 32, 64, device="cuda"), torch.randn(2, 64, 48, device="cuda")
        return a.half(), b.half()
    return (x,)


def _reference(name: str, x: Any, y: Any = None, z: Any = None) -> Any:
    import torch
    from torch.nn import functional

    if name == "welford":
        return functional.layer_norm(z, (z.shape[1],), x, y)
    return {
        "add": lambda: x + y,
        "exp_fwd": lambda: torch.exp(x),
        "sum_kernel": lambda: x.sum(-1),
        "softmax": lambda: torch.softmax(x, 1),
        "softmax_decomposed": lambda: torch.softmax(x, 1),
        "concat2d_dim1": lambda: torch.cat([x, y], 1),
        "cross_entropy": lambda: functional.cross_entropy(x, y),
        "embedding": lambda: functional.embedding(x, y),
        "bmm": lambda: torch.bmm(x, y),
        "rms_norm_fwd": lambda: functional.rms_norm(x, (40,), y, 1e-5),
    }[name]()


def _loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_generate_tests(metafunc: Any) -> None:
    if metafunc.function is test_compute:
        # Once, rather than in each test's child: Helion's output imports it.
        importlib.import_module("torch._inductor.runtime.triton_helpers")
    metafunc.parametrize("name", EXAMPLES)


def test_write(name: str) -> None:
    kernel = getattr(_loaded(Path(os.environ["EXAMPLES"], f"{EXAMPLES[name]}.py")), name)
    bound = kernel.bind(_inputs(name))
    configs = kernel.configs or [bound.config_spec.default_config()]
    Path(os.environ["OUT"], f"{name}.py").write_text(bound.to_triton_code(configs[0]))


def test_compute(name: str) -> None:
    import pytest
    import torch

    path = Path(os.environ["OUT"], f"{name}.py")
    if not path.exists():
        pytest.skip("Helion did not write it")
    function = getattr(_loaded(path), name)
    given = _inputs(name)
    loose = {"rtol": 1e-2, "atol": 1e-2} if name == "bmm" else {}
    result = function(*given)
    # rms_norm_fwd returns the factors as well.
    result = result[0] if isinstance(result, tuple) else result
    torch.testing.assert_close(result, _reference(name, *given), **loose)


def _tests(python: str, test: str, out: Path, records: Path, *options: str) -> None:
    """Runs this file's tests with an interpreter; their records are in the file."""
    records.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", test, __file__]
    command += [
        f"--virtual-gpu={TARGET}",
        f"--crosswarp-records={records}",
        "--crosswarp-time-limit=600",
        *options,
    ]
    subprocess.run(command, env={**os.environ, "OUT": str(out)}, check=False)


def _printed(python: str, code: str) -> str:
    return subprocess.check_output([python, "-c", code], text=True).strip()


def _write(examples: str, python: str, out: Path) -> None:
    asked = "import helion.runtime.triton.helpers as helpers; print(helpers.__file__)"
    place = out / "helion/runtime/triton"
    place.mkdir(parents=True, exist_ok=True)
    (place / "helpers.py").write_text(Path(_printed(python, asked)).read_text())
    (place.parent / "__init__.py").write_text(LAUNCHER)
    os.environ["EXAMPLES"] = examples
    _tests(python, "test_write", out, out / "written.jsonl")


def _compute(out: Path, mode: str, pythons: list[str]) -> None:
    os.environ["PYTHONPATH"] = str(out)
    option = {"bare": "--crosswarp-bare", "shimmed": "--crosswarp-shims"}[mode]
    for python in pythons:
        release = _printed(python, "import triton; print(triton.__version__)")
        records = out / f"{release}-{mode}.jsonl"
        _tests(python, "test_compute", out, records, "--virtual-gpu-lane=emulate", option)


def _table(out: Path) -> None:
    found: dict[str, dict[str, list[str]]] = {name: {} for name in EXAMPLES}
    causes: dict[str, list[str]] = {}
    files = sorted(out.glob("[0-9]*.jsonl"))
    releases = list(dict.fromkeys(file.name.partition("-")[0] for file in files))
    for file in files:
        for record in map(json.loads, file.read_text().splitlines()):
            name = record["test"].rpartition("[")[2].rstrip("]")
            found[name].setdefault(file.name.partition("-")[0], []).append(record["outcome"])
            if record["why"]:
                causes.setdefault(record["why"], []).append(f"{name} {file.stem}")
    print("| example |", " | ".join(releases), "|")
    print("| --- |" + " --- |" * len(releases))
    for name, row in found.items():
        cells = [" → ".join(dict.fromkeys(row.get(release, ["not run"]))) for release in releases]
        print(f"| `{name}` |", " | ".join(cells), "|")
    for why, where in causes.items():
        print(f"\n- {', '.join(where)}: {why}")


def main(command: str, *given: str) -> None:
    if command == "write":
        _write(given[0], given[1], Path(given[2]).resolve())
    elif command == "compute":
        _compute(Path(given[0]).resolve(), given[1], list(given[2:]))
    else:
        _table(Path(given[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
