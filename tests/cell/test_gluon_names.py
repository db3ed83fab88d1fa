"""Gluon in the spelling of another release: refused by Triton, compiled with compat, and computed as it says."""

import fnmatch
import importlib
import subprocess
import sys

import pytest
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat.versions import in_window
from crosswarp.kernels import gluon_tcgen05, gluon_warp_specialize
from crosswarp.kernels.gluon_import import gl, gluon, language
from crosswarp.kernels.known_issues import gluon_names
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching

pytestmark = pytest.mark.triton(">=3.5,<3.10")
VERSION = triton.__version__
TARGETS = {"sm_100": targets.SM_100, "gfx942": targets.GFX942, "gfx1100": targets.GFX1100}
# Where Triton has the spelling of a case by itself.
NATIVE = {
    **dict.fromkeys(("thread-barrier", "expect-bytes"), "<3.7"),
    **dict.fromkeys(("reinterpret", "boundary-check", "cache-by-place", "gfx1250-tdm"), "<3.9"),
    **dict.fromkeys(("memory-ctas", "float2", "tuple-value"), "<3.8"),
    "block-bases": "<3.7",
    "warps-per-cta": "<3.7",
    "arrive-by-place": "<3.5",
}
# Values that differ between releases, under the same name.
NOT_FIXED = ("float2", "warps-per-cta")
# Computed as well: one of each family.
COMPUTED = ("default-ctas", "unpacked", "reinterpret", "expect-bytes")


def launched(kernel, case, target, shimmed):
    """Whether the outputs are right, or what was raised, and the fixes that acted."""
    virtual_gpu.activate(TARGETS[target])
    if shimmed:
        compat.install(only=["gluon_names"])
    machine = case.id in COMPUTED or kernel is gluon_tcgen05
    if machine and target == "sm_100":
        launching.run_with(emulate.Machine(60))
    given = kernel.inputs(case, torch.device("cpu"), torch.Generator().manual_seed(1))
    try:
        found = kernel.launch(**given)
    except Exception as error:
        return f"{type(error).__name__}: {error} {error.__cause__}", []
    wanted = kernel.reference(**given)
    right = not machine or all(
        torch.allclose(found[name].double(), wanted[name], rtol=1e-3, atol=1e-3) for name in wanted
    )
    return right, compat.acted()


def target_of(case):
    return next(one for one in TARGETS if any(fnmatch.fnmatch(one, glob) for glob in case.targets))


CASES = [
    (kernel, case)
    for kernel in (gluon_names, gluon_tcgen05, gluon_warp_specialize)
    for case in kernel.KERNEL.cases
    if case.id != "async-wait"
]


def test_each_spelling_compiles_on_each_release(in_fork):
    def run(shimmed):
        # Fixes of names are for the whole process: every case in one.
        return {case.id: launched(kernel, case, target_of(case), shimmed) for kernel, case in CASES}

    bare, with_compat = in_fork(lambda: run(False)), in_fork(lambda: run(True))
    wrong = {}
    for kernel, case in CASES:
        lacks = in_window("<3.6", VERSION) and "gluon-of-3.6" in case.requires
        if case.id not in NOT_FIXED and not lacks and with_compat[case.id][0] is not True:
            wrong[case.id, "with compat"] = with_compat[case.id]
        if kernel is gluon_names and not lacks:
            native = in_window(NATIVE.get(case.id, "<3.6"), VERSION)
            later = "gluon-column-stride" in case.requires and in_window("<3.6", VERSION)
            if (bare[case.id][0] is True) != (native and not later):
                wrong[case.id, "without"] = bare[case.id]
    assert wrong == {}
    assert with_compat["unpacked"][1] == ([] if in_window("<3.6", VERSION) else ["gluon_names"])
    assert all(acted == [] for _, acted in bare.values())


@gluon.jit
def _copies(x_ptr, y_ptr, LAYOUT: gl.constexpr, SHARED: gl.constexpr):
    at = gl.arange(0, 128, layout=LAYOUT)
    tile = gl.allocate_shared_memory(gl.float32, [128], SHARED)
    tile.store(gl.load(x_ptr + at))
    gl.store(y_ptr + at, tile.load(LAYOUT))


