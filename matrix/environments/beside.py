"""A library beside a column: built from its checkout, installed into separate folders, with its requirements.

The column's environment, which other runs share, stays as it is: the folders come before it on the path. The library's
requirements are resolved with the column's versions pinned. Only packages that the column lacks are installed, so that
Triton, torch and numpy are the column's.
"""

from __future__ import annotations

import copy as copy_module
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import Distribution, distributions
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from crosswarp.matrix import versions
from crosswarp.matrix.cell.kinds.check import absent
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.environments.uvtool import Answer, Uv
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts.columns import Column

# Never part of the build, even if git tracks them.
_NOT_COPIED = (".crosswarp", ".venv", "venv", "__pycache__", ".tox", ".nox", "build", "dist")
_GIT_TIMEOUT = 60
# How uv says that one package is at fault.
_OF_ONE_PACKAGE = (
    (re.compile(r"Failed to (?:download and )?build `([A-Za-z0-9._-]+)"), "cannot be built here"),
    (
        re.compile(r"Because ([A-Za-z0-9._-]+) was not found in"),
        "is on no package index that is set",
    ),
)
# How uv says that an index lacks a version that is held.
_NOT_THERE = re.compile(r"there is no version of ([A-Za-z0-9._-]+?)==")


class Prepare(Protocol):
    def __call__(self, column: Column) -> Environment: ...

    def cancel(self) -> None: ...


