"""`run --here`: an existing interpreter as a separate column, for containers, source builds and GPU machines.

Nothing is built and no version is expected: the column is named for the installed Triton.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crosswarp.matrix.environments import identity
from crosswarp.matrix.environments.environment import SUITE_REQUIREMENTS, Environment
from crosswarp.matrix.environments.identity import Interpreter
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts.columns import Column

# In a child: importing torch takes seconds and a broken driver can take the process along.
# Before anything is imported: the current folder may be a stranger's, with a json.py or a torch in it.
_NOT_FROM_HERE = "import sys; sys.path[:] = filter(None, sys.path)"
_ASK = """
import json, sys
found = {"python": ".".join(map(str, sys.version_info[:3]))}
try:
    import crosswarp.matrix
    from crosswarp.compat import vendors
    build = vendors.serve()
    if build is not None:
        found["vendor"] = str(build)
except ImportError as error:
    found["crosswarp"] = str(error)
import platform, sysconfig
found["asked"] = {
    "build": [sys.version, sys.executable, platform.machine(), *platform.libc_ver()],
    "path": sys.path,
    "stdlib": [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")],
}
missing = []
for name in ("packaging", "numpy", "pytest", "pytest-xdist"):
    try:
        __import__(name.rpartition("-")[2])
    except ImportError:
        missing.append(name)
found["missing"] = missing
for name in ("torch", "triton"):
    try:
        found[name] = __import__(name).__version__
    except Exception as error:
        found[name + "-error"] = f"{type(error).__name__}: {error}"
loaded = [sys.modules[name] for name in ("triton", "torch", "numpy") if name in sys.modules]
files = [one.__file__ for one in loaded if getattr(one, "__file__", None)]
found["asked"]["packages"] = [name.rpartition("/")[0] for name in files]
if "torch" in found:
    import torch
    try:
        found["gpu"] = torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
    except Exception as error:
        found["gpu-error"] = f"{type(error).__name__}: {error}"
print("\\n" + json.dumps(found))
"""
_GLANCE = """
import importlib.util, json, pathlib, re, sys
found = {"python": ".".join(map(str, sys.version_info[:3]))}
for name, file in (("triton", "__init__.py"), ("torch", "version.py")):
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.origin:
        continue
    text = pathlib.Path(spec.origin).with_name(file).read_text("utf-8", "replace")
    version = re.search(r"^__version__ *(?::[^=]*)?= *[\\x27\\x22]([^\\x27\\x22]+)", text, re.M)
    if version is None:
        from importlib import metadata
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = "unknown"
    found[name] = version if isinstance(version, str) else version[1]
found["missing"] = [name for name in ("packaging",) if importlib.util.find_spec(name) is None]
print("\\n" + json.dumps(found))
"""
_TIMEOUT = 300
# The lanes of a suite fork their own workers; a library's tests run in pytest.
_OF_TESTS = ("pytest", "pytest-xdist")


@dataclass(frozen=True)
class Here:
    """The interpreter of `--here`; stands in for the environment builder."""

    python: Path
    versions: Mapping[str, str]
    # The suite's requirements beside Triton and torch that are not installed.
    missing: tuple[str, ...] = ()
    # Its description of itself; None where it was not asked.
    asked: Interpreter | None = None
    # A digest of all that can be imported there, and its folders with work in progress.
    identity: str = ""
    sources: tuple[Path, ...] = ()

    @property
    def gpu(self) -> str:
        return self.versions.get("gpu", "")

    @property
    def column(self) -> Column:
        # No pins: the installed versions run.
        of_vendor = self.versions.get("vendor")
        identifier = f"here-{of_vendor or 'triton-' + self.versions['triton']}".lower()
        return Column(id="".join(c if c.isalnum() or c in "._+-" else "-" for c in identifier))

    def identified(self, suite: Path | None, present: Path, environ: Mapping[str, str]) -> Here:
        """With its identity, for which all of its files are looked at: a second, with torch's."""
        if self.asked is None:
            return self
        return replace(
            self,
            identity=identity.of(self.asked, suite, present, environ),
            sources=identity.sources(self.asked, suite, present),
        )

    def __call__(self, column: Column) -> Environment:
        label = f"{column.id} ({self.python}, torch {self.versions.get('torch')})"
        return Environment(
            self.python, label, expect={}, versions=self.versions, requirements=(), reused=True,
            identity=self.identity, sources=self.sources,
        )  # fmt: skip

    def cancel(self) -> None:
        pass


def look(python: Path, tests: bool = False) -> Here:
    """Asks an interpreter for its Triton and for what a suite needs; with `tests`, for what a library's tests need."""
    python = absolute(python)
    answer = _asked(python, _ASK)
    _complain(python, answer, tests)
    asked = Interpreter(**answer.pop("asked"))
    versions = {name: str(value) for name, value in answer.items() if name != "missing"}
    return Here(python, versions, asked=asked)


def _complain(python: Path, answer: Mapping[str, Any], tests: bool) -> None:
    """Say everything that an interpreter lacks, at once.

    Raises:
        EnvironmentFailed: something is missing.
    """
    broken = [
        f"{name} cannot be imported ({answer.get(name + '-error')})"
        for name in ("triton", "torch")
        if name not in answer
    ]
    absent = [name for name in answer["missing"] if tests or name not in _OF_TESTS]
    absent += ["crosswarp"] if "crosswarp" in answer else []
    if not broken and not absent:
        return
    needed = [name for name in SUITE_REQUIREMENTS if tests or name not in _OF_TESTS]
    need = " ".join(("crosswarp", "numpy", *needed))
    parts = [*broken, *([f"missing there: {', '.join(absent)}"] if absent else [])]
    steps = ["Make `import torch, triton` work there"] if broken else []
    steps += [f"pip install {need}"] if absent else []
    raise EnvironmentFailed(
        f"{python}: {'; '.join(parts)}. {', and '.join(steps)}; or run `crosswarp run` without --here, which builds "
        "its own environments."
    )


def glance(python: Path) -> Here:
    """Which Triton and torch an interpreter would import, by their files: nothing is imported, which takes seconds.

    It need not have what a suite needs beside them.
    """
    python = absolute(python)
    answer = _asked(python, _GLANCE)
    for name in ("triton", "torch"):
        if name not in answer:
            raise EnvironmentFailed(
                f"{python}: it has no {name}. Install it there, or name an interpreter that has it (--here PYTHON)."
            )
    missing = tuple(answer.pop("missing"))
    return Here(python, {name: str(value) for name, value in answer.items()}, missing)


def absolute(python: Path) -> Path:
    """Returns where `python` lies; a bare name such as `python3` is looked up on PATH first, as a shell does.

    Links are not resolved: an environment's interpreter is a link, and its path makes it an environment.
    """
    on_path = shutil.which(python) if len(python.parts) == 1 else None
    return Path(os.path.abspath(on_path or python))


def _asked(python: Path, question: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [str(python), "-c", _NOT_FROM_HERE + question], capture_output=True, text=True, errors="replace",
            timeout=_TIMEOUT, stdin=subprocess.DEVNULL, env=dict(os.environ),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise EnvironmentFailed(
            f"{python}: did not say what it holds within {_TIMEOUT:g} s. Try again when the machine is less busy, or "
            "name another."
        ) from None
    except OSError as error:
        raise EnvironmentFailed(
            f"{python}: cannot be asked what it holds ({error}). Name another."
        ) from None
    try:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError):
        lines = done.stderr.strip().splitlines()[-5:]
        raise EnvironmentFailed(
            f"{python}: asked for its Triton, it ended with status {done.returncode}:\n"
            + "\n".join(lines)
            + "\nMake `import torch, triton` work there first."
        ) from None


def python_at_hand(environ: Mapping[str, str]) -> Path | None:
    """The interpreter that crosswarp runs in, or else that of the active virtual environment, where it has a Triton."""
    if importlib.util.find_spec("triton") is not None:
        return Path(sys.executable)
    active = Path(environ.get("VIRTUAL_ENV", "")) / "bin" / "python"
    if environ.get("VIRTUAL_ENV") and active.is_file():
        if any(active.parent.parent.glob("lib/python3*/site-packages/triton/__init__.py")):
            return active
    return None
