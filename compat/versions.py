"""The version of this Triton, and whether it is among the affected releases. All versions are compared here."""

import functools
import operator
import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, NamedTuple, Optional, Tuple

from .patterns import lazily

# packaging and importlib.metadata are imported where they are used: they take nine times as long as this package,
# which is imported whether or not a shim comes to be needed.
if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

# The same code under other names: never assume that the distribution is called "triton".
DISTRIBUTIONS = (
    "triton",
    "pytorch-triton",
    "pytorch-triton-rocm",
    "triton-rocm",
    "triton-windows",
    "triton-nightly",
    # A vendor's build, which has changes (`vendors`).
    "fbtriton",
)


# The newest minor release that the fixes were tested on, and the end of each that is needed still. A test compares it
# with the newest column.
TESTED_UP_TO = "3.9"

# The build tag behind a published version: 3.2.0+cu124, 3.4.0+rocm6.4.
_BUILT_FOR = lazily(r"(cpu|xpu|cu\d+|rocm[\d.]*)$")
# The start of a version, whatever follows. Limited in length: the text may be anybody's.
_NUMBERS = lazily(r"\s*v?(\d{1,6}(?:\.\d{1,6}){0,3})")

# A matrix asks the same for ten thousands of cells.
_asked = functools.lru_cache(maxsize=4096)


@_asked
def base_version(text: str) -> "Version":
    """The release that a version string belongs to: ``3.8.0a0+git1234`` and ``3.8.0.dev1`` are decided as 3.8.0."""
    from packaging.version import Version

    return Version(Version(text).base_version)


@_asked
def in_window(window: str, version: str) -> bool:
    """Whether `version` matches a specifier such as ``>=3.0,<3.3``. Nightlies count as their base version.

    A version that packaging cannot read counts as `read` reads it. Raises packaging's InvalidSpecifier for an invalid
    specifier.
    """
    release = read(version).release
    plainly = _in_plain_window(window, release)
    if plainly is not None:
        return plainly
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(window).contains(base_version(release), prereleases=True)


def _in_plain_window(window: str, version: str) -> Optional[bool]:
    """The answer of packaging for a release; None where either needs packaging, being more than numbers.

    A process that installs asks for eighty specifiers, and need not import packaging for them.
    """
    numbers = _numbers(version)
    if numbers is None:
        return None
    inside = True
    for clause in window.split(","):
        clause = clause.strip()
        sign = clause[: 2 if clause[1:2] == "=" else 1]
        text = clause[len(sign) :].strip()
        whole = sign in ("==", "!=") and text.endswith(".*")
        wanted = _numbers(text[:-2] if whole else text)
        if wanted is None or sign not in _COMPARED:
            return None
        length = len(wanted) if whole else max(len(numbers), len(wanted))
        inside = inside and _COMPARED[sign](_padded(numbers, length), _padded(wanted, length))
    return inside


_COMPARED: Dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _numbers(text: str) -> Optional[Tuple[int, ...]]:
    parts = text.split(".")
    plain = all(
        part.isascii() and part.isdecimal() and len(part) < 7 and (part == "0" or part[0] != "0")
        for part in parts
    )
    return tuple(map(int, parts)) if plain else None


def _padded(release: Tuple[int, ...], length: int) -> Tuple[int, ...]:
    return (*release, *[0] * (length - len(release)))[:length]


class Found(NamedTuple):
    """A Triton's version, as far as it can be read.

    Attributes:
        text: as Triton gives it.
        release: the release that it counts as; the newest tested one where the text begins with no number.
        published: whether it is a published release, not a build between releases.
        newer: whether it is newer than every release that was tested.
    """

    text: str
    release: str
    published: bool
    newer: bool

    @property
    def tested(self) -> bool:
        """Whether the fixes were tested on it."""
        return self.published and not self.newer

    @property
    def nearest(self) -> str:
        """The release that was tested and is the nearest to it."""
        return TESTED_UP_TO if self.newer else self.release


