"""A stranger's folder is looked at and never run; input that nobody can mean is one line and a status, never 1."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crosswarp.compat import probe
from crosswarp.matrix import versions
from crosswarp.matrix.environments import here
from crosswarp.matrix.errors import EnvironmentFailed, UsageError
from crosswarp.reports import cli
from crosswarp.reports.findings import doctor

DIGITS = "9" * 5000


@pytest.fixture
def a_strangers_folder(tmp_path, monkeypatch):
    """Modules that leave a mark when they are imported; returns the marks."""
    for name in ("json", "tempfile", "platform", "triton", "torch", "numpy", "packaging"):
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'RUN-')!r} + {name!r}, 'w')\nraise ImportError\n"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    return lambda: [path.name for path in tmp_path.glob("RUN-*")]


def test_the_doctor_s_child_runs_nothing_of_the_current_folder(a_strangers_folder):
    probe.ask("off", 60)
    assert a_strangers_folder() == []


def test_another_interpreter_runs_nothing_of_the_current_folder(a_strangers_folder):
    for ask in (
        lambda: doctor.ask(Path(sys.executable), "off", 60),
        lambda: here.look(Path(sys.executable)),
    ):
        # Whether it has a Triton is not asked here.
        try:
            ask()
        except (UsageError, EnvironmentFailed):
            pass
        assert a_strangers_folder() == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("why", "x", "--triton", DIGITS),
        ("report", "--run", DIGITS),
        ("report", "--store", "/dev/zero"),
        ("issues", "--baseline", "/dev/urandom"),
        ("diff", "x" * 5000, "y"),
        ("diff", "a/" * 3000, "y"),
        ("columns", "--columns-file", "x" * 300),
    ],
    ids=lambda one: one[0],
)
def test_what_nobody_can_mean_is_a_mistake_of_usage(command, arguments):
    status, out, err = command(*arguments)
    assert status == 2 and not out and "internal" not in err


def test_versions_of_thousands_of_digits_are_none():
    assert versions.parse(DIGITS) is None and versions.base(f"3.{DIGITS}") is None
    assert not versions.is_window(f">={DIGITS}") and not versions.within(DIGITS, ">=3")


def test_what_nests_too_deeply_is_said(capsys, monkeypatch):
    def deep(options, argv):
        return deep(options, argv)

    monkeypatch.setattr(cli.load("runs"), "run", deep)
    assert cli.main(["runs"]) == 2
    assert "nested too deeply" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "free", "said"),
    [
        (28, 0, "out of inodes"),
        (28, 5, "No space left"),
        (30, 5, "Read-only"),
        (13, 5, "Permission"),
    ],
)
def test_a_place_that_cannot_be_used(capsys, monkeypatch, number, free, said):
    import os

    def fails(options, argv):
        raise OSError(number, os.strerror(number), "/some/where")

    class Space:
        f_files, f_favail = 100, free

    monkeypatch.setattr(cli.load("runs"), "run", fails)
    monkeypatch.setattr(os, "statvfs", lambda path: Space)
    assert cli.main(["runs"]) == 2
    assert said in capsys.readouterr().err


def test_a_python_that_does_not_answer_is_named_in_one_short_line(tmp_path, monkeypatch):
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(here, "_TIMEOUT", 0.2)
    with pytest.raises(EnvironmentFailed) as failed:
        here.look(slow)
    assert str(failed.value) == (
        f"{slow}: did not say what it holds within 0.2 s. Try again when the machine is less busy, or name another."
    )
