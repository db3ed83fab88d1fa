"""A suite: crosswarp's own kernels, or a folder of modules that each set KERNEL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.facts import repeats
from crosswarp.matrix.facts.repeats import Repeats
from crosswarp.matrix.results.owned import Owner
from crosswarp.matrix.running.plan import Coordinate, Plan, Work
from crosswarp.matrix.work import suite_keys
from crosswarp.matrix.work.suite_modules import kernel_names


@dataclass(frozen=True)
class Suite(Work):
    """
    Attributes:
        folder: that of the modules; None: crosswarp's own kernels.
        requires: the packages that they import besides Triton and torch.
        beside: by column, folders that come before its own packages on the suite's path; filled as columns are
            prepared.
        owner: the expectations of a folder's kernels.
        left_out: the cells that do not run, of crosswarp's own kernels.
    """

    MODULE = "crosswarp.matrix.cell.kinds.suite"

    folder: Path | None = None
    requires: Sequence[str] = ()
    beside: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    owner: Owner = Owner("suite")
    left_out: Repeats = field(default_factory=dict)

    def asked(self, column: str, common: Mapping[str, Any]) -> AskedSuite:
        beside = list(map(str, self.beside.get(column, ())))
        return AskedSuite(
            **common,
            suite=str(self.folder) if self.folder else None,
            beside=beside,
            left_out=self.left_out,
        )

    def holds(self, kernel: str, lane: str, target: str, case: str) -> bool:
        return not repeats.left_out(self.left_out, kernel, lane, target, case)

    def about(self) -> Mapping[str, Any]:
        requires = {"requires": list(self.requires)} if self.requires else {}
        if self.folder is None:
            left_out = {"left_out": repeats.digest(self.left_out)} if self.left_out else {}
            return {"suite": None, **requires, **left_out}
        return {"suite": str(self.folder), **requires, **self.owner.about()}

    def kernels(self) -> Sequence[str]:
        return kernel_names(self.folder)

    def keys(self, plan: Plan, column: str, environment: Environment) -> Mapping[Coordinate, str]:
        return suite_keys.keys(plan, column, environment, self.folder, self.beside.get(column, ()))
