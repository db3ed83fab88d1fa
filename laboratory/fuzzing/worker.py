"""A process inside a column that runs one program after the other, and is restarted when it dies."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from crosswarp.laboratory import bringing
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.errors import SUITE_WRONG_VERSIONS, EnvironmentFailed
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.running import process

# For the process to import torch and Triton, and to compile something for each target.
_BEGINS = 300
# Beside a program's own limit: its fork, its end.
_MORE = 30


class Lost(Exception):
    """The process ended, or gave an invalid answer, while it had a program."""


class Worker:
    """The process of one environment that runs the programs.

    Args:
        python: the environment's interpreter.
        targets: the targets to compile for.
        time_limit: seconds for one program.
        memory_limit_mb: resident memory for one program.
        expect: versions that must be installed.
        here: whether it is the user's interpreter.

    Attributes:
        versions: the versions installed there.
        targets: the requested targets that its Triton compiles for.

    Raises:
        EnvironmentFailed: it does not start.
    """

    def __init__(
        self,
        python: Path,
        targets: Mapping[str, Target],
        time_limit: float,
        memory_limit_mb: int,
        expect: Mapping[str, str] = {},
        here: bool = True,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="crosswarp-fuzz-")
        self._limit = time_limit
        folder = Path(self._folder.name)
        tables = {name: asdict(target) for name, target in targets.items()}
        spec = folder / "spec.json"
        asked = Asked(
            expect=dict(expect), records=str(folder / "records"), cache=str(folder / "cache"), targets=tables,
            time_limit=time_limit, memory_limit_mb=memory_limit_mb,
        )  # fmt: skip
        spec.write_text(json.dumps(asdict(asked)), "utf-8")
        self._log = folder / "log"
        # A separate folder for its temporary files: it is removed with ours, however the process ends.
        environ = {**process.cell_environ(os.environ, here=here), "TMPDIR": str(folder)}
        with self._log.open("wb") as log:
            try:
                self._process = subprocess.Popen(
                    [*process.supervised(), *bringing.argv("fuzzing", python, spec)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environ, cwd=folder,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise EnvironmentFailed(
                    f"{python}: {error.strerror or error}. Name another."
                ) from None
        self._rest = b""
        try:
            greeting = self._line(_BEGINS)
            self.versions: dict[str, str] = dict(greeting["versions"])
            self.targets = frozenset(greeting["targets"])
        except (Lost, KeyError) as error:
            log_end, status = process.log_tail(self._log), self._process.poll()
            self.close()
            if status == SUITE_WRONG_VERSIONS:
                raise EnvironmentFailed(f"{python}: {log_end}") from None
            raise EnvironmentFailed(
                f"{python}: {error}:\n{log_end}\nMake `import torch, triton, packaging` work there."
            ) from None

    def run(
        self,
        program: Mapping[str, Any],
        expected: Mapping[str, str],
        target: str,
        options: Mapping[str, int] = {},
        quick: bool = False,
    ) -> dict[str, Any]:
        """Returns the process's answer for a program: see `crosswarp.laboratory.cell.fuzzing.executing.run`.

        Args:
            quick: it ends with its PTX, which is executed.

        Raises:
            Lost: the process ended, or took longer than its limits allow.
        """
        asked = {
            "program": program, "expected": dict(expected), "target": target, "options": dict(options),
            "assembled": not quick,
        }  # fmt: skip
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise Lost("its process is gone") from None
        return self._line(self._limit + _MORE)

    def _line(self, seconds: float) -> dict[str, Any]:
        out = self._process.stdout
        assert out is not None
        ends = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                left = ends - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise Lost(f"no answer within {seconds:g} s")
                data = os.read(out.fileno(), 1 << 20)
                if not data:
                    raise Lost("its process ended without an answer")
                self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        try:
            return dict(json.loads(line))
        except (ValueError, TypeError):
            raise Lost("its answer makes no sense") from None

    def interrupt(self) -> None:
        """End it, and leave its pipes to the thread that reads them."""
        process.end_supervised(self._process)

    def close(self) -> None:
        """Ends the process, and any that it started."""
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()
        process.end_supervised(self._process)
        self._folder.cleanup()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
