"""The doctor's report as plain data: what is installed, what compat fixes of it, and what is left.

``python -m crosswarp.compat doctor`` prints it. It knows the shims; the issues that no shim fixes are data of the host
side, which `crosswarp doctor` adds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import choice, facts, pairs, probe, vendors
from .acts import acted
from .install import active, wanted_shims
from .shims import all_shims
from .shims.interpreter_numpy import pin
from .versions import DISTRIBUTIONS, in_window, read, would_install

# Of the JSON: raised when a field changes its meaning or goes, not when one is added.
SCHEMA = 2
# Importing a CUDA build of torch from a cold disk takes tens of seconds.
TIMEOUT = 120.0


def examine(guard: str = "auto", seconds: float = TIMEOUT) -> Dict[str, Any]:
    """Look at this environment; Triton, torch and the devices are asked in a child process.

    Args:
        guard: as for `install`.
        seconds: how long that child may take; what it reported until then is kept.
    """
    asked = probe.ask(guard, seconds)
    triton = _triton(asked["triton"])
    version = triton["version"] if triton else None
    report: Dict[str, Any] = {
        "schema": SCHEMA,
        "crosswarp": facts.version_of("crosswarp"),
        "guard": guard,
        "python": facts.python(),
        "triton": triton,
        "torch": _torch(asked["torch"], version),
        "numpy": facts.version_of("numpy"),
        "ptxas": facts.ptxas(Path(triton["path"]) if triton and triton["path"] else None),
        "devices": _devices(asked),
        "environment": facts.variables(),
        "caches": [
            facts.folder_size("Triton", Path(asked["triton"].get("cache") or facts.cache_folder())),
            facts.folder_size("torch.compile", facts.inductor_folder()),
        ],
        "crashes": facts.crashes(),
        "shims": _shims(guard, version, asked["shims"]),
        # Counts for a program that calls this after installing; the doctor's command has installed nothing.
        "installed_here": [shim.name for shim in active()],
        "acted_here": acted(),
        # None: not looked up. The host side puts a list here.
        "issues": None,
        "advice": [],
    }
    report["advice"] = _advice(report)
    report["exit_code"] = exit_code(report)
    return report


def exit_code(report: Dict[str, Any]) -> int:
    """0 if every known problem is fixed, 1 if one is not, 2 if there is no Triton to look at."""
    if report["triton"] is None:
        return 2
    return 1 if remaining(report) else 0


def remaining(report: Dict[str, Any]) -> List[str]:
    """Returns the known problems that nothing fixes, a line each."""
    left = [entry["text"] for entry in report["advice"] if entry["level"] == "problem"]
    return left + [
        issue["title"] for issue in report["issues"] or () if issue["state"] == "not fixed"
    ]


def as_json(report: Dict[str, Any]) -> str:
    """The report for programs."""
    return json.dumps(report, indent=2, sort_keys=False) + "\n"


def _triton(asked: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    distributions = facts.tritons()
    folder = Path(asked["file"]).parent if asked.get("file") else facts.folder_of("triton")
    if folder is None and (build := vendors.installed()) is not None:
        folder = facts.folder_of(build.package)
    if asked.get("missing") == "triton" or (not distributions and folder is None):
        return None
    version = asked.get("version") or (distributions[0]["version"] if distributions else None)
    return {
        "version": version,
        "git": facts.git_of(version),
        "path": str(folder) if folder else None,
        "build": facts.build_id(folder) if folder else None,
        "distributions": distributions,
        "error": asked.get("error"),
        "missing": asked.get("missing"),
    }


def _torch(asked: Dict[str, Any], triton: Optional[str]) -> Optional[Dict[str, Any]]:
    installed = facts.version_of("torch")
    if installed is None and asked.get("missing") == "torch":
        return None
    wanted = facts.requirements_on("torch", DISTRIBUTIONS)
    return {
        "version": asked.get("version") or installed,
        "git": asked.get("git"),
        "cuda": asked.get("cuda"),
        "hip": asked.get("hip"),
        "asks_for": [str(requirement).partition(";")[0].strip() for requirement in wanted],
        "agrees": all(would_install(r.specifier, triton) for r in wanted)
        if wanted and triton
        else None,
        "error": asked.get("error"),
    }


def _devices(asked: Dict[str, Dict[str, Any]]) -> Dict[str, Any]:
    if asked["torch"].get("missing") == "torch":
        return {"listed": [], "error": "torch is not installed, so nobody could be asked"}
    answer = asked["devices"]
    return {"listed": answer.get("devices", []), "error": answer.get("error")}


def _shims(guard: str, version: Optional[str], asked: Dict[str, Any]) -> List[Dict[str, Any]]:
    request = choice.request(guard)
    wanted = {shim.name for shim in wanted_shims(guard, version)} if version else set()
    entries = []
    for shim in all_shims():
        inside = in_window(shim.window, version) if version else False
        if not version:
            state, why = "unknown", "no version of Triton to compare with"
        elif shim.name not in wanted:
            state, why = "off", request.why_not(shim, str(version))
        elif shim.name in asked.get("active", ()):
            state = "on"
            counts = f"{version} counts as {read(str(version)).nearest} for names"
            beyond = counts if shim.tier == "names" else f"guard={guard}"
            why = f"{version} is in {shim.window}" if inside else beyond
        else:
            state = "failed"
            why = (
                asked.get("left_out", {}).get(shim.name)
                or asked.get("error")
                or "install() left it out"
            )
        entries.append(
            {"name": shim.name, "tier": shim.tier, "state": state, "why": why, "window": shim.window, "inside": inside,
             "issue": shim.issue, "symptom": shim.symptom, "link": shim.link,
             "delete_when": shim.delete_when}
        )  # fmt: skip
    return entries


def _advice(report: Dict[str, Any]) -> List[Dict[str, str]]:
    advice: List[Dict[str, str]] = []

    def say(level: str, about: str, text: str, do: str) -> None:
        advice.append({"level": level, "about": about, "text": text, "do": do})

    triton = report["triton"]
    if triton is None:
        say(
            "note",
            "triton",
            "There is no Triton in this environment.",
            "Run the doctor with the interpreter that runs your kernels: its python -m crosswarp.compat doctor.",
        )
        return advice  # fmt: skip
    if triton["error"]:
        say("problem", "triton", f"import triton fails: {triton['error']}", _mend_import(triton))
    _about_compat(report, say)
    _about_distributions(triton, say)
    _about_numpy(triton["version"], report["numpy"], say)
    _about_torch(report, say)
    failed = [shim for shim in report["shims"] if shim["state"] == "failed"]
    if failed and not triton["error"]:
        names = ", ".join(shim["name"] for shim in failed)
        say("problem", "shims", f"compat.install() leaves out {names}: {failed[0]['why']}",
            "Report it to crosswarp, with this page.")  # fmt: skip
    if report["devices"]["error"] and report["torch"] and not report["torch"]["error"]:
        say("note", "devices", f"The devices could not be asked: {report['devices']['error']}",
            "Look at the driver, or give --timeout more seconds.")  # fmt: skip
    for tool in report["ptxas"]:
        if tool["version"] is None:
            say("note", "ptxas", f"{tool['path']} ({tool['from']}) does not say its version.",
                f"Correct or unset {tool['from']}." if tool["from"] != "Triton" else "Reinstall Triton.")  # fmt: skip
    count = report["crashes"]["count"]
    if count:
        what = (
            "1 crash of the compiler is" if count == 1 else f"{count} crashes of the compiler are"
        )
        say("note", "crashes", f"{what} remembered: the guard does not compile that kernel and configuration again.",
            f"To have it tried again, delete the files in {report['crashes']['path']}.")  # fmt: skip
    return advice


def _mend_import(triton: Dict[str, Any]) -> str:
    missing = triton["missing"]
    if missing in ("setuptools", "numpy"):
        # Imported at run time and not declared: setuptools up to 3.2.0, numpy by 2.3.1.
        name = "numpy<2" if missing == "numpy" else missing
        return f"pip install '{name}': this Triton imports it and does not declare it."
    return "Reinstall it, or install what its message names."


def _about_compat(report: Dict[str, Any], say: Any) -> None:
    fixes = [shim["name"] for shim in report["shims"] if shim["state"] == "on"]
    if not fixes or report["installed_here"]:
        return
    what = "1 known bug" if len(fixes) == 1 else f"{len(fixes)} known bugs"
    say("note", "compat", f"crosswarp.compat fixes {what} of Triton {report['triton']['version']}.",
        "Before your kernels compile: `from crosswarp import compat; compat.install()`. Or change no code: "
        "`python -m crosswarp.compat run SCRIPT`.")  # fmt: skip


def _about_distributions(triton: Dict[str, Any], say: Any) -> None:
    listed = triton["distributions"]
    if len(listed) > 1:
        names = ", ".join(
            f"{distribution['name']} {distribution['version']}" for distribution in listed
        )
        say("problem", "triton", f"Several distributions put their files into one folder: {names}.",
            "Uninstall all of them, then install one.")  # fmt: skip
    elif listed and listed[0]["name"] in vendors.KNOWN:
        whose, _, follows = vendors.about(listed[0]["name"], listed[0]["version"]).partition(". ")
        say("note", "triton", f"{whose}.", follows)
    elif listed and triton["version"] and listed[0]["version"] != triton["version"]:
        say("note", "triton", f"import triton gives {triton['version']} from {triton['path']}; installed is "
            f"{listed[0]['name']} {listed[0]['version']}.",
            "Take the other folder off PYTHONPATH if that is not meant.")  # fmt: skip
    for item in listed:
        if item["as_published"] is False:
            say("note", "triton", f"{item['library']} is not the file that {item['name']} {item['version']} installed.",
                "Reinstall it, unless you built it.")  # fmt: skip


def _about_numpy(triton: Optional[str], numpy: Optional[str], say: Any) -> None:
    wanted_numpy = pin(triton, numpy) if triton and numpy else None
    if wanted_numpy is not None:
        wanted = wanted_numpy[0]
        say("problem", "numpy", f"numpy {numpy} is too new for the interpreter of Triton {triton}: with "
            "TRITON_INTERPRET=1 it fails, or is wrong without an error. With the shims it is refused.",
            f"pip install '{wanted}'")  # fmt: skip


def _about_torch(report: Dict[str, Any], say: Any) -> None:
    torch, triton = report["torch"], report["triton"]
    if torch is None:
        return
    if torch["error"]:
        say("problem", "torch", f"import torch fails: {torch['error']}", "Reinstall torch.")
    if torch["agrees"] is False:
        wanted = ", ".join(torch["asks_for"])
        say("note", "torch", f"torch {torch['version']} asks for {wanted}; here is Triton {triton['version']}.",
            f"pip install '{torch['asks_for'][0]}', unless the pair is meant.")  # fmt: skip
    needs = (
        list(pairs.needs(torch["version"], triton["version"]))
        if torch["version"] and triton["version"]
        else []
    )
    if needs:
        reasons = "; ".join(need.what for need in needs)
        names = ", ".join(dict.fromkeys(need.shim for need in needs))
        what = f"torch.compile of torch {torch['version']} needs of Triton {triton['version']}: {reasons}."
        todo = f"python -m crosswarp.compat run SCRIPT, or compat.install() before torch.compile: {names}."
        if not all(need.shim for need in needs):
            todo = "No shim brings that: use the Triton that this torch asks for."
        say("note", "torch", what, todo)
