"""The doctor's report for people: plain text within 80 columns."""

from __future__ import annotations

import textwrap
import unicodedata
from pathlib import Path
from typing import Any, Dict, Iterable, List

from . import facts
from .doctor import remaining

WIDTH = 80
_LABEL = 10


def render(report: Dict[str, Any]) -> str:
    """The whole report."""
    lines = [f"crosswarp doctor (crosswarp {report['crosswarp'] or 'from its source'})", ""]
    # The verdict and what to do come first: the rest is pages long. The verdict ends it again.
    lines += [*_verdict(report), ""]
    if report["advice"]:
        lines += ["To do", *_to_do(report["advice"]), ""]
    lines += _versions(report)
    lines += _surroundings(report)
    if report["triton"] is not None:
        lines += ["", f"Shims that compat.install(guard={report['guard']!r}) installs here"]
        for shim in report["shims"]:
            lines += _shim(shim)
        if report["installed_here"]:
            lines += _block("", f"In this process: {', '.join(report['installed_here'])}.")
            lines += _block("", f"Have acted: {', '.join(report['acted_here']) or 'none yet'}.")
        lines += _issues(report)
    lines += ["", *_verdict(report)]
    return "\n".join(lines) + "\n"


def _to_do(advice: Iterable[Dict[str, str]]) -> List[str]:
    """The steps to take, problems first; entries with the same remedy share it."""
    by_remedy: Dict[str, List[Dict[str, str]]] = {}
    for entry in sorted(advice, key=lambda entry: entry["level"] != "problem"):
        by_remedy.setdefault(entry["do"], []).append(entry)
    lines: List[str] = []
    for remedy, entries in by_remedy.items():
        for entry in entries:
            mark = "!" if entry["level"] == "problem" else "-"
            lines += _wrapped(f"{mark} {entry['text']}", "  ", "    ")
        lines += _wrapped(remedy, "    ", "    ")
    return lines


def shim_line(name: str, window: str, symptom: str) -> str:
    """A shim in a list: name, affected releases, and the symptom below it."""
    return "\n".join([*_wrapped(f"{name}   Triton {window}", "  "), *_wrapped(symptom, "      ")])


def _versions(report: Dict[str, Any]) -> List[str]:
    return [
        *_triton(report["triton"]),
        *_torch(report["torch"]),
        *_block("numpy", report["numpy"] or "not installed"),
        *_block("Python", f"{report['python']['version']} {_home(report['python']['executable'])}"),
    ]


def _triton(triton: Any) -> List[str]:
    if triton is None:
        return _block("Triton", "not installed in this environment")
    lines = _block("Triton", triton["version"] or "of unknown version")
    for distribution in triton["distributions"]:
        description = f"distribution {distribution['name']} {distribution['version']}"
        lines += _block(
            "", description + (f" from {distribution['url']}" if distribution["url"] else "")
        )
        if distribution["wheel_sha256"]:
            lines += _block("", f"wheel sha256 {distribution['wheel_sha256']}")
        if distribution["library_sha256"]:
            lines += _block("", f"libtriton sha256 in RECORD {distribution['library_sha256']}")
    if triton["git"]:
        lines += _block("", f"git {triton['git']}")
    if triton["build"]:
        lines += _block("", f"libtriton build {triton['build']}")
    if triton["path"]:
        lines += _block("", _home(triton["path"]))
    return lines


def _torch(torch: Any) -> List[str]:
    if torch is None:
        return _block("torch", "not installed")
    parts = [str(torch["version"])]
    for name, label in (("cuda", "CUDA"), ("hip", "HIP")):
        if torch[name]:
            parts.append(f"{label} {torch[name]}")
    if torch["git"]:
        parts.append(f"git {torch['git'][:12]}")
    lines = _block("torch", ", ".join(parts))
    if torch["asks_for"]:
        verdict = {True: "which is here", False: "which is NOT here", None: "not compared"}
        lines += _block("", f"asks for {', '.join(torch['asks_for'])}, {verdict[torch['agrees']]}")
    else:
        lines += _block("", "asks for no Triton")
    return lines


