import _kinds
from _kernel import kernel

KERNEL = kernel("eats", sorted(_kinds.EATS))
