"""``tl.atomic_xchg`` of a tile does not compile for AMD's newer targets from Triton 3.6 on.

Atomics of a tile become instructions of a buffer there, and up to 3.8 this one by a name that LLVM does not know:
"failed to translate module to LLVM IR". Triton 3.9 has the name, but of float64 there is no such instruction, and the
compiler dies. A kernel with such an exchange keeps to global atomics, as every kernel did before 3.6.

Cost: all atomics of such a kernel are global ones. Every other kernel becomes what it was; those that name
tl.atomic_xchg are compiled once more, under a separate key.
"""

from __future__ import annotations

from typing import Any, Iterator, Tuple

from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, LeaveOut, Shim
from ..versions import in_window

_EXCHANGES = lazily(r"\batomic_xchg\b")
# In the IR: %5 = tt.atomic_rmw exch, acq_rel, gpu, %3, %4, %cst : (tensor<256x!tt.ptr<i32>>, tensor<256xi32>, …
# System-scope atomics and scalar atomics are never lowered to buffer instructions.
_EXCHANGE = lazily(
    r"\btt\.atomic_rmw exch, \w+, (?!sys\b)[^\n]*? : \(tensor<(?:\d+x)+!tt\.ptr<(\w+)"
)


def exchanges(ir: str, double_alone: bool = False) -> bool:
    """Whether a kernel, as IR of Triton's, has an exchange that may be lowered to a buffer instruction.

    Args:
        double_alone: only those of float64 count.
    """
    return any(kind == "f64" or not double_alone for kind in _EXCHANGE.findall(ir))


def _without_atomics(args: Tuple[Any, ...]) -> Tuple[Any, ...]:
    manager, arch, _, *rest = args
    return (manager, arch, False, *rest)


def _is_refused(ir: str) -> bool:
    import triton

    return exchanges(ir, double_alone=in_window(">=3.9", triton.__version__))


def _adders() -> Iterator[Tuple[Any, str]]:
    import triton
    import triton._C.libtriton as module

    if "amd" in triton.backends.backends:  # else a build for NVIDIA alone
        yield module.amd.passes.ttgpuir, "add_convert_to_buffer_ops"


# See also triton-lang/triton#11904.
# Breakpoint: Triton 3.9 for all but float64; for that none yet, #11904 is open.
SHIM = Shim(
    name="buffer_exchange",
    issue="triton-11019",
    tier="refused",
    window=">=3.6",
    symptom="RuntimeError: failed to translate module to LLVM IR, from tl.atomic_xchg on AMD\n"
    "LLVM ERROR: Cannot select: BUFFER_ATOMIC_SWAP, from tl.atomic_xchg of float64 on AMD",
    link="https://github.com/triton-lang/triton/pull/11019",
    delete_when="Triton exchanges float64 as well, and no column before that is left",
    revision=1,
    concerns=Concerned(source_says(_EXCHANGES)),
    changes=(LeaveOut(_is_refused, _adders, ("amd",), _without_atomics),),
)
