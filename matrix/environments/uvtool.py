"""Calling uv, with pip's settings passed on.

A machine that is set up for pip (a local folder of wheels, a mirror, a certificate) should need no second set-up for
crosswarp, and uv reads none of pip's settings by itself. uv's own settings win where both are there.
"""

from __future__ import annotations

import configparser
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswarp.matrix.errors import EnvironmentFailed

# pip's name -> uv's name. find-links is comma-separated for uv, everything else separated by blanks.
_PASSED_ON = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}
_TOO_SLOW = 124


@dataclass(frozen=True)
class Answer:
    status: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def why(self) -> str:
        """The end of its output: resolvers put the cause last."""
        if self.status == _TOO_SLOW:
            return "no answer in time"
        lines = [line.strip() for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        return "\n".join(lines[-12:]) or f"exit status {self.status}"


class Uv:
    """One uv for a run. `cancel` ends the running calls and refuses the rest."""

    def __init__(
        self, executable: str | None = None, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._executable = executable
        self._environ = pip_settings(environ)
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._cancelled = False

    @property
    def executable(self) -> str:
        if self._executable is None:
            self._executable = find_uv()
        return self._executable

    def __call__(
        self,
        arguments: Sequence[str],
        timeout: float = 1800,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Answer:
        argv = [self.executable, "--no-progress", "--color", "never", *arguments]
        with self._lock:
            if self._cancelled:
                return Answer(130, "", "cancelled")
            # A separate session: Ctrl-C reaches us first, and we end it after the suite.
            process = subprocess.Popen(
                argv,
                env={**self._environ, **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
                cwd=cwd,
            )
            self._running.add(process)
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            stdout, stderr = process.communicate()
            return Answer(_TOO_SLOW, stdout, stderr)
        finally:
            self._running.discard(process)
        return Answer(process.returncode, stdout, stderr)

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            for process in list(self._running):
                _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def find_uv() -> str:
    """The uv that was installed beside crosswarp, else the one on the path."""
    try:
        from uv import find_uv_bin

        return find_uv_bin()
    except (ImportError, FileNotFoundError):
        pass
    path = shutil.which("uv")
    if path is None:
        raise EnvironmentFailed("uv was not found. Install it: pip install uv")
    return path


def pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with pip's settings (its variables first, then its files) in uv's variables."""
    files = configparser.RawConfigParser(strict=False)
    for path in _pip_files(environ):
        try:
            files.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            # pip itself will complain; here it means only that nothing is passed on from that file.
            continue
    result = dict(environ)
    for name, variable in _PASSED_ON.items():
        value = environ.get("PIP_" + name.upper().replace("-", "_"))
        for section in ("install", "global"):
            if not value:
                value = files.get(section, name, fallback=None)
        if value and not environ.get(variable):
            parts = value.split()
            result[variable] = ",".join(parts) if variable == "UV_FIND_LINKS" else " ".join(parts)
    if result.get("UV_INDEX") and not environ.get("UV_INDEX"):
        # pip takes the best version of all indexes; uv by default only looks at the first that has the name.
        result.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    return result


def _pip_files(environ: Mapping[str, str]) -> list[Path]:
    """From the least to the most specific, as pip reads them."""
    home = Path(environ.get("HOME") or Path.home())
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    files = [
        Path("/etc/xdg/pip/pip.conf"),
        Path("/etc/pip.conf"),
        home / ".pip" / "pip.conf",
        config / "pip" / "pip.conf",
        Path(sys.prefix) / "pip.conf",
    ]
    return [*files, Path(named)] if named else files
