"""Options that another Triton or backend knows are dropped, once and aloud; a typo fails in Triton's own words."""

import warnings

import pytest
import small_kernels
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

HAS_AMD = in_window(">=3.0", triton.__version__)
REFUSED = "specified but unrecognised" if HAS_AMD else "unexpected keyword argument"


def attempt(**options):
    """num_warps of the launch and what was said, or the text of what it raised."""
    launches.clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, 64, **options)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    told = [str(w.message) for w in said if issubclass(w.category, compat.CompatWarning)]
    return launches[-1].num_warps, told


@pytest.mark.parametrize("target", [targets.SM_80, targets.GFX942] if HAS_AMD else [targets.SM_80])
def test_foreign_options_are_dropped_aloud_and_a_typo_is_not(in_fork, target):
    def run():
        virtual_gpu.activate(target)
        bare = attempt(threads_per_warp=32)
        compat.install()
        return (
            bare,
            attempt(threads_per_warp=32, num_warps=2),
            attempt(threads_per_warp=32, num_warps=2),
            attempt(thread_per_warp=32),
            attempt(launch_cooperative_grid=True),
            attempt(grf_mode=None, num_warps=8),
            compat.acted(),
        )

    bare, first, second, typo, meaning, neutral, acted = in_fork(run)
    assert REFUSED in bare and REFUSED in typo
    assert (
        first[0] == 2
        and len(first[1]) == 1
        and "threads_per_warp=32 is not an option" in first[1][0]
    )
    assert second == (2, [])
    if in_window(">=3.3", triton.__version__):
        assert meaning[0] == 4
    else:
        assert REFUSED in meaning
    assert neutral == (8, [])
    assert acted == ["unknown_options"]


def test_a_kernels_own_parameter_of_that_name_is_its_own(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_80)
        compat.install()
        kernel = small_kernels.declares_waves_per_eu
        compiled = [
            kernel[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64, waves_per_eu=waves)
            for waves in (2, 3)
        ]
        return compiled[0].asm["ttir"] != compiled[1].asm["ttir"], compat.acted()

    assert in_fork(run) == (True, [])


def test_config_takes_the_arguments_of_all_versions(in_fork):
    def run():
        compat.install()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            config = triton.Config(
                {"BLOCK": 64},
                num_warps=8,
                num_consumer_groups=0,
                enable_warp_specialization=False,
                ir_override=None,
                maxnreg=None,
            )
        with pytest.raises(TypeError, match="num_warp"):
            triton.Config({}, num_warp=8)
        return config.num_warps, len(said)

    assert in_fork(run) == (8, 0)
