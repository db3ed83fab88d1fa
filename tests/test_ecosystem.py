"""tests/ecosystem/releases.py on a release that is made up: what is unpacked, asked, run once, and told."""

import io
import json
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from crosswarp.matrix.checkout import settings
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store


@pytest.fixture(scope="module")
def releases(load_script):
    return load_script("ecosystem/releases.py")


def section(releases, work):
    return releases.releases_table.section(work, [one.name for one in releases.libraries()])


FILES = {
    "setup.py": "open('ran', 'w')",
    "small/__init__.py": "",
    "small/kernels.py": "import triton\n",
    "small/nested/__init__.py": "def f():\n    from triton import language\n",
    "small/ascend.py": "import triton\n",
    "small/tests/test_it.py": "import triton\n",
    "small/plain.py": "# import triton\nimport tritonclient\n",
    "benchmarks/bench.py": "import triton\n",
}


def sdist(folder, files=FILES, name="small-1.2.tar.gz", links=()):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    with tarfile.open(path, "w:gz") as packed:
        for place, text in files.items():
            member = tarfile.TarInfo(place if place.startswith("..") else f"small-1.2/{place}")
            member.size = len(text.encode())
            packed.addfile(member, io.BytesIO(text.encode()))
        for place, target in links:
            member = tarfile.TarInfo(f"small-1.2/{place}")
            member.type, member.linkname = tarfile.SYMTYPE, target
            packed.addfile(member)
    return path


@pytest.fixture
def small(releases, tmp_path):
    sdist(tmp_path / "archives" / "small")
    return releases.Library("small", "sdist", ignore=("*ascend*",), stub=("small_cuda",))


def test_a_release_without_tests_is_imported(releases, small, tmp_path):
    home = releases.release(small, tmp_path)
    assert (home / "RELEASE").read_text() == "small-1.2.tar.gz"
    listed = json.loads((home / releases.IMPORTS / "modules.json").read_text())
    assert listed == ["small.kernels", "small.nested"]
    said = settings.load(home).settings
    assert said.tests == (releases.IMPORTS,) and said.stub == ("small_cuda",)
    assert not list(tmp_path.rglob("ran"))
    # The second time it is there, and is not fetched.
    assert releases.release(small, tmp_path) == home


def test_its_ops_are_called_as_well(releases, small, tmp_path, monkeypatch):
    monkeypatch.setattr(releases, "OPS", tmp_path)
    (tmp_path / "small.py").write_text("def test_op(): pass\n")
    home = releases.release(small, tmp_path)
    assert (home / releases.IMPORTS / "test_ops.py").read_text() == "def test_op(): pass\n"


def test_each_file_of_ops_is_of_a_release_without_tests(releases):
    without = {one.name.replace("-", "_") for one in releases.libraries() if not one.tests}
    files = {path.stem for path in releases.OPS.glob("*.py")}
    # unsloth is imported alone: without a GPU its package refuses.
    assert files == without - {"unsloth"}


def test_links_are_of_this_checkout(releases, tmp_path):
    folder = Path(releases.links(tmp_path), "crosswarp")
    (folder / "matrix").unlink()
    (folder / "matrix").symlink_to(tmp_path)
    releases.links(tmp_path)
    assert (folder / "matrix").readlink() == releases.ROOT / "matrix"


def test_a_release_with_tests_has_its_own(releases, tmp_path):
    sdist(tmp_path / "archives" / "small")
    library = releases.Library(
        "small", "sdist", tests=("small/tests",), ignore=("*cute*",), env={"A": "b"}
    )
    said = settings.load(releases.release(library, tmp_path)).settings
    assert said.tests == ("small/tests",) and said.cases == ("!*cute*",) and said.env == {"A": "b"}


def test_a_wheel_is_its_own_folder(releases, tmp_path):
    folder = tmp_path / "archives" / "small"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "small-1.2-py3-none-any.whl", "w") as packed:
        packed.writestr("small/__init__.py", "from triton import jit\n")
    home = releases.release(releases.Library("small", "wheel"), tmp_path)
    assert json.loads((home / releases.IMPORTS / "modules.json").read_text()) == ["small"]


@pytest.mark.parametrize(
    "hostile",
    [
        {"files": {"../outside.py": ""}},
        {"links": [("small/passwords", "/etc/passwd")]},
        {"links": [("small/up", "../../..")]},
    ],
)
def test_nothing_is_unpacked_outside(releases, tmp_path, hostile):
    archive = sdist(tmp_path / "in", **hostile)
    with pytest.raises(EnvironmentFailed, match="cannot be unpacked"):
        releases.unpack(archive, tmp_path / "out")
    assert not (tmp_path / "outside.py").exists()


