"""The messages of a new Triton: what it added, dropped and reworded, and under which condition it says one."""

from __future__ import annotations

import textwrap

import pytest

from crosswarp.matrix.facts.errors import Message, source
from crosswarp.reports import cli
from crosswarp.reports.findings.new_messages import changes

SOURCE = """
def load(pointer, mask):
    assert mask is None, f"a mask of {mask} is refused"
    if pointer < 0:
        raise ValueError("the pointer is below zero, as {} says".format(pointer))
    elif pointer > 9:
        raise TypeError("the pointer is " + "too large: %s" % pointer)
    else:
        raise RuntimeError(f"neither of {pointer!r}")
    try:
        pass
    except KeyError:
        raise NameError("no such key")
    raise NotImplementedError
    raise
"""


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "triton" / "language"
    folder.mkdir(parents=True)
    (folder / "core.py").write_text(textwrap.dedent(SOURCE))
    (folder / "broken.py").write_text("def (")
    return tmp_path / "triton"


def message(text, last="3.9.0", where="language/core.py"):
    return Message(text, where, "ValueError", "3.0.0", last, "", 0)


def test_each_message_has_the_condition_around_it(package):
    assert {one.text: one.condition for one in source.messages(package)} == {
        "a mask of {} is refused": "not (mask is None)",
        "the pointer is below zero, as {} says": "pointer < 0",
        "the pointer is too large: {}": "pointer > 9",
        "neither of {}": "not (pointer > 9)",
        "no such key": "KeyError is raised",
    }


def test_what_is_new_what_is_gone_and_what_is_reworded(package):
    known = [
        message("a mask of {} is refused"),
        message("the pointer is under zero, as {} says"),
        message("neither of {}", "3.2.0"),
        message("something of long ago", "3.2.0"),
        message("nobody says this any more"),
        message("no such key", where="runtime/cache.py"),
        message("of C++", "main", "lib/Ops.cpp"),
    ]
    found = changes(package, known)
    assert found.added == (("language/core.py", "the pointer is too large: {}"),)
    assert found.dropped == (("language/core.py", "nobody says this any more"),)
    assert found.reworded == (
        (
            "language/core.py",
            "the pointer is under zero, as {} says",
            "the pointer is below zero, as {} says",
        ),
    )


def test_the_command_lists_them(package, capsys, tmp_path):
    assert cli.main(["update", "--errors", str(package)]) == 0
    said = capsys.readouterr().out
    assert "5 messages added" in said and "added     language/core.py: no such key" in said
    assert cli.main(["update", "--errors", str(tmp_path)]) == 2
    assert "site-packages/triton" in capsys.readouterr().err
