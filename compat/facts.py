"""Facts about this environment, read from its files and metadata: nothing here imports Triton or torch."""

from __future__ import annotations

import base64
import getpass
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement

from . import crash_memory, vendors
from .versions import DISTRIBUTIONS

# Seconds to count a cache folder. For a folder of millions of files the report then says "at least".
COUNT_SECONDS = 2.0
PTXAS_SECONDS = 20

# The variables that change results most, and what each does; every other TRITON_* variable is listed without that.
VARIABLES = {
    "TRITON_INTERPRET": "1: kernels run in the interpreter on the CPU, not compiled",
    "TRITON_ALWAYS_COMPILE": "1: compiles again what the cache holds",
    "TRITON_CACHE_DIR": "where compiled kernels are kept",
    "TRITON_HOME": "the folder that holds .triton, since Triton 3.2",
    "TRITON_PTXAS_PATH": "the ptxas that is used instead of Triton's own",
    "TRITON_DEBUG": "1: device assertions are compiled in",
    "TRITON_KERNEL_OVERRIDE": "1: kernels are replaced by files in an override folder",
    "TORCHINDUCTOR_CACHE_DIR": "where torch.compile keeps its kernels",
    "CUDA_VISIBLE_DEVICES": "which NVIDIA GPUs this process sees",
    "HIP_VISIBLE_DEVICES": "which AMD GPUs this process sees",
    "ROCR_VISIBLE_DEVICES": "which AMD GPUs this process sees",
    "CROSSWARP_COMPAT": "off, or a list of -NAME (a shim or a tier) and +untested: what install() leaves off and adds",
    "CROSSWARP_CACHE_DIR": "where crashes of the compiler are remembered",
    "CROSSWARP_COMPILE_SECONDS": "time limit of a guarded compilation",
    "CROSSWARP_COMPILE_MB": "memory limit of a guarded compilation",
}


def python() -> Dict[str, Any]:
    """Version, implementation and path of this interpreter."""
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "executable": sys.executable,
    }


def version_of(distribution: str) -> Optional[str]:
    """The installed version of a distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def folder_of(module: str) -> Optional[Path]:
    """The location of a top-level package, without importing it."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.origin or not spec.submodule_search_locations:
        return None
    return Path(spec.origin).parent


def tritons() -> List[Dict[str, Any]]:
    """Every distribution of Triton that is installed, whatever its name; more than one overwrite each other."""
    build = vendors.installed()
    names = (*DISTRIBUTIONS, *([build.distribution] if build is not None else []))
    return [_distribution(name) for name in dict.fromkeys(names) if version_of(name) is not None]


def _distribution(name: str) -> Dict[str, Any]:
    distribution = importlib.metadata.distribution(name)
    tags = re.findall(r"^Tag: *(\S+)", distribution.read_text("WHEEL") or "", re.M)
    origin = _direct_url(distribution)
    archive = origin.get("archive_info") or {}
    library = next(
        (
            f
            for f in distribution.files or ()
            if re.fullmatch(r"\w*triton/_C/libtriton[^/]*\.so", str(f))
        ),
        None,
    )
    listed = library.hash if library is not None else None
    size = library.size if library is not None else None
    return {
        "name": name,
        "version": distribution.version,
        "tags": tags,
        "installer": (distribution.read_text("INSTALLER") or "").strip() or None,
        "url": origin.get("url"),
        # Of the whole wheel: known only when it was installed from an address.
        "wheel_sha256": (archive.get("hashes") or {}).get("sha256"),
        # Of the compiled part, as the wheel's RECORD has it: known wherever a wheel was installed.
        "library": str(library) if library is not None else None,
        "library_sha256": _hex(listed.value) if listed is not None else None,
        "library_size": size,
        "as_published": _as_published(library, size),
    }


def _direct_url(distribution: importlib.metadata.Distribution) -> Dict[str, Any]:
    try:
        read = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _hex(value: str) -> str:
    try:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()
    except ValueError:
        return value


def _as_published(library: Any, size: Optional[int]) -> Optional[bool]:
    if library is None or size is None:
        return None
    try:
        return Path(library.locate()).stat().st_size == size
    except OSError:
        return False


