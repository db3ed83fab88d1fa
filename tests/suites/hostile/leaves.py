import sys

from _shared import kernel

KERNEL = kernel("leaves", lambda x: sys.exit(0))
