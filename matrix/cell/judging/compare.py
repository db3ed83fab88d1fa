"""Compare numbers with the reference: relative error of each output, NaN and infinity separately."""

import contextlib
from typing import Any, Callable, Iterator, Mapping, Optional

from .verdict import Verdict


def compare(outputs: Mapping[str, Any], reference: Mapping[str, Any], tolerance: float) -> Verdict:
    """Compare ``||out - ref|| / ||ref||`` of every output, in float64, with `tolerance`.

    NaN and infinities must be where the reference has them, and nowhere else; each is a separate kind of mismatch.
    Outputs start as NaN, so a NaN is most often an element that no program wrote.
    """
    errors, problems, kinds = {}, [], []
    if not reference:
        problems, kinds = ["the reference returned nothing to compare with"], ["reference empty"]
    for name in sorted(reference):
        if name not in outputs:
            problems.append(f"{name}: not returned")
            kinds.append(f"{name} missing")
            continue
        problem, kind, errors[name] = _one(outputs[name], reference[name], tolerance)
        if problem:
            problems.append(f"{name}: {problem}")
            kinds.append(f"{name} {kind}")
    resources = {"error": errors}
    if not problems:
        return Verdict("pass", phase="compare", resources=resources)
    return Verdict(
        "mismatch",
        reason=kinds[0].split(" ", 1)[1],
        fingerprint=f"mismatch: {', '.join(kinds)}",
        message="\n".join(problems),
        phase="compare",
        resources=resources,
    )


def _one(out: Any, reference: Any, tolerance: float):
    import torch

    if tuple(out.shape) != tuple(reference.shape):
        return f"shape {tuple(out.shape)}, expected {tuple(reference.shape)}", "shape", None
    out, reference = out.detach().double().cpu(), reference.detach().double().cpu()
    special = (("nan", torch.isnan), ("inf", torch.isposinf), ("-inf", torch.isneginf))
    for kind, is_kind in special:
        there, expected = is_kind(out), is_kind(reference)
        for wrong, verb in ((there & ~expected, "are"), (expected & ~there, "should be")):
            if wrong.any():
                first = torch.nonzero(wrong)[0].tolist()
                count = f"{int(wrong.sum())} of {out.numel()} elements"
                return f"{count} {verb} {kind}, first at {first}", kind, None
    same = torch.isfinite(reference)
    difference = torch.linalg.vector_norm((out - reference)[same]).item()
    size = torch.linalg.vector_norm(reference[same]).item()
    error = difference / size if size > 0 else difference
    if error <= tolerance:
        return "", "", error
    worst = int(torch.argmax(torch.where(same, (out - reference).abs(), torch.zeros_like(out))))
    got, expected = out.flatten()[worst].item(), reference.flatten()[worst].item()
    return (
        f"relative error {error:.3g} > {tolerance:.3g}; worst element {worst}: got {got:.6g}, expected {expected:.6g}",
        "wrong",
        error,
    )


@contextlib.contextmanager
def poisoned(
    torch: Any, wanted: bool, poisons: Optional[Callable[[Any], None]] = None
) -> Iterator[None]:
    """Fill uninitialised allocations with NaN (integers: the largest value) while a kernel is launched.

    The callback is called with each such tensor.
    """
    if not wanted:
        yield
        return

    def poison(function):
        def allocate(*args, **kwargs):
            tensor = function(*args, **kwargs)
            with torch.no_grad():
                if tensor.is_floating_point():
                    tensor.fill_(float("nan"))
                elif tensor.dtype not in (torch.bool,) and not tensor.is_complex():
                    tensor.fill_(torch.iinfo(tensor.dtype).max)
            if poisons is not None:
                poisons(tensor)
            return tensor

        return allocate

    owners = (
        (torch, "empty"),
        (torch, "empty_like"),
        (torch, "empty_strided"),
        (torch.Tensor, "new_empty"),
    )
    before = [getattr(owner, name) for owner, name in owners]
    for (owner, name), function in zip(owners, before):
        setattr(owner, name, poison(function))
    try:
        yield
    finally:
        for (owner, name), function in zip(owners, before):
            setattr(owner, name, function)
