"""The order in which lanes that parted are executed, so that they meet again where a GPU lets them.

A warp's lanes part at a branch and meet at its post-dominator: ptxas puts a barrier of the warp there. In a topological
order of the blocks, in which a loop is one with all of its body, whoever is furthest behind goes first, and no block
runs before all that can come to it have come (Diamos et al., SIMD Re-Convergence at Thread Frontiers, MICRO 2011). The
text is no such order: LLVM writes the loops of threads that parted behind the block in which they meet.
"""

from typing import Dict, Iterable, Iterator, List, Set, Tuple

from .syntax import Kernel

_STOPS = ("ret", "exit", "trap")


def ranks(kernel: Kernel) -> List[int]:
    """Return each block's index in that order."""
    count = len(kernel.blocks)
    after = [_successors(kernel, number) for number in range(count)]
    order = _ordered(0, set(range(count)), after) if count else []
    # Unreachable blocks.
    order += sorted(set(range(count)) - set(order))
    places = [0] * count
    for place, number in enumerate(order):
        places[number] = place
    return places


def _successors(kernel: Kernel, number: int) -> List[int]:
    last = kernel.instructions[kernel.blocks[number][1] - 1]
    targets = []
    if last.name == "bra":
        targets.append(kernel.label(last, last.operands[0]))
    if last.name == "brx":
        targets += [kernel.label(last, name) for name in kernel.tables[last.operands[1]]]
    if last.guard or last.name not in ("bra", "brx", *_STOPS):
        targets.append(number + 1)
    # The number of blocks is the end.
    return [target for target in targets if target < len(kernel.blocks)]


def _ordered(entry: int, inside: Set[int], after: List[List[int]]) -> List[int]:
    """The blocks of `inside` that `entry` leads to: those ahead first, a loop's first block ahead of its body."""
    order: List[int] = []
    for component in _components([entry], inside, after):
        head, rest = component[0], set(component[1:])
        order.append(head)
        if rest:
            # The rest of the loop without the edge back to `head`, from each of its entries.
            begun = sorted(block for block in after[head] if block in rest)
            for inner in _components(begun, rest, after):
                order += _ordered(inner[0], set(inner), after) if len(inner) > 1 else inner
    return order


def _components(
    entries: Iterable[int], inside: Set[int], after: List[List[int]]
) -> List[List[int]]:
    """Strongly connected components in topological order, each with the block it is entered at ahead (Tarjan 1972)."""
    number: Dict[int, int] = {}
    lowest: Dict[int, int] = {}
    held: List[int] = []
    on: Set[int] = set()
    components: List[List[int]] = []
    for entry in sorted(entries, reverse=True):
        if entry in number:
            continue
        # A stack of our own: a kernel may have thousands of blocks.
        work: List[Tuple[int, Iterator[int]]] = [(entry, iter(()))]
        while work:
            block, rest = work[-1]
            if block not in number:
                number[block] = lowest[block] = len(number)
                held.append(block)
                on.add(block)
                # Those that stand first in the text are to come first, of paths that do not follow one another.
                rest = iter(sorted((each for each in after[block] if each in inside), reverse=True))
                work[-1] = (block, rest)
            for follower in rest:
                if follower not in number:
                    work.append((follower, iter(())))
                    break
                if follower in on:
                    lowest[block] = min(lowest[block], number[follower])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[block])
                if lowest[block] == number[block]:
                    at = held.index(block)
                    components.append(held[at:])
                    on.difference_update(held[at:])
                    del held[at:]
    return components[::-1]
