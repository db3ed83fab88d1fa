"""The virtual GPU on this column's Triton: real launches, real compilers, nothing executed."""

import re
import subprocess
import tempfile
from pathlib import Path

import pytest
import small_kernels
import targets
import torch
import triton

from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.judging.tuning import ConfigLog
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches
from crosswarp.matrix.cell.starting import probe

TENSOR = ("mma.", "wgmma.", "tcgen05.")
HAS_AMD = in_window(">=3.0", triton.__version__)


def launch(kernel, *args, num_warps=4, **options):
    x, y = torch.ones(100), torch.zeros(100)
    kernel[(1,)](x, y, *args, num_warps=num_warps, **options)
    return y


def test_a_launch_compiles_for_real_and_executes_nothing(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        y = launch(small_kernels.scaled, 100, BLOCK=128, num_warps=2)
        return y.sum().item(), launches[0]

    total, noted = in_fork(run)
    assert total == 0
    assert (noted.num_warps, noted.grid) == (2, (1, 1, 1))
    # Read from the cubin, not from a driver.
    assert 8 <= noted.registers <= 255 and noted.stack == 0


def test_instructions_are_counted_by_class(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_80)
        launch(small_kernels.scaled, 100, BLOCK=128, num_warps=2)
        half = [torch.ones(256, dtype=torch.float16) for _ in range(3)]
        small_kernels.product[(1,)](*half)
        return launches

    copy, product = in_fork(run)
    counts = copy.instructions
    # Two values a thread, of which the mask forbids to load both at once.
    assert (counts["load.4"], counts["store.4"]) == (2, 2) and counts["total"] > 4
    assert not any(name.startswith(TENSOR) for name in counts)
    tensor = [name for name in product.instructions if name.startswith(TENSOR)]
    assert tensor and all(name.startswith("mma.m16n8k") for name in tensor)
    assert "scratch" not in {**counts, **product.instructions}
    assert 0 < copy.code < copy.binary


@pytest.mark.triton(">=3.0")
def test_instructions_are_counted_on_amd(in_fork):
    def run():
        virtual_gpu.activate(targets.GFX942)
        half = [torch.ones(256, dtype=torch.float16) for _ in range(3)]
        small_kernels.product[(1,)](*half)
        small_kernels.holds_much[(1,)](torch.ones(16384), torch.ones(16384), num_warps=1)
        return launches

    product, much = in_fork(run)
    assert any(name.startswith("mfma.f32_16x16x16_f16") for name in product.instructions)
    # 256 values a lane, which 512 registers hold.
    assert much.stack == 0 and "scratch" not in much.instructions
    assert much.instructions["load.16"] == 64
    # Before 3.5 it ends at the assembly, which has no size to compare.
    assert (much.binary is None) is in_window("<3.5", triton.__version__)
    # Nor, before 3.2, a note of its size.
    assert (much.code is None) is in_window("<3.2", triton.__version__)


def test_local_memory_is_counted_as_nvidias_own_disassembler_counts_it(in_fork, tmp_path):
    def run():
        virtual_gpu.activate(targets.SM_90)
        small_kernels.holds_much[(1,)](torch.ones(16384), torch.ones(16384), num_warps=1)
        (binary,) = (tmp_path / "triton").glob("*/*.cubin")
        return launches[0], str(binary)

    noted, binary = in_fork(run)
    (nvdisasm,) = Path(triton.__file__).parent.rglob("nvdisasm")
    done = subprocess.run([str(nvdisasm), "-c", binary], capture_output=True, text=True, check=True)
    assert noted.instructions["scratch"] == len(re.findall(r"\b(?:LDL|STL)\b", done.stdout)) > 100
    assert noted.code == 16 * len(re.findall(r"^ +/\*[0-9a-f]{4,}\*/", done.stdout, re.M))
    assert noted.stack > 0


def test_a_compilation_is_timed_and_a_kernel_from_the_cache_is_not(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        launch(small_kernels.scaled, 100, BLOCK=128)
        return launches[0]

    compiled, found = in_fork(run), in_fork(run)
    assert compiled.compile_seconds > 0 and found.compile_seconds is None
    assert compiled.instructions == found.instructions


@pytest.mark.triton(">=3.0")
def test_too_few_arguments_of_a_compiled_kernel_are_refused(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        x, y = torch.ones(100), torch.zeros(100)
        compiled = small_kernels.scaled[(1,)](x, y, 100, BLOCK=128)
        handed = [x, y, 100, 128][: len(compiled.src.signature)]
        launches.clear()
        compiled[(1, 1, 1)](*handed)
        try:
            compiled[(1, 1, 1)](*handed[:-1])
        except TypeError as error:
            return str(error), len(launches)

    message, launched = in_fork(run)
    assert launched == 1
    assert re.search(r"with (\d) arguments was launched with (\d)", message)


def test_an_empty_grid_launches_nothing(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        small_kernels.scaled[(0,)](torch.ones(4), torch.zeros(4), 4, BLOCK=128)
        return len(launches)

    assert in_fork(run) == 0


def test_an_error_in_a_kernel_is_tritons_own_exception(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        try:
            small_kernels.wrong[(1,)](torch.ones(64), torch.zeros(64), BLOCK=64)
        except Exception as error:
            return str(error)

    assert "no_such_function" in in_fork(run)


def test_an_autotuner_visits_every_configuration(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        seen = []
        ConfigLog(
            lambda config: None, lambda config, verdict: seen.append((config, verdict.outcome))
        ).install()
        small_kernels.tuned()[(1,)](torch.ones(100), torch.zeros(100), 100)
        return seen

    seen = in_fork(run)
    assert [outcome for _, outcome in seen] == ["pass"] * 3
    assert [config.split(",")[0] for config, _ in seen] == ["BLOCK=64", "BLOCK=128", "BLOCK=256"]


def test_configurations_of_several_tunings_have_names_of_their_own(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        seen = []
        ConfigLog(lambda config: None, lambda config, verdict: seen.append(config)).install()
        first, second = small_kernels.tuned(), small_kernels.tuned()
        for tuned, size in ((first, 100), (second, 100), (first, 300), (first, 500)):
            tuned[(1,)](torch.ones(size), torch.zeros(size), size)
        return [config for config in seen if "BLOCK=64" in config]

    plain, *others = in_fork(run)
    assert plain.startswith("BLOCK=64,num_stages=")
    assert others == [f"scaled: {plain}", f"{plain} #2", f"{plain} #3"]


@pytest.mark.parametrize("chosen", [True, False])
def test_a_launcher_that_somebody_planted_is_not_loaded(in_fork, tmp_path, monkeypatch, chosen):
    """Where there is no TRITON_CACHE_DIR, too: Triton 2.3.1 loads its launcher from a file."""
    planted = tmp_path / "shared"
    planted.mkdir()
    (planted / "virtual_launcher.py").write_text("raise SystemExit('planted')\n")
    if chosen:
        monkeypatch.setenv("TRITON_CACHE_DIR", str(planted))
    else:
        monkeypatch.delenv("TRITON_CACHE_DIR")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(planted))

    def run():
        virtual_gpu.activate(targets.SM_80)
        launch(small_kernels.scaled, 100, BLOCK=128)
        return len(launches), [path.name for path in planted.glob("*.py")]

    assert in_fork(run) == (1, ["virtual_launcher.py"])


def test_a_target_is_asked_whether_it_compiles(in_fork):
    assert probe.why_not(targets.SM_80, 120) == ""
    why = probe.why_not(targets.SM_100, 120)
    assert bool(why) is in_window("<3.3", triton.__version__), why
    assert bool(probe.why_not(targets.GFX942, 120)) is not HAS_AMD


def test_too_many_threads_are_refused_on_wavefronts_of_64(in_fork):
    if not HAS_AMD:
        assert "no backend for" in probe.why_not(targets.GFX942, 120)
        return

    def run():
        virtual_gpu.activate(targets.GFX942)
        try:
            launch(small_kernels.scaled, 100, BLOCK=128, num_warps=32)
        except Exception as error:
            return str(error)

    assert "2048" in in_fork(run) and "1024" in in_fork(run)
