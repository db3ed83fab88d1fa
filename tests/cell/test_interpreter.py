"""The interpreter of this column: wrong bare inside each window and right outside it, right shimmed, and put back.

The cases run in one fresh process, because TRITON_INTERPRET must be set before Triton is imported.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import small_kernels
import torch
import triton

from crosswarp import compat
from crosswarp.compat.copies import COMMON
from crosswarp.compat.record import inner
from crosswarp.compat.seams.attribute import standing
from crosswarp.compat.shims import all_shims
from crosswarp.compat.shims.interpreter_numpy import pin
from crosswarp.compat.versions import in_window

VERSION = triton.__version__
CASES = Path(__file__).with_name("interpreter_cases.py")
# The interpreter of Triton 2.3 is no oracle at all.
oracle = pytest.mark.triton(">=3.0")

EVER, NEVER = ">=3.0", "<3.0"
HEALERS = {shim.name: shim.window for shim in all_shims() if shim.name.startswith("interpreter_")}
# case -> where the interpreter of published Triton gets it wrong, measured on 3.0.0 to 3.9.0
WRONG = {
    "bf16_add": EVER,
    "bf16_sub": EVER,
    "bf16_mul": EVER,
    "bf16_neg": EVER,
    "bf16_abs": NEVER,
    "bf16_div": NEVER,
    "bf16_fma": EVER,
    "bf16_less": EVER,
    "bf16_where": EVER,
    "bf16_maximum": ">=3.9",
    "bf16_clamp": ">=3.9",
    "bf16_dot": EVER,
    "bf16_cast_from_float32": EVER,
    "bf16_cast_toward_zero": EVER,
    "bf16_cast_from_float64": EVER,
    "bf16_cast_from_int32": EVER,
    "bf16_cast_to_others": NEVER,
    "bf16_cast_from_float16": EVER,
    "bf16_full": EVER,
    "bf16_sum": ">=3.3",
    "bf16_sum_of_rows": ">=3.3",
    "bf16_max": NEVER,
    "bf16_argmax": ">=3.9",
    "bf16_cumsum": ">=3.9",
    "bf16_custom_reduction": EVER,
    "bf16_atomic_add": ">=3.4",
    "bf16_padding_nan": ">=3.0,<3.8",
    "fp8_cast_from_float32": EVER,
    "fp8_cast_saturates": EVER,
    "fp8_cast_to_float32": EVER,
    "fp8_cast_from_bf16": EVER,
    "nan_maximum": ">=3.0,<3.8",
    "nan_clamp": ">=3.0,<3.8",
    "nan_max": ">=3.0,<3.5",
    "atomic_add_float16": ">=3.0,<3.3",
    "float_argument": ">=3.2",
    "sum_of_bool": ">=3.0,<3.3",
    "mask_of_a_scalar": ">=3.9",
    "while_condition": ">=3.5,<3.9",
    "sum_of_int8": NEVER,
    "float_modulo": NEVER,
    "libdevice_tanh": EVER,
    "libdevice_by_name": EVER,
    "libdevice_cuda": EVER,
    "libdevice_float64": EVER,
    "libdevice_functions": EVER,
    "libdevice_refuses_types": EVER,
    "tensor_methods": ">=3.0,<3.9",
    "reserved_option": "<3.3",
    "runtime_bound": NEVER,
    "configured": "==3.2.*",
    # Where there is a GPU the autotuner measures on it.
    "autotuned": NEVER if torch.cuda.is_available() else EVER,
}


@pytest.fixture(scope="module")
def found():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(CASES)],
        env=dict(os.environ, TRITON_INTERPRET="1"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@oracle
def test_every_case_is_in_the_table(found):
    assert set(found["cases"]) == set(WRONG)


@oracle
@pytest.mark.parametrize("name", WRONG)
def test_case(found, name):
    bare, shimmed, after = found["cases"][name]
    assert shimmed == "ok"
    assert (bare != "ok") is in_window(WRONG[name], VERSION), bare
    # Uninstalled, it is as wrong as it was.
    assert (after != "ok") is (bare != "ok"), after


@oracle
def test_the_shims_that_acted_are_those_inside_their_window(found):
    inside = {name for name, window in HEALERS.items() if in_window(window, VERSION)}
    # Needed with another numpy, or without a GPU.
    idle = {"interpreter_numpy"} | (
        {"interpreter_autotune"} if torch.cuda.is_available() else set()
    )
    assert inside.intersection(found["acted"]) - idle == inside - idle
    assert not set(found["acted"]).intersection(HEALERS) - inside


@oracle
def test_nothing_is_replaced_outside_the_windows_and_all_is_put_back(found):
    assert (found["unexpected"], found["left"]) == ([], [])


@pytest.mark.parametrize(
    "triton_version, numpy, wanted",
    [
        ("2.3.1", "2.0.2", "numpy<2"),
        ("3.0.0", "1.26.4", None),
        ("3.1.0", "2.3.5", "numpy<2"),
        ("3.2.0", "2.3.5", None),
        ("3.2.0", "2.4.0", "numpy<2.4"),
        ("3.6.0", "2.4.6", "numpy<2.4"),
        ("3.7.1", "2.4.6", None),
    ],
)
def test_numpy_that_is_too_new_has_a_pin(triton_version, numpy, wanted):
    found = pin(triton_version, numpy)
    assert (found and found[0]) == wanted


@oracle
def test_numpy_that_is_too_new_is_refused_before_anything_is_launched(found):
    said = found["too new"]
    if in_window("<3.2", VERSION):
        assert 'pip install "numpy<2"' in said and "wrong memory" in said
    elif in_window("<3.7", VERSION):
        assert 'pip install "numpy<2.4"' in said
    else:
        assert said == "ok"


def surface():
    """What kernels find in triton.language, below the interpreter's own wrappers."""
    import triton.language as tl

    owners = {"tl": tl, "math": tl.math, "core": tl.core, "tensor": tl.tensor}
    return {
        f"{owner}.{name}": inner(value) or value
        for owner, holder in owners.items()
        for name, value in vars(holder).items()
    }


