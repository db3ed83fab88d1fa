"""Machine code that is read without nvdisasm, beside what nvdisasm says of it."""

import emulate_kernels
import loop_sum_kernels
import pytest
import targets
import torch

from crosswarp.matrix.cell.estimate import encodings, machine_code
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching

pytestmark = pytest.mark.both_ends

CHIPS = {"sm_80": targets.SM_80, "sm_90": targets.SM_90}
# Chip -> its kernels, which each test reads and none changes.
COMPILED = {}


@pytest.fixture(params=CHIPS)
def cubins(request, in_fork):
    """Two kernels of a chip, the second with a loop and shuffles."""

    def run():
        found = []
        virtual_gpu.activate(CHIPS[request.param])
        launching.run_with(lambda handed: found.append(handed.function.image))
        x, y = torch.randn(576), torch.zeros(576)
        emulate_kernels.of_all_kinds[(9,)](x, None, y, 1, 1 << 20, 0.5, 7, False, BLOCK=64)
        loop_sum_kernels.plain[(1,)](torch.randn(8, 4096), y, torch.zeros(64, 8), 4096)
        return found

    if request.param not in COMPILED:
        COMPILED[request.param] = in_fork(run)
    return COMPILED[request.param]


def nvdisasm_says(cubin):
    return machine_code.parsed(machine_code.disassembled(cubin))


def test_what_was_learned_is_read_as_nvdisasm_says_it(cubins, tmp_path):
    known = encodings.Encodings(tmp_path / "known")
    for cubin in cubins:
        assert known.read(cubin) is None or cubin is not cubins[0]
        known.learn(cubin, nvdisasm_says(cubin))
    # Another process, which has the file alone.
    later, wide = encodings.Encodings(tmp_path / "known"), []
    for cubin in cubins:
        instructions, labels = nvdisasm_says(cubin)
        read, places = later.read(cubin)
        assert [(one.name, one.line, one.stall, one.waits) for one in read] == [
            (one.name, one.line, one.stall, one.waits) for one in instructions
        ]
        # How wide an access is says how many wavefronts it takes.
        accesses = [
            (one.op, two.op)
            for one, two in zip(read, instructions)
            if two.name in ("LDG", "STG", "LDS", "STS")
        ]
        assert accesses and all(one == two for one, two in accesses)
        wide += [two for _, two in accesses if two.endswith((".64", ".128"))]
        branches = [(one, two) for one, two in zip(read, instructions) if two.name == "BRA"]
        assert len(branches) > (cubin is cubins[1])
        assert all(places[one.target] == labels[two.target] for one, two in branches)
        assert len({one.line for one in read}) > 3
    assert wide


def test_nvdisasm_is_asked_once(cubins, tmp_path, monkeypatch):
    asked = []
    says = machine_code.disassembled
    monkeypatch.setattr(
        machine_code, "disassembled", lambda cubin: asked.append(cubin) or says(cubin)
    )
    known = encodings.Encodings(tmp_path / "known")
    first = machine_code.blocks_of_cubin(cubins[0], known)
    again = machine_code.blocks_of_cubin(cubins[0], encodings.Encodings(tmp_path / "known"))
    assert asked == [cubins[0]]
    assert [block.next for block in first] == [block.next for block in again]


def test_of_a_chip_that_is_read_otherwise_nothing_is_read(cubins, tmp_path):
    instructions, labels = nvdisasm_says(cubins[0])
    known = encodings.Encodings(tmp_path / "known")
    known.learn(cubins[0], (instructions, labels))
    for one in instructions:
        one.line += 1
    known.learn(cubins[0], (instructions, labels))
    assert known.read(cubins[0]) is None
    assert encodings.Encodings(tmp_path / "known").read(cubins[0]) is None


def test_torn_files_are_left_to_nvdisasm(cubins, tmp_path):
    path = tmp_path / "known"
    known = encodings.Encodings(path)
    known.learn(cubins[0], nvdisasm_says(cubins[0]))
    for torn in (b"", b"\x7fELF\x02", cubins[0][:200], cubins[0][: len(cubins[0]) // 2]):
        assert known.read(torn) is None
    rows = path.read_text().splitlines()
    path.write_text("\n".join([*rows[:-1], rows[-1][:5], '{"a": 1}', "[[1e99],2,3]", "7"]))
    # Of the last row a part is gone: nvdisasm is asked again, and nothing is misread.
    assert encodings.Encodings(path).read(cubins[0]) is None
