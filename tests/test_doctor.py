"""The doctor: an environment without Triton, environments made of fakes, and what the host side adds.

The real columns are in tests/cell/test_doctor.py.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crosswarp.compat import doctor, doctor_text, pairs
from crosswarp.compat.shims import all_shims, attrs_descriptor, common_backend
from crosswarp.compat.versions import in_window
from crosswarp.matrix.facts import datafile
from crosswarp.matrix.facts.issues import Issue
from crosswarp.reports.findings import doctor as host


def distribution(folder, name, version, *lines, record=""):
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(head + "".join(line + "\n" for line in lines))
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
    (info / "INSTALLER").write_text("pip\n")
    (info / "RECORD").write_text(record)
    return info


@pytest.fixture
def fakes(tmp_path):
    """A folder on the path with a Triton and a torch that can be imported and do nothing."""

    class Fakes:
        folder = tmp_path / "site"

        def triton(self, version="3.1.0", code="jit = object()"):
            package = self.folder / "triton"
            (package / "_C").mkdir(parents=True)
            (package / "runtime").mkdir()
            (package / "__init__.py").write_text(f"__version__ = {version!r}\n{code}\n")
            (package / "runtime" / "__init__.py").write_text("")
            (package / "runtime" / "cache.py").write_text(
                f"def default_cache_dir():\n    return {str(tmp_path / 'cache')!r}\n"
            )
            library = b"x\x04\0\0\0\x04\0\0\0\x03\0\0\0GNU\0\x0a\x0b\x0c\x0d and the rest"
            (package / "_C" / "libtriton.so").write_bytes(library)
            digest = base64.urlsafe_b64encode(hashlib.sha256(library).digest()).decode().rstrip("=")
            distribution(
                self.folder, "triton", version,
                record=f"triton/_C/libtriton.so,sha256={digest},{len(library)}\ntriton/__init__.py,,\n",
            )  # fmt: skip
            return package

        def torch(self, version="2.5.1", pin="triton==3.1.0", code=""):
            package = self.folder / "torch"
            package.mkdir(parents=True)
            (package / "__init__.py").write_text(
                f"__version__ = '{version}'\nfrom . import version\n{code}\n"
                "class cuda:\n    device_count = staticmethod(lambda: 0)\n"
            )
            (package / "version.py").write_text("git_version = 'abcdef0123456'\ncuda = '12.4'\n")
            distribution(self.folder, "torch", version, f"Requires-Dist: {pin}")

        def run(self, *options, command=("-m", "crosswarp.compat", "doctor"), **environ):
            return subprocess.run(
                [sys.executable, *command, *options], capture_output=True, text=True, check=False,
                timeout=120, cwd=tmp_path,
                env={
                    **{k: v for k, v in os.environ.items() if not k.startswith(("TRITON", "CROSSWARP"))},
                    "PYTHONPATH": os.pathsep.join((str(self.folder), os.environ.get("PYTHONPATH", ""))),
                    "CROSSWARP_CACHE_DIR": str(tmp_path / "crosswarp"),
                    "HOME": str(tmp_path), **environ,
                },
            )  # fmt: skip

        def report(self, *options, **environ):
            done = self.run("--json", *options, **environ)
            assert done.stdout, done.stderr
            report = json.loads(done.stdout)
            assert report["exit_code"] == done.returncode
            return report

    return Fakes()


def advice(report):
    return {
        (entry["level"], entry["about"]): f"{entry['text']} {entry['do']}"
        for entry in report["advice"]
    }


def test_without_triton_it_says_so_plainly_and_ends_with_2(fakes):
    for command in (("-m", "crosswarp.compat"), ("-m", "crosswarp.reports.cli")):
        done = fakes.run(command=(*command, "doctor"))
        assert done.returncode == 2, done.stderr
        assert re.search(r"^Triton +not installed", done.stdout, re.M)
        assert "Nothing to examine: there is no Triton in this environment." in done.stdout
        assert done.stderr == ""
    report = fakes.report()
    assert (report["schema"], report["triton"], report["torch"]) == (2, None, None)


def test_versions_and_builds_are_named(fakes):
    package = fakes.triton("3.1.0+git35c6c7c6")
    (package / "backends").mkdir()
    (package / "backends" / "ptxas").write_text(
        "#!/bin/sh\necho Cuda compilation tools, V12.4.99\n"
    )
    (package / "backends" / "ptxas").chmod(0o755)
    fakes.torch(pin="triton==3.1.0+git35c6c7c6")
    distribution(fakes.folder, "numpy", "1.26.4")
    report = fakes.report()
    triton = report["triton"]
    assert (triton["version"], triton["git"]) == ("3.1.0+git35c6c7c6", "35c6c7c6")
    assert (triton["build"], triton["path"]) == ("0a0b0c0d", str(package))
    (one,) = triton["distributions"]
    library = (package / "_C" / "libtriton.so").read_bytes()
    assert one["library_sha256"] == hashlib.sha256(library).hexdigest()
    assert one["as_published"] is True and one["installer"] == "pip"
    torch = report["torch"]
    assert (torch["version"], torch["git"], torch["cuda"]) == ("2.5.1", "abcdef0123456", "12.4")
    assert (torch["asks_for"], torch["agrees"]) == (["triton==3.1.0+git35c6c7c6"], True)
    assert [(tool["version"], tool["from"]) for tool in report["ptxas"]] == [("12.4.99", "Triton")]
    assert report["devices"] == {"listed": [], "error": None}
    assert report["numpy"] == "1.26.4"


def test_a_library_that_was_exchanged_and_another_torch_are_notes(fakes):
    package = fakes.triton("3.1.0")
    (package / "_C" / "libtriton.so").write_bytes(b"built here")
    fakes.torch(pin='triton==3.0.0; platform_system == "Linux"')
    report = fakes.report(TRITON_PTXAS_PATH="/no/such/ptxas")
    told = advice(report)
    assert "is not the file that triton 3.1.0 installed" in told["note", "triton"]
    assert report["torch"]["agrees"] is False
    assert "torch 2.5.1 asks for triton==3.0.0; here is Triton 3.1.0." in told["note", "torch"]
    assert "pip install 'triton==3.0.0'" in told["note", "torch"]
    assert "Correct or unset TRITON_PTXAS_PATH." in told["note", "ptxas"]


@pytest.mark.parametrize(
    ("torch", "triton", "shims"),
    [
        ("2.6.0", "3.9.0", "attrs_descriptor, moved_internals"),
        ("2.6.0", "3.3.1", "attrs_descriptor"),
        ("2.7.1", "3.9.0", "moved_internals, compile_workers"),
        ("2.9.1", "3.6.0", "moved_internals, compile_workers"),
        ("2.5.1", "3.2.0", "attrs_descriptor"),
        ("2.3.1", "3.9.0", "common_backend, attrs_descriptor, moved_internals"),
        ("2.6.0", "3.2.0", None),
        ("2.15.0", "3.6.0", None),
    ],
)
def test_what_a_pair_needs_is_named_with_its_shims(fakes, torch, triton, shims):
    fakes.triton(triton)
    fakes.torch(torch, pin="triton==3.0.0")
    told = advice(fakes.report())["note", "torch"]
    if shims is None:
        assert "torch.compile" not in told
    else:
        assert f"torch.compile of torch {torch} needs of Triton {triton}: " in told
        assert f"before torch.compile: {shims}." in told


def test_what_no_shim_brings_is_said(fakes):
    fakes.triton("2.3.1")
    fakes.torch("2.6.0", pin="triton==3.2.0")
    told = advice(fakes.report())["note", "torch"]
    assert "needs of Triton 2.3.1: triton.backends and make_backend" in told
    assert "No shim brings that" in told and "compat.install()" not in told


TRITONS = tuple("2.3.1 3.0.0 3.1.0 3.2.0 3.3.1 3.4.0 3.5.1 3.6.0 3.7.1 3.8.0 3.9.0".split())


def test_what_pairs_need_is_brought_by_shims_that_are_there():
    by_name = {shim.name: shim for shim in all_shims()}
    for need in pairs.NEEDS:
        assert need.shim in {*by_name, ""}
        # Whatever lacks it, the shim is for.
        for version in TRITONS:
            if need.shim and in_window(need.triton, version):
                assert in_window(by_name[need.shim].window, version)
    descriptor = {need.torch for need in pairs.NEEDS if need.shim == "attrs_descriptor"}
    assert descriptor == {attrs_descriptor._TORCH, attrs_descriptor._TORCH_BEFORE_3_2}
    common = {need.torch for need in pairs.NEEDS if need.shim == "common_backend"}
    assert common == {common_backend._TORCH}


def measured():
    """How each pair of torch and Triton works by docs/inductor.md, and with which fixes."""
    text = (Path(__file__).parents[1] / "docs" / "inductor.md").read_text("utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    head = next(place for place, row in enumerate(rows) if tuple(row[1:]) == TRITONS)
    works = {}
    for torch, *cells in itertools.takewhile(lambda row: len(row) > 1, rows[head + 2 :]):
        works.update({(torch, triton): cell for triton, cell in zip(TRITONS, cells)})
    head = next(place for place, row in enumerate(rows) if row[-1] == "in the way, with compat")
    fixed = {}
    for torch, found, _, shims, _ in itertools.takewhile(
        lambda row: len(row) > 1, rows[head + 2 :]
    ):
        for triton in found.split(", "):
            fixed[torch, triton] = {one.strip("` ") for one in shims.split(",")}
    return works, fixed


def test_of_every_pair_that_was_measured_the_doctor_says_what_it_needs():
    works, fixed = measured()
    assert len(works) == 6 * len(TRITONS) and set(works.values()) == {"yes", "compat", "no"}
    assert fixed.keys() == {pair for pair, how in works.items() if how != "yes"}
    for pair, how in works.items():
        shims = {need.shim for need in pairs.needs(*pair)}
        assert shims == fixed.get(pair, set()), (pair, how)
        assert ("" in shims) == (how == "no"), (pair, how)


@pytest.mark.parametrize(
    "triton, numpy, wanted",
    [
        ("3.1.0", "2.0.2", "numpy<2"),
        ("2.3.1", "2.0.2", "numpy<2"),
        ("3.1.0", "1.26.4", None),
        ("3.2.0", "2.3.5", None),
        ("3.2.0", "2.4.0", "numpy<2.4"),
        ("3.6.0", "2.4.6", "numpy<2.4"),
        ("3.7.1", "2.4.6", None),
    ],
)
def test_a_numpy_that_is_too_new_for_the_interpreter_is_a_problem(fakes, triton, numpy, wanted):
    fakes.triton(triton)
    distribution(fakes.folder, "numpy", numpy)
    told = advice(fakes.report()).get(("problem", "numpy"))
    assert (told is None) if wanted is None else f"pip install '{wanted}'" in told


def test_two_distributions_in_one_folder_are_a_problem(fakes):
    fakes.triton("3.1.0")
    distribution(fakes.folder, "pytorch-triton", "3.2.0")
    report = fakes.report()
    assert "triton 3.1.0, pytorch-triton 3.2.0" in advice(report)["problem", "triton"]
    assert report["exit_code"] == 1


def test_a_triton_that_cannot_be_imported_is_a_problem_with_its_cure(fakes):
    fakes.triton(
        "3.1.0",
        code="raise ModuleNotFoundError(\"No module named 'setuptools'\", name='setuptools')",
    )
    report = fakes.report()
    assert report["triton"]["version"] == "3.1.0"
    assert "pip install 'setuptools'" in advice(report)["problem", "triton"]
    assert ("problem", "shims") not in advice(report)
    assert report["exit_code"] == 1


def test_shims_that_do_not_install_are_a_problem(fakes):
    """The fake has nothing to patch."""
    fakes.triton("3.1.0")
    report = fakes.report()
    states = {shim["name"]: shim["state"] for shim in report["shims"]}
    assert states["wavefront_limit"] == "failed" and states["reserved_options"] == "off"
    why = {shim["name"]: shim["why"] for shim in report["shims"] if shim["state"] == "failed"}
    assert why["wavefront_limit"].startswith("ModuleNotFoundError: No module named 'triton.")
    assert "No module named 'triton.runtime.autotuner'" in why["autotune_arguments"]
    assert (
        "compat.install() leaves out assumptions, atomic_results, autotune_arguments"
        in advice(report)["problem", "shims"]
    )


@pytest.mark.parametrize(
    "code, seconds, advised",
    [
        ("import os; os.abort()", 60, "died of SIGABRT"),
        ("import time; time.sleep(100)", 8, "no answer within 8 s"),
        ("import os; os._exit(0)", 60, "ended with status 0"),
        ("raise OSError('libcudart.so.12: cannot open')", 60, "libcudart.so.12"),
    ],
)
def test_a_torch_that_dies_or_hangs_costs_only_its_own_part(fakes, code, seconds, advised):
    fakes.triton("3.1.0")
    fakes.torch(code=code)
    report = fakes.report("--timeout", str(seconds))
    assert report["triton"]["version"] == "3.1.0" and report["triton"]["error"] is None
    assert report["torch"]["version"] == "2.5.1"
    assert advised in advice(report)["problem", "torch"]


@pytest.mark.parametrize(
    "properties, hip, target",
    [
        ("name='NVIDIA H200', major=9, minor=0", "None", "sm_90"),
        (
            "name='AMD Instinct', gcnArchName='gfx942:sramecc+:xnack-', major=9, minor=4",
            "'6.2'",
            "gfx942",
        ),
    ],
)
def test_devices_are_named_by_their_target(fakes, properties, hip, target):
    fakes.triton("3.1.0")
    fakes.torch(
        code=f"version.hip = {hip}\nimport types\ndevice = types.SimpleNamespace({properties}, total_memory=3 << 30)"
    )
    init = fakes.folder / "torch" / "__init__.py"
    init.write_text(
        init.read_text().replace("lambda: 0", "lambda: 1")
        + "    get_device_properties = staticmethod(lambda number: device)\n"
    )
    (device,) = fakes.report()["devices"]["listed"]
    assert (device["target"], device["memory"]) == (target, 3 << 30)
    assert f"{target}, 3 GiB" in fakes.run().stdout


def test_variables_caches_and_crashes_are_listed(fakes, tmp_path):
    fakes.triton("3.1.0")
    (tmp_path / "cache" / "ab").mkdir(parents=True)
    (tmp_path / "cache" / "ab" / "kernel.cubin").write_bytes(b"x" * 3000)
    crashes = tmp_path / "crosswarp" / "crashes"
    crashes.mkdir(parents=True)
    crash = {"kernel": "delta", "kind": "signal", "reason": "SIGABRT", "stderr": "Assertion"}
    (crashes / "0a.json").write_text(json.dumps(crash))
    (crashes / "torn.json").write_text('{"kernel')
    report = fakes.report(
        TRITON_INTERPRET="1", TRITON_ODD="\x1b[2Jred", OTHER="x", TORCHINDUCTOR_CACHE_DIR="/no/such"
    )
    names = {"TRITON_INTERPRET", "TRITON_ODD", "CROSSWARP_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"}
    assert names == set(report["environment"])
    cache, inductor = report["caches"]
    assert (cache["files"], cache["bytes"], cache["complete"]) == (1, 3000, True)
    assert (inductor["of"], inductor["exists"]) == ("torch.compile", False)
    assert report["crashes"]["count"] == 2
    assert [one["kernel"] for one in report["crashes"]["listed"]] == ["delta"]
    text = fakes.run(TRITON_INTERPRET="1", TRITON_ODD="\x1b[2Jred").stdout
    assert "\x1b" not in text and "TRITON_INTERPRET=1" in text and "delta: SIGABRT" in text


def test_the_text_fits_80_columns_whatever_is_in_it(fakes):
    fakes.triton("3.1.0")
    fakes.torch(pin="triton==3.0.0")
    done = fakes.run(TRITON_CACHE_DIR="/" + "long/" * 60, TRITON_X="y" * 500, TRITON_Z="ä\n" * 99)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.endswith("not fixed.\n")


HEALTHY = {
    "schema": 2, "crosswarp": "0.1.0", "guard": "auto",
    "python": {"version": "3.11.7", "executable": "/usr/bin/python3"},
    "triton": {
        "version": "3.2.0", "git": None, "path": "/site/triton", "build": "0a", "error": None, "missing": None,
        "distributions": [],
    },
    "torch": {
        "version": "2.6.0+cu124", "git": None, "cuda": "12.4", "hip": None, "error": None,
        "asks_for": ["triton==3.2.0"], "agrees": True,
    },
    "numpy": "2.3.5", "ptxas": [],
    "devices": {"listed": [{"name": "NVIDIA H200", "target": "sm_90", "memory": 150 << 30}], "error": None},
    "environment": {}, "caches": [], "crashes": {"path": "/c", "count": 0, "listed": []},
    "shims": [
        {"name": "compiler_crash", "tier": "refused", "state": "on", "why": "3.2.0 is in ==3.2.*",
         "symptom": "Assertion", "link": "https://github.com/a/b/issues/1"},
    ],
    "installed_here": [], "acted_here": [], "issues": None, "advice": [], "exit_code": 0,
}  # fmt: skip


def issue(**changes):
    fields = {
        "id": "x-1", "title": "The compiler aborts", "status": "reproduced", "triton": "==3.2.*",
        "outcome": "crash", "fingerprint": "reshapeOuts", "fixed_in": "3.3.0",
        "links": ["https://github.com/x/y/issues/1"], "workaround": "Use 4 warps.", "case": {"kernel": "k"},
        "checked": "2026-11-21",
    }  # fmt: skip
    return datafile.checked(Issue, {**fields, **changes})


@pytest.mark.parametrize(
    "changes, state",
    [
        ({"shim": "compiler_crash"}, "fixed"),
        ({}, "not fixed"),
        ({"shim": "no_such_shim"}, "not fixed"),
        ({"status": "unverified", "case": ()}, "reported"),
        ({"status": "by chance"}, "not fixed"),
        ({"status": "no longer reproduces", "case": ()}, None),
        ({"triton": ">=3.3", "fixed_in": None}, None),
        ({"torch": ">=2.7"}, None),
        ({"torch": "<2.7"}, "not fixed"),
        ({"targets": ["gfx*"]}, None),
        ({"targets": ["sm_9?"]}, "not fixed"),
        ({"targets": ["gfx*"], "lanes": ["interpret"]}, "not fixed"),
    ],
)
def test_issues_of_this_triton_torch_and_device(changes, state):
    report = host.with_issues(copy.deepcopy(HEALTHY), [issue(**changes)])
    assert [one["state"] for one in report["issues"]] == ([] if state is None else [state])
    assert report["exit_code"] == doctor.exit_code(report) == (1 if state == "not fixed" else 0)
    text = doctor_text.render(report)
    if state == "not fixed":
        assert "not fixed x-1: The compiler aborts" in text
        assert "x/y#1; fixed in Triton 3.3.0; Use 4 warps." in text
        assert text.endswith("1 known problem is not fixed.\n")
    else:
        assert text.endswith("fixed with compat.\n")


def test_it_begins_with_what_to_do_and_says_how_compat_is_installed(fakes):
    fakes.triton("3.2.0")
    fakes.torch(pin="triton==3.2.0")
    text = fakes.run(command=("-m", "crosswarp.reports.cli", "doctor")).stdout
    assert text.index("To do") < text.index("compat.install()") < text.index("\nTriton  ")
    assert "heal" not in text


def test_without_a_device_every_target_counts_and_one_can_be_named():
    report = copy.deepcopy(HEALTHY)
    report["devices"]["listed"] = []
    amd = issue(targets=["gfx*"])
    assert host.with_issues(copy.deepcopy(report), [amd])["exit_code"] == 1
    assert host.with_issues(copy.deepcopy(report), [amd], ["sm_90"])["exit_code"] == 0
    assert host.with_issues(copy.deepcopy(report), [amd], ["gfx942"])["exit_code"] == 1


def test_alone_compat_says_that_it_lists_only_shims():
    text = doctor_text.render(HEALTHY)
    assert "Known issues that no shim fixes are not listed here" in text
    assert text.endswith("Every shim of this Triton installs, and no pin is broken.\n")


def test_crosswarp_doctor_asks_another_python_and_adds_the_issues(fakes, tmp_path):
    """The other Python has no crosswarp of its own: -I -S would not find one, a bare PYTHONPATH neither."""
    fakes.triton("3.2.0")
    fakes.torch(pin="triton==3.2.0")
    done = fakes.run(
        "--json", "--guard", "off", "--targets", "sm_90", "--python", sys.executable,
        command=("-m", "crosswarp.reports.cli", "doctor"),
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["exit_code"] == 1
    states = {one["id"]: one["state"] for one in report["issues"]}
    assert states["fla-196"] == "not fixed"
    assert report["issues_scope"] == "sm_90"


def test_a_target_that_is_none_is_refused_and_a_product_is_taken(fakes, command, monkeypatch):
    report = {**copy.deepcopy(HEALTHY), "exit_code": 0}
    monkeypatch.setattr(doctor, "examine", lambda *a: copy.deepcopy(report))
    status, out, err = command("doctor", "--targets", "nonsense")
    assert (status, out) == (2, "")
    assert 'no target matches "nonsense"' in err and "crosswarp targets" in err
    _, out, _ = command("doctor", "--json", "--targets", "H100,MI300X")
    assert json.loads(out)["issues_scope"] == "sm_90, gfx942"


@pytest.mark.parametrize("python", ["/no/such/python", "/bin/true"])
def test_a_python_that_cannot_be_asked_ends_with_2(fakes, python):
    done = fakes.run("--python", python, command=("-m", "crosswarp.reports.cli", "doctor"))
    assert done.returncode == 2
    assert python in done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_no_error(fakes):
    done = subprocess.run(
        f"{sys.executable} -m crosswarp.compat doctor | head -1",
        shell=True, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stderr == "" and done.stdout.startswith("crosswarp doctor")


@pytest.mark.parametrize(
    "url, short",
    [
        ("https://github.com/triton-lang/triton/issues/5609", "triton-lang/triton#5609"),
        ("https://github.com/triton-lang/triton/pull/5/", "triton-lang/triton#5"),
        (
            "https://github.com/triton-lang/triton/blob/release/3.3.x/a/b.py",
            "triton-lang/triton: b.py",
        ),
        ("https://docs.example.org/x/y.html", "docs.example.org: y.html"),
    ],
)
def test_short_links(url, short):
    assert doctor_text.short_link(url) == short
