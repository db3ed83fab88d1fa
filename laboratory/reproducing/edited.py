"""A finding of `crosswarp fuzz --suite` as files: the edited module beside the unedited, their difference, a script."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from crosswarp.laboratory.fuzzing import ring
from crosswarp.laboratory.fuzzing.metamorphic import EditFinding
from crosswarp.laboratory.reproducing import fuzzed
from crosswarp.matrix.facts.targets import Target


def write(finding: EditFinding, suite: Path, table: Mapping[str, Target], folder: Path) -> Path:
    """The folder with the finding's files.

    Args:
        suite: of the edited modules and of those that are not.
        table: of targets, by name.
    """
    made = folder / fuzzed.module_name(finding)
    shutil.rmtree(made, ignore_errors=True)
    alone = made / "suite"
    alone.mkdir(parents=True)
    edited = {finding.edit.name, finding.edit.kernel}
    edited |= {name.removesuffix(ring.ENDING) for name in edited}
    for path in suite.glob("*.py"):
        # The files that it imports from its folder, but no other edit.
        if path.stem in edited or path.is_symlink():
            (alone / path.name).write_bytes(path.read_bytes())
    (made / "edit.diff").write_text(finding.edit.difference + "\n", "utf-8")
    (made / "issue.toml").write_text(fuzzed.draft(finding), "utf-8")
    fuzzed.write_script(made, finding.record, suite, table)
    return made
