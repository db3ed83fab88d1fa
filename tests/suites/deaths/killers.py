import _kinds
from _kernel import kernel

KERNEL = kernel("killers", sorted(_kinds.KILLERS))
