"""What a view groups, it groups whole: no report misses a record, or counts one twice."""

import itertools
import types

import pytest

from crosswarp.matrix.results.cause import RootCause
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.results.verdict import Verdict
from crosswarp.matrix.results.vocabulary import WORST
from crosswarp.reports.findings import causes
from crosswarp.reports.findings.history import _changed, history, worst_of
from crosswarp.reports.findings.standing import Standing, standing
from crosswarp.reports.findings.view import day, view
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


@pytest.mark.parametrize(("without", "ours"), [("pass", True), ("crash", False)])
def test_what_fails_with_compat_is_our_fault_where_it_passes_without(
    stored, make_record, without, ours
):
    red = make_record(outcome="crash", mode="shimmed")
    shown = stored([make_record(outcome=without), red])
    assert (shown.fault(red).whose == "crosswarp") is ours


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


# Reports that are open carry them.
DIGESTS = ("86d0aba9c536a906", "101a8e22f344d8a3", "5021fa158a31c7e1")
STANDINGS = [
    ({"ok": 1204}, "passing", "1,204 ok"),
    ({"fixed": 3}, "fixed", "3 fixed"), ({"ok": 1, "fixed": 3}, "fixed", "1 ok · 3 fixed"),
    ({"known": 2}, "known", "2 known"), ({"ok": 1, "newly_green": 1}, "known", "1 ok · 1 newly passing"),
    ({"fixed": 1, "known": 1}, "known", "1 fixed · 1 known"),
    ({"regressed": 1}, "regressed", "1 regressed"),
    ({"regressed": 1, "known": 2}, "regressed", "1 regressed · 2 known"),
    ({"unsupported": 1}, "unsupported", "unsupported"), ({"unsupported": 1, "lost": ("c",)}, "not-run", "not run"),
    ({}, "not-run", "not run"), ({"newly_green": 1}, "not-run", "not run"), ({"not_run": 5}, "not-run", "not run"),
    ({"ok": 1, "not_run": 5}, "incomplete", "1 ok · 5 not run"),
    ({"ok": 1, "lost": ("c",)}, "incomplete", "1 ok · 1 column not run"),
    ({"ok": 1, "lost": ("c", "d")}, "incomplete", "1 ok · 2 columns not run"),
    ({"ok": 1, "whole": False}, "incomplete", "1 ok · not whole"),
    ({"ok": 1, "whole": False, "not_run": 1}, "incomplete", "1 ok · 1 not run"),
    ({"ok": 1, "whole": False, "lost": ("c",)}, "incomplete", "1 ok · 1 column not run"),
]  # fmt: skip


@pytest.mark.parametrize(("counts", "state", "text"), STANDINGS)
def test_the_one_thing_to_know(counts, state, text):
    made = Standing(**{"ok": 0, "fixed": 0, "known": 0, "regressed": 0, **counts})
    assert (made.state, made.summary("regressed")) == (state, text)


def test_a_standing_counts_its_column_and_its_target_alone(stored, make_record):
    places = list(itertools.product(("triton-3.1.0", "triton-3.2.0"), ("sm_80", "sm_90")))
    records = [make_record(column=column, target=target) for column, target in places]
    records.append(make_record(column="triton-3.2.0", target="sm_90", case="b", outcome="crash"))
    shown = stored(records)
    counts = {
        (column, target): (lambda made: (made.ok, made.regressed))(standing(shown, column, target))
        for column in (None, "triton-3.1.0", "triton-3.2.0")
        for target in (None, "sm_80", "sm_90")
    }
    assert counts == {
        (None, None): (4, 1), (None, "sm_80"): (2, 0), (None, "sm_90"): (2, 1),
        ("triton-3.1.0", None): (2, 0), ("triton-3.1.0", "sm_80"): (1, 0), ("triton-3.1.0", "sm_90"): (1, 0),
        ("triton-3.2.0", None): (2, 1), ("triton-3.2.0", "sm_80"): (1, 0), ("triton-3.2.0", "sm_90"): (1, 1),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "newly_red", "newly_green"),
    [
        ({"a": "pass"}, {"a": "crash"}, 1, 0), ({"a": "crash"}, {"a": "pass"}, 0, 1),
        ({"a": "crash"}, {"a": "mismatch"}, 0, 0), ({"a": "pass"}, {"a": "pass", "b": "crash"}, 0, 0),
        ({"a": "pass", "b": "crash"}, {"a": "pass"}, 0, 0),
        ({"a": "pass", "b": "crash", "c": "pass"}, {"a": "crash", "b": "pass", "c": "crash"}, 2, 1),
    ],
)  # fmt: skip
def test_what_began_and_what_stopped_to_fail(before, after, newly_red, newly_green):
    sides = [
        worst_of(("c", "t", "compile", "bare", kernel, outcome) for kernel, outcome in side.items())
        for side in (before, after)
    ]
    assert _changed(*sides) == (newly_red, newly_green)


