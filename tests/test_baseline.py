"""A baseline says what a run found, the same way every time, and is read strictly."""

from __future__ import annotations

import json
import random
from typing import get_args

import pytest

from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.results import baseline, baseline_file
from crosswarp.matrix.results.comparison import pairs
from crosswarp.matrix.results.figures import KINDS
from crosswarp.matrix.results.record import OUTCOMES, RED


@pytest.fixture
def records(make_record):
    """Every outcome, both modes, two columns and targets, configurations, resources and times."""

    def launches(registers, spills=None):
        return {
            "launches": [
                {
                    "kernel": "_kernel", "num_warps": warps, "num_stages": 2, "num_ctas": 1, "shared": 512,
                    "registers": registers, "stack": 8, "spills": spills, "grid": [3, 1, 1], "code": 4096,
                    "instructions": {"load.16": 2, "load.2": 1, "total": 99, **({"mfma.f32_x": 8} if spills else {})},
                }
                for warps in (8, 4, 4)
            ]
        }  # fmt: skip

    made = []
    for column in ("triton-3.1.0", "triton-3.2.0"):
        spills = 9 if column == "triton-3.2.0" else 0
        versions = {"triton": column.removeprefix("triton-"), "torch": "2.6.0+cu124"}
        for target in ("sm_90", "gfx942"):
            for mode in ("bare", "shimmed"):
                at = {"column": column, "target": target, "mode": mode, "versions": versions}
                made += [
                    make_record(**at, resources=launches(32, spills if target == "gfx942" else None)),
                    make_record(**at, config="BLOCK=64", seconds=random.random()),
                    make_record(
                        **at, config="BLOCK=128", outcome="unsupported",
                        reason="dropped by the autotuner", message="too large",
                    ),
                    make_record(
                        **at, kernel="chunk", outcome="pass" if mode == "shimmed" else "crash",
                        fingerprint="" if mode == "shimmed" else "SIGABRT: reshapeOuts",
                        shims=("one",) if mode == "shimmed" else (),
                    ),
                    *(make_record(**at, kernel="each", case=o, outcome=o, fingerprint=f"f {o}") for o in OUTCOMES),
                ]  # fmt: skip
    timing = {"median": 0.123456, "low": 0.12, "high": 0.13, "bytes": 5e6, "of_copy": 0.5}
    made.append(
        make_record(
            lane="device", resources={"timing": {**timing, "alone": True, "host_bound": True}}
        )
    )
    return made


@pytest.fixture
def path(tmp_path):
    return tmp_path / "baseline.json"


def test_what_is_read_compares_as_what_was_written(path, records):
    baseline.write(path, records)
    found = baseline.read(path)
    assert {record.id for record in found} == {record.id for record in records}
    for one in (pairs(found, records), pairs(records, found)):
        assert {pair.comparison.outcome for pair in one} == {"same", "unknown"}
        assert all(p.record.outcome == "not-run" for p in one if p.comparison.outcome == "unknown")
    # Column against column as well: the same words, the same figures.
    assert "resource-regressed" in {c.outcome for c in _across(records, records).values()}
    for old, new in ((records, found), (found, records), (found, found)):
        assert _across(old, new) == _across(records, records)


def _across(old, new):
    found = pairs(
        [record for record in old if record.column == "triton-3.1.0"],
        [record for record in new if record.column == "triton-3.2.0"],
        across_columns=True,
    )
    return {pair.record.id: pair.comparison for pair in found}


def test_what_judges_an_issue_is_kept(path, records):
    baseline.write(path, records)
    by_id = {record.id: record for record in baseline.read(path)}
    for record in records:
        found = by_id[record.id]
        assert (found.outcome, found.shims) == (record.outcome, record.shims)
        assert found.fingerprint == (record.fingerprint if record.outcome in RED else "")
        if record.versions:
            assert found.versions["triton"] == record.versions["triton"]
    (timed,) = (record for record in by_id.values() if record.lane == "device")
    assert timed.resources["timing"]["median"] == 0.1235
    assert timed.resources["timing"]["alone"] is timed.resources["timing"]["host_bound"] is True


