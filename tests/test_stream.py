"""Reading records while they are written, by a writer that may stop at any byte."""

from __future__ import annotations

import json

import pytest

from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.protocol import Cell, End, Note, Senseless
from crosswarp.matrix.results import record, stream
from crosswarp.matrix.results.record import MAX_TEXT
from crosswarp.matrix.results.stream import Tail

CELL = {
    "event": "cell", "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "softmax",
    "case": "fp16-1", "outcome": "pass",
}  # fmt: skip


def kinds(events):
    return [type(event).__name__.lower() for event in events]


def line(**changes):
    return json.dumps({**CELL, **changes}).encode()


def test_lines_count_once_they_are_whole(tmp_path):
    path = tmp_path / "records.jsonl"
    tail = Tail(path)
    assert list(tail.poll()) == []
    with path.open("ab", buffering=0) as file:
        file.write(b'{"event":"start","item":"sm_90/compile/bare/k/c"}\n{"event":"end","it')
        assert kinds(tail.poll()) == ["start"]
        assert kinds(tail.poll()) == []
        file.write(b'em":"sm_90/compile/bare/k/c"}\n')
        assert list(tail.poll()) == [End("sm_90/compile/bare/k/c")]
    assert list(tail.finish()) == []


def test_a_torn_last_line_is_reported_once(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"event":"start","item":"sm_90/compile/bare/k/c"}\n{"event":"cell","tar')
    tail = Tail(path)
    assert kinds(tail.poll()) == ["start"]
    (torn,) = tail.finish()
    assert torn == Senseless("torn", '{"event":"cell","tar')
    assert list(tail.finish()) == []


def test_a_last_line_that_lacks_only_its_newline_counts(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"event":"end","item":"sm_90/compile/bare/k/c"}')
    assert kinds(Tail(path).finish()) == ["end"]


def test_a_character_split_between_two_reads(tmp_path):
    path = tmp_path / "records.jsonl"
    line = json.dumps({"event": "note", "text": "größer"}, ensure_ascii=False).encode()
    cut = line.index("ö".encode()) + 1
    tail = Tail(path)
    with path.open("ab", buffering=0) as file:
        file.write(line[:cut])
        assert list(tail.poll()) == []
        file.write(line[cut:] + b"\n")
    assert list(tail.poll()) == [Note("größer")]


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\x00", b"[1]", b'"text"', b"{}", b'{"event": 1}', b"[" * 100_000, b'{"event":"a"'],
)
def test_nonsense_does_not_stop_what_follows(tmp_path, line):
    path = tmp_path / "records.jsonl"
    path.write_bytes(line + b'\n\n{"event":"end","item":"sm_90/compile/bare/k/c"}\n')
    assert kinds(Tail(path).poll()) == ["senseless", "end"]


def test_invalid_utf8_inside_a_message_keeps_the_record(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"event":"note","text":"bad \xff byte"}\n')
    (event,) = Tail(path).poll()
    assert event == Note("bad \ufffd byte")


def test_an_endless_line_is_dropped_and_the_next_one_read(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "MAX_LINE", 100)
    monkeypatch.setattr(stream, "_CHUNK", 64)
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"x" * 1000 + b'\n{"event":"end","item":"sm_90/compile/bare/k/c"}\n')
    assert kinds(Tail(path).poll()) == ["senseless", "end"]


@pytest.mark.parametrize(("spaces", "seen"), [(0, ["end"]), (1, ["senseless"])])
def test_the_longest_line(tmp_path, monkeypatch, spaces, seen):
    text = b'{"event":"end","item":"sm_90/compile/bare/k/c"}' + b" " * spaces
    monkeypatch.setattr(stream, "MAX_LINE", len(text) - spaces)
    path = tmp_path / "records.jsonl"
    path.write_bytes(text)
    tail = Tail(path)
    assert kinds(tail.poll()) == seen[spaces - 1 : spaces]
    path.write_bytes(text + b"\n")
    assert kinds(tail.poll()) == seen[: 1 - spaces]


def test_an_endless_line_at_the_end_is_reported_once(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "MAX_LINE", 100)
    monkeypatch.setattr(stream, "_CHUNK", 64)
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"x" * 1050)
    (found,) = Tail(path).finish()
    assert found.why == "longer than 8 MiB"


