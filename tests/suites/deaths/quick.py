import _kinds
from _kernel import kernel

_SLOW = _kinds.HANGS | _kinds.EATS | _kinds.KILLERS
KERNEL = kernel("quick", [kind for kind in _kinds.EXPECTED if kind not in _SLOW])
