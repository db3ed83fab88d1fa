"""Which threads an access is of."""

from typing import Any, Tuple

import numpy as np


def of_threads(machine: Any, flat: Any, condition: Any) -> Tuple[Any, Any, Any]:
    """(CTA, thread, value of `flat`) of each thread where `condition` holds; of all for None. Both may be broadcast."""
    shape = (machine.ctas, machine.threads)
    flat = np.broadcast_to(flat, shape)
    if condition is None:
        cta, thread = np.divmod(np.arange(flat.size), machine.threads)
        return cta, thread, flat.reshape(-1)
    cta, thread = np.nonzero(np.broadcast_to(condition, shape))
    return cta, thread, flat[cta, thread]
