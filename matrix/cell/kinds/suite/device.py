"""The device lane: the tests of a case that need a real GPU. Two sets of inputs, the same bits twice, and the time.

A launch that is right once may have read data of the previous one. So everything is run again with fresh inputs, and
once more with the same ones: a kernel that adds atomically says so (`uses` "atomic"), any other must give the same
bits. Times are those of whole launches between CUDA events, after a warm-up, on inputs that are not moved. The GPU
waits before each, so that the host's speed does not count.
"""

import hashlib
import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

from crosswarp.matrix.cell.judging.verdict import Verdict

WARM_UP = 5
REPEATS = 25
# Cycles that the GPU waits before a launch, 1 to 2 ms: by then the host has finished its work for it.
HEAD_START = 2_500_000
# Elements of the copy that measures this GPU's bandwidth: 256 MiB in, 256 MiB out, more than any cache.
_COPIED = 1 << 26
# Bytes a second that no memory moves; a file that says so is broken.
_IMPOSSIBLE = 1e18


def same_bits(first: Mapping[str, Any], second: Mapping[str, Any]) -> List[str]:
    """The names of the outputs whose bits differ; NaN is equal to itself."""
    import torch

    different = []
    for name, output in first.items():
        left, right = (
            t.detach().contiguous().view(-1).view(torch.uint8) for t in (output, second[name])
        )
        if left.shape != right.shape or not torch.equal(left, right):
            different.append(name)
    return different


def not_deterministic(names: List[str]) -> Verdict:
    return Verdict(
        "mismatch",
        reason="not deterministic",
        fingerprint=f"mismatch: not deterministic: {', '.join(names)}",
        message=f"two launches with the same inputs gave different bits in {', '.join(names)};"
        ' if the kernel adds atomically, put "atomic" into its `uses`',
        phase="compare",
    )


def timed(launch: Callable[[], Any]) -> Dict[str, Any]:
    """Return the milliseconds that the GPU takes for a launch: median, and the quartiles.

    `host_bound` says that they are not only the GPU's: it had begun, and may have been idle, before the host finished
    its work for the launch. This happens with code that waits for the GPU in between, such as `int(tensor.sum())`.
    """
    import torch

    for _ in range(WARM_UP):
        launch()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(REPEATS)]
    begun = 0
    for start, end in events:
        torch.cuda._sleep(HEAD_START)
        start.record()
        launch()
        end.record()
        begun += start.query()
    torch.cuda.synchronize()
    low, median, high = statistics.quantiles([start.elapsed_time(end) for start, end in events])
    # Occasional disturbances of the host are no property of the launch; quartiles are robust against them.
    return {"median": median, "low": low, "high": high, "host_bound": begun > REPEATS // 4}


def traffic(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> int:
    """Bytes that must be moved at least: every input read once, every output written once."""
    import torch

    tensors = [t for t in (*inputs.values(), *outputs.values()) if isinstance(t, torch.Tensor)]
    return sum(t.numel() * t.element_size() for t in tensors)


def copy_bandwidth(cache: Path, alone: bool = True) -> float:
    """Return the bytes a second, in and out, of a plain copy on this GPU.

    Measured once for a cache folder and a kind of GPU, and kept there. A measurement beside other jobs (`alone` is
    false) shows only the free part of the GPU at that moment: it is used once, and is not kept.
    """
    import torch

    name = torch.cuda.get_device_name()
    # A work folder may be carried from one GPU to another, and each has its own.
    stored = cache / f"copy-bandwidth-{hashlib.sha256(name.encode()).hexdigest()[:8]}.json"
    rate = _stored(stored, name)
    if rate is not None:
        return rate
    source = torch.empty(_COPIED, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    spent = timed(lambda: target.copy_(source))["median"] / 1000
    rate = 2 * source.numel() * source.element_size() / spent
    if alone:
        cache.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=cache)
        with os.fdopen(handle, "w") as stream:
            json.dump({"gpu": name, "bytes_per_second": rate}, stream)
        os.replace(partial, stored)
    return rate


def _stored(path: Path, gpu: str) -> Optional[float]:
    """Return the stored bytes per second of this GPU; None if the file lacks it, and it must be measured again."""
    try:
        document = json.loads(path.read_text("utf-8"))
        rate = document["bytes_per_second"] if document["gpu"] == gpu else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if isinstance(rate, bool) or not isinstance(rate, (int, float)):
        return None
    return float(rate) if 0 < rate < _IMPOSSIBLE else None


def measured(
    launch: Callable[[], Mapping[str, Any]],
    inputs: Mapping[str, Any],
    cache: Path,
    alone: bool,
) -> Dict[str, Any]:
    """Return the record's ``timing``: milliseconds, and the fraction of the copy bandwidth.

    The fraction is that of moving inputs and outputs once. It says nothing about a kernel that computes much on little
    data. Do not compare times measured beside other jobs on the same GPU (`alone` is false).
    """
    moved = traffic(inputs, launch())
    times: Dict[str, Any] = timed(launch)
    times["bytes"] = moved
    times["of_copy"] = moved / (times["median"] / 1000) / copy_bandwidth(cache, alone)
    times["alone"] = alone
    return times
