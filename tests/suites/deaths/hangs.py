import _kinds
from _kernel import kernel

KERNEL = kernel("hangs", sorted(_kinds.HANGS))
