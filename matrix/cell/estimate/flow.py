"""Estimate how often each block of machine code ran, on average over the warps.

The flow graph has one unknown for each edge. One warp enters, and the flow into a block equals the flow out of it.
Loads, stores, barriers, matmuls and shuffles (`opcodes.anchor_of_machine`) have to match the emulator's counts in PTX,
in total and by source line; that reveals ptxas' unrolling. The residuals are minimised by least absolute deviations,
not squares: one class that does not fit must not move all others. That is a linear program. It is solved here by
Mehrotra's predictor and corrector (J. Nocedal, S. J. Wright, "Numerical Optimization", 14.2), because a column's
environment has only numpy.
"""

from collections import Counter, defaultdict
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

from .machine_code import OUT, Block
from .opcodes import anchor_of_machine, anchor_of_ptx

# Classes that exist on both sides, unchanged by ptxas.
_FIRM = {"ldg", "stg", "ldgsts", "bar", "mma", "wgmma", "ldsm", "stsm", "tma", "atom"}
_FIRM_WEIGHT, _BY_LINE_WEIGHT = 10.0, 0.1
# Among flows that fit equally well, prefer the smallest, then the one that continues with the next block: otherwise a
# loop that nothing enters would be cheaper.
_FLOW, _JUMP = 1e-6, 1.02
_STEPS = 80
_GAP, _SHORT, _ENOUGH = 1e-11, 1e-7, 1e-4
# Further steps beyond this precision only lose digits.
_PATIENCE = 6
# Blocks and classes: the time grows with the cube of it.
MOST_ROWS = 2500


class NoFlow(ValueError):
    """No flow through the graph was found: nothing can be said of this kernel."""


def executions(blocks: List[Block], counted: Mapping[str, Any], warps: int) -> np.ndarray:
    """How often a warp ran each block.

    Args:
        counted: as of `Counters.by_instruction`, of `warps` warps together.

    Raises:
        NoFlow: the graph has no way from its entry to an end, or is too large.
    """
    edges = [(block.number, target) for block in blocks for target in block.next]
    sources = np.array([source for source, _ in edges], int)
    conserved = np.zeros((len(blocks), len(edges)))
    for index, (source, target) in enumerate(edges):
        conserved[source, index] -= 1
        if target != OUT:
            conserved[target, index] += 1
    entry = np.zeros(len(blocks))
    entry[0] = -1.0
    rows, costs = _anchors(blocks, counted, warps)
    if len(blocks) + len(rows) > MOST_ROWS:
        raise NoFlow(f"{len(blocks)} blocks and {len(rows)} classes")
    # Of the blocks that an edge comes from.
    classes = rows[:, sources] if len(rows) else np.zeros((0, len(edges)))
    jumps = np.array([target not in (source + 1, OUT) for source, target in edges])
    # Where there is no flow the numbers grow without end, which is found there.
    with np.errstate(all="ignore"):
        flow = _solved(conserved, entry, classes, np.where(jumps, _JUMP, 1.0) * _FLOW, costs)
    inflow = np.zeros(len(blocks))
    np.add.at(inflow, sources, flow)
    return inflow


def _anchors(
    blocks: List[Block], counted: Mapping[str, Any], warps: int
) -> Tuple[np.ndarray, np.ndarray]:
    """A row for each class, and class and line: how many of it each block has, over how many there are to be."""
    wanted: Counter = Counter()
    instructions = counted["instructions"]
    for first, end, ran in counted["blocks"]:
        if not ran:
            continue
        for opcode, line in instructions[first:end]:
            anchor = anchor_of_ptx(opcode)
            if anchor:
                wanted[anchor, None] += ran / warps
                wanted[anchor, line] += ran / warps
    have: Dict[Tuple[str, Optional[int]], np.ndarray] = defaultdict(lambda: np.zeros(len(blocks)))
    for block in blocks:
        for instruction in block.instructions:
            anchor = anchor_of_machine(instruction)
            if anchor:
                have[anchor, None][block.number] += 1
                have[anchor, instruction.line][block.number] += 1
    rows, costs = [], []
    for (anchor, line), of_blocks in have.items():
        want = wanted[anchor, line]
        if want > 0:
            rows.append(of_blocks / want)
            weight = _FIRM_WEIGHT if anchor in _FIRM else 1.0
            costs.append(weight if line is None else weight * _BY_LINE_WEIGHT)
    return np.array(rows), np.array(costs)


