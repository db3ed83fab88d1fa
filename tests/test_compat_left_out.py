"""A shim never breaks its host, and several hosts in one process do not break each other; on a Triton made of files."""

import functools
import subprocess
import sys
import textwrap

import pytest

from crosswarp import compat
from crosswarp.compat.record import Patches, covered_by_others

# Three shims of our own: "broken" replaces an attribute, and then does not find another.
FAKE_TRITON = """
    import pathlib, sys, tempfile, threading, warnings
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "triton").mkdir()
    (folder / "triton" / "__init__.py").write_text("__version__ = '3.9.9'\\njit = object()\\n")
    (folder / "triton" / "runtime.py").write_text(
        "class JITFunction:\\n    def run(self):\\n        return ['own']\\n    def bind(self):\\n        pass\\n")
    sys.path.insert(0, str(folder))
    from crosswarp import compat
    def wrapping(name):
        def apply(patches):
            from triton.runtime import JITFunction
            run = JITFunction.run
            patches.set(JITFunction, "run", lambda self: [*run(self), name])
            if name == "broken":
                patches.set(JITFunction, "bind", None)
                JITFunction.moved_since
        return apply
    def shim(name, order=0):
        return compat.Shim(name, "i", ">=3.9", "symptom of " + name, "l", "d", wrapping(name), order)
    installing = sys.modules["crosswarp.compat.install"]
    shims = [shim("before"), shim("broken"), shim("later")]
    installing.listed = lambda: tuple(shims)
    def names():
        return [one.name for one in compat.active()]
    def ran():
        from triton.runtime import JITFunction
        return JITFunction().run()
    said = []
    warnings.showwarning = lambda message, kind, *rest: said.append((kind.__name__, str(message)))
    warnings.simplefilter("always")
"""


def test_ctrl_c_takes_back_what_its_stage_had_set_and_nothing_else():
    class Owner:
        first = second = 1

    def stage():
        patches.set(Owner, "second", 2)
        raise KeyboardInterrupt

    patches = Patches()
    patches.set(Owner, "first", 2)
    with pytest.raises(KeyboardInterrupt):
        patches.attempt(stage)
    assert (Owner.first, Owner.second) == (2, 1)


