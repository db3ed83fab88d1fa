"""The lane emulate in this column: what Triton hands over, what is executed, and how a cell is told."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import emulate_kernels
import pytest
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.kernels.case import Case, Kernel
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.emulate import memory
from crosswarp.matrix.cell.emulate.arguments import Argument
from crosswarp.matrix.cell.emulate.tensor_map import tensor_map
from crosswarp.matrix.cell.judging.verdict import of_error
from crosswarp.matrix.cell.kinds.suite import in_child
from crosswarp.matrix.cell.machines import ptx
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching
from crosswarp.matrix.cell.starting import warm

EMULATED = SimpleNamespace(lane="emulate", target="sm_80", mode="bare")
SPEC = AskedSuite(time_limit=100)


def line_of(text):
    """`emulate_kernels.py:31`: where this stands in it."""
    path = Path(emulate_kernels.__file__)
    lines = path.read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if text in line)
    return f"{path.name}:{number}"


def machine(target=targets.SM_80):
    virtual_gpu.activate(target)
    made = emulate.Machine(100)
    launching.run_with(made)
    return made


def test_arguments_of_all_kinds_arrive(in_fork):
    """Those that Triton specialises (to 1, to None, to multiples of 16) have no parameter, or another type."""

    def run():
        machine()
        found = []
        for one, big, flag in ((1, 1 << 40, True), (2, 16, False), (1, -(1 << 40), False)):
            x, y = torch.randn(300), torch.zeros(100)
            emulate_kernels.of_all_kinds[(2,)](x, None, y, one, 100, 0.5, big, flag, BLOCK=64)
            expected = x[: 100 * one : one] * 0.5 + float(big) + float(flag)
            found.append(torch.allclose(y, expected))
        return found

    assert in_fork(run) == [True, True, True]


@pytest.mark.triton(">=3.3")
def test_a_tuple_is_its_members(in_fork):
    def run():
        machine()
        found = []
        for factor in (1, 7):
            x, y = torch.randn(50), torch.zeros(50)
            emulate_kernels.of_a_tuple[(1,)]((x, factor), y, 50, BLOCK=64)
            found.append(torch.allclose(y, x * factor))
        return found

    assert in_fork(run) == [True, True]


@pytest.mark.triton(">=3.4")
@pytest.mark.parametrize("target", [targets.SM_80, targets.SM_90], ids=["apart", "map"])
def test_a_descriptor_of_the_host_is_taken_apart_or_made_a_tensor_map(in_fork, target):
    def run():
        from triton.tools.tensor_descriptor import TensorDescriptor

        machine(target)
        x, y = torch.randn(24, 40), torch.full((16, 32), float("nan"))
        made = TensorDescriptor(x, [24, 24], [40, 1], [16, 32])
        emulate_kernels.of_a_descriptor[(1,)](made, y, ROWS=16, COLUMNS=32)
        expected = torch.zeros(16, 32)
        expected[:8, :24] = x[16:, :24]
        return torch.equal(y, expected)

    assert in_fork(run)


def test_a_map_of_another_maker_is_unsupported():
    """Triton's metadata of a descriptor for gfx1250."""
    with pytest.raises(ptx.Unsupported, match="tensor map"):
        tensor_map(None, {"elem_bits": 16, "block_size": [16, 32]})


def test_tensors_in_a_table_of_pointers_may_be_read(in_fork):
    def run():
        machine()
        rows = [torch.randn(64) for _ in range(3)]
        table = torch.tensor([row.data_ptr() for row in rows])
        y = torch.zeros(3, 64)
        emulate_kernels.through_a_table[(3,)](table, y, BLOCK=64)
        return torch.equal(y, torch.stack(rows))

    assert in_fork(run)


def test_a_store_out_of_bounds_is_a_fault_that_names_line_and_tensor(in_fork):
    def run():
        made = machine()
        # 16 floats are all of the storage
        x, y = torch.ones(17), torch.zeros(16)
        try:
            emulate_kernels.one_too_far[(1,)](x, y, 16, BLOCK=64)
        except RuntimeError as error:
            first = of_error(error)
        try:
            emulate_kernels.plus_one[(1,)](x, y, 16, BLOCK=64)
        except RuntimeError as error:
            return vars(first), vars(of_error(error)), made.executed
        return vars(first), None, made.executed

    first, after, executed = in_fork(run)
    assert (first["outcome"], first["reason"], first["phase"]) == ("crash", "fault", "execute")
    assert first["fingerprint"] == "fault: out-of-bounds access in one_too_far"
    assert line_of("at < n + 1") in first["message"] and "y" in first["message"]
    # a device would have lost its context: nothing after it is executed
    assert after["fingerprint"] == first["fingerprint"] and executed == 0


def kernel(launch, reference=lambda x: {"y": x * 2}, size=100):
    return Kernel(
        name="made",
        cases=(Case("c", "fp32", {"n": size}),),
        inputs=lambda case, where, generator: {"x": torch.randn(size, generator=generator)},
        launch=launch,
        reference=reference,
        tolerance={"fp32": 1e-6},
    )


