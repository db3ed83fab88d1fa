"""`crosswarp doctor`: the report of crosswarp.compat, with the known issues of that Triton, torch and device."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from crosswarp import compat
from crosswarp.compat import doctor
from crosswarp.matrix import versions
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts.issues import SEEN, Issue

# As `python -m crosswarp.compat`, without the current folder among the places of modules: it may be a stranger's.
_DOCTOR = (
    "import sys; sys.path[:] = [path for path in sys.path if path];"
    "from crosswarp.compat.__main__ import main; sys.exit(main(sys.argv[1:]))"
)


def ask(python: Path, guard: str, seconds: float) -> dict[str, Any]:
    """Returns the report of another interpreter, by this crosswarp, whatever is installed there.

    Raises:
        UsageError: it cannot be started, or did not answer with a report.
    """
    options = ["doctor", "--json", "--guard", guard, "--timeout", f"{seconds:g}"]
    with tempfile.TemporaryDirectory() as folder:
        # Only compat is copied: it needs only packaging, and Python 3.9.
        package = Path(folder, "crosswarp")
        package.mkdir()
        (package / "compat").symlink_to(Path(compat.__file__).resolve().parent)
        before = os.environ.get("PYTHONPATH")
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (folder, before)))}
        try:
            done = subprocess.run(
                [str(python), "-c", _DOCTOR, *options], env=environ, text=True,
                capture_output=True, errors="replace", stdin=subprocess.DEVNULL, check=False,
                timeout=seconds + 60,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"{python}: cannot be asked ({error}). Name another Python.") from None
    try:
        report = json.loads(done.stdout)
        if report["schema"] != doctor.SCHEMA:
            raise ValueError(f"a report of schema {report['schema']}")
    except (ValueError, KeyError, TypeError) as error:
        last = (done.stderr.strip().splitlines() or [str(error)])[-1]
        raise UsageError(
            f"{python}: no report came back ({last}). It must be Python 3.9 or newer, with `packaging` installed."
        ) from None
    report["crosswarp"] = doctor.facts.version_of("crosswarp")
    return report


def with_issues(
    report: dict[str, Any], issues: Sequence[Issue], targets: Sequence[str] = ()
) -> dict[str, Any]:
    """Adds to `report` the known issues of its Triton and torch, and what to do about them; returns it.

    Args:
        targets: only issues of these; default: those of the devices here, or all if there is no device.
    """
    if report["triton"] is None:
        return report
    scope = list(targets) or sorted({device["target"] for device in report["devices"]["listed"]})
    report["issues_scope"] = ", ".join(scope) if scope else "every target, as no GPU was found"
    active = {shim["name"] for shim in report["shims"] if shim["state"] == "on"}
    report["issues"] = [
        _entry(issue, active) for issue in issues if _concerns(issue, report, scope)
    ]
    by_release: dict[str, list[str]] = {}
    for issue in report["issues"]:
        if issue["state"] == "not fixed" and issue["fixed_in"]:
            by_release.setdefault(issue["fixed_in"], []).append(issue["id"])
    report["advice"] += [
        {
            "level": "note",
            "about": ", ".join(by_release[release]),
            "text": f"Triton {release} does not have {', '.join(by_release[release])}.",
            "do": "Upgrade Triton with the torch that asks for it: `crosswarp columns` lists the pairs.",
        }
        for release in sorted(by_release, key=versions.sort_key)
    ]
    report["exit_code"] = doctor.exit_code(report)
    return report


def _concerns(issue: Issue, report: dict[str, Any], targets: Sequence[str]) -> bool:
    triton = report["triton"]["version"]
    torch = report["torch"]["version"] if report["torch"] else None
    if issue.status == "no longer reproduces" or not versions.within(triton, issue.triton):
        return False
    if issue.torch and not versions.within(torch, issue.torch):
        return False
    if not targets or issue.lanes == ("interpret",):
        return True
    return any(fnmatchcase(target, glob) for target in targets for glob in issue.targets)


def _entry(issue: Issue, active: set[str]) -> dict[str, Any]:
    if issue.shim in active:
        state = "fixed"
    else:
        # A report that no case of ours reproduces is listed, and does not count against the environment.
        state = "not fixed" if issue.status in SEEN else "reported"
    return {
        "id": issue.id,
        "title": issue.title,
        "state": state,
        "shim": issue.shim,
        "lanes": list(issue.lanes),
        "targets": list(issue.targets),
        "links": list(issue.links),
        "fixed_in": issue.fixed_in,
        "workaround": issue.workaround,
    }