def test_a_record_keeps_what_can_be_stored():
    cell = protocol.read(
        line(
            message="a\ud800b", shims=["one"], seconds=2,
            resources={"error": {"out": float("inf")}, "bytes": 2**64, "stage": None},
        )
    )  # fmt: skip
    assert isinstance(cell, Cell)
    assert cell.message == "a?b"
    assert cell.seconds == 2.0
    assert cell.resources == {"error": {"out": "inf"}, "bytes": str(2**64), "stage": None}
    assert (cell.shims, cell.config) == (("one",), "")
    assert cell.item == "sm_90/compile/bare/softmax/fp16-1"
    assert record.of(cell, "triton-3.2.0").id == "triton-3.2.0/sm_90/compile/bare/softmax/fp16-1/"


def test_an_endless_message_is_shortened_in_the_middle():
    cell = protocol.read(line(message="a" * 10 + "x" * 5_000_000 + "end"))
    assert len(cell.message) < MAX_TEXT + 100
    assert cell.message.startswith("aaaa") and cell.message.endswith("end")


def nested(depth):
    return [] if depth == 0 else [nested(depth - 1)]


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "fine"}, {"outcome": ["pass"]}, {"lane": "x"}, {"lane": {}}, {"mode": ""}, {"mode": None},
        {"kernel": 7}, {"case": ""}, {"case": "x" * 100_000}, {"seconds": 10**400}, {"seconds": 1e9},
        {"seconds": -1}, {"seconds": float("nan")}, {"seconds": float("inf")}, {"seconds": True},
        {"seconds": "1"}, {"resources": []}, {"resources": {"deep": nested(600)}}, {"resources": {"deep": nested(40)}},
        {"shims": "one"}, {"shims": [1]}, {"config": None}, {"message": {"a": 1}},
    ],
)  # fmt: skip
def test_what_is_no_record(change):
    found = protocol.read(line(**change))
    assert isinstance(found, Senseless)
    assert found.why.startswith(f"cell: {next(iter(change))}: ") and len(found.why) <= 200


@pytest.mark.parametrize(
    "event",
    [
        {"event": "session", "lane": "compile", "planned": 10**30, "versions": {}},
        {"event": "session", "lane": "compile", "planned": float("inf"), "versions": {}},
        {"event": "session", "lane": "compile", "planned": True, "versions": {}},
        {"event": "session", "lane": "compile", "planned": 1, "versions": {"triton": "1" * 5000}},
        {"event": "session", "lane": "compile", "planned": 1, "versions": ["3.2.0"]},
        {"event": "start", "item": "softmax"}, {"event": "start", "item": "sm_90/x/bare/k/c"}, {"event": "end"},
        {"event": "target", "target": "sm_90", "supported": 1}, {"event": "note"}, {"event": ["note"]}, {"event": None},
        {"event": "probe", "where": "sm_90", "name": "tl.load", "outcome": "pass"},
        {"event": "probe", "id": "x", "where": [], "name": "tl.load", "outcome": "pass"},
        {"event": "name", "name": "tl.load", "kind": "verb", "signature": ""}, {"event": "cheer"},
    ],
)  # fmt: skip
def test_what_is_no_event(event):
    assert isinstance(protocol.read(json.dumps(event).encode()), Senseless)


def test_digits_without_end_are_no_number():
    text = json.dumps(CELL)[:-1] + f', "seconds": {"9" * 5000}}}'
    assert isinstance(protocol.read(text.encode()), Senseless)


@pytest.mark.parametrize(
    "event",
    [
        protocol.Session("compile", 3, {"triton": "3.2.0"}), protocol.Target("sm_90", False, "ptxas"), Note("größer"),
        protocol.Start("sm_90/compile/bare/k/a/b"), End("sm_90/compile/bare/k/c"), protocol.Done(),
        Cell("cpu", "interpret", "shimmed", "k", "c", "pass", seconds=1.5, resources={"a": [1, "x"]}, shims=("s",)),
        protocol.Name("tl.load", "function", "(x)"), protocol.Probe("p", "tl.load", "sm_90", "crash", "SIGABRT"),
    ],
)  # fmt: skip
def test_what_is_written_is_read(event):
    assert protocol.read(protocol.line(event).encode("ascii")) == event
