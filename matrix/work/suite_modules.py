"""The modules of a suite, as the host sees them: their files, of which none is imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.cell.kinds.suite import modules
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import selection


def kernel_names(suite: Path | None = None) -> list[str]:
    """The kernels by file name: importing one needs Triton, which the host has not."""
    if suite is None:
        from crosswarp import kernels

        return list(kernels.NAMES)
    return modules.kernels(modules.look(suite))


def check_kernels(wanted: Sequence[str], suite: Path | None) -> tuple[str, ...]:
    """The kernels that were asked for; all of them are `*`.

    Raises:
        UsageError: there is none, or a file of the suite that was asked for as well cannot be read.
    """
    if suite is None:
        names, wrong = kernel_names(), {}
    else:
        looked = _looked(suite)
        wrong = {module.name: module for module in looked if module.kind in ("broken", "misspelt")}
        # A module that Python refuses fails its own cells only; the others have their verdicts.
        names = [
            module.name
            for module in looked
            if module.kind in ("kernel", "syntax") or module.name in wrong
        ]
    if not names:
        where = suite or "crosswarp.kernels"
        raise UsageError(
            f"{where} holds no kernel (a file that sets KERNEL). Name another with --suite."
        )
    chosen = selection.choose(wanted, names, "kernel", f"There are: {', '.join(names)}.")
    # A run without them would be green, and say nothing of them.
    unread = [f"{module.place}: {module.why}" for name, module in wrong.items() if name in chosen]
    if unread:
        lines = "\n".join(unread)
        raise UsageError(
            f"--suite {suite}: {len(unread)} of its files cannot be taken for kernels:\n{lines}\n"
            "Correct them, or choose others with --kernels."
        )
    return ("*",) if chosen == names else tuple(chosen)


def _looked(suite: Path) -> list[modules.Module]:
    try:
        if not suite.is_dir():
            raise UsageError(
                f"--suite {suite}: there is no such folder. Name a folder of kernel modules."
            )
        return modules.look(suite)
    except OSError as error:
        raise UsageError(
            f"--suite {suite}: {error.strerror or error}. Name a folder that can be read."
        ) from None


def left_out(suite: Path | None) -> str:
    """The files of a suite's folder that are no kernels, each with why; empty where there is none."""
    if suite is None:
        return ""
    parts = [
        f"{module.path.name} ({module.why})"
        for module in _looked(suite)
        if module.kind in ("helper", "misspelt", "broken")
    ]
    parts += [f"{name} (a folder)" for name in modules.folders(suite)]
    return f"{suite}: not run as kernels: {', '.join(parts)}." if parts else ""
