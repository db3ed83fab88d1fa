"""The contents of each release of Triton, by full name, from the language table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

from crosswarp.matrix.cell.spelled import SHORT, parameters
from crosswarp.matrix.facts.language_table import PASS, TARGETS, Name, Table
from crosswarp.matrix.linting import gluon

LANGUAGE = "triton.language"
_GLUON = f"{gluon.LANGUAGE}."
# The name under which the table lists the attributes of a class.
_CLASSES = {
    "JITFunction": "triton.runtime.jit.JITFunction",
    "Autotuner": "triton.runtime.autotuner.Autotuner",
    "CompiledKernel": "triton.compiler.CompiledKernel",
    "tensor": "tensor",
}
_CUDA = f"{LANGUAGE}.extra.cuda", "tl.extra.cuda"
_HIP = f"{LANGUAGE}.extra.hip", "tl.extra.hip"
_SHORTER = sorted([*SHORT.items(), _CUDA, _HIP], key=lambda pair: len(pair[0]), reverse=True)
# Names that published files still import, and that were gone before the oldest release of the table.
_GONE = frozenset(
    {
        "triton.code_gen",
        "triton.compiler.compiler.get_arch_default_num_warps",
        "triton.compiler.compiler.instance_descriptor",
        "triton.language.libdevice",
        "triton.runtime.jit.get_cuda_stream",
        "triton.runtime.jit.version_key",
        "triton.testing.assert_almost_equal",
        "triton.testing.catch_oor",
    }
)
# fbtriton's, and in no release.
TLX = f"{LANGUAGE}.extra.tlx"
# A reduction hands its hidden arguments on by these names.
_HIDDEN = ("_builder", "_generator", "_semantic")


class Api:
    """Looks up a full name such as `triton.language.dot`, by release."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.releases = tuple(table)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(name for release in self.table.values() for name in release.names)

    def _keys(self, path: str) -> Iterator[str]:
        yield path
        for long, short in _SHORTER:
            if path.startswith(f"{long}."):
                yield short + path[len(long) :]
                break
        parent, _, name = path.rpartition(".")
        whole = _CLASSES.get(parent.rpartition(".")[2])
        if whole and parent.startswith("triton."):
            yield f"{whole}.{name}"

    @lru_cache(maxsize=None)  # noqa: B019
    def has(self, release: str, path: str) -> bool | None:
        """Whether `release` has `path`; None where no release does, so that the answer is unknown."""
        names = self.table[release].names
        keys = list(self._keys(path))
        if any(key in names for key in keys):
            return True
        if self.is_gone(path) or any(key in self._known for key in keys):
            return False
        return None

    def is_gone(self, path: str) -> bool:
        """Whether no release of the table has it, of names that files import all the same."""
        return path in _GONE or path == TLX

    def missing(self, release: str, path: str) -> str | None:
        """The shortest beginning of `path` that `release` is known not to have."""
        parts = path.split(".")
        for end in range(1, len(parts) + 1):
            beginning = ".".join(parts[:end])
            if self.has(release, beginning) is False:
                return beginning
        return None

    def entry(self, release: str, path: str) -> Name | None:
        names = self.table[release].names
        return next((names[key] for key in self._keys(path) if key in names), None)

    @lru_cache(maxsize=None)  # noqa: B019
    def parameters(self, release: str, path: str) -> dict[str, str] | None:
        """The parameters of a function with their defaults, `*` before those by keyword only; None where unknown."""
        entry = self.entry(release, path)
        if entry is None or not entry.signature.startswith("("):
            return None
        own = parameters(entry.signature)
        keyword_only = entry.signature.partition("*, ")[2]
        if not keyword_only:
            return own
        after = parameters(f"({keyword_only}")
        return {**{k: v for k, v in own.items() if k not in after}, "*": "", **after}

    def parameter_somewhere(self, path: str, name: str) -> bool:
        """Whether a function has a parameter of that name in any release."""
        parameters = (self.parameters(release, path) or {} for release in self.releases)
        return name not in _HIDDEN and any(name in signature for signature in parameters)

    def is_module(self, path: str) -> bool:
        """Whether it is a module in any release."""
        return any(
            entry.kind == "module"
            for release in self.releases
            if (entry := self.entry(release, path))
        )

    def no_module(self, release: str, path: str) -> bool:
        """Whether `path` is a Gluon module in some release, and is not one on `release`."""
        if not path.startswith(f"{gluon.ROOT}.") or not self.is_module(path):
            return False
        entry = self.entry(release, path)
        return entry is not None and entry.kind == "value"

    @cached_property
    def launch_options(self) -> dict[str, frozenset[str]]:
        """By release, the options that a launch takes on any backend."""
        return {
            release: frozenset(
                name.rpartition(".")[2] for name in entry.names if name.startswith("launch.")
            )
            for release, entry in self.table.items()
        }

    def fails(self, release: str, path: str) -> str:
        """How a name that is there fails to compile for every target that was tried; empty where it does not."""
        for key in self._keys(path):
            places = self.table[release].probes.get(key, {})
            outcomes = [places[target] for target in TARGETS if target in places]
            if outcomes and PASS not in outcomes:
                return outcomes[0]
        return ""


def of_language(path: str) -> bool:
    """Whether it is a name of Triton's language, or of Gluon's."""
    return path.startswith((f"{LANGUAGE}.", _GLUON))


def short(path: str) -> str:
    """As people write it: `tl.dot`, or `gl.barrier`."""
    if path.startswith(_GLUON):
        return f"gl.{path[len(_GLUON) :]}"
    return f"tl.{path[len(LANGUAGE) + 1 :]}" if of_language(path) else path
