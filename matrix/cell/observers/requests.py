"""Count what the request of one warp asks of memory: sectors and lines of global, wavefronts of shared memory.

A request is one instruction of one warp. Its sectors are the distinct sectors among the bytes of its active lanes, its
lines the distinct 128 bytes. Shared memory has banks of 4 bytes. It serves the lanes of a request in phases, and the
wavefronts of a phase are the largest number of distinct words in one bank.
"""

from typing import Any, Callable, NamedTuple, Optional, Tuple

import numpy as np

# A sum with them tells the rows of addresses apart; any odd numbers of 64 bits do.
_WEIGHTS = np.random.RandomState(1).randint(-(2**62), 2**62, 64, np.int64) | 1

# No phase has fewer.
_LEAST_LANES = 8


class Phases(NamedTuple):
    """How shared memory serves the lanes of a request.

    Attributes:
        lanes: so many at once.
        order: lanes in the order in which they are served; None for their own.
    """

    lanes: int
    order: Optional[np.ndarray] = None


class Layout(NamedTuple):
    """A GPU's memory as the lanes of a warp meet it.

    Attributes:
        lanes: of a warp.
        sector: bytes, a power of two up to 128.
        banks: of shared memory, 4 bytes each.
        phases: of an access to shared memory, by its bytes and its kind.
        served: the name that the figures have for the wavefronts.
        wider: bytes of accesses that an assembler may make of smaller ones.
    """

    lanes: int
    sector: int
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
        return _wavefronts(where, nbytes, layout.phases(nbytes, kind), layout.banks)

    own = counts(where, nbytes)
    columns = [own]
    for width in layout.wider:
        wider = own
        if nbytes < width and not kind:
            rows, back = _different(where & -width)
            wider = counts(rows, width)[back]
        columns.append(wider[:, :1])
    return np.concatenate(columns, 1)[again]


def filled(
    layout: Layout, where: np.ndarray, active: np.ndarray, space: str, nbytes: int, kind: str
) -> np.ndarray:
    """Addresses of requests whose inactive lanes have that of an active lane, so that they add nothing.

    Shared memory serves an inactive lane with one of the same phase where it has any: another word may be in its bank.

    Args:
        where, active: (requests, lanes), at least one of each request active.
    """
    shared = space == "shared"
    order = layout.phases(nbytes, kind).order if shared else None
    if order is not None:
        where, active = where[:, order], active[:, order]
    result, lanes = where, where.shape[1]
    while lanes >= (_LEAST_LANES if shared else where.shape[1]):
        some = active.reshape(-1, lanes)
        first = where.reshape(-1, lanes)[np.arange(len(some)), some.argmax(1)][:, None]
        inside = np.where(some.any(1, keepdims=True), first, result.reshape(-1, lanes))
        result = np.where(active, where, inside.reshape(where.shape))
        lanes //= 2
    return result if order is None else result[:, np.argsort(order)]


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
    if ((spots & (layout.sector - 1)) + nbytes > layout.sector).any():
        units = np.sort(np.concatenate([units, (spots + (nbytes - 1)) >> shift], 1), 1)
    # Accesses that are not at multiples of their size may overlap.
    different = nbytes + np.minimum(np.diff(spots), nbytes).sum(1)
    return np.stack(
        [_distinct(units), _distinct(units >> (7 - shift)), -(-different // layout.sector)], 1
    )


def _distinct(ordered: np.ndarray) -> Any:
    """How many different values each row has."""
    return 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)


def _wavefronts(where: np.ndarray, nbytes: int, phases: Phases, banks: int) -> np.ndarray:
    """Wavefronts, 0, and the least wavefronts of the request in each row of `where`."""
    lanes, order = phases
    if order is not None:
        where = where[:, order]
    spots = where.reshape(-1, lanes)
    word, last = spots >> 2, (spots + (nbytes - 1)) >> 2
    words = 1 + int((last - word).max())
    if words > 1:
        word = np.minimum(word[:, :, None] + np.arange(words), last[:, :, None])
        word = word.reshape(len(spots), -1)
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
