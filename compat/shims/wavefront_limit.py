"""AMD's CDNA GPUs have wavefronts of 64 threads: 32 warps are 2,048 threads, twice what a block may have.

Kernels tuned on NVIDIA hard-code 32 warps. The launch is clamped to what the hardware at hand can hold; on hardware
with 32 threads in a warp this shim takes itself away at the first launch.
"""

from ..errors import say_once
from ..launch import MAX_THREADS_PER_BLOCK, warps_within
from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    from triton.runtime.jit import JITFunction

    from ..install import note_acted

    run = JITFunction.run
    warp_size = None

    # Symptom: Triton Error [HIP]: Code: 1, Messsage: invalid argument; since Triton 3.4: out of resource: threads,
    # Required: 2048, Hardware limit: 1024. Window: every Triton with an AMD backend (3.0 and later), warps of 64.
    # Link: linkedin/Liger-Kernel#231, triton-lang/triton#4128.
    # Breakpoint: none upstream; Triton refuses what does not fit, which it should. Delete when no library
    # hard-codes it.
    def run_within_limit(self, *args, **kwargs):
        nonlocal warp_size
        if warp_size is None:
            warp_size = _warp_size()
            if (
                warp_size * 32 <= MAX_THREADS_PER_BLOCK
                and vars(JITFunction).get("run") is run_within_limit
            ):
                patches.undo()
        asked = kwargs.get("num_warps")
        if isinstance(asked, int):
            fits = warps_within(asked, warp_size)
            if fits < asked:
                note_acted(SHIM.name)
                name = getattr(self, "__name__", "kernel")
                say_once(
                    f"{name}: num_warps={asked} is {asked * warp_size} threads with wavefronts of {warp_size},"
                    f" more than {MAX_THREADS_PER_BLOCK}; launched with num_warps={fits}"
                )
                kwargs["num_warps"] = fits
        return run(self, *args, **kwargs)

    patches.set(JITFunction, "run", run_within_limit)


def _warp_size() -> int:
    from triton.runtime import driver

    return driver.active.get_current_target().warp_size


SHIM = Shim(
    name="wavefront_limit",
    issue="liger-231",
    window=">=3.0",
    symptom="Triton Error [HIP]: Code: 1, Messsage: invalid argument",
    link="https://github.com/linkedin/Liger-Kernel/issues/231",
    delete_when="no library hard-codes more than 16 warps for AMD's CDNA",
    apply=apply,
    # Outermost, so that it can take itself away.
    order=90,
)
