import ctypes

from _shared import kernel

KERNEL = kernel("segfaults", lambda x: ctypes.string_at(0))
