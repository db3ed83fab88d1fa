"""Which of very many tests to run: spread over the test functions, and the same ones each time.

PYTEST_DONT_REWRITE
"""

import hashlib
from typing import Any, Callable, Dict, List, Sequence


def rank(name: str) -> str:
    """A place in an order that is as good as random, that each process finds alike, and that no other test moves."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def sample(names: Sequence[str], count: int) -> List[int]:
    """Positions of `count` of the tests with these node ids, in their order.

    Each function gives one of its tests before any gives a second: 400,000 items of one function leave room for the
    others. Adding a test changes the choice little.
    """
    functions: Dict[str, List[int]] = {}
    for position, name in enumerate(names):
        functions.setdefault(name.partition("[")[0], []).append(position)
    in_turn = []
    for function, positions in functions.items():
        positions.sort(key=lambda position: rank(names[position]))
        in_turn += [(turn, rank(function), position) for turn, position in enumerate(positions)]
    return sorted(position for _, _, position in sorted(in_turn)[:count])


def parameters(function: str, ids: Sequence[str], count: int) -> List[int]:
    """Positions of the parameter sets of one function that a sample of `count` tests can come to hold."""
    order = sorted(range(len(ids)), key=lambda position: rank(f"{function}[{ids[position]}]"))
    return sorted(order[:count])


def cut_parameters(metafunc: Any, count: int, tell: Callable[[int], None]) -> None:
    """Reduce the parameter sets of a function to those that a sample of `count` tests can contain.

    Decorators multiply: a library has 400,000 sets, of which each would become an item. They are cut after each
    decorator, before the next one multiplies them. The callback gets the number of items removed.
    """
    own = metafunc.parametrize
    left_out = 0

    def parametrize(*args: Any, **kwargs: Any) -> None:
        nonlocal left_out
        before = len(getattr(metafunc, "_calls", ())) or 1
        own(*args, **kwargs)
        calls = getattr(metafunc, "_calls", None)
        if not calls:
            return
        # Sets left out earlier would have been multiplied as well.
        now = left_out * len(calls) // before
        if len(calls) > count:
            selected = parameters(metafunc.definition.nodeid, [call.id for call in calls], count)
            metafunc._calls = [calls[position] for position in selected]
            now += len(calls) - count
        tell(now - left_out)
        left_out = now

    metafunc.parametrize = parametrize
