"""What the ``torch.compile`` of a torch needs of a Triton that it does not pin, and which shim brings it."""

from typing import Iterator, NamedTuple

from .versions import in_window


class Need(NamedTuple):
    """
    Attributes:
        torch: releases of torch that ask for it.
        triton: releases of Triton that lack it.
        what: it is, and what happens without.
        shim: that brings it.
    """

    torch: str
    triton: str
    what: str
    shim: str


NEEDS = (
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
)


def needs(torch: str, triton: str) -> Iterator[Need]:
    """What a pair needs, in order."""
    return (
        need for need in NEEDS if in_window(need.torch, torch) and in_window(need.triton, triton)
    )