def test_a_program_in_the_spelling_of_this_release_is_as_it_was(in_fork):
    def run(shimmed):
        virtual_gpu.activate(targets.SM_90)
        if shimmed:
            compat.install()
        layout = gl.BlockedLayout([1], [32], [4], [0])
        shared = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
        kernel = _copies[(1,)](torch.zeros(128), torch.zeros(128), layout, shared, num_warps=4)
        return kernel.hash, kernel.asm["ttgir"], repr((layout, shared)), compat.acted()

    bare, shimmed = in_fork(lambda: run(False)), in_fork(lambda: run(True))
    assert bare == shimmed
    assert bare[3] == []


@gluon.jit
def _one(x, y, layout: gl.constexpr):
    at = gl.arange(0, 128, layout=layout)
    gl.store(y + at, gl.load(x + at) + 1)


@gluon.jit
def _two(z, w, k, layout: gl.constexpr):
    at = gl.arange(0, 128, layout=layout)
    gl.store(w + at, gl.load(z + at) * k)


@gluon.jit
def _main(x):
    return x + 40


@gluon.jit
def _parts(x, y, z, w, LAYOUT: gl.constexpr):
    at = gl.arange(0, 128, layout=LAYOUT)
    first = gl.load(x + at)
    found = gl.warp_specialize(
        [(_main, (first,)), (_one, (x, y, LAYOUT)), (_two, (x, w, 3, LAYOUT))], [4, 4], [24, 24]
    )
    gl.store(z + at, found)


# The aggregate of the test below: a jit function reads only globals.
_Pair = None


@gluon.jit
def _in_an_aggregate(y_ptr, LAYOUT: gl.constexpr):
    at = gl.arange(0, 128, layout=LAYOUT)
    gl.store(y_ptr + at, _Pair(at, at + 1).sum())


def test_an_aggregate_with_a_constexpr_function_for_its_constructor(in_fork):
    def run(shimmed):
        virtual_gpu.activate(targets.SM_90)
        if shimmed:
            compat.install(only=["gluon_names"])
        launching.run_with(emulate.Machine(60))
        from triton.language import core

        class Pair:
            one: gl.tensor
            other: gl.tensor

            @gluon.constexpr_function
            def __init__(self, one, other):
                self.one = one
                self.other = other

            @gluon.jit
            def sum(self):
                return self.one + self.other

        try:
            globals()["_Pair"] = core._aggregate(Pair)
        except ValueError as error:
            return str(error)
        y = torch.zeros(128, dtype=torch.int32)
        try:
            _in_an_aggregate[(1,)](y, gl.BlockedLayout([1], [32], [4], [0]))
        except Exception as error:
            return f"{error} {error.__cause__}"
        return y.tolist() == [2 * one + 1 for one in range(128)]

    # Without compat first: what it compiles with compat, the cache would hand on.
    bare, with_compat = in_fork(lambda: run(False)), in_fork(lambda: run(True))
    assert with_compat is True
    if in_window("<3.6", VERSION):
        assert "cannot be a @triton.jit function" in str(bare)
    else:
        assert bare is True


