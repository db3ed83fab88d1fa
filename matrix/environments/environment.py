"""One environment for each column, built with uv and reused while its inputs stay the same."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version as installed_version
from pathlib import Path

from crosswarp.matrix import versions
from crosswarp.matrix.environments import locks, resolver
from crosswarp.matrix.environments.uvtool import Answer, Uv
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts.columns import CELL_PYTHON, Column

# The suite's own requirements inside every column. pyelftools reads registers and spills from a cubin.
SUITE_REQUIREMENTS = ("packaging", "pytest", "pytest-xdist", "pyelftools")
_STAMP = "crosswarp-stamp.json"
_PROBE_TIMEOUT = 8
_CHOOSE = "If there are no such versions, or no build of them for one Python, name others. "


@dataclass(frozen=True)
class Environment:
    python: Path
    label: str
    expect: Mapping[str, str]
    versions: Mapping[str, str]
    requirements: tuple[str, ...]
    # The requirements that were installed whatever the packages require.
    overrides: tuple[str, ...] = ()
    reused: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    # A digest of all that is installed, where no installer recorded reliable hashes; empty: unknown.
    identity: str = ""
    # Folders with work in progress: files that a kernel imports from them count for that kernel alone.
    sources: tuple[Path, ...] = ()
    # The lock that stops other runs from building it anew.
    hold: locks.Hold | None = field(default=None, compare=False)

    def release(self) -> None:
        """Nothing runs in it any more."""
        if self.hold is not None:
            self.hold.release()


@dataclass(frozen=True)
class Wanted:
    """All that an environment is built from. Equal ones need no building."""

    requirements: tuple[str, ...]
    overrides: tuple[str, ...]
    python: str
    crosswarp: str
    identity: Mapping[str, str] = field(default_factory=dict)

    def stamp(self) -> dict[str, object]:
        return {
            "requirements": list(self.requirements),
            "overrides": list(self.overrides),
            "python": self.python,
            "crosswarp": self.crosswarp,
            "identity": dict(self.identity),
        }

    @property
    def lock(self) -> str:
        """The digest of the stamp and of the machine's architecture and libc."""
        parts = [self.stamp(), platform.machine(), *platform.libc_ver()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


class Builder:
    """Builds environments below `folder`, one at a time. `say` reports its progress to the user."""

    def __init__(
        self,
        folder: Path,
        table: Sequence[Column],
        uv: Uv,
        main: str | None = None,
        nightly_index: str | None = None,
        say: Callable[[str], None] = lambda text: None,
        crosswarp: CrosswarpSource | None = None,
        nightly: str | None = None,
        by_lock: bool = False,
    ) -> None:
        self.folder = folder
        # Whether each lies in a folder that is named for all its inputs: machines of several makes share it.
        self._by_lock = by_lock
        self._table = table
        self._uv = uv
        self._main = main
        self._nightly_index = nightly_index
        # A build of that index, in place of its newest.
        self._nightly = nightly
        self._say = say
        self._crosswarp = crosswarp or CrosswarpSource.here()
        # None until the first build has asked; asked at most once a run. The answer may be passed to another builder.
        self.cpu_backend: bool | None = None
        self._cancelled = False
        self._holds: weakref.WeakSet[locks.Hold] = weakref.WeakSet()

    def __call__(self, column: Column) -> Environment:
        """Its environment, built where need be, and held as it is until `Environment.release` or `cancel`.

        Raises:
            EnvironmentFailed: it could not be built.
        """
        try:
            return self._environment(column)
        except OSError as error:
            raise EnvironmentFailed(
                f"{column.id}: its environment could not be built: {error}. Free space and check the rights of "
                f"{self.folder}, or name another folder with --work."
            ) from None

    def _environment(self, column: Column) -> Environment:
        started = time.monotonic()
        python = python_for(column)
        resolved = self._resolve(column, python)
        wanted = self._wanted(column, python, resolved)
        home = (self.folder / wanted.lock if self._by_lock else self.folder) / column.id
        home.parent.mkdir(parents=True, exist_ok=True)
        installed, reused, hold = self._ready(column, home, wanted, resolved)
        expect = {
            "triton": resolved.triton_version or installed["triton"],
            "torch": resolved.torch_version or installed["torch"],
            **column.swapped,
        }
        return Environment(
            python=_python_of(home),
            label=resolved.label,
            expect=expect,
            versions={**installed, **resolved.identity},
            requirements=wanted.requirements,
            overrides=wanted.overrides,
            reused=reused,
            seconds=time.monotonic() - started,
            notes=(*resolved.notes, *self._swapped(column, home, wanted)),
            hold=hold,
        )

    def is_ready(self, column: Column) -> bool:
        """Whether a run would use its environment as it is; of Triton's main any counts, since no index is asked."""
        home = self.folder / column.id
        if column.resolver == "main":
            return _python_of(home).exists()
        python = python_for(column)
        wanted = self._wanted(column, python, self._resolve(column, python))
        return self._reusable(home, wanted) is not None

    def lock(self, column: Column) -> str:
        """All that an environment is built from, in a word, before it is built."""
        python = python_for(column)
        return self._wanted(column, python, self._resolve(column, python)).lock

    def _wanted(self, column: Column, python: str, resolved: resolver.Resolved) -> Wanted:
        return Wanted(
            requirements=(
                resolved.triton,
                resolved.torch,
                *column.requirements,
                *SUITE_REQUIREMENTS,
            ),
            overrides=(resolved.triton, resolved.torch) if column.resolver else column.overrides,
            python=python,
            crosswarp=self._crosswarp.stamp,
            identity=resolved.identity,
        )

    def cancel(self) -> None:
        """Ends the current build, and releases this run's locks on finished ones."""
        self._cancelled = True
        self._uv.cancel()
        for hold in list(self._holds):
            hold.release()

    def _ready(
        self, column: Column, home: Path, wanted: Wanted, resolved: resolver.Resolved
    ) -> tuple[dict[str, str], bool, locks.Hold]:
        """The versions installed in `home`, whether they were there already, and the lock against other builds.

        A run that needs other packages waits for those that use it: their suites import from it until they end.
        """
        lock, moving, built = home.with_name(f"{column.id}.lock"), resolved.moving, False
        while True:
            hold = self._wait(
                locks.use, lock, f"{column.id}: another run builds its environment; waiting for it"
            )
            ready = None if moving else self._reusable(home, wanted)
            if ready is not None:
                return ready, not built, hold
            hold.release()
            hold = self._wait(
                locks.change, lock,
                f"{column.id}: another run uses its environment, which this one must build anew; waiting for its end "
                "(with another --work you need not wait)",
            )  # fmt: skip
            try:
                if moving or self._reusable(home, wanted) is None:
                    self._say(f"{column.id}: building its environment")
                    self._make(column, home, wanted, resolved)
                    built = True
            finally:
                hold.release()
            # From here on it is like any other: moving versions were looked up once for this run.
            moving = False

    def _wait(
        self,
        lock: Callable[[Path, Callable[[], None], Callable[[], bool]], locks.Hold],
        path: Path,
        message: str,
    ) -> locks.Hold:
        try:
            hold = lock(path, lambda: self._say(message), lambda: self._cancelled)
        except locks.Stopped:
            raise EnvironmentFailed(
                "cancelled while it waited for another run. Run again."
            ) from None
        self._holds.add(hold)
        if self._cancelled:
            # `cancel` may not have seen it.
            hold.release()
            raise EnvironmentFailed("cancelled. Run again.")
        return hold

    def _make(
        self, column: Column, home: Path, wanted: Wanted, resolved: resolver.Resolved
    ) -> None:
        self._build(column, home, wanted, resolved)
        installed = self._installed(column, home)
        self._check_pins(column, resolved, installed)
        stamp = {**wanted.stamp(), "installed": installed}
        (home / _STAMP).write_text(json.dumps(stamp, indent=1))

    def _resolve(self, column: Column, python: str) -> resolver.Resolved:
        if column.resolver == "main":
            number = python if python[:1].isdigit() else _here()
            return resolver.resolve(
                self._main, self._nightly_index, self._table, self._uv, number, self._nightly
            )
        return resolver.Resolved(
            triton=f"triton=={column.triton}",
            torch=f"torch=={column.torch}",
            label=column.id,
            triton_version=column.triton,
            torch_version=column.torch,
        )

    def _reusable(self, home: Path, wanted: Wanted) -> dict[str, str] | None:
        try:
            stamp = json.loads((home / _STAMP).read_text())
            installed = stamp.pop("installed")
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return None
        # The interpreter may be gone (a system upgrade); a link to nothing does not exist.
        return installed if stamp == wanted.stamp() and _python_of(home).exists() else None

    def _build(
        self, column: Column, home: Path, wanted: Wanted, resolved: resolver.Resolved
    ) -> None:
        if home.is_symlink():
            raise EnvironmentFailed(
                f"{column.id}: {home} is a symbolic link, and building would clear the folder that it leads to. Remove "
                "the link, or name another folder with --work."
            )
        # --clear deletes the old stamp as well, so an interrupted build never looks finished.
        made = self._uv(["venv", "--clear", "--force", "--python", wanted.python, str(home)])
        if not made.ok:
            advice = f"Free space and check the rights of {home.parent}, or name another folder with --work."
            if not self._uv(["python", "find", wanted.python]).ok:
                advice = (
                    f"uv found no Python {wanted.python}: install one (uv python install), or run "
                    "crosswarp with it."
                )
            raise _failed(column, made, advice)
        arguments = ["pip", "install", "--python", str(_python_of(home))]
        if resolved.index:
            arguments += ["--index", resolved.index, "--index-strategy", "unsafe-best-match"]
            arguments += ["--prerelease-package", "triton=allow"]
        with tempfile.TemporaryDirectory() as folder:
            if wanted.overrides:
                overrides = Path(folder, "overrides.txt")
                overrides.write_text("\n".join(wanted.overrides) + "\n")
                arguments += ["--overrides", str(overrides)]
            if resolved.moving:
                arguments += ["--reinstall-package", "triton", "--refresh-package", "triton"]
            self._install(column, [*arguments, *wanted.requirements])
        self._crosswarp.install(column, _python_of(home), self._uv)

    def _install(self, column: Column, arguments: Sequence[str]) -> None:
        if self.cpu_backend is None:
            self.cpu_backend, message = self._probe_cpu(arguments)
            self._say(message)
        if self.cpu_backend:
            if self._uv([*arguments, "--torch-backend", "cpu"]).ok:
                return
            self._say(
                f"{column.id}: torch's CPU build could not be installed; taking the package index's build"
            )
        done = self._uv(arguments)
        if not done.ok:
            raise _failed(
                column,
                done,
                f"{_CHOOSE if column.swapped else ''}Check the network and the package index (pip's and uv's settings "
                "are used), then run again; the other columns are not concerned. To leave this one out, name the "
                "others with --triton.",
            )

    def _probe_cpu(self, arguments: Sequence[str]) -> tuple[bool, str]:
        """Whether torch's own CPU index answers: resolved only, without a retry, and given up after seconds."""
        answer = self._uv(
            [*arguments, "--torch-backend", "cpu", "--dry-run"],
            timeout=_PROBE_TIMEOUT,
            environ={"UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": str(_PROBE_TIMEOUT)},
        )
        if answer.ok:
            return True, "torch: CPU builds, from torch's own index"
        why = (
            "no answer in time"
            if answer.status == 124
            else "cannot be reached or lacks these versions"
        )
        return False, (
            f"torch: its CPU index {why}; taking the package index's builds (local wheels of the same version first). "
            "They are larger and work the same here."
        )

    def _installed(self, column: Column, home: Path) -> dict[str, str]:
        listed = self._uv(["pip", "list", "--format", "json", "--python", str(_python_of(home))])
        if not listed.ok:
            raise _failed(column, listed, "Delete that folder and run again.")
        packages = {entry["name"]: entry["version"] for entry in json.loads(listed.stdout)}
        keep = ("triton", "torch", "numpy", "setuptools", "pytest", "pytest-xdist", "crosswarp")
        pinned = {name: packages[name] for name in keep if name in packages}
        return {**pinned, "python": _python_version(home)}

    def _swapped(self, column: Column, home: Path, wanted: Wanted) -> tuple[str, ...]:
        """That it is no published pair, and which wishes of its packages were overridden."""
        if not (column.swapped or column.patch_of):
            return ()
        checked = self._uv(["pip", "check", "--python", str(_python_of(home))])
        against = [line.strip() for line in checked.stderr.splitlines() if " requires " in line]
        official = column.patch_of or versions.split_id(column.id)[0]
        text = f"{column.id}: off the versions of {official}"
        if wanted.overrides:
            text += f"; overridden: {', '.join(wanted.overrides)}"
        return (". ".join([text, *against]) + ".",)

    def _check_pins(
        self, column: Column, resolved: resolver.Resolved, installed: Mapping[str, str]
    ) -> None:
        pins = {"triton": resolved.triton_version, "torch": resolved.torch_version}
        for name, planned in {**pins, **column.swapped}.items():
            if name not in installed or (
                planned and not versions.as_planned(name, installed[name], planned)
            ):
                raise EnvironmentFailed(
                    f"{column.id}: its environment holds {name} {installed.get(name, 'not at all')}, planned was "
                    f"{planned}. Delete {self.folder / column.id} and run again."
                )


@dataclass(frozen=True)
class CrosswarpSource:
    """Where the crosswarp that runs here comes from: a column gets the same one, never another version."""

    # The root of a checkout, or None when crosswarp is installed from a wheel.
    checkout: Path | None
    version: str

    @classmethod
    def here(cls) -> CrosswarpSource:
        root = Path(__file__).resolve().parents[2]
        project = root / "pyproject.toml"
        is_checkout = project.is_file() and 'name = "crosswarp"' in project.read_text("utf-8")
        try:
            number = installed_version("crosswarp")
        except ImportError:
            number = "unknown"
        return cls(root if is_checkout else None, number)

    @property
    def stamp(self) -> str:
        if self.checkout:
            # A package that is new in pyproject.toml must reach environments that exist already.
            return f"{self.checkout} {(self.checkout / 'pyproject.toml').stat().st_mtime_ns}"
        return f"{self.version} from {_packages_folder()}"

    def install(self, column: Column, python: Path, uv: Uv) -> None:
        if self.checkout:
            done = uv(
                ["pip", "install", "--python", str(python), "--no-deps", "-e", str(self.checkout)]
            )
            if not done.ok:
                raise _failed(
                    column, done, f"crosswarp itself could not be installed from {self.checkout}."
                )
            return
        # From a wheel there is nothing to build from: the installed packages are copied as they are.
        query = "import sysconfig; print(sysconfig.get_path('purelib'))"
        answer = uv(["run", "--no-project", "--python", str(python), "python", "-c", query])
        if not answer.ok:
            raise _failed(column, answer, "Delete its folder and run again.")
        target = Path(answer.stdout.strip()) / "crosswarp"
        shutil.copytree(
            _packages_folder(),
            target,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )


def _packages_folder() -> Path:
    return Path(__file__).resolve().parents[2]


def python_for(column: Column) -> str:
    """This interpreter's version where the column allows it, so that nothing is downloaded; else the column's range."""
    if versions.within(_here(), column.python):
        return _here()
    return versions.both(column.python, CELL_PYTHON)


def _python_version(home: Path) -> str:
    lines = (line.partition("=") for line in (home / "pyvenv.cfg").read_text().splitlines())
    return next(value.strip() for name, _, value in lines if name.strip() == "version_info")


def _here() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _python_of(home: Path) -> Path:
    return home / "bin" / "python"


def _failed(column: Column, answer: Answer, advice: str) -> EnvironmentFailed:
    return EnvironmentFailed(
        f"{column.id}: its environment could not be built:\n{answer.why}\n{advice}"
    )
