"""torch.compile for a GPU that is not there, in this column's torch: what it writes, and that it is given back."""

import json
import os
from pathlib import Path

import pytest
import targets
import torch

from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

pytestmark = [pytest.mark.triton("!=3.2.*"), pytest.mark.both_ends]


def test_a_program_is_written_undone_and_compiled(in_fork, tmp_path):
    """One child for all of it: importing inductor takes longer than the rest."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path / "inductor")

    def run():
        patches = Patches()
        before = (torch.cuda.is_available, torch.cuda.get_device_properties)
        from crosswarp.matrix.cell.kinds.inductor import compiling, pretending, programs, writing
        from crosswarp.matrix.cell.kinds.inductor.programs.registry import Program

        pretending.pretend(targets.SM_80, patches)
        done = compiling.run(programs.load()["softmax"])
        record = writing.write(tmp_path / "a-torch", "softmax", "sm_80", done)
        name = "rotary_embedding"
        both = writing.write(tmp_path / "b-torch", name, "sm_80", compiling.run(programs.load()[name]))  # fmt: skip
        try:
            # What is computed by nobody's kernel.
            compiling.run(Program("nothing", lambda: (lambda x: x.view(-1), [torch.ones(4)])))
            nothing = "written"
        except compiling.NoKernel as error:
            nothing = str(error)
        patches.undo()
        after = (torch.cuda.is_available, torch.cuda.get_device_properties)
        told = {"torch": torch.__version__, "targets": {}, "digest": ""}
        (tmp_path / "a-torch" / writing.HARVEST).write_text(json.dumps(told))
        return record, both, nothing, before == after

    record, both, nothing, undone = in_fork(run)
    assert (nothing, undone) == ("inductor wrote no Triton kernel for nothing", True)
    # Forward and backward.
    assert [graph["lack"] for graph in record["graphs"]] == ["", ""]
    assert [len(graph["steps"]) for graph in record["graphs"]] == [1, 1]
    # Its two kernels have one name (torch 2.3 to 2.8), and each graph launches its own.
    steps = [step["kernel"] for graph in both["graphs"] for step in graph["steps"]]
    assert steps == [kernel["id"] for kernel in both["kernels"]] and len(steps) == 2
    first = record["kernels"][0]
    assert first["signature"]["in_ptr0"] == "*bf16" and "in_ptr0" in first["divisible"]
    assert record["graphs"][0]["steps"][0]["grids"][0] == [6, 1, 1]
    alone = (tmp_path / "a-torch" / "sm_80" / "softmax" / f"{first['id']}.py").read_text()
    assert "torch._inductor" not in alone and "@triton.jit" in alone

    def replay():
        from crosswarp.matrix.cell.kinds.inductor.replay import kernel
        from crosswarp.matrix.cell.kinds.suite import kernel_check

        virtual_gpu.activate(targets.SM_80)
        found = kernel("softmax", str(tmp_path))
        compiled = [case for case in found.cases if case.lanes == ("compile",)]
        for case in compiled:
            found.launch(**case.options)
        emulated = [case.id for case in found.cases if case.lanes == ("emulate",)]
        return kernel_check.problems(found), len(compiled), len(launches), emulated

    problems, cases, launched, emulated = in_fork(replay)
    version = torch.__version__.partition("+")[0]
    assert (problems, cases >= 2, launched == cases) == ([], True, True)
    assert emulated == [f"{version}-graph0", f"{version}-graph1"]


def test_the_programs_of_every_family_are_loaded():
    from crosswarp.matrix.cell.kinds.inductor import programs

    found = programs.load()
    families = {Path(one.make.__code__.co_filename).stem for one in found.values()}
    assert families == set(programs.FAMILIES) and len(found) >= 30


def test_a_function_of_a_file_needs_its_inputs(tmp_path):
    from crosswarp.matrix.cell.kinds.inductor import asked

    (tmp_path / "mine.py").write_text("def step(x):\n    return x\n")
    with pytest.raises(asked.NoProgram, match="Write a function step_inputs"):
        asked.of_file(str(tmp_path / "mine.py"), "step", False)
    with pytest.raises(asked.NoProgram, match="there is no other in it"):
        asked.of_file(str(tmp_path / "mine.py"), "other", False)


def test_a_layout_that_overlaps_is_kept():
    from crosswarp.matrix.cell.kinds.inductor.moving import twin

    for value in (
        torch.ones(3, 1).expand(3, 4),
        torch.arange(12).view(3, 4).t(),
        torch.ones(5)[2:],
    ):
        made = twin(value)
        assert torch.equal(made, value) and made.stride() == value.stride()
        assert made.data_ptr() != value.data_ptr()