@pytest.mark.triton(">=3.8,<3.10")
def test_a_tuple_of_tensors_has_no_value_and_one_with_such_a_field_keeps_it(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install(only=["gluon_names"])
        from triton.language import core

        one, two = core.constexpr(1), core.constexpr(2)
        named = core.tuple([one, two], core.tuple_type([one.type, two.type], ["value", "other"]))
        of_tensors = core.tuple([core.tensor(None, core.int32)])
        return named.value is one, hasattr(of_tensors, "value"), compat.acted()

    assert in_fork(run) == (True, False, [])


def test_workers_with_arguments_of_their_own(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install(only=["gluon_names"])
        launching.run_with(emulate.Machine(60))
        x, y, z, w = torch.arange(128.0), *(torch.zeros(128) for _ in range(3))
        _parts[(1,)](x, y, z, w, gl.BlockedLayout([1], [32], [4], [0]), num_warps=4)
        return [torch.equal(one, two) for one, two in ((y, x + 1), (z, x + 40), (w, x * 3))]

    assert in_fork(run) == [True, True, True]


@pytest.mark.parametrize("size", [32, 16])
def test_unpacked_depends_on_the_elements(in_fork, size):
    def run():
        compat.install(only=["gluon_names"])
        blackwell = language("nvidia.blackwell")
        both = [
            blackwell.TensorMemoryLayout([128, 64], unpacked=True),
            blackwell.TensorMemoryLayout([128, 64], col_stride=32 // size),
        ]
        kinds = [
            blackwell.tensor_memory_descriptor_type(
                {32: gl.float32, 16: gl.float16}[size], [128, 64], one, [128, 64]
            )
            for one in both
        ]
        other = blackwell.TensorMemoryLayout([128, 64], col_stride=1)
        return kinds[0].layout == kinds[1].layout, both[0].mangle() == other.mangle()

    same, one_name = in_fork(run)
    # On 3.5 the name says it; later it has to, until the type is known.
    assert same and not one_name


WAITS = """
import sys
from crosswarp import compat
import triton
compat.install(only=["gluon_names"])
assert "triton.experimental.gluon" not in sys.modules
finders = len(sys.meta_path)
from triton.experimental.gluon import language as gl
assert gl.barrier and gl.thread_barrier and gl.num_warps
compat.uninstall()
print(hasattr(gl, "barrier"), hasattr(gl, "thread_barrier"), finders - len(sys.meta_path))
compat.install()
assert gl.barrier and gl.thread_barrier
compat.uninstall()
"""


def test_gluon_is_not_imported_for_it_and_all_is_taken_back():
    done = subprocess.run([sys.executable, "-c", WAITS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    new = in_window(">=3.7", VERSION)
    assert done.stdout.split() == [str(new), str(not new), "1"]


def test_scope_and_switches(in_fork):
    def run(**asked):
        compat.install(**asked)
        language = importlib.import_module("triton.experimental.gluon.language")
        return hasattr(language, "barrier") and hasattr(language, "thread_barrier")

    # Names are there for the whole process, whoever asked.
    assert in_fork(lambda: run(scope="somebody"))
    assert not in_fork(lambda: run(exclude=["gluon_names"]))
    assert not in_fork(lambda: run(tiers=["silent"]))


def an_aggregate_of_fields(shimmed):
    """The outputs of a kernel that makes one, and what is waited for after a store."""
    virtual_gpu.activate(targets.SM_90)
    if shimmed:
        compat.install(only=["gluon_names"])
    machine = emulate.Machine(60)
    launching.run_with(machine)
    from triton.experimental.gluon.language.nvidia.hopper import tma

    @triton.language.core._aggregate
    class Line:
        place: gl.tensor
        shift: gl.constexpr
        slope: gl.constexpr = 2

    @gluon.jit
    def kernel(out_ptr, N: gl.constexpr):
        line = Line(gl.arange(0, N, gl.BlockedLayout([1], [32], [4], [0])), shift=3)
        gl.store(out_ptr + line.place, line.place * line.slope + line.shift)
        tma.store_wait(0, read_only=False)

    out = torch.zeros(128, dtype=torch.int32)
    waits = kernel[(1,)](out, N=128).asm["ptx"].count("cp.async.bulk.wait_group \t0;")
    waits = waits or kernel[(1,)](out, N=128).asm["ptx"].count("cp.async.bulk.wait_group 0;")
    return out.tolist(), waits, compat.acted()


def test_an_aggregate_takes_its_fields_and_a_store_is_waited_for_until_it_is_seen(in_fork):
    before = in_window("<3.8", triton.__version__)
    out, waits, acted = in_fork(lambda: an_aggregate_of_fields(True))
    assert out == [2 * place + 3 for place in range(128)] and waits == 1
    assert acted == (["gluon_names"] if before else [])


@pytest.mark.triton("<3.8")
def test_without_compat_an_aggregate_needs_a_constructor(in_fork):
    def run():
        with pytest.raises(Exception) as raised:
            an_aggregate_of_fields(False)
        return str(raised.value)

    text = in_fork(run)
    # Triton 3.5 calls that of `object`.
    assert "__init__" in text or "did not initialize attribute" in text


@pytest.mark.triton("<3.6")
def test_a_layout_of_tensor_memory_takes_a_block_that_is_a_constexpr(in_fork):
    def run():
        compat.install(only=["gluon_names"])
        layout = language("nvidia.blackwell").TensorMemoryLayout
        return layout(gl.constexpr((64, 32)), col_stride=1).block

    assert in_fork(run) == (64, 32)