def _solved(
    conserved: np.ndarray,
    entry: np.ndarray,
    classes: np.ndarray,
    of_edges: np.ndarray,
    costs: np.ndarray,
) -> np.ndarray:
    """The flow along each edge: conserved, not negative, and the classes each as near to 1 as `costs` want it."""
    n, edges = conserved.shape
    k = len(costs)
    b = np.concatenate([entry, np.ones(k)])
    c = np.concatenate([of_edges, costs, costs])
    upper = np.vstack([conserved, classes])

    def times(x: np.ndarray) -> np.ndarray:
        product = upper @ x[:edges]
        product[n:] += x[edges : edges + k] - x[edges + k :]
        return product

    def transposed(y: np.ndarray) -> np.ndarray:
        return np.concatenate([upper.T @ y, y[n:], -y[n:]])

    def normal(d: np.ndarray) -> np.ndarray:
        gram = (upper * d[:edges]) @ upper.T
        diagonal = np.arange(n, n + k)
        gram[diagonal, diagonal] += d[edges : edges + k] + d[edges + k :]
        # A loop that nothing leaves has rows that say the same.
        gram[np.arange(n + k), np.arange(n + k)] += 1e-12 * max(float(np.trace(gram)) / (n + k), 1e-300)  # fmt: skip
        return gram

    first = normal(np.ones(len(c)))
    x = transposed(np.linalg.solve(first, b))
    y = np.linalg.solve(first, times(c))
    s = c - transposed(y)
    x += max(-1.5 * x.min(), 0.0) + 1e-3
    s += max(-1.5 * s.min(), 0.0) + 1e-3
    both = float(x @ s)
    x, s = x + 0.5 * both / s.sum(), s + 0.5 * both / x.sum()
    best, least, since = x, np.inf, 0
    for _ in range(_STEPS):
        short, dual = b - times(x), c - transposed(y) - s
        gap = float(x @ s) / (1 + abs(float(c @ x)))
        off = max(float(np.abs(short).max()) / (1 + float(x.max())), float(np.abs(dual).max()))
        since = 0 if max(gap, off) < least else since + 1
        if not since:
            best, least = x, max(gap, off)
        if gap < _GAP and off < _SHORT or least < _ENOUGH and since >= _PATIENCE:
            break
        d = x / s
        matrix = normal(d)

        def step(
            target: np.ndarray, matrix=matrix, d=d, short=short, dual=dual, x=x, s=s
        ) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
            dy = np.linalg.solve(matrix, short + times(d * dual - target / s))
            ds = dual - transposed(dy)
            return (target - x * ds) / s, dy, ds

        try:
            dx, dy, ds = step(-x * s)
            mean = float(x @ s) / len(x)
            ahead = float((x + _most(x, dx) * dx) @ (s + _most(s, ds) * ds)) / len(x)
            center = (ahead / mean) ** 3
            dx, dy, ds = step(center * mean - x * s - dx * ds)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(dx).all():
            break
        x = x + 0.9995 * _most(x, dx) * dx
        step_dual = 0.9995 * _most(s, ds)
        y, s = y + step_dual * dy, s + step_dual * ds
    if not least < _ENOUGH:
        raise NoFlow("no way from the entry to an end")
    return best[:edges]


def _most(x: np.ndarray, dx: np.ndarray) -> float:
    """How far one may go, up to 1, before something is negative."""
    falling = dx < 0
    return float(min(1.0, (-x[falling] / dx[falling]).min())) if falling.any() else 1.0