def test_an_archive_that_grows_is_refused(releases, tmp_path, monkeypatch):
    monkeypatch.setattr(releases, "LARGEST", 10)
    with pytest.raises(EnvironmentFailed, match="unpacks to"):
        releases.unpack(sdist(tmp_path / "in"), tmp_path / "out")


def test_a_run_is_kept_and_not_made_again(releases, small, tmp_path, monkeypatch):
    ran = []

    def run_tests(library, home, text, store, options):
        ran.append((library.name, text))
        if text.startswith("triton-3.9"):
            raise EnvironmentFailed("no room")
        return {"exit": 1, "command": "--sample 5"}

    monkeypatch.setattr(releases, "_test", run_tests)
    options = releases.parse(["--work", str(tmp_path), "--sample", "5"])
    for _ in range(2):
        for column in ("triton-3.6.0=/a/python", "triton-3.9.0"):
            releases.run(small, column, options)
    assert ran == [("small", "triton-3.6.0=/a/python"), ("small", "triton-3.9.0")]
    told = json.loads((tmp_path / "runs" / "small@triton-3.9.0.json").read_text())
    assert told["error"] == "no room"
    text = section(releases, tmp_path)
    assert "Not installed, or not collected:" in text and "- small 1.2, 3.9.0: no room" in text


def stored(tmp_path, about, records):
    runs = tmp_path / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    path = runs / f"{about['library']}@{about['column']}.json"
    path.write_text(
        json.dumps({"error": "", "date": "2026-11-22", "command": "--sample 5", **about})
    )
    with Store(path.with_suffix(".db")) as store:
        run = store.begin([], {})
        store.cells(run, records)
        store.finish(run, "finished", 1)


def record(case, outcome, reason="", **more):
    return Record(
        "here", "sm_90", "compile", "bare", "k", case, outcome=outcome, reason=reason, **more
    )


def test_the_table(releases, tmp_path):
    reds = [
        record("a", "pass"),
        record("b", "unsupported", "no launch"),
        record("c", "unsupported", "skipped"),
        record("d", "api-error", fingerprint="ModuleNotFoundError: No module named 'einx'"),
        record("e", "api-error", fingerprint="ModuleNotFoundError: No module named 'triton.ops'"),
        record("f", "compile-error", fingerprint="<b>|no"),
        record("g", "timeout", "longer than 60 s", fingerprint="timeout"),
        record(
            "h",
            "api-error",
            fingerprint="ImportError: Please install small_zoo via pip, then retry!",
        ),
    ]
    about = {"library": "small", "release": "small_kernels-1.2-py3-none-any.whl", "tests": True}
    stored(tmp_path, {**about, "column": "triton-3.10.0"}, reds)
    ops = [replace(record(case, "pass"), kernel="test_ops::test_op") for case in "hi"]
    stored(tmp_path, {**about, "column": "triton-3.9.0", "tests": False}, [*reds[:2], *ops])
    shimmed = [replace(reds[0], mode="shimmed"), replace(reds[5], mode="shimmed", outcome="pass")]
    stored(tmp_path, {**about, "column": "triton-3.2.0"}, [reds[0], reds[5], *shimmed])
    text = section(releases, tmp_path)
    name = "small\\_kernels 1.2"
    assert [line for line in text.splitlines() if line.startswith(("| release", f"| {name}"))] == [
        "| release | what | target | 3.2.0 | 3.9.0 | 3.10.0 |",
        f"| {name} | tests | sm_90 | 1, 1 red → 2 |  | 1 (5), 2 red |",
        f"| {name} | imports | sm_90 |  | 2 |  |",
        f"| {name} | ops | sm_90 |  | 2 |  |",
    ]
    assert "**Not run yet**: " in text and "triton-3.9.0: liger-kernel, " in text
    assert "all of them on triton-2.3.1, " in text
    assert "- small: lacks einx (sm_90 bare: 3.10.0 × 1)" in text
    assert "triton.ops" in text and "<b>" not in text


def test_its_section_of_the_page(releases):
    new = f"{releases.releases_table.BEGIN}\nnew\n{releases.releases_table.END}\n"
    once = releases.releases_table.insert("# Title\n\nfirst\n", new)
    assert once.startswith("# Title\n\nfirst\n\n<!--") and once.count("new") == 1
    assert releases.releases_table.insert(once, new) == once
    assert releases.releases_table.insert(f"{once}\n## After\n", new) == f"{once}\n## After\n"


def test_the_libraries_that_are_run(releases, tmp_path):
    assert len(releases.libraries()) >= 10
    path = tmp_path / "some.toml"
    path.write_text('[small]\narchive = "egg"\n')
    with pytest.raises(ValueError, match="small: archive"):
        releases.libraries(path)
    path.write_text('[small]\narchive = "sdist"\nnothing = 1\n')
    with pytest.raises(ValueError, match="nothing"):
        releases.libraries(path)
