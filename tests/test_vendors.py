"""Vendors' builds of Triton: found by their distribution, served as `triton`, and compared with the nearest release."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

from crosswarp.compat import tracing
from crosswarp.compat import vendors as builds
from crosswarp.compat.seams.language import is_tritons_own
from crosswarp.matrix import versions
from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.cell.kinds.check import observing
from crosswarp.matrix.environments import here
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts import issues
from crosswarp.matrix.results import fault, windows
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.verdict import Verdict, judge
from crosswarp.reports.text import summary, vendors
from crosswarp.reports.text.comment import comment

ROOT = Path(__file__).parent.parent
ASK = """
import json, sys
from crosswarp.compat import vendors, versions
build = vendors.serve()
vendors.serve()
import triton
import triton.language.core
import tokenspeed_triton.language.core as own
try:
    import triton.nothing
except ImportError as error:
    missing = str(error)
print(json.dumps([str(build), triton.__version__, triton.language.core is own, missing, own.__spec__.name]))
finders = sum(hasattr(one, "serves") for one in sys.meta_path)
print(json.dumps([versions.triton_text(), finders, "triton.knobs" in sys.modules]))
"""


def site(folder: Path, distribution: str, version: str, package: str) -> Path:
    """A folder in which a distribution with a package is installed."""
    (folder / package / "language").mkdir(parents=True)
    (folder / package / "__init__.py").write_text(
        f"from . import knobs\n__version__ = '{version}'\ndef jit(f): return f\n"
    )
    (folder / package / "knobs.py").write_text("")
    (folder / package / "language" / "__init__.py").write_text("")
    (folder / package / "language" / "core.py").write_text("")
    info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    )
    return folder


def run(code: str, *paths: Path) -> list[list[object]]:
    links = paths[0] / "links" / "crosswarp"
    links.mkdir(parents=True)
    (links / "compat").symlink_to(ROOT / "compat")
    path = ":".join(map(str, (links.parent, *paths)))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_build_of_another_name_is_served_as_triton(tmp_path):
    found, counted = run(
        ASK, site(tmp_path, "tokenspeed-triton", "3.9.10.post20261028", "tokenspeed_triton")
    )
    assert found[:3] == ["tokenspeed-triton-3.9.10", "3.9.10.post20261028", True]
    assert found[3] == "No module named 'triton.nothing'"
    assert found[4] == "tokenspeed_triton.language.core"
    assert counted == ["3.9.10.post20261028", 1, True]


def test_tritons_own_is_not_replaced(tmp_path):
    place = site(tmp_path, "tokenspeed-triton", "3.9.10", "tokenspeed_triton")
    site(tmp_path / "own", "triton", "3.9.0", "triton")
    code = (
        "import json\nfrom crosswarp.compat import vendors\nbuild = vendors.serve()\n"
        "import triton\nprint(json.dumps([build, triton.__version__]))"
    )
    assert run(code, place, tmp_path / "own") == [[None, "3.9.0"]]


def test_a_build_that_imports_as_triton_is_known_by_its_distribution(tmp_path):
    code = "import json\nfrom crosswarp.compat import vendors\nprint(json.dumps([str(vendors.serve())]))"
    assert run(code, site(tmp_path, "fbtriton", "3.7.4", "triton")) == [["fbtriton-3.7.4"]]


def test_the_column_names_the_build():
    own = here.Here(Path("python"), {"triton": "3.9.0", "torch": "2.15.0"})
    build = here.Here(Path("python"), {"triton": "3.9.10", "vendor": "tokenspeed-triton-3.9.10"})
    assert own.column.id == "here-triton-3.9.0" and versions.vendor_of(own.column.id) == ""
    assert build.column.id == "here-tokenspeed-triton-3.9.10"
    assert versions.vendor_of(build.column.id) == "tokenspeed-triton-3.9.10"
    assert versions.vendor_of("triton-3.9.0") == ""


@pytest.mark.parametrize(
    ("build", "release"),
    [("tokenspeed-triton-3.9.10", "3.9.0"), ("fbtriton-3.7.4", "3.7.1"), ("fbtriton-3.8.0", "3.8.0")],
)  # fmt: skip
def test_the_nearest_release(build, release):
    assert vendors.nearest_release(build) == release


def cell(column: str, outcome: str, **more: object) -> Record:
    known = next(one for one in issues.load() if one.id == "gluon-thread-barrier")
    fingerprint = "AttributeError: has no attribute 'thread_barrier'" if outcome != "pass" else ""
    return Record(
        column=column, target="sm_90", lane="compile", mode="bare", kernel=known.case[0].kernel,
        case="thread-barrier", outcome=outcome, fingerprint=fingerprint, versions={"triton": "3.9.10"}, **more,
    )  # fmt: skip


def test_what_passes_in_a_build_says_nothing_of_the_affected_releases():
    for column, wrong in (("here-tokenspeed-triton-3.9.10", 0), ("here-triton-3.9.10", 1)):
        records = [cell(column, "pass")]
        verdict = judge(records, issues.load())
        assert len(verdict.unexpectedly_green) == 1
        assert len(windows.wrong(records, verdict, issues.load())) == wrong


def not_fixed(column: str) -> str:
    """The lines of a run's summary about fixes that do not help."""
    known = next(one for one in issues.load() if one.id == "gluon-thread-barrier")
    verdict = Verdict(shim_failed=[(cell(column, "api-error"), known)])
    seen = types.SimpleNamespace(verdict=verdict, columns=[column], wrong_windows=[])
    (text,) = summary._unexpected(seen)
    return text


