"""Builds of Triton by vendors: with changes, and often under another name.

A build whose package has another name, such as `tokenspeed_triton`, is served as `triton`: the same modules, both
names.
"""

import contextlib
import importlib
import importlib.machinery
import importlib.util
import re
import sys
from typing import Any, Iterator, NamedTuple, Optional


class Known(NamedTuple):
    """A distribution of Triton that is not called ``triton``.

    Attributes:
        package: the name that it imports as.
        name: whose build it is, and for which chips.
        changed: whether the compiler or its backend is not that of Triton's release.
    """

    package: str
    name: str
    changed: bool


_AMD = "PyTorch's build of Triton for AMD GPUs"
_INTEL = "a build of Triton with Intel's backend for Intel GPUs"
KNOWN = {
    "fbtriton": Known("triton", "Meta's build of Triton, with TLX", True),
    "tokenspeed-triton": Known("tokenspeed_triton", "TokenSpeed's build of Triton", True),
    "triton-ascend": Known("triton", "a build of Triton with Ascend's compiler for NPUs", True),
    "pytorch-triton-xpu": Known("triton", _INTEL, True),
    "triton-xpu": Known("triton", _INTEL, True),
    "pytorch-triton-rocm": Known("triton", _AMD, False),
    "triton-rocm": Known("triton", _AMD, False),
    "pytorch-triton": Known("triton", "PyTorch's build of Triton, for its nightly builds", False),
    "triton-windows": Known("triton", "a build of Triton for Windows, by its community", False),
}
# A vendor's build that is a separate column -> its package.
PACKAGES = {name: vendor.package for name, vendor in KNOWN.items() if vendor.changed}


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
    for build in _distributions():
        if not KNOWN[build.distribution].changed:
            continue
        if build.package == "triton" or _serves(build.package) or not _is_there("triton"):
            return build
    return None


def distribution() -> Optional[Build]:
    """The first distribution in `KNOWN` that is installed, whether or not its compiler is changed."""
    return next(_distributions(), None)


def _distributions() -> Iterator[Build]:
    # Imported where it is used: it takes longer than this package.
    import importlib.metadata

    for name, known in KNOWN.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield Build(name, _release(importlib.metadata.version(name)), known.package)


def about(distribution: str, version: str) -> str:
    """Whose build a distribution is, and what follows for answers that name releases; "" for Triton's own."""
    known = KNOWN.get(distribution)
    if known is None:
        return ""
    if not known.changed:
        return (
            f"{distribution} {version} is {known.name}. Known issues of this release of Triton are expected here, and "
            f"were not measured on this build. Upgrade {distribution} with its torch: another Triton beside it writes "
            "into the same folder."
        )
    name = "" if known.package == "triton" else f" It imports as {known.package}."
    beside = (
        " Another Triton beside it writes into the same folder."
        if known.package == "triton"
        else ""
    )
    return (
        f"{distribution} {version} is {known.name}.{name} It has the vendor's changes: known issues and names are "
        "those of Triton's own releases, and may not hold here. `crosswarp run --here PYTHON` lists where it differs "
        f"from the nearest release. Upgrade {distribution}, not triton.{beside}"
    )


def named(text: str) -> str:
    """The answer of `about` for the first vendor's build that a log names with its version, as ``pip list`` does; or
    ""."""
    names = "|".join(name.replace("-", "[-_]") for name in PACKAGES)
    match = re.search(rf"(?<![\w-])({names})(?:==|[ \t@-]{{1,40}})v?(\d[\w.]{{0,40}})", text)
    if match is None:
        return ""
    return about(match.group(1).replace("_", "-"), _release(match.group(2).rstrip(".")))


def as_tritons(module: str) -> str:
    """The name of a module as Triton has it: ``tokenspeed_triton.knobs`` is ``triton.knobs``."""
    package, dot, rest = module.partition(".")
    return f"triton{dot}{rest}" if package in PACKAGES.values() else module


def as_loaded(module: str) -> str:
    """The name that a module of Triton's has in the build that is loaded; as it is where none is."""
    loaded = getattr(sys.modules.get("triton"), "__name__", "triton")
    return loaded + module[len("triton") :]


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


def _release(version: str) -> str:
    return version.partition(".post")[0]


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
    """Returns the module of the build, imported under the build's name."""

    def __init__(self, own: str) -> None:
        self._own = own

    def create_module(self, spec: Any) -> Any:
        module = importlib.import_module(self._own)
        # Importing sets the spec to that of the other name.
        self._spec = module.__spec__
        # The build imports its modules under its name; code that searches the loaded modules expects Triton's.
        package, _, _ = self._own.partition(".")
        for name in [module for module in sys.modules if module.startswith(f"{self._own}.")]:
            sys.modules.setdefault(f"triton{name[len(package) :]}", sys.modules[name])
        return module

    def exec_module(self, module: Any) -> None:
        module.__spec__ = self._spec
