"""A kernel may declare a parameter that is also a launch option (``num_warps: tl.constexpr``).

Triton 2.3.1 takes every launch option out of the keywords before it binds them to the kernel's signature, so the
kernel never gets what the caller passed.
"""

from ..acts import note_acted
from ..launch import by_position
from ..record import Patches, Shim
from ..seams.runs import around_run


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.0 binds the signature first; delete with the last column before it.
    def run_binding_first(run, kernel, args, kwargs):
        if RESERVED.intersection(kwargs, kernel.arg_names):
            call = by_position(kernel.signature, args, kwargs, RESERVED)
            if call is not None:
                note_acted(SHIM.name)
                args, kwargs = call
        return run(*args, **kwargs)

    around_run(patches, RESERVED, run_binding_first)


# The fields of CUDAOptions in 2.3.1, which its `run` takes out of the keywords.
RESERVED = frozenset(
    {
        "allow_fp8e4nv",
        "cluster_dims",
        "debug",
        "enable_fp_fusion",
        "enable_persistent",
        "enable_warp_specialization",
        "extern_libs",
        "max_num_imprecise_acc_default",
        "num_ctas",
        "num_stages",
        "num_warps",
        "optimize_epilogue",
        "ptx_version",
    }
)

SHIM = Shim(
    name="reserved_options",
    issue="liger-215",
    tier="names",
    window="<3.0",
    symptom="TypeError: missing a required argument: 'num_warps'",
    link="https://github.com/linkedin/Liger-Kernel/issues/215",
    delete_when="no column before Triton 3.0 is left",
    apply=apply,
)