def test_the_kinds_of_tensor_cores_are_those_that_are_compared():
    assert get_args(baseline_file.Kind) == tuple(KINDS)


def test_the_same_results_are_the_same_bytes(records):
    """In another order, on another day, after another time: what is committed changes only when results do."""
    shuffled = list(records)
    random.Random(1).shuffle(shuffled)
    text = baseline.dumped(records)
    assert baseline.dumped(shuffled) == text
    assert "seconds" not in text and "too large" not in text


def test_a_written_baseline_writes_itself_again(path, records):
    baseline.write(path, records)
    assert baseline.dumped(baseline.read(path)) == path.read_text("utf-8")


def test_one_changed_cell_changes_one_line(make_record, records):
    before = baseline.dumped(records).splitlines()
    changed = [
        make_record(**{**vars(r), "outcome": "crash", "fingerprint": "new"})
        if r.lane == "device"
        else r
        for r in records
    ]
    after = baseline.dumped(changed).splitlines()
    assert len(before) == len(after)
    assert sum(one != two for one, two in zip(before, after)) == 1


def test_columns_and_targets_that_agree_share_a_line(make_record):
    records = [
        make_record(column=column, target=target, mode=mode)
        for column in ("triton-3.1.0", "triton-3.2.0")
        for target in ("sm_80", "sm_90")
        for mode in ("bare", "shimmed")
    ]
    line = '[["triton-3.1.0","triton-3.2.0"],["sm_80","sm_90"],{"both":{"":"pass"}}]'
    assert line in baseline.dumped(records).splitlines()


def test_four_columns_of_two_thousand_cells_stay_small(make_record):
    """Where no two columns and no two cases agree, which is the worst case."""
    records = [
        make_record(
            column=f"triton-3.{column}.0", target=target, mode=mode, kernel=f"kernel_{number // 6}",
            case=f"fp16-{number % 6}x33", resources={"launches": [{
                "kernel": "_forward_kernel", "num_warps": 4, "registers": 32 + number + column, "shared": 4096,
                "stack": 0, "spills": None, "code": 4096 + number + column,
                "instructions": {"load.16": 4, "store.2": 1 + number % 3, "mma.m16n8k16": 8},
            }]},
        )
        for column in range(4) for target in ("sm_80", "sm_90", "gfx90a", "gfx942") for mode in ("bare", "shimmed")
        for number in range(250)
    ]  # fmt: skip
    assert len(records) == 8000
    assert len(baseline.dumped(records)) < 450_000


def test_a_writer_that_fails_leaves_the_old_file(path, records, monkeypatch):
    path.write_text("old")
    monkeypatch.setattr(
        baseline.datafile.os, "replace", lambda *a: (_ for _ in ()).throw(OSError(28, "full"))
    )
    with pytest.raises(UsageError, match="full. Name a file that can be written"):
        baseline.write(path, records)
    assert [(file.name, file.read_text()) for file in path.parent.iterdir()] == [
        ("baseline.json", "old")
    ]


def _document(records):
    return json.loads(baseline.dumped(records))


def _set(document, value, *steps):
    for step in steps[:-1]:
        document = document[step]
    document[steps[-1]] = value


ENTRY = ("cells", "softmax", "fp16-7x33", "compile", 0)


