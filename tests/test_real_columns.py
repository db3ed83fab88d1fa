"""The real thing: Triton 2.3.1, 3.2.0 and 3.9.0 from the package index, environments built by crosswarp itself.

The environments are kept in `.crosswarp` of the checkout (or $CROSSWARP_TEST_WORK), so a second run is quick.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from crosswarp.compat.install import wanted_shims
from crosswarp.kernels import KNOWN_ISSUES, SUITE
from crosswarp.matrix import versions
from crosswarp.matrix.facts import issues

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(os.environ.get("CROSSWARP_TEST_WORK") or ROOT / ".crosswarp")
COLUMNS = ("triton-2.3.1", "triton-3.2.0")
# What it took away: block pointers, and more values than names.
NEWEST = "triton-3.9.0"
GONE = ("block_pointers", "surplus_values")
FORGOTTEN = "loop_carried_alias"
# Everywhere, in all lanes and both modes; the other kernels, of which there are many, on one column and target.
FOUNDING = (
    *("chunk_gated_delta_rule", "fused_linear_cross_entropy", "layer_norm"),
    *("matmul", "rms_norm", "softmax"),
)
SLOW = {"flash_attention_backward", "gated_delta_rule_backward"}
# The cases that the tests below look at, and one or two of each other kernel: all of them take twice as long.
TUNED = "bf16-k256-t130"
CASES = (
    "bf16-k256-t70-8warps",
    *("fp16-v5003", "fp32-v3-t1"),
    *("fp16-19x3001", "fp32-7x100"),
    *("fp16-70x65x129-t-4warps", "fp32-33x1x50-4warps"),
    *("fp16-1x1", "fp32-5x333", "fp16-33x77", "fp32-5x700-whole"),
)


def crosswarp(*arguments, store, timeout=1500):
    command = [sys.executable, "-m", "crosswarp.reports.cli", *arguments, "--store", str(store)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def run(folder, *arguments):
    """A run with its own store: its exit code, its summary, its records."""
    store = folder / "store.db"
    # One worker, unless a test says more: each imports torch, and other tests have the other cores.
    done = crosswarp("run", "--work", str(WORK), "--jobs", "1", *arguments, store=store)
    report = crosswarp("report", "--format", "json", store=store)
    assert report.returncode == 0, done.stdout + done.stderr + report.stderr
    return done, json.loads(report.stdout)["cells"]


@pytest.fixture(scope="module")
def founding(tmp_path_factory):
    """The founding kernels on both columns, computed on an NVIDIA target, everything compiled anew."""
    folder = tmp_path_factory.mktemp("founding")
    options = ("--columns", ",".join(COLUMNS), "--targets", "sm_90", "--fresh")
    chosen = ("--kernels", ",".join(FOUNDING), "--cases", ",".join((TUNED, *CASES)))
    return *run(folder, *options, *chosen), folder / "store.db"


@pytest.fixture(scope="module")
def amd(tmp_path_factory):
    """The same compiled for an AMD target, but for the tuned case: 3.2.0 compiles that for three minutes."""
    folder = tmp_path_factory.mktemp("amd")
    options = (
        "--columns",
        ",".join(COLUMNS),
        "--targets",
        "gfx942",
        "--lanes",
        "compile",
        "--fresh",
    )
    chosen = ("--kernels", ",".join(FOUNDING), "--cases", ",".join(CASES))
    return *run(folder, *options, *chosen), folder / "store.db"


def shows_its_issue(name):
    """Whether an issue that this kernel proves is on one of the columns, on sm_90 or in the interpreter."""
    return any(
        case.kernel == name
        and any(fnmatchcase("sm_90", glob) for glob in issue.targets)
        and {"emulate", "interpret"} & {*issue.lanes}
        and any(versions.within(one.removeprefix("triton-"), issue.triton) for one in COLUMNS)
        for issue in issues.load()
        for case in issue.case
    )


@pytest.fixture(scope="module")
def reproducers(tmp_path_factory):
    """Some of the reproducers that show their issue on these columns, computed; all of them are the main job's."""
    folder = tmp_path_factory.mktemp("reproducers")
    options = ("--columns", ",".join(COLUMNS), "--targets", "sm_90", "--lanes", "emulate,interpret")
    names = {"interpreter", "thread_locality", *filter(shows_its_issue, KNOWN_ISSUES[::27])}
    chosen = ("--fresh", "--kernels", ",".join(sorted(names)))
    return *run(folder, *options, *chosen), folder / "store.db"


