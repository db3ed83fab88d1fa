"""Which Triton is this, and is it inside a window? The one place where versions are compared."""

import sys
from typing import TYPE_CHECKING, Optional

# packaging and importlib.metadata are imported where they are used: they take nine times as long as this package,
# which is imported whether or not a shim comes to be needed.
if TYPE_CHECKING:
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


def base_version(text: str) -> "Version":
    """The release that a version string belongs to: ``3.8.0a0+git1234`` and ``3.8.0.dev1`` are decided as 3.8.0."""
    from packaging.version import Version

    return Version(Version(text).base_version)


def in_window(window: str, version: str) -> bool:
    """Whether `version` is inside the specifier `window` (``>=3.0,<3.3``). Nightlies count as their base version.

    Raises packaging's InvalidSpecifier or InvalidVersion for text that is neither.
    """
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(window).contains(base_version(version), prereleases=True)


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