def build_id(folder: Path) -> Optional[str]:
    """The linker's build id of libtriton, else a digest of its size and first megabyte; a version is no identity."""
    for library in sorted((folder / "_C").glob("libtriton*.so")):
        try:
            with library.open("rb") as file:
                head = file.read(1 << 20)
            size = library.stat().st_size
        except OSError:
            continue
        note = re.search(rb"\x04\0\0\0(.)\0\0\0\x03\0\0\0GNU\0", head, re.S)
        if note:
            return head[note.end() : note.end() + note[1][0]].hex()
        return hashlib.sha256(head + str(size).encode()).hexdigest()[:40]
    return None


def git_of(version: Optional[str]) -> Optional[str]:
    """The git hash that a version string may carry: ``3.2.0+git35c6c7c6``, ``2.1.0+e6216047b8``."""
    match = re.search(r"\+(?:git)?([0-9a-f]{7,40})\b", version or "")
    return match[1] if match else None


def requirements_on(distribution: str, names: Any) -> List[Requirement]:
    """The requirements of an installed distribution among `names`, on this machine and Python."""
    try:
        listed = importlib.metadata.requires(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    requirements = []
    for text in listed:
        try:
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate()
        except (InvalidRequirement, UndefinedEnvironmentName):
            # An extra, or what no installer could read either.
            continue
        if applies and requirement.name in names:
            requirements.append(requirement)
    return requirements


def ptxas(triton: Optional[Path]) -> List[Dict[str, Any]]:
    """Every ptxas that Triton ships or is set to use, asked for its version."""
    assemblers = [(path, "Triton") for path in _shipped(triton)]
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        chosen = os.environ.get(name)
        if chosen:
            assemblers.append((Path(chosen), name))
    return [{"path": str(path), "from": whose, **_ask_ptxas(path)} for path, whose in assemblers]


def _shipped(triton: Optional[Path]) -> Iterator[Path]:
    if triton is not None:
        for path in sorted(triton.rglob("ptxas*")):
            if path.is_file() and os.access(path, os.X_OK):
                yield path


def _ask_ptxas(path: Path) -> Dict[str, Any]:
    try:
        printed = subprocess.run(
            [str(path), "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=PTXAS_SECONDS, check=False,
        ).stdout.decode("utf-8", "replace")  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"version": None, "error": str(error)}
    match = re.search(r"\bV(\d[\d.]*)", printed)
    return {"version": match[1] if match else None}


def variables() -> Dict[str, str]:
    """The environment variables of Triton and crosswarp, and those that hide devices."""
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name in VARIABLES or name.startswith(("TRITON_", "CROSSWARP_"))
    }


def cache_folder() -> Path:
    """Triton's cache folder, as far as it can be known without asking Triton."""
    chosen = os.environ.get("TRITON_CACHE_DIR")
    # Without a home Triton takes "~" as it is, for a folder of the current one.
    return Path(chosen or os.path.expanduser("~/.triton/cache"))


def inductor_folder() -> Path:
    """The folder of torch.compile's Triton kernels, by torch's rule; only torch itself could confirm it."""
    chosen = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        user = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    except (KeyError, OSError, ImportError):
        user = "unknown"
    return Path(tempfile.gettempdir()) / f"torchinductor_{user}"


def folder_size(of: str, folder: Path, seconds: float = COUNT_SECONDS) -> Dict[str, Any]:
    """Files and bytes below `folder`; `complete` is False where counting took longer than `seconds`."""
    end = time.monotonic() + seconds
    files = size = 0
    complete = True
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
            files += 1
        if time.monotonic() > end:
            complete = False
            break
    return {"of": of, "path": str(folder), "exists": folder.is_dir(), "files": files, "bytes": size,
            "complete": complete}  # fmt: skip


def crashes(most: int = 20) -> Dict[str, Any]:
    """The crashes of the compiler that are remembered, newest first: how many, and the first `most` of them."""
    folder = crash_memory.folder()
    files = []
    for path in () if folder is None else folder.glob("*.json"):
        try:
            files.append((path.stat().st_mtime, path))
        except OSError:
            continue
    files.sort(key=lambda item: (-item[0], item[1].name))
    listed = []
    for when, path in files[:most]:
        read = crash_memory.Entry(path).read()
        if read is None:
            continue
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
        listed.append(
            {
                "kernel": read.get("kernel"),
                "reason": read["reason"],
                "when": stamp,
                "path": str(path),
            }
        )
    place = "nowhere: this user has no home" if folder is None else str(folder)
    return {"path": place, "count": len(files), "listed": listed}
