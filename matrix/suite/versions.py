"""What this environment really is. A version string is no identity, so builds are named as far as they can be."""

import functools
import hashlib
import platform
import re
import subprocess
from pathlib import Path
from typing import Dict


@functools.lru_cache(maxsize=None)
def found() -> Dict[str, str]:
    """Versions of triton, torch, numpy, python, ptxas, and `triton_build`: a digest of Triton's compiled part."""
    import numpy
    import torch
    import triton

    from crosswarp.compat.versions import DISTRIBUTIONS, triton_version

    return {
        "triton": triton_version() or triton.__version__,
        "triton_distribution": _distribution(DISTRIBUTIONS),
        "triton_build": _build(Path(triton.__file__).parent),
        "torch": torch.__version__,
        "torch_git": getattr(torch.version, "git_version", None) or "unknown",
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "ptxas": _ptxas(Path(triton.__file__).parent),
    }


def _distribution(names) -> str:
    import importlib.metadata

    for name in names:
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"


def _build(folder: Path) -> str:
    """The linker's build id of libtriton, else a digest of its size and first megabyte."""
    for library in sorted((folder / "_C").glob("libtriton*.so")):
        with library.open("rb") as file:
            head = file.read(1 << 20)
        note = re.search(rb"\x04\0\0\0(.)\0\0\0\x03\0\0\0GNU\0", head)
        if note:
            size = note[1][0]
            return head[note.end() : note.end() + size].hex()
        return hashlib.sha256(head + str(library.stat().st_size).encode()).hexdigest()[:40]
    return "unknown"


def _ptxas(folder: Path) -> str:
    for name in sorted(folder.rglob("ptxas")):
        try:
            said = subprocess.run(
                [str(name), "--version"], capture_output=True, text=True, timeout=20, check=False
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            continue
        found_version = re.search(r"V(\d[\d.]*)", said)
        if found_version:
            return found_version[1]
    return "none"
