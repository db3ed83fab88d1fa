"""Whether a row's result depends on how many rows are computed with it: each output's bits, alone and in a batch."""

from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from crosswarp.matrix.cell.judging import numbers
from crosswarp.matrix.cell.plain import text_of

ROWS = 64
# The ends, and one between.
LOOKED_AT = (0, 31, ROWS - 1)

# Dimension of the rows, and how many elements of it one row has.
_Rows = Tuple[int, int]


def compared(kernel: Any, case: Any, inputs: Callable[[Any], Dict[str, Any]]) -> Dict[str, Any]:
    """For the record: by output that has rows, nothing, or both sides of the first row that differs.

    Args:
        kernel: its `batch` names the size that counts rows.
        inputs: makes the inputs of a case.

    Returns:
        `size`, `rows` and `outputs`; or `not_compared` with why.
    """
    whole = inputs(_with(case, kernel.batch, ROWS))
    outputs = kernel.launch(**whole, **case.options)
    differing: Dict[str, List[Any]] = {}
    for row in LOOKED_AT:
        given = inputs(_with(case, kernel.batch, 1))
        # The launch may have written to its inputs.
        whole = inputs(_with(case, kernel.batch, ROWS))
        for name, value in given.items():
            why = _take(value, whole[name], row)
            if why:
                return {"not_compared": f"{name} {why}"}
        alone = kernel.launch(**given, **case.options)
        for name in sorted(set(alone) & set(outputs)):
            rows = _rows(outputs[name], alone[name])
            if rows is None:
                # A sum over the batch, such as the gradient of a weight.
                continue
            both = [
                numbers.digests({name: row_values})
                for row_values in (alone[name], _row(outputs[name], rows, row))
            ]
            differ = both[0] != both[1]
            if name not in differing or differ and not differing[name]:
                differing[name] = [side[name] for side in both] if differ else []
    if not differing:
        return {"not_compared": "no output has rows"}
    return {"size": kernel.batch, "rows": ROWS, "outputs": differing}


def tried(kernel: Any, case: Any, inputs: Callable[[Any], Dict[str, Any]]) -> Dict[str, Any]:
    """As `compared`; where a launch fails, that it did."""
    try:
        return compared(kernel, case, inputs)
    except Exception as error:
        return {"not_compared": f"{type(error).__name__}: {text_of(error)}"[:300]}


def _with(case: Any, size: str, value: int) -> Any:
    shape: Mapping[str, int] = {**case.shape, size: value}
    return replace(case, shape=shape)


def _take(alone: Any, whole: Any, row: int) -> Optional[str]:
    """Write the row of `whole` to `alone`; else why that cannot be."""
    import torch

    if not isinstance(alone, torch.Tensor):
        return None if alone == whole else "is not the same for one row"
    if alone.shape == whole.shape:
        alone.copy_(whole)
        return None
    rows = _rows(whole, alone)
    if rows is None:
        return "has no rows"
    alone.copy_(_row(whole, rows, row))
    return None


def _row(tensor: Any, rows: _Rows, row: int) -> Any:
    dimension, size = rows
    return tensor.narrow(dimension, row * size, size)


def _rows(whole: Any, alone: Any) -> Optional[_Rows]:
    """The one dimension that is `ROWS` times as long."""
    if whole.dim() != alone.dim() or whole.dtype != alone.dtype:
        return None
    longer = [at for at, (a, b) in enumerate(zip(whole.shape, alone.shape)) if a != b]
    if len(longer) != 1 or whole.shape[longer[0]] != ROWS * alone.shape[longer[0]]:
        return None
    return longer[0], int(alone.shape[longer[0]])