@pytest.mark.parametrize(
    ("steps", "value", "named"),
    [
        (("crosswarp_baseline",), 2, "format 2; this crosswarp reads 1"),
        (("crosswarp_baseline",), "1", "format '1'"),
        (("colour",), 1, "colour: Extra inputs"),
        (("columns", "triton-3.1.0"), "3.1.0", "columns: triton-3.1.0"),
        (("cells", "softmax"), [], "cells: softmax"),
        (("cells", "softmax", "fp16-7x33", "compiled"), [], "compiled"),
        ((*ENTRY, 0), "triton-3.1.0", "valid list"),
        ((*ENTRY, 0), [1], "valid string"),
        ((*ENTRY, 2), {"naked": {"": "pass"}}, "naked"),
        ((*ENTRY, 2), {"bare": {"": "passed"}}, "Input should be"),
        ((*ENTRY, 2), {"bare": {"": {"outcome": "pass", "colour": 1}}}, "colour"),
        ((*ENTRY, 2), {"bare": {"": {"launches": {"k": [["4", 1, 1]]}}}}, "valid integer"),
        ((*ENTRY, 2), {"bare": {"": {"launches": {"k": [[4, -1, 1]]}}}}, "greater than or equal to 0"),
        ((*ENTRY, 2), {"bare": {"": {"launches": {"k": [[4]]}}}}, "at least 3"),
        ((*ENTRY, 2), {"bare": {"": {"reason": "mood"}}}, "reason"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(path, records, steps, value, named):
    document = _document(records)
    _set(document, value, *steps)
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigError) as refused:
        baseline.read(path)
    message = str(refused.value)
    assert message.startswith(str(path)) and named in message
    assert message.endswith("crosswarp baseline write --run RUN FILE.")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "not a baseline"), ("[]", "not a baseline"), ("{}", "no crosswarp_baseline"),
        ('["crosswarp_baseline"]', "no crosswarp_baseline"),
        ("<<<<<<< HEAD\n{}", "not a baseline"), ("[" * 100_000, "not a baseline"),
        ('{"crosswarp_baseline": 1, "crosswarp_baseline": 1}', "stands twice"),
        ('{"crosswarp_baseline": 1, "columns": {}, "cells": {"k": {"c": {"compile": '
         '[[["a"], ["t"], {"both": {"": "pass"}}], [["a"], ["t"], {"bare": {"": "crash"}}]]}}}}',
         "twice, as after a merge"),
    ],
)  # fmt: skip
def test_what_is_no_baseline_is_refused(path, text, named):
    path.write_text(text)
    with pytest.raises(ConfigError, match=named) as refused:
        baseline.read(path)
    assert str(refused.value).endswith("crosswarp baseline write --run RUN FILE.")


def test_a_file_that_cannot_be_read(path):
    with pytest.raises(ConfigError, match="Write one: crosswarp baseline write"):
        baseline.read(path)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(ConfigError, match="cannot be read"):
        baseline.read(path)


@pytest.mark.parametrize(
    ("plan", "kept"),
    [({}, ["a"]), ({"left_out": "1f"}, ["a", "b"]), ({"cases": ["a"]}, ["a", "b"])],
)
def test_a_run_of_some_cases_says_nothing_of_the_others(
    command, stored, make_record, path, tmp_path, plan, kept
):
    baseline.write(path, [make_record(case=case) for case in "ab"])
    stored([make_record(case="a")], **plan)
    store = str(tmp_path / "store.db")
    assert command("baseline", "write", str(path), "--onto", str(path), "--store", store)[0] == 0
    assert [record.case for record in baseline.read(path)] == kept


def test_a_run_of_some_kernels_is_written_onto_a_baseline(
    command, stored, make_record, path, tmp_path
):
    """Of what it ran it says all, cases that are gone included; of the rest nothing."""
    at = {"column": "triton-3.2.0", "target": "sm_90"}
    old = [
        make_record(**at, kernel="softmax", case="a"),
        make_record(**at, kernel="softmax", case="gone"),
        make_record(**at, kernel="softmax", case="a", mode="shimmed"),
        make_record(**at, kernel="rope", case="a"),
        make_record(**{**at, "target": "sm_80"}, kernel="softmax", case="a"),
    ]
    baseline.write(path, old)
    new = make_record(
        **at, kernel="softmax", case="a", outcome="crash", fingerprint="SIGABRT: again"
    )
    stored([new])
    store = str(tmp_path / "store.db")
    status, out, _ = command("baseline", "write", str(path), "--onto", str(path), "--store", store)
    assert status == 0 and "4 cells of 1 columns" in out
    found = {record.id: record.outcome for record in baseline.read(path)}
    kept = {record.id: "pass" for record in old if record.case != "gone"}
    assert found == {**kept, new.id: "crash"}
    status, _, said = command("baseline", "write", str(path), "--onto", "none", "--store", store)
    assert status == 2 and "there is no such baseline" in said
