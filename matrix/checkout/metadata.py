"""A library's requirements of Triton, torch and other packages: read from its files, nothing is run.

pyproject.toml and setup.cfg declare them. A setup.py is a program: its text is searched for requirements of Triton and
torch, and these are marked as searched; `columns` in the settings overrides them. An installed package, or one unpacked
beside its .dist-info, has them in its METADATA.
"""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from crosswarp.matrix import reading, versions
from crosswarp.matrix.checkout import conda, setup_script, tool_tables
from crosswarp.matrix.checkout.imports import syntax
from crosswarp.matrix.checkout.mentioned import mentioned
from crosswarp.matrix.facts.columns import Column, published
from crosswarp.matrix.facts.datafile import document

# A column has its own of these.
OF_A_COLUMN = ("triton", "torch", "crosswarp")
# By which a marker is judged: where Triton is published for.
_LINUX = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
# PyTorch's own builds of one release: `torch==2.10.0+cu128` asks for 2.10.0. Other labels are other vendors' builds.
_OWN_BUILD = re.compile(r"(==[^,+]+)\+(?:cpu|cu\d+|rocm[\d.]+|xpu)(?=,|$)")
_PIN = re.compile(r"==(\d[\w.]*)(?:\+(?:cpu|cu\d+|rocm[\d.]+|xpu))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")


@dataclass(frozen=True)
class Wish:
    """One requirement.

    Attributes:
        where: the file and the key that it stands at.
        extra: the extra or group that asks for it; empty where everybody gets it.
        sure: whether it was read, and not searched for in the text of a setup.py.
    """

    requirement: Requirement
    where: str
    extra: str = ""
    sure: bool = True

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def text(self) -> str:
        """`triton>=2.3.1`, without its marker."""
        return f"{self.name}{self.requirement.specifier}"


# Whether a requirement allows a version.
Within = Callable[[Wish, "str | None"], bool]


@dataclass(frozen=True)
class Declared:
    """The declarations in the files of a checkout."""

    name: str
    wishes: tuple[Wish, ...] = ()

    def of(self, name: str) -> tuple[Wish, ...]:
        """The wishes that decide: those read, or where there are none, those found in the text of setup.py."""
        wishes = [wish for wish in self.wishes if wish.name == name and wish.requirement.specifier]
        return tuple([wish for wish in wishes if wish.sure] or wishes)

    def allows(self, name: str, version: str | None, within: Within | None = None) -> bool:
        """Whether a release lies in the range: in that of everybody, else in one of those that extras ask for."""
        within = within or _within
        wishes = self.of(name)
        if not all(wish.sure for wish in wishes):
            # Branches of a program: it is not known which one runs.
            return not wishes or any(within(wish, version) for wish in wishes)
        always = [wish for wish in wishes if not wish.extra]
        # An extra narrows it for those who ask for it; for everybody only where nothing else names the package.
        if always or not wishes:
            return all(within(wish, version) for wish in always)
        return any(within(wish, version) for wish in wishes)

    def columns(self, table: Sequence[Column]) -> list[Column]:
        """The published pairs that the range allows, oldest first; else those of the pinned minor releases."""
        pairs = published(table)
        return [pair for pair in pairs if self.allows_pair(pair)] or [
            pair for pair in pairs if self.allows_pair(pair, _within_minor)
        ]

    def allows_pair(self, pair: Column, within: Within | None = None) -> bool:
        """Whether both of a column's releases lie in the range."""
        return self.allows("triton", pair.triton, within) and self.allows(
            "torch", pair.torch, within
        )

    def range_of(self, name: str) -> str:
        """`triton>=2.3.1 (pyproject.toml, project.dependencies)`; empty where there is no requirement."""
        ranges: dict[str, list[str]] = {}
        for wish in self.of(name):
            if wish.where not in ranges.setdefault(wish.text, []):
                ranges[wish.text].append(wish.where)
        return " or ".join(f"{text} ({', '.join(where)})" for text, where in ranges.items())

    def range_alone(self, name: str) -> str:
        """The range alone: `triton>=2.3.1`."""
        return " or ".join(dict.fromkeys(wish.text for wish in self.of(name)))


