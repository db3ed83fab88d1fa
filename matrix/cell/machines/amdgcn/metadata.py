"""The part of an assembly text that its loader reads: directives of the kernel, and its arguments."""

import re
from typing import Dict, List, NamedTuple, Optional

_KERNEL = re.compile(r"\.amdhsa_kernel\s+(\S+)")
_DIRECTIVE = re.compile(r"^\s*\.amdhsa_(\w+)\s+(\S+)", re.M)
_ENTRY = re.compile(r"^\s+(- )?\.(\w+):\s+(\S+)")
# Directives that change the meaning of instructions, with the only value that the emulator implements.
ASSUMED = {"float_denorm_mode_32": 3, "float_denorm_mode_16_64": 3, "float_round_mode_32": 0,
           "float_round_mode_16_64": 0, "ieee_mode": 1, "dx10_clamp": 1}  # fmt: skip


class Argument(NamedTuple):
    """One argument of a kernel: where it lies in the argument segment, in bytes, and its kind."""

    offset: int
    size: int
    kind: str

    @property
    def hidden(self) -> bool:
        return self.kind.startswith("hidden_")


def kernel_name(text: str) -> Optional[str]:
    """The name of the first kernel; None without one."""
    match = _KERNEL.search(text)
    return None if match is None else match.group(1)


def directives(text: str) -> Dict[str, int]:
    """Name -> value of the directives whose value is a number."""
    values = {}
    for key, value in _DIRECTIVE.findall(text):
        try:
            values[key] = int(value, 0)
        except ValueError:
            continue
    return values


def arguments(text: str) -> List[Argument]:
    """`.args` of the first kernel's metadata, in their order."""
    entries: List[Dict[str, str]] = []
    indent = -1
    inside = False
    for line in text.partition(".amdgpu_metadata")[2].splitlines():
        if line.strip().endswith(".args:"):
            inside = True
            continue
        if not inside:
            continue
        match = _ENTRY.match(line)
        own = len(line) - len(line.lstrip())
        if match is None:
            break
        if match.group(1):
            if indent < 0:
                indent = own
            if own != indent:
                break
            entries.append({})
        elif not entries or own <= indent:
            break
        entries[-1][match.group(2)] = match.group(3)
    return [
        Argument(
            int(entry.get("offset", 0)), int(entry.get("size", 0)), entry.get("value_kind", "")
        )
        for entry in entries
        if entry
    ]