def judged(made, mode="bare"):
    """Verdict on the whole and on each configuration: outcome, reason, message."""
    if mode == "shimmed":
        compat.install()
    told = {}
    spec = replace(SPEC, targets={"sm_80": vars(targets.SM_80)})
    in_child._prepare_lane(EMULATED, spec)
    log = in_child._watched(
        EMULATED, spec, lambda name: None, lambda name, verdict: told.update({name: verdict})
    )
    whole = in_child._launch(EMULATED, spec, made, made.cases[0], log)
    short = {name: (one.outcome, one.reason, one.message) for name, one in told.items()}
    fatal = log.fatal.reason if log.fatal else ""
    return (whole.outcome, whole.reason, whole.message), short, fatal, whole.resources


def tuned(function, configs):
    # Triton 3.2 asks for a driver to decorate.
    virtual_gpu.activate(targets.SM_80)
    return triton.autotune(
        configs=[triton.Config(values, num_warps=4) for values in configs], key=["n"]
    )(function)


def test_numbers_are_compared_and_counted(in_fork):
    def run():
        def launch(x):
            y = torch.empty_like(x)
            emulate_kernels.times[(2,)](x, y, 100, BLOCK=64, FACTOR=2)
            return {"y": y}

        return judged(kernel(launch))

    whole, configs, fatal, resources = in_fork(run)
    assert whole[0] == "pass" and configs == {} and not fatal
    assert resources["emulated"]["launches"] == 1 and resources["emulated"]["instructions"] > 256
    assert resources["error"]["y"] == 0


def test_wrong_numbers_lead_to_the_line_that_stored_them(in_fork):
    def run():
        def launch(x):
            y = torch.empty_like(x)
            emulate_kernels.times[(2,)](x, y, 100, BLOCK=64, FACTOR=3)
            return {"y": y}

        def unwritten(x):
            y = torch.empty_like(x)
            emulate_kernels.half_of_it[(1,)](x, y, 100, BLOCK=128)
            return {"y": y}

        return judged(kernel(launch))[0], judged(kernel(unwritten))[0]

    wrong, unwritten = in_fork(run)
    assert wrong[:2] == ("mismatch", "wrong")
    assert f"was stored by {line_of('* FACTOR')} (times)" in wrong[2]
    assert unwritten[:2] == ("mismatch", "nan")
    assert "y: no launch stored to element [50]" in unwritten[2]


def test_every_configuration_is_executed_and_compared(in_fork):
    def run():
        function = tuned(
            emulate_kernels.times,
            [{"BLOCK": 64, "FACTOR": 2}, {"BLOCK": 128, "FACTOR": 3}, {"BLOCK": 32, "FACTOR": 2}],
        )

        def launch(x):
            y = torch.empty_like(x)
            function[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100)
            return {"y": y}

        return judged(kernel(launch))

    whole, configs, fatal, _ = in_fork(run)
    # the tuner keeps the first, which is right
    assert whole[0] == "pass" and not fatal
    assert {name.split(",")[0]: told[0] for name, told in configs.items()} == {
        "BLOCK=64": "pass", "BLOCK=128": "mismatch", "BLOCK=32": "pass",
    }  # fmt: skip


def test_a_tuner_that_is_made_anew_each_time_is_asked_all_the_same(in_fork):
    def run():
        def launch(x):
            function = tuned(
                emulate_kernels.times, [{"BLOCK": 64, "FACTOR": 2}, {"BLOCK": 128, "FACTOR": 3}]
            )
            y = torch.empty_like(x)
            function[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100)
            return {"y": y}

        return judged(kernel(launch))

    whole, configs, _, _ = in_fork(run)
    assert whole[0] == "pass"
    assert sorted(told[0] for told in configs.values()) == ["mismatch", "pass"]


def test_a_launch_that_fails_as_a_whole_says_nothing_of_its_configurations(in_fork):
    def run():
        function = tuned(emulate_kernels.plus_one, [{"BLOCK": 64}, {"BLOCK": 32}])

        def launch(x):
            function[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, x.clone(), 100)
            raise RuntimeError("not what I wanted")

        return judged(kernel(launch))

    whole, configs, _, _ = in_fork(run)
    assert whole[:2] == ("api-error", "RuntimeError") and configs == {}


@pytest.mark.triton(">=3.2")
def test_every_go_is_measured_as_the_launcher_wants(in_fork):
    def run():
        calls = []

        def do_bench(call, quantiles=None, **more):
            call()
            calls.append(1)
            return [1.0] * len(quantiles)

        def launch(x):
            function = tuned(
                emulate_kernels.times, [{"BLOCK": 64, "FACTOR": 3}, {"BLOCK": 32, "FACTOR": 2}]
            )
            function.do_bench = do_bench
            y = torch.empty_like(x)
            calls.clear()
            function[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100)
            if len(calls) != 2:
                raise RuntimeError(f"measured {len(calls)} times")
            return {"y": y}

        return judged(kernel(launch))

    whole, configs, _, _ = in_fork(run)
    assert whole[0] == "mismatch"
    assert sorted(told[0] for told in configs.values()) == ["mismatch", "pass"]


