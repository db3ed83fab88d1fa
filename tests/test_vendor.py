"""`crosswarp vendor`, and several copies of compat in one process; on a Triton made of files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

import pytest

from crosswarp import compat
from crosswarp.compat.copies import VERSION
from crosswarp.reports.vendoring import needs

ROOT = Path(__file__).resolve().parent.parent

# Each copy wraps what Triton has, and the wrapper says whose it is.
FAKE = """
    import importlib, sys, warnings
    warnings.simplefilter("error")
    def copy(name, shims="before middle later", version=None):
        module = importlib.import_module(name)
        installing = sys.modules[name + ".install"]
        def shim(one, order):
            def apply(patches):
                from triton.runtime import JITFunction
                run = JITFunction.run
                patches.set(JITFunction, "run", lambda self: [*run(self), f"{one} of {name.split('.')[0]}"])
            return module.Shim(one, "i", ">=3.9", "s", "l", "d", apply, order)
        made = tuple(shim(one, ["before", "middle", "later"].index(one)) for one in shims.split())
        installing.listed = lambda: made
        if version:
            installing._HERE.version = version
        return module
    def ran():
        from triton.runtime import JITFunction
        return [one for one in JITFunction().run() if one != "own"]
"""


@pytest.fixture
def vendored(tmp_path, command):
    """`vendored("mylib", "all")`: the folder of a copy in a package of that name."""

    def make(name, *arguments):
        folder = tmp_path / name / "_compat"
        folder.parent.mkdir(exist_ok=True)
        (folder.parent / "__init__.py").touch()
        status, out, err = command("vendor", *arguments, "--into", str(folder))
        assert (status, err) == (0, ""), err
        return folder

    return make


@pytest.fixture
def python(tmp_path):
    def run(code, fake=FAKE):
        triton = tmp_path / "triton"
        triton.mkdir(exist_ok=True)
        (triton / "__init__.py").write_text("__version__ = '3.9.9'\njit = object()\n")
        (triton / "runtime.py").write_text(
            "class JITFunction:\n    def run(self):\n        return ['own']\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(fake) + textwrap.dedent(code)],
            capture_output=True, text=True, check=False, timeout=120,
            env={"PATH": "", "PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


def test_a_copy_says_of_which_release_it_is(vendored):
    release = compat.__version__
    assert release == ".".join(map(str, VERSION))
    folder = vendored("mylib", "block_pointers")
    assert (folder / "LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text("utf-8")
    for path in folder.rglob("*.py"):
        assert path.read_text("utf-8").startswith(f"# From crosswarp {release} (Apache-2.0")


def test_each_shim_works_with_what_it_needs_and_without_crosswarp(vendored, python):
    """All in one process, which imports no crosswarp: what a shim needs came with it. Shims that need the same files
    share a copy."""
    by_needs = defaultdict(list)
    for shim in compat.all_shims():
        own = {f"shims/{shim.name}.py"}
        by_needs[frozenset({*needs.files([shim.name], False)} - own)].append(shim.name)
    copies = {f"with_{names[0]}": names for names in by_needs.values()}
    for folder, names in copies.items():
        vendored(folder, *names)
    said = python(
        f"""
        import importlib, pkgutil, sys
        class Refused:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "crosswarp":
                    raise AssertionError(name)
        sys.meta_path.insert(0, Refused())
        for folder, names in {copies!r}.items():
            package = importlib.import_module(f"{{folder}}._compat")
            for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
                try:
                    importlib.import_module(module.name)
                except ModuleNotFoundError as error:
                    # What is imported only where there is a Triton.
                    assert error.name.split(".")[0] in ("triton", "numpy"), error
            assert set(names) <= {{shim.name for shim in package.all_shims()}}, names
        print(len({copies!r}))
        """,
        fake="",
    )
    assert said == [str(len(copies))]
    assert sum(map(len, copies.values())) == len(compat.all_shims())


def test_no_module_that_is_vendored_names_its_own_package(tmp_path):
    everything = needs.files([shim.name for shim in compat.all_shims()], True)
    assert {"install.py", "guard.py", "language.py"} <= set(everything)
    # These are for the command line of an installed crosswarp.
    assert not {"doctor.py", "probe.py", "run.py", "__main__.py"} & set(everything)
    (tmp_path / "shims").mkdir()
    for name in ("__init__.py", "shims/__init__.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "shims" / "bad.py").write_text("def f():\n    from crosswarp import compat\n")
    with pytest.raises(ValueError, match="shims/bad.py, line 2"):
        needs.files(["bad"], False, tmp_path)


@pytest.mark.parametrize("when", ["before", "after"])
def test_two_copies_and_an_installed_one_apply_each_shim_once(vendored, python, when):
    vendored("one", "all")
    vendored("two", "all")
    said = python(f"""
        if {when!r} == "after":
            import triton
        one, two, ours = copy("one._compat"), copy("two._compat", "middle"), copy("crosswarp.compat")
        two.install(); two.install(); one.install(); ours.install(); two.install()
        import triton
        print([text.split()[0] for text in ran()])
        for each in (one, two, ours):
            print([shim.name for shim in each.active()])
        """)
    assert said == ["['before', 'middle', 'later']"] * 4


def test_what_one_copy_takes_back_another_keeps(vendored, python):
    vendored("one", "all")
    vendored("two", "all")
    said = python("""
        import triton
        from triton.runtime import JITFunction
        own = JITFunction.run
        one, two = copy("one._compat"), copy("two._compat")
        one.install(only=["before"])
        print(ran())
        with two.installed(only=["before", "later"]):
            print(ran())
            one.uninstall()
            print(ran())
        print(ran(), JITFunction.run is own, one.active(), two.active())
        """)
    assert said == [
        "['before of one']",
        "['before of one', 'later of one']",
        "['before of two', 'later of two']",
        "[] True [] []",
    ]


def test_the_newest_copy_applies_and_what_it_lacks_another_does(vendored, python):
    vendored("one", "all")
    vendored("two", "all")
    said = python("""
        import triton
        one, two = copy("one._compat", version=(0, 1, 0)), copy("two._compat", "before later", (0, 10, 0))
        one.install()
        print(ran())
        two.install()
        print(ran())
        two.uninstall()
        print(ran())
        """)
    assert said == [
        "['before of one', 'middle of one', 'later of one']",
        "['before of two', 'middle of one', 'later of two']",
        "['before of one', 'middle of one', 'later of one']",
    ]


def test_under_another_patch_whoever_applied_it_stays(vendored, python):
    vendored("one", "all")
    said = python("""
        import triton
        from triton.runtime import JITFunction
        one, ours = copy("one._compat", "before"), copy("crosswarp.compat", "before later", (9, 0))
        one.install()
        below = JITFunction.run
        JITFunction.run = lambda self: [*below(self), "theirs"]
        ours.install()
        print(ran())
        """)
    assert said == ["['before of one', 'theirs', 'later of crosswarp']"]


def test_a_shim_that_one_copy_cannot_apply_another_does(vendored, python):
    vendored("one", "all")
    said = python("""
        import triton
        one, ours = copy("one._compat", version=(9, 0)), copy("crosswarp.compat")
        def fails(patches):
            raise RuntimeError("moved")
        made = sys.modules["one._compat.install"].listed()
        made = tuple(s._replace(apply=fails) if s.name == "middle" else s for s in made)
        sys.modules["one._compat.install"].listed = lambda: made
        warnings.simplefilter("ignore")
        one.install()
        print(ran(), list(one.left_out()))
        ours.install()
        print(ran(), ours.left_out())
        """)
    assert said == [
        "['before of one', 'later of one'] ['middle']",
        "['before of one', 'middle of crosswarp', 'later of one'] {}",
    ]


def test_an_exception_of_one_copy_is_caught_as_that_of_another(vendored, python):
    vendored("one", "all")
    said = python("""
        from crosswarp import compat as ours
        from one import _compat as one
        assert one.__file__ != ours.__file__ and one.install is not ours.install
        try:
            one.install(guard="sometimes")
        except ours.CompatError:
            print("caught", one.CompilerCrashed is ours.CompilerCrashed, one.CompatWarning is ours.CompatWarning)
        """)
    assert said == ["caught True True"]


def test_the_shims_of_the_interpreter_wait_once_for_all_copies(vendored, python, tmp_path):
    """Each copy had a finder that asked all others."""
    vendored("one", "interpreter_bf16", "interpreter_nan")
    (tmp_path / "triton").mkdir()
    said = python(
        """
        import pathlib, sys
        import triton.runtime
        folder = pathlib.Path(triton.__file__).parent
        triton.runtime.__path__ = [str(folder)]
        (folder / "interpreter.py").write_text("value = ['own']")
        from crosswarp.compat import interpreter as ours
        from crosswarp.compat.record import Patches
        from one._compat import interpreter as theirs
        def wrap(text):
            def apply(patches, module):
                patches.set(module, "value", [*module.value, text])
            return apply
        made = [Patches(), Patches()]
        ours.once_imported(wrap("ours"))(made[0])
        theirs.once_imported(wrap("theirs"))(made[1])
        import triton.runtime.interpreter as interpreter
        print(interpreter.value, [f for f in sys.meta_path if "Interpreter" in type(f).__name__])
        """,
        fake="",
    )
    assert said == ["['own', 'ours', 'theirs'] []"]


def files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_what_somebody_edited_is_never_overwritten(vendored, command):
    folder = vendored("mylib", "block_pointers")
    with (folder / "install.py").open("a") as file:
        file.write("# ours\n")
    before = files(folder)
    status, out, err = command("vendor", "all", "--into", str(folder))
    assert status == 2 and "install.py was not written by `crosswarp vendor`, or edited" in err
    assert files(folder) == before
    status, out, err = command("vendor", "--check", "--into", str(folder))
    assert status == 1 and "install.py: edited, or not of `crosswarp vendor`" in out
    assert len(out.splitlines()) == 2


def test_a_file_that_is_in_the_way_is_left_alone(vendored, command, tmp_path):
    folder = tmp_path / "mylib" / "_compat"
    folder.mkdir(parents=True)
    (folder / "install.py").write_text("mine\n")
    (folder / "notes.py").write_text("mine, and in nobody's way\n")
    status, _, err = command("vendor", "block_pointers", "--into", str(folder))
    assert status == 2 and "install.py" in err and "notes.py" not in err
    assert set(map(str, files(folder))) == {"install.py", "notes.py"}


def test_nothing_is_written_through_a_link(vendored, command, tmp_path):
    folder, theirs = vendored("mylib", "block_pointers"), tmp_path / "theirs"
    theirs.mkdir()
    for path in (folder / "shims").iterdir():
        path.unlink()
    (folder / "shims").rmdir()
    (folder / "shims").symlink_to(theirs)
    status, _, err = command("vendor", "--into", str(folder))
    assert status == 2 and "it is a link" in err and not list(theirs.iterdir())
    # A file that is a link is replaced, and what it points to stays.
    (folder / "shims").unlink()
    (folder / "install.py").unlink()
    (folder / "install.py").symlink_to(theirs / "new.py")
    assert command("vendor", "--into", str(folder))[0] == 0
    assert not (folder / "install.py").is_symlink() and not list(theirs.iterdir())


def test_an_edited_licence_is_seen(vendored, command):
    folder = vendored("mylib", "block_pointers")
    (folder / "LICENSE").write_text("do as you like\n")
    status, out, _ = command("vendor", "--check", "--into", str(folder))
    assert status == 1 and "LICENSE: edited" in out


def test_the_ends_of_lines_are_nobodys_edit(vendored, command):
    folder = vendored("mylib", "block_pointers")
    for path in (p for p in folder.rglob("*") if p.is_file()):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert command("vendor", "--check", "--into", str(folder))[0] == 0


def test_renewing_keeps_the_choice_and_removes_what_is_no_longer_needed(vendored, command):
    folder = vendored("mylib", "block_pointers", "compiler_crash")
    assert (folder / "guard.py").exists()
    # As an older release would have written them: a module that is gone now, and another content.
    text = (
        (folder / "guard.py")
        .read_text("utf-8")
        .replace("From crosswarp 0.1.0", "From crosswarp 0.0.1")
    )
    (folder / "gone.py").write_text(text)
    (folder / "guard.py").write_text(text)
    status, out, _ = command("vendor", "--check", "--into", str(folder))
    assert status == 1
    assert "gone.py: no longer needed" in out and "guard.py: not as this crosswarp writes it" in out
    assert "It is of crosswarp 0.0.1, and this is 0.1.0: renew it" in out
    assert command("vendor", "--into", str(folder))[0] == 0
    assert not (folder / "gone.py").exists()
    assert command("vendor", "--check", "--into", str(folder))[0] == 0
    chosen = re.search("^shims: (.*)$", (folder / "VENDORED").read_text("utf-8"), re.M)
    assert chosen and chosen[1] == "block_pointers, compiler_crash"


@pytest.mark.parametrize(
    ("arguments", "place", "said"),
    [
        ((), "mylib/_compat", "holds nothing vendored yet. Name shims, or `all`"),
        (("compiler_crsh",), "mylib/_compat", "Did you mean compiler_crash"),
        (("all",), "mylib/not-a-name", "is no name of a package"),
        (("all",), "nowhere/mylib/_compat", "Name a folder inside your package"),
        (("all",), "mylib/file", "this is a file"),
    ],
)
def test_what_cannot_be_done_says_what_can(command, tmp_path, arguments, place, said):
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib" / "file").touch()
    status, _, err = command("vendor", *arguments, "--into", str(tmp_path / place))
    assert status == 2 and said in err
    assert os.listdir(tmp_path / "mylib") == ["file"]
