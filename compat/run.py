"""Run a script or a module with the shims installed, otherwise exactly as ``python`` would.

Same: sys.argv, ``__main__`` (its ``__file__``, ``__spec__``, pickling), sys.path[0], exit status, death by Ctrl-C, and
tracebacks, which start at the script. Different: sys.orig_argv names crosswarp, the stack is a few frames deeper, and
a script cannot come from stdin.
"""

from __future__ import annotations

import importlib.machinery
import os
import pkgutil
import sys
import types
from typing import Any, Callable, List, Optional

from .install import install


def run_script(path: str, arguments: List[str], guard: str = "auto", explain: bool = False) -> None:
    """``python path arguments…`` with the shims installed; a folder or zip file with a ``__main__`` will do.

    Raises:
        SystemExit: the script's own, or 2 where it cannot be opened. Whatever else the script raises comes through.
    """
    install(guard, explain=explain)
    sys.argv = [path, *arguments]
    if pkgutil.get_importer(path) is not None:
        _set_first_on_path(_absolute(path))
        _fresh_main()
        _run(lambda: _as_main("__main__", False))
        return
    name = _absolute(path)
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(
            f"{sys.executable}: can't open file {name!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        sys.exit(2)
    _set_first_on_path(os.path.dirname(os.path.realpath(path)))
    main = _fresh_main()
    main.__file__ = name
    main.__dict__["__cached__"] = None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", name)
    _run(lambda: (compile(source, name, "exec", dont_inherit=True), vars(main)))


def run_module(name: str, arguments: List[str], guard: str = "auto", explain: bool = False) -> None:
    """``python -m name arguments…`` with the shims installed; sys.path[0] is the current folder, as there.

    Raises:
        SystemExit: the module's own, or a message and 1 where there is no such module.
    """
    install(guard, explain=explain)
    sys.argv = ["-m", *arguments]
    _fresh_main()
    _run(lambda: _as_main(name, True))


def _fresh_main() -> types.ModuleType:
    """A new ``__main__``, left in place to the end: threads, atexit and pickle look there."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    if sys.version_info < (3, 14):
        main.__dict__["__annotations__"] = {}
    sys.modules["__main__"] = main
    return main


def _as_main(name: str, alter_argv: bool):
    import runpy

    # The interpreter itself calls this for -m, and for a folder or zip file: it fills in the existing __main__.
    runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]


def _run(prepare: Callable[[], Any]) -> None:
    """Execute the result of `prepare` (code and its globals), or nothing if it has run everything itself."""
    try:
        code = prepare()
        if code is not None:
            exec(*code)
    except BaseException:
        # The exception goes on as it is, so that status, SystemExit and Ctrl-C end the process as they always do.
        show = sys.excepthook

        def without_our_frames(kind, error, trace):
            trace = _after_us(trace)
            if error is not None:
                error.__traceback__ = trace
            show(kind, error, trace)

        sys.excepthook = without_our_frames
        raise


def _after_us(trace: Optional[types.TracebackType]) -> Optional[types.TracebackType]:
    """The part of a traceback below the last frame of this file at its top: what ``python`` itself would show."""
    at, after = trace, trace
    ours = False
    while at is not None:
        if at.tb_frame.f_code.co_filename == __file__:
            ours = True
            after = at.tb_next
        elif ours:
            break
        at = at.tb_next
    return after


def _set_first_on_path(folder: str) -> None:
    # -I and -P keep the script's folder off the path, and so did `python -m crosswarp.compat`: nothing to replace.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = folder


def _absolute(path: str) -> str:
    """Make the name of a script absolute as the interpreter does: joined, not normalised."""
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
