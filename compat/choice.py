"""The shims that a caller requests of `install`, and those that ``CROSSWARP_COMPAT`` in the environment takes away."""

import os
from typing import (
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)

from .errors import CompatError, say_without_raising
from .record import Shim
from .shims import Listed, listed
from .versions import in_window, read

AnyShim = Union[Listed, Shim]
Known = Callable[[], Iterable[AnyShim]]

GUARD_MODES = ("auto", "always", "off")
GUARD_SHIM = "compiler_crash"
ENVIRONMENT = "CROSSWARP_COMPAT"

# Kinds of change that a fix makes, from the one that needs the least trust to the one that needs the most.
TIERS: Mapping[str, str] = {
    "names": "adds names, arguments and options of other releases, for the whole process",
    "refused": "takes what a release refuses or dies of, and leaves alone what it compiles",
    "torch": "lets torch.compile use a Triton that this torch was not made for",
    "interpreter": "makes the interpreter compute as a GPU does; what is compiled stays as it is",
    "silent": "compiles to something else what a release compiles to a wrong result",
}
_OFF, _UNTESTED = "off", "+untested"


class Request(NamedTuple):
    """The request of one caller; the fields are `install`'s arguments."""

    guard: str
    only: Optional[FrozenSet[str]]
    exclude: FrozenSet[str]
    tiers: Optional[FrozenSet[str]]
    scope: Optional[str]
    untested: bool

    def wants(self, shim: AnyShim, version: str) -> bool:
        """Whether it wants `shim` on the Triton that calls itself `version`."""
        return self._names(shim) and self._reaches(shim, version)

    def holds_back(self, shim: AnyShim, version: str) -> bool:
        """Whether it wants `shim`, apart from the question whether that is tested on this `version`."""
        return (
            self._names(shim)
            and not self._reaches(shim, version)
            and self._replace(untested=True)._reaches(shim, version)
        )

    def why_not(self, shim: AnyShim, version: str) -> str:
        """The reason for which it does not want `shim` on this `version`, for people."""
        environment = read_environment(os.environ.get(ENVIRONMENT, ""))
        if environment.off:
            return f"{ENVIRONMENT}=off"
        for name in sorted(environment.without & {shim.name, shim.tier}):
            return f"{ENVIRONMENT}=-{name}"
        if self.holds_back(shim, version):
            return f"nobody has tested it on {version}: install(untested=True) switches it on"
        inside = in_window(shim.window, version)
        return f"guard={self.guard}" if inside else f"{version} is not in {shim.window}"

    def _names(self, shim: AnyShim) -> bool:
        environment = read_environment(os.environ.get(ENVIRONMENT, ""))
        return not (
            environment.off
            or shim.name in self.exclude
            or (self.only is not None and shim.name not in self.only)
            or (self.tiers is not None and shim.tier not in self.tiers)
            or not environment.without.isdisjoint((shim.name, shim.tier))
        )

    def _reaches(self, shim: AnyShim, version: str) -> bool:
        if shim.name == GUARD_SHIM and self.guard != "auto":
            return self.guard == "always"
        reading = read(version)
        if reading.tested:
            return in_window(shim.window, reading.release)
        environment = read_environment(os.environ.get(ENVIRONMENT, ""))
        # Adding a name cannot break code that lacks it; how such a build's IR looks is unknown.
        if shim.tier == "names" or self.untested or environment.untested:
            return in_window(shim.window, reading.nearest)
        return not _rewrites(shim) and in_window(shim.window, reading.release)


def _rewrites(shim: AnyShim) -> bool:
    return shim.tier == "silent" or bool(shim.changes)


def request(
    guard: str = "auto",
    only: Optional[Iterable[str]] = None,
    exclude: Iterable[str] = (),
    tiers: Optional[Iterable[str]] = None,
    scope: Optional[str] = None,
    untested: bool = False,
    known: Known = lambda: listed(),
) -> Request:
    """The request with these arguments of `install`; `known` returns the existing shims.

    Raises:
        CompatError: a name is not known; the message suggests similar ones.
    """
    if guard not in GUARD_MODES:
        msg = f"guard={guard!r} is not known: use one of {', '.join(GUARD_MODES)}"
        raise CompatError(msg)
    if scope is not None and (
        not isinstance(scope, str) or not all(part.isidentifier() for part in scope.split("."))
    ):
        msg = f"scope={scope!r} is no package's name: give one such as 'mylib', or 'mylib.ops'"
        raise CompatError(msg)
    return Request(
        guard,
        None if only is None else _checked("only", only, known),
        _checked("exclude", exclude, known),
        None if tiers is None else _checked("tiers", tiers, None),
        scope,
        bool(untested),
    )


def _checked(argument: str, given: Iterable[str], shims: Optional[Known]) -> FrozenSet[str]:
    """The names in `given`, of shims or else of tiers."""
    names = [given] if isinstance(given, str) else list(given)
    known = list(TIERS) if shims is None else [shim.name for shim in shims()] if names else []
    for name in names:
        if name not in known:
            what, where = (
                ("tier", f"there are {', '.join(known)}")
                if shims is None
                else ("shim", "compat.all_shims() lists them all")
            )
            msg = f"{argument}: there is no {what} {name!r}: {_near(name, known)}{where}"
            raise CompatError(msg)
    return frozenset(names)


def _near(name: str, known: List[str]) -> str:
    import difflib

    near = difflib.get_close_matches(str(name), known, 3)
    return f"did you mean {' or '.join(near)}? " if near else ""


class Environment(NamedTuple):
    """The setting in ``CROSSWARP_COMPAT``.

    Attributes:
        off: nothing is installed, whoever asks.
        without: names of shims and tiers that are not installed, whoever asks.
        untested: as ``install(untested=True)``.
    """

    off: bool = False
    without: FrozenSet[str] = frozenset()
    untested: bool = False


_read: Dict[str, Environment] = {}


def read_environment(text: str) -> Environment:
    """The variable's value, read once: ``off``, or a list such as ``-thread_locality,-silent``, or ``+untested``.

    Any other part gets a warning, and the rest still counts.
    """
    if text not in _read:
        _read[text], unknown = _parsed(text)
        for warning in unknown:
            say_without_raising(warning)
    return _read[text]


def _parsed(text: str) -> Tuple[Environment, List[str]]:
    off, untested, without, unknown = False, False, set(), []
    known = [*(shim.name for shim in listed()), *TIERS]
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part == _OFF:
            off = True
        elif part == _UNTESTED:
            untested = True
        elif part.startswith("-") and part[1:] in known:
            without.add(part[1:])
        else:
            unknown.append(
                f"{ENVIRONMENT} holds {part[:80]!r}, which is not known and changes nothing: "
                f"{_near(part.lstrip('-+'), known)}it takes off, +untested, and -NAME of a shim or a tier "
                f"({', '.join(TIERS)}), with commas between them"
            )
    return Environment(off, frozenset(without), untested), unknown
