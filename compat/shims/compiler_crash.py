"""Some compilers die of some products with many warps on Hopper, or many stages on CDNA 3.

Up to 3.1 there is no way from one product's layout to another's; 3.2.0 cannot lay out an operand, and 3.3.1 fails
another assertion of the same layout; the AMD pipeliner of 3.2 knows nothing of atomics, and that of 3.5 and 3.6
destroys what is still used; 3.6 asks a pointer of AMD's for what it has not. All but 3.3.1's and the last two abort the
process; those raise, and an autotuner passes it on.

Up to 3.2 a sum that a loop adds up and that is stored twice kills them on every target, and up to 3.1 a store of what a
loop carries does on AMD's.

Compilation goes through the guard. What dies of an operand's layout is compiled again with the operands of its dots
moved (`moved_operands`), what dies of such a sum or store without the pass that does (`left_out_pass`); both keep their
num_warps. What dies all the same is dropped while an autotuner measures; a direct launch falls back to the next lower
num_warps, or num_stages, that compiles. The kernel that a launch got is kept by Triton under the launch that was asked
for, so none of this costs a launch anything after the first.
"""

from __future__ import annotations

import threading
from typing import Any, Iterator, Tuple

from .. import guard
from ..acts import note_acted
from ..errors import CompilerCrashed, say_once
from ..launch import TIMINGS, no_time, with_option
from ..record import Patches, Shim
from ..seams.attribute import around_call
from ..versions import in_window, triton_text

# The compiler's messages when it cannot lay out an operand: in Triton 3.2, and in 3.3.
_OPERANDS = ("reshapeOuts", "instrN >= numColsPerChunk")
# Its messages where fewer stages help.
_STAGES = (
    "operation destroyed but still has uses",
    "know how to predicate this op",
    "Pipeline failed while executing [`TritonAMDGPUConvertToBufferOps`",
)


class _Tuning(threading.local):
    now = False


_tuning = _Tuning()


def apply(patches: Patches) -> None:
    from triton.runtime.autotuner import Autotuner

    # Symptom: Allocation.cpp … getCvtOrder … "mma -> mma layout conversion is only supported on Ampere", then SIGABRT
    # (before 3.2); LinearLayout.cpp … reshapeOuts … Assertion `getTotalOutDimSize() == …' failed, then SIGABRT (3.2);
    # Assertion `instrN >= numColsPerChunk …' failed, then RuntimeError: PassManager::run failed (3.3).
    # Affected: Triton < 3.4, sm_90, num_warps 8 and 16.
    # Link: triton-lang/triton#4418, fla-org/flash-linear-attention#196, triton-lang/triton#5609.
    # Breakpoint: Triton 3.4 compiles these kernels.
    # Symptom: OptimizeThreadLocality.cpp … Assertion `loopResult.hasOneUse()' failed, then SIGABRT.
    # Affected: Triton < 3.3, every target. Link: triton-lang/triton#11682.
    # Breakpoint: Triton 3.3 takes two stores of such a sum; all else is `thread_locality`'s.
    # Symptom: SIGSEGV in TritonAMDGPUOptimizeEpilogue, without a word.
    # Affected: Triton 3.0 and 3.1, AMD. Link: none known. Breakpoint: Triton 3.2 compiles these kernels.
    # Symptom: PipeliningUtility.cpp … Assertion `"don't know how to predicate this op" && false' failed, then SIGABRT.
    # Affected: Triton 3.2, AMD, atomics in a pipelined loop. Link: triton-lang/triton#4650.
    # Breakpoint: Triton 3.3 compiles these kernels.
    # Symptom: ArrayRef.h … Assertion `Index < Length' … failed, in TritonAMDGPUConvertToBufferOps.
    # Affected: Triton 3.6, AMD, num_stages 3. Link: triton-lang/triton#10701.
    # Breakpoint: Triton 3.7 compiles these kernels.
    # See also triton-lang/triton#9175.
    # Breakpoint: Triton 3.7 compiles these kernels; delete the shim with the columns of both.
    def bench_surviving(bench, self, *args, config, **meta):
        _tuning.now = True
        try:
            return bench(self, *args, config=config, **meta)
        except Exception as error:
            crash = guard.as_crash(error, getattr(self.fn, "__name__", "a kernel"))
            if crash is None:
                raise
            note_acted(SHIM.name)
            say_once(
                f"{crash.kernel}: the autotuner dropped a configuration ({config}): {_first_lines(crash)}"
            )
            return no_time(self)
        finally:
            _tuning.now = False

    around_call(patches, Autotuner, "_bench", bench_surviving, kind=TIMINGS)
    if _has_other_ways():
        from .. import left_out_pass, moved_operands

        if moved_operands.supported():
            moved_operands.install(patches)
        left_out_pass.install(patches)
    guard.install_with(patches, _fall_back)


def _fall_back(crash: CompilerCrashed, compile_: Any, src: Any, args: tuple, kwargs: dict) -> Any:
    """Compile in another way: with moved operands, or without a pass, else with the next lower option that survives.

    The option is num_warps, or num_stages. Raises `crash` if there is none; for an autotuner, which tries lower options
    itself, after the first way.
    """
    for variant, compiling in _ways(crash, compile_, kwargs):
        try:
            kernel = guard.compile_guarded(compiling, src, args, kwargs, variant=variant)
        except Exception as error:
            # Any other error comes from our rewriting, not from the caller's kernel.
            del error
        else:
            note_acted(SHIM.name)
            return kernel
    options = kwargs.get("options") or {}
    name = "num_warps"
    if any(words in crash.stderr for words in _STAGES):
        name = "num_stages"
    asked = options.get(name)
    if _tuning.now or not isinstance(asked, int):
        raise crash
    lower = asked
    while lower > 1:
        lower = lower // 2 if name == "num_warps" else lower - 1
        tried = dict(kwargs, options=dict(options, **{name: lower}))
        try:
            kernel = guard.compile_guarded(
                compile_, with_option(src, name, asked, lower), args, tried
            )
        except Exception as error:
            if guard.as_crash(error, crash.kernel) is None:
                raise
            continue
        note_acted(SHIM.name)
        say_once(
            f"{crash.kernel}: {name}={asked} kills this compiler, launched with {lower}: {_first_lines(crash)}"
        )
        return kernel
    raise crash


def _has_other_ways() -> bool:
    """Whether a kernel may be compiled with the operands of its dots moved, or without a pass, on this Triton."""
    return in_window(">=3.0,<3.4", str(triton_text()))


def _ways(crash: CompilerCrashed, compile_: Any, kwargs: dict) -> Iterator[Tuple[str, Any]]:
    """(name, compiler) of the ways that keep the options as they were."""
    if not _has_other_ways():
        return
    from .. import left_out_pass, moved_operands

    if any(words in crash.stderr for words in _OPERANDS) and moved_operands.supported():
        yield "moved operands", moved_operands.compiling(compile_)
    backend = getattr(kwargs.get("target"), "backend", "")
    for which in left_out_pass.killing(crash, backend):
        yield f"without {which.name}", left_out_pass.compiling(which, compile_)


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
    tier="refused",
    window=">=2.3,<3.7,!=3.4.*",
    symptom="LinearLayout.cpp reshapeOuts Assertion `getTotalOutDimSize() == std::accumulate(",
    link="https://github.com/fla-org/flash-linear-attention/issues/196",
    delete_when="no column before Triton 3.7 is left",
    apply=apply,
)
