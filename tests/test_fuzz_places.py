"""Which workers are kept where not all of them fit."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from crosswarp.laboratory.fuzzing import generator, places
from crosswarp.laboratory.fuzzing.choices import Replayed
from crosswarp.laboratory.fuzzing.places import Place, Workers
from crosswarp.matrix.facts import targets


class Pretended:
    def __init__(self, python, *_):
        self.python, self.closed = python, False
        begun.append(self)

    def close(self):
        self.closed = True


begun = []


def test_of_places_that_take_turns_some_find_their_worker_alive(monkeypatch):
    monkeypatch.setattr(places, "Worker", Pretended)
    begun.clear()
    columns = [Place(name, release, Path(name)) for name, release in zip("abcd", "1234")]
    with Workers({}, 60, 1000, most=3) as workers:
        for _ in range(3):
            for place in columns:
                assert workers.of(place).python == Path(place.column)
                assert sum(not worker.closed for worker in begun) <= 3
        # Four at first, then one or two a turn: that which was used longest ago is the next to be asked for.
        assert len(begun) <= 8
    assert all(worker.closed for worker in begun)


@pytest.mark.parametrize(
    "clusters, expected", [(1, {"sm_80", "sm_90", "sm_100", "gfx942"}), (2, {"sm_90", "sm_100"})]
)
def test_clusters_are_for_targets_that_have_them(monkeypatch, clusters, expected):
    monkeypatch.setattr(places, "Worker", lambda *_: SimpleNamespace(targets=asked, close=tuple))
    known = targets.load()
    asked = {name: known[name] for name in ("sm_80", "sm_90", "sm_100", "gfx942")}
    program = SimpleNamespace(options={"num_warps": 4, "num_ctas": clusters})
    with Workers(asked, 60, 1000) as workers:
        place = Place("here", "3.4.0", Path("python"))
        assert {name for name in asked if workers.compiles(place, name, program)} == expected


def _told(outcome, phase="compile", seconds=0.1):
    verdict = dict(outcome=outcome, reason="", fingerprint=outcome, message="", phase=phase)
    return {"verdict": verdict, "compile_seconds": seconds}


@pytest.mark.parametrize(
    "first, asked",
    [
        (_told("pass"), [True]),
        (_told("unsupported", "execute"), [True]),
        (_told("mismatch", "compare"), [True, False]),
        (_told("crash"), [True, False]),
        (_told("api-error"), [True, False]),
        # Slow once, or slow?
        (_told("pass", seconds=60.0), [True, False]),
    ],
)
def test_a_program_that_does_not_pass_quickly_runs_again_and_is_assembled(
    monkeypatch, first, asked
):
    runs = []

    class Worker(Pretended):
        def run(self, program, expected, target, options, quick=False):
            runs.append(quick)
            return first if quick else _told("pass", seconds=0.5)

    monkeypatch.setattr(places, "Worker", Worker)
    program = generator.generate(Replayed([]), "plainest", frozenset())
    place = Place("here", "3.4.0", Path("python"))
    with Workers({}, 60, 1000) as workers:
        cell = workers.run(place, program, "sm_80", quick=True)
        assert runs == asked
        assert cell.outcome == (
            "unsupported" if first["verdict"]["outcome"] == "unsupported" else "pass"
        )
        assert len(asked) == 1 or cell.compile_seconds == 0.5
        workers.run(place, program, "sm_80")
        assert runs[-1] is False
