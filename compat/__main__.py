"""Usage:
  python -m crosswarp.compat [--guard MODE]
      What compat.install() would install on the Triton of this environment.

  python -m crosswarp.compat run [--guard MODE] [--explain] SCRIPT [ARGUMENTS ...]
  python -m crosswarp.compat run [--guard MODE] [--explain] -m MODULE [ARGUMENTS ...]
      Install the shims, then run as python would: same arguments, same
      __main__, same exit status. --explain adds what `crosswarp why` says of
      the exception that ends the program, as a note below it.

  python -m crosswarp.compat doctor [--json] [--guard MODE] [--timeout S]
      What is here, which shims are active and why, what to upgrade or pin.
      Known issues that no shim fixes are listed by `crosswarp doctor`.

MODE: auto (default) compiles in a child process what a known issue may kill the
compiler with, by release, target and kernel; always every kernel; off none.

Exit status: run: the script's. Otherwise 0 nothing known is left unfixed,
1 something is, 2 usage, or there is no Triton here.

What `run` covers: the process it starts in, its forks (DataLoader workers,
multiprocessing with fork) and the compile workers of torch.compile. Not
covered: other new interpreters, which are multiprocessing's spawn and
forkserver, subprocesses, and the workers of a launcher. Tell the launcher
instead, or put the two lines into the script:
  torchrun --nproc-per-node 8 -m crosswarp.compat run train.py
"""

from __future__ import annotations

import os
import sys
from typing import Callable, List, Optional, Tuple

from .choice import GUARD_MODES
from .install import wanted_shims
from .versions import triton_text


class _Usage(Exception):
    pass


def main(argv: Optional[List[str]] = None) -> int:
    """The command line; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments.pop(0) if arguments and arguments[0] in ("run", "doctor") else "list"
    try:
        if command == "run":
            return _run(arguments)
        return _quietly(_doctor if command == "doctor" else _list, arguments)
    except _Usage as error:
        print(f"crosswarp.compat: {error}\n\n{_usage()}", file=sys.stderr)
        return 2


def _quietly(command: Callable[[List[str]], int], arguments: List[str]) -> int:
    """`doctor | head`: a closed pipe is no error."""
    try:
        status = command(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _usage() -> str:
    return (__doc__ or "").rstrip()


def _options(arguments: List[str], with_value: Tuple[str, ...], flags: Tuple[str, ...] = ()):
    """The options in front of the first other word, and what is left: all of it belongs to the script."""
    options = {}
    while arguments:
        word, equals, value = arguments[0].partition("=")
        if word in ("-h", "--help"):
            print(_usage())
            raise SystemExit(0)
        if word in flags and not equals:
            options[word] = "yes"
            arguments = arguments[1:]
        elif word in with_value:
            if not equals:
                if len(arguments) < 2:
                    raise _Usage(f"{word} needs a value")
                value = arguments[1]
            options[word] = value
            arguments = arguments[1 if equals else 2 :]
        else:
            break
    guard = options.setdefault("--guard", "auto")
    if guard not in GUARD_MODES:
        raise _Usage(f"--guard {guard} is not known: use one of {', '.join(GUARD_MODES)}")
    return options, arguments


def _run(arguments: List[str]) -> int:
    from . import run

    options, rest = _options(arguments, ("--guard",), ("--explain",))
    explain = "--explain" in options
    if rest and rest[0] == "-m":
        if len(rest) < 2:
            raise _Usage("-m needs the name of a module")
        run.run_module(rest[1], rest[2:], options["--guard"], explain)
        return 0
    if rest and rest[0] == "--":
        rest = rest[1:]
    elif rest and rest[0].startswith("-"):
        raise _Usage(f"{rest[0]} is no option of run: options of the script come after its name")
    if not rest:
        raise _Usage("run needs a script, or -m and a module")
    run.run_script(rest[0], rest[1:], options["--guard"], explain)
    return 0


def _doctor(arguments: List[str]) -> int:
    from . import doctor, doctor_text

    options, rest = _options(arguments, ("--guard", "--timeout"), ("--json",))
    if rest:
        raise _Usage(f"doctor knows no {rest[0]!r}")
    try:
        seconds = float(options.get("--timeout", doctor.TIMEOUT))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise _Usage(f"--timeout {options['--timeout']} is not a number of seconds")
    report = doctor.examine(options["--guard"], seconds)
    print(doctor.as_json(report) if "--json" in options else doctor_text.render(report), end="")
    return doctor.exit_code(report)


def _list(arguments: List[str]) -> int:
    from .doctor_text import shim_line

    options, rest = _options(arguments, ("--guard",))
    if rest:
        raise _Usage(f"{rest[0]!r} is no command")
    version = triton_text()
    if version is None:
        print("There is no Triton in this environment: nothing would be installed.")
        return 2
    shims = wanted_shims(options["--guard"], version)
    print(f"compat.install() on Triton {version} installs {len(shims)} of its shims:")
    for shim in shims:
        print(shim_line(shim.name, shim.window, shim.symptom))
    return 0


if __name__ == "__main__":
    sys.exit(main())
