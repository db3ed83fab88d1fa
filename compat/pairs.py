"""Requirements of ``torch.compile`` on a Triton that its torch does not pin, and the shim that meets each."""

from typing import Iterator, NamedTuple

from .versions import in_window


class Need(NamedTuple):
    """
    Attributes:
        torch: releases of torch that ask for it.
        triton: releases of Triton that lack it.
        what: it is, and what happens without.
        shim: that brings it; empty where none does.
    """

    torch: str
    triton: str
    what: str
    shim: str


NEEDS = (
    Need(
        ">=2.4",
        "<3.0",
        "triton.backends and make_backend, or nothing is compiled",
        "",
    ),
    Need(
        ">=2.3,<2.4",
        ">=3.0",
        "triton.common, a pair for a target and launchers as they were, or nothing is compiled",
        "common_backend",
    ),
    Need(
        ">=2.3,<2.6",
        "==3.2.*",
        "an AttrsDescriptor that is a dataclass, or torch._inductor is not imported",
        "attrs_descriptor",
    ),
    Need(
        ">=2.3,<2.7",
        ">=3.3",
        "AttrsDescriptor, or nothing is compiled",
        "attrs_descriptor",
    ),
    Need(
        ">=2.4,<2.9",
        ">=3.5",
        "triton_key in compiler.compiler, or nothing is compiled",
        "moved_internals",
    ),
    Need(
        ">=2.3,<2.8",
        ">=3.4",
        "launch_enter_hook of CompiledKernel, or no kernel is launched",
        "moved_internals",
    ),
    Need(
        ">=2.3,<2.10",
        ">=3.6",
        "cluster_dims of a kernel's metadata, or nothing is compiled",
        "moved_internals",
    ),
    Need(
        ">=2.7,<2.10",
        ">=3.5",
        "kernels that can be pickled, or none comes back from a compile worker",
        "compile_workers",
    ),
)


def needs(torch: str, triton: str) -> Iterator[Need]:
    """The requirements of a pair, in order."""
    return (
        need for need in NEEDS if in_window(need.torch, torch) and in_window(need.triton, triton)
    )
