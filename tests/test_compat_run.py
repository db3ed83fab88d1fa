"""`python -m crosswarp.compat run` beside plain `python`: the same script, the same output, the same end."""

import os
import signal
import subprocess
import sys
import textwrap
import zipfile

import pytest

RUN = ("-m", "crosswarp.compat", "run")


def start(*command, cwd, environ=None, flags=()):
    return subprocess.run(
        [sys.executable, *flags, *command], cwd=cwd, capture_output=True, text=True, check=False,
        timeout=120, stdin=subprocess.DEVNULL, env={**os.environ, **(environ or {})},
        # A job that a shell put into the background ignores Ctrl-C, and so do its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


@pytest.fixture
def same(tmp_path):
    """Run under both; everything that can be seen from outside must be equal. Returns what `run` gave."""

    def compare(*command, flags=()):
        plain = start(*command, cwd=tmp_path, flags=flags)
        ours = start(*RUN, *command, cwd=tmp_path, flags=flags)
        assert (ours.returncode, ours.stdout, ours.stderr) == (
            plain.returncode, plain.stdout, plain.stderr,
        )  # fmt: skip
        return ours

    return compare


@pytest.fixture
def script(tmp_path):
    def write(code, name="train.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(code))
        return name

    return write


ALL_ABOUT_ITSELF = """
    import sys
    import __main__
    print(sys.argv, sys.path[0], __file__, __name__, getattr(__spec__, 'name', None), __package__, __doc__)
    print(sorted(globals()), __main__.__dict__ is globals(), type(__loader__).__name__)
"""


@pytest.mark.parametrize("given", ["train.py", "./train.py", "deep/../train.py"])
def test_a_script_sees_what_it_always_sees(same, script, tmp_path, given):
    (tmp_path / "deep").mkdir()
    script(ALL_ABOUT_ITSELF)
    done = same(given, "--epochs", "3", "-m", "--guard", "off", "--", "-h")
    assert "'--guard', 'off'" in done.stdout


def test_a_script_elsewhere_and_through_a_link_imports_its_neighbours(same, script, tmp_path):
    script("value = 7", "elsewhere/neighbour.py")
    script("import neighbour, sys; print(neighbour.value, sys.path[0])", "elsewhere/train.py")
    (tmp_path / "link.py").symlink_to(tmp_path / "elsewhere" / "train.py")
    same(str(tmp_path / "elsewhere" / "train.py"))
    assert same("link.py").stdout.startswith("7 ")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="-P is new in Python 3.11")
def test_with_a_safe_path_the_folder_of_the_script_stays_off_it(same, script):
    script("import sys; print(sys.path)")
    same("train.py", flags=["-P"])


ENDS = {
    "status": ("import sys; sys.exit(3)", 3),
    "message": ("import sys; sys.exit('no data')", 1),
    "nothing": ("pass", 0),
    "hard": ("import os; os._exit(5)", 5),
    "abort": ("import os; os.abort()", -6),
    "ctrl_c": ("import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(5)", -2),
    "syntax": ("print('a'\nfor", 1),
    "raises": ("def f():\n    raise ValueError('x')\nf()", 1),
    "chained": ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e", 1),
    "thread": ("import threading\ndef f(): 1 / 0\nt = threading.Thread(target=f, name='t')\nt.start(); t.join()", 0),
    "hook": ("import sys\nsys.excepthook = lambda k, e, t: print('hook', k, t.tb_frame.f_code.co_name)\n1 / 0", 1),
    "atexit": ("import atexit, sys\natexit.register(lambda: print(sys.modules['__main__'].x))\nx = 4", 0),
    "pickle": ("import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)", 0),
    "pipe": ("import sys\nraise BrokenPipeError('mine')", 1),
    "group": ("import asyncio\nasync def f(): raise OSError('in a loop')\nasyncio.run(f())", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_a_script_ends_as_it_always_ends(same, script, name):
    code, status = ENDS[name]
    script(code)
    done = same("train.py")
    assert done.returncode == status
    assert "crosswarp" not in done.stderr and "runpy" not in done.stderr


def test_an_error_of_compat_that_the_script_raises_is_the_scripts_own(script, tmp_path):
    script("from crosswarp.compat import CompatError\nraise CompatError('mine')")
    done = start(*RUN, "train.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback") and done.stderr.endswith("CompatError: mine\n")


def test_modules_packages_folders_and_zip_files(same, script, tmp_path):
    script(ALL_ABOUT_ITSELF, "package/__main__.py")
    script("", "package/__init__.py")
    script("import sys; print(sys.argv, __spec__.name); 1 / 0", "package/train.py")
    same("-m", "package", "a", "--b")
    assert "ZeroDivisionError" in same("-m", "package.train", "-x").stderr
    same("-m", "no_such_module")
    same("-m", "package.no_such_module")
    script(ALL_ABOUT_ITSELF, "folder/__main__.py")
    same("folder", "a")
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.write(tmp_path / "folder" / "__main__.py", "__main__.py")
    same("app.zip", "a")


def test_what_cannot_be_opened_ends_with_2(same):
    assert same("missing.py").returncode == 2


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_child_processes_of_multiprocessing_work(same, script, method):
    script(f"""
        import multiprocessing
        def double(x):
            return 2 * x
        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                print(pool.map(double, range(5)))
    """)
    assert same("train.py").stdout == "[0, 2, 4, 6, 8]\n"


INSTALLED = """
    import multiprocessing, sys
    import crosswarp.compat
    def wanted():
        standing = sys.modules["crosswarp.compat.install"]._standing
        return [request.guard for request in standing]
    if __name__ == "__main__":
        print(wanted())
        for method in ("fork", "spawn"):
            with multiprocessing.get_context(method).Pool(1) as pool:
                print(method, pool.apply(wanted))
"""


def test_forks_have_the_shims_and_spawned_interpreters_have_not(script, tmp_path):
    """As the help text says. Should the second ever become True, say so there."""
    script(INSTALLED)
    done = start(*RUN, "--guard", "always", "train.py", cwd=tmp_path)
    assert done.stdout == "['always']\nfork ['always']\nspawn []\n", done.stderr
    assert "spawn" in start("-m", "crosswarp.compat", "--help", cwd=tmp_path).stdout


@pytest.mark.parametrize("form", [["--guard", "off"], ["--guard=off"]])
def test_options_come_before_the_script_and_the_rest_is_its_own(script, tmp_path, form):
    script(
        "import sys; print(sys.argv, sys.modules['crosswarp.compat.install']._standing[0].guard)"
    )
    done = start(*RUN, *form, "train.py", "--guard", "x", cwd=tmp_path)
    assert done.stdout == "['train.py', '--guard', 'x'] off\n"


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["run"], "needs a script"),
        (["run", "-m"], "needs the name of a module"),
        (["run", "--guard", "sometimes", "x.py"], "use one of auto, always, off"),
        (["run", "--guard"], "--guard needs a value"),
        (["run", "--fast", "x.py"], "--fast is no option of run"),
        (["rum", "x.py"], "'rum' is no command"),
        (["doctor", "now"], "doctor knows no 'now'"),
        (["doctor", "--timeout", "soon"], "is not a number of seconds"),
        (["doctor", "--timeout", "nan"], "is not a number of seconds"),
    ],
)
def test_usage_ends_with_2_and_says_what_is_wrong(tmp_path, arguments, says):
    done = start("-m", "crosswarp.compat", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert says in done.stderr and "Usage:" in done.stderr


def test_alone_it_lists_what_would_be_installed(tmp_path):
    (tmp_path / "triton-3.2.0.dist-info").mkdir()
    (tmp_path / "triton-3.2.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: triton\nVersion: 3.2.0\n"
    )
    environ = {"PYTHONPATH": os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))}
    done = start("-m", "crosswarp.compat", cwd=tmp_path, environ=environ)
    assert done.returncode == 0
    assert "on Triton 3.2.0" in done.stdout and "compiler_crash" in done.stdout
    assert (
        "getTotalOutDimSize" in done.stdout and "reserved_options   Triton <3.0" not in done.stdout
    )
    off = start("-m", "crosswarp.compat", "--guard", "off", cwd=tmp_path, environ=environ)
    assert "compiler_crash" not in off.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