def declared(folder: Path) -> Declared:
    """Returns the declarations of the checkout in `folder`.

    Raises:
        ConfigError: its pyproject.toml cannot be read.
    """
    wishes: list[Wish] = []
    name = ""
    pyproject = folder / "pyproject.toml"
    if pyproject.is_file():
        content = document(pyproject)
        project = _mapping(content.get("project"))
        name = str(project.get("name") or _deep(content, "tool", "poetry", "name") or "")
        wishes += _of_project(folder, content, project)
    config = _setup_cfg(folder / "setup.cfg")
    name = name or config.get("metadata", "name", fallback="")
    wishes += _of_setup_cfg(config)
    script = syntax(folder / "setup.py")
    name = name or _name_in(script)
    wishes += setup_script.wishes_in(folder, script, _wishes)
    wishes += _in_text(script)
    wishes += _of_files(folder, alone=not any(wish.sure and not wish.extra for wish in wishes))
    if not wishes:
        installed, wishes = _of_installed(folder)
        name = name or installed
    return Declared(name or folder.resolve().name, tuple(wishes))


def with_mentions(folder: Path) -> Declared:
    """Returns the declarations of the checkout in `folder`; for Triton and torch, else those in its other files.

    Raises:
        ConfigError: its pyproject.toml cannot be read.
    """
    declarations = declared(folder)
    if declarations.of("triton") or declarations.of("torch"):
        return declarations
    mentions = tuple(Wish(mention, where, sure=False) for mention, where in mentioned(folder))
    return Declared(declarations.name, (*declarations.wishes, *mentions))


def listed(folder: Path) -> list[str]:
    """The packages that requirements files in a checkout name, whatever its metadata says."""
    return list(dict.fromkeys(wish.name for wish in _of_files(folder, alone=True)))


def above(path: Path) -> Declared:
    """Returns the declarations of the nearest folder, from `path` upwards, that has any about Triton or torch.

    Where its metadata says nothing, its requirements, lock files, CI files, README and docs do (`mentioned`).

    The search ends where a checkout does, and at the home folder.

    Raises:
        ConfigError: a pyproject.toml on the way cannot be read.
    """
    path = path.absolute()
    for place in (path, *path.parents) if path.is_dir() else path.parents:
        declarations = with_mentions(place)
        if declarations.of("triton") or declarations.of("torch"):
            return declarations
        if (place / ".git").exists() or (place / "pyproject.toml").exists() or place == Path.home():
            break
    return Declared(path.name)


def requirement(text: Any) -> Requirement | None:
    """The requirement in a text, if it applies on Linux; None for a text without one."""
    try:
        parsed = Requirement(str(text))
    except InvalidRequirement:
        return None
    return parsed if _applies(parsed) else None


def modules_of_extensions(folder: Path) -> list[str]:
    """The compiled modules that setup.py names: `CUDAExtension(name="x._C", ...)`."""
    values = []
    for node in ast.walk(syntax(folder / "setup.py")):
        if isinstance(node, ast.Call) and _called(node).endswith("Extension"):
            names = [word.value for word in node.keywords if word.arg == "name"] or node.args[:1]
            values += [name.value for name in names if isinstance(name, ast.Constant)]
    return list(dict.fromkeys(str(name) for name in values))


def _within(wish: Wish, version: str | None) -> bool:
    return versions.within(version, _OWN_BUILD.sub(r"\1", str(wish.requirement.specifier)))


def _within_minor(wish: Wish, version: str | None) -> bool:
    """Whether the wish allows a version, or pins another patch of its minor release: 2.7.0 is 2.7.1's."""
    pin = _PIN.fullmatch(str(wish.requirement.specifier))
    released = versions.base(version or "")
    return _within(wish, version) or bool(
        pin and released and versions.exact(pin[1]).release[:2] == released.release[:2]
    )


def _applies(wanted: Requirement) -> bool:
    if wanted.marker is None:
        return True
    extras = _EXTRA.findall(str(wanted.marker)) or [""]
    return any(wanted.marker.evaluate({**_LINUX, "extra": extra}) for extra in extras)


def _wishes(texts: Any, where: str, extra: str = "") -> Iterator[Wish]:
    for text in texts if isinstance(texts, (list, tuple)) else ():
        # A group may include another: {include-group = "test"}.
        wanted = requirement(text) if isinstance(text, str) else None
        if wanted is not None:
            yield Wish(wanted, where, extra)


