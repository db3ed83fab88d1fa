"""What bare Triton made of a TTGIR is taken over where the shims leave the TTGIR as it was, and only then."""

import importlib
import json
import os
import zlib
from pathlib import Path

import loop_sum_kernels
import pytest
import targets
import torch

from crosswarp import compat
from crosswarp.compat import guard
from crosswarp.compat.record import Concerned, Patches, RewriteAssembly, Shim
from crosswarp.compat.seams import compilation
from crosswarp.matrix.cell.kinds.suite import lowered
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching
from crosswarp.matrix.cell.starting import shimmed_cache

pytestmark = pytest.mark.both_ends

MARK = "// from memory"


@pytest.fixture
def compile_once(in_fork, tmp_path):
    """`compile_once("shimmed")`: what became of a loop that adds up sums of rows, which a shim may concern."""

    def call(
        mode, kernel="plain", target=targets.SM_80, build="", only=None, later=None, **options
    ):
        def child():
            if build:
                of_another_build(build)
            if later is not None:
                act_behind_ttgir(later)
            if mode == "shimmed":
                # Else a kernel that no fix acts on comes whole from Triton's own cache.
                forget()
                compat.install(only=only)
                # As the suite does: else only a compilation under the guard is timed, and few releases guard this one.
                guard.time_all()
                shimmed_cache.use()
            else:
                assert mode == "bare"
            virtual_gpu.activate(target)
            lowered.use(tmp_path / "lowered", keep=mode == "bare")
            x, y, steps = torch.ones(8, 256), torch.zeros(8), torch.zeros(4, 8)
            compiled = getattr(loop_sum_kernels, kernel)[(1,)](x, y, steps, 256, **options)
            text = compiled.asm.get("ptx") or compiled.asm["amdgcn"]
            return MARK in text, launching.noted()[0]["compile_seconds"], compat.acted()

        return in_fork(child)

    return call


def forget():
    """Take away what was compiled without compat, but for what is kept by its TTGIR."""
    for path in Path(os.environ["TRITON_CACHE_DIR"]).glob("*/*"):
        if path.is_file():
            path.unlink()


def act_behind_ttgir(may_act):
    """A fix of PTX that may act on such IR, and never does."""
    shim = Shim(
        *("a fix", "", "", "", "", ""),
        concerns=Concerned(lambda reached: True),
        changes=(RewriteAssembly(lambda ptx: None, may_act),),
    )
    compilation.place(shim, Patches(fix="a fix"))


def of_another_build(build):
    """Triton says so of itself where it keeps its kernels apart."""
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):
        module = importlib.import_module(name)
        if hasattr(module, "triton_key"):
            module.triton_key = lambda: build


def entries(folder):
    return [json.loads(zlib.decompress(path.read_bytes())) for path in folder.glob("*")]


def mark(folder):
    """Make what is kept tell that it was taken."""
    for path in folder.glob("*"):
        told = json.loads(zlib.decompress(path.read_bytes()))
        text = next(told["stages"][name] for name in ("ptx", "amdgcn") if name in told["stages"])
        text["text"] += MARK
        path.write_bytes(zlib.compress(json.dumps(told).encode()))


def test_the_shims_take_from_bare_triton_and_leave_nothing(compile_once, tmp_path):
    taken, seconds, _ = compile_once("shimmed")
    assert not taken and seconds > 0 and entries(tmp_path / "lowered") == []
    taken, seconds, _ = compile_once("bare")
    assert not taken and seconds > 0
    (entry,) = entries(tmp_path / "lowered")
    assert list(entry["stages"]) == ["llir", "ptx", "cubin"] and entry["metadata"]["shared"] >= 0
    mark(tmp_path / "lowered")
    for path in Path(os.environ["TRITON_CACHE_DIR"], "shimmed").glob("*/*.json"):
        path.unlink()
    # Nobody's time: what it took is told where it was compiled.
    assert compile_once("shimmed") == (True, None, [])


def test_a_binary_that_was_taken_is_the_one_that_would_have_been_made(
    in_fork, compile_once, tmp_path
):
    def binary():
        (found,) = Path(os.environ["TRITON_CACHE_DIR"], "shimmed").glob("*/plain.cubin")
        return found.read_bytes()

    compile_once("shimmed")
    own = binary()
    for path in Path(os.environ["TRITON_CACHE_DIR"], "shimmed").glob("*/*"):
        path.unlink() if path.is_file() else None
    compile_once("bare")
    assert compile_once("shimmed")[1] is None and binary() == own


def test_what_a_shim_changes_behind_the_ttgir_is_not_taken(compile_once, tmp_path):
    compile_once("bare")
    mark(tmp_path / "lowered")
    asked = []

    def changes(ir):
        asked.append("tt.reduce" in ir)
        return all(asked)

    assert not compile_once("shimmed", later=changes)[0]
    for path in Path(os.environ["TRITON_CACHE_DIR"], "shimmed").glob("*/*.json"):
        path.unlink()
    assert compile_once("shimmed", later=lambda ir: False)[0]


def test_other_options_and_another_target_have_their_own(compile_once, tmp_path):
    compile_once("bare")
    mark(tmp_path / "lowered")
    assert not compile_once("shimmed", num_warps=8)[0]
    # It is not in the text of the TTGIR.
    assert not compile_once("shimmed", enable_fp_fusion=False)[0]
    assert not compile_once("shimmed", target=targets.SM_90)[0]


@pytest.mark.triton(">=3.0")
def test_another_build_of_the_same_version_has_its_own(compile_once, tmp_path):
    compile_once("bare", build="of Monday")
    mark(tmp_path / "lowered")
    assert not compile_once("bare", build="of Tuesday")[0]
    assert compile_once("shimmed", build="of Monday")[0]


def test_what_a_shim_made_is_not_taken_for_bare_tritons(compile_once, tmp_path):
    # It subtracts: the shim leaves a pass out, which is another TTGIR.
    compile_once("bare", "minus")
    mark(tmp_path / "lowered")
    taken, seconds, acted = compile_once("shimmed", "minus")
    assert "thread_locality" in acted and not taken and seconds > 0


@pytest.mark.parametrize(
    "torn", ["", "{}", '{"metadata": {}, "stages": {"llir": {"text": "a"}}}', "[]"]
)
def test_what_is_torn_is_compiled(compile_once, tmp_path, torn):
    compile_once("bare")
    for path in (tmp_path / "lowered").glob("*"):
        path.write_bytes(zlib.compress(torn.encode()) if torn else b"")
    taken, seconds, _ = compile_once("shimmed")
    assert not taken and seconds > 0


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(compile_once, tmp_path):
    (tmp_path / "lowered").write_text("no folder")
    assert compile_once("bare")[1] > 0 and compile_once("shimmed")[1] > 0


@pytest.mark.triton(">=3.0")
def test_amd_has_it_as_well(compile_once, tmp_path):
    compile_once("bare", target=targets.GFX942)
    mark(tmp_path / "lowered")
    assert compile_once("shimmed", target=targets.GFX942)[:2] == (True, None)
