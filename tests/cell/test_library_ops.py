"""What stands between a library and the virtual GPU: torch's answers, the limit on tuning, what is imported ahead."""

import json
import sys
from pathlib import Path

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu, virtual_torch
from crosswarp.matrix.cell.standins.virtual_gpu import launches
from crosswarp.matrix.cell.starting import warm

pytestmark = pytest.mark.both_ends

LIBRARY_OPS = Path(virtual_gpu.__file__).parents[2] / "kinds" / "library_ops"
AMD = targets.GFX942 if in_window(">=3.0", triton.__version__) else None


@pytest.fixture
def ops(tmp_path, monkeypatch):
    """The module _library, with a specification of its own."""
    spec = tmp_path / "spec.json"
    settings = {"releases": {"lib": {"1.0": str(tmp_path), "2.0": str(tmp_path)}}, "ops": ["*"]}
    spec.write_text(json.dumps({"libraries": {**settings, "configurations": 2}}))
    monkeypatch.setenv("CROSSWARP_SPEC", str(spec))
    monkeypatch.syspath_prepend(str(LIBRARY_OPS))
    import _library

    return _library


def test_torch_answers_for_the_target_and_tensors_stay_on_the_cpu(ops, in_fork, tmp_path):
    def run():
        virtual_gpu.activate(targets.SM_90)
        before = torch.cuda.is_available()
        ops._use(str(tmp_path), 2)
        x = torch.ones(3, device="cuda").requires_grad_()
        (x * 2).sum().backward()
        asked = torch.cuda.is_available(), torch.cuda.get_device_capability(), x.is_cuda
        return before, asked, x.grad.tolist(), sys.path[-1] == str(tmp_path)

    assert in_fork(run) == (False, (True, (9, 0), True), [2.0, 2.0, 2.0], True)


def test_torch_looks_for_a_gpu_of_triton_again(in_fork):
    def run():
        from torch.utils._triton import has_triton

        before = has_triton()
        virtual_gpu.activate(targets.SM_90)
        patches = virtual_torch.install(targets.SM_90)
        found = has_triton()
        patches.undo()
        return before, found, has_triton()

    assert in_fork(run) == (False, True, False)


@pytest.mark.triton(">=3.0")
def test_torch_is_a_build_for_rocm_on_an_amd_target(ops, in_fork, tmp_path):
    def run():
        virtual_gpu.activate(AMD)
        ops._use(str(tmp_path), 2)
        properties = torch.cuda.get_device_properties(torch.device("cuda"))
        return torch.version.hip is not None, properties.gcnArchName, properties.warp_size

    assert in_fork(run) == (True, "gfx942", 64)


def test_modules_of_a_package_are_imported_without_its_root(ops, in_fork, tmp_path):
    package = tmp_path / "crosswarp_heavy"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('models')\n")
    (package / "kernels.py").write_text("value = 1\n")

    def run():
        sys.path.append(str(tmp_path))
        ops.without_root("crosswarp_heavy")
        ops.without_root("crosswarp_nowhere")
        from crosswarp_heavy.kernels import value

        return value, "crosswarp_nowhere" in sys.modules

    assert in_fork(run) == (1, False)


@pytest.mark.parametrize(("limit", "expected"), [(1, [8]), (2, [1, 8]), (3, [1, 2, 8]), (0, None)])
def test_tuning_is_limited_to_the_first_configurations_and_the_last(ops, in_fork, limit, expected):
    def run():
        virtual_gpu.activate(targets.SM_90)
        ops._limit_tuning(limit)
        warps = [1, 2, 4, 8]
        tuned = triton.autotune([triton.Config({}, num_warps=n) for n in warps], key=["n"])(filled)
        tuned[(1,)](torch.zeros(8), 8, BLOCK=8)
        return [launch.num_warps for launch in launches]

    tried = in_fork(run)
    # The one that was chosen is launched once more.
    assert sorted(set(tried)) == (expected or [1, 2, 4, 8])


def test_an_op_becomes_a_case_of_each_release_that_has_it(ops):
    def old():
        pass

    def new():
        pass

    made = ops.kernel("lib_x", "lib", (old, new), {"new": ">=2.0"})
    assert [case.id for case in made.cases] == ["old-1.0", "old-2.0", "new-2.0"]


def test_a_failure_says_whether_it_was_on_the_way_back(ops):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("no gradient")

    with pytest.raises(ValueError, match="no gradient") as caught:
        ops._forward_and_backward(lambda: Fails.apply(ops.tensor(2, dtype="float32")))
    assert caught.value.crosswarp_stage == "backward"


def test_what_one_release_imports_is_set_aside_for_it(tmp_path, in_fork):
    (tmp_path / "crosswarp_only_here.py").write_text("value = 1\n")

    def run():
        warm.warm({str(tmp_path): ["crosswarp_only_here", "crosswarp_nowhere"]})
        before = "crosswarp_only_here" in sys.modules, str(tmp_path) in sys.path
        warm.bring_back(str(tmp_path))
        return (*before, sys.modules["crosswarp_only_here"].value)

    assert in_fork(run) == (False, False, 1)


def test_what_an_extension_made_of_itself_is_set_aside_with_it(tmp_path, in_fork):
    made = "import sys, types\nsys.modules[__name__ + '.part'] = types.ModuleType(__name__ + '.part')\n"
    (tmp_path / "crosswarp_extension.py").write_text(made)

    def run():
        warm.warm({str(tmp_path): ["crosswarp_extension"]})
        left = [name for name in sys.modules if name.startswith("crosswarp_extension")]
        warm.bring_back(str(tmp_path))
        return left, "crosswarp_extension.part" in sys.modules

    assert in_fork(run) == ([], True)


@triton.jit
def filled(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1.0, mask=at < n)
