"""Two thousand streams in which some lines are not what was written: no traceback, no good cell lost, never green."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace

import pytest

from crosswarp.laboratory.asking import language_probes
from crosswarp.matrix.cell import protocol
from crosswarp.matrix.results.stream import Tail
from crosswarp.matrix.results.verdict import judge
from crosswarp.matrix.running import run
from crosswarp.matrix.running.column_run import NO_RECORD, ColumnRun
from crosswarp.matrix.running.progress import PlainProgress
from crosswarp.matrix.running.recording import Recording

STREAMS = 2000 if os.environ.get("NIGHTLY") else 500
CASES = 12
# Values that JSON can spell and no field can be.
NONSENSE = (
    None, True, -1, 0, 10**30, 10**400, 1.5, float("nan"), float("inf"), float("-inf"), "", "x" * 30_000, "\ud800\0",
    "a/b/c/d/e", "sm_90/compile/bare", [], {}, [[]], {"a": {"b": [1, {}]}}, "Infinity", "<script>", "\x1b[2J", "pass",
    "compile", "device", [1] * 3000, {"\ud800": 1},
)  # fmt: skip
NESTED = 600


def cell(number, **changes):
    return protocol.Cell(
        "sm_90", "compile", "bare", "softmax", f"c{number}", "pass", seconds=0.5,
        resources={"launches": [{"kernel": "k", "registers": 32}]}, **changes,
    )  # fmt: skip


def suite_lines():
    """A whole run as the suite writes it: (line, the case that it is about)."""
    yield protocol.Target("sm_90", True), None
    yield protocol.Session("compile", CASES, {"triton": "3.2.0", "python": "3.11"}), None
    yield protocol.Note("dropped num_warps=8"), None
    for number in range(CASES):
        item = cell(number).item
        yield protocol.Start(item), number
        yield cell(number, config="num_warps=4"), number
        yield cell(number), number
        yield protocol.End(item, 2), number


def language_lines():
    yield protocol.Session("compile", CASES, {"triton": "3.2.0"}), None
    yield protocol.Name("tl.load", "function", "(pointer)"), None
    for number in range(CASES):
        yield protocol.Probe(f"p{number}", "tl.load", "sm_90", "crash", "SIGABRT"), number
    yield protocol.Done(), None


def mutated(chance, line):
    """The line with something wrong in it."""
    kind = chance.randrange(10)
    if kind < 5:
        event = json.loads(line)
        name = chance.choice(list(event))
        if kind == 0:
            del event[name]
        elif kind == 1:
            return line.replace(f'"{name}"'.encode(), b'"nothing"', 1)
        else:
            event[name] = chance.choice(NONSENSE)
        return json.dumps(event).encode() + b"\n"
    if kind == 5:
        return b'{"event": "cell", "resources": ' + b"[" * NESTED + b"]" * NESTED + b"}\n"
    data = bytearray(line)
    at = chance.randrange(len(data) - 1)
    if kind == 6:
        data[at] = chance.choice(b'\0\xff"{}[],:\\9-')
    elif kind == 7:
        del data[at : at + chance.randrange(1, 40)]
    elif kind == 8:
        data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 20)))
    else:
        return b""
    return bytes(data)


def stream(lines, seed):
    """Bytes, and the numbers of the cases that no mutated line is about."""
    chance = random.Random(seed)
    written, good = [], set(range(CASES))
    lines = [(protocol.line(event).encode(), number) for event, number in lines]
    hit = set(chance.sample(range(len(lines)), chance.randint(1, 4)))
    for place, (line, number) in enumerate(lines):
        if place not in hit:
            written.append(line)
            continue
        written.append(mutated(chance, line))
        good.discard(number)
        if not written[-1].endswith(b"\n"):
            # It has run into the next one.
            good -= {lines[place + 1][1] if place + 1 < len(lines) else None}
    if chance.random() < 0.2:
        written[-1] = written[-1][: chance.randrange(len(written[-1]) + 1)]
        good.discard(lines[-1][1])
    return b"".join(written), good


@pytest.fixture
def host(fake_run, tmp_path):
    """`host(bytes)`: what the host makes of that stream of a suite that ended with 0: exit code and records."""
    path, log = tmp_path / "records.jsonl", tmp_path / "log"
    log.write_text("")
    fake_run.work.mkdir()
    plan = fake_run.plan(modes=("bare",))
    columns = []

    with fake_run.store() as store:
        # Nothing here is to survive the machine.
        store._db.execute("PRAGMA synchronous = OFF")

        def call(data):
            path.write_bytes(data)
            recording = Recording(store, PlainProgress(fake_run.said), ())
            recording.run = store.begin([], plan.describe())
            column = ColumnRun(
                "triton-3.2.0", plan, recording, {"triton": "3.2.0"}, fake_run.work, log
            )
            columns.append(column)
            column.take(Tail(path).finish())
            column.account(0, False)
            records = store.records(recording.run)
            code = run.exit_code(
                records, judge(records, ()), planned=store.planned(recording.run),
                environment_failed=recording.environment_failed, problems=recording.problems,
            )  # fmt: skip
            store.finish(recording.run, "finished", code)
            return code, records

        call.column = lambda: columns[-1]

        yield call


def test_the_stream_itself_is_green(host):
    code, records = host(b"".join(protocol.line(event).encode() for event, _ in suite_lines()))
    assert code == 0
    assert len(records) == 2 * CASES and {record.outcome for record in records} == {"pass"}


def test_mutated_streams_of_a_suite(host):
    wrong = {}
    for seed in range(STREAMS):
        data, good = stream(suite_lines(), seed)
        code, records = host(data)
        kept = {record.case for record in records if record.outcome == "pass" and not record.config}
        lost = {f"c{number}" for number in good} - kept
        # What is lost may be a note or a start. A line that makes no sense, or a cell that is not there, is not green.
        lines = [one for one in data.split(b"\n") if one.strip()]
        senseless = any(isinstance(protocol.read(one), protocol.Senseless) for one in lines)
        if lost or (code == 0 and (senseless or len(records) < 2 * CASES)):
            wrong[seed] = (code, lost, len(records))
    assert wrong == {}


def test_mutated_streams_of_the_language_probes(tmp_path):
    path = tmp_path / "records.jsonl"
    for seed in range(STREAMS):
        data, good = stream(language_lines(), seed)
        path.write_bytes(data)
        told = language_probes._Answers()
        for event in Tail(path).finish():
            language_probes.take(told, event)
        assert {f"p{number}" for number in good} <= set(told.probes), seed
        # Nothing goes without a word: a line that is counted, an end that did not come, a number that is another.
        assert (
            len(told.probes) == CASES or told.not_run or not told.ended or told.came != told.planned
        )


def test_a_cell_of_a_mode_that_was_not_planned_is_not_green(host):
    lines = [protocol.line(event) for event, _ in suite_lines()]
    lines += [protocol.line(event) for event in (replace(cell(0), mode="shimmed"),)]
    code, records = host("".join(lines).encode())
    assert code == 1 and {record.mode for record in records} == {"bare"}


def test_a_cell_that_came_twice_makes_a_column_no_source_of_unchanged_cells(host):
    lines = [protocol.line(event) for event, _ in suite_lines()]
    host("".join(lines).encode())
    assert host.column().whole
    host("".join([*lines[:-1], protocol.line(cell(CASES - 1)), lines[-1]]).encode())
    assert not host.column().whole


@pytest.mark.parametrize("number", range(4))
def test_an_item_whose_line_is_lost_is_red_by_itself(host, number):
    """Start, cell of a configuration, cell of the whole, end: of the fourth case, one of these does not come."""
    lines = [protocol.line(event).encode() for event, _ in suite_lines()]
    del lines[3 + 3 * 4 + number]
    code, records = host(b"".join(lines))
    found = {
        record.config: (record.outcome, record.reason) for record in records if record.case == "c3"
    }
    # Only that it began may go unsaid.
    assert code == (0 if number == 0 else 1)
    if number == 2:
        assert found == {"num_warps=4": ("pass", ""), "": ("crash", NO_RECORD)}
    if number == 3:
        assert found["worker died"] == ("crash", "worker died") and found[""] == ("pass", "")
    others = [record for record in records if record.case != "c3"]
    assert len(others) == 2 * CASES - 2 and {record.outcome for record in others} == {"pass"}
