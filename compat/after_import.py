"""Something to do as soon as a module has been imported."""

import functools
import sys
from typing import Any, Callable

from .errors import say_without_raising
from .record import Patches


def once_imported(patches: Patches, name: str, apply: Callable[[Patches, Any], None]) -> None:
    """Call ``apply(patches, module)`` as soon as the module `name` has been imported: now, where it has been.

    A later failure of `apply` leaves out the shim of `patches`, and taking back `patches` ends the waiting.
    """
    if has_run(name):
        apply(patches, sys.modules[name])
        return
    finder = _After(name, lambda module: patches.attempt(apply, patches, module))
    sys.meta_path.insert(0, finder)
    patches.on_undo(functools.partial(_forget, finder))


def has_run(name: str) -> bool:
    """Whether the module `name` has been imported, to its end."""
    module = sys.modules.get(name)
    return module is not None and not getattr(module.__spec__, "_initializing", False)


def found_by_others(asking: Any, name: str, path: Any, target: Any) -> Any:
    """The spec of module `name` by the finders on ``sys.meta_path`` other than `asking`; None where none has it."""
    # A finder of before Python 3.4 has no find_spec.
    others = [
        finder for finder in sys.meta_path if finder is not asking and hasattr(finder, "find_spec")
    ]
    specs = (finder.find_spec(name, path, target) for finder in others)
    return next((spec for spec in specs if spec is not None), None)


class _After:
    """A finder on ``sys.meta_path`` that calls ``then(module)`` once, when the module `name` has been imported."""

    def __init__(self, name: str, then: Callable[[Any], Any]) -> None:
        self.name, self._then = name, then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return after_execution(found_by_others(self, name, path, target), self._done)

    def _done(self, module: Any) -> None:
        if any(finder is self for finder in sys.meta_path):
            _forget(self)
            self._then(module)


def _forget(finder: Any) -> None:
    sys.meta_path[:] = [other for other in sys.meta_path if other is not finder]


def after_execution(spec: Any, then: Any) -> Any:
    """`spec`, whose loader calls ``then(module)`` when the module has run; a failure of `then` is logged, not
    raised."""
    loader = getattr(spec, "loader", None)
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return spec

    def exec_module(module: Any) -> None:
        execute(module)
        try:
            then(module)
        except Exception as error:
            say_without_raising(
                f"crosswarp.compat is not installed after all, because of {type(error).__name__}: {error}. Please "
                "report this line to crosswarp with what `python -m crosswarp.compat doctor` says"
            )

    try:
        if isinstance(loader, type):
            # The loader may also load other modules, which we leave alone.
            raise TypeError("a class")
        loader.exec_module = exec_module  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        say_without_raising(
            f"crosswarp.compat cannot wait for the import of {spec.name} by {loader!r}: call compat.install() after it"
        )
    return spec
