"""Targets for the tests; the real table is matrix/facts/targets.toml, which Python 3.9 cannot read."""

from crosswarp.matrix.cell.standins.virtual_gpu import Target

SM_80 = Target("sm_80", "cuda", 80, "sm_8", 32, 1024, 166912, 65536, 108)
SM_90 = Target("sm_90", "cuda", 90, "sm_9", 32, 1024, 232448, 65536, 132)
SM_100 = Target("sm_100", "cuda", 100, "sm_10", 32, 1024, 232448, 65536, 148)
GFX90A = Target("gfx90a", "hip", "gfx90a", "gfx9", 64, 1024, 65536, 131072, 110)
GFX942 = Target("gfx942", "hip", "gfx942", "gfx9", 64, 1024, 65536, 131072, 304)
GFX1100 = Target("gfx1100", "hip", "gfx1100", "gfx11", 32, 1024, 65536, 65536, 96)

# sm_80 as a specification hands it over: a row of targets.toml.
SM_80_ROW = {
    "backend": "cuda", "arch": 80, "family": "sm_8", "warp_size": 32, "max_threads_per_block": 1024,
    "shared_memory_optin": 166912, "registers_per_block": 65536, "multiprocessors": 108, "triton": ">=2.3.1",
}  # fmt: skip
