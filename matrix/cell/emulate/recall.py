"""Execute identical launches once: their stores are kept as long as the case's other mode may launch the same again.

Where no shim acts, both modes compile the same PTX and launch it on the same numbers. A tuner's other configurations
also launch the neighbouring kernels again. Reading and lowering the PTX is most of a launch's cost in the suite, and
executing it is the rest. Both are skipped when every input of the launch is the same to the last byte.

The inputs are the text of the PTX, the grid, the launch's options, the numbers among its arguments and, for each
pointer, which memory it points into and where. For a memory they are the length, the contents, and the alignment of
the address; the allocator chooses the rest of the address anew in each process. Memory that holds addresses is never
kept, nor is a launch that did not finish. Nothing is looked up while a detector runs.
"""

import contextlib
import ctypes
import hashlib
import json
import os
from pathlib import Path
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import memory
from .arguments import Argument

# Addresses that are alike modulo this are alike to PTX: no access to global memory wants a larger alignment. (A tensor
# map does, and holds an address.)
_ALIGNED = 64
# Bytes that a launch may touch; and bytes that are kept of one case.
MOST = 1 << 24
MOST_KEPT = 1 << 26
_DIGEST = hashlib.sha256().digest_size


class Call(NamedTuple):
    """A launch, identified by its `key`.

    Attributes:
        windows: memory that it may touch.
        before: their contents, before it runs.
    """

    key: str
    windows: Sequence[memory.Window]
    before: List[bytes]


class Recall:
    """Launches of one case, in a folder.

    Args:
        folder: need not exist. The caller removes it.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    def call(
        self,
        text: str,
        grid: Tuple[int, int, int],
        arguments: Sequence[Argument],
        options: Any,
    ) -> Optional[Call]:
        """Return the launch in its present state; None for one that is always executed.

        Args:
            arguments: all of the kernel's, except null pointers at the end.
            options: all else that it depends on, as plain data.
        """
        windows = memory.windows(arguments)
        if sum(window.size for window in windows) > MOST or _overlap(windows):
            return None
        described = _described(arguments, windows)
        if described is None:
            return None
        before = [ctypes.string_at(window.address, window.size) for window in windows]
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
        memories = [(window.size, window.address % _ALIGNED) for window in windows]
        identity = json.dumps([list(grid), options, described, memories], sort_keys=True)
        digest.update(b"\0" + identity.encode() + b"\0")
        for contents in before:
            digest.update(contents)
        return Call(digest.hexdigest(), windows, before)

    def again(self, call: Call) -> bool:
        """Repeat the stores of this launch; return False if they are not known, or their file is incomplete."""
        try:
            data = (self._folder / call.key).read_bytes()
            head, _, contents = data[_DIGEST:].partition(b"\n")
            if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
                return False
            places = json.loads(head)
        except (OSError, ValueError):
            return False
        for place in places:
            window = call.windows[place]
            ctypes.memmove(window.address, contents[: window.size], window.size)
            contents = contents[window.size :]
        return True

    def counted(self, call: Call) -> Any:
        """The counters of its run, as plain data; None if there are none."""
        try:
            return json.loads((self._folder / f"{call.key}.json").read_bytes())
        except (OSError, ValueError):
            return None

    def keep_counted(self, call: Call, counted: Any) -> None:
        """Keep the counters of a launch beside the values that it stored."""
        partial = self._folder / f"{call.key}.{os.getpid()}"
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(counted))
            os.replace(partial, self._folder / f"{call.key}.json")

    def keep(self, call: Call) -> None:
        """Keep the stores of this launch; it is executed again if they cannot be kept."""
        stored = {}
        for place, (window, before) in enumerate(zip(call.windows, call.before)):
            after = ctypes.string_at(window.address, window.size)
            if after != before:
                stored[place] = after
        if any(_holds_address(contents, call.windows) for contents in stored.values()):
            return
        content = json.dumps(list(stored)).encode() + b"\n" + b"".join(stored.values())
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            # A launch's counters are small beside the values that it stored.
            launches = (file for file in self._folder.iterdir() if file.suffix != ".json")
            if len(content) + sum(launch.stat().st_size for launch in launches) > MOST_KEPT:
                return
            partial = self._folder / f"{call.key}.{os.getpid()}"
            try:
                partial.write_bytes(hashlib.sha256(content).digest() + content)
                os.replace(partial, self._folder / call.key)
            finally:
                with contextlib.suppress(OSError):
                    partial.unlink()


def _described(
    arguments: Sequence[Argument], windows: Sequence[memory.Window]
) -> Optional[List[List[Any]]]:
    """Return the arguments as plain data; None if one of them, or memory that it points to, holds an address."""
    # An address among the numbers, or in a table, is another each time.
    if memory.pointed_to(arguments):
        return None
    places = {window[:2]: place for place, window in enumerate(windows)}
    described: List[List[Any]] = []
    for argument in arguments:
        value = argument.value
        if argument.owner is None:
            # The bits, because 0.0 is -0.0, and of NaN there are many.
            plain = isinstance(value, (int, bytes))
            described.append(
                [type(value).__name__, repr(value) if plain else value.tobytes().hex()]
            )
            continue
        window = memory.storage_of(argument.owner)
        if window is None or not isinstance(value, int):
            # A tensor map, with the address in it; or a pointer to memory of no tensor.
            return None
        described.append([places[window[:2]], value - window.address])
    return described


def _overlap(windows: Sequence[memory.Window]) -> bool:
    """Return whether two of them are views of the same memory, which their contents do not show."""
    ordered = sorted(windows)
    return any(
        after.address < before.address + before.size for before, after in zip(ordered, ordered[1:])
    )


def _holds_address(contents: bytes, windows: Sequence[memory.Window]) -> bool:
    """Return whether any eight aligned bytes are an address inside a window."""
    values = np.frombuffer(contents[: len(contents) // 8 * 8], np.uint64)
    return any(
        bool(((values >= window.address) & (values <= window.address + window.size)).any())
        for window in windows
    )
