"""A process of the laboratory in a column, where crosswarp may be installed without the laboratory, or not at all."""

from __future__ import annotations

from pathlib import Path

from crosswarp.matrix.work import brought


def argv(module: str, python: Path, spec: Path) -> list[str]:
    """The command line of a package of `laboratory.cell`; the links to this crosswarp lie beside `spec`."""
    links = brought.bring_along(spec.parent / "links", parts=(*brought.PARTS, "laboratory"))
    return brought.argv(links, f"crosswarp.laboratory.cell.{module}", python, spec)
