"""What torch before 2.7 tells Triton of a kernel's arguments, on a Triton that has no such class."""

import pytest
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat.shims import attrs_descriptor as shim
from crosswarp.kernels.known_issues import attrs_descriptor as case
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches, launching

pytestmark = pytest.mark.triton(">=3.3")


def _beside(version):
    # The torch of this column is another: what it would be beside is all that the shim asks.
    shim.torch_version = lambda: version


def test_it_is_red_bare_and_green_shimmed(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_80)
        try:
            case.launch(torch.ones(50))
            bare = "green"
        except ImportError as error:
            bare = str(error)
        _beside("2.6.0")
        compat.install()
        case.launch(torch.ones(50))
        return bare, [launch.num_warps for launch in launches]

    bare, warps = in_fork(run)
    assert "cannot import name 'AttrsDescriptor'" in bare
    assert warps == [4]


def test_a_launch_hands_over_every_argument(in_fork):
    def run():
        _beside("2.6.0")
        compat.install()
        virtual_gpu.activate(targets.SM_80)
        handed = []
        launching.run_with(lambda one: handed.append(one.arguments))
        case.launch(torch.ones(50))
        return [len(arguments) for arguments in handed], handed[0][3]

    # x, y, N and BLOCK, which torch leaves out.
    assert in_fork(run) == ([4], 64)


def test_what_is_known_of_an_argument_reaches_the_compiler(in_fork):
    def run():
        _beside("2.6.0")
        compat.install()
        from triton.compiler import ASTSource

        signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "i32"}
        told = shim.AttrsDescriptor.from_dict(
            {"arg_properties": {"tt.divisibility": (0, 1), "tt.equal_to": (2,)}}
        )
        source = ASTSource(case._double_kernel, signature, {"BLOCK": 64}, told)
        return source.signature, source.constants, source.attrs

    signature, constants, attrs = in_fork(run)
    assert signature == {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "constexpr", "BLOCK": "constexpr"}
    assert constants == {(2,): 1, (3,): 64}
    assert attrs == {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]}


@pytest.mark.parametrize("version", ["2.7.0", "2.15.0", None])
def test_beside_a_later_torch_nothing_is_replaced(in_fork, version):
    def run():
        from triton.compiler import ASTSource, CompiledKernel

        before = (ASTSource.__init__, CompiledKernel.__init__, CompiledKernel._init_handles)
        _beside(version)
        compat.install(only=["attrs_descriptor"])
        after = (ASTSource.__init__, CompiledKernel.__init__, CompiledKernel._init_handles)
        return before == after, hasattr(triton.compiler.compiler, "AttrsDescriptor")

    assert in_fork(run) == (True, False)


def test_it_is_written_into_a_kernel_as_it_is_read():
    told = shim.AttrsDescriptor((0, 3), (2,))
    assert eval(repr(told), {"AttrsDescriptor": shim.AttrsDescriptor}) == told
    assert (told.divisibility_16, told.equal_to_1) == ((0, 3), (2,))
