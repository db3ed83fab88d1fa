"""The workers of a suite: who takes which share of a lane, and which lanes run beside each other."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import plan, workers
from crosswarp.matrix.cell.starting import specification


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """`queue(["softmax"] * 20, "compile")`: that of a lane whose items have these kernels."""
    monkeypatch.setattr(workers.forking, "ready", lambda: None)

    def make(kernels, lane="compile"):
        spec = AskedSuite(records=str(tmp_path / "c.jsonl"), modes=["bare", "shimmed"])
        items = [
            plan.Item("sm_90", lane, mode, kernel, str(place))
            for place, kernel in enumerate(kernels)
            for mode in spec.modes
        ]
        content = {"items": [asdict(item) for item in items], "preload": []}
        specification.plan_of(spec, lane).write_text(json.dumps(content))
        return spec, workers._Queue(spec, lane)

    return make


def test_a_share_is_of_one_kernel_and_has_all_modes_of_its_cases(queue):
    _, of_lane = queue(["softmax"] * 9 + ["sort"])
    shares = [of_lane.take() for _ in range(3)]
    assert [[place for place, _ in share] for share in shares] == [
        list(range(16)),
        [16, 17],
        [18, 19],
    ]
    assert not of_lane.has_more() and of_lane.take() is None


def test_others_take_what_a_dead_worker_left(queue, monkeypatch):
    spec, of_lane = queue(["softmax"] * 3 + ["sort"])
    monkeypatch.setattr(workers.os, "getpid", lambda: 7)
    of_lane.take()
    monkeypatch.setattr(workers.os, "getpid", lambda: 8)
    of_lane.take()
    assert not of_lane.give_back(7) and of_lane.has_more()
    assert [place for place, _ in of_lane.take()] == [0, 1, 2, 3, 4, 5]
    for place in (0, 1, 2):
        specification.begin(spec, "compile", place)
    assert of_lane.give_back(8)
    assert [place for place, _ in of_lane.take()] == [3, 4, 5]
    assert [place for place, _ in of_lane.take()] == [6, 7]


class Lane:
    """A lane of two items, each of which a worker takes as it is forked."""

    def __init__(self, spec, lane):
        self.lane, self.left = lane, 2

    def has_more(self):
        return self.left > 0

    def give_back(self, pid):
        return False


@pytest.fixture
def forked(monkeypatch):
    """Which lanes have workers when one is forked; the oldest worker ends first, with this status."""
    running, seen = [], []

    def fork(work):
        _, queue = work.args
        queue.left -= not forked.status
        running.append(queue.lane)
        seen.append((queue.lane, running[:-1]))
        return len(seen)

    def wait():
        running.pop(0)
        return len(seen) - len(running), forked.status

    forked = fork
    forked.status, forked.seen = 0, seen
    monkeypatch.setattr(workers, "_forked", fork)
    monkeypatch.setattr(workers, "_Queue", Lane)
    monkeypatch.setattr(workers.os, "wait", wait)
    monkeypatch.setattr(workers.warm, "warm", lambda *args, **options: None)
    monkeypatch.setattr(workers.forking, "huge_pages", lambda: None)
    return forked


def test_a_lane_begins_beside_the_last_items_of_another_but_none_beside_a_gpu(forked):
    assert workers._run(AskedSuite(jobs=2), ["compile", "emulate", "device"]) == 0
    assert forked.seen == [
        ("compile", []),
        ("compile", ["compile"]),
        ("emulate", ["compile"]),
        ("emulate", ["emulate"]),
        ("device", []),
        ("device", ["device"]),
    ]


def test_workers_that_die_before_they_begin_end_the_lane(forked, capsys):
    forked.status = 9
    assert workers._run(AskedSuite(jobs=2), ["compile"]) == 1
    assert len(forked.seen) == workers._DEATHS_IN_VAIN + 1
    assert "died before they began an item" in capsys.readouterr().err
