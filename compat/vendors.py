"""Triton as a vendor builds it: with changes, and often under another name.

A build that also has another package, such as `tokenspeed_triton`, is served as `triton`: the same modules, under both.
"""

import importlib
import importlib.machinery
import importlib.util
import sys
from typing import Any, NamedTuple, Optional

# Distribution -> the package that it brings.
PACKAGES = {"fbtriton": "triton", "tokenspeed-triton": "tokenspeed_triton"}


class Build(NamedTuple):
    """A vendor's build that is installed.

    Attributes:
        distribution: its name on the package index.
        version: of the release, without what counts its builds: ``3.9.10.post20261028`` is 3.9.10.
        package: the name that it imports as.
    """

    distribution: str
    version: str
    package: str

    def __str__(self) -> str:
        return f"{self.distribution}-{self.version}"


def installed() -> Optional[Build]:
    """The vendor's build that ``import triton`` gives, or gives once it is served; None where it is Triton's own."""
    # Imported where it is used: it takes longer than this package.
    import importlib.metadata

    for distribution, package in PACKAGES.items():
        try:
            version = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
        if package == "triton" or _serves(package) or not _is_there("triton"):
            return Build(distribution, version.partition(".post")[0], package)
    return None


def serve() -> Optional[Build]:
    """Have ``import triton`` give a build that has another name, where there is no other Triton; the build, or None.

    Imports nothing, and does so once.
    """
    if "triton" in sys.modules:
        return installed()
    build = installed()
    if build is not None and build.package != "triton" and not _serves(build.package):
        sys.meta_path.insert(0, _Served(build.package))
    return build


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _serves(package: str) -> bool:
    return any(getattr(finder, "serves", None) == package for finder in sys.meta_path)


class _Served:
    """A finder that gives, for ``triton.x``, the module ``x`` of another package."""

    def __init__(self, package: str) -> None:
        self.serves = package

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "triton" and not name.startswith("triton."):
            return None
        own = self.serves + name[len("triton") :]
        # A module that the build lacks is not found, as in any package.
        if own not in sys.modules and not _is_there(own):
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(own), is_package=True)  # type: ignore[arg-type]


class _Loader:
    """Gives the module that is imported under its own name."""

    def __init__(self, own: str) -> None:
        self._own = own

    def create_module(self, spec: Any) -> Any:
        module = importlib.import_module(self._own)
        # Importing sets the spec to that of the other name.
        self._spec = module.__spec__
        # It imports its modules by its own name; who looks among those that are loaded looks under Triton's.
        package, _, _ = self._own.partition(".")
        for name in [one for one in sys.modules if one.startswith(f"{self._own}.")]:
            sys.modules.setdefault(f"triton{name[len(package) :]}", sys.modules[name])
        return module

    def exec_module(self, module: Any) -> None:
        module.__spec__ = self._spec
