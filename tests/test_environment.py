"""Environments: built from what was asked, used again only while that stays the same. Tiny wheels, real uv."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from crosswarp.matrix.environments import environment, locks, uvtool
from crosswarp.matrix.environments.environment import Builder, CrosswarpSource
from crosswarp.matrix.environments.uvtool import Uv, pip_settings
from crosswarp.matrix.errors import EnvironmentFailed
from crosswarp.matrix.facts import columns
from crosswarp.matrix.running import bisection

TABLE = columns.load()


@pytest.fixture
def builder(tmp_path, local_index, monkeypatch):
    packages = tmp_path / "site" / "crosswarp"
    (packages / "matrix").mkdir(parents=True)
    (packages / "matrix" / "__init__.py").write_text("here = True\n")
    monkeypatch.setattr(environment, "_packages_folder", lambda: packages)
    said: list[str] = []

    made = []

    def make(beside=False, **changes):
        # The next run, after the last one is over; or beside it.
        for one in made if not beside else ():
            for hold in list(one._holds):
                hold.release()
        values = {"main": None, "crosswarp": CrosswarpSource(None, "0.1.0"), "say": said.append}
        made.append(Builder(tmp_path / "envs", TABLE, local_index, **{**values, **changes}))
        return made[-1]

    make.said = said
    make.folder = tmp_path / "envs"
    return make


def choose(identifier):
    (column,) = columns.choose(TABLE, [identifier])
    return column


def ask(python, code):
    # -I: only what the environment itself holds.
    return subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_built_then_used_again(builder):
    first = builder()(choose("triton-3.2.0"))
    assert not first.reused
    assert first.expect == {"triton": "3.2.0", "torch": "2.6.0"}
    assert (
        ask(first.python, "import triton, torch; print(triton.__version__, torch.__version__)")
        == "3.2.0 2.6.0"
    )
    assert ask(first.python, "import crosswarp.matrix as m; print(m.here)") == "True"
    marker = builder.folder / "triton-3.2.0" / "marker"
    marker.write_text("")
    second = builder()(choose("triton-3.2.0"))
    assert second.reused and second.python == first.python and marker.exists()
    assert second.versions == first.versions


@pytest.mark.parametrize(
    "change", ["requirement", "interrupted", "interpreter", "crosswarp", "nonsense"]
)
def test_built_again_when_something_changed(builder, change):
    column = choose("triton-3.2.0")
    home = builder.folder / column.id
    builder()(column)
    stamp = home / environment._STAMP
    make = builder
    if change == "requirement":
        column = replace(column, requirements=("numpy",))
    elif change == "interrupted":
        stamp.unlink()
    elif change == "interpreter":
        (home / "bin" / "python").unlink()
    elif change == "nonsense":
        stamp.write_text("[]")
    elif change == "crosswarp":

        def make():
            return builder(crosswarp=CrosswarpSource(None, "0.2.0"))

    assert not make()(column).reused
    assert make()(column).reused


def test_an_interrupted_build_leaves_no_stamp(builder, monkeypatch):
    column = choose("triton-3.2.0")
    builder()(column)
    again = builder(crosswarp=CrosswarpSource(None, "0.2.0"))
    monkeypatch.setattr(
        again, "_install", lambda *a: (_ for _ in ()).throw(RuntimeError("power cut"))
    )
    with pytest.raises(RuntimeError):
        again(column)
    assert not (builder.folder / column.id / environment._STAMP).exists()


def test_a_pair_off_the_official_one_is_overridden(builder):
    # torch 2.5.1 pins triton 3.1.0; without an override this cannot be resolved.
    found = builder()(choose("triton-3.2.0+torch-2.5.1"))
    assert found.expect == {"triton": "3.2.0", "torch": "2.5.1"}
    assert ask(found.python, "import triton; print(triton.__version__)") == "3.2.0"
    assert found.overrides == ("triton==3.2.0", "torch==2.5.1")
    assert found.notes == (
        "triton-3.2.0+torch-2.5.1: off the versions of triton-3.2.0; overridden: triton==3.2.0, torch==2.5.1. "
        "The package `torch` requires `triton==3.1.0`, but `3.2.0` is installed.",
    )
    again = builder()(choose("triton-3.2.0+torch-2.5.1"))
    assert again.reused and (again.overrides, again.notes) == (found.overrides, found.notes)
    assert builder()(choose("triton-3.2.0")).overrides == ()


def test_a_patch_release_is_installed_beside_its_neighbours_torch(builder, local_index, make_wheel):
    make_wheel(local_index.wheels, "triton", "3.2.1")
    found = builder()(choose("triton-3.2.1"))
    assert found.expect == {"triton": "3.2.1", "torch": "2.6.0"}
    assert ask(found.python, "import triton; print(triton.__version__)") == "3.2.1"
    (note,) = found.notes
    assert note.startswith(
        "triton-3.2.1: off the versions of triton-3.2.0; overridden: triton==3.2.1"
    )
    with pytest.raises(EnvironmentFailed, match="triton==3.2.2"):
        builder()(choose("triton-3.2.2"))


def test_a_numpy_and_a_python_of_its_own(builder, local_index, make_wheel):
    make_wheel(local_index.wheels, "numpy", "2.4.1")
    make_wheel(local_index.wheels, "torch", "2.6.1", ["triton==3.2.0", "numpy<2"])
    here = ".".join(map(str, sys.version_info[:2]))
    found = builder()(choose(f"triton-3.2.0+torch-2.6.1+numpy-2.4.1+python-{here}"))
    assert found.expect == {
        "triton": "3.2.0", "torch": "2.6.1", "numpy": "2.4.1", "python": here,
    }  # fmt: skip
    assert "numpy==2.4.1" in found.overrides and "requires `numpy<2`" in found.notes[0]
    assert found.versions["python"].startswith(f"{here}.")
    plain = builder()(choose(f"triton-3.2.0+python-{here}"))
    assert plain.overrides == ()
    assert plain.notes == (f"triton-3.2.0+python-{here}: off the versions of triton-3.2.0.",)


def test_what_cannot_be_installed_together_says_what_to_do(builder):
    with pytest.raises(EnvironmentFailed) as caught:
        builder()(choose("triton-3.2.0+numpy-2.4.99"))
    message = str(caught.value)
    assert "numpy==2.4.99" in message and "name others" in message


def test_main_is_labelled_a_stand_in(builder):
    found = builder()(choose("main"))
    assert found.label == "main (stand-in: triton 3.10.0)"
    assert found.expect["triton"] == "3.10.0"


def test_main_from_a_wheel_is_rebuilt_for_another_build_of_the_same_version(
    builder, make_wheel, tmp_path
):
    path = make_wheel(tmp_path / "own", "triton", "3.12.0")
    first = builder(main=str(path))(choose("main"))
    assert first.expect["triton"] == "3.12.0" and "sha256" in first.versions
    assert builder(main=str(path))(choose("main")).reused
    path.write_bytes(path.read_bytes() + b"\0")
    assert not builder(main=str(path))(choose("main")).reused


def test_the_cpu_index_is_asked_once_and_the_answer_said(builder):
    build = builder()
    build(choose("triton-3.2.0"))
    build(choose("triton-3.1.0"))
    assert len([text for text in builder.said if text.startswith("torch: ")]) == 1


def test_nothing_is_asked_when_everything_is_there(builder):
    builder()(choose("triton-3.2.0"))
    builder.said.clear()
    builder()(choose("triton-3.2.0"))
    assert builder.said == []


def test_what_cannot_be_installed_names_the_column_the_cause_and_what_to_do(builder):
    with pytest.raises(EnvironmentFailed) as caught:
        builder()(choose("triton-2.3.1"))
    message = str(caught.value)
    assert message.startswith("triton-2.3.1: its environment could not be built")
    assert "triton==2.3.1" in message and message.endswith("with --triton.")


def test_no_such_python(builder):
    column = replace(choose("triton-3.2.0"), python="==3.99.*")
    with pytest.raises(EnvironmentFailed, match="no Python"):
        builder()(column)


def test_a_failed_venv_is_not_blamed_on_python(builder):
    builder.folder.mkdir()
    (builder.folder / "triton-3.2.0").write_text("no folder")
    with pytest.raises(EnvironmentFailed, match="Free space and check the rights") as caught:
        builder()(choose("triton-3.2.0"))
    assert "no Python" not in str(caught.value)


def test_no_folder_is_cleared_through_a_symbolic_link(builder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pyvenv.cfg").write_text("somebody's")
    builder.folder.mkdir()
    (builder.folder / "triton-3.2.0").symlink_to(elsewhere)
    with pytest.raises(EnvironmentFailed, match="is a symbolic link") as caught:
        builder()(choose("triton-3.2.0"))
    assert "\n" not in str(caught.value)
    assert (elsewhere / "pyvenv.cfg").read_text() == "somebody's"


def test_only_what_a_run_would_use_is_ready(builder):
    column = choose("triton-3.2.0")
    assert not builder().is_ready(column)
    builder()(column)
    assert builder().is_ready(column)
    assert not builder(crosswarp=CrosswarpSource(None, "0.2.0")).is_ready(column)


def test_an_environment_that_holds_something_else_is_refused(builder, monkeypatch):
    build = builder()
    monkeypatch.setattr(build, "_installed", lambda *a: {"triton": "3.1.0", "torch": "2.6.0"})
    with pytest.raises(EnvironmentFailed, match="holds triton 3.1.0, planned was 3.2.0"):
        build(choose("triton-3.2.0"))
    assert not (builder.folder / "triton-3.2.0" / environment._STAMP).exists()


def test_cancel_ends_what_is_in_flight_and_refuses_the_rest(tmp_path):
    slow = tmp_path / "uv"
    slow.write_text("#!/bin/sh\ntouch started\nexec sleep 600\n")
    slow.chmod(0o755)
    uv = Uv(str(slow), {"PATH": "/usr/bin:/bin"})
    answers = []
    thread = threading.Thread(target=lambda: answers.append(uv(["x"], cwd=tmp_path)))
    thread.start()
    while not (tmp_path / "started").exists():
        time.sleep(0.01)
    uv.cancel()
    thread.join(30)
    assert [answer.ok for answer in answers] == [False]
    assert uv(["x"], cwd=tmp_path).why == "cancelled"


def test_a_uv_that_hangs_is_given_up(tmp_path):
    slow = tmp_path / "uv"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    answer = Uv(str(slow), {"PATH": "/usr/bin:/bin"})(["x"], timeout=0.1)
    assert (answer.ok, answer.why) == (False, "no answer in time")


def test_pip_settings_are_passed_on(tmp_path):
    config = tmp_path / ".config" / "pip" / "pip.conf"
    config.parent.mkdir(parents=True)
    config.write_text(
        "[global]\nfind-links = /one\n  /two\nextra-index-url = file:///a file:///b\n[install]\nindex-url = file:///i\n"
    )
    found = pip_settings({"HOME": str(tmp_path)})
    assert found["UV_FIND_LINKS"] == "/one,/two"
    assert found["UV_INDEX"] == "file:///a file:///b"
    assert found["UV_DEFAULT_INDEX"] == "file:///i"
    # pip takes the best version of all of them.
    assert found["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert (
        pip_settings({"HOME": str(tmp_path), "PIP_FIND_LINKS": "/env"})["UV_FIND_LINKS"] == "/env"
    )
    own = pip_settings({"HOME": str(tmp_path), "UV_INDEX": "file:///own"})
    assert own["UV_INDEX"] == "file:///own" and "UV_INDEX_STRATEGY" not in own
    assert "UV_FIND_LINKS" not in pip_settings(
        {"HOME": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null"}
    )


def test_each_wheel_of_a_folder_gets_an_environment_of_its_own(builder, local_index, tmp_path):
    for name, (column, path) in bisection.wheels(local_index.wheels, TABLE).items():
        found = builder(main=str(path))(column)
        assert (
            found.expect["triton"] == found.versions["triton"] == name.removeprefix("wheel-triton-")
        )
        assert found.python == tmp_path / "envs" / name / "bin" / "python"


def test_this_checkout_is_recognised():
    source = CrosswarpSource.here()
    assert source.checkout is not None and (source.checkout / "pyproject.toml").is_file()


@pytest.mark.integration
@pytest.mark.parametrize("identifier", ["triton-2.3.1", "main"])
def test_real_environments(tmp_path, identifier):
    found = Builder(tmp_path / "envs", TABLE, uvtool.Uv())(choose(identifier))
    code = "import json, triton, torch, crosswarp.matrix; print(json.dumps([triton.__version__, torch.__version__]))"
    triton, torch = json.loads(ask(found.python, code))
    assert triton == found.expect["triton"]
    assert torch.partition("+")[0] == found.expect["torch"]


class Waits(list):
    """What a builder says, and when it says that it waits."""

    def __init__(self):
        super().__init__()
        self.waiting = threading.Event()

    def say(self, text):
        self.append(text)
        if "waiting" in text:
            self.waiting.set()


def test_nothing_is_built_anew_under_a_run_that_uses_it(builder):
    column = choose("triton-3.2.0")
    used = builder()(column)
    marker = builder.folder / column.id / "marker"
    marker.write_text("imported from")
    # The same is shared; another waits until nobody uses it any more.
    builder(beside=True)(column).release()
    other = replace(column, requirements=("numpy",))
    said, built = Waits(), []
    thread = threading.Thread(
        target=lambda: built.append(builder(beside=True, say=said.say)(other))
    )
    thread.start()
    assert said.waiting.wait(60) and not built
    assert any("another run uses its environment" in text and "--work" in text for text in said)
    assert marker.exists()
    used.release()
    thread.join(60)
    assert not marker.exists() and not built[0].reused


def test_a_run_that_is_cancelled_waits_for_nobody_and_holds_nothing(builder):
    column = choose("triton-3.2.0")
    first = builder()
    used = first(column)
    said, failed = Waits(), []
    second = builder(beside=True, say=said.say)

    def build():
        try:
            second(replace(column, requirements=("numpy",)))
        except EnvironmentFailed as error:
            failed.append(str(error))

    thread = threading.Thread(target=build)
    thread.start()
    assert said.waiting.wait(60)
    second.cancel()
    thread.join(60)
    assert len(failed) == 1 and "Run again" in failed[0]
    lock = builder.folder / f"{column.id}.lock"
    assert locks.try_change(lock) is None and not used.reused
    # A run ends by cancelling its builder: from then on its environments are free.
    first.cancel()
    free = locks.try_change(lock)
    assert free is not None
    free.release()


def test_a_folder_that_cannot_be_written_is_one_clear_error(builder):
    builder.folder.write_text("no folder")
    with pytest.raises(EnvironmentFailed, match="name another folder with --work"):
        builder()(choose("triton-3.2.0"))


def test_what_many_machines_share_lies_below_all_that_it_is_made_of(builder):
    first = builder(by_lock=True)(choose("triton-3.2.0"))
    (lock,) = (path for path in builder.folder.iterdir() if path.is_dir())
    assert first.python == lock / "triton-3.2.0/bin/python"
    assert builder(by_lock=True)(choose("triton-3.2.0")).reused
    # Another crosswarp is another folder, and what others use stays as it is.
    other = builder(by_lock=True, beside=True, crosswarp=CrosswarpSource(None, "0.2.0"))
    assert other(choose("triton-3.2.0")).python.parents[2] != lock and first.python.exists()


def test_a_lock_is_of_everything_that_decides(monkeypatch):
    wanted = environment.Wanted(("triton==3.2.0",), (), "3.11", "0.1.0")
    changes = [
        {"requirements": ("triton==3.3.0",)}, {"overrides": ("torch==2.5.1",)}, {"python": "3.12"},
        {"crosswarp": "0.2.0"}, {"identity": {"triton-git": "abc"}},
    ]  # fmt: skip
    assert wanted.lock == replace(wanted).lock
    assert len({wanted.lock, *(replace(wanted, **change).lock for change in changes)}) == 6
    before = wanted.lock
    monkeypatch.setattr(environment.platform, "machine", lambda: "aarch64")
    assert wanted.lock != before
