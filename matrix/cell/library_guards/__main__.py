"""``python -m crosswarp.matrix.cell.library_guards SPEC.json``: what becomes of each case when a guard is turned.

SPEC.json is that of a suite (suite/plan.py), and beside that `guards` (forcing.py), `chosen`, ids of those to turn, and
`answers`, the file for what is found: a line of JSON for each case as it is (`turned` empty) and for each guard turned.

Exit status: one of the SUITE_ numbers of matrix/errors.py.
"""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, List

from crosswarp.matrix.cell.plain import clean
from crosswarp.matrix.cell.suite import item as runner
from crosswarp.matrix.cell.suite import plan, versions, warm
from crosswarp.matrix.cell.suite.__main__ import wrong_versions
from crosswarp.matrix.cell.suite.plugin import SPEC_ENV
from crosswarp.matrix.cell.suite.stream import read_spec
from crosswarp.matrix.cell.suite.verdict import Verdict, told
from crosswarp.matrix.errors import SUITE_DONE, SUITE_SPEC, SUITE_WRONG_VERSIONS

from .forcing import Forcing

_NEEDED = {"records": str, "lanes": list, "targets": dict, "guards": dict, "answers": str}


def main(arguments: List[str]) -> int:
    try:
        spec_path = Path(arguments[0]).resolve()
        spec = read_spec(spec_path)
        for name, kind in _NEEDED.items():
            if not isinstance(spec.get(name), kind):
                msg = f"{name} is not there, or is no {kind.__name__}"
                raise ValueError(msg)
    except (IndexError, OSError, ValueError, RecursionError) as error:
        print(f"the specification cannot be read: {error}; give the path of a SPEC.json", file=sys.stderr)  # fmt: skip
        return SUITE_SPEC
    wrong = wrong_versions(spec.get("expect", {}))
    if wrong:
        print(f"wrong versions: {wrong}", file=sys.stderr)
        return SUITE_WRONG_VERSIONS
    _environ(spec, spec_path)
    with open(spec["answers"], "a", encoding="utf-8") as out:
        _tell(out, {"versions": versions.found()})
        warm.warm(spec.get("preload"))
        # A library that the user named lies beside the column, after everything of the column's.
        sys.path += spec.get("beside") or []
        forcing = Forcing(spec["guards"], f"{spec['answers']}.met")
        forcing.install()
        for lane in spec["lanes"]:
            for item in plan.shared_plan(spec, lane):
                _item(item, spec, forcing, out)
    return SUITE_DONE


def _environ(spec: Dict[str, Any], path: Path) -> None:
    """As a suite's pytest has it (suite/__main__.py)."""
    os.environ.update(
        {SPEC_ENV: str(path)},
        TRITON_CACHE_DIR=spec["cache"],
        CROSSWARP_CACHE_DIR=str(Path(spec["records"]).parent / "crosswarp-cache"),
        CROSSWARP_COMPILE_SECONDS=str(spec["time_limit"]),
        CROSSWARP_COMPILE_MB=str(spec.get("memory_limit_mb") or ""),
        OMP_NUM_THREADS="1",
    )
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    os.environ.pop("TRITON_INTERPRET", None)


def _item(item: plan.Item, spec: Dict[str, Any], forcing: Forcing, out: Any) -> None:
    def one(turned: str) -> Any:
        configs: List[List[str]] = []
        forcing.begin(turned)
        verdict = runner.run(item, spec, lambda name, one, _: configs.append([name, one.outcome]))
        reached = forcing.reached()
        _answer(item, turned, verdict, reached, _launched(verdict, configs), out)
        return verdict, reached

    verdict, reached = one("")
    if verdict.outcome in ("unsupported", "not-run"):
        return
    for guard in spec["chosen"]:
        if guard in reached:
            one(guard)


def _launched(verdict: Verdict, configs: List[List[str]]) -> str:
    """A digest of what was compiled and launched, which configurations of a tuning that were; empty where none was."""
    launches = [{**one, "compile_seconds": None} for one in verdict.resources.get("launches") or ()]
    tuned = sorted(one for one in configs if one[0])
    if not (launches or tuned):
        return ""
    said = json.dumps(clean([launches, tuned]), sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _answer(
    item: plan.Item, turned: str, verdict: Verdict, reached: Any, launched: str, out: Any
) -> None:
    place = {name: getattr(item, name) for name in ("target", "lane", "mode", "kernel", "case")}
    # Launches and resources are no part of the question.
    fields = {name: value for name, value in told(verdict).items() if name != "resources"}
    _tell(out, {**place, "turned": turned, "reached": reached, "launched": launched, **fields})


def _tell(out: Any, line: Dict[str, Any]) -> None:
    out.write(json.dumps(clean(line)) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
