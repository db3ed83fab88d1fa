"""Which Triton is this, and is it inside a window? The one place where versions are compared."""

import functools
import sys
from typing import TYPE_CHECKING, Optional, Tuple

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
)


# A matrix asks the same of ten thousands of cells.
_asked = functools.lru_cache(maxsize=4096)


@_asked
def base_version(text: str) -> "Version":
    """The release that a version string belongs to: ``3.8.0a0+git1234`` and ``3.8.0.dev1`` are decided as 3.8.0."""
    from packaging.version import Version

    return Version(Version(text).base_version)


@_asked
def in_window(window: str, version: str) -> bool:
    """Whether `version` is inside the specifier `window` (``>=3.0,<3.3``). Nightlies count as their base version.

    Raises packaging's InvalidSpecifier or InvalidVersion for text that is neither.
    """
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(window).contains(base_version(version), prereleases=True)


def would_install(wanted: "SpecifierSet", version: str) -> bool:
    """Whether an installer asked for `wanted` would be content with `version`: there a nightly is not its release."""
    return wanted.contains(version, prereleases=True)


def same_public(found: str, planned: str) -> bool:
    """Whether what was found is what was planned. A local part (`+cpu`) says how it was built, not what it is."""
    from packaging.version import InvalidVersion, Version

    try:
        one, other = Version(found), Version(planned)
    except InvalidVersion:
        return found == planned
    return one == other if other.local else one.public == other.public


def as_planned(name: str, found: str, planned: str) -> bool:
    """Whether an environment's `name` is the one planned: a Python is planned to the minor, or to the patch."""
    if name == "python":
        return f"{found}.".startswith(f"{planned}.")
    return same_public(found, planned)


def numbers(text: str) -> Tuple[int, ...]:
    """The numbers of a tool's version, for comparison: ``12.8`` is (12, 8)."""
    return tuple(int(part) for part in text.split("."))


def triton_version() -> Optional[str]:
    """The version of the Triton that is imported, else of the one that is installed, else None."""
    from packaging.version import InvalidVersion, Version

    module = sys.modules.get("triton")
    version = getattr(module, "__version__", None)
    if version is None:
        import importlib.metadata

        for name in DISTRIBUTIONS:
            try:
                version = importlib.metadata.version(name)
                break
            except importlib.metadata.PackageNotFoundError:
                continue
    try:
        return None if version is None else str(Version(version))
    except InvalidVersion:
        return None


def torch_version() -> Optional[str]:
    """Of the torch that is imported, or else of the one that would be; None where there is none."""
    found = getattr(sys.modules.get("torch"), "__version__", None)
    if found is not None:
        return str(found)
    from importlib import metadata

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
