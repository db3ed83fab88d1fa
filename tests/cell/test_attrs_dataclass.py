"""What torch before 2.6 tells Triton 3.2 of a kernel's arguments: by a dataclass, and by their places."""

import dataclasses

import pytest
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat.shims import attrs_descriptor as shim
from crosswarp.kernels.known_issues import attrs_descriptor as case
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

pytestmark = pytest.mark.triton(">=3.2,<3.3")


def _launch():
    """As inductor of torch 2.5 does it."""
    from triton.compiler import ASTSource
    from triton.compiler.compiler import AttrsDescriptor

    virtual_gpu.activate(targets.SM_80)
    assert {"divisible_by_16", "equal_to_1"} <= {
        field.name for field in dataclasses.fields(AttrsDescriptor)
    }
    told = AttrsDescriptor(divisible_by_16=(0, 1), equal_to_1=())
    # It is written into the kernel's source, and read there.
    told = eval(repr(told), {"AttrsDescriptor": AttrsDescriptor})
    source = ASTSource(case._double_kernel, {0: "*fp32", 1: "*fp32", 2: "i32"}, {3: 64}, told)
    target = triton.runtime.driver.active.get_current_target()
    compiled = triton.compile(source, target=target, options={"num_warps": 4, "num_stages": 1})
    x = torch.ones(50)
    compiled[(1, 1, 1)](x, torch.empty_like(x), x.numel())
    return source, compiled.asm["ttir"]


def test_it_is_red_bare_and_green_shimmed(in_fork):
    def run():
        try:
            _launch()
            bare = "green"
        except TypeError as error:
            bare = str(error)
        shim.torch_version = lambda: "2.5.1"
        compat.install()
        source, ttir = _launch()
        return bare, source.signature, source.constants, ttir, len(launches)

    bare, signature, constants, ttir, launched = in_fork(run)
    assert bare == "must be called with a dataclass type or instance"
    assert signature == {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "i32"}
    assert constants == {"BLOCK": 64}
    assert launched == 1
    # Two pointers are known to be aligned, and the number of elements is not.
    head = ttir[ttir.index("tt.func") : ttir.index("attributes", ttir.index("tt.func"))]
    assert head.count("tt.divisibility = 16") == 2


def test_triton_makes_its_own_as_before(in_fork):
    def run():
        shim.torch_version = lambda: "2.5.1"
        compat.install()
        from triton.compiler import ASTSource

        virtual_gpu.activate(targets.SM_80)
        x = torch.ones(50)
        case._double_kernel[(1,)](x, torch.empty_like(x), 50, BLOCK=64)
        source = ASTSource(case._double_kernel, {"x_ptr": "*fp32"})
        return type(source.attrs).__module__, len(launches)

    assert in_fork(run) == ("triton.backends.compiler", 1)


@pytest.mark.parametrize("version", ["2.6.0", "2.15.0", None])
def test_beside_a_later_torch_nothing_is_replaced(in_fork, version):
    def run():
        from triton.compiler import ASTSource

        before = (ASTSource.__init__, triton.compiler.compiler.AttrsDescriptor)
        shim.torch_version = lambda: version
        compat.install(only=["attrs_descriptor"])
        return before == (ASTSource.__init__, triton.compiler.compiler.AttrsDescriptor)

    assert in_fork(run)
