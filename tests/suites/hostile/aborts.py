import os

from _shared import kernel


def launch(x):
    os.write(2, b"Layout.cpp:12: Layout Layout::of(int) const: Assertion `rank == 2' failed.\n")
    os.abort()


KERNEL = kernel("aborts", launch)
