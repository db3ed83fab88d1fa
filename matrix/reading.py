"""Reads a user's files with limits: any path may be a device, a pipe without a writer, or huge."""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from pathlib import Path

# Bytes: files that people write and commit are far smaller.
MOST = 64_000_000
# Seconds without a byte, after which a pipe counts as having no writer.
PATIENCE = 30.0
_CHUNK = 1 << 20


def data(path: Path, most: int = MOST) -> bytes:
    """The bytes of a file or a pipe.

    Raises:
        OSError: it cannot be read, is a device, has more than `most` bytes, or is a pipe that stays silent.
    """
    # Does not wait for a pipe's other end to be opened.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        # /dev/null is an empty file to everybody.
        if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) and not os.path.samefile(path, os.devnull):
            raise OSError(errno.EINVAL, "a device, and no file", str(path))
        content = bytearray()
        while chunk := _next(handle, path):
            content += chunk
            if len(content) > most:
                raise OSError(errno.EFBIG, f"larger than {most // 1_000_000} MB", str(path))
        return bytes(content)
    finally:
        os.close(handle)


def text(path: Path, most: int = MOST) -> str:
    """The text of a file in UTF-8, with the ends of its lines as "\\n". Raises UnicodeDecodeError, and as `data`."""
    content = data(path, most).decode("utf-8")
    return content.replace("\r\n", "\n").replace("\r", "\n")


def _next(handle: int, path: Path) -> bytes:
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            return os.read(handle, _CHUNK)
        except BlockingIOError:
            if not select.select([handle], [], [], max(ends - time.monotonic(), 0))[0]:
                raise OSError(errno.ETIMEDOUT, "a pipe that nobody writes to", str(path)) from None