def test_of_two_tuners_the_wrong_configuration_is_told_alone(in_fork):
    def run():
        first = tuned(
            emulate_kernels.times, [{"BLOCK": 64, "FACTOR": 2}, {"BLOCK": 32, "FACTOR": 5}]
        )
        second = tuned(emulate_kernels.plus_one, [{"BLOCK": 64}, {"BLOCK": 16}])

        def launch(x):
            y, z = torch.empty_like(x), torch.empty_like(x)
            first[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100)
            second[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](y, z, 100)
            return {"z": z}

        return judged(kernel(launch, lambda x: {"z": x * 2 + 1}))

    whole, configs, _, _ = in_fork(run)
    assert whole[0] == "pass" and len(configs) == 4
    assert [name for name, told in configs.items() if told[0] != "pass"] == [
        "BLOCK=32,FACTOR=5,num_stages=3,num_warps=4"
        if "BLOCK=32,FACTOR=5,num_stages=3,num_warps=4" in configs
        else "BLOCK=32,FACTOR=5,num_stages=2,num_warps=4"
    ]


def test_a_configuration_that_faults_would_end_the_tuning(in_fork):
    def run():
        function = tuned(emulate_kernels.one_too_far, [{"BLOCK": 16}, {"BLOCK": 32}])

        def launch(x):
            y = torch.empty_like(x)
            # with a block of 16 nothing lies behind the last element
            function[(1,)](x, y, 16)
            return {"y": y}

        return judged(kernel(launch, lambda x: {"y": x}, size=16))

    whole, configs, fatal, _ = in_fork(run)
    assert whole[0] == "pass" and fatal == "fault"
    assert sorted(told[:2] for told in configs.values()) == [("crash", "fault"), ("pass", "")]


def test_what_a_launcher_swallows_is_told_all_the_same(in_fork):
    def run():
        def launch(x):
            y = torch.empty_like(x)
            try:
                emulate_kernels.one_too_far[(1,)](x, y, 16, BLOCK=64)
            except RuntimeError:
                return {"y": x * 2}

        return judged(kernel(launch, size=16))

    whole, _, _, resources = in_fork(run)
    assert whole[:2] == ("crash", "fault") and resources["emulated"]["launches"] == 0


def test_an_unknown_instruction_is_unsupported_by_its_name(in_fork):
    def run():
        def launch(x):
            y = torch.empty_like(x)
            emulate_kernels.of_no_triton[(1,)](x, y, BLOCK=64)
            return {"y": y}

        return judged(kernel(launch, size=64))

    whole = in_fork(run)[0]
    assert whole[:2] == ("unsupported", "ptx: vmax4.u32.u32.u32")


def test_a_launch_that_takes_too_long_says_where(in_fork, monkeypatch):
    monkeypatch.setitem(globals(), "SPEC", replace(SPEC, time_limit=1e-3))

    def run():
        def launch(x):
            y = torch.empty_like(x)
            # The machine has a tenth of a second at least.
            emulate_kernels.times[(1_000_000,)](x, y, 100, BLOCK=64, FACTOR=2)
            return {"y": y}

        return judged(kernel(launch))

    whole = in_fork(run)[0]
    assert whole[0] == "timeout" and "--time-limit" in whole[2] and "times" in whole[2]


def test_the_shims_stand_in_front_of_it(in_fork):
    def run():
        function = tuned(
            emulate_kernels.times, [{"BLOCK": 64, "FACTOR": 2}, {"BLOCK": 32, "FACTOR": 3}]
        )

        def launch(x):
            y = torch.empty_like(x)
            function[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100)
            return {"y": y}

        return judged(kernel(launch), "shimmed")

    whole, configs, _, _ = in_fork(run)
    assert whole[0] == "pass"
    assert sorted(told[0] for told in configs.values()) == ["mismatch", "pass"]


def test_a_launch_opens_its_arguments_and_nothing_else():
    x, other = torch.ones(8), torch.ones(8)
    found = memory.windows([Argument("x", x.data_ptr(), x), Argument("n", 5000)])
    assert [(w.address, w.size, w.name) for w in found] == [(x.data_ptr(), 32, "x")]
    view = other[4:]
    found = memory.windows([Argument("view", view.data_ptr(), view)])
    assert [(w.address, w.size) for w in found] == [(other.data_ptr(), 32)]
    # an address that is handed over as a number
    found = memory.windows([Argument("where", view.data_ptr())])
    assert [(w.address, w.size) for w in found] == [(other.data_ptr(), 32)]


@pytest.mark.both_ends
def test_the_backward_of_a_reference_finds_everything_imported(in_fork):
    """A child would import sympy for it, each one again."""

    def run():
        warm.without_triton(references=True)
        warm.warm()
        before = set(sys.modules)
        x = torch.ones(3, requires_grad=True)
        torch.autograd.grad(x * 2, x, torch.ones(3))
        return sorted(set(sys.modules) - before)

    assert len(in_fork(run)) < 20
