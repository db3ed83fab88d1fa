"""Finds today's Triton for the column `main`.

In this order: the one that --main or CROSSWARP_MAIN names (a wheel, a directory, a git reference); the newest build of
the nightly index that CROSSWARP_NIGHTLY_INDEX or --nightly-index names; the newest published release. The last is no
main, so every report labels it a stand-in.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from crosswarp.matrix import versions
from crosswarp.matrix.environments.uvtool import Answer, Uv
from crosswarp.matrix.errors import EnvironmentFailed, UsageError
from crosswarp.matrix.facts import columns
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.versions import Version

UPSTREAM = "https://github.com/triton-lang/triton"
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)
_INDEX_TIMEOUT = 60


@dataclass(frozen=True)
class Resolved:
    """One Triton and the torch beside it. `triton` and `torch` are requirements; the versions may be unknown yet."""

    triton: str
    torch: str
    label: str
    triton_version: str | None = None
    torch_version: str | None = None
    # uv must not reuse a build of sources that may have changed under the same name.
    moving: bool = False
    index: str | None = None
    # The facts that distinguish this Triton from another of the same version.
    identity: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def check_reference(reference: str) -> None:
    """Checks a reference without the network, so that a mistyped path is a usage error before anything is built."""
    path = Path(reference).expanduser()
    advice = "Give a wheel, a folder with a source tree or wheels, or a git reference of Triton."
    if reference.endswith(".whl"):
        if not path.is_file():
            raise UsageError(f"--main {reference}: there is no such wheel. {advice}")
        _wheel_version(path)
    elif path.is_dir():
        if not _wheels(path) and _source_tree(path) is None:
            raise UsageError(
                f"--main {reference}: the folder holds neither Triton wheels nor its source. {advice}"
            )
    elif reference.startswith(("/", "./", "../", "~")):
        raise UsageError(f"--main {reference}: there is no such file or folder. {advice}")
    elif not re.fullmatch(r"[\w./:@+~-]+", reference) or reference.startswith("-"):
        raise UsageError(f"--main {reference}: not a git reference. {advice}")


def resolve(
    reference: str | None,
    nightly_index: str | None,
    table: Sequence[Column],
    uv: Uv,
    python_version: str,
    nightly: str | None = None,
) -> Resolved:
    """`nightly`: this build of the index, in place of its newest."""
    if reference:
        check_reference(reference)
        torch = _newest_torch(table, uv, python_version)
        path = Path(reference).expanduser()
        if path.is_file():
            return _wheel(path.resolve(), torch)
        if path.is_dir():
            wheels = _wheels(path)
            return _wheel(wheels[-1].resolve(), torch) if wheels else _tree(path.resolve(), torch)
        return _git(reference, torch)
    if nightly_index:
        return _nightly(nightly_index, table, uv, python_version, nightly)
    return _stand_in(table, uv, python_version)


def _wheel(path: Path, torch: str) -> Resolved:
    version = _wheel_version(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Resolved(
        triton=f"triton @ {path.as_uri()}",
        torch=torch,
        label=f"main (wheel: triton {version})",
        triton_version=version,
        identity={"wheel": path.name, "sha256": digest},
    )


def _tree(path: Path, torch: str) -> Resolved:
    source = _source_tree(path)
    assert source is not None
    commit = _git_output(["-C", str(path), "rev-parse", "HEAD"])
    return Resolved(
        triton=f"triton @ {source.as_uri()}",
        torch=torch,
        label=f"main (source tree{f' at {commit[:12]}' if commit else ''})",
        moving=True,
        identity={"git": commit} if commit else {},
    )


def _git(reference: str, torch: str) -> Resolved:
    """`main`, a tag, a commit, or a whole URL with @reference. A name that moves is pinned to its commit now."""
    url, name = UPSTREAM, reference
    if "://" in reference or reference.startswith("git+"):
        plain = reference.removeprefix("git+")
        url, _, name = plain.rpartition("@") if "@" in urlsplit(plain).path else (plain, "", "HEAD")
    commit = name if re.fullmatch(r"[0-9a-f]{40}", name) else None
    if commit is None:
        listed = _git_output(["ls-remote", url, name, f"refs/tags/{name}^{{}}"])
        if listed:
            commit = listed.splitlines()[-1].split()[0]
        elif re.fullmatch(r"[0-9a-f]{7,39}", name):
            commit = name
        else:
            raise EnvironmentFailed(
                f'main: git finds no "{name}" in {_public(url)}. Check the reference and the network, '
                "or give a wheel with --main."
            )
    return Resolved(
        triton=f"triton @ git+{url}@{commit}",
        torch=torch,
        label=f"main (git {commit[:12]})",
        identity={"git": commit},
    )


def builds(index: str, uv: Uv, python_version: str, oldest: str, newest: str) -> list[Version]:
    """The builds of Triton that an index has between two versions, oldest first. Raises EnvironmentFailed."""
    releases: list[Version] = []
    bounds = [f">={oldest}", f"<={newest}"]
    while True:
        answer = _of_index(index, f"triton{','.join(bounds)}", uv, python_version)
        if answer.status not in (0, 1):
            raise EnvironmentFailed(
                f"the index {_public(index)} did not say what it has of triton:\n{_hide(answer.why, index)}\n"
                "Check the address and the network, then run again."
            )
        if not (version := pinned(answer).get("triton")):
            return sorted(releases)
        releases.append(versions.exact(version))
        # `<3.9.0` has no builds on the way to 3.9.0; and builds of one version differ in their local part.
        same = [release for release in releases if release.public == releases[-1].public]
        bounds = [f">={oldest}", f"<={releases[-1].public}", *(f"!={release}" for release in same)]


def _of_index(index: str, requirement: str, uv: Uv, python_version: str) -> Answer:
    arguments = [
        "--prerelease",
        "allow",
        "--default-index",
        index,
        "--index-strategy",
        "first-index",
    ]
    # This index alone may answer here, or a published Triton could pass for one of its builds.
    return ask(
        [requirement], arguments, uv, python_version, environ={"UV_INDEX": "", "UV_FIND_LINKS": ""}
    )


def _nightly(
    index: str, table: Sequence[Column], uv: Uv, python_version: str, build: str | None = None
) -> Resolved:
    answer = _of_index(index, f"triton=={build}" if build else "triton", uv, python_version)
    pins = pinned(answer)
    if "triton" not in pins:
        raise EnvironmentFailed(
            f"main: the nightly index {_public(index)} gave no triton:\n{_hide(answer.why, index)}\n"
            "Check the address and the network, or unset CROSSWARP_NIGHTLY_INDEX to use the newest published release."
        )
    version = pins["triton"]
    return Resolved(
        triton=f"triton=={version}",
        torch=_newest_torch(table, uv, python_version),
        label=f"main (nightly: triton {version})",
        triton_version=version,
        index=index,
    )


def _stand_in(table: Sequence[Column], uv: Uv, python_version: str) -> Resolved:
    answer = ask(["triton", "torch"], [], uv, python_version)
    pins = pinned(answer)
    notes: tuple[str, ...] = ()
    if not {"triton", "torch"} <= pins.keys():
        newest = columns.newest(table)
        pins = {"triton": newest.triton or "", "torch": newest.torch or ""}
        notes = (
            f"main: the package index did not say what is newest ({_last_line(answer.why)}); "
            f"taking the newest of columns.toml, triton {newest.triton}.",
        )
    # A local part (+cpu) names one build; asking for the public version lets uv take whichever build is chosen later.
    triton, torch = (versions.public(pins[name]) for name in ("triton", "torch"))
    return Resolved(
        triton=f"triton=={triton}",
        torch=f"torch=={torch}",
        label=f"main (stand-in: triton {triton})",
        triton_version=triton,
        torch_version=torch,
        notes=notes,
    )


def _newest_torch(table: Sequence[Column], uv: Uv, python_version: str) -> str:
    answer = ask(["torch"], [], uv, python_version)
    pins = pinned(answer)
    version = versions.public(pins.get("torch", columns.newest(table).torch or ""))
    return f"torch=={version}"


def ask(
    requirements: Sequence[str],
    arguments: Sequence[str],
    uv: Uv,
    python_version: str,
    environ: dict[str, str] | None = None,
    deps: bool = False,
    constraints: Sequence[str] = (),
) -> Answer:
    """The newest version that each requirement allows, by itself: together with their dependencies (`deps`), an old
    torch that pins no Triton could be chosen. The exit status is 1 where there is none, and 2 where uv failed."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "wanted.in")
        wanted.write_text("".join(f"{requirement}\n" for requirement in requirements))
        if constraints:
            Path(folder, "constraints.in").write_text(
                "".join(f"{constraint}\n" for constraint in constraints)
            )
            arguments = [*arguments, "--constraints", "constraints.in"]
        if not deps:
            arguments = [*arguments, "--no-deps"]
        # Nothing is built, so any interpreter will do; without one, uv looks for that version and downloads it.
        return uv(
            ["pip", "compile", "--no-header", "--no-annotate", "--upgrade", "--no-build", "--python", sys.executable,
             "--python-version", python_version, *arguments, str(wanted)],
            timeout=_INDEX_TIMEOUT,
            environ=environ,
            cwd=Path(folder),
        )  # fmt: skip


