"""compat.install without Triton: cheap, lazy, idempotent; the real columns are in test_columns_real.py."""

import importlib.metadata
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from crosswarp import compat
from crosswarp.compat import listing, shims, vendors, versions
from crosswarp.compat.install import wanted_shims
from crosswarp.compat.launch import by_position, warps_within
from crosswarp.compat.record import Patches
from crosswarp.compat.shims import Listed, listed
from crosswarp.compat.versions import _in_plain_window, base_version, in_window, read


def python(code):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_takes_no_more_than_it_needs():
    """packaging and importlib.metadata took nine tenths of the time."""
    assert (
        python("""
        import sys
        before = set(sys.modules)
        import crosswarp.compat
        slow = ("packaging", "importlib.metadata", "dataclasses", "inspect", "pathlib")
        print([name for name in slow if name in set(sys.modules) - before])
        """)
        == "[]"
    )


def test_importing_and_installing_import_neither_triton_nor_torch():
    assert (
        python("""
        import sys
        from crosswarp import compat
        compat.install()
        print([name for name in ("triton", "torch", "numpy", "pytest") if name in sys.modules])
        """)
        == "[]"
    )


def test_the_list_says_what_the_records_do():
    """Shims are chosen by it, so that the modules of the others need not be imported. `crosswarp docs` writes it."""
    assert listed() == tuple(map(shims.in_list, compat.all_shims()))


def test_a_shim_that_the_list_lacks_is_imported(monkeypatch):
    monkeypatch.setattr(listing, "LISTING", listing.LISTING[1:])
    assert [one for one in listed.__wrapped__() if not isinstance(one, Listed)] == [
        compat.all_shims()[0]
    ]


def test_installing_imports_no_module_of_a_shim_that_only_waits():
    """Those of the interpreter do until it is imported."""
    imported, active = python("""
        import sys, types
        sys.modules["triton"] = triton = types.ModuleType("triton")
        triton.__version__, triton.__path__, triton.jit = "3.9.0", [], None
        from crosswarp import compat
        compat.install(tiers=["interpreter"])
        print([name for name in sys.modules if "compat.shims." in name])
        print({shim.tier for shim in compat.active()})
    """).splitlines()
    assert (imported, active) == ("[]", "{'interpreter'}")


@pytest.mark.parametrize("version", ["3.9.0", "2.3.1", "3.10", "3", "3.2.0", "3.9.0.1"])
def test_a_release_is_compared_as_packaging_compares_it(version):
    clauses = [
        f"{sign}{release}"
        for sign in ("==", "!=", ">=", "<=", "<", ">")
        for release in ("3.9", "3.9.0", "2.3", "3.10", "3", "3.2.0")
    ]
    clauses += ["==3.9.*", "!=3.2.*", "==3.*", "==3.9.0.*", "!=3.9.0.1.*"]
    windows = [*clauses, *(f"{one},{clauses[n // 2]}" for n, one in enumerate(clauses))]
    packagings = [
        SpecifierSet(window).contains(Version(version), prereleases=True) for window in windows
    ]
    assert [_in_plain_window(window, version) for window in windows] == packagings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.2.0", "3.2.0"),
        ("3.2.0-rc1", "3.2.0rc1"),
        ("3.2.0+GIT.1234", "3.2.0+git.1234"),
        ("3.2.0+a_-b", "3.2.0"),
    ],
)
def test_triton_names_its_version_in_packaging_s_spelling(monkeypatch, text, expected):
    monkeypatch.setitem(sys.modules, "triton", types.SimpleNamespace(__version__=text))
    assert (versions.triton_text(), versions.triton_version()) == (text, expected)


def test_the_version_of_torch_before_it_is_imported_and_after(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path / folder) for folder in ("none", "1", "2")])
    others = ("aiter-9.9.dist-info", "torchvision-0.24.0.dist-info", "torch-2.1.0.data")
    for name in (*(f"1/{other}" for other in others), "2/torch-2.9.1+cpu.dist-info"):
        (tmp_path / name).mkdir(parents=True)
    versions._installed_torch.cache_clear()
    try:
        assert versions.torch_version() == "2.9.1+cpu"
    finally:
        versions._installed_torch.cache_clear()
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.8.0"))
    assert versions.torch_version() == "2.8.0"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("Name: torch\nVersion: 2.9.1 \nSummary: x\n\nVersion: 9", "2.9.1"),
        ("Name: torch\nVersion: 2.9.1", "2.9.1"),
        ("Name: torch\n\nof the text\nVersion: 9\n", "the slow way"),
        ("Name: torch", "the slow way"),
        ("", "the slow way"),
        (None, "the slow way"),
        ("no distribution", None),
    ],
)
def test_the_version_of_a_torch_whose_folder_does_not_show_it(monkeypatch, metadata, expected):
    def distribution(name):
        if metadata == "no distribution":
            raise importlib.metadata.PackageNotFoundError(name)
        return types.SimpleNamespace(read_text={"METADATA": metadata}.get, version="the slow way")

    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    assert versions._installed_torch.__wrapped__() == expected


