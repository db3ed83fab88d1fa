import os

from _shared import kernel

KERNEL = kernel("exits", lambda x: os._exit(0))
