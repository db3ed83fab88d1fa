"""The same bits on every processor: numpy, the C library and BLAS choose their code, and its last bits, by the CPU."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from running import Row, on_machine_only, outputs_of

from crosswarp.matrix.cell.judging import numbers

pytestmark = on_machine_only

# This machine as an older processor; what a machine or a release does not have is passed over.
OLDER = {
    "NPY_DISABLE_CPU_FEATURES": "AVX F16C FMA3 AVX2 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL "
    "AVX512_SPR X86_V3 X86_V4",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4",
    "OPENBLAS_CORETYPE": "Prescott",
}  # fmt: skip
FUNCTIONS = ("exp2", "log2", "sin", "cos", "tanh")


def rows():
    random = np.random.default_rng(7)
    single = random.uniform(-20, 20, 4096).astype(np.float32)
    half, brain = (
        single.astype(np.float16).view(np.uint16),
        (single.view(np.uint32) >> 16).astype(np.uint16),
    )
    single = single.view(np.uint32)
    for name in ("ex2", "lg2", "sin", "cos", "tanh"):
        yield Row(name, f"{name}.approx.f32 %x, %a;", [single & np.uint32(2**31 - 1)], [single])
    for name in ("ex2", "tanh"):
        ftz = ".ftz" if name == "ex2" else ""
        for kind, raw in (("f16", half), (f"{ftz.strip('.')}.bf16".strip("."), brain)):
            body = f"{name}.approx.{kind} %x, %a;"
            yield Row(body, body, [raw], [raw], target="sm_90", version="8.4")
    wide = [random.standard_normal(32).view(np.uint64) for _ in range(4)]
    body = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%x, %y}, {%a}, {%b}, {%c, %d};"
    yield Row("mma f64", body, wide, wide[:2])
    a, b, c = (random.standard_normal((4, 32)).astype(np.float32).view(np.uint32) for _ in range(3))
    names = "{%a, %b, %c, %d}"
    body = f"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{%x, %y, %z, %w}}, {names}, {{%a, %d}}, {names};"
    yield Row("mma tf32", body, list(a), list(b))


def bits():
    return {row.name: b"".join(output.tobytes() for output in outputs_of(row)) for row in rows()}


def _other_bits(function):
    """`function` as far off as another implementation may be: four units in the last place of what is not exact."""

    def nudged(value, *args, **options):
        result = np.asarray(function(value, *args, **options))
        whole = {2: np.uint16, 4: np.uint32, 8: np.uint64}[result.dtype.itemsize]
        raw = result.view(whole)
        inexact = np.isfinite(result) & ((raw & whole(15)) != 0)
        return (raw + whole(4) * inexact.astype(whole)).view(result.dtype)

    return nudged


def test_the_last_bits_of_numpy_s_functions_reach_no_instruction(monkeypatch):
    usual = bits()
    for name in FUNCTIONS:
        monkeypatch.setattr(np, name, _other_bits(getattr(np, name)))
    assert {name for name, found in bits().items() if found != usual[name]} == set()


def test_the_record_of_the_interpreter_shows_another_processor(monkeypatch):
    """It computes with numpy's own functions, so that only one processor's numbers can be compared."""
    usual = numbers.arithmetic()
    assert numbers.arithmetic() == usual
    monkeypatch.setattr(np, "tanh", _other_bits(np.tanh))
    assert numbers.arithmetic() != usual


@pytest.mark.skipif(sys.platform != "linux", reason="the switches are the C library's")
def test_an_older_processor_computes_the_same_bits():
    environment = {name: value for name, value in os.environ.items() if name not in OLDER}
    usual, older = (
        subprocess.run(
            [sys.executable, Path(__file__), "bits"],
            env={**environment, **switches},
            capture_output=True,
            check=True,
        ).stdout
        for switches in ({}, OLDER)
    )
    assert usual and usual == older


if __name__ == "__main__":
    sys.stdout.buffer.write(repr(bits()).encode())
