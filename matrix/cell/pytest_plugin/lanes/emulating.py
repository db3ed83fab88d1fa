"""Lane emulate: the compiled PTX or AMD assembly is executed on the CPU, and the test judges its numbers.

The emulator is that of the suite's lane emulate. It executes some ten million instructions of a thread in a second, a
GPU a million times as many. A launch that is not done within its part of the test's time limit is given up, and the
test has no result.

PYTEST_DONT_REWRITE
"""

import contextlib
import math
from typing import Any, Optional

from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.pytest_plugin import outcomes

from .compiling import Compile


class Emulate(Compile):
    name = "emulate"
    done = "computed"
    judges_values = True
    too_slow = outcomes.TIMEOUT
    proves = "the compiled code was executed on the CPU and the tests judged its numbers"

    def __init__(self) -> None:
        self._machine: Any = None
        # Launches of machines before this one.
        self._executed = 0
        self._sanitize = False

    def start(self, target: Any, settings: Any, patches: Patches) -> None:
        super().start(target, settings, patches)
        from crosswarp.matrix.cell.standins.virtual_gpu import launching

        self._seconds, self._sanitize = settings.time_limit, settings.sanitize
        patches.on_undo(lambda: launching.run_with(None))
        # Launches during collection are executed as well, without a limit.
        self._new_machine(math.inf)
        self._execute_no_benchmark(patches)

    def in_child(self) -> None:
        self._new_machine(self._seconds)

    def launches(self) -> int:
        """How many launches were executed."""
        return self._executed + self._machine.executed

    def left_out(self) -> int:
        return 0

    def depends_on_numbers(self, error: BaseException) -> Optional[str]:
        return None

    def ended(self) -> Optional[outcomes.Ended]:
        verdict = self._machine.failed
        if verdict is None:
            return None
        if verdict.outcome == "unsupported":
            opcode = verdict.reason.partition(": ")[2]
            return outcomes.Ended(outcomes.UNSUPPORTED, verdict.message, opcode)
        if verdict.outcome == "timeout" and verdict.reason != "deadlock":
            return outcomes.Ended(outcomes.TIMEOUT, verdict.message)
        # An access out of bounds, or threads that wait for ever: on a device the test would have failed, or hung.
        return outcomes.Ended(outcomes.RED, verdict.message)

    def _new_machine(self, seconds: float) -> None:
        from crosswarp.matrix.cell import emulate
        from crosswarp.matrix.cell.standins.virtual_gpu import launching

        if self._machine is not None:
            self._executed += self._machine.executed
        self._machine = emulate.Machine(seconds, sanitize=self._sanitize)
        launching.run_with(self._machine)

    def _execute_no_benchmark(self, patches: Patches) -> None:
        """Compile and check launches that are to be timed, and do not execute them: nothing can be timed here."""
        import triton.runtime.autotuner as autotuner
        import triton.testing as testing

        for module in (autotuner, testing):
            for name in ("do_bench", "do_bench_cudagraph"):
                own = getattr(module, name, None)
                if own is not None:
                    patches.set(module, name, self._paused(own))
        patches.set(autotuner.Autotuner, "_bench", self._paused(autotuner.Autotuner._bench))

    def _paused(self, own: Any) -> Any:
        def benchmark(*args: Any, **kwargs: Any) -> Any:
            with self._machine.paused():
                return own(*args, **kwargs)

        with contextlib.suppress(AttributeError):
            benchmark.__name__ = own.__name__
        return benchmark
