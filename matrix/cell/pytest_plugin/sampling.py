"""Which of very many tests to run: spread over the test functions, and the same ones each time.

PYTEST_DONT_REWRITE
"""

import hashlib
from typing import Dict, List, Sequence


def rank(name: str) -> str:
    """A place in an order that is as good as random, that each process finds alike, and that no other test moves."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def sample(names: Sequence[str], count: int) -> List[int]:
    """Positions of `count` of the tests with these node ids, in their order.

    Each function gives one of its tests before any gives a second: 400,000 items of one function leave room for the
    others. Adding a test changes little of what is chosen.
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
