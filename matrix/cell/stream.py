"""The writer of the cell side: appends whole JSON lines at once, so that no reader ever sees half of two records."""

import os
from pathlib import Path
from typing import Union

from crosswarp.matrix.cell import protocol

# A message is evidence, and a stranger's compiler can print without end.
LONGEST_MESSAGE = 8000


class Stream:
    """The records file of one run, open for appending by many processes."""

    def __init__(self, path: Union[str, Path]):
        self._path = path

    def write(self, *events: protocol.Event) -> None:
        """Append the events at once: a writer that is killed has written all of them or none."""
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            data = memoryview("".join(map(protocol.line, events)).encode("ascii"))
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)


def shortened(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """`text` with its middle left out if it is too long."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
