"""`crosswarp run --watch`: the same run again, whenever a file of the suite or of the shims has changed.

Each run is a separate process, because the host reads the shims too, and takes over what did not change. What has
changed while a run lasted counts when it has ended: the files are looked at, and the watcher only says when.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from crosswarp import compat, kernels
from crosswarp.matrix.errors import EXIT_CANCELLED, UsageError
from crosswarp.matrix.running.signals import terminated_as_interrupted
from crosswarp.reports.commands import dispatched

# Seconds for a cancelled run to end cleanly.
_GRACE = 30.0
# Milliseconds between two checks of the files, whatever the watcher reports.
_LOOK = 1000


def add_watch(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--watch",
        action="store_true",
        help="run again whenever a file of the suite or of crosswarp's shims has changed, which runs what the change "
        "reaches; until Ctrl-C",
    )


def check(options: argparse.Namespace) -> None:
    """Raises UsageError where what was asked for ends with one run."""
    wrong = [
        f"--{name.replace('_', '-')}"
        for name in ("on", "shard", "dry_run", "fresh")
        if options.watch and getattr(options, name)
    ]
    if wrong:
        raise UsageError(f"--watch runs again what has changed. Leave out {', '.join(wrong)}.")


def run(suite: Path | None, argv: Sequence[str]) -> int:
    try:
        import watchfiles
    except ImportError as error:
        raise UsageError(f'--watch: {error}. Install it: pip install "crosswarp[watch]"') from None
    folders = [Path(kernels.__file__).parent if suite is None else suite]
    folders.append(Path(compat.__file__).parent)
    # argparse accepts any unambiguous prefix of a long option.
    words = [word for word in argv if not ("--watch".startswith(word) and word.startswith("--w"))]
    try:
        with terminated_as_interrupted():
            while True:
                seen = _look(folders)
                _once([sys.executable, *dispatched.COMMAND, *words])
                _say(
                    f"watching {', '.join(map(str, folders))}: edit a file to run again, Ctrl-C to end"
                )
                watched = watchfiles.watch(
                    *folders, watch_filter=watchfiles.PythonFilter(), yield_on_timeout=True,
                    rust_timeout=_LOOK, raise_interrupt=True,
                )  # fmt: skip
                while _look(folders) == seen:
                    next(watched)
    except KeyboardInterrupt:
        _say("no longer watching")
        return EXIT_CANCELLED


def _once(command: Sequence[str]) -> None:
    """One run, which says itself how it ended. Ctrl-C reaches it too, where it brings what it has to a good end."""
    with subprocess.Popen(command) as running:
        try:
            running.wait()
        except KeyboardInterrupt:
            running.terminate()
            try:
                running.wait(_GRACE)
            except subprocess.TimeoutExpired:
                running.kill()
            raise


def _look(folders: Sequence[Path]) -> dict[str, tuple[int, int]]:
    seen = {}
    for folder in folders:
        for path in folder.rglob("*.py"):
            try:
                stat = path.stat()
            except OSError:
                # An editor has just replaced it.
                continue
            seen[str(path)] = (stat.st_mtime_ns, stat.st_size)
    return seen


def _say(text: str) -> None:
    print(f"crosswarp: {text}", file=sys.stderr, flush=True)
