"""What a view groups, it groups whole: no report misses a record, or counts one twice."""

import itertools

import pytest

from crosswarp.matrix.results.store import Store
from crosswarp.reports.findings import causes
from crosswarp.reports.findings.history import history
from crosswarp.reports.findings.standing import standing
from crosswarp.reports.findings.view import view
from crosswarp.reports.text.summary import tally


@pytest.fixture
def shown(stored, make_record, make_issue):
    outcomes = itertools.cycle(["pass", "crash", "mismatch", "not-run", "unsupported"])
    records = [
        make_record(
            column=column, target=target, kernel=kernel, mode=mode,
            outcome=(outcome := next(outcomes)), fingerprint=outcome if outcome == "crash" else "",
            versions={"triton": column.removeprefix("triton-") + "+git1"},
        )
        for column in ("triton-3.2.0", "triton-3.1.0")
        for target in ("sm_90", "sm_80")
        for kernel in ("softmax", "chunk", "rope")
        for mode in ("bare", "shimmed")
    ]  # fmt: skip
    columns = ["triton-3.9.0", "triton-3.1.0"]
    issue = make_issue(
        triton="", kernels=["softmax"], configs=["*"], outcome="crash", fingerprint="crash", status="unverified",
    )  # fmt: skip
    return stored(records, [issue], columns=columns)


def ids(records):
    return [record.id for record in records]


def test_every_record_is_once_in_each_index(shown):
    whole = sorted(ids(shown.records))
    assert len(whole) == 24
    places = [cells for cells in shown.by_place.values()]
    for groups in (
        shown.by_column.values(),
        shown.by_kernel.values(),
        [records for cells in places for records in cells.values()],
    ):
        assert sorted(id for records in groups for id in ids(records)) == whole
    assert sum(found.total() for found in shown.tallies.values()) == 24
    assert len({(r.column, r.target, r.kernel) for r in shown.records}) == len(shown.marks)


def test_each_index_holds_what_it_is_asked_for_in_order(shown):
    # A column of which nothing was recorded stands in its place.
    assert list(shown.by_column) == ["triton-3.9.0", "triton-3.1.0", "triton-3.2.0"]
    assert shown.by_column["triton-3.9.0"] == []
    for column, records in shown.by_column.items():
        assert ids(records) == ids(r for r in shown.records if r.column == column)
    assert list(shown.by_kernel) == ["chunk", "rope", "softmax"]
    for kernel, records in shown.by_kernel.items():
        assert ids(records) == ids(r for r in shown.records if r.kernel == kernel)
    assert list(shown.by_place) == list(dict.fromkeys((r.lane, r.target) for r in shown.records))
    for place, cells in shown.by_place.items():
        for key, records in cells.items():
            assert {(r.lane, r.target) for r in records} == {place}
            assert {(r.kernel, r.column) for r in records} == {key}
    for place, found in shown.tallies.items():
        of = [(r.outcome, (r.column, r.lane, r.target, r.mode)) for r in shown.records]
        mine = [outcome for outcome, where in of if where == place]
        assert sorted(found.elements()) == sorted(mine)


def test_what_a_report_sums_up_stays_as_it_was(shown):
    first, second = tally(shown), tally(shown)
    assert first == second
    assert sum(found.total() for *_, found in first[1]) == 24


def test_issues_by_cell_and_the_releases_met(shown):
    red = {r.id for r in shown.records if r.kernel == "softmax" and r.outcome == "crash"}
    assert red and set(shown.issue_of) == red
    assert {str(release) for release in shown.releases} == {"3.1.0", "3.2.0"}


def test_a_column_without_an_environment_is_called_by_its_id(shown):
    assert shown.label("triton-3.9.0") == "triton-3.9.0"


def test_wrong_numbers_of_two_kernels_are_two_causes(stored, make_record):
    """And two entries on GitHub: such a fingerprint says nothing of its cause."""
    wrong = {"outcome": "mismatch", "fingerprint": "mismatch: y wrong"}
    view = stored([make_record(kernel=one, **wrong) for one in ("softmax", "layer_norm")])
    assert len({cause.key for cause in causes.unexpected(view)}) == 2
    crash = {"outcome": "crash", "fingerprint": "SIGABRT: here"}
    view = stored([make_record(kernel=one, **crash) for one in ("softmax", "layer_norm")])
    assert len({cause.key for cause in causes.unexpected(view)}) == 1


def test_what_fails_with_compat_alone_is_no_regression_of_tritons(stored, make_record):
    red = {"outcome": "crash", "fingerprint": "abort"}
    alone = make_record(kernel="rope", mode="shimmed", **red)
    shown = stored([make_record(**red), make_record(kernel="rope"), alone])
    assert [group.kernel for group in shown.regressions] == ["softmax"]


def test_a_problem_of_one_column_is_not_another_s(stored, make_record, tmp_path):
    columns = ("triton-3.1.0", "triton-3.2.0")
    shown = stored([make_record(column=one) for one in columns])
    with Store(tmp_path / "store.db") as store:
        store.note(shown.run.id, columns[0], "half of it is missing", kind="problem")
        store.note(shown.run.id, columns[1], "read me")
        shown = view(store, (), shown.run.id)
    assert [standing(shown, one).whole for one in (*columns, None)] == [False, True, False]


def test_runs_of_two_libraries_have_histories_of_their_own(stored, make_record, tmp_path):
    for name in ("one", "other", "one"):
        shown = stored([make_record()], library={"name": name})
    with Store(tmp_path / "store.db") as store:
        assert [past.run.id for past in history(store, shown.run)] == [3, 1]
        assert history(store, store.run(2)) == []
