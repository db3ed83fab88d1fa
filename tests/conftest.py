"""What the tests of the host side share: a record, an issue, a run with a fake cell process.

The host side is imported inside the fixtures: tests of the cell side may run in a column, which has no pydantic.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import json
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

FAKE_SUITE = Path(__file__).with_name("fake_suite.py")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NO_BROWSER = (
    "No browser: {}. Install one (Debian: apt-get install chromium; anywhere: playwright install chromium), "
    'name one in CROSSWARP_BROWSER, or leave these tests out: pytest -m "not browser".'
)


@pytest.fixture(scope="session")
def browser():
    """A Chromium, for the whole session."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        named = os.environ.get("CROSSWARP_BROWSER")
        found = named or next(
            filter(None, map(shutil.which, BROWSERS)), playwright.chromium.executable_path
        )
        if not Path(found).is_file():
            pytest.fail(
                NO_BROWSER.format(
                    f"there is no {found}" if named else f"none of {', '.join(BROWSERS)}"
                )
            )
        with playwright.chromium.launch(executable_path=found) as launched:
            yield launched


# Minutes each. With one file on one worker, what begins last ends last.
LONG = (
    *("test_cell_side.py", "test_real_columns.py", "test_docs_site.py", "test_ten_kernels.py"),
    *("test_library_tests.py", "test_on_ray.py", "test_page_browser.py", "test_fuzz_run.py"),
    *("test_deaths.py", "test_hostile_text.py", "test_environment.py", "test_ci_files.py"),
    *("test_monitor.py", "test_releases.py", "test_libraries.py", "test_wheel.py"),
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadfile`: a file on one worker, but each column of the cell side by itself."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ColumnsApart(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return nodeid if "test_cell_side.py" in nodeid else super()._split_scope(nodeid)

    return ColumnsApart(config, log)


def pytest_collection_modifyitems(items):
    rank = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path.name, len(LONG)))


# Builds without a package from any index, and leaves a folder behind as others do.
BACKEND = """
import os, pathlib, zipfile

def build_wheel(out, config=None, metadata=None):
    pathlib.Path("build").mkdir()
    if os.environ.get("MADE_UP_FAILS"):
        raise RuntimeError("no compiler for the extension")
    info = "made_up-1.0.dist-info/"
    files = {p: pathlib.Path(p).read_text() for p in ("made_up/__init__.py",)}
    files[info + "METADATA"] = "Metadata-Version: 2.1\\nName: made-up\\nVersion: 1.0\\nRequires-Dist: triton>=99\\n"
    files[info + "WHEEL"] = "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    files[info + "RECORD"] = "".join(f"{name},,\\n" for name in files) + info + "RECORD,,\\n"
    with zipfile.ZipFile(os.path.join(out, "made_up-1.0-py3-none-any.whl"), "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return "made_up-1.0-py3-none-any.whl"
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "made-up"
version = "1.0"
"""


@pytest.fixture(scope="module")
def load_script():
    """`load_script("proofs/threads.py")`: a script below tests/, which finds what lies beside it."""
    with pytest.MonkeyPatch.context() as patch:

        def load(name):
            path = Path(__file__).parent / name
            patch.syspath_prepend(str(path.parent))
            spec = importlib.util.spec_from_file_location(path.stem, path)
            module = importlib.util.module_from_spec(spec)
            # Dataclasses look their module up.
            patch.setitem(sys.modules, spec.name, module)
            spec.loader.exec_module(module)
            return module

        yield load


@pytest.fixture
def make_record():
    from crosswarp.matrix.results.record import Record

    def make(**changes):
        values = {
            "column": "triton-3.2.0", "target": "sm_90", "lane": "compile", "mode": "bare",
            "kernel": "softmax", "case": "fp16-7x33", "outcome": "pass",
        }  # fmt: skip
        return Record(**{**values, **changes})

    return make


@pytest.fixture
def make_releases(make_record):
    """`make_releases("gr?u")`: a cell on each of 2.3.1 to 3.2.0, for green, red, no cell, unsupported."""

    def make(text, **changes):
        outcomes = {"g": "pass", "r": "crash", "u": "unsupported"}
        return [
            make_record(column=f"triton-{one}", outcome=outcomes[letter], **changes)
            for one, letter in zip(("2.3.1", "3.0.0", "3.1.0", "3.2.0"), text)
            if letter != "?"
        ]

    return make


@pytest.fixture
def command(capsys):
    """`command("diff", ...)`: exit status, standard output and error of the command line, which shows no traceback."""
    from crosswarp.reports import cli

    def call(*arguments):
        try:
            status = cli.main([*arguments])
        except SystemExit as stopped:
            status = stopped.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err and "internal error" not in captured.err, (
            captured.err
        )
        return status, captured.out, captured.err

    return call


@pytest.fixture
def make_issue():
    from crosswarp.matrix.facts import datafile
    from crosswarp.matrix.facts.issues import Issue

    def make(**changes):
        values = {
            "id": "triton-1", "title": "aborts at 8 warps", "status": "reproduced", "triton": ">=3.2,<3.3",
            "kernels": ["chunk*"], "configs": ["*num_warps=8*"], "outcome": "crash", "fingerprint": "reshapeOuts",
            "links": ["https://example.org/owner/project/issues/1"], "shim": "guarded_autotune",
            "case": {"kernel": "chunk", "configs": ["*num_warps=8*"]}, "checked": "2026-11-21",
        }  # fmt: skip
        return datafile.checked(Issue, {**values, **changes})

    return make


@pytest.fixture
def page_run(tmp_path, make_record):
    """A store with a run as the page meets it: a crash that a shim heals, a kernel that grew, a mismatch that nobody
    knows, a target that one column did not run. More records of the same run can be given."""
    from crosswarp.matrix.results.store import Environment, Store

    def figures(registers):
        counts = {"load.16": 4, "store.2": registers // 32, "mma.m16n8k16.f32.f16.f16.f32": 8}
        launch = {"kernel": "_kernel", "num_warps": 4, "registers": registers, "stack": 0}
        return {"launches": [{**launch, "instructions": counts, "compile_seconds": 0.25}]}

    records = []
    for column in ("triton-3.1.0", "triton-3.2.0", "triton-3.3.1"):
        crashing = column == "triton-3.2.0"
        for target in ("sm_80", "sm_90") if column != "triton-3.3.1" else ("sm_90",):
            for mode in ("bare", "shimmed"):
                at = {"column": column, "target": target, "mode": mode}
                records.append(make_record(**at, resources=figures(128 if crashing else 64)))
                records.append(make_record(**at, kernel="chunk", config="num_warps=4"))
                red = {
                    "outcome": "crash", "reason": "SIGABRT", "fingerprint": "SIGABRT: LinearLayout reshapeOuts",
                    "message": "the compiler died:\nreshapeOuts: Assertion failed", "phase": "compile",
                }  # fmt: skip
                shims = {"shims": ("guarded_autotune",)} if mode == "shimmed" else {}
                red = red if crashing and target == "sm_90" and mode == "bare" else shims
                records.append(make_record(**at, kernel="chunk", config="num_warps=8", **red))
        wrong = {"outcome": "mismatch", "fingerprint": "out: 3 of 9 differ"}
        for mode in ("bare", "shimmed"):
            at = {"column": column, "target": "cpu", "lane": "interpret", "mode": mode}
            records.append(make_record(**at, **(wrong if column == "triton-3.3.1" else {})))

    def make(more=(), status="finished", path=tmp_path / "page.db", plan=None, notes=()):
        planned = {
            "columns": ["triton-3.1.0", "triton-3.2.0", "triton-3.3.1"], "targets": ["sm_80", "sm_90"],
            "lanes": ["compile", "interpret"], "modes": ["bare", "shimmed"], "kernels": ["*"], "suite": "suite",
            **(plan or {}),
        }  # fmt: skip
        with Store(path) as store:
            run = store.begin(["run"], planned)
            store.cells(run, [*records, *more])
            for column in planned["columns"]:
                installed = {"triton": column.removeprefix("triton-"), "torch": "2.6.0"}
                store.environment(run, Environment(column, column, "ready", "", installed, (), 0.0))
            for note in notes:
                store.note(run, "", note, kind="problem")
            store.finish(run, status, 1)
        return path

    return make


@pytest.fixture
def fake_columns(monkeypatch):
    """`crosswarp run`, in this process, with the fake cell process in the place of environments and Triton."""
    from crosswarp.reports.commands import run

    monkeypatch.setattr(run, "Builder", lambda *given, **more: FakePrepare())
    monkeypatch.setattr(run, "Runner", functools.partial(run.Runner, command=fake_argv))


class FakePrepare:
    """Stands in for the environment builder: this interpreter, whatever the column says."""

    def __init__(self, fail=(), expect=None):
        self.fail = fail
        self.expect = expect
        self.cancelled = False
        self.cpu_backend = None

    def __call__(self, column):
        from crosswarp.matrix.environments.environment import Environment
        from crosswarp.matrix.errors import EnvironmentFailed

        if column.id in self.fail:
            raise EnvironmentFailed(f"{column.id}: no such wheel. Check the index.")
        expect = {"triton": column.triton} if self.expect is None else self.expect
        return Environment(Path(sys.executable), column.id, expect, {"triton": column.triton}, ())

    def cancel(self):
        self.cancelled = True


class FakeRun:
    """A work folder in which runs with the fake cell process can be made, one after the other."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.folder = folder
        self.work = folder / "work"
        self.database = folder / "store.db"
        self.said = io.StringIO()
        self._monkeypatch = monkeypatch

    def __call__(
        self, script, ids=("triton-3.2.0",), issues=(), prepare=None, remove=False, **plan
    ):
        from crosswarp.matrix.running.progress import PlainProgress
        from crosswarp.matrix.running.run import Runner

        self.script(script)
        with self.store() as store:
            runner = Runner(
                self.plan(ids, **plan), store, self.work, prepare or FakePrepare(),
                PlainProgress(self.said), issues, command=fake_argv, remove=remove,
            )  # fmt: skip
            result = runner()
        return result

    def script(self, script):
        path = self.folder / "script.json"
        path.write_text(json.dumps(script))
        self._monkeypatch.setenv("FAKE_SCRIPT", str(path))

    def plan(self, ids=("triton-3.2.0",), **changes):
        from crosswarp.matrix.facts import columns, targets
        from crosswarp.matrix.running.plan import Plan
        from crosswarp.matrix.work.suite import Suite

        chosen = columns.choose(columns.load(), ids)
        values = {"lanes": ("compile",), "targets": {"sm_90": targets.load()["sm_90"]}}
        work = changes.pop("work", None) or Suite(
            changes.pop("suite", None), beside=changes.pop("beside", {})
        )
        return Plan(work=work, columns=tuple(chosen), **{**values, **changes})

    def records(self, run=1):
        with self.store() as store:
            return store.records(run)

    def notes(self, run=1):
        with self.store() as store:
            return [note.text for note in store.notes(run)]

    def store(self):
        from crosswarp.matrix.results.store import Store

        return Store(self.database)

    @staticmethod
    def argv(python, spec):
        return fake_argv(python, spec)


def fake_argv(python, spec):
    return [str(python), str(FAKE_SUITE), str(spec)]


@pytest.fixture
def fake_run(tmp_path, monkeypatch):
    return FakeRun(tmp_path, monkeypatch)


@pytest.fixture
def steps():
    """`steps("crash")`: what a fake cell process does on one column that has one cell."""

    def make(outcome="pass", triton="3.2.0", versions=(), **changes):
        cell = {
            "event": "cell", "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "softmax", "case": "fp16",
            "config": "", "outcome": outcome, "fingerprint": "SIGABRT: reshapeOuts" if outcome == "crash" else "",
            **changes,
        }  # fmt: skip
        item = "/".join(cell[name] for name in ("target", "lane", "mode", "kernel", "case"))
        return [
            {"event": "session", "lane": "compile", "versions": {"triton": triton, **dict(versions)}, "planned": 1},
            {"event": "start", "item": item}, cell, {"event": "end", "item": item},
        ]  # fmt: skip

    return make


@pytest.fixture
def fake_trials(fake_run, monkeypatch, tmp_path):
    """Trials of one kernel run the fake cell process, in a folder of their own; `fake_trials(ids)` cannot be built."""
    from crosswarp.reports.commands import trials

    monkeypatch.setattr(trials.Suite, "argv", lambda work, python, spec: fake_argv(python, spec))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "issues.toml").write_text("")

    def failing(ids=()):
        monkeypatch.setattr(trials, "Builder", lambda *a: FakePrepare(fail=ids))

    return failing


@pytest.fixture
def make_buildable():
    """`make_buildable(folder)`: the checkout of a library that is built without any index."""

    def make(folder: Path, more: str = "") -> Path:
        (folder / "made_up").mkdir(parents=True)
        (folder / "pyproject.toml").write_text(PROJECT + more)
        (folder / "backend.py").write_text(BACKEND)
        (folder / "made_up" / "__init__.py").write_text("VALUE = 1\n")
        return folder

    return make


@pytest.fixture
def make_wheel():
    """Writes a wheel that holds one module, or other `files` of that name, and what its metadata says."""

    def make(folder: Path, name: str, version: str, requires=(), held=None) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}-{version}-py3-none-any.whl"
        info = f"{name}-{version}.dist-info"
        files = {
            **(held or {f"{name}.py": f'__version__ = "{version}"\n'}),
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            + "".join(f"Requires-Dist: {one}\n" for one in requires),
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
        with zipfile.ZipFile(path, "w") as wheel:
            for file, text in {**files, f"{info}/RECORD": record}.items():
                wheel.writestr(file, text)
        return path

    return make


@pytest.fixture
def make_index(tmp_path, make_wheel, monkeypatch):
    """`make_index("3.9.0", ...)`: the address of a package index that holds these builds of Triton and nothing else."""
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    folder = tmp_path / "index"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    # What a machine has set up for uv and pip is not asked, and nothing is kept of what is.
    for name in ("UV_NO_INDEX", "UV_OFFLINE", "UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def make(*versions):
        for version in versions:
            make_wheel(folder / "triton", "triton", version)
        names = sorted(path.name for path in (folder / "triton").glob("*.whl"))
        links = "".join(f'<a href="{name.replace("+", "%2B")}">{name}</a>' for name in names)
        (folder / "triton" / "index.html").write_text(f"<!DOCTYPE html><body>{links}</body>")
        return f"http://127.0.0.1:{server.server_port}/"

    yield make
    server.shutdown()
    server.server_close()


@pytest.fixture
def local_index(tmp_path, make_wheel):
    """A folder of wheels in place of the package index, and a uv that knows nothing else."""
    from crosswarp.matrix.environments.uvtool import Uv

    folder = tmp_path / "wheels"
    for name in ("packaging", "pytest", "pytest_xdist", "pyelftools", "numpy", "setuptools"):
        make_wheel(folder, name, "1.0")
    for triton, torch in (("3.1.0", "2.5.1"), ("3.2.0", "2.6.0"), ("3.10.0", "2.16.0")):
        make_wheel(folder, "triton", triton)
        make_wheel(folder, "torch", torch, [f"triton=={triton}"])
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1",
        "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(folder), "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never",
    }  # fmt: skip
    uv = Uv(environ=environ)
    uv.wheels = folder
    return uv


@pytest.fixture
def fake_prepare():
    return FakePrepare


@pytest.fixture
def stored(tmp_path):
    """A run with these records, as a report sees it."""
    from crosswarp.matrix.results.store import Store
    from crosswarp.reports.findings.view import view

    def make(
        records,
        issues=(),
        code=0,
        environments=(),
        status="finished",
        columns=(),
        started=None,
        planned=None,
        **plan,
    ):
        with Store(tmp_path / "store.db") as store:
            named = columns or dict.fromkeys(record.column for record in records)
            run = store.begin(["run"], {"columns": list(named), **plan}, started)
            cases, found = planned or {}, {}
            for record in records:
                place = (record.column, record.lane)
                found[place] = found.get(place) or record.versions
                store.session(run, *place, found[place], cases.get(place, 0))
            store.cells(run, records)
            for environment in environments:
                store.environment(run, environment)
            if status != "running":
                store.finish(run, status, code, started)
            return view(store, issues, run)

    return make


@pytest.fixture
def hostile():
    """What a kernel's name, message or fingerprint may hold at worst; no character of it moves, colours or runs."""
    return (
        "\x1b[2J\x1b]0;title\x07\u202egnp.exe\u200f | <script>alert('1')</script> `code` [a](javascript:x) \x9b31m"
        '\r\nnext "quoted" ]]> --> & \x00 \udcff\ud800 \ufffe'
    )


@pytest.fixture
def hostile_view(make_record, make_issue, hostile):
    """A view in which all that a stranger may write is hostile, and a megabyte long where it is a message. It does not
    come from a store, which would have replaced the half characters."""
    from crosswarp.matrix.results.store import Environment, Note, Run
    from crosswarp.matrix.results.verdict import judge
    from crosswarp.reports.findings.view import View

    words = {
        "target": f"=t{hostile}",
        "kernel": f"=k{hostile}",
        "case": f"-c{hostile}",
        "config": f"@{hostile}",
    }
    long = hostile + "m" * 1_000_000
    red = {**words, "outcome": "crash", "fingerprint": f"+f{long}", "message": long, "reason": long}
    records = [
        make_record(**red), make_record(**{**red, "fingerprint": f"reshapeOuts {long}", "kernel": f"chunk{hostile}"}),
        make_record(**red, column="triton-3.1.0", mode="shimmed", shims=(hostile,)),
        make_record(**words, column="triton-3.1.0"),
        make_record(**{**words, "case": "*"}, outcome="not-run", reason=long, message=long),
    ]  # fmt: skip
    title = hostile.encode("utf-8", "replace").decode()
    known = [make_issue(configs=["*"], title=title, case={"kernel": "chunk*"})]
    return View(
        run=Run(
            1,
            "2026-11-21T18:14:08+00:00",
            None,
            "cut off",
            None,
            ("run",),
            {"columns": ["triton-3.0.0"]},
            5,
        ),
        records=records,
        environments=[Environment("triton-3.2.0", hostile, "failed", long, {}, (hostile,), 0.0)],
        notes=[Note("triton-3.2.0", "problem", long), Note("", "note", hostile)],
        verdict=judge(records, known),
        unsupported_targets=[("triton-3.2.0", words["target"], long)],
    )