def pinned(answer: Answer) -> dict[str, str]:
    """The version of each name in an answer of `ask`; empty where it failed."""
    return dict(_PINNED.findall(answer.stdout)) if answer.ok else {}


def _wheels(path: Path) -> list[Path]:
    """The Triton wheels of a folder, newest version last."""
    wheels = [wheel for wheel in path.glob("*.whl") if wheel.name.startswith("triton-")]
    return sorted(wheels, key=lambda wheel: parse_wheel_filename(wheel.name)[1])


def _wheel_version(path: Path) -> str:
    try:
        name, version, *_ = parse_wheel_filename(path.name)
    except InvalidWheelFilename:
        raise UsageError(
            f"--main {path}: not the name of a wheel. Give the file as it was built."
        ) from None
    if name != "triton":
        raise UsageError(
            f"--main {path}: a wheel of {name}, not of triton. Give a wheel of triton."
        )
    return str(version)


def _source_tree(path: Path) -> Path | None:
    # Up to 3.3 the Python project stood in a sub-folder.
    for candidate in (path, path / "python"):
        if (candidate / "setup.py").is_file():
            return candidate
    return None


def _git_output(arguments: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments],
            capture_output=True,
            text=True,
            timeout=_INDEX_TIMEOUT,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _public(url: str) -> str:
    """Without the user and password that an index URL may carry: this ends up in reports."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _hide(text: str, url: str) -> str:
    secret = urlsplit(url).netloc.rpartition("@")[0]
    return text.replace(url, _public(url)).replace(f"{secret}@", "") if secret else text


def _last_line(text: str) -> str:
    return text.splitlines()[-1] if text else "no answer"
