"""`triton.testing.do_bench` lost fast_flush and device_type in Triton 3.2: taken again, and without effect.

fast_flush=True is what it does since; the device is that of the active driver.
"""

import functools

from ..acts import note_acted
from ..record import Patches, Shim

DROPPED = ("fast_flush", "device_type")


def apply(patches: Patches) -> None:
    import triton.testing as testing

    do_bench = testing.do_bench

    # Breakpoint: none upstream; delete when no library passes it.
    @functools.wraps(do_bench)
    def do_bench_taking_both(*args, **kwargs):
        dropped = [name for name in DROPPED if name in kwargs]
        for name in dropped:
            del kwargs[name]
        # It was once the sixth argument by position; now that is return_mode, a string.
        if len(args) > 5 and isinstance(args[5], bool):
            dropped.append("fast_flush")
            args = args[:5] + args[6:]
        if dropped:
            note_acted(SHIM.name)
        return do_bench(*args, **kwargs)

    patches.set(testing, "do_bench", do_bench_taking_both)


SHIM = Shim(
    name="do_bench_arguments",
    issue="triton-4485",
    tier="names",
    window=">=3.2",
    symptom="do_bench() got an unexpected keyword argument 'fast_flush'",
    link="https://github.com/triton-lang/triton/pull/4485",
    delete_when="no library passes fast_flush or device_type",
    apply=apply,
)