def _of_project(
    folder: Path, document: Mapping[str, Any], project: Mapping[str, Any]
) -> Iterator[Wish]:
    file = "pyproject.toml"
    yield from _wishes(project.get("dependencies"), f"{file}, project.dependencies")
    for extra, texts in _mapping(project.get("optional-dependencies")).items():
        yield from _wishes(texts, f'{file}, the extra "{extra}"', str(extra))
    for group, texts in _mapping(document.get("dependency-groups")).items():
        yield from _wishes(texts, f'{file}, the group "{group}"', str(group))
    for text, where, extra in tool_tables.requirements(_mapping(document.get("tool"))):
        yield from _wishes([text], f"{file}, {where}", extra)
    dynamic = _mapping(_deep(document, "tool", "setuptools", "dynamic"))
    for path in _files(_mapping(dynamic.get("dependencies"))):
        yield from _wishes(_lines(folder / path), path)
    for extra, entry in _mapping(dynamic.get("optional-dependencies")).items():
        for path in _files(_mapping(entry)):
            yield from _wishes(_lines(folder / path), path, str(extra))


def _of_setup_cfg(config: configparser.RawConfigParser) -> Iterator[Wish]:
    texts = config.get("options", "install_requires", fallback="").splitlines()
    yield from _wishes(texts, "setup.cfg, install_requires")
    if config.has_section("options.extras_require"):
        for extra, lines in config.items("options.extras_require"):
            yield from _wishes(lines.splitlines(), f'setup.cfg, the extra "{extra}"', extra)


def _of_installed(folder: Path) -> tuple[str, list[Wish]]:
    """The name and requirements of a package beside its .dist-info, where no other is installed."""
    files = [file for glob in ("*.dist-info/METADATA", "PKG-INFO") for file in folder.glob(glob)]
    try:
        text = reading.data(files[0]).decode("utf-8", "replace") if len(files) == 1 else ""
    except OSError:
        text = ""
    headers = HeaderParser().parsestr(text)
    wishes = []
    for line in headers.get_all("Requires-Dist", []):
        parsed = requirement(str(line))
        if parsed is not None:
            extra = _EXTRA.search(str(parsed.marker or ""))
            name = extra[1] if extra else ""
            where = f'{files[0].name}, the extra "{name}"' if name else files[0].name
            wishes.append(Wish(parsed, where, name))
    return str(headers.get("Name", "")), wishes


def _in_text(script: ast.AST) -> Iterator[Wish]:
    for text in setup_script.texts_in(script):
        wanted = requirement(text)
        if wanted is not None and wanted.specifier:
            yield Wish(wanted, "the text of setup.py", sure=False)


def _of_files(folder: Path, alone: bool) -> Iterator[Wish]:
    """The requirements in files that people install from by hand: requirements.txt and conda, if no metadata has them.

    Their versions of Triton and torch are those that somebody uses (`mentioned`), and no range.
    """
    files: list[tuple[Path, list[str], str]] = []
    if alone:
        files += [(path, _lines(path), "") for path in folder.glob("requirements.txt")]
        for path in sorted((*folder.glob("environment*.yml"), *folder.glob("environment*.yaml"))):
            files.append((path, conda.requirements(path), "conda-test"))
    for path in sorted((*folder.glob("*requirements*.txt"), *folder.glob("*/requirements*.txt"))):
        inside = path.relative_to(folder).as_posix()
        if inside != "requirements.txt":
            files.append((path, _lines(path), inside[:-4].replace("/", "-")))
    for path, texts, extra in files:
        for wish in _wishes(texts, path.relative_to(folder).as_posix(), extra):
            if wish.name not in OF_A_COLUMN:
                yield wish


def _setup_cfg(path: Path) -> configparser.RawConfigParser:
    config = configparser.RawConfigParser(strict=False)
    try:
        config.read_string(reading.text(path), str(path))
    except (configparser.Error, OSError, UnicodeDecodeError):
        # setuptools will complain; to us it says nothing.
        return configparser.RawConfigParser()
    return config


def _name_in(script: ast.AST) -> str:
    for node in ast.walk(script):
        if isinstance(node, ast.Call) and _called(node) == "setup":
            for word in node.keywords:
                if word.arg == "name" and isinstance(word.value, ast.Constant):
                    return str(word.value.value)
    return ""


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def _files(entry: Mapping[str, Any]) -> Iterable[str]:
    named = entry.get("file", ())
    return [named] if isinstance(named, str) else [file for file in named if isinstance(file, str)]


def _lines(path: Path) -> list[str]:
    try:
        return [line.partition("#")[0].strip() for line in reading.text(path).splitlines()]
    except (OSError, UnicodeDecodeError):
        return []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _deep(value: Any, *keys: str) -> Any:
    for key in keys:
        value = _mapping(value).get(key)
    return value
