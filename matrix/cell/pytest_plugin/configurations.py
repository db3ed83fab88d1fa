"""Choose some of an autotuner's configurations: the first, the last, and some in between, up to a number.

PYTEST_DONT_REWRITE
"""

from typing import Any, List, Sequence

from crosswarp.compat.record import Patches


def chosen(configurations: Sequence[Any], count: int) -> List[Any]:
    """At most `count` of them, evenly spread from the first to the last; 0 for all."""
    everything = list(configurations)
    if count == 0 or len(everything) <= count:
        return everything
    if count == 1:
        return everything[:1]
    step = (len(everything) - 1) / (count - 1)
    return [everything[round(place * step)] for place in range(count)]


def limit(patches: Patches, count: int) -> None:
    """Let Triton's autotuner try no more than `count`."""
    from triton.runtime.autotuner import Autotuner

    own = Autotuner.prune_configs

    def prune_configs(tuner: Any, *args: Any, **kwargs: Any) -> List[Any]:
        return chosen(own(tuner, *args, **kwargs), count)

    patches.set(Autotuner, "prune_configs", prune_configs)
