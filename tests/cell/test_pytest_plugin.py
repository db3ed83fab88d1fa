"""The pytest plugin on this column's Triton and torch: a library's unchanged GPU tests, compiled and interpreted."""

import os
import shutil
import sys

import pytest
import torch
import triton
from plugin_runs import LIBRARY, Runs

from crosswarp.compat.versions import in_window

pytestmark = pytest.mark.both_ends

LAUNCH = "compiled"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("plugin"))


@pytest.fixture(scope="module")
def compiled(run):
    """The whole library in the lane compile."""
    tests = [str(LIBRARY / "tests" / name) for name in ("test_ops.py", "test_failures.py")]
    stub = ("--crosswarp-stub", "small_ops_cuda", "--crosswarp-time-limit", "60")
    return run(*tests, *stub, "-k", "not never_ends")


def test_what_becomes_of_each_test(compiled):
    found = compiled.outcomes()
    softmax = [outcome for name, outcome in found.items() if name.startswith("test_softmax")]
    assert softmax == [LAUNCH] * 9
    rest = {name: outcome for name, outcome in found.items() if "softmax" not in name}
    assert rest == {
        # test_ops.py
        "test_scale": LAUNCH,
        "test_every_way_to_say_no": LAUNCH,
        "test_no_launch": "no launch",
        "test_wrong_before_any_launch": "red",
        "test_wrong_shape": "red",
        "test_wrong_type": "red",
        "test_skips_itself": "skipped",
        "test_expected_to_fail": LAUNCH,
        "test_backward": LAUNCH,
        "test_reference_for_a_gpu": LAUNCH,
        # Breakpoint: torch has flex_attention from 2.5 on.
        "test_reference_of_higher_order": LAUNCH
        if in_window(">=2.5", torch.__version__)
        else "skipped",
        "test_values_steer": LAUNCH,
        "test_autotuned": LAUNCH,
        # test_failures.py
        "test_does_not_compile": "red",
        "test_a_crash": "red",
        "test_after_the_crash": LAUNCH,
        "test_needs_the_extension": "not applicable",
        "test_needs_it_by_name": "not applicable",
        "test_needs_a_graph": "not applicable",
        "test_limit": "red",
        "test_broken_fixture": "red",
    }


def test_a_test_goes_on_past_asserts_about_values(compiled):
    line = compiled.lines["test_every_way_to_say_no"]
    # The one launch after five asserts that cannot hold.
    assert line["launches"] == 2
    noted = " ".join(line["noted"])
    for part in ("far off", "Not equal to tolerance", "the house's own helper says no"):
        assert part in noted, line["noted"]
    assert len(line["noted"]) == 4


def test_each_red_names_its_cause(compiled):
    why = {name: line["why"] for name, line in compiled.lines.items()}
    assert "there_is_no_such_name" in why["test_does_not_compile"]
    assert "SIGABRT" in why["test_a_crash"]
    assert "grid dimension y" in why["test_limit"]
    assert "(101,)" in why["test_wrong_shape"] and "dtype" in why["test_wrong_type"]
    assert "the fixture is broken" in why["test_broken_fixture"]
    assert "small_ops_cuda.fused_scale is stubbed" in why["test_needs_the_extension"]
    assert "CUDAGraph" in why["test_needs_a_graph"]


def test_the_summary_never_says_passed(compiled):
    assert compiled.code == 1
    assert "passed" not in compiled.text
    skipped = 1 if in_window(">=2.5", torch.__version__) else 2
    rest = f"1 no launch, 7 red, 3 not applicable, {skipped} skipped by the tests themselves"
    assert rest in compiled.text
    assert f"Triton {triton.__version__}" in compiled.text


IMPORTS = """import sys
NAME = "torch.fx.experimental.symbolic_shapes"


def test_first():
    assert NAME not in sys.modules and "wave" not in sys.modules
    __import__(NAME), __import__("wave")


def test_second():
    assert NAME in sys.modules and "wave" not in sys.modules
"""


@pytest.fixture(scope="module")
def asking(run, tmp_path_factory):
    """A library with tests that import, tests that ask torch.cuda, and tests that numbers steer."""
    # Here it lies in a folder called tests, where each file would count as a test.
    library = tmp_path_factory.mktemp("asking") / "a_library"
    shutil.copytree(LIBRARY, library)
    (library / "tests" / "test_imports.py").write_text(IMPORTS)
    names = ("test_imports.py", "test_device.py", "test_steering.py")
    return run(*(str(library / "tests" / name) for name in names), library=library)