def test_the_worst_outcome_of_a_place():
    rows = [("c", "t", "compile", mode, "k", outcome) for mode, outcome in (
        ("bare", "pass"), ("bare", "crash"), ("bare", "mismatch"), ("shimmed", "pass"))]  # fmt: skip
    shared = {}
    (sides,) = worst_of(rows, shared).values()
    assert [WORST[rank] for rank in sides] == [min(("crash", "mismatch"), key=WORST.index), "pass"]
    (alone,) = worst_of(rows[:1]).values()
    assert alone == (WORST.index("pass"), None)
    # Runs share their places and ranks.
    again = worst_of(rows, shared)
    (first,), (place,) = worst_of(rows, shared).values(), again
    assert next(iter(again.values())) is first and any(place is kept for kept in shared)


def test_the_newest_runs_of_a_history_are_shown_and_the_others_counted(
    stored, make_record, tmp_path
):
    for outcome in ("pass", "crash", "pass", "pass", "crash"):
        stored([make_record(outcome=outcome)])
    with Store(tmp_path / "store.db") as store:
        newest = store.run()
        made = history(store, newest, 3)
        assert [(past.run.id, past.newly_red, past.newly_green, past.more) for past in made] == [
            (5, 1, 0, 2), (4, 0, 0, 2), (3, None, None, 2),
        ]  # fmt: skip
        assert [past.red for past in made] == [{"bare": 1}, {}, {}]
        assert [past.run.id for past in history(store, store.run(2))] == [2, 1]
        assert history(store, store.run(1)) == []
        assert [past.more for past in history(store, newest, 5)] == [0] * 5


def test_failures_of_vendors_builds_are_kept_apart(make_record, make_issue):
    own, vendors = (
        make_record(outcome="crash"),
        make_record(column="here-fbtriton-3.9.0", outcome="mismatch"),
    )
    issue = make_issue()
    for theirs in (False, True):
        verdict = Verdict(
            unexpected_red=[own, vendors],
            shim_failed=[(own, issue), (vendors, issue)],
            theirs=theirs,
        )
        shown = types.SimpleNamespace(verdict=verdict)
        both, alone, others = (
            [
                record
                for cause in causes.unexpected(shown, vendors=which)
                for record in cause.records
            ]
            for which in (None, False, True)
        )
        assert both == [own, vendors]
        assert (alone, others) == (([own, vendors], []) if theirs else ([own], [vendors]))
        for which, expected in ((False, alone), (True, others)):
            made = causes.not_fixed(shown, vendors=which)
            assert [record for cause in made for record in cause.records] == expected
            assert all(cause.issue is issue for cause in made)


def test_the_key_of_a_cause_stays_as_it_is_in_reports():
    crash = RootCause("", "crash", "SIGABRT: reshapeOuts", "")
    assert (
        causes._key(crash) == DIGESTS[0] and causes._key(RootCause(issue="triton-1")) == DIGESTS[1]
    )
    assert causes._key(crash._replace(kernel="softmax")) == DIGESTS[2]


@pytest.mark.parametrize(
    ("text", "date"),
    [("2026-11-28T13:00:00+00:00", "2026-11-28"), ("2026-11-28", "2026-11-28"), ("yesterday", None), ("", None)],
)  # fmt: skip
def test_the_day_of_a_run(text, date):
    made = day(text)
    assert (made and made.isoformat()) == date


def test_regressions_are_grouped_and_the_known_come_first(
    stored, make_record, make_issue, tmp_path
):
    red = {"outcome": "crash", "fingerprint": "reshapeOuts"}
    fixed = {"config": "num_warps=8", "column": "triton-3.2.0"}
    made = stored([
        make_record(kernel="zeta", **red, target="sm_80", column="triton-3.2.0", case="1"),
        make_record(kernel="zeta", **red, target="sm_90", column="triton-3.1.0", case="1", lane="emulate"),
        make_record(kernel="zeta", **red, target="sm_90", column="triton-3.1.0", case="2"),
        make_record(kernel="alpha", outcome="crash", fingerprint="other"),
        make_record(kernel="chunk", **red, **fixed),
        make_record(kernel="chunk", mode="shimmed", shims=("guarded_autotune", "other"), **fixed),
    ], [make_issue(shim=None)]).regressions  # fmt: skip
    assert [group.kernel for group in made] == ["chunk", "alpha", "zeta"]
    known, _, unknown = made
    assert (known.issue.id, known.shims, known.fixed_cells, known.configs) == (
        "triton-1", ["guarded_autotune", "other"], 1, ["num_warps=8"],
    )  # fmt: skip
    assert (unknown.issue, unknown.cells, unknown.fixed_cells, unknown.configs) == (None, 3, 0, [])
    assert (
        unknown.columns == ["triton-3.1.0", "triton-3.2.0"]
        and unknown.first_column == "triton-3.1.0"
    )
    assert (unknown.targets, unknown.lanes) == (["sm_90", "sm_80"], ["emulate", "compile"])
