"""What a run says about the known issues, in both directions."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from crosswarp.matrix import versions
from crosswarp.matrix.errors import ConfigError
from crosswarp.matrix.facts import datafile, issues
from crosswarp.matrix.results import verdict
from crosswarp.matrix.results.verdict import classify, judge, proves

WARPS = "BLOCK=64,num_warps={}"
ABORT = "SIGABRT: LinearLayout reshapeOuts"


@pytest.fixture
def chunk(make_record):
    def make(warps=8, **changes):
        return make_record(**{"kernel": "chunk", "config": WARPS.format(warps), **changes})

    return make


@pytest.fixture
def crash(chunk):
    def make(**changes):
        return chunk(**{"outcome": "crash", "fingerprint": ABORT, **changes})

    return make


def test_a_red_cell_in_the_window_is_known(crash, make_issue):
    issue = make_issue()
    assert classify(crash(), [issue], "3.2.0") is issue


@pytest.mark.parametrize(
    ("changes", "version"),
    [
        ({}, "3.1.0"),
        ({}, "3.3.1"),
        ({}, None),
        ({"outcome": "timeout"}, "3.2.0"),
        ({"outcome": "pass"}, "3.2.0"),
        ({"fingerprint": "SIGSEGV elsewhere"}, "3.2.0"),
        ({"kernel": "matmul"}, "3.2.0"),
        ({"config": WARPS.format(4)}, "3.2.0"),
        ({"lane": "interpret"}, "3.2.0"),
    ],
)
def test_outside_of_it_nothing_is_explained(crash, make_issue, changes, version):
    assert classify(crash(**changes), [make_issue()], version) is None


def test_of_two_that_look_alike_the_one_whose_case_it_is(make_record, make_issue):
    like = {
        "kernels": ("sums",),
        "configs": ("*",),
        "outcome": "mismatch",
        "fingerprint": "mismatch: y wrong",
    }
    first = make_issue(**like, id="first", case={"kernel": "sums", "case": "branch"})
    second = make_issue(**like, id="second", case={"kernel": "sums", "case": "minus"})

    def explained(case):
        record = make_record(
            kernel="sums", case=case, outcome="mismatch", fingerprint="mismatch: y wrong"
        )
        return classify(record, [first, second], "3.2.0").id

    assert [explained("branch"), explained("minus"), explained("another")] == [
        "first", "second", "first",
    ]  # fmt: skip


def test_targets_are_part_of_the_window(crash, make_issue):
    issue = make_issue(targets=["gfx9*"])
    assert classify(crash(target="gfx942"), [issue], "3.2.0") is issue
    assert classify(crash(target="gfx1100"), [issue], "3.2.0") is None


@pytest.mark.parametrize(
    ("version", "window", "inside"),
    [
        ("3.10.0", ">=3.2", True),
        ("3.10.0", "<3.9", False),
        # A nightly is decided on the release it leads to.
        ("3.10.0+git1234abcd", ">=3.10", True),
        ("3.10.0.dev20261101", ">=3.10", True),
        ("3.2.0rc1", ">=3.2,<3.3", True),
        ("3.2.0", "", True),
        (None, "", True),
        (None, ">=3.2", False),
        ("unknown", ">=3.2", False),
    ],
)
def test_versions_are_compared_as_versions(version, window, inside):
    assert versions.within(version, window) is inside


def test_known_and_fixed(crash, chunk, make_issue):
    records = [
        crash(), chunk(warps=4),
        chunk(mode="shimmed", shims=("guarded_autotune",)), chunk(warps=4, mode="shimmed"),
    ]  # fmt: skip
    verdict = judge(records, [make_issue()])
    assert verdict.as_expected
    assert [record for record, _ in verdict.known] == [records[0]]
    assert [(one.bare, one.shims) for one in verdict.fixes] == [(records[0], ("guarded_autotune",))]


def test_fixed_when_the_shim_drops_the_configuration(crash, chunk, make_issue):
    verdict = judge([crash(), chunk(warps=4, mode="shimmed", shims=("drop",))], [make_issue()])
    # Whatever else acted, what heals it is what the record says.
    assert [one.shims for one in verdict.fixes] == [("guarded_autotune",)]


def test_a_dropped_configuration_is_not_fixed_beside_another_that_fails(crash, chunk, make_issue):
    records = [crash(), chunk(warps=4, mode="shimmed"), crash(mode="shimmed", config="num_warps=2")]
    assert judge(records, [make_issue()]).fixes == []


def test_an_issue_that_names_no_shim_was_fixed_by_what_acted(crash, chunk, make_issue):
    verdict = judge([crash(), chunk(mode="shimmed", shims=("drop",))], [make_issue(shim=None)])
    assert [one.shims for one in verdict.fixes] == [("drop",)]


def test_fixed_when_the_autotuner_leaves_the_configuration_out(crash, chunk, make_issue):
    left_out = chunk(mode="shimmed", outcome="unsupported", reason="dropped by the autotuner")
    other = chunk(warps=4, mode="shimmed", shims=("drop",))
    verdict = judge([crash(), left_out, other], [make_issue()])
    assert len(verdict.fixes) == 1 and verdict.as_expected


def test_red_although_shimmed_fails(crash, make_issue):
    verdict = judge([crash(), crash(mode="shimmed")], [make_issue()])
    assert not verdict.as_expected
    assert [record.mode for record, _ in verdict.shim_failed] == ["bare", "shimmed"]
    assert not verdict.fixes


def test_red_shimmed_is_known_where_no_shim_is_promised(crash, make_issue):
    verdict = judge([crash(), crash(mode="shimmed")], [make_issue(shim=None)])
    assert verdict.as_expected and len(verdict.known) == 2
    # Expected, and said to be what it is.
    assert [record.mode for record, _ in verdict.not_fixed] == ["shimmed"] and not verdict.fixes


def test_what_a_shim_fixes_is_never_not_fixed(crash, chunk, make_issue):
    fixed = judge([crash(), chunk(mode="shimmed")], [make_issue()])
    failed = judge([crash(), crash(mode="shimmed")], [make_issue()])
    bare = judge([crash()], [make_issue(shim=None)])
    assert fixed.not_fixed == failed.not_fixed == bare.not_fixed == []


def test_what_only_the_shims_make_red_is_no_known_issue(crash, chunk, make_issue):
    """A record that names no shim would explain it, were it not for its green twin."""
    verdict = judge([chunk(), crash(mode="shimmed")], [make_issue(shim=None)])
    assert not verdict.as_expected
    assert [record.mode for record in verdict.unexpected_red] == ["shimmed"]
    other = crash(mode="shimmed", config=f"{crash().config},num_stages=2")
    assert judge([chunk(), other], [make_issue(shim=None)]).unexpected_red == []


@pytest.mark.parametrize("twin", [None, "unsupported", "not-run", "crash"])
def test_a_known_red_that_was_not_seen_green_shimmed_is_not_as_expected(
    crash, chunk, make_issue, twin
):
    """In a run that held shimmed cells at all: elsewhere one was green, so shims ran."""
    records = [crash(), chunk(mode="shimmed", kernel="matmul")]
    if twin:
        records.append(chunk(mode="shimmed", outcome=twin, fingerprint="reshapeOuts"))
    verdict = judge(records, [make_issue()])
    assert not verdict.as_expected and crash() in [record for record, _ in verdict.shim_failed]
    assert verdict.fixes == []


def test_a_run_of_bare_triton_alone_says_nothing_about_shims(crash, make_issue):
    assert judge([crash()], [make_issue()]).as_expected


def test_the_twin_of_a_configuration_is_that_configuration(crash, chunk, make_issue):
    records = [crash(), chunk(mode="shimmed"), chunk(mode="shimmed", warps=4, outcome="limit")]
    (fixed,) = judge(records, [make_issue()]).fixes
    assert fixed.bare == crash()


def test_unexpectedly_red(crash, make_issue):
    record = crash(column="triton-3.1.0")
    verdict = judge([record], [make_issue()])
    assert verdict.unexpected_red == [record] and not verdict.as_expected


def test_unexpectedly_green(chunk, make_issue):
    green = chunk()
    verdict = judge([green], [make_issue()])
    assert [one.record for one in verdict.unexpectedly_green] == [green]
    # A case that passes with compat proves nothing, and does not hide that another passes bare.
    shimmed = chunk(mode="shimmed", column="triton-3.1.0")
    assert [one.record for one in judge([shimmed, green], [make_issue()]).unexpectedly_green] == [
        green
    ]
    assert not verdict.as_expected


@pytest.mark.parametrize(
    "changes",
    [
        {"warps": 4},
        {"column": "triton-3.1.0"},
        {"mode": "shimmed"},
        {"lane": "interpret"},
        {"outcome": "unsupported"},
        {"outcome": "not-run"},
        {"kernel": "matmul"},
    ],
)
def test_green_where_the_issue_claims_nothing(chunk, make_issue, changes):
    assert judge([chunk(**changes)], [make_issue()]).as_expected


def test_an_issue_that_is_only_reported_claims_nothing(chunk, make_issue):
    assert judge([chunk()], [make_issue(status="unverified")]).as_expected
    # Green in this process, red in another.
    assert judge([chunk()], [make_issue(status="by chance")]).as_expected


def test_the_measured_version_decides_not_the_name_of_the_column(crash, make_issue):
    record = crash(column="main", versions={"triton": "3.2.0"})
    assert judge([record], [make_issue()]).as_expected
    record = crash(column="main", versions={"triton": "3.9.0"})
    assert not judge([record], [make_issue()]).as_expected
    assert judge([crash(column="here-triton-3.2.0")], [make_issue()]).as_expected


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"outcome": "pass"}, "is none of"),
        ({"lanes": ["compiled"]}, "is none of"),
        ({"fingerprint": "("}, "regular expression"),
        ({"fingerprint": "mismatch: y wrong", "kernels": ["*"]}, "name the kernels"),
        ({"triton": "3.2"}, "range of versions"),
        ({"case": []}, "names the case that proves it"),
        ({"links": []}, "links"),
        ({"links": ["http://example.org/a/issues/1"]}, "no https address"),
        ({"links": ["https://example.org"]}, "no https address"),
        ({"links": ["the address of the upstream report"]}, "give the upstream report's"),
        ({"shims": "x"}, "shims"),
    ],
)
def test_what_an_issue_must_say(make_issue, changes, named):
    with pytest.raises(ValueError, match=named):
        make_issue(**changes)


def test_the_file(tmp_path):
    entry = (
        '[[issue]]\nid = "a"\ntitle = "t"\nstatus = "unverified"\noutcome = "crash"\nfingerprint = "f"\n'
        'links = ["https://example.org/owner/project/issues/1"]\nchecked = 2026-11-21\n'
    )
    path = tmp_path / "issues.toml"
    path.write_text(entry)
    (issue,) = issues.load(path)
    assert issue.checked == "2026-11-21"
    path.write_text(entry + entry)
    with pytest.raises(ConfigError, match="stands twice: a"):
        issues.load(path)
    path.write_text("")
    assert issues.load(path) == ()


def test_our_own_records_agree_with_shims_cases_and_the_calendar():
    assert own() == []


def own(changed=None, shims=None, today=None):
    """What is wrong with our own records, the first with a shim changed."""
    from datetime import date

    from crosswarp.compat import all_shims
    from crosswarp.matrix.facts import columns
    from crosswarp.matrix.facts.issue_lints import problems

    known = list(issues.load())
    known[0] = replace(known[0], **(changed or {}))
    shims = all_shims() if shims is None else shims(all_shims())
    return problems(
        known, shims, columns.load(), today or date.fromisoformat(max(i.checked for i in known))
    )


def test_what_the_lints_of_our_own_find():
    from datetime import date

    from crosswarp.matrix.facts.issues import ProvingCase

    (text,) = own({"checked": "2100-01-01"}, today=date(2099, 1, 1))
    assert (
        text == "liger-215: checked on 2100-01-01, which is to come. Write the day on which it was."
    )
    (text,) = own({"case": (ProvingCase(kernel="layer_norms"),)})
    assert 'kernel "layer_norms", and there is none' in text
    (text,) = own({"case": (ProvingCase(kernel="layer_norm", case="nothing-*"),)})
    assert text.endswith('no case of layer_norm matches "nothing-*". Name one of its cases.')
    (text,) = own({"shim": "gone"})
    assert 'its shim "gone" does not exist' in text
    (text,) = own({"triton": "<3.1"})
    assert (
        "its affected releases <3.1 hold 3.0.0, and those of reserved_options, <3.0, do not" in text
    )
    (text,) = own(shims=lambda all: [*all, all[0]._replace(name="new", issue="x-1")])
    assert text.startswith("new: fixes x-1, and there is no such issue.")


@pytest.mark.parametrize("fixed", ["3.3.0", "3.3.1", "4.0"])
def test_fixed_after_the_window(make_issue, fixed):
    assert make_issue(fixed_in=fixed).fixed_in == fixed


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"fixed_in": "3.2.1"}, "which its affected releases >=3.2,<3.3 hold"),
        ({"fixed_in": "3.1.0"}, "before its affected releases >=3.2,<3.3 begin"),
        ({"fixed_in": "3.1.0", "triton": "==3.2.*"}, "before its affected releases"),
        ({"fixed_in": "3.9.0", "triton": ""}, "its affected releases \\(all\\) hold"),
        ({"fingerprint": "", "kernels": ["*"]}, "would explain every failure of every kernel"),
        ({"fingerprint": ".", "kernels": ["*"]}, "or name the kernels"),
        ({"checked": "yesterday"}, "no day such as 2026-11-21"),
    ],
)
def test_what_a_record_must_not_say(make_issue, changes, named):
    with pytest.raises(ValueError, match=named):
        make_issue(**changes)


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({}, True),
        ({"triton": "<3.3"}, True),
        ({"triton": "", "case": {"kernel": "chunk", "case": "fp16*"}}, True),
        ({"triton": ">=3.3"}, False),
        ({"triton": "<3.2"}, False),
        ({"lanes": ["interpret"]}, False),
        ({"targets": ["gfx942"]}, False),
        ({"configs": ["*num_warps=16*"]}, False),
        ({"case": {"kernel": "matmul"}}, False),
        ({"case": {"kernel": "chunk", "configs": ["*num_warps=16*"]}, "configs": ["*"]}, False),
        ({"status": "unverified"}, False),
        ({"status": "by chance"}, True),
    ],
)
def test_one_record_for_a_cell(make_issue, changes, refused):
    """The first is of >=3.2,<3.3, sm_90, with 8 warps."""
    first = make_issue(targets=["sm_90"])
    values = {**asdict(first), "id": "triton-2", "fixed_in": None, **changes}
    try:
        datafile.checked(issues.IssueFile, {"issue": [asdict(first), values]})
    except ValueError as error:
        assert refused and "triton-1 and triton-2 both say how chunk * on" in str(error)
    else:
        assert not refused


def test_a_proving_case_may_be_of_one_lane(make_record):
    """On a GPU such a cell may be green without saying anything of the issue, or red and known."""
    (issue,) = [one for one in issues.load() if one.id == "triton-5840"]
    cell = {"kernel": "short_scan", "case": "row-16", "column": "triton-3.2.0", "target": "sm_90"}
    told = {"outcome": "mismatch", "fingerprint": "mismatch: largest wrong", "mode": "bare", **cell}
    assert proves(issue, make_record(lane="emulate", **told))
    on_gpu = make_record(lane="device", **told)
    assert not proves(issue, on_gpu)
    assert classify(on_gpu, [issue], "3.2.0") is issue


def test_a_cell_is_compared_with_the_issues_of_its_kernel_alone(
    make_record, make_issue, monkeypatch
):
    """Hundreds of issues and tens of thousands of cells: every pair of them is too many."""
    compared = []
    monkeypatch.setattr(
        verdict, "proves", lambda issue, record: compared.append(record.kernel) or False
    )
    monkeypatch.setattr(
        verdict, "describes", lambda issue, record: compared.append(record.kernel) or False
    )
    known = [
        make_issue(id=f"issue-{number}", kernels=(f"k{number}",), case=({"kernel": f"k{number}"},))
        for number in range(50)
    ]
    records = [
        make_record(kernel=f"k{number}", column=column, outcome=outcome, fingerprint="X")
        for number in range(50)
        for column in ("triton-3.1.0", "triton-3.2.0")
        for outcome in ("pass", "crash")
    ]
    judge(records, known)
    # Each cell that passes once, whatever the release, and each way to fail once.
    assert len(compared) == 50 + 50


def test_an_issue_of_a_torch_explains_nothing_on_another(crash, make_issue):
    issue = make_issue(torch=">=2.5,<2.6")
    assert classify(crash(versions={"torch": "2.5.1"}), [issue], "3.2.0") is issue
    assert classify(crash(versions={"torch": "2.6.0"}), [issue], "3.2.0") is None
    assert classify(crash(versions={}), [issue], "3.2.0") is None


def test_a_build_without_a_version_is_the_newest():
    ordered = sorted(["3.10.0", None, "2.3.1", "no version", "3.9.0.dev1"], key=versions.sort_key)
    assert ordered == ["2.3.1", "3.9.0.dev1", "3.10.0", None, "no version"]