def outcomes_of(done, file):
    lines = {name: line for name, line in done.lines.items() if file in line["test"]}
    return {name: line["outcome"] for name, line in lines.items()}


def test_what_tests_ask_of_torch_cuda(asking):
    found = outcomes_of(asking, "test_device.py")
    fused = found.pop("test_what_only_a_gpu_has")
    # Breakpoint: torch knows the shapes of its fused attention from 2.5 on.
    assert fused == (LAUNCH if in_window(">=2.5", torch.__version__) else "not applicable")
    assert set(found.values()) <= {LAUNCH, "no launch", "skipped"}
    has_launched = [name for name, line in asking.lines.items() if line["launches"]]
    for name in (
        "test_registered_operators[both]",
        "test_streams_and_events",
        "test_default_device",
    ):
        assert name in has_launched
    # Two configurations of each autotuner, every launch once in a benchmark: no more than were asked for.
    assert asking.lines["test_factories[cuda]"]["launches"] == 12


def test_what_one_child_imported_of_torch_the_next_has(asking):
    outcomes = outcomes_of(asking, "test_imports.py")
    assert outcomes == {"test_first": "no launch", "test_second": "no launch"}, asking.text


def test_what_depends_on_uncomputed_numbers_is_neither_green_nor_red(asking):
    found = outcomes_of(asking, "test_steering.py")
    reds = {name for name, outcome in found.items() if outcome == "red"}
    # The compiler, a name that is not there, numbers that torch did compute, and what the test alone has read.
    assert reds == {
        "test_compiler_says_no",
        "test_no_such_name",
        "test_steered_by_its_own",
        "test_only_the_test_reads",
    }
    assert found["test_green_all_the_same"] == LAUNCH
    rest = {name: found[name] for name in found.keys() - reds - {"test_green_all_the_same"}}
    assert len(rest) == 6 and set(rest.values()) == {"not applicable"}, rest
    why = asking.lines["test_refused"]["why"]
    assert "depends on numbers: Tensor.__bool__ in refuses (small_ops.steered:" in why
    assert "small_ops wants positive numbers" in why
    more = list(outcomes_of(asking, "test_device.py").values()).count("not applicable")
    assert f"{6 + more} not applicable" in asking.text


@pytest.fixture(scope="module")
def optioned(run):
    """Two tests with other options than `compiled` has."""
    tests = [str(LIBRARY / "tests" / name) for name in ("test_ops.py", "test_failures.py")]
    options = ("--crosswarp-configurations", "0", "--crosswarp-time-limit", "10")
    return run(
        *tests, *options, "--crosswarp-stub", "small_ops_cuda", "-k", "autotuned or never_ends"
    )


@pytest.mark.one_release
def test_a_test_that_never_ends_is_red(optioned):
    assert optioned.outcomes()["test_never_ends"] == "red"
    assert "--crosswarp-time-limit" in optioned.text


@pytest.mark.one_release
def test_configurations_of_an_autotuner(compiled, optioned):
    launches = [ran.lines["test_autotuned"]["launches"] for ran in (compiled, optioned)]
    # Each is launched to be measured, then the best of them: two by default, of five that there are.
    assert launches[1] - launches[0] == 3


@pytest.mark.one_release
def test_a_missing_extension_is_told_of(run):
    done = run(str(LIBRARY / "tests" / "test_failures.py"))
    assert "--crosswarp-stub small_ops_cuda" in done.text and done.code == 2


@pytest.mark.triton(">=3.0")
def test_amd(run):
    done = run(str(LIBRARY / "tests" / "test_ops.py"), "-k", "scale or backward", target="gfx942")
    assert done.outcomes()["test_scale"] == done.outcomes()["test_backward"] == LAUNCH, done.text


@pytest.mark.triton(">=3.2")
def test_interpreted_numbers_are_judged(run):
    names = "scale or every_way or backward or steer or wrong_type or expected_to_fail"
    chosen = ("--virtual-gpu-lane", "interpret", "-k", names)
    done = run(str(LIBRARY / "tests" / "test_ops.py"), *chosen)
    found = done.outcomes()
    assert found["test_scale"] == found["test_every_way_to_say_no"] == "interpreted", done.text
    assert found["test_backward"] == found["test_values_steer"] == "interpreted", done.text
    assert found["test_wrong_type"] == "red" and found["test_expected_to_fail"] == "xfailed"
    assert "with compat" in done.text


