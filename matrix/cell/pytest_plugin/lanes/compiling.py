"""Lane compile: each launch goes through the real compiler and meets the target's limits; nothing is executed.

PYTEST_DONT_REWRITE
"""

import os
from typing import Any, List, Optional

from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.pytest_plugin import outcomes


class Compile:
    """
    Attributes:
        done: the outcome of a test that has launched and has not failed.
        judges_values: whether a test's asserts about numbers can be trusted.
        too_slow: the outcome of a test past its time limit.
        proves: the meaning of a run, for the summary.
    """

    name = "compile"
    done = "compiled"
    judges_values = False
    too_slow = outcomes.RED
    proves = (
        "every launch went through the compiler and the target's limits; no number was computed"
    )

    def before_import(self, patches: Patches) -> None:
        """Set up the state that Triton and torch read when they are imported."""

    def start(self, target: Any, settings: Any, patches: Patches) -> None:
        """Before torch is mapped and the tests are imported; Triton is imported, the shims are in place."""
        from crosswarp.matrix.cell.standins import virtual_gpu

        from .. import configurations

        if settings.shimmed:
            _cache_of_its_own(patches)
        virtual_gpu.activate(target, patches)
        if settings.configurations:
            configurations.limit(patches, settings.configurations)
        # Imported once, here, for all children.
        from .. import skipping, uncomputed  # noqa: F401

        if not self.judges_values:
            from crosswarp.matrix.cell.standins.virtual_gpu import launching

            uncomputed.install(patches)
            patches.on_undo(lambda: launching.run_with(None))
            launching.run_with(uncomputed.handed)

    def in_child(self) -> None:
        """In the forked child, before the test is set up."""
        from .. import skipping, uncomputed

        uncomputed.forget()
        skipping.start()

    def launches(self) -> int:
        """How many launches this process has asked for."""
        from crosswarp.matrix.cell.standins.virtual_gpu import launching

        return launching.asked

    def ended(self) -> Optional[outcomes.Ended]:
        """Return why the current test's launches ended early, if this lane knows; else None."""
        return None

    def left_out(self) -> int:
        """How much of the test's own work was not done."""
        from .. import skipping

        return skipping.skipped

    def depends_on_numbers(self, error: BaseException) -> Optional[str]:
        """Why `error` says nothing about the library: it read a number that nothing computed; None if it did not."""
        from .. import uncomputed

        return uncomputed.reading() if uncomputed.explains(error) else None

    def kernels(self) -> List[str]:
        """Names of the kernels that were launched."""
        from crosswarp.matrix.cell.standins.virtual_gpu import launching

        return sorted({launch.kernel for launch in launching.launches})


def _cache_of_its_own(patches: Patches) -> None:
    """Use a separate cache: a run without compat must not find kernels that a shim let through."""
    from crosswarp.matrix.cell.starting import shimmed_cache

    before = dict(os.environ)
    patches.on_undo(lambda: _restore(before))
    os.environ.setdefault("TRITON_CACHE_DIR", os.path.expanduser("~/.triton/cache"))
    shimmed_cache.use()


def _restore(before: dict) -> None:
    for name in ("TRITON_CACHE_DIR", "TRITON_CACHE_MANAGER", "CROSSWARP_BARE_CACHE_DIR"):
        if name in before:
            os.environ[name] = before[name]
        else:
            os.environ.pop(name, None)
