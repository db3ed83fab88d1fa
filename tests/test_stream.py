"""Reading records while they are written, by a writer that may stop at any byte."""

from __future__ import annotations

import json

import pytest

from crosswarp.matrix import stream
from crosswarp.matrix.record import MAX_TEXT, from_event
from crosswarp.matrix.stream import Tail

CELL = {
    "event": "cell", "target": "sm_90", "lane": "compile", "mode": "bare", "kernel": "softmax",
    "case": "fp16-1", "outcome": "pass",
}  # fmt: skip


def kinds(events):
    return [event["event"] for event in events]


def test_lines_count_once_they_are_whole(tmp_path):
    path = tmp_path / "records.jsonl"
    tail = Tail(path)
    assert list(tail.poll()) == []
    with path.open("ab", buffering=0) as file:
        file.write(b'{"event":"start","item":"a"}\n{"event":"end","it')
        assert kinds(tail.poll()) == ["start"]
        assert kinds(tail.poll()) == []
        file.write(b'em":"a"}\n')
        assert list(tail.poll()) == [{"event": "end", "item": "a"}]
    assert list(tail.finish()) == []


def test_a_torn_last_line_is_reported_once(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"event":"start","item":"a"}\n{"event":"cell","tar')
    tail = Tail(path)
    assert kinds(tail.poll()) == ["start"]
    (torn,) = tail.finish()
    assert (torn["event"], torn["why"]) == ("broken-line", "torn")
    assert list(tail.finish()) == []


def test_a_last_line_that_lacks_only_its_newline_counts(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"event":"end","item":"a"}')
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
    assert [event["text"] for event in tail.poll()] == ["größer"]


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\x00", b"[1]", b'"text"', b"{}", b'{"event": 1}', b"[" * 100_000, b'{"event":"a"'],
)
def test_nonsense_does_not_stop_what_follows(tmp_path, line):
    path = tmp_path / "records.jsonl"
    path.write_bytes(line + b'\n\n{"event":"end","item":"a"}\n')
    assert kinds(Tail(path).poll()) == ["broken-line", "end"]


def test_invalid_utf8_inside_a_message_keeps_the_record(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"event":"note","text":"bad \xff byte"}\n')
    (event,) = Tail(path).poll()
    assert event["text"] == "bad \ufffd byte"


def test_an_endless_line_is_dropped_and_the_next_one_read(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "MAX_LINE", 100)
    monkeypatch.setattr(stream, "_CHUNK", 64)
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"x" * 1000 + b'\n{"event":"end","item":"a"}\n')
    assert kinds(Tail(path).poll()) == ["broken-line", "end"]


def test_a_record_keeps_what_can_be_stored():
    event = {
        **CELL, "message": "a\ud800b", "seconds": float("nan"), "resources": {"error": {"out": float("inf")}},
        "shims": ["one"], "config": None,
    }  # fmt: skip
    cell = from_event(event, "triton-3.2.0")
    assert cell.message == "a?b"
    assert cell.seconds == 0.0
    assert cell.resources == {"error": {"out": "inf"}}
    assert (cell.shims, cell.config) == (("one",), "")
    assert cell.id == "triton-3.2.0/sm_90/compile/bare/softmax/fp16-1/"


def test_an_endless_message_is_shortened_in_the_middle():
    cell = from_event({**CELL, "message": "a" * 10 + "x" * 5_000_000 + "end"}, "c")
    assert len(cell.message) < MAX_TEXT + 100
    assert cell.message.startswith("aaaa") and cell.message.endswith("end")


@pytest.mark.parametrize(
    "change", [{"outcome": "fine"}, {"lane": "x"}, {"mode": ""}, {"kernel": 7}, {"case": ""}]
)
def test_what_is_no_record(change):
    with pytest.raises(ValueError, match="a cell event"):
        from_event({**CELL, **change}, "c")
