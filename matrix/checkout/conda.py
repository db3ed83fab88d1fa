"""The packages that a conda environment file lists, as requirements of a package index."""

from __future__ import annotations

import re
from pathlib import Path

from crosswarp.matrix import reading

_ENTRY = re.compile(
    r"^\s*-\s*['\"]?(?:[\w.-]+::)?([A-Za-z0-9][\w.-]*(?:\[[\w,]+\])?)\s*([=<>!~][^'\"#\s]*)?"
)
# Packages that only conda has, or that the column itself has.
_NOT_ON_AN_INDEX = re.compile(
    r"^(?:python|pip|conda|mamba|cuda.*|cudatoolkit.*|cudnn|nccl|gcc.*|gxx.*|mkl.*|.*-forge|defaults|nvidia|"
    r"nodefaults|pytorch-cuda|ninja|cmake|git|make|lib.*|_.*)$",
    re.I,
)
_NAMES = {"pytorch": "torch", "pytorch-cpu": "torch", "pytorch-gpu": "torch", "triton": "triton"}


def requirements(path: Path) -> list[str]:
    """The packages below `dependencies`, with their versions where an index spells them so."""
    try:
        lines = reading.text(path).splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    needed, inside = [], False
    for line in lines:
        if re.match(r"\S", line) and not line.startswith(("#", "-")):
            inside = line.startswith("dependencies")
            continue
        entry = _ENTRY.match(line) if inside else None
        if entry is None or line.rstrip().endswith("pip:") or _NOT_ON_AN_INDEX.match(entry[1]):
            continue
        version = (entry[2] or "").strip()
        if version.startswith("=") and not version.startswith("=="):
            # conda: numpy=1.26=build
            version = f"=={version[1:].partition('=')[0].rstrip('.*')}.*"
        needed.append(f"{_NAMES.get(entry[1].lower(), entry[1])}{version}")
    return needed
