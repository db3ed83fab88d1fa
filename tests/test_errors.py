"""Exit statuses: each number has one meaning, on both sides."""

from __future__ import annotations

import json
import signal
import sys

from crosswarp.matrix import errors
from crosswarp.matrix.cell.kinds.suite import __main__ as suite


def numbers(prefix):
    return {name: value for name, value in vars(errors).items() if name.startswith(prefix)}


def test_one_number_each():
    own = {name: value for name, value in numbers("SUITE_").items() if isinstance(value, int)}
    assert sorted(own.values()) == sorted(errors.SUITE_STATUSES)
    statuses = [*numbers("EXIT_").values(), *own.values()]
    # What is done and what is expected is 0; of the others no two are the same.
    assert sorted(statuses) == [0, *sorted(set(statuses))]
    # pytest's own, and those of a shell.
    assert not {1, 2, 3, 4, 5, 126, 127} & set(own.values())


def test_every_error_ends_the_command_with_one_of_them():
    classes = [errors.CrosswarpError, *errors.CrosswarpError.__subclasses__()]
    assert {one.exit_code for one in classes} <= set(numbers("EXIT_").values())


def ended(tmp_path, monkeypatch, code, expect=()):
    spec = tmp_path / "spec.json"
    records = tmp_path / "records.jsonl"
    spec.write_text(
        json.dumps(
            {"column": "c", "lanes": ["compile"], "expect": dict(expect), "records": str(records)}
        )
    )
    monkeypatch.setattr(suite, "_run", lambda path, spec: code)
    return suite.main([str(spec)])


def test_the_suites_statuses(tmp_path, monkeypatch, capsys):
    assert ended(tmp_path, monkeypatch, 0) == 0
    for code in (1, -9):
        assert ended(tmp_path, monkeypatch, code) == errors.SUITE_FAILED
        assert f"the process of the lanes ended with status {code}" in capsys.readouterr().err
    assert ended(tmp_path, monkeypatch, 0, {"python": "2.7"}) == errors.SUITE_WRONG_VERSIONS


def test_a_call_leaves_the_signals_of_whoever_calls(tmp_path, monkeypatch):
    """Once it did not, and a later test of the same process waited for SIGTERM for ever."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
    try:
        assert ended(tmp_path, monkeypatch, 0) == 0
        assert {signal.getsignal(number) for number in numbers} == {signal.SIG_DFL}
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def test_a_specification_that_cannot_be_read(tmp_path, capsys):
    path = tmp_path / "spec.json"
    assert suite.main([]) == suite.main([str(path)]) == errors.SUITE_SPEC
    for text in ("", "[]", "{", "[" * 100_000, "\udcff", "{}", '{"expect": 1}', '{"expect": {}}'):
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        assert suite.main([str(path)]) == errors.SUITE_SPEC, text
    assert "SPEC.json" in capsys.readouterr().err
    assert sys.exc_info() == (None, None, None)
