"""Run a whole case with the programs of its launches in other orders, if comparing single launches proves nothing.

A kernel that gets tickets or slots from an atomic leaves memory that differs from run to run. It is still right if
the results of the case do not differ, so those are compared.
"""

from typing import Any, Callable, Dict, Tuple

import numpy as np

from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.cell.judging.verdict import Verdict
from crosswarp.matrix.cell.observers.sanitizer import order

Outputs = Dict[str, Any]


def in_other_orders(
    machine: Any, outputs: Outputs, again: Callable[[], Tuple[Verdict, Outputs]]
) -> Any:
    """The verdict on a case whose results depend on the order of programs; None where they do not.

    Args:
        machine: the lane's; `again` runs the case on it.
        outputs: of the usual order.
    """
    for how, words in order.ORDERS:
        machine.order = how
        try:
            verdict, others = again()
        finally:
            machine.order = "forward"
        if machine.failed is not None:
            message = (
                f"with the programs of its launches {words} it goes wrong: {machine.failed.message}"
            )
            return _verdict(message)
        for name in sorted({*outputs, *others}):
            if name not in outputs or name not in others:
                return _verdict(f"with the programs of its launches {words}, {name} is missing")
            difference = _different(outputs[name], others[name])
            if difference:
                return _verdict(
                    f"with the programs of its launches {words}, {name} is another: {difference}"
                )
    return None


def _different(first: Any, second: Any) -> str:
    if tuple(first.shape) != tuple(second.shape) or first.dtype != second.dtype:
        return "its shape or type differs"
    # A program that got its work by ticket may have summed in another order.
    return order.different(
        _bytes(first), _bytes(second), first.element_size(), str(first.dtype).replace("torch.", ""), True
    )  # fmt: skip


def _bytes(tensor: Any) -> np.ndarray:
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy() if flat.numel() else np.zeros(0, np.uint8)


def _verdict(message: str) -> Verdict:
    kind = order.KIND
    return Verdict(
        "fault", kind, fingerprint.of_text(f"fault: {kind}"), f"{kind}: {message}", "execute"
    )
