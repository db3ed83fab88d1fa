"""Probes of launch options: those of CUDA, and those of AMD as `launch.hip`."""

from .probe import Probe

_CUDA = (
    ("num_warps", 8), ("num_stages", 4), ("num_ctas", 2), ("maxnreg", 64), ("ptx_version", 80),
    ("enable_fp_fusion", False), ("launch_cooperative_grid", True), ("launch_pdl", True),
    ("debug", True), ("sanitize_overflow", False), ("ptx_options", "-O1"), ("sched4reg", True),
    ("enable_reflect_ftz", False), ("clc", True), ("enable_warp_specialization", True),
    ("enable_persistent", True), ("optimize_epilogue", True), ("max_num_imprecise_acc_default", 0),
    ("default_dot_input_precision", "ieee"), ("num_buffers_warp_spec", 0),
    ("num_consumer_groups", 0), ("reg_dec_producer", 0), ("reg_inc_consumer", 0),
)  # fmt: skip
_HIP = (
    ("num_warps", 8), ("num_stages", 2), ("waves_per_eu", 2), ("matrix_instr_nonkdim", 16),
    ("kpack", 2), ("enable_fp_fusion", False), ("allow_flush_denorm", True), ("debug", True),
    ("sanitize_overflow", False), ("launch_cooperative_grid", True),
    ("schedule_hint", "local-prefetch"), ("instruction_sched_variant", "none"),
    ("default_dot_input_precision", "ieee"),
)  # fmt: skip

PROBES = tuple(
    Probe(
        f"{prefix}.{name}", "r = tl.dot(a, b)", option=f"{name}={value!r}", form="2d",
        launch={name: value},
    )
    for prefix, options in (("launch", _CUDA), ("launch.hip", _HIP))
    for name, value in options
)  # fmt: skip