def changed(before):
    now = surface()
    return sorted(key for key in before.keys() | now.keys() if before.get(key) is not now.get(key))


def interpreted():
    """Launch a kernel in the interpreter, which is imported for it."""
    with_env = dict(os.environ)
    os.environ["TRITON_INTERPRET"] = "1"
    try:
        x, y = torch.ones(100), torch.zeros(100)
        triton.jit(small_kernels.scaled.fn)[(1,)](x, y, 100, BLOCK=128)
    finally:
        os.environ.clear()
        os.environ.update(with_env)
    return y


def test_all_is_put_back_although_the_interpreter_wrapped_it(in_fork):
    def bare():
        before = surface()
        interpreted()
        return changed(before)

    def shimmed():
        before = surface()
        for _ in range(2):
            compat.install()
            interpreted()
            compat.uninstall()
        return changed(before), sys.meta_path == finders

    finders = list(sys.meta_path)
    # The interpreter itself replaces some names for good.
    assert in_fork(shimmed) == (in_fork(bare), True)


def replaced():
    """Owner, name and what is there now, of what is ours in Triton's interpreter."""
    interpreter = sys.modules["triton.runtime.interpreter"]
    owners = [interpreter, *(one for one in vars(interpreter).values() if isinstance(one, type))]
    patches = [part.patches for part in [*COMMON.applied, *standing()]]
    return [
        (owner, name, ours)
        for one in patches
        for owner, name, ours in one.replaced()
        if any(owner is its for its in owners) and vars(owner).get(name) is ours
    ]


def test_a_kernel_that_is_interpreted_later_is_healed_as_well(in_fork):
    def run():
        compat.install()
        doubled = interpreted()
        inside = replaced()
        compat.uninstall()
        left = [name for owner, name, ours in inside if vars(owner).get(name) is ours]
        return doubled.tolist(), bool(inside), left

    assert in_fork(run) == ([2.0] * 100, True, [])


COMPILES = """
import sys, triton
from triton.runtime.autotuner import Autotuner
from crosswarp.compat.record import Patches
from crosswarp.compat.shims import all_shims
from crosswarp.compat.versions import in_window
loaded, tuner = set(sys.modules), dict(vars(Autotuner))
finders = list(sys.meta_path)
for shim in all_shims():
    if shim.name.startswith("interpreter_") and in_window(shim.window, triton.__version__):
        patches = Patches()
        shim.apply(patches)
        assert dict(vars(Autotuner)) == tuner, shim.name
        patches.undo()
assert sys.meta_path == finders
print(sorted({"numpy", "triton.runtime.interpreter"} & (set(sys.modules) - loaded)))
"""


def test_who_only_compiles_pays_nothing():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILES],
        env={name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