@pytest.mark.triton("<3.0")
def test_an_interpreter_that_fails_on_most_kernels_is_refused(run):
    done = run(str(LIBRARY / "tests" / "test_ops.py"), "--virtual-gpu-lane", "interpret")
    assert done.code == 4 and "--virtual-gpu-lane compile" in done.text


@pytest.mark.one_release
def test_a_sample_is_run_and_said(run, tmp_path):
    library = tmp_path / "a_library"
    library.mkdir()
    (library / "test_many.py").write_text(
        "".join(f"def test_{number}():\n    pass\n" for number in range(22))
    )
    done = run(str(library / "test_many.py"), "--crosswarp-sample", "6", library=library)
    assert len(done.lines) == 6
    assert "A sample of at most 6 of 22 tests" in done.text


@pytest.mark.one_release
def test_without_the_option_nothing_happens(run, tmp_path):
    (tmp_path / "test_inert.py").write_text(
        "import sys\n"
        "def test_inert():\n"
        "    assert not {'torch', 'triton', 'numpy'} & set(sys.modules)\n"
        "    ours = [name for name in sys.modules if name.startswith('crosswarp.')]\n"
        "    assert len(ours) < 6, ours\n"
    )
    done = run(str(tmp_path), library=tmp_path, target=None)
    assert done.code == 0 and "1 passed" in done.text, done.text


@pytest.mark.one_release
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--crosswarp-sample", "0"], "--crosswarp-sample 0"),
        (["--crosswarp-shims", "--crosswarp-bare"], "contradict"),
    ],
)
def test_wrong_options_are_refused(run, options, said):
    done = run(*options)
    assert done.code == 4 and said in done.text


@pytest.mark.one_release
def test_an_unknown_target_is_told_which_there_are(run):
    done = run(target="sm_12345")
    assert done.code == 4 and "sm_12345 is no target" in done.text and "sm_90" in done.text


def test_everything_is_taken_back(in_fork):
    """All that the table replaces, and all that the plugin adds: each attribute is the object that it was."""

    def check():
        from types import SimpleNamespace

        from crosswarp.compat.record import Patches
        from crosswarp.matrix.cell.pytest_plugin import options, session
        from crosswarp.matrix.cell.standins.virtual_torch import table

        def held():
            found = {}
            for row in table.ROWS:
                owner = table._find(row.owner)
                for name in row.names if owner is not None else ():
                    found[row.owner, name] = vars(owner).get(name)
            import builtins

            from _pytest.assertion import rewrite
            from triton.compiler.compiler import CompiledKernel
            from triton.runtime.autotuner import Autotuner

            found["environment"] = dict(os.environ)
            found["builtins"] = set(vars(builtins))
            found["path"] = list(sys.meta_path)
            found["rewrite"] = (rewrite.rewrite_asserts, rewrite.PYC_TAIL)
            found["close"] = (torch.testing.assert_close, torch.Tensor.item, torch.Tensor.allclose)
            found["triton"] = (Autotuner.prune_configs, CompiledKernel._init_handles)
            found["threads"] = torch.get_num_threads()
            return found

        before = held()
        patches = Patches()
        wanted = SimpleNamespace(
            virtual_gpu="sm_90",
            virtual_gpu_lane="compile",
            crosswarp_shims=True,
            crosswarp_bare=False,
            crosswarp_sample=None,
            crosswarp_stub=["small_ops_cuda"],
            crosswarp_time_limit=60.0,
            crosswarp_configurations=2,
            crosswarp_records=None,
            crosswarp_sanitize=False,
        )
        session.Session(options.settings_of(wanted), patches)
        assert torch.ones(3, device="cuda").is_cuda
        during = held()
        changed = {name for name in before if before[name] != during[name]}
        patches.undo()
        after = held()
        left = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
        assert not torch.ones(3).is_cuda
        return len(changed), left

    changed, left = in_fork(check)
    assert changed > 100 and left == {}


def test_each_row_of_the_table_says_why():
    from crosswarp.matrix.cell.standins.virtual_torch import table

    assert all(row.why and row.names for row in table.ROWS)
    missing = {row.owner for row in table.ROWS if table._find(row.owner) is None}
    # Breakpoint: torch.accelerator came with torch 2.6.
    allowed = {"torch.accelerator"} if in_window("<3.2", triton.__version__) else set()
    assert missing == allowed