def _surroundings(report: Dict[str, Any]) -> List[str]:
    lines = []
    base = report["triton"]["path"] or "" if report["triton"] else ""
    entries = []
    for tool in report["ptxas"]:
        inside = base and tool["path"].startswith(base)
        path = "triton" + tool["path"][len(base) :] if inside else _home(tool["path"])
        whose = "" if tool["from"] == "Triton" else f" ({tool['from']})"
        entries.append(f"{tool['version'] or 'unknown'}  {path}{whose}")
    lines += _several("ptxas", entries or ["none"])
    devices = [
        f"{device['name']}, {device['target']}, {device['memory'] / 2**30:.0f} GiB"
        for device in report["devices"]["listed"]
    ]
    if not devices:
        devices = [f"none: {report['devices']['error'] or 'torch sees no GPU, which is fine'}"]
    lines += _several("Devices", devices)
    variables = []
    for name, value in report["environment"].items():
        meaning = facts.VARIABLES.get(name)
        variables.append(f"{name}={_home(value)}" + (f"  ({meaning})" if meaning else ""))
    lines += _several(
        "Variables", variables or ["none of TRITON_*, CROSSWARP_*, *_VISIBLE_DEVICES"]
    )
    lines += _several("Caches", [_cache(cache) for cache in report["caches"]])
    crashes = report["crashes"]
    entries = [f"{crashes['count'] or 'none'} remembered in {_home(crashes['path'])}"]
    entries += [
        f"{crash['kernel'] or 'a kernel'}: {crash['reason']}, {crash['when']}"
        for crash in crashes["listed"][:5]
    ]
    return lines + _several("Crashes", entries)


def _cache(cache: Dict[str, Any]) -> str:
    where = f"{_home(cache['path'])} ({cache['of']}): "
    if not cache["exists"]:
        return where + "not there yet"
    least = "" if cache["complete"] else "at least "
    return f"{where}{least}{_bytes(cache['bytes'])} in {cache['files']} files"


def _shim(shim: Dict[str, Any]) -> List[str]:
    lines = _wrapped(
        f"{shim['state']:7} {shim['name']} ({shim['tier']}): {shim['why']}", "  ", " " * 10
    )
    if shim["state"] in ("on", "failed"):
        lines += _wrapped(f"fixes: {shim['symptom']} ({short_link(shim['link'])})", " " * 10)
    return lines


def _issues(report: Dict[str, Any]) -> List[str]:
    issues = report["issues"]
    if issues is None:
        return [
            "",
            *_wrapped(
                "Known issues that no shim fixes are not listed here: `crosswarp doctor` lists them."
            ),
        ]
    lines = ["", f"Known issues of this pair ({report['issues_scope']})"]
    for issue in issues:
        lines += _wrapped(f"{issue['state']:9} {issue['id']}: {issue['title']}", "  ", " " * 12)
        if issue["state"] != "fixed":
            parts = [short_link(issue["links"][0])]
            if issue["fixed_in"]:
                parts.append(f"fixed in Triton {issue['fixed_in']}")
            if issue["workaround"]:
                parts.append(issue["workaround"])
            lines += _wrapped("; ".join(parts), " " * 12)
    return lines if issues else [*lines, "  none"]


def _verdict(report: Dict[str, Any]) -> List[str]:
    if report["triton"] is None:
        return _wrapped("Nothing to examine: there is no Triton in this environment.")
    left = remaining(report)
    if not left:
        # Without the issues only the shims' half is known, and that is what may be said.
        known = "Every known problem of this environment is fixed with compat."
        only = "Every shim of this Triton installs, and no pin is broken."
        return [known if report["issues"] is not None else only]
    count = "1 known problem is" if len(left) == 1 else f"{len(left)} known problems are"
    return [f"{count} not fixed."]


def short_link(url: str) -> str:
    """`triton-lang/triton#5609` for an issue or pull request on GitHub, else where it is and its last part."""
    parts = url.rstrip("/").split("/")
    if len(parts) < 4:
        return url
    if parts[2] != "github.com" or len(parts) < 6:
        return f"{parts[2]}: {parts[-1]}"
    repository = f"{parts[3]}/{parts[4]}"
    if len(parts) == 7 and parts[5] in ("issues", "pull", "discussions"):
        return f"{repository}#{parts[6]}"
    return f"{repository}: {parts[-1]}"


def _several(label: str, texts: Iterable[str]) -> List[str]:
    lines: List[str] = []
    for text in texts:
        lines += _block("" if lines else label, text)
    return lines


def _block(label: str, text: str) -> List[str]:
    return _wrapped(text, f"{label:{_LABEL}}", " " * _LABEL)


def _wrapped(text: str, first: str = "", rest: str = "") -> List[str]:
    return textwrap.wrap(
        _plain(text), WIDTH, initial_indent=first, subsequent_indent=rest or " " * len(first),
        break_on_hyphens=False,
    ) or [first.rstrip()]  # fmt: skip


def _plain(text: str) -> str:
    """On one line and without anything that moves a terminal's cursor: it may come from a compiler or a variable."""
    spaced = "".join(" " if char in "\n\r\t" else char for char in str(text))
    return "".join(char for char in spaced if unicodedata.category(char)[0] not in "C")


def _home(path: str) -> str:
    try:
        home = str(Path.home())
    except RuntimeError:
        return path
    return "~" + path[len(home) :] if path.startswith(home + "/") else path


def _bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return ""