class Beside:
    """Prepares a column's environment, and the library's folders beside it.

    Args:
        prepare: prepares the column itself.
        checkout: the library's folder; None where nothing is built, and only requirements are installed.
        requires: requirements of the library and its tests.
        env: environment variables of the library's build.
        folder: where wheels and folders are stored.
        imports: the modules that tests and library import, each with a place: missing ones are reported.

    Attributes:
        folders: by column, the folders that come before its own packages on the path.
    """

    def __init__(
        self,
        prepare: Prepare,
        checkout: Path | None,
        requires: Sequence[str],
        env: Mapping[str, str],
        folder: Path,
        uv: Uv,
        say: Callable[[str], None] = lambda text: None,
        imports: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._imports = imports
        self.folders: dict[str, tuple[Path, ...]] = {}
        self._prepare = prepare
        self._checkout = checkout
        self._requires = tuple(requires)
        self._env = dict(env)
        self._folder = folder
        self._uv = uv
        self._say = say
        # By Python: built once a run.
        self._wheels: dict[str, Path] = {}

    def __call__(self, column: Column) -> Environment:
        """Raises EnvironmentFailed where the column's environment or the library beside it cannot be made."""
        environment = self._prepare(column)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            folders = self._needed(column, environment)
            held = [
                f"{distribution.name}=={distribution.version}"
                for folder in folders
                for distribution in _held(folder)
            ]
            if self._checkout is not None:
                folders = [self._library(column, environment, self._checkout.resolve()), *folders]
            self.folders[column.id] = tuple(folders)
            if lacking := missing(environment.python, folders, self._imports):
                self._say(f"{column.id}: {lacking}")
        except OSError as error:
            environment.release()
            raise EnvironmentFailed(
                f"{column.id}: the library could not be installed beside it: {error}. Free space and check the rights "
                f"of {self._folder}, or name another folder with --work."
            ) from None
        except BaseException:
            environment.release()
            raise
        return replace(environment, requirements=(*environment.requirements, *held))

    def cancel(self) -> None:
        self._uv.cancel()
        self._prepare.cancel()

    def over(self, prepare: Prepare, uv: Uv) -> Beside:
        """The same library beside the columns of `prepare`. It reuses the wheels that were built."""
        other = copy_module.copy(self)
        other._prepare, other._uv = prepare, uv
        return other

    # The library

    def _library(self, column: Column, environment: Environment, checkout: Path) -> Path:
        if not installs(checkout):
            return self._as_it_is(checkout)
        wheel = self._wheel(column, environment, checkout)
        home = self._folder / f"library-{_digest(wheel)}"
        if not home.is_dir():
            self._install(column, environment, home, [str(wheel)])
        return home

    def _as_it_is(self, checkout: Path) -> Path:
        """A copy of a checkout without build instructions, named for its contents."""
        partial = Path(tempfile.mkdtemp(prefix="partial-", dir=self._folder)) / "files"
        copy(checkout, partial)
        digest = hashlib.sha256()
        for path in sorted(file for file in partial.rglob("*") if file.is_file()):
            digest.update(f"{path.relative_to(partial)}\0".encode() + path.read_bytes())
        home = self._folder / f"library-{digest.hexdigest()[:16]}"
        try:
            os.replace(partial, home)
        except OSError:
            # It was there.
            if not home.is_dir():
                raise
        finally:
            shutil.rmtree(partial.parent, ignore_errors=True)
        return home

    def _wheel(self, column: Column, environment: Environment, checkout: Path) -> Path:
        python = environment.versions.get("python", "")
        minor = versions.parse(python)
        number = versions.minor(minor) if minor else python
        if number in self._wheels:
            return self._wheels[number]
        self._say(f"building {checkout.name}")
        out = Path(tempfile.mkdtemp(prefix="wheel-", dir=self._folder))
        with tempfile.TemporaryDirectory() as copied:
            source = Path(copied) / checkout.name
            # Builds leave folders behind, and the checkout stays as it is.
            copy(checkout, source)
            done = self._uv(
                ["build", "--wheel", "--python", str(environment.python), "--out-dir", str(out), str(source)],
                environ=self._env,
            )  # fmt: skip
        wheels = sorted(out.glob("*.whl"))
        if not done.ok or not wheels:
            raise _failed(
                column,
                done,
                "the library could not be built from its checkout",
                "Set what its build needs with `env` in its settings (many extensions are left out by a variable), see "
                "that `pip wheel --no-deps .` works here, and run again.",
            )
        self._wheels[number] = wheels[0]
        return wheels[0]

    # Requirements

    def _needed(self, column: Column, environment: Environment) -> list[Path]:
        if not self._requires:
            return []
        there = self._installed(column, environment)
        wanted = json.dumps([sorted(self._requires), there, environment.versions.get("python", "")])
        home = self._folder / f"requires-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
        if not home.is_dir():
            self._say(f"{column.id}: installing what the library needs")
            lacking = self._resolved(column, environment, there)
            if not lacking:
                return []
            self._install(column, environment, home, lacking)
        return [home]

    def _resolved(
        self, column: Column, environment: Environment, there: Mapping[str, str]
    ) -> list[str]:
        """The pinned requirements to install, without those that the column has."""
        # A build's local part is on no index.
        pins = {name: f"{name}=={versions.public(version)}" for name, version in there.items()}
        # Off the official pair torch asks for another Triton than there is.
        forced = {"triton": pins["triton"]} if "triton" in pins else {}
        done = self._resolve(environment, pins, forced)
        while not done.ok:
            # A nightly or a local build: no index has it, so it is taken as installed, without its requirements.
            gone = {name for name in _NOT_THERE.findall(done.why) if name in pins}
            if not gone - forced.keys():
                break
            forced |= {name: f"{name}; python_version < '0'" for name in gone}
            done = self._resolve(environment, pins, forced)
        if not done.ok:
            raise _failed(
                column,
                done,
                "what the library needs could not be resolved beside it",
                "Loosen `requires` in its settings, or leave the column out.",
            )
        requirements = [_requirement(line) for line in done.stdout.splitlines()]
        return [
            str(requirement)
            for requirement in requirements
            if requirement and canonicalize_name(requirement.name) not in there
        ]

    def _resolve(
        self, environment: Environment, pins: Mapping[str, str], forced: Mapping[str, str]
    ) -> Answer:
        with tempfile.TemporaryDirectory() as folder:
            words = []
            for option, lines in (("--constraints", pins), ("--overrides", forced)):
                path = Path(folder, f"{option[2:]}.txt")
                path.write_text("".join(f"{line}\n" for line in lines.values()))
                words += [option, str(path)] if lines else []
            wanted = Path(folder, "requires.txt")
            wanted.write_text("".join(f"{line}\n" for line in self._requires))
            return self._uv(
                [
                    "pip", "compile", "--python", str(environment.python), "--no-header", "--no-annotate", *words,
                    str(wanted),
                ]
            )  # fmt: skip

    def _installed(self, column: Column, environment: Environment) -> dict[str, str]:
        listed = self._uv(["pip", "list", "--format", "json", "--python", str(environment.python)])
        if not listed.ok:
            raise _failed(column, listed, "its packages cannot be listed", "Build it anew.")
        packages: dict[str, str] = {
            canonicalize_name(package["name"]): package["version"]
            for package in json.loads(listed.stdout)
        }
        packages.pop("crosswarp", None)
        return dict(sorted(packages.items()))

    def _install(
        self, column: Column, environment: Environment, home: Path, what: Sequence[str]
    ) -> None:
        """Installs `what` into `home`, whole or not at all: another run may look for it meanwhile."""
        partial = Path(tempfile.mkdtemp(prefix="partial-", dir=self._folder))
        done = self._uv(
            ["pip", "install", "--no-deps", "--python", str(environment.python), "--target", str(partial), *what],
        )  # fmt: skip
        if not done.ok:
            shutil.rmtree(partial, ignore_errors=True)
            raise _failed(
                column,
                done,
                "what the library needs could not be installed beside it",
                "Check the network and the package index, and `requires` in its settings; then run again.",
            )
        try:
            os.replace(partial, home)
        except OSError:
            # Another run was quicker.
            shutil.rmtree(partial, ignore_errors=True)
            if not home.is_dir():
                raise


def installs(checkout: Path) -> bool:
    """Whether a checkout says how it is built."""
    return any((checkout / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg"))


_FOUND = """
import importlib.util, json, sys
sys.path[:0] = json.loads(sys.argv[1])
def there(name):
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except Exception:
        return True
print(json.dumps([name for name in json.loads(sys.argv[2]) if not there(name)]))
"""


def missing(
    python: Path, folders: Sequence[Path], imports: Mapping[str, str], here: bool = False
) -> str:
    """The modules that an interpreter does not find, in a line that ends with what to do; empty where it finds all.

    Args:
        folders: come before its own packages on the path.
        imports: top-level modules, each with a place that imports it.
        here: whether the interpreter is the user's, in which nothing is installed.
    """
    if not imports:
        return ""
    words = [json.dumps(list(map(str, folders))), json.dumps(sorted(imports))]
    try:
        done = subprocess.run(
            [python, "-I", "-c", _FOUND, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
            check=True,
        )  # fmt: skip
        lacking = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        # A run reports it later.
        return ""
    if not lacking:
        return ""
    names = ", ".join(f"{name} ({imports[name]})" for name in lacking)
    advice = (
        f"Install it: {absent.pip(lacking)}." if here else "Name in `requires` what provides it."
    )
    return f"not installed, and imported: {names}. {advice}"


def copy(checkout: Path, to: Path) -> None:
    """The files of a checkout that git would commit; outside of a repository all but those of builds and tools."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(checkout), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, stdin=subprocess.DEVNULL, timeout=_GIT_TIMEOUT, check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        listed = b""
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    if not names:
        shutil.copytree(
            checkout,
            to,
            symlinks=True,
            ignore=shutil.ignore_patterns(*_NOT_COPIED, ".git", "*.egg-info"),
        )
        return
    for name in names:
        path, place = checkout / name, to / name
        if name.split("/", 1)[0] in _NOT_COPIED[:1] or not (path.is_file() or path.is_symlink()):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place, follow_symlinks=False)
    # Some builds ask git for their version.
    if (checkout / ".git").exists():
        (to / ".git").symlink_to(checkout / ".git")


def _held(folder: Path) -> list[Distribution]:
    installed = distributions(path=[str(folder)])
    return sorted(installed, key=lambda package: canonicalize_name(package.name))


def _digest(wheel: Path) -> str:
    """The digest of a wheel's contents, without its dates, which differ in each build."""
    with zipfile.ZipFile(wheel) as opened:
        held = sorted((info.filename, info.CRC, info.file_size) for info in opened.infolist())
    return hashlib.sha256(json.dumps(held).encode()).hexdigest()[:16]


def _requirement(line: str) -> Requirement | None:
    try:
        return Requirement(line.partition(" #")[0].strip())
    except InvalidRequirement:
        return None


def _failed(column: Column, answer: Answer, what: str, advice: str) -> EnvironmentFailed:
    for pattern, why in _OF_ONE_PACKAGE:
        match = None if "checkout" in what else pattern.search(answer.stderr)
        if match is not None:
            module = canonicalize_name(match[1]).replace("-", "_")
            return EnvironmentFailed(
                f"{column.id}: {match[1]}, which the library needs, {why}: take it out of `requires` in its settings; "
                f'with stub = ["{module}"] tests that call it are left out.'
            )
    return EnvironmentFailed(f"{column.id}: {what}:\n{answer.why}\n{advice}")
