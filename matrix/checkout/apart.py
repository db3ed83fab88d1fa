"""Folders whose findings are listed apart: of other vendors' chips, and vendored copies of other libraries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

# Vendors that ship their own Triton, with the words by which libraries name folders and files for them.
_VENDORS = {
    "Ascend": ("ascend", "npu", "cann"),
    "Biren": ("biren", "supa"),
    "Cambricon": ("cambricon", "mlu", "bang"),
    "Enflame": ("enflame", "gcu"),
    "Gaudi": ("gaudi", "hpu"),
    "Hygon": ("hygon", "dcu"),
    "Iluvatar": ("iluvatar", "corex"),
    "Kunlunxin": ("kunlunxin", "kunlun"),
    "MetaX": ("metax", "maca"),
    "Moore Threads": ("musa", "mthreads", "mtgpu"),
    "Tsingmicro": ("tsingmicro", "txda"),
    "XPU": ("xpu",),
    "AIPU": ("aipu",),
    "Sunrise": ("sunrise", "ptpu"),
    "SpacemiT": ("spacemit",),
    "T-Head": ("thead", "ppu"),
}
_VENDOR_OF = {word: vendor for vendor, words in _VENDORS.items() for word in words}
_COPIES = frozenset(
    ("thirdparty", "3rdparty", "vendor", "vendored", "vendors", "submodules", "extern", "externals")
)
_WORDS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Apart:
    """
    Attributes:
        folder: the folder, or the file, whose name says it.
        vendor: whose chips it is for; empty for a vendored copy.
    """

    folder: str
    vendor: str = ""


def of(path: str) -> Apart | None:
    """The folder or file by whose name a file is listed apart; None for the library's own.

    Args:
        path: from the folder that is checked.
    """
    parts = PurePath(path).parts
    names = [*parts[:-1], PurePath(parts[-1]).stem] if parts else []
    for count, name in enumerate(names, 1):
        for word in _WORDS.split(name.lower()):
            if word in _VENDOR_OF:
                return Apart(PurePath(*parts[:count]).as_posix(), _VENDOR_OF[word])
    for count, name in enumerate(names[:-1], 1):
        if _WORDS.sub("", name.lower()) in _COPIES:
            # The copy itself, where it has a separate folder.
            return Apart(PurePath(*parts[: min(count + 1, len(parts) - 1)]).as_posix())
    return None