@_asked
def read(text: str) -> Found:
    """The version in `text`: ``3.9.0-dirty`` counts as 3.9.0, ``3.9.x`` as 3.9, ``main`` as the newest tested."""
    public, _, local = text.partition("+")
    if _numbers(public) is not None and (not local or _BUILT_FOR.match(local)):
        return Found(text, public, True, not _in_plain_window(f"<{_after_tested()}", public))
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(text)
    except (InvalidVersion, ValueError):
        match = _NUMBERS.match(text)
        release, published = (match[1] if match else TESTED_UP_TO), False
    else:
        release = version.base_version
        built_for = version.local is None or bool(_BUILT_FOR.match(version.local))
        published = built_for and not version.is_prerelease
    return Found(text, release, published, Version(release) >= Version(_after_tested()))


def bounded(window: str) -> str:
    """The specifier, ended by the newest tested release if it has no end: ``>=3.3`` becomes ``>=3.3,<3.10``."""
    ends = any(sign in window for sign in ("<", "==", "~="))
    return window if ends else f"{window},<{_after_tested()}"


def _after_tested() -> str:
    major, minor = TESTED_UP_TO.split(".")
    return f"{major}.{int(minor) + 1}"


def would_install(wanted: "SpecifierSet", version: str) -> bool:
    """Whether an installer asked for `wanted` would accept `version`: there a nightly is not its release."""
    from packaging.version import InvalidVersion

    try:
        return wanted.contains(version, prereleases=True)
    except (InvalidVersion, ValueError):
        return False


def same_public(actual: str, planned: str) -> bool:
    """Whether the version found is the one planned. A local part (`+cpu`) says how it was built, not what it is."""
    from packaging.version import InvalidVersion, Version

    try:
        present, other = Version(actual), Version(planned)
    except InvalidVersion:
        return actual == planned
    return present == other if other.local else Version(present.public) == Version(other.public)


def as_planned(name: str, actual: str, planned: str) -> bool:
    """Whether an environment's `name` is the one planned: a Python is planned to the minor, or to the patch."""
    if name == "python":
        return f"{actual}.".startswith(f"{planned}.")
    return same_public(actual, planned)


def numbers(text: str) -> Tuple[int, ...]:
    """The numbers of a tool's version, for comparison: ``12.8`` is (12, 8)."""
    return tuple(int(part) for part in text.split("."))


def triton_text() -> Optional[str]:
    """The version text of the imported Triton, else of the installed one; else None."""
    version = getattr(sys.modules.get("triton"), "__version__", None)
    if version is not None:
        return str(version)
    import importlib.metadata

    for name in DISTRIBUTIONS:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    from . import vendors

    build = vendors.installed()
    return build.version if build is not None else None


def triton_version() -> Optional[str]:
    """As `triton_text`, in packaging's spelling, or the release that it counts as where packaging cannot read it."""
    from packaging.version import InvalidVersion, Version

    text = triton_text()
    try:
        return None if text is None else str(Version(text))
    except (InvalidVersion, ValueError):
        return read(str(text)).release


def torch_version() -> Optional[str]:
    """The version of the imported torch, else of the installed one; None if there is none."""
    version = getattr(sys.modules.get("torch"), "__version__", None)
    return _installed_torch() if version is None else str(version)


@functools.lru_cache(maxsize=1)
def _installed_torch() -> Optional[str]:
    # The name of its folder usually shows it. Importing `importlib.metadata` takes as long as the rest of installing,
    # and Triton 3.3 does not import it.
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.startswith("torch-") and name.endswith(".dist-info"):
                return name[len("torch-") : -len(".dist-info")]
    from importlib import metadata

    try:
        distribution = metadata.distribution("torch")
    except metadata.PackageNotFoundError:
        return None
    # `found.version` reads the whole description as an e-mail, which takes ten times as long.
    header, _, rest = (distribution.read_text("METADATA") or "").partition("\nVersion:")
    return (
        rest.partition("\n")[0].strip() if "\n\n" not in header and rest else distribution.version
    )