def test_a_fix_that_does_not_fit_a_build_is_said_of_the_build():
    text = not_fixed("here-tokenspeed-triton-3.9.10")
    assert "DIFFERS FROM TRITON 3.9.0 (1 cells)" in text
    assert "Fails here with compat too (1 cells)" in text and "of which 3.9.0" in text
    assert "gluon_names/thread-barrier" in text and "shim" not in text
    text = not_fixed("here-triton-3.9.10")
    assert text.startswith("NOT FIXED (1 cells)") and "Correct the shim" in text


def test_a_comment_asks_for_no_correction_of_a_fix_on_a_build(stored):
    for column, asked in (("here-tokenspeed-triton-3.9.10", False), ("here-triton-3.9.10", True)):
        cells = [
            dataclasses.replace(cell(column, "compile-error"), mode=mode)
            for mode in ("bare", "shimmed")
        ]
        text = comment(stored(cells, issues.load(), code=1))
        assert ("Correct the shim" in text) == asked and ("stand aside" in text) != asked
        assert "gluon-thread-barrier" in text and "`gluon_names`" in text


@pytest.mark.parametrize(
    ("column", "asked"), [("here-tokenspeed-triton-3.9.10", False), ("here-triton-3.9.10", True)]
)
def test_a_comment_asks_for_no_change_of_ours_where_a_build_differs(stored, column, asked):
    failing = dataclasses.replace(cell(column, "crash"), kernel="softmax", fingerprint="SIGABRT")
    text = comment(stored([failing], issues.load(), code=1))
    assert ("Regressed: 1 root cause" in text) == asked
    assert ("Differs from Triton 3.9.0: 1 root cause" in text) != asked
    assert ("1 regressed" in text) == asked and ("1 unlike the release" in text) != asked
    text = comment(stored([cell(column, "pass")], issues.load(), code=1))
    assert ("Close their affected releases" in text) == asked
    assert ("Passes on a vendor's build: 1 known issues" in text) != asked
    assert ("are the vendor's" in text) != asked


def test_a_builtin_of_ours_is_of_the_package_that_is_loaded(monkeypatch):
    for package in ("triton", "tokenspeed_triton"):
        monkeypatch.setitem(sys.modules, "triton", types.ModuleType(package))
        assert tracing.builtin(lambda: None).__module__ == f"{package}.language.core"


def test_check_notes_layouts_and_dtypes_of_a_build_of_another_name():
    kind = dataclasses.make_dataclass("BlockedLayout", [("order", list)])
    kind.__module__ = "tokenspeed_triton.experimental.gluon.language._layouts"
    dtype = type("dtype", (), {"__str__": lambda _: "fp16"})
    dtype.__module__ = "tokenspeed_triton.language.core"
    assert observing._constant("layout", kind([1, 0]))["value"] == {
        "made": "triton.experimental.gluon.language._layouts.BlockedLayout",
        "arguments": [],
        "words": {"order": {"value": [1, 0]}},
    }
    assert observing._constant("kind", dtype())["value"] == {"dtype": "float16"}


def test_all_that_an_interpreter_lacks_is_said_at_once(monkeypatch):
    answers = {
        "triton-error": "ImportError: no triton",
        "torch": "2.15.0",
        "missing": ["packaging", "pytest", "pytest-xdist"],
        "crosswarp": "no module",
    }
    monkeypatch.setattr(here, "_asked", lambda python, question: dict(answers))
    with pytest.raises(EnvironmentFailed) as raised:
        here.look(Path("/somewhere/python"), tests=True)
    text = str(raised.value)
    assert "triton cannot be imported (ImportError: no triton)" in text
    assert "missing there: packaging, pytest, pytest-xdist, crosswarp. " in text
    assert "pip install crosswarp numpy packaging pytest pytest-xdist" in text
    assert "import torch, triton" in text
    # Only a library's tests run in pytest.
    with pytest.raises(EnvironmentFailed) as raised:
        here.look(Path("/somewhere/python"))
    text = str(raised.value)
    assert "missing there: packaging, crosswarp. " in text
    assert "pip install crosswarp numpy packaging pyelftools; or" in text


