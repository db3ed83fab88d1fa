"""Triton 3.2 and 3.3 cannot lay out some dot products for Hopper with 8 or more warps.

3.2.0 aborts the process; 3.3.1 fails another assertion of the same layout, and its autotuner passes that on.

Compilation goes through the guard. While an autotuner measures, a configuration that kills the compiler is dropped.
A direct launch falls back to the next lower num_warps that compiles; the kernel that it got is kept by Triton under
the launch that was asked for, so the fallback costs a launch nothing after the first.
"""

import threading
from typing import Any, Optional

from .. import guard
from ..errors import CompilerCrashed, say_once
from ..record import Patches, Shim


class _Tuning(threading.local):
    now = False


_tuning = _Tuning()


def apply(patches: Patches) -> None:
    from triton.runtime.autotuner import Autotuner

    from ..install import note_acted

    bench = Autotuner._bench

    # Symptom: LinearLayout.cpp … reshapeOuts … Assertion `getTotalOutDimSize() == …' failed, then SIGABRT (3.2);
    # Assertion `instrN >= numColsPerChunk …' failed, then RuntimeError: PassManager::run failed (3.3).
    # Window: Triton 3.2 and 3.3, sm_90, num_warps 8 and 16.
    # Link: fla-org/flash-linear-attention#196, triton-lang/triton#5609.
    # Breakpoint: Triton 3.4 compiles these kernels; delete with the 3.3 column.
    def bench_surviving(self, *args, config, **meta):
        _tuning.now = True
        try:
            return bench(self, *args, config=config, **meta)
        except CompilerCrashed as crash:
            note_acted(SHIM.name)
            say_once(
                f"{crash.kernel}: the autotuner dropped a configuration ({config}): {_first_lines(crash)}"
            )
            return [float("inf")] * 3
        finally:
            _tuning.now = False

    patches.set(Autotuner, "_bench", bench_surviving)
    guard.install(patches, on_crash=_fall_back)


def _fall_back(crash: CompilerCrashed, compile_: Any, src: Any, args: tuple, kwargs: dict) -> Any:
    """Compile with the next lower num_warps that survives. Raises `crash` if there is none, or for an autotuner."""
    from ..install import note_acted

    options = kwargs.get("options") or {}
    asked = options.get("num_warps")
    if _tuning.now or not isinstance(asked, int):
        raise crash
    num_warps = asked // 2
    while num_warps >= 1:
        lower_src = _with_num_warps(src, asked, num_warps)
        lower = dict(kwargs, options=dict(options, num_warps=num_warps))
        try:
            kernel = guard.compile_guarded(compile_, lower_src, args, lower)
        except CompilerCrashed:
            num_warps //= 2
            continue
        note_acted(SHIM.name)
        say_once(
            f"{crash.kernel}: num_warps={asked} kills this compiler, launched with {num_warps}: {_first_lines(crash)}"
        )
        return kernel
    raise crash


def _with_num_warps(src: Any, asked: int, num_warps: int) -> Any:
    """`src` with the kernel's own num_warps parameter, if it declares one, following the launch."""
    names = list(getattr(src.fn, "arg_names", ()))
    if "num_warps" not in names:
        return src
    constants = dict(src.constants)
    for key in ("num_warps", names.index("num_warps"), (names.index("num_warps"),)):
        if constants.get(key) == asked:
            constants[key] = num_warps
    return _rebuilt(src, constants) or src


def _rebuilt(src: Any, constants: dict) -> Optional[Any]:
    # Breakpoint: Triton 3.3 renamed the argument to constexprs.
    attributes = {"attrs": src.attrs}
    try:
        return type(src)(src.fn, src.signature, constants, **attributes)
    except TypeError:
        return None


def _first_lines(crash: CompilerCrashed) -> str:
    lines = [
        line.strip()
        for line in crash.stderr.splitlines()
        if "ssert" in line or "ERROR" in line or "UNREACH" in line
    ]
    return (lines[0] if lines else crash.reason)[:300]


SHIM = Shim(
    name="compiler_crash",
    issue="fla-196",
    window=">=3.2,<3.4",
    symptom="LinearLayout.cpp reshapeOuts Assertion `getTotalOutDimSize() == std::accumulate(",
    link="https://github.com/fla-org/flash-linear-attention/issues/196",
    delete_when="no column of Triton 3.2 or 3.3 is left",
    apply=apply,
)
