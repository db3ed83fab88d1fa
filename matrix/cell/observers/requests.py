"""Count what the request of one warp asks of memory: sectors and lines of global, wavefronts of shared memory.

A request is one instruction of one warp. Its sectors are the distinct sectors among the bytes of its active lanes, its
lines the distinct 128 bytes. Shared memory has banks of 4 bytes. It serves the lanes of a request in phases, and the
wavefronts of a phase are the largest number of distinct words in one bank.
"""

from typing import Any, Callable, NamedTuple, Optional, Tuple

import numpy as np

# A sum with them tells the rows of addresses apart; any odd numbers of 64 bits do.
_WEIGHTS = np.random.RandomState(1).randint(-(2**62), 2**62, 64, np.int64) | 1


class Phases(NamedTuple):
    """How shared memory serves the lanes of a request.

    Attributes:
        lanes: so many at once.
        words: of 4 bytes that each lane asks for.
        order: lanes in the order in which they are served; None for their own.
    """

    lanes: int
    words: int
    order: Optional[np.ndarray] = None


class Layout(NamedTuple):
    """A GPU's memory as the lanes of a warp meet it.

    Attributes:
        lanes: of a warp.
        sector: bytes, a power of two up to 128.
        aligned: accesses of up to so many bytes lie in one sector.
        banks: of shared memory, 4 bytes each.
        phases: of an access to shared memory, by its bytes and its kind.
        served: the name of the count of shared memory.
        wider: bytes of accesses that an assembler may make of smaller ones.
    """

    lanes: int
    sector: int
    aligned: int
    banks: int
    phases: Callable[[int, str], Phases]
    served: str = "wavefronts"
    wider: Tuple[int, ...] = ()


def of_rows(layout: Layout, where: np.ndarray, space: str, nbytes: int, kind: str) -> np.ndarray:
    """The counts of the request in each row of `where`.

    Args:
        where: addresses in bytes, (requests, lanes) of int64.

    Returns:
        (requests, 3 + wider): sectors, lines and least sectors, or wavefronts, 0 and least wavefronts; then the first
        of these as if the access were of each of the layout's wider sizes.
    """
    where, again = _different(where - (where[:, :1] & ~127))

    def counts(where: np.ndarray, nbytes: int) -> np.ndarray:
        if space == "global":
            return _sectors(layout, where, nbytes)
        return _wavefronts(where, layout.phases(nbytes, kind), layout.banks)

    own = counts(where, nbytes)
    columns = [own]
    for width in layout.wider:
        wider = own
        if nbytes < width and not kind:
            rows, back = _different(where & -width)
            wider = counts(rows, width)[back]
        columns.append(wider[:, :1])
    return np.concatenate(columns, 1)[again]


def _different(where: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """The rows without those that repeat another, and of each row its place among them."""
    sums = where @ _WEIGHTS[: where.shape[1]]
    _, first, again = np.unique(sums, return_index=True, return_inverse=True)
    return where[first], again


def _sectors(layout: Layout, where: np.ndarray, nbytes: int) -> np.ndarray:
    """Sectors, lines, and the least sectors of the request in each row of `where`."""
    spots = np.sort(where, 1)
    shift = layout.sector.bit_length() - 1
    units = spots >> shift
    if nbytes > layout.aligned:
        units = np.sort(np.concatenate([units, (spots + (nbytes - 1)) >> shift], 1), 1)
    least = -(-_distinct(spots) * nbytes // layout.sector)
    return np.stack([_distinct(units), _distinct(units >> (7 - shift)), least], 1)


def _distinct(ordered: np.ndarray) -> Any:
    """How many different values each row has."""
    return 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)


def _wavefronts(where: np.ndarray, phases: Phases, banks: int) -> np.ndarray:
    """Wavefronts, 0, and the least wavefronts of the request in each row of `where`."""
    lanes, words, order = phases
    if order is not None:
        where = where[:, order]
    groups = (where & 0xFFFFFF).reshape(-1, lanes) >> 2
    word = groups if words == 1 else (groups[:, :, None] + np.arange(words)).reshape(len(groups), -1)  # fmt: skip
    word = np.sort(word, 1)
    new = np.ones(word.shape, bool)
    new[:, 1:] = word[:, 1:] != word[:, :-1]
    bank = (word & (banks - 1)) + banks * np.arange(len(word))[:, None]
    load = np.bincount(bank[new], minlength=banks * len(word)).reshape(-1, banks).max(1)
    each = where.shape[1] // lanes
    counts = np.zeros((len(where), 3), np.int64)
    counts[:, 0] = load.reshape(-1, each).sum(1)
    counts[:, 2] = each
    return counts
