"""Read a compiled kernel's cost from its binary and assembly, once for each kernel if a folder to note it is set."""

import contextlib
import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import binary, instructions
from .binary import Binary, read_binary

_folder: List[Path] = []


def note_in(folder: Optional[Path]) -> None:
    """From now on keep results in this folder, and look there first; None: read always."""
    _folder[:] = [] if folder is None else [folder]


def read(data: bytes, forms: Mapping[str, Any]) -> Tuple[Binary, Dict[str, int]]:
    """The cost of a thread of this binary, and its instructions by class, counted in `forms` (Triton's ``asm``)."""
    kind = next((name for name in ("ptx", "amdgcn") if name in forms), "")
    text = str(forms[kind]) if kind else ""
    if not _folder:
        return _read(data, kind, text)
    path = _folder[0] / _key(data, kind, text)
    with contextlib.suppress(Exception):
        facts = json.loads(path.read_text("utf-8"))
        return Binary(**facts["binary"]), dict(facts["instructions"])
    figures, counts = _read(data, kind, text)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps({"binary": asdict(figures), "instructions": counts}), "utf-8")
        os.replace(partial, path)
    return figures, counts


def _read(data: bytes, kind: str, text: str) -> Tuple[Binary, Dict[str, int]]:
    facts = read_binary(data)
    counts: Dict[str, int] = {}
    if kind == "ptx":
        counts = instructions.in_ptx(text)
        if facts.local:
            counts["scratch"] = facts.local
    elif kind:
        counts = instructions.in_amdgcn(text)
        facts.code = instructions.code_of_amdgcn(text)
    return facts, counts


# How they are read may have changed since it was noted.
_OURS = "".join(
    str(Path(module.__file__ or "").stat().st_mtime_ns) for module in (binary, instructions)
)


def _key(data: bytes, kind: str, text: str) -> str:
    digest = hashlib.sha256(f"{_OURS} {kind} {len(data)} ".encode())
    digest.update(data)
    digest.update(text.encode("utf-8", "replace"))
    return digest.hexdigest()
