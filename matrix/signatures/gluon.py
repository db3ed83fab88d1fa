"""Kernels in Gluon: whether one is, and for whose chips its text is written."""

from __future__ import annotations

import ast

from crosswarp.matrix.signatures.source import Kernel, Source

PACKAGE = "triton.experimental.gluon"
LANGUAGE = f"{PACKAGE}.language"
# The parts of Gluon's language that one backend has, by that backend.
_PARTS = {"cuda": f"{LANGUAGE}.nvidia.", "hip": f"{LANGUAGE}.amd."}


def is_gluon(source: Source, kernel: Kernel) -> bool:
    decorators = [
        decorator.func if isinstance(decorator, ast.Call) else decorator
        for decorator in kernel.node.decorator_list
    ]
    return any(source.full(decorator).startswith(PACKAGE) for decorator in decorators)


def backend(source: Source, kernel: Kernel) -> str:
    """The backend of the only chips whose functions it uses; empty where it uses none, or both."""
    names = {
        source.full(child) for child in ast.walk(kernel.node) if isinstance(child, ast.Attribute)
    }
    parts = [
        vendor for vendor, part in _PARTS.items() if any(name.startswith(part) for name in names)
    ]
    return parts[0] if len(parts) == 1 else ""