def test_each_other_name_of_triton_says_whose_it_is_and_what_follows():
    for name, known in builds.KNOWN.items():
        said = builds.about(name, "3.7.4")
        assert said.startswith(f"{name} 3.7.4 is {known.name}. ")
        assert ("may not hold" in said) is known.changed
        assert (f"It imports as {known.package}." in said) is (known.package != "triton")
    assert builds.about("triton", "3.9.0") == ""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fbtriton==3.7.4\ntorch==2.13.0", "fbtriton 3.7.4"),
        ("tokenspeed_triton-3.9.10.post20261028", "tokenspeed-triton 3.9.10"),
        ("pytorch-triton-xpu    3.3.0+git", "pytorch-triton-xpu 3.3.0"),
        ("triton==3.9.0", ""),
        ("my-fbtriton 3.7.4", ""),
        ("fbtriton fails", ""),
    ],
)
def test_a_log_that_names_a_vendors_build(text, name):
    assert builds.named(text).partition(" is ")[0] == name


def test_why_and_lint_say_that_the_installed_triton_is_a_vendors(tmp_path, command, monkeypatch):
    place = site(tmp_path / "site", "fbtriton", "3.7.4+fb", "triton")
    monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    text = "ValueError: type fp8e4nv not supported in this architecture"
    status, out, _ = command("why", text)
    assert status == 0 and "fbtriton 3.7.4 is Meta's build" in out
    assert json.loads(command("why", text, "--format", "json")[1])["build"].startswith("fbtriton")
    assert "Meta" not in command("why", text, "--triton", "3.9.0")[1]
    (tmp_path / "kernel.py").write_text("import triton\n")
    asked = command("lint", str(tmp_path / "kernel.py"), "--triton", "3.9.0")
    assert "Installed: fbtriton 3.7.4" in asked[2]


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'triton.language.extra.tlx'",
        "ImportError: cannot import name 'tlx' from 'triton.language.extra' (/site/triton/language/extra/__init__.py)",
        "AttributeError: module 'triton.language.extra' has no attribute 'tlx'",
    ],
)
def test_a_release_without_tlx_is_answered_with_whose_it_is(command, text):
    status, out, _ = command("why", text)
    assert status == 0 and "TLX (triton.language.extra.tlx) is fbtriton's" in " ".join(out.split())
    assert "triton.ops" not in out


@pytest.mark.parametrize(
    "line", ["import triton.language.extra.tlx as tlx", "from triton.language.extra import tlx"]
)
@pytest.mark.parametrize("guarded", [False, True])
def test_lint_says_whose_tlx_is_where_its_import_is_not_guarded(tmp_path, command, line, guarded):
    text = f"try:\n    {line}\nexcept ImportError:\n    tlx = None\n" if guarded else f"{line}\n"
    (tmp_path / "kernel.py").write_text(text)
    status, out, _ = command("lint", str(tmp_path / "kernel.py"), "--triton", "3.7.1,3.9.0")
    assert (status, "tl.extra.tlx is TLX, which fbtriton has" in out) == (
        (0, False) if guarded else (1, True)
    )


def test_the_next_step_for_a_kernel_in_tlx_is_fbtriton():
    failing = dataclasses.replace(
        cell("triton-3.9.0", "api-error"),
        kernel="theirs",
        fingerprint="ModuleNotFoundError: No module named 'triton.language.extra.tlx'",
    )
    assert "TLX is fbtriton's" in str(fault.of(failing))


def test_the_package_of_a_vendor_is_tritons_in_a_fingerprint():
    for package in builds.PACKAGES.values():
        assert (
            fingerprint.of_text(f"{package}.runtime.errors.X: no") == "triton.runtime.errors.X: no"
        )


@pytest.mark.parametrize(
    ("module", "own"),
    [
        ("triton.compiler.compiler", True), ("tokenspeed_triton.compiler.compiler", True),
        ("tokenspeed_triton.experimental.gluon._runtime", False), ("mine_triton.compiler.compiler", False),
    ],
)  # fmt: skip
def test_fixes_reach_the_kernels_of_a_build_of_another_name(module, own):
    source = type("ASTSource", (), {"__module__": module, "fn": None})()
    assert is_tritons_own(source) is own


def test_tlx_is_another_language_under_any_name():
    scope = {"tlx": types.ModuleType("tokenspeed_triton.language.extra.tlx")}
    exec("def kernel(): tlx.barrier()", scope)
    fn = types.SimpleNamespace(fn=scope["kernel"])
    source = type("ASTSource", (), {"__module__": "triton.compiler.compiler", "fn": fn})()
    assert not is_tritons_own(source)
