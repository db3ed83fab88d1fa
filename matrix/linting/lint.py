"""Compares a library's files with releases of Triton: findings, each with the affected releases."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.checkout import apart
from crosswarp.matrix.checkout.apart import Apart
from crosswarp.matrix.facts import announced, language_table
from crosswarp.matrix.facts.announced import Change
from crosswarp.matrix.facts.language_table import Table
from crosswarp.matrix.linting import gluon, rules, sources
from crosswarp.matrix.linting.api import TLX, Api, short
from crosswarp.matrix.linting.fixes import Fixes
from crosswarp.matrix.linting.rules import Where
from crosswarp.matrix.linting.sources import Source, Unreadable
from crosswarp.matrix.linting.values import UNKNOWN
from crosswarp.matrix.linting.walking import Walker

# By whether a hook is handed names.
_HANDED = {True: "a dict of the arguments is handed", False: "a list of the arguments is handed"}
_INSTEAD = {
    "plain-global": "NAME = tl.constexpr(value) at the module's level, or a tl.constexpr parameter",
    "python-function": "compute it on the host, and pass it as a tl.constexpr",
    "autotune-restored": "pass it by its place",
    "triton.runtime.jit.JITFunction.cache": "3.3 and later have device_caches, whose entries begin with that dict",
    "triton.runtime.jit.JITFunction.device_caches": "before 3.3 it is cache, by device",
}


@dataclass(frozen=True)
class Finding:
    """One problem in one place of a file.

    Attributes:
        rule: a key of `rules.RULES`.
        subject: the full name that it is about, such as `triton.language.load(boundary_check)`.
        releases: the affected releases, oldest first.
        where: the step that fails there.
        fixed_by: the shim of `crosswarp.compat` that fixes it, by release.
        message: all of that as a sentence.
        callers: the places in other files, as `path:line`, by which the code is reached; empty where only its own
            file reaches it.
        apart: the folder of another vendor's chips, or of a vendored copy, that the file is in.
    """

    rule: str
    path: str
    line: int
    column: int
    end_line: int
    subject: str
    releases: tuple[str, ...]
    where: Where
    fixed_by: Mapping[str, str]
    message: str
    callers: tuple[str, ...] = ()
    apart: Apart | None = None

    @property
    def counts(self) -> bool:
        """Whether it is about the library on published releases: other vendors' chips use a separate Triton."""
        return self.apart is None or not self.apart.vendor


@dataclass
class Result:
    findings: list[Finding]
    unreadable: list[Unreadable]
    files: int
    releases: tuple[str, ...]
    ignored: int = 0
    announced: tuple[Change, ...] = ()


@dataclass
class _Place:
    rule: str
    source: Source
    line: int
    column: int
    end_line: int
    subject: str
    where: Where
    callers: tuple[str, ...]
    messages: dict[str, str] = field(default_factory=dict)