@pytest.fixture
def python(tmp_path):
    def run(code, *options):
        done = subprocess.run(
            [sys.executable, *options, "-c", textwrap.dedent(FAKE_TRITON) + textwrap.dedent(code)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={"TMPDIR": str(tmp_path), "PATH": ""},
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_shim_that_raises_is_undone_said_once_and_left_out(python, when):
    done = python(f"""
        if {when!r} == "after":
            import triton
        compat.install()
        import triton
        from triton.runtime import JITFunction
        assert names() == ["before", "later"], names()
        assert ran() == ["own", "before", "later"], ran()
        assert JITFunction.bind is not None
        compat.install()
        assert names() == ["before", "later"]
        compat.uninstall()
        assert ran() == ["own"] and names() == [] and compat.left_out() == {{}}
        compat.install()
        assert names() == ["before", "later"] and list(compat.left_out()) == ["broken"]
        (one,) = said
        print(*one)
    """).stdout
    assert done.startswith("CompatWarning the shim broken cannot be applied to Triton 3.9.9")
    assert "AttributeError" in done and "moved_since" in done and "symptom of broken" in done
    assert "report" in done and "compat doctor" in done


def test_where_warnings_are_errors_the_host_goes_on(python):
    done = python(
        """
        warnings.resetwarnings()
        warnings.simplefilter("error")
        compat.install()
        import triton
        print(names(), list(compat.left_out()))
        """
    )
    assert done.stdout == "['before', 'later'] ['broken']\n"
    assert done.stderr.count("CompatWarning: the shim broken cannot be applied") == 1


def test_an_import_of_triton_never_fails_because_of_us(python):
    done = python("""
        compat.install()
        def listed():
            raise RuntimeError("ours")
        installing.listed = listed
        import triton
        print(triton.jit is not None, said[0][1])
    """).stdout
    assert done.startswith(
        "True crosswarp.compat is not installed after all, because of RuntimeErr"
    )


def test_an_import_by_a_loader_that_takes_no_attributes_works(python):
    done = python("""
        import importlib.machinery
        class Loader:
            __slots__ = ()
            def create_module(self, spec): return None
            def exec_module(self, module): module.jit, module.__version__ = object(), "3.9.9"
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "triton":
                    return importlib.machinery.ModuleSpec(name, Loader(), is_package=True)
        sys.meta_path.insert(0, Finder())
        compat.install()
        import triton
        triton.__path__ = [str(folder / "triton")]
        print(len(said), "call compat.install() after it" in said[0][1])
        compat.install()
        print(names())
    """).stdout
    assert done == "1 True\n['before', 'later']\n"


def test_ctrl_c_while_applying_leaves_a_state_that_the_next_call_completes(python):
    done = python("""
        import triton
        own = shims[1]
        def stop(patches):
            from triton.runtime import JITFunction
            patches.set(JITFunction, "bind", None)
            raise KeyboardInterrupt
        shims[1] = own._replace(apply=stop)
        try:
            compat.install()
        except KeyboardInterrupt:
            from triton.runtime import JITFunction
            print(names(), JITFunction.bind is not None)
        shims[1] = own._replace(apply=wrapping("broken but not now"))
        compat.install()
        print(names(), ran())
        compat.uninstall()
        print(names(), ran())
    """).stdout.splitlines()
    assert done == [
        "['before'] True",
        "['before', 'broken', 'later'] ['own', 'before', 'broken but not now', 'later']",
        "[] ['own']",
    ]


def test_a_stage_that_fails_later_takes_the_whole_shim_back(python):
    done = python("""
        import triton
        from triton.runtime import JITFunction
        def staged(patches):
            run = JITFunction.run
            def first(self):
                patches.attempt(second)
                return run(self)
            def second():
                patches.set(JITFunction, "bind", None)
                JITFunction.moved_since
            patches.set(JITFunction, "run", first)
        shims[1] = shims[1]._replace(apply=staged)
        compat.install()
        assert names() == ["before", "broken", "later"]
        print(ran(), names(), JITFunction.bind is not None, len(said))
        print(ran(), names(), len(said))
        # What it had replaced lies under "later" now, and comes off with it.
        compat.uninstall()
        print(ran(), names())
    """).stdout.splitlines()
    assert done == [
        "['own', 'before', 'later'] ['before', 'later'] True 1",
        "['own', 'before', 'later'] ['before', 'later'] 1",
        "['own'] []",
    ]


def test_only_and_exclude(python):
    done = python("""
        import triton
        shims.append(shim("last"))
        for how in (dict(only=["later", "before"]), dict(exclude=["broken", "last"]), dict(only="last"),
                    dict(only=["last", "later"], exclude=["last"]), dict(only=[])):
            with compat.installed(**how):
                print(names(), ran()[1:])
        print(said, ran())
    """).stdout.splitlines()
    assert done == [
        "['before', 'later'] ['before', 'later']",
        "['before', 'later'] ['before', 'later']",
        "['last'] ['last']",
        "['later'] ['later']",
        "[] []",
        "[] ['own']",
    ]


@pytest.mark.parametrize("argument", ["only", "exclude"])
def test_an_unknown_name_says_what_is_near(argument):
    with pytest.raises(compat.CompatError, match="did you mean compiler_crash"):
        compat.install(**{argument: ["compiler_crsh"]})
    with pytest.raises(compat.CompatError, match=r"compat\.all_shims\(\) lists them all"):
        compat.install(**{argument: ["nothing of the kind"]})
    assert compat.active() == []


def test_two_libraries_get_the_union_in_order_and_nothing_twice(python):
    done = python("""
        import triton
        shims[1] = shim("middle")
        compat.install(only=["later"])
        print(names(), ran())
        compat.install(only=["before"])
        compat.install(only=["before"])
        print(names(), ran())
        compat.install()
        print(names(), ran())
        compat.install(exclude=["later"])
        print(names(), ran())
        with compat.installed(only=["later"]):
            pass
        print(names(), ran())
        compat.uninstall()
        print(names(), ran())
    """).stdout.splitlines()
    everything = "['before', 'middle', 'later'] ['own', 'before', 'middle', 'later']"
    assert done == [
        "['later'] ['own', 'later']",
        "['before', 'later'] ['own', 'before', 'later']",
        everything,
        everything,
        everything,
        "[] ['own']",
    ]


def test_what_lies_under_another_patch_is_not_wrapped_twice(python):
    done = python("""
        import triton
        from triton.runtime import JITFunction
        shims[1] = shim("middle")
        compat.install(only=["later"])
        below = JITFunction.run
        theirs = JITFunction.run = lambda self: [*below(self), "theirs"]
        compat.install()
        print(names(), ran())
        compat.uninstall()
        print(names(), ran(), JITFunction.run is theirs)
    """).stdout.splitlines()
    assert done == [
        "['later', 'before', 'middle'] ['own', 'later', 'theirs', 'before', 'middle']",
        "[] ['own', 'later', 'theirs'] True",
    ]


def test_installed_by_many_threads_leaves_nothing_behind(python):
    done = python("""
        import triton
        from triton.runtime import JITFunction
        sys.setswitchinterval(1e-6)
        shims[1] = shim("middle")
        own, wrong = JITFunction.run, []
        def work(number):
            for turn in range(60):
                with compat.installed(only=[["before", "middle", "later"][(number + turn) % 3]]):
                    got = ran()
                    if len(set(got)) != len(got):
                        wrong.append(got)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(wrong[:3], names(), JITFunction.run is own, installing._passing)
    """).stdout
    assert done == "[] [] True []\n"


def test_a_block_within_an_installation_takes_only_its_own_back(python):
    done = python("""
        import triton
        shims[1] = shim("middle")
        compat.install(only=["before"])
        with compat.installed(only=["middle"]):
            with compat.installed(only=["later", "middle"]):
                print(names())
            print(names())
        print(names(), ran())
    """).stdout.splitlines()
    assert done == [
        "['before', 'middle', 'later']",
        "['before', 'middle']",
        "['before'] ['own', 'before']",
    ]


def test_a_block_around_the_import_of_triton_leaves_nothing(python):
    done = python("""
        with compat.installed():
            import triton
            print(names())
        print(names(), ran(), [f for f in sys.meta_path if type(f).__name__ == "_AfterTriton"])
    """).stdout.splitlines()
    assert done == ["['before', 'later']", "[] ['own'] []"]


def test_one_patch_that_cannot_be_put_back_does_not_keep_the_others():
    class Owner:
        first = second = "own"

    patches = Patches()
    patches.set(Owner, "first", "ours")

    def stuck():
        raise RuntimeError("stuck")

    patches.on_undo(stuck)
    patches.set(Owner, "second", "ours")
    with pytest.warns(compat.CompatWarning, match="stuck"):
        patches.undo()
    assert (Owner.first, Owner.second) == ("own", "own")


def test_who_lies_on_top_is_told():
    class Owner:
        value = "own"

    below, above = Patches(), Patches()
    below.set(Owner, "value", "ours")
    above.set(Owner, "value", "ours too")
    assert not covered_by_others([below, above])
    Owner.value = "theirs"
    assert covered_by_others([below, above])


def test_what_lies_under_another_patch_is_put_back_once_that_is_gone():
    class Owner:
        first = second = "own"

    below, above = Patches(), Patches()
    below.set(Owner, "first", "ours")
    below.set(Owner, "second", "ours")
    above.set(Owner, "first", "above first")
    above.set(Owner, "second", "above second")
    below.undo()
    assert (Owner.first, Owner.second) == ("above first", "above second")
    assert [name for _, name, _ in below.replaced()] == ["first", "second"]
    above.undo()
    assert (Owner.first, Owner.second) == ("ours", "ours")
    below.undo()
    assert (Owner.first, Owner.second) == ("own", "own")
    assert not list(below.replaced())


def test_a_stage_that_is_interrupted_puts_back_its_part_alone():
    class Owner:
        first = second = third = "own"

    def stage(error):
        patches.set(Owner, "second", "ours")
        raise error

    failures = []
    patches = Patches(failures.append)
    patches.set(Owner, "first", "ours")
    with pytest.raises(KeyboardInterrupt):
        patches.attempt(stage, KeyboardInterrupt())
    assert (Owner.first, Owner.second, failures) == ("ours", "own", [])
    error = ValueError("x")
    assert patches.attempt(stage, error) is False
    assert (Owner.first, Owner.second, failures) == ("own", "own", [error])
    assert patches.attempt(patches.set, Owner, "third", "ours") is True and Owner.third == "ours"
    assert patches.ask(len, 7, "abc") == 3 and patches.ask(len, 7, 3) == 7
    assert Owner.third == "own" and len(failures) == 2
    # Without a handler the caller gets it.
    patches = Patches()
    with pytest.raises(ValueError):
        patches.attempt(stage, ValueError())
    assert Owner.second == "own"


def _ours(more=""):
    """A function as of this library."""
    scope = {"__name__": "crosswarp.compat.somewhere"}
    exec(f"def ours(a{more}): return a", scope)
    return scope["ours"]


def _theirs(a, *, b=1):
    return a


@pytest.mark.parametrize(
    ("more", "before", "like"),
    [
        ("", _theirs, True), (", b", _theirs, True), (", *, b=2", _theirs, True), (", b, c", _theirs, False),
        (", *, b=1, c=1", _theirs, False), (", b, *, c=1", _theirs, False), (", *args, **more", _theirs, True),
        (", b, c", functools.lru_cache(_theirs), False), ("", functools.lru_cache(_theirs), True),
        ("", object(), False), (", b, c", len, True),
    ],
)  # fmt: skip
def test_a_function_in_place_of_another_looks_like_it(more, before, like):
    class Owner:
        value = staticmethod(before) if callable(before) else before

    ours = _ours(more)
    Patches().set(Owner, "value", staticmethod(ours))
    assert (ours.__name__ == getattr(before, "__name__", "")) is like
    cached = hasattr(before, "cache_clear")
    assert (getattr(ours, "cache_clear", None) == getattr(before, "cache_clear", 1)) is cached


def test_a_function_of_somebody_else_stays_as_it_is():
    class Owner:
        value = staticmethod(_theirs)

    def other(a):
        return a

    Patches().set(Owner, "value", staticmethod(other))
    assert other.__name__ == "other"
