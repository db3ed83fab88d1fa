"""The kernels of one file, in the environments that are named, one after the other."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosswarp.matrix.cell.asked import AskedCheck
from crosswarp.matrix.environments.here import Here
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.running.plan import Work
from crosswarp.matrix.signatures import gluon, launches
from crosswarp.matrix.signatures.signature import Inferred
from crosswarp.matrix.signatures.source import Source, above
from crosswarp.matrix.work import brought


class Accepted:
    """Expectations for a stranger's file: none. Its failures are shown, and no known issue judges them."""

    as_expected = True


@dataclass(frozen=True)
class Check(Work):
    """A file's kernels, with the signatures that its text gave.

    Attributes:
        links: the crosswarp that was brought along.
        configurations: how many of each autotuned kernel, from its first to its last; 0: all.
        runs: whether the file may be run, to see its launches.
        kernel_limit: seconds for a case on one target.
    """

    MODULE = "crosswarp.matrix.cell.kinds.check"

    source: Source
    inferred: Sequence[Inferred]
    links: Path
    configurations: int = 0
    runs: bool = True
    kernel_limit: int = 90

    def argv(self, python: Path, spec: Path) -> list[str]:
        return brought.argv(self.links, self.MODULE, python, spec)

    def asked(self, column: str, common: Mapping[str, Any]) -> AskedCheck:
        by_name = {kernel.name: kernel for kernel in self.source.kernels}
        open_ = any(
            inferred.why or any(each.assumed for each in inferred.signatures)
            for inferred in self.inferred
        )
        runs = self.runs and open_ and launches.runs(self.source)
        request = {
            "runs": runs,
            "file": str(self.source.path),
            "module": self.source.module,
            "root": str(self.source.root),
            "above": list(map(str, above(self.source.path))),
            "configurations": self.configurations,
            "kernel_limit": self.kernel_limit,
            "kernels": {
                inferred.kernel: {
                    "parameters": list(inferred.parameters),
                    "line": by_name[inferred.kernel].line,
                    "first": by_name[inferred.kernel].first,
                    "function": by_name[inferred.kernel].node.name,
                    "within": by_name[inferred.kernel].within,
                    "tuned": bool(inferred.tunes),
                    "assigns": _assigned(by_name[inferred.kernel].node),
                    "backend": gluon.backend(self.source, by_name[inferred.kernel]),
                    "cases": {
                        signature.id: {"attempts": [other.fields() for other in signature.attempts]}
                        for signature in inferred.signatures
                    },
                }
                for inferred in self.inferred
                if inferred.signatures or inferred.why and runs
            },
        }
        return AskedCheck(**common, check=request)

    def about(self) -> Mapping[str, Any]:
        return {"check": str(self.source.path)}

    def kernels(self) -> Sequence[str]:
        return [inferred.kernel for inferred in self.inferred if inferred.signatures]

    def judge(self, records: Sequence[Record], issues: Sequence[Issue]) -> Accepted:
        return Accepted()


def _assigned(function: ast.AST) -> list[str]:
    """The names that a function assigns somewhere: whether one is defined may depend on its constants."""
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return sorted({name.id for name in names if isinstance(name.ctx, ast.Store)})


def label(at_hand: Here) -> str:
    """`triton 3.6.0, torch 2.10.0, Python 3.11.7`."""
    versions = at_hand.versions
    return f"triton {versions['triton']}, torch {versions['torch']}, Python {versions['python']}"
