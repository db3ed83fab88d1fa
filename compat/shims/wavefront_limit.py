"""AMD's CDNA GPUs have wavefronts of 64 threads: 32 warps are 2,048 threads, twice what a block may have.

Kernels tuned on NVIDIA hard-code 32 warps. What is compiled for such a GPU is clamped to what a block can hold there,
and Triton launches a kernel with the warps that it was compiled for.
"""

from ..acts import note_acted
from ..errors import say_once
from ..launch import MAX_THREADS_PER_BLOCK, warps_within, with_option
from ..record import Patches, Shim
from ..seams.launches import around_compile


def apply(patches: Patches) -> None:
    # Breakpoint: none upstream; Triton refuses what does not fit, which it should. Delete when no library hard-codes
    # it.
    def compile_within_limit(compile_, src, args, kwargs):
        options = kwargs.get("options") or {}
        asked = options.get("num_warps")
        warp_size = (kwargs["target"] if "target" in kwargs else args[0]).warp_size
        if isinstance(asked, int):
            fits = warps_within(asked, warp_size)
            if fits < asked:
                note_acted(SHIM.name)
                name = getattr(src, "name", "kernel")
                say_once(
                    f"{name}: num_warps={asked} is {asked * warp_size} threads with wavefronts of {warp_size},"
                    f" more than {MAX_THREADS_PER_BLOCK}; launched with num_warps={fits}"
                )
                src = with_option(src, "num_warps", asked, fits)
                kwargs = dict(kwargs, options=dict(options, num_warps=fits))
        return compile_(src, *args, **kwargs)

    around_compile(patches, compile_within_limit)


SHIM = Shim(
    name="wavefront_limit",
    issue="liger-231",
    tier="refused",
    window=">=3.0",
    symptom="Triton Error [HIP]: Code: 1, Messsage: invalid argument",
    link="https://github.com/linkedin/Liger-Kernel/issues/231",
    delete_when="no library hard-codes more than 16 warps for AMD's CDNA",
    apply=apply,
    # Outside num_warps_parameter and the guard, so that both compile with the options of the launch.
    order=90,
)