def test_the_version_of_a_torch_beside_the_program(monkeypatch, tmp_path):
    (tmp_path / "torch-2.7.0.dist-info").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [""])
    assert versions._installed_torch.__wrapped__() == "2.7.0"


@pytest.mark.parametrize(
    ("installed", "build", "expected"),
    [
        ({"triton": "3.2.0", "pytorch-triton": "3.1.0"}, None, "3.2.0"),
        ({versions.DISTRIBUTIONS[-1]: "3.1.0"}, None, "3.1.0"),
        ({}, vendors.Build("fbtriton", "3.9.0", "triton"), "3.9.0"),
        ({}, None, None),
    ],
)
def test_the_version_of_a_triton_that_is_not_imported(monkeypatch, installed, build, expected):
    def version(name):
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.delitem(sys.modules, "triton", raising=False)
    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(vendors, "installed", lambda: build)
    assert versions.triton_text() == versions.triton_version() == expected


@pytest.mark.parametrize("text", ["", ">=3.0,", "~=3.0", "===3.0", ">=3.0a1", "3.0", ">=03.0"])
def test_a_window_that_is_more_than_numbers_is_left_to_packaging(text):
    assert _in_plain_window(text, "3.9.0") is None


FAKE_TRITON = """
    import sys, types, pathlib, tempfile
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "triton").mkdir()
    (folder / "triton" / "__init__.py").write_text("__version__ = '3.9.9'\\njit = object()\\n")
    (folder / "triton" / "runtime").mkdir()
    (folder / "triton" / "runtime" / "__init__.py").write_text("")
    (folder / "triton" / "runtime" / "jit.py").write_text(
        "class JITFunction:\\n    def run(self):\\n        return 'bare'\\n")
    sys.path.insert(0, str(folder))
    # Shims of our own: those that ship need more of Triton than this.
    import crosswarp.compat
    def apply(patches):
        from triton.runtime.jit import JITFunction
        patches.set(JITFunction, "run", lambda self: "healed")
    shims = tuple(
        crosswarp.compat.Shim(name, "i", window, "s", "l", "d", apply)
        for name, window in (("now", ">=3.9"), ("once", "<3.9")))
    sys.modules["crosswarp.compat.install"].listed = lambda: shims
"""


def test_installed_before_the_import_it_waits_for_it():
    assert (
        python(
            FAKE_TRITON
            + """
    from crosswarp import compat
    compat.install()
    compat.install()
    assert compat.active() == []
    import triton
    print([shim.name for shim in compat.active()])
    """
        )
        == "['now']"
    )


def test_uninstall_puts_tritons_own_objects_back():
    assert (
        python(
            FAKE_TRITON
            + """
    from crosswarp import compat
    import triton.runtime.jit as jit
    own = vars(jit.JITFunction)["run"]
    with compat.installed():
        inside = vars(jit.JITFunction)["run"] is own
    print(inside, vars(jit.JITFunction)["run"] is own, compat.active())
    """
        )
        == "False True []"
    )


def test_asking_whether_there_is_a_triton_is_not_importing_it():
    """torch 2.15 asks before it imports."""
    assert (
        python(
            FAKE_TRITON
            + """
    import importlib.util
    from crosswarp import compat
    compat.install()
    assert importlib.util.find_spec("triton") is not None
    assert compat.active() == []
    import triton
    print([shim.name for shim in compat.active()])
    """
        )
        == "['now']"
    )


def test_uninstall_before_the_import_installs_nothing_later():
    assert (
        python(
            FAKE_TRITON
            + """
    from crosswarp import compat
    compat.install()
    compat.uninstall()
    import triton
    print(compat.active())
    """
        )
        == "[]"
    )


def test_an_unknown_guard_mode_says_which_there_are():
    with pytest.raises(compat.CompatError, match="use one of auto, always, off"):
        compat.install(guard="sometimes")


