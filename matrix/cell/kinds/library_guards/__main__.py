"""``python -m crosswarp.matrix.cell.kinds.library_guards SPEC.json``: run each case with version checks inverted.

SPEC.json is an `AskedGuards` (matrix/cell/asked.py). Its `answers` gets a line of JSON for each case as it is (`turned`
empty) and for each inverted version check.

Exit status: one of the SUITE_ numbers of matrix/errors.py.
"""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, List

from crosswarp.matrix.cell.asked import AskedGuards
from crosswarp.matrix.cell.judging.verdict import Verdict, as_data
from crosswarp.matrix.cell.kinds.suite import item as runner
from crosswarp.matrix.cell.kinds.suite import plan
from crosswarp.matrix.cell.plain import clean
from crosswarp.matrix.cell.starting import specification, versions, warm
from crosswarp.matrix.errors import SUITE_DONE

from .forcing import Forcing

_NEEDED = ("lanes", "targets", "guards", "answers")


def main(arguments: List[str]) -> int:
    spec = specification.of_arguments(arguments, AskedGuards, _NEEDED)
    if isinstance(spec, int):
        return spec
    _environ(spec, Path(arguments[0]).resolve())
    with open(spec.answers, "a", encoding="utf-8") as out:
        _tell(out, {"versions": versions.installed()})
        warm.warm(spec.preload)
        # A library that the user named lies beside the column, after everything of the column's.
        sys.path += spec.beside
        forcing = Forcing(spec.guards, f"{spec.answers}.met")
        forcing.install()
        for lane in spec.lanes:
            for item in plan.shared_plan(spec, lane).items:
                _item(item, spec, forcing, out)
    return SUITE_DONE


def _environ(spec: AskedGuards, path: Path) -> None:
    """As a suite has it (suite/__main__.py)."""
    os.environ[specification.SPEC_ENV] = str(path)
    specification.prepare(os.environ, spec)


def _item(item: plan.Item, spec: AskedGuards, forcing: Forcing, out: Any) -> None:
    def run_item(turned: str) -> Any:
        configs: List[List[str]] = []
        forcing.begin(turned)
        verdict = runner.run(item, spec, lambda name, each, _: configs.append([name, each.outcome]))
        reached = forcing.reached()
        _answer(item, turned, verdict, reached, _launched(verdict, configs), out)
        return verdict, reached

    verdict, reached = run_item("")
    if verdict.outcome in ("unsupported", "not-run"):
        return
    for guard in spec.chosen:
        if guard in reached:
            run_item(guard)


def _launched(verdict: Verdict, configs: List[List[str]]) -> str:
    """Return a digest of the compiled and launched kernels, with a tuning's configurations; empty if there are none."""
    launches = [
        {
            **launch,
            **dict.fromkeys(("compile_seconds", "processor_seconds", "stage_seconds", "pace_ms")),
        }
        for launch in verdict.resources.get("launches") or ()
    ]
    tuned = sorted(config for config in configs if config[0])
    if not (launches or tuned):
        return ""
    content = json.dumps(clean([launches, tuned]), sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _answer(
    item: plan.Item, turned: str, verdict: Verdict, reached: Any, launched: str, out: Any
) -> None:
    place = {name: getattr(item, name) for name in ("target", "lane", "mode", "kernel", "case")}
    # Launches and resources are no part of the question.
    fields = {name: value for name, value in as_data(verdict).items() if name != "resources"}
    _tell(out, {**place, "turned": turned, "reached": reached, "launched": launched, **fields})


def _tell(out: Any, line: Dict[str, Any]) -> None:
    out.write(json.dumps(clean(line)) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
