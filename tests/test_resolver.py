"""What `main` is today, from a local folder of wheels in place of an index."""

from __future__ import annotations

import subprocess
import sys

import pytest

from crosswarp.matrix.environments import resolver
from crosswarp.matrix.environments.uvtool import Answer, Uv
from crosswarp.matrix.errors import EnvironmentFailed, UsageError
from crosswarp.matrix.facts import columns

TABLE = columns.load()


def resolve(uv, reference=None, nightly=None):
    return resolver.resolve(reference, nightly, TABLE, uv, "3.11")


def test_the_newest_published_release_is_a_stand_in(local_index):
    found = resolve(local_index)
    # 3.10.0 is newer than 3.9.0 and 3.2.0, as versions and not as text.
    assert (found.triton, found.torch) == ("triton==3.10.0", "torch==2.16.0")
    assert found.label == "main (stand-in: triton 3.10.0)"


def test_each_is_the_newest_by_itself(local_index, make_wheel):
    # Triton is out before the torch that pins it: together, uv would go back to a torch that fits.
    make_wheel(local_index.wheels, "triton", "3.11.0")
    found = resolve(local_index)
    assert (found.triton, found.torch) == ("triton==3.11.0", "torch==2.16.0")


def test_a_local_build_is_asked_for_by_its_public_version(local_index, make_wheel):
    make_wheel(local_index.wheels, "torch", "2.17.0+cpu")
    assert resolve(local_index).torch == "torch==2.17.0"


def test_an_index_that_does_not_answer_leaves_the_table_and_says_so(local_index):
    for wheel in local_index.wheels.glob("t*.whl"):
        wheel.unlink()
    found = resolve(local_index)
    newest = columns.newest(TABLE)
    assert found.triton == f"triton=={newest.triton}"
    assert "columns.toml" in found.notes[0] and found.label.startswith("main (stand-in")


def test_a_wheel(local_index, make_wheel, tmp_path):
    path = make_wheel(tmp_path / "own", "triton", "3.12.0+git1234")
    found = resolve(local_index, str(path))
    assert found.triton == f"triton @ {path.as_uri()}"
    assert found.triton_version == "3.12.0+git1234" and "stand-in" not in found.label
    assert found.label == "main (wheel: triton 3.12.0+git1234)"
    assert len(found.identity["sha256"]) == 64
    # Another build of the same version is another identity.
    path.write_bytes(path.read_bytes() + b"\0")
    assert resolve(local_index, str(path)).identity != found.identity


def test_a_folder_of_wheels_gives_the_newest(local_index, make_wheel, tmp_path):
    for version in ("3.9.1", "3.10.1"):
        make_wheel(tmp_path / "own", "triton", version)
    assert resolve(local_index, str(tmp_path / "own")).triton_version == "3.10.1"


def test_a_source_tree_old_and_new(local_index, tmp_path):
    for place in ("new", "old/python"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "setup.py").write_text("")
    new, old = (
        resolve(local_index, str(tmp_path / "new")),
        resolve(local_index, str(tmp_path / "old")),
    )
    assert new.triton.endswith("/new") and old.triton.endswith("/old/python")
    assert new.moving and new.triton_version is None and "stand-in" not in new.label


def test_a_git_branch_is_pinned_to_its_commit(local_index, tmp_path):
    def git(*arguments):
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments],
            cwd=tmp_path / "repo", check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    (tmp_path / "repo").mkdir()
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "first")
    url = (tmp_path / "repo").as_uri()
    found = resolve(local_index, f"git+{url}@main")
    commit = git("rev-parse", "HEAD")
    assert found.triton == f"triton @ git+{url}@{commit}"
    assert found.identity == {"git": commit}
    with pytest.raises(EnvironmentFailed, match='git finds no "nope"'):
        resolve(local_index, f"git+{url}@nope")


def test_a_commit_needs_no_network(local_index, monkeypatch):
    monkeypatch.setattr(resolver, "_git_output", lambda arguments: pytest.fail("git was asked"))
    found = resolve(local_index, "a" * 40)
    assert found.triton == f"triton @ git+{resolver.UPSTREAM}@{'a' * 40}"


@pytest.mark.parametrize(
    ("make", "reference", "named"),
    [
        (None, "none.whl", "no such wheel"),
        (None, "/no/such/folder", "no such file or folder"),
        (None, "-x", "not a git reference"),
        (None, "main; rm", "not a git reference"),
        ("empty/x", "empty", "holds neither"),
        ("torch-2.0-py3-none-any.whl", "torch-2.0-py3-none-any.whl", "a wheel of torch"),
        ("bad.whl", "bad.whl", "not the name of a wheel"),
    ],
)
def test_a_mistyped_reference_is_a_usage_error(tmp_path, monkeypatch, make, reference, named):
    monkeypatch.chdir(tmp_path)
    if make:
        (tmp_path / make).parent.mkdir(exist_ok=True)
        (tmp_path / make).write_text("")
    with pytest.raises(UsageError, match=named):
        resolver.check_reference(reference)


class NightlyUv:
    """Answers for the nightly index as uv would; records what it was asked."""

    def __init__(self, nightly: Answer):
        self.nightly = nightly
        self.asked: list[tuple] = []

    def __call__(self, arguments, timeout=0, environ=None, cwd=None):
        self.asked.append((tuple(arguments), environ))
        if "--default-index" in arguments:
            return self.nightly
        return Answer(0, "torch==2.15.0\n", "")


SECRET = "https://user:secret@index.invalid/simple"


def test_the_nightly_index():
    uv = NightlyUv(Answer(0, "triton==3.11.0+git99\n", ""))
    found = resolve(uv, nightly=SECRET)
    assert (found.triton, found.label) == (
        "triton==3.11.0+git99",
        "main (nightly: triton 3.11.0+git99)",
    )
    assert found.index == SECRET and "stand-in" not in found.label
    # No other index may answer in its place.
    assert uv.asked[0][1] == {"UV_INDEX": "", "UV_FIND_LINKS": ""}


def test_a_nightly_index_that_cannot_be_reached_is_not_quietly_replaced():
    uv = NightlyUv(Answer(2, "", f"error: Failed to fetch: {SECRET}/triton/\n cause: dns error"))
    with pytest.raises(EnvironmentFailed) as caught:
        resolve(uv, nightly=SECRET)
    message = str(caught.value)
    assert "dns error" in message and "CROSSWARP_NIGHTLY_INDEX" in message
    assert "secret" not in message


def test_a_reference_goes_before_the_nightly_index():
    found = resolver.resolve(
        "b" * 40, SECRET, TABLE, NightlyUv(Answer(0, "triton==9.9\n", "")), "3.11"
    )
    assert found.identity == {"git": "b" * 40}


def test_one_build_of_the_nightly_index(make_index, monkeypatch):
    monkeypatch.setattr(resolver, "_newest_torch", lambda *asked: "torch==2.15.0")
    index = make_index("3.9.0.dev1", "3.9.0.dev2", "3.9.0")
    uv, python = Uv(), f"{sys.version_info.major}.{sys.version_info.minor}"
    found = resolver.resolve(None, index, TABLE, uv, python, "3.9.0.dev1")
    assert (found.triton, found.index) == ("triton==3.9.0.dev1", index)
    listed = resolver.builds(index, uv, python, "3.9.0.dev1", "3.9.0")
    assert [str(one) for one in listed] == ["3.9.0.dev1", "3.9.0.dev2", "3.9.0"]
    assert [str(one) for one in resolver.builds(index, uv, python, "3.9.0.dev2", "3.9.0.dev9")] == [
        "3.9.0.dev2"
    ]
