"""What `crosswarp why` says, where an exception is met: a note below it, and a section below a failed test."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from types import SimpleNamespace

import pytest

from crosswarp import compat
from crosswarp.compat import passing
from crosswarp.matrix.cell.pytest_plugin import answers

POWER = 'ValueError("arange\'s range must be a power of 2")'


def run(*command, **environ):
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environ},
    )


@pytest.fixture
def script(tmp_path):
    def write(body, install="compat.install(explain=True)"):
        text = (
            f"import threading\nfrom crosswarp import compat\n{install}\n{textwrap.dedent(body)}\n"
        )
        path = tmp_path / "script.py"
        path.write_text(text)
        return str(path)

    return write


def test_an_exception_that_ends_the_program_gets_a_note(script):
    done = run(script(f"raise {POWER}"))
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    at = lines.index("ValueError: arange's range must be a power of 2")
    said = "\n".join(lines[at + 1 :])
    assert "crosswarp why: " in said and "[arange-power-of-two]" in said
    assert "next_power_of_2" in said


def test_run_explains_where_it_is_asked_to(script):
    path = script(f"raise {POWER}", install="")
    without = run("-m", "crosswarp.compat", "run", path)
    explained = run("-m", "crosswarp.compat", "run", "--explain", path)
    assert "crosswarp why" not in without.stderr
    assert "[arange-power-of-two]" in explained.stderr
    assert without.returncode == explained.returncode == 1


def test_a_thread_s_exception_gets_one_too_and_a_stranger_s_none(script):
    body = f"""
        def work():
            raise {POWER}
        one = threading.Thread(target=work)
        one.start()
        one.join()
        raise KeyError("x")
    """
    said = run(script(body)).stderr
    assert said.count("crosswarp why: ") == 1 and "KeyError: 'x'" in said


def test_the_environment_takes_it_off(script):
    done = run(script(f"raise {POWER}"), CROSSWARP_COMPAT="off")
    assert "power of 2" in done.stderr and "crosswarp why" not in done.stderr


def test_it_is_off_by_default_and_uninstall_puts_the_hooks_back():
    before = sys.excepthook, threading.excepthook
    compat.install(only=[])
    assert (sys.excepthook, threading.excepthook) == before
    compat.install(only=[], explain=True)
    assert sys.excepthook is not before[0] and threading.excepthook is not before[1]
    compat.uninstall()
    assert (sys.excepthook, threading.excepthook) == before


def test_an_exception_gets_one_note_and_a_failure_to_explain_harms_nothing(monkeypatch):
    error = ValueError("x")
    monkeypatch.setattr(passing, "note", lambda text: "known")
    passing.explain(error)
    passing.explain(error)
    assert error.__notes__ == ["\ncrosswarp why: known"]

    def fails(text):
        raise RuntimeError

    monkeypatch.setattr(passing, "note", fails)
    other = ValueError("y")
    passing.explain(other)
    passing.explain(KeyboardInterrupt())
    assert not hasattr(other, "__notes__")


def test_an_embedded_interpreter_is_not_started(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/usr/bin/blender")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("started"))
    assert passing.note("x") == ""


# The pytest plugin


def report(text, failed=True):
    return SimpleNamespace(failed=failed, longrepr=text, sections=[])


def test_a_failed_test_has_the_answer_below_it(monkeypatch):
    monkeypatch.setattr(answers, "_noted", {})
    failed = report(f"    kernel[(1,)](x)\nE   {POWER}\n\nkernel.py:12: Error")
    answers.add(failed)
    ((name, said),) = failed.sections
    assert name == "crosswarp why" and "[arange-power-of-two]" in said
    passed = report("", failed=False)
    answers.add(passed)
    assert passed.sections == []


def test_the_same_failure_is_asked_about_once_and_many_are_not(monkeypatch):
    asked = []
    monkeypatch.setattr(answers, "_noted", {})
    monkeypatch.setattr(passing, "note", lambda text: asked.append(text) or "")
    for number in range(100):
        answers.add(report(f"here {number}\nE   the same"))
    assert len(asked) == 1
    for number in range(100):
        answers.add(report(f"E   {number}"))
    assert len(asked) == answers.MOST
