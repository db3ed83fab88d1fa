"""Which workers are kept where not all of them fit."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from crosswarp.matrix.facts import targets
from crosswarp.matrix.fuzzing import places
from crosswarp.matrix.fuzzing.places import Place, Workers


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
