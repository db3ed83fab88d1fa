"""The programs that are given to torch.compile: what people train and serve with, each a function of plain tensors.

One file a family. A program is its function, which is its own eager reference, and a maker of its example inputs, which
are small: what is asked is whether the kernels compile and are right, and not how fast they are.

To add one: decorate a function that returns the function and its inputs with `@program` (`registry.py` has what can be
said of it). A family that is new is named in `FAMILIES`.
"""

import importlib
from typing import Any, Dict

FAMILIES = (
    "norms", "attention", "losses", "optimizers", "scans", "indexing", "templates", "quantized", "shapes", "random",
)  # fmt: skip


def load() -> Dict[str, Any]:
    """All programs by name, in the order in which they stand. Imports torch, which the host does not have."""
    from .registry import PROGRAMS

    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
    return PROGRAMS