@pytest.fixture(scope="module")
def newest(tmp_path_factory):
    """The kernels that Triton 3.9 broke, on 3.9, and one that 3.5 broke."""
    folder = tmp_path_factory.mktemp("newest")
    options = (
        "--columns",
        NEWEST,
        "--targets",
        "sm_90",
        "--kernels",
        ",".join((*GONE, FORGOTTEN)),
    )
    return run(folder, *options, "--fresh")


@pytest.fixture
def outcomes(founding):
    """(column, target, lane, mode, kernel) -> {(case, config): outcome}."""
    found = defaultdict(dict)
    for cell in founding[1]:
        key = tuple(cell[name] for name in ("column", "target", "lane", "mode", "kernel"))
        found[key][cell["case"], cell["config"]] = cell["outcome"]
    return found


@pytest.fixture(scope="module")
def shows(tmp_path_factory):
    """`shows(store, cell)`: how the script of a cell ends in the column that the cell is of, and what it says."""
    folder = tmp_path_factory.mktemp("scripts")
    # As an installed crosswarp, for the virtual GPU alone.
    (folder / "crosswarp").mkdir()
    for name in ("compat", "kernels", "matrix"):
        (folder / "crosswarp" / name).symlink_to(ROOT / name)

    def run_script(store, cell):
        path = folder / "reproduce.py"
        made = crosswarp("reproduce", cell["id"], "--out", str(path), store=store)
        assert made.returncode == 0, made.stderr
        python = WORK / "envs" / cell["column"] / "bin" / "python"
        virtual = ["--virtual"] if cell["lane"] in ("compile", "emulate") else []
        environ = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
        environ.pop("PYTHONPATH", None)
        if virtual or cell["mode"] == "shimmed":
            environ["PYTHONPATH"] = str(folder)
        done = subprocess.run(
            [python, path, *virtual], capture_output=True, text=True, timeout=300, env=environ, check=False
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return run_script


@pytest.mark.parametrize(
    ("kernel", "column", "lane", "text"),
    [
        ("chunk_gated_delta_rule", "triton-3.2.0", "compile", "LinearLayout::reshapeOuts"),
        ("layer_norm", "triton-2.3.1", "compile", "missing a required argument: 'num_warps'"),
        ("fused_linear_cross_entropy", "triton-3.2.0", "compile", "2048 threads > 1024"),
        ("interpreter", "triton-3.2.0", "interpret", "bf16_dot: wrong"),
        ("thread_locality", "triton-3.2.0", "emulate", "steps: wrong"),
    ],
)
def test_a_script_shows_its_cell(founding, amd, reproducers, shows, kernel, column, lane, text):
    own = amd if kernel == "fused_linear_cross_entropy" else founding
    _, cells, store = own if kernel in FOUNDING else reproducers
    wanted = {"kernel": kernel, "column": column, "lane": lane, "mode": "bare"}
    red = [
        cell
        for cell in cells
        if wanted.items() <= cell.items() and cell["outcome"] not in ("pass", "unsupported", "not-run")
        and cell["case"] in {"interpreter": ["bf16"], "thread_locality": ["read"]}.get(kernel, [cell["case"]])
    ]  # fmt: skip
    # One configuration alone where there are several.
    cell = max(red, key=lambda one: one["config"])
    status, said = shows(store, cell)
    assert status == 1 and text in said
    assert f"triton {column.removeprefix('triton-')}" in said


def test_a_script_of_a_suite_holds_its_helpers(tmp_path, shows):
    suite = ROOT / "tests" / "suites" / "hostile"
    options = (
        "--columns",
        "triton-3.2.0",
        "--lanes",
        "interpret",
        "--modes",
        "bare",
        "--suite",
        str(suite),
    )
    _, cells = run(tmp_path, *options, "--kernels", "mismatches,passes")
    red = [cell for cell in cells if cell["kernel"] == "mismatches"]
    status, said = shows(tmp_path / "store.db", red[0])
    assert status == 1 and said.rstrip().endswith(
        "y: NaN or infinite in other places than expected"
    )


def test_everything_is_as_expected(founding, amd, reproducers):
    for done in (founding[0], amd[0], reproducers[0]):
        assert done.returncode == 0, done.stdout + done.stderr
        assert "As expected" in done.stdout


def test_nothing_is_red_shimmed(founding, amd, reproducers):
    red = [
        cell
        for cell in founding[1] + amd[1] + reproducers[1]
        if cell["mode"] == "shimmed" and cell["outcome"] not in ("pass", "unsupported")
    ]
    not_fixed = {issue.id for issue in issues.load() if not issue.shim}
    # Those that no shim can heal are known, and the kernels that show one are there for nothing else.
    assert {c["issue"] for c in red} <= not_fixed and {c["kernel"] for c in red} <= {
        *KNOWN_ISSUES
    }, red


def test_layer_norm_fails_to_bind_on_2_3_1_only(founding, amd, outcomes):
    bare = [
        c
        for c in founding[1] + amd[1]
        if (c["kernel"], c["lane"], c["mode"]) == ("layer_norm", "compile", "bare")
    ]
    for cell in bare:
        if cell["column"] == "triton-3.2.0":
            assert cell["outcome"] == "pass"
        elif cell["target"] == "sm_90":
            assert cell["outcome"] == "api-error"
            assert "missing a required argument: 'num_warps'" in cell["message"]
    assert set(outcomes["triton-2.3.1", "sm_90", "compile", "shimmed", "layer_norm"].values()) == {
        "pass"
    }


def test_the_delta_rule_aborts_the_compiler_of_3_2_0_with_8_and_16_warps(founding, amd, outcomes):
    bare = outcomes["triton-3.2.0", "sm_90", "compile", "bare", "chunk_gated_delta_rule"]
    for (case, config), outcome in bare.items():
        if case.startswith("bf16-k256") and config:
            warps = int(config.rpartition("num_warps=")[2])
            assert outcome == ("crash" if warps >= 8 else "pass"), (case, config)
    crashed = [
        c
        for c in founding[1] + amd[1]
        if c["outcome"] == "crash" and c["kernel"] == "chunk_gated_delta_rule"
    ]
    assert crashed
    for cell in crashed:
        assert cell["reason"] == "SIGABRT"
        assert "LinearLayout" in cell["fingerprint"] and "reshapeOuts" in cell["fingerprint"]
        assert (cell["column"], cell["target"], cell["mode"]) == ("triton-3.2.0", "sm_90", "bare")
    old = outcomes["triton-2.3.1", "sm_90", "compile", "bare", "chunk_gated_delta_rule"]
    assert set(old.values()) == {"pass"}
    assert {int(config.rpartition("num_warps=")[2]) for _, config in old if config} == {2, 4, 8, 16}


def test_a_direct_launch_with_8_warps_survives_shimmed(founding):
    (cell,) = [
        c
        for c in founding[1]
        if (c["column"], c["target"], c["mode"], c["lane"])
        == ("triton-3.2.0", "sm_90", "shimmed", "compile")
        and (c["kernel"], c["case"]) == ("chunk_gated_delta_rule", "bf16-k256-t70-8warps")
    ]
    assert cell["outcome"] == "pass" and cell["shims"] == ["compiler_crash"]
    # It keeps its warps: the kernel is compiled with the operands of the fatal dot moved.
    assert [launch["num_warps"] for launch in cell["resources"]["launches"]] == [8]


def test_cross_entropy_launches_32_warps_on_nvidia_and_16_on_cdna(founding, amd):
    cells = [
        c
        for c in founding[1] + amd[1]
        if c["kernel"] == "fused_linear_cross_entropy" and c["lane"] == "compile"
    ]
    seen = defaultdict(set)
    for cell in cells:
        if cell["outcome"] == "unsupported":
            assert (cell["column"], cell["target"]) == ("triton-2.3.1", "gfx942")
            continue
        warps = {launch["num_warps"] for launch in cell["resources"]["launches"]}
        seen[cell["target"], cell["mode"], cell["outcome"]] |= warps
        if cell["outcome"] == "limit":
            assert "2048 threads > 1024" in cell["message"]
    assert seen == {
        ("sm_90", "bare", "pass"): {32},
        ("sm_90", "shimmed", "pass"): {32},
        ("gfx942", "bare", "limit"): {32},
        ("gfx942", "shimmed", "pass"): {16},
    }


def test_figures_come_from_the_binaries(founding, amd):
    launches = [
        launch
        for cell in founding[1] + amd[1]
        if cell["lane"] == "compile" and cell["outcome"] == "pass"
        for launch in cell["resources"].get("launches", [])
    ]
    assert launches
    assert all(launch["registers"] for launch in launches)


def test_every_third_of_the_other_kernels_compiles(tmp_path):
    # Some cases of each: with all of them it takes four times as long. TLX is fbtriton's alone: tests/cell/test_tlx.py
    suite = {name for name in SUITE if not name.startswith("tlx_")} - set(FOUNDING)
    # Needs what came after 3.2.
    newer = {
        "descriptor_matmul",
        "flash_attention_backward_descriptors",
        "flash_attention_one_pass",
        "scaled_matmul",
        *(name for name in suite if name.startswith("gluon_")),
    }
    # The main job compiles all, SLOW as well, which take a quarter of the time.
    if not os.environ.get("NIGHTLY"):
        suite = newer | set(sorted(suite - newer - SLOW)[::3])
    cases = "fp32-*,fp16-64x64x128,fp16-k64-*,fp16-t64-*,e4m3-*,int32-*,old*,as-*,two-*"
    done, cells = run(
        tmp_path, "--columns", "triton-3.2.0", "--targets", "sm_90", "--modes", "bare", "--lanes", "compile",
        "--kernels", ",".join(suite), "--cases", cases,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    passed = {cell["kernel"] for cell in cells if cell["outcome"] == "pass"}
    unsupported = {cell["kernel"] for cell in cells if cell["outcome"] == "unsupported"}
    # Made for another GPU alone, so not compiled for this one.
    elsewhere = {"gluon_mfma", "gluon_tcgen05"}
    assert suite - passed == newer
    assert newer - elsewhere <= unsupported


def test_a_stack_that_grew_by_half_is_named_with_both_figures(tmp_path):
    """Of a matrix product whose operand is dequantized, with the compilers of 3.2.0 and 3.9.0."""
    columns = ("triton-3.2.0", NEWEST)
    case = "fp32-int8-3x33x96-whole"
    _, cells = run(
        tmp_path, "--columns", ",".join(columns), "--targets", "sm_90", "--modes", "bare", "--lanes", "compile",
        "--kernels", "dequantize_matmul", "--cases", case,
    )  # fmt: skip
    (before,), (after,) = (
        [launch["stack"] for launch in cell["resources"]["launches"]]
        for column in columns
        for cell in cells
        if (cell["column"], cell["case"], cell["config"]) == (column, case, "")
    )
    assert after >= before * 4 / 3 > 0
    done = crosswarp("diff", *columns, "-v", store=tmp_path / "store.db")
    assert done.returncode == 1 and "Heavier (1 cell)" in done.stdout
    assert f"stack     {before} → {after} bytes" in done.stdout and case in done.stdout


HOSTILE = {
    "aborts": ("crash", "SIGABRT"),
    "segfaults": ("crash", "SIGSEGV"),
    "hangs": ("timeout", "longer than 12 s"),
    "exits": ("crash", "exit 0 without a result"),
    "eats": ("crash", "memory: more than 1000 MiB"),
    "raises": ("api-error", "ValueError"),
    "surrogate": ("api-error", "ValueError"),
    "leaves": ("api-error", "SystemExit"),
    "passes": ("pass", ""),
    "import_aborts": ("crash", "SIGABRT"),
    "import_raises": ("api-error", "ModuleNotFoundError"),
    "import_hangs": ("timeout", "longer than 12 s"),
    "interrupts": ("api-error", "Interrupt"),
    "stages": ("api-error", "ValueError"),
    "strays": ("crash", "something else wrote into the pipe of its results"),
}


def test_a_hostile_suite_is_recorded_whole(tmp_path):
    done, cells = run(
        tmp_path, "--columns", "triton-3.2.0", "--targets", "sm_90", "--suite", str(ROOT / "tests/suites/hostile"),
        "--modes", "bare", "--time-limit", "12", "--time-limit-alone", "0", "--memory-limit", "1000", "--jobs", "2",
    )  # fmt: skip
    assert done.returncode == 1
    found = {(cell["kernel"], cell["lane"]): (cell["outcome"], cell["reason"]) for cell in cells}
    assert found.pop(("mismatches", "compile")) == ("pass", "")
    # Green without a launch would prove nothing; the interpreter lane compares numbers.
    assert found.pop(("shouts", "compile")) == ("api-error", "launched nothing")
    assert found.pop(("shouts", "emulate")) == ("api-error", "launched nothing")
    assert found.pop(("shouts", "interpret")) == ("pass", "")
    assert found.pop(("mismatches", "interpret")) == ("mismatch", "nan")
    assert found.pop(("mismatches", "emulate")) == ("mismatch", "nan")
    assert found == {
        (name, lane): what
        for name, what in HOSTILE.items()
        for lane in ("compile", "emulate", "interpret")
    }
    (abort,) = [c for c in cells if (c["kernel"], c["lane"]) == ("aborts", "compile")]
    assert abort["fingerprint"] == "SIGABRT: Layout.cpp: Layout::of: Assertion `rank == 2' failed"
    # What strangers print reaches no terminal as it is.
    assert "\x1b" not in done.stdout + done.stderr


def test_a_librarys_own_tests_beside_a_column(tmp_path):
    """Built and installed beside 3.2.0, run there on the virtual GPU, and told as cells with their figures."""
    library = tmp_path / "small-ops"
    unwritten = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests/suites/a_library", library, ignore=unwritten)
    (library / "pyproject.toml").write_text(
        '[project]\nname = "small-ops"\nversion = "1"\ndependencies = ["triton>=2.3.1"]\n'
        '[tool.setuptools]\npackages = ["small_ops"]\n'
        '[tool.crosswarp]\nstub = ["small_ops_cuda"]\n'
    )
    store = tmp_path / "store.db"
    done = crosswarp(
        "test", str(library), "--columns", "triton-3.2.0", "--modes", "bare", "--work", str(WORK), "--jobs", "1",
        "--cases", "test_ops::test_scale,test_ops::test_no_launch,test_failures::test_limit", store=store,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert (
        "Your metadata says triton>=2.3.1; measured: no release passes without compat."
        in done.stdout
    )
    cells = json.loads(crosswarp("report", "--format", "json", store=store).stdout)["cells"]
    found = {cell["kernel"]: cell for cell in cells}
    assert {name: cell["outcome"] for name, cell in found.items()} == {
        "test_ops::test_scale": "pass",
        "test_ops::test_no_launch": "unsupported",
        "test_failures::test_limit": "limit",
    }
    (launch,) = found["test_ops::test_scale"]["resources"]["launches"]
    assert launch["registers"] > 0
    assert not list(library.glob("build")) and not list(library.rglob("__pycache__"))


def test_what_triton_3_9_took_away_is_red_bare_and_green_shimmed(newest):
    done, cells = newest
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = {(c["kernel"], c["lane"], c["mode"]): c["outcome"] for c in cells}
    for kernel in GONE:
        assert outcomes[kernel, "compile", "bare"] == "compile-error"
        assert outcomes[kernel, "compile", "shimmed"] == "pass"
    assert outcomes["block_pointers", "interpret", "bare"] == "api-error"
    assert outcomes["block_pointers", "interpret", "shimmed"] == "pass"


def test_a_bisection_of_real_releases(tmp_path):
    """Three columns, of which only the newest is red, and a run on each."""
    table = tmp_path / "columns.toml"
    entries = (ROOT / "matrix/facts/columns.toml").read_text("utf-8").split("[[column]]")
    chosen = [e for e in entries if any(f'id = "{name}"' in e for name in (*COLUMNS, NEWEST))]
    table.write_text("[[column]]".join(["", *chosen]), "utf-8")
    store = tmp_path / "store.db"
    # One worker: the cases are few, and each worker imports torch.
    done = crosswarp(
        "bisect", "surplus_values", "--good", "2.3.1", "--bad", "3.9.0",
        "--columns-file", str(table), "--work", str(WORK), "--jobs", "1", store=store,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "First bad: triton-3.9.0. triton-3.2.0 is the last good one." in done.stdout
    assert "[triton-11053]" in done.stdout
    runs = crosswarp("runs", store=store).stdout
    assert runs.count("bisect surplus_values") == 3


def test_a_loop_that_keeps_the_value_before_is_red_bare_and_green_shimmed(newest):
    found = {(c["mode"], c["lane"], c["outcome"]) for c in newest[1] if c["kernel"] == FORGOTTEN}
    assert found == {
        ("bare", "compile", "api-error"),
        ("shimmed", "compile", "pass"),
        ("bare", "emulate", "mismatch"),
        ("shimmed", "emulate", "pass"),
        ("bare", "interpret", "pass"),
        ("shimmed", "interpret", "pass"),
    }


@pytest.mark.parametrize(
    ("packages", "shims"),
    [
        # Without crosswarp in the process.
        (("one._compat",), ["all"]),
        (("two._compat", "one._compat", "crosswarp.compat"), ["one", "all", "all"]),
    ],
)
def test_a_vendored_copy_works_alone_and_beside_others(founding, tmp_path, packages, shims):
    for name, chosen in (("one", "all"), ("two", "interpreter_nan")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        into = ("--into", str(tmp_path / name / "_compat"))
        command = [sys.executable, "-m", "crosswarp.reports.cli", "vendor", chosen, *into]
        subprocess.run(command, check=True, capture_output=True)
    if "crosswarp.compat" in packages:
        (tmp_path / "crosswarp").mkdir()
        (tmp_path / "crosswarp" / "compat").symlink_to(ROOT / "compat")
    done = subprocess.run(
        [WORK / "envs" / COLUMNS[1] / "bin" / "python", ROOT / "tests/data/vendored_column.py", *packages],
        capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    bare, *installed, back, there = done.stdout.splitlines()
    assert (bare, back) == ("bare False", "taken back True False")
    assert there == str("crosswarp.compat" in packages)
    everything = len(wanted_shims("auto", "3.2.0"))
    assert installed == [
        f"{name} True {1 if which == 'one' else everything} True"
        for name, which in zip(packages, shims, strict=True)
    ]


def test_the_language_table_is_what_these_columns_hold():
    """Names that came, went, moved, crash or are wrong in the interpreter."""
    names = (
        "tl.range",
        "tl.maximum",
        "tl.make_block_ptr",
        "tl.bfloat16",
        "libdevice.tan*",
        "launch.num_ctas",
    )
    columns = f"{COLUMNS[0]},{NEWEST}"
    command = [
        sys.executable,
        "-m",
        "crosswarp.reports.cli",
        "language",
        *names,
        "--columns",
        columns,
    ]
    done = subprocess.run(
        [*command, "--work", str(WORK)], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "As the table says: 2.3.1, 3.9.0." in done.stdout


def test_a_file_of_kernels_is_checked_on_both(tmp_path):
    """`crosswarp check`: what 2.3.1 refuses of a launch that 3.2.0 takes, on environments that are there by now."""
    file = tmp_path / "kernels.py"
    file.write_text(CHECKED, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "crosswarp.reports.cli", "check", str(file), "--columns", ",".join(COLUMNS),
         "--targets", "sm_90", "--work", str(WORK), "--json"],
        capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    told = {
        (cell["column"], cell["kernel"], cell["mode"]): cell["outcome"]
        for cell in found["cells"]
        if not cell["config"]
    }
    assert len(told) == len(COLUMNS) * 3 * 2
    red = {place for place, outcome in told.items() if outcome != "pass"}
    assert red == {("triton-2.3.1", "warps", "bare")} | {
        (column, "wrong", mode) for column in COLUMNS for mode in ("bare", "shimmed")
    }
    assert "launches a kernel at line" in done.stderr
    fixed = next(cell for cell in found["cells"] if cell["kernel"] == "warps" and cell["issue"])
    assert fixed["shim"] == "reserved_options"


CHECKED = """
import torch
import triton
import triton.language as tl


@triton.jit
def good(x, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(x + o, tl.load(x + o) + 1)


@triton.jit
def warps(x, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), num_warps)


@triton.jit
def wrong(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.nothing_like_this(BLOCK))


x = torch.zeros(64, device="cuda", dtype=torch.int32)
good[(1,)](x, BLOCK=64)
warps[(1,)](x, BLOCK=64, num_warps=2)
wrong[(1,)](x, BLOCK=64)
"""
