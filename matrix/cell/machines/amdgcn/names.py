"""Names of instructions: encodings that a name ends in, and newer names of the same instruction."""

import re

_ENCODING = re.compile(r"(_e32|_e64_dpp|_e64|_dpp8|_dpp|_sdwa)$")

# Newer name -> the name under which the families know it.
ALIASES = {
    "v_add_nc_u32": "v_add_u32", "v_sub_nc_u32": "v_sub_u32", "v_subrev_nc_u32": "v_subrev_u32",
    "v_add_nc_i32": "v_add_i32", "v_sub_nc_i32": "v_sub_i32", "v_add_nc_u16": "v_add_u16",
    "v_sub_nc_u16": "v_sub_u16", "v_add_nc_i16": "v_add_i16", "v_sub_nc_i16": "v_sub_i16",
    "v_cvt_pk_rtz_f16_f32": "v_cvt_pkrtz_f16_f32", "v_max_num_f32": "v_max_f32", "v_min_num_f32": "v_min_f32",
    "v_max_num_f16": "v_max_f16", "v_min_num_f16": "v_min_f16", "v_max_num_f64": "v_max_f64",
    "v_min_num_f64": "v_min_f64", "v_max3_num_f32": "v_max3_f32", "v_min3_num_f32": "v_min3_f32",
    "v_max3_num_f16": "v_max3_f16", "v_min3_num_f16": "v_min3_f16", "v_med3_num_f32": "v_med3_f32",
    "v_pk_max_num_f16": "v_pk_max_f16", "v_pk_min_num_f16": "v_pk_min_f16", "v_add_co_ci_u32": "v_addc_co_u32",
    "v_sub_co_ci_u32": "v_subb_co_u32", "v_subrev_co_ci_u32": "v_subbrev_co_u32",
    "v_mad_co_u64_u32": "v_mad_u64_u32", "v_mad_co_i64_i32": "v_mad_i64_i32",
    "v_cvt_flr_i32_f32": "v_cvt_floor_i32_f32", "v_cvt_nearest_i32_f32": "v_cvt_rpi_i32_f32",
    "s_add_co_u32": "s_add_u32", "s_add_co_ci_u32": "s_addc_u32", "s_sub_co_u32": "s_sub_u32",
    "s_sub_co_ci_u32": "s_subb_u32", "s_add_co_i32": "s_add_i32", "s_sub_co_i32": "s_sub_i32",
    "s_addk_co_i32": "s_addk_i32", "s_and_not1_b32": "s_andn2_b32", "s_and_not1_b64": "s_andn2_b64",
    "s_or_not1_b32": "s_orn2_b32", "s_or_not1_b64": "s_orn2_b64", "s_ctz_i32_b32": "s_ff1_i32_b32",
    "s_ctz_i32_b64": "s_ff1_i32_b64", "s_clz_i32_u32": "s_flbit_i32_b32", "s_clz_i32_u64": "s_flbit_i32_b64",
    "s_cls_i32": "s_flbit_i32", "v_ctz_i32_b32": "v_ffbl_b32", "v_clz_i32_u32": "v_ffbh_u32",
    "v_cls_i32": "v_ffbh_i32", "s_and_not1_saveexec_b32": "s_andn2_saveexec_b32",
    "s_and_not1_saveexec_b64": "s_andn2_saveexec_b64", "s_or_not1_saveexec_b32": "s_orn2_saveexec_b32",
    "s_or_not1_saveexec_b64": "s_orn2_saveexec_b64", "v_accvgpr_read": "v_accvgpr_read_b32",
    "v_accvgpr_write": "v_accvgpr_write_b32", "v_minmax_f32": "v_minmax_num_f32",
    "v_maxmin_f32": "v_maxmin_num_f32", "v_minmax_f16": "v_minmax_num_f16", "v_maxmin_f16": "v_maxmin_num_f16",
    "v_med3_num_f16": "v_med3_f16", "v_mad_legacy_f16": "v_mad_f16", "s_max_f32": "s_max_num_f32",
    "s_min_f32": "s_min_num_f32", "s_max_f16": "s_max_num_f16", "s_min_f16": "s_min_num_f16",
    "s_cls_i32_i64": "s_flbit_i32_i64", "v_mad_mix_f32": "v_fma_mix_f32", "v_mad_mixlo_f16": "v_fma_mixlo_f16",
    "v_mad_mixhi_f16": "v_fma_mixhi_f16",
}  # fmt: skip

# Modifiers that change no value here: hints to caches, and how far an access must be visible.
HINTS = {"sc0", "sc1", "nt", "glc", "slc", "dlc", "th", "scope", "nv"}

_READS_SCC = ("s_addc_u32", "s_subb_u32", "s_cselect", "s_cbranch_scc", "s_cmov")
_LEAVES_SCC = (
    "s_mov", "s_mul", "s_cselect", "s_load", "s_store", "s_buffer", "s_wait", "s_nop", "s_barrier", "s_branch",
    "s_cbranch", "s_endpgm", "s_pack", "s_bfm", "s_brev", "s_ff1", "s_flbit_i32", "s_sext", "s_bitset", "s_getpc",
    "s_setpc", "s_swappc", "s_cmov", "s_sleep", "s_setprio", "s_clause", "s_delay", "s_dcache", "s_sendmsg",
    "s_sched", "s_setreg", "s_getreg", "s_inst", "s_set", "s_code", "s_fma", "s_add_f", "s_sub_f", "s_max_num",
    "s_min_num", "s_maximum", "s_minimum", "s_cvt", "s_icache", "s_add_nc", "s_sub_nc", "s_trunc", "s_floor",
    "s_ceil", "s_rndne", "s_prefetch", "s_memtime", "s_memrealtime",
)  # fmt: skip


def base(name: str) -> str:
    """The name under which a family registers an instruction: without encoding, by its older name."""
    short = _ENCODING.sub("", name)
    return ALIASES.get(short, short)


def reads_scc(name: str) -> bool:
    return name.startswith(_READS_SCC)


def writes_scc(name: str) -> bool:
    """Whether it may write SCC, by its base name."""
    return name.startswith("s_") and not name.startswith(_LEAVES_SCC)