class Project:
    """The files of a library, which name things of each other."""

    def __init__(self, api: Api, files: Iterable[Source]) -> None:
        self.api = api
        self.files = list(files)
        self._modules = sources.by_module(self.files)
        for file in self.files:
            file.own_modules = self._modules
        self._names: dict[tuple[str, str], dict[str, Any]] = {}
        self._depth = 0

    @cached_property
    def _defined(self) -> frozenset[str]:
        return frozenset(
            node.name
            for source in self.files
            for node in ast.walk(source.tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        )

    def defines(self, name: str) -> bool:
        """Whether the library has a function or method of that name."""
        return name in self._defined

    def module(self, name: str) -> Source | None:
        return self._modules.get(name)

    @lru_cache(maxsize=None)  # noqa: B019
    def says(self, word: str) -> bool:
        """Whether the library contains a word."""
        return any(word in file.text for file in self.files)

    def has_module(self, name: str) -> bool:
        return name in self._modules

    def name_in(self, module: str, name: str, release: str) -> Any:
        """Returns the value of a name in a module of the library on a release."""
        value = self.names_in(module, release).get(name, UNKNOWN)
        # A function is walked in its own file, where it is seen who calls it.
        return value

    def names_in(self, module: str, release: str) -> dict[str, Any]:
        key = (module, release)
        if key in self._names:
            return self._names[key]
        source = self._modules.get(module)
        if source is None or self._depth > 40:
            return {}
        # In a cycle of imports, this is the part that exists by then.
        walker = Walker(self, source, release, _nothing)
        self._names[key] = walker.scope.names
        self._depth += 1
        try:
            walker.block(source.tree.body)
        except RecursionError:
            pass
        finally:
            self._depth -= 1
        self._names[key] = walker.scope.names
        return walker.scope.names


def _nothing(*_: Any) -> None:
    pass


@contextmanager
def uncollected() -> Iterator[None]:
    """Disables Python's garbage collector, which otherwise scans millions of tree nodes again and again."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


@uncollected()
def lint(
    paths: Sequence[Path],
    releases: Sequence[str],
    left_out: Sequence[str] = (),
    table: Table | None = None,
    shown: Callable[[Path], str] = str,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Result:
    """Checks the files under `paths` on `releases` of the table; returns the findings.

    Args:
        progress: is called with the number of files walked and the total.

    Raises:
        UsageError: one of `paths` does not exist.
    """
    api = Api(table if table is not None else language_table.load())
    fixes = Fixes.load(api.releases)
    files, unreadable = [], []
    folders = [path for path in paths if path.is_dir()]
    set_apart: dict[str, Apart] = {}
    for path in sources.python_files(paths, left_out):
        inside = next(
            (path.relative_to(folder) for folder in folders if path.is_relative_to(folder)), None
        )
        found_apart = apart.of(str(inside)) if inside is not None else None
        if found_apart is not None:
            set_apart[shown(path)] = found_apart
        file = sources.read(path, shown(path))
        if isinstance(file, Unreadable):
            unreadable.append(file)
        else:
            files.append(file)
    project = Project(api, files)
    places: dict[tuple[Any, ...], _Place] = {}
    for count, source in enumerate(files):
        progress(count, len(files))
        if not source.names_triton:
            continue
        for release in releases:
            try:
                Walker(project, source, release, _reporter(places)).run()
            except RecursionError:
                unreadable.append(Unreadable(source.path, "nested too deep to be walked"))
                break
    count = len(files) + len(unreadable)
    unreadable += [source_file.broken for source_file in files if source_file.broken is not None]
    findings = [
        place
        for place in places.values()
        if not place.source.ignores(place.rule, place.line, place.end_line)
    ]
    results = [_finding(place, api, fixes, set_apart.get(place.source.path)) for place in findings]
    results.sort(
        key=lambda finding: (
            finding.path,
            finding.line,
            finding.column,
            finding.rule,
            finding.subject,
        )
    )
    announced = _announced(project, releases)
    return Result(
        results, unreadable, count, tuple(releases), len(places) - len(findings), announced
    )


def _announced(project: Project, releases: Sequence[str]) -> tuple[Change, ...]:
    """The changes that the newest of the releases announces, for a library with kernels that has not set them."""
    if not any("triton.jit" in file.text or "gluon.jit" in file.text for file in project.files):
        return ()
    return tuple(
        change
        for change in announced.load()
        if change.by in releases
        and not any(project.says(word) for word in change.decided)
        and (not change.concerns or any(project.says(word) for word in change.concerns))
    )


def _start(node: ast.AST) -> tuple[int, int]:
    """Line and column of a node; of a method in a chain over several lines, those of its name."""
    function = node.func if isinstance(node, ast.Call) else node
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    end = getattr(function, "end_lineno", None) or line
    if isinstance(function, ast.Attribute) and end > line and function.end_col_offset is not None:
        return end, function.end_col_offset - len(function.attr) + 1
    return line, column


def _reporter(places: dict[tuple[Any, ...], _Place]) -> rules.Report:
    """Keeps each place once, whichever files lead to it, with the shortest way from another file."""

    def report(
        rule: str,
        source: Source,
        node: ast.AST,
        callers: Sequence[str],
        release: str,
        where: Where,
        subject: str,
        message: str,
    ) -> None:
        line, column = _start(node)
        key = (source.path, rule, line, column, subject, where)
        place = places.get(key)
        if place is None:
            end = min(getattr(node, "end_lineno", line) or line, line + 20)
            place = places[key] = _Place(
                rule, source, line, column, end, subject, where, tuple(callers)
            )
        ways = filter(None, (place.callers, tuple(callers)))
        place.callers = min(ways, key=lambda path: (len(path), path), default=())
        place.messages[release] = message

    return report


def _finding(place: _Place, api: Api, fixes: Fixes, found_apart: Apart | None) -> Finding:
    releases = tuple(release for release in api.releases if release in place.messages)
    first = next(iter(place.messages.values()))
    fixed_by = {
        release: shim
        for release in releases
        if (shim := fixes.shim(release, place.rule, place.subject))
    }
    if place.rule == "version-string":
        wrong = tuple(release for release in releases if place.messages[release] == "wrong already")
        releases = (*wrong, rules.NEXT)
        first = place.subject
    message = _message(place, releases, first, fixed_by, api.releases)
    return Finding(
        place.rule, place.source.path, place.line, place.column, place.end_line, place.subject, releases, place.where,
        fixed_by, message, place.callers, found_apart,
    )  # fmt: skip


def _message(
    place: _Place,
    releases: Sequence[str],
    message: str,
    fixed_by: Mapping[str, str],
    order: Sequence[str],
) -> str:
    if place.rule == "version-string":
        wording = (
            f'{message} compares letters: "3.10.0" < "3.2.0". '
            "Compare packaging.version.Version, or tuples of numbers"
        )
        before = [release for release in releases if release != rules.NEXT]
        return f"{wording}; wrong on {', '.join([*before, f'{rules.NEXT} and later'])}."
    runs = language_table.runs(releases, order)
    name = short(place.subject)
    if place.rule in ("language-name", "host-name"):
        of_tlx = "is TLX, which fbtriton has, and " if place.subject == TLX else ""
        wording = message or f"{name} {of_tlx}is not in Triton"
    elif place.rule in ("language-argument", "host-argument"):
        wording = f"{message} is not taken by Triton"
    elif place.rule == "language-removed":
        wording = f"{name} refuses ({message}) in Triton"
    elif place.rule == "launch-option":
        wording = f"{message} is no launch option of Triton"
    elif place.rule == "plain-global":
        kind, _, name = place.subject.partition(" global ")
        how = "is no tl.constexpr" if kind == "plain" else "is only annotated as a tl.constexpr"
        wording = f"the global {name} {how}, and a kernel may not read it in Triton"
    elif place.rule == "python-function":
        wording = f"{place.subject}() in a kernel is refused by Triton"
    elif place.rule == "autotune-hook":
        wording = (
            f"{message}: {_HANDED[versions.within(releases[0], '>=3.2')]} to the hook by Triton"
        )
    elif place.rule == "autotune-restored":
        wording = f"{message}: {place.subject} finds only what is handed by place in Triton"
    else:
        word = "key" if place.rule == "autotune-key" else place.subject.partition("(")[2][:-1]
        wording = f"autotune({word}=…) names {message}, no argument of the kernel, which is refused by Triton"
    text = f"{wording} {runs}: {place.where.value}; {_fixed(releases, fixed_by, order)}"
    instead = (
        gluon.instead(place.subject) or _INSTEAD.get(place.rule) or _INSTEAD.get(place.subject, "")
    )
    return f"{text}. Instead: {instead}." if instead else f"{text}."


def _fixed(releases: Sequence[str], fixed_by: Mapping[str, str], order: Sequence[str]) -> str:
    if not fixed_by:
        return "no shim of crosswarp.compat fixes it"
    by_shim: dict[str, list[str]] = {}
    for release, shim in fixed_by.items():
        by_shim.setdefault(shim, []).append(release)
    parts = [
        f"{shim}"
        if len(affected) == len(releases)
        else f"{shim} on {language_table.runs(affected, order)}"
        for shim, affected in by_shim.items()
    ]
    return f"crosswarp.compat fixes it ({', '.join(parts)})"
