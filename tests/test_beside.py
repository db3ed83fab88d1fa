"""A library beside a column: built from its checkout, with what it needs, and nothing of the column touched."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from crosswarp.matrix.environments import beside
from crosswarp.matrix.environments.uvtool import Answer
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts import columns


@pytest.fixture
def checkout(tmp_path, make_buildable):
    return make_buildable(tmp_path / "made-up")


@pytest.fixture
def made(tmp_path, checkout, local_index, fake_prepare):
    """`made("einops")`: what prepares a column for the library, with these requirements."""

    def make(*requires, env=None, prepare=None):
        return beside.Beside(
            prepare or fake_prepare(), checkout, requires, env or {}, tmp_path / "beside", local_index
        )  # fmt: skip

    return make


def column(name="triton-3.2.0"):
    return columns.choose(columns.load(), [name])[0]


def files(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_the_library_and_what_it_needs(made, checkout, local_index, make_wheel):
    make_wheel(local_index.wheels, "einops", "1.0", ["packaging", "helper"])
    make_wheel(local_index.wheels, "helper", "1.0")
    before = files(checkout)
    prepare = made("einops")
    environment = prepare(column())
    library, needed = prepare.folders["triton-3.2.0"]
    assert (library / "made_up" / "__init__.py").is_file()
    # With what it needs in turn, and without what the column has.
    assert (needed / "einops.py").is_file() and (needed / "helper.py").is_file()
    assert not (needed / "packaging.py").exists() and not (library / "triton.py").exists()
    assert environment.label == "triton-3.2.0"
    # The checkout is as it was: it was built from a copy.
    assert files(checkout) == before
    # The next column, and the next run, find it.
    again = made("einops")
    again(column())
    assert again.folders["triton-3.2.0"] == (library, needed)
    (checkout / "made_up" / "__init__.py").write_text("VALUE = 2\n")
    changed = made("einops")
    changed(column())
    assert changed.folders["triton-3.2.0"][0] != library


def test_what_a_suite_requires_needs_no_library(
    tmp_path, local_index, make_wheel, fake_prepare, fake_run
):
    make_wheel(local_index.wheels, "einops", "1.0")
    prepare = beside.Beside(fake_prepare(), None, ["einops"], {}, tmp_path / "beside", local_index)
    prepare(column())
    (needed,) = prepare.folders["triton-3.2.0"]
    assert (needed / "einops.py").is_file()
    plan = fake_run.plan(beside=prepare.folders)
    assert plan.spec("triton-3.2.0", {}, tmp_path, tmp_path).beside == [str(needed)]
    assert plan.spec("triton-3.9.0", {}, tmp_path, tmp_path).beside == []


def test_nothing_is_needed(made):
    prepare = made()
    prepare(column())
    assert len(prepare.folders["triton-3.2.0"]) == 1


def test_what_the_column_has_is_not_installed_again(made):
    prepare = made("packaging")
    prepare(column())
    assert len(prepare.folders["triton-3.2.0"]) == 1


@pytest.mark.parametrize(
    ("requires", "env", "said"),
    [
        ((), {"MADE_UP_FAILS": "1"}, "Set what its build needs with `env`"),
        (
            ("nowhere-to-be-found",),
            {},
            "nowhere-to-be-found, which the library needs, is on no package index that",
        ),
    ],
)
def test_what_cannot_be_installed_costs_the_column(made, requires, env, said):
    with pytest.raises(EnvironmentFailed, match=said) as error:
        made(*requires, env=env)(column())
    assert str(error.value).startswith("triton-3.2.0: ")


def test_what_would_replace_a_package_of_the_column_is_refused(made, local_index, make_wheel):
    make_wheel(local_index.wheels, "packaging", version("packaging"))
    make_wheel(local_index.wheels, "old", "1.0", ["packaging<2"])
    with pytest.raises(EnvironmentFailed, match="Loosen `requires`"):
        made("old")(column())


def test_a_column_without_an_environment_has_no_library(made, fake_prepare):
    prepare = made(prepare=fake_prepare(fail=("triton-3.2.0",)))
    with pytest.raises(EnvironmentFailed, match="no such wheel"):
        prepare(column())
    assert prepare.folders == {}


def test_a_copy_is_what_git_would_commit(tmp_path, checkout):
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    (checkout / ".gitignore").write_text("*.so\n")
    (checkout / "made_up" / "_C.so").write_text("")
    (checkout / ".crosswarp").mkdir()
    (checkout / ".crosswarp" / "store.db").write_text("")
    beside.copy(checkout, tmp_path / "copy")
    found = {path for path in files(tmp_path / "copy") if not path.startswith(".git/")}
    assert found == {".gitignore", "backend.py", "pyproject.toml", "made_up/__init__.py"}
    # Builds that ask git for a version are answered.
    assert (tmp_path / "copy" / ".git").resolve() == (checkout / ".git").resolve()


def test_a_copy_outside_of_a_repository(tmp_path, checkout, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name in (".venv", "build", "made_up/__pycache__", "made_up.egg-info"):
        (checkout / name).mkdir()
        (checkout / name / "x").write_text("")
    beside.copy(checkout, tmp_path / "copy")
    assert files(tmp_path / "copy") == {"backend.py", "pyproject.toml", "made_up/__init__.py"}
    assert Path(tmp_path, "made-up", ".venv", "x").exists()


def test_a_package_that_cannot_be_built_is_one_line(made, monkeypatch):
    prepare = made("plain-one")

    def answered(arguments, **more):
        return Answer(
            1, "", "  x Failed to build `flash-attn==2.8.3.post2`\n  No module named 'torch'\n" * 9
        )

    monkeypatch.setattr(prepare, "_resolved", lambda *asked: ["flash-attn==2.8.3.post2"])
    own = prepare._uv
    monkeypatch.setattr(
        prepare, "_uv", lambda asked, **more: answered(asked) if "--target" in asked else own(asked, **more)
    )  # fmt: skip
    with pytest.raises(EnvironmentFailed) as error:
        prepare(column())
    assert str(error.value) == (
        "triton-3.2.0: flash-attn, which the library needs, cannot be built here: take it out of `requires` in its "
        'settings; with stub = ["flash_attn"] tests that call it are left out.'
    )
