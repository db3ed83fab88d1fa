"""Compile those kernels without a pass whose IR it is known to get wrong; every other kernel becomes what it was.

The shims that do so say which pass, and what in the IR gives such a kernel away; or how to add the pass otherwise.
`left_out_pass` is for passes that kill the compiler, which only the crash tells.
"""

import functools
import threading
from typing import Any, Callable, Iterable, Optional, Tuple

from .acts import note_acted
from .record import Patches


class _State(threading.local):
    leave_out = False


def leave_out(
    patches: Patches,
    shim: str,
    adders: Iterable[Tuple[Any, str]],
    backends: Iterable[Any],
    gets_it_wrong: Callable[[str], bool],
    instead: Optional[Callable[[Tuple[Any, ...]], Tuple[Any, ...]]] = None,
) -> None:
    """Have each adder ask whether its pass is wanted.

    Args:
        patches: to be undone with the rest of the shim.
        shim: its name, noted where a pass is left out.
        adders: what adds the pass to a pass manager, as owner and name.
        backends: classes whose ``make_ttgir`` runs the pass.
        gets_it_wrong: whether the pass does, of a kernel's IR as text before ``make_ttgir``.
        instead: of an adder's arguments those that make it right; without it the pass is left out.
    """
    state = _State()

    def unless_left_out(add: Callable) -> Callable:
        @functools.wraps(add)
        def add_if_wanted(*args: Any) -> None:
            if not state.leave_out:
                add(*args)
            elif instead is not None:
                add(*instead(args))

        return add_if_wanted

    def looking(make_ttgir: Callable) -> Callable:
        @functools.wraps(make_ttgir)
        def make_ttgir_looking(mod: Any, *args: Any, **kwargs: Any) -> Any:
            state.leave_out = patches.ask(gets_it_wrong, False, str(mod))
            try:
                if state.leave_out:
                    note_acted(shim)
                return make_ttgir(mod, *args, **kwargs)
            finally:
                state.leave_out = False

        return make_ttgir_looking

    for owner, name in adders:
        patches.set(owner, name, unless_left_out(getattr(owner, name)))
    for backend in backends:
        patches.set(backend, "make_ttgir", staticmethod(looking(backend.make_ttgir)))
