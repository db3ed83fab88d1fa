"""The programs that are given to torch.compile: common training and serving code, as functions of plain tensors.

One file a family. A program is its function, which is its eager reference, and a maker of its example inputs. These are
small: the question is whether the kernels compile and are right, and not how fast they are.

To add one: decorate a function that returns the function and its inputs with `@program` (`registry.py` lists the
options). Name a new family in `FAMILIES`.
"""

import importlib
from typing import Any, Dict

FAMILIES = (
    "norms", "attention", "losses", "optimizers", "scans", "indexing", "templates", "quantized", "shapes", "random",
)  # fmt: skip


def load() -> Dict[str, Any]:
    """All programs by name, in source order. Imports torch, which the host does not have."""
    from .registry import PROGRAMS

    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
    return PROGRAMS
