"""The kernels that a release's compiler may die of: by release, target, launch option, and the kernel's own features.

Crash isolation costs a fork and a second look at Triton's cache. A kernel that no known issue can kill has neither.
From Triton 3.3 on a failed assertion of MLIR's becomes an exception, and the process lives: no record is needed.
"""

import re
from typing import Any, FrozenSet, Iterable, NamedTuple, Optional

from .features import backend_and_arch
from .patterns import lazily
from .reachable import names_of, reachable
from .versions import in_window

_LOOP = lazily(r"^\s*(?:for|while)\b", re.MULTILINE)
_BFLOAT16 = ("bfloat16", "bf16")


class Features(NamedTuple):
    """Traits of a kernel, with all that it calls.

    Attributes:
        names: of functions and attributes that it looks up, under their own name as well where it has an alias.
        loops: whether there is a loop.
        bfloat16: whether there may be a value of that type.
    """

    names: FrozenSet[str]
    loops: bool
    bfloat16: bool


class Crash(NamedTuple):
    """One way in which a compiler dies.

    Attributes:
        issue: a known issue (issues.toml) of this kind.
        window: the affected releases, as a specifier.
        names: the kernel uses one of these names; empty if none is needed.
        backend: of the targets, "" for every one.
        loops: whether the kernel must have a loop.
        bfloat16: whether the kernel must have a value of that type.
        num_ctas: the launch asks for at least so many.
    """

    issue: str
    window: str
    names: FrozenSet[str] = frozenset()
    backend: str = ""
    loops: bool = False
    bfloat16: bool = False
    num_ctas: int = 1

    def takes(self, features: Features) -> bool:
        """Whether a kernel with these features may crash so."""
        return (
            (not self.names or not self.names.isdisjoint(features.names))
            and (features.loops or not self.loops)
            and (features.bfloat16 or not self.bfloat16)
        )


_DOTS = frozenset({"dot", "dot_scaled"})
# tl.sum and the like come down to tl.reduce; a tensor's method names only itself.
_REDUCTIONS = frozenset({"reduce", "sum", "max", "min", "argmax", "argmin", "xor_sum"})
_SCANS = frozenset({"associative_scan", "cumsum", "cumprod"})
_TRANSPOSITIONS = frozenset({"trans", "permute", "T"})
_JOINS = frozenset({"flip", "join", "sort"})
_ATOMICS = frozenset(
    f"atomic_{name}" for name in ("add", "and", "cas", "max", "min", "or", "xchg", "xor")
)

CRASHES = (
    Crash("fla-196", "<3.3", _DOTS),
    Crash("triton-11682", "<3.3", _REDUCTIONS, loops=True),
    Crash("triton-4078", "<3.0", _SCANS),
    Crash("constant-transposed", "<3.0", _TRANSPOSITIONS),
    Crash("triton-3975", "<3.2", bfloat16=True),
    Crash("flipped-bfloat16", ">=3.0,<3.3", _JOINS),
    Crash("triton-3060", ">=3.0,<3.2", backend="hip", loops=True),
    Crash("pipelined-atomic", "==3.2.*", _ATOMICS, backend="hip", loops=True),
    Crash("triton-11808", "<3.3", backend="cuda", num_ctas=2),
)


def may_die(src: Any, kwargs: Any) -> bool:
    """Whether a known issue can kill the compiler of this process at ``compile(src, **kwargs)``.

    A kernel that cannot be read counts as one that may.
    """
    import triton

    backend = backend_and_arch(kwargs.get("target"))[0]
    options = kwargs.get("options") or {}
    possible = possible_on(triton.__version__, backend, options.get("num_ctas"))
    if not possible:
        return False
    try:
        features = features_of(src)
    except Exception:
        return True
    return any(crash.takes(features) for crash in possible)


def possible_on(version: str, backend: Optional[str], num_ctas: Any = 1) -> Iterable[Crash]:
    """The crashes that a release has on a target's backend (None where it is not known), whatever the kernel."""
    ctas = num_ctas if isinstance(num_ctas, int) else 1
    return [
        crash
        for crash in CRASHES
        if ctas >= crash.num_ctas
        and (backend is None or crash.backend in ("", backend))
        and in_window(crash.window, version)
    ]


def features_of(src: Any) -> Features:
    """The features of a kernel that is about to be compiled (``ASTSource``), with all that it calls."""
    names, loops = set(), False
    for item in reachable([src.fn, *src.constants.values()]):
        code = getattr(getattr(item, "fn", None), "__code__", None)
        if code is None:
            # A function of the language, under its own name; a dtype, which has a name of another kind.
            names.add(str(getattr(item, "__name__", getattr(item, "name", ""))))
            continue
        names.update(names_of(code))
        loops = loops or bool(_LOOP.search(item.src))
    types = map(str, src.signature.values())
    bfloat16 = not names.isdisjoint(_BFLOAT16) or any("bf16" in kind for kind in types)
    return Features(frozenset(names), loops, bfloat16)
