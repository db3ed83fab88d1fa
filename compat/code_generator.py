"""Patches to Triton's code generator: made when Triton first compiles, because it takes long to import."""

import threading
from typing import Any, Callable, List

from .record import Patches


def before_first_trace(patches: Patches, heal: Callable[[Any], None]) -> None:
    """Call ``heal(CodeGenerator)``, once, before the first kernel is traced; never after `patches` were undone."""
    from triton.compiler.compiler import ASTSource

    make_ir, lock = ASTSource.make_ir, threading.Lock()
    done: List[bool] = []
    # Uninstalling leaves the wrapper in place if another has wrapped it since.
    patches.on_undo(lambda: done.append(True))

    def make_ir_healed(self, *args, **kwargs):
        with lock:
            if not done:
                done.append(True)
                from triton.compiler.code_generator import CodeGenerator

                heal(CodeGenerator)
        return make_ir(self, *args, **kwargs)

    patches.set(ASTSource, "make_ir", make_ir_healed)
