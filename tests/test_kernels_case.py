"""The kernel package without Triton: discovery, and that importing it costs nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import crosswarp.kernels as kernels
from crosswarp.kernels import Case, Kernel
from crosswarp.kernels.case import kernel_of


def test_every_kernel_file_is_found():
    folder = Path(kernels.__file__).parent
    assert {"chunk_gated_delta_rule", "layer_norm", "matmul"} <= set(kernels.SUITE)
    assert all((folder / f"{name}.py").is_file() for name in kernels.SUITE)
    assert not {"__init__", "case"} & set(kernels.SUITE)


def test_no_two_kernels_share_a_name():
    assert len(set(kernels.NAMES)) == len(kernels.NAMES)


def test_an_unknown_kernel_is_answered_with_the_known_ones():
    with pytest.raises(KeyError, match="no kernel named 'layernorm'.*layer_norm"):
        kernels.load("layernorm")


def test_the_names_can_be_read_without_torch_and_triton():
    code = (
        "import sys, crosswarp.kernels as k; assert k.NAMES;"
        "assert not {'torch', 'triton', 'numpy'} & set(sys.modules), sorted(sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


def test_features_of_a_case_are_its_own_and_its_kernels():
    case = Case("a", "bf16", {}, requires=("autotune",))
    kernel = Kernel("k", (case,), dict, dict, dict, {"bf16": 1.0}, uses=("dot",))
    assert kernel.features(case) == {"autotune", "bf16", "dot"}


def test_a_module_gives_its_kernel_a_name_and_its_functions():
    module = {"__file__": "/suite/double.py", "inputs": dict, "launch": list}
    case = Case("a", "fp32", {})
    kernel = kernel_of(module, cases=(case,), launch=tuple)
    assert kernel == Kernel("double", (case,), dict, tuple)


def test_no_file_outgrows_the_house_style():
    for path in Path(kernels.__file__).parent.rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path.name