@pytest.mark.parametrize(
    "version, names",
    [
        ("2.3.1", {"reserved_options", "interpreter_reserved_options", "compiler_crash"}),
        ("3.0.0", {"interpreter_reserved_options", "wavefront_limit", "compiler_crash"}),
        ("3.1.0", {"interpreter_reserved_options", "wavefront_limit", "compiler_crash"}),
        ("3.2.0", {"interpreter_reserved_options", "wavefront_limit", "compiler_crash"}),
        ("3.3.1", {"wavefront_limit", "compiler_crash"}),
        ("3.4.0", {"wavefront_limit"}),
        ("3.6.0", {"wavefront_limit", "compiler_crash"}),
        ("3.7.1", {"wavefront_limit"}),
        ("3.9.0", {"wavefront_limit"}),
        # Nobody has tested any of them there, and these add no names.
        ("3.10.0", set()),
    ],
)
def test_only_the_shims_of_a_version_are_wanted(version, names):
    founding = {
        "reserved_options",
        "interpreter_reserved_options",
        "wavefront_limit",
        "compiler_crash",
    }
    wanted = wanted_shims("auto", version)
    assert {shim.name for shim in wanted} & founding == names
    assert all(in_window(shim.window, read(version).nearest) for shim in wanted)


def test_guard_modes():
    assert "compiler_crash" in {shim.name for shim in wanted_shims("always", "3.9.0")}
    assert "compiler_crash" not in {shim.name for shim in wanted_shims("off", "3.2.0")}


def test_every_shim_has_a_complete_record():
    shims = compat.all_shims()
    folder = Path(compat.__file__).parent / "shims"
    assert {shim.name for shim in shims} == {p.stem for p in folder.glob("*.py")} - {"__init__"}
    assert len({shim.name for shim in shims}) == len(shims)
    for shim in shims:
        assert all((shim.issue, shim.window, shim.symptom, shim.delete_when))
        assert shim.link.startswith("https://github.com/")


@pytest.mark.parametrize(
    "window, version, inside",
    [
        ("<3.0", "2.3.1", True),
        ("<3.0", "3.0.0", False),
        (">=3.2", "3.10.0", True),
        ("==3.2.*", "3.2.0+git1234", True),
        ("<3.8", "3.8.0a0+git99", False),
        (">=3.8", "3.8.0.dev20260101", True),
    ],
)
def test_windows(window, version, inside):
    assert in_window(window, version) is inside


def test_versions_are_not_compared_as_strings():
    assert base_version("3.10.0") > base_version("3.2.0")


def test_warps_within_a_block():
    assert warps_within(32, 64) == 16
    assert warps_within(32, 32) == 32
    assert warps_within(16, 64) == 16
    assert warps_within(1, 64) == 1


def test_by_position_gives_declared_options_to_kernel_and_launch():
    import inspect

    def kernel(x, n, BLOCK, num_warps):
        pass

    signature = inspect.signature(kernel)
    call = by_position(
        signature,
        (1,),
        {"n": 2, "BLOCK": 64, "num_warps": 8, "num_stages": 2},
        {"num_warps", "num_stages"},
    )
    assert call == ((1, 2, 64, 8), {"num_warps": 8, "num_stages": 2})
    assert by_position(signature, (), {"num_warps": 8}, {"num_warps"}) is None


def test_patches_leave_a_later_patch_of_somebody_else_alone():
    class Owner:
        value = "own"

    first = Patches()
    first.set(Owner, "value", "ours")
    Owner.value = "theirs"
    first.undo()
    assert Owner.value == "theirs"


@pytest.mark.parametrize(
    ("module", "parameters", "is_like"),
    [
        ("crosswarp.compat.shims.one", "x", True),
        # A function with more parameters exists for those.
        ("crosswarp.compat.shims.one", "x, y", False),
        ("theirs", "x", False),
    ],
)
def test_a_function_of_ours_looks_like_the_one_it_replaces(module, parameters, is_like):
    class Owner:
        def compile(self):
            """Compiles."""

    names = {"__name__": module}
    exec(f"def ours({parameters}): pass", names)
    patches = Patches()
    patches.set(Owner, "compile", names["ours"])
    name = "compile" if is_like else "ours"
    assert (Owner.compile.__name__, Owner.compile.__doc__ == "Compiles.") == (name, is_like)
    patches.undo()
    assert Owner.compile.__name__ == "compile"


def test_a_triton_without_a_version_is_left_alone():
    code = """
        import sys, types
        from crosswarp import compat
        from crosswarp.compat import install
        sys.modules["triton"] = triton = types.ModuleType("triton")
        triton.__path__, triton.jit = [], None
        install.triton_text = lambda: None
        compat.install()
        print(compat.active(), triton.jit)
    """
    assert python(code) == "[] None"
