"""Report which fixes acted on a kernel, on which lines, and their changes."""

from typing import Any, List, NamedTuple, Tuple

from .shims import all_shims


class Explanation(NamedTuple):
    """One change that a fix made to a compiled kernel.

    Attributes:
        fix: its name.
        symptom: the wrong numbers or the message that there would be without it.
        link: the upstream report.
        lines: of the kernel's source, as ``file:line``; empty where the IR does not say.
        diff: a unified diff from Triton's IR, or PTX, to what was compiled. "" unless it was asked for, where the fix
            acted while the kernel was traced, and for a kernel from Triton's cache.
    """

    fix: str
    symptom: str
    link: str
    lines: Tuple[str, ...]
    diff: str


def explain(kernel: Any, diff: bool = False) -> List[Explanation]:
    """The changes that fixes made to a kernel, in the order in which they were made; empty where none acted.

    Args:
        kernel: the result of a launch, or a ``@triton.jit`` function (autotuned or not), for all of its kernels that
            this process has compiled.
        diff: with the change to the IR.
    """
    # Imported here: installing imports this module.
    from .seams import pipeline

    compiled = [kernel]
    function = kernel
    while function is not None and not hasattr(function, "cache_key"):
        function = getattr(function, "fn", None)
    if function is not None and pipeline.acts_on(kernel) is None:
        compiled = pipeline.kernels_of(function)
    shims = {shim.name: shim for shim in all_shims()}
    explanations: List[Explanation] = []
    for compilation in compiled:
        for act in pipeline.acts_on(compilation) or ():
            shim = shims.get(act.fix)
            change = _diff(act.before, act.after) if diff and act.after else ""
            explanation = Explanation(
                act.fix, shim.symptom if shim else "", shim.link if shim else "", act.lines, change
            )
            if explanation not in explanations:
                explanations.append(explanation)
    return explanations


def _diff(before: str, after: str) -> str:
    import difflib

    lines = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        "as Triton made it",
        "as compiled",
        lineterm="",
        n=1,
    )
    return "\n".join(lines)
