"""`crosswarp diff` and `crosswarp baseline`: what is compared, what it says, how it ends, and what it refuses."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from crosswarp.matrix.results.comparison import Comparison
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.results.verdict import Verdict
from crosswarp.reports.findings.diff import Diff, Pair, Side, diff, groups, is_file

HOSTILE = "\x1b[2J\x1b]0;title\x07\u202egnp.exe | <script>alert(1)</script> `code` [a](javascript:x) \x9b31m\r\nnext"
FORMATS = ("table", "markdown", "json")


@pytest.fixture
def crosswarp(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "issues.toml").write_text("")

    def call(*arguments):
        issues = ["--issues-file", "issues.toml"] if arguments[0] == "diff" else []
        return command(*arguments, "--store", "store.db", *issues)

    return call


@pytest.fixture
def stored(tmp_path):
    def make(*records, status="finished", planned=0, **plan):
        with Store(tmp_path / "store.db") as store:
            columns = list(dict.fromkeys(record.column for record in records))
            run = store.begin(["run"], {"columns": columns, **plan})
            for column in columns:
                store.session(run, column, "compile", {}, planned)
            store.cells(run, records)
            if status != "running":
                store.finish(run, status, 0)
        return run

    return make


@pytest.fixture
def two_columns(stored, make_record):
    """3.2.0 crashes where 3.1.0 passed, unless shimmed; another kernel's stack grew by a third."""

    def launches(stack):
        return {"launches": [{"kernel": "_softmax_kernel", "num_warps": 4, "stack": stack}]}

    records = []
    for column, stack in (("triton-3.1.0", 96), ("triton-3.2.0", 128)):
        red = {"outcome": "crash", "fingerprint": "SIGABRT: reshapeOuts"} if stack == 128 else {}
        for mode in ("bare", "shimmed"):
            at = {"column": column, "mode": mode}
            records += [
                make_record(**at, resources=launches(stack)),
                make_record(
                    **at, kernel="chunk", config="num_warps=8", **(red if mode == "bare" else {}),
                    shims=("guarded_autotune",) if mode == "shimmed" and red else (),
                ),
            ]  # fmt: skip
    return stored(*records)


@pytest.fixture
def known(tmp_path, crosswarp):
    """The crash is a known issue."""
    (tmp_path / "issues.toml").write_text(
        '[[issue]]\nid = "triton-1"\ntitle = "aborts at 8 warps"\ncode = "tl.dot(a, b)"\nstatus = "unverified"\n'
        'triton = ">=3.2,<3.3"\n'
        'outcome = "crash"\nfingerprint = "reshapeOuts"\nshim = "guarded_autotune"\nchecked = 2026-11-21\n'
        'links = ["https://example.org/owner/project/issues/1"]\n'
    )


def test_two_columns_of_the_latest_run(crosswarp, two_columns, known):
    status, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0")
    assert status == 1
    for said in (
        "Breaks (1 cell)\n\n  aborts at 8 warps [triton-1]\n    code      tl.dot(a, b)\n    message   SIGABRT: ",
        'compat    compat.install(only=["guarded_autotune"])\n    link      https://example.org/owner',
        "Heavier (2 cells)\n\n  softmax (2): stack 96 → 128 bytes\n",
        "Every figure: -v.",
    ):
        assert said in out
    lines = out.splitlines()
    assert lines[2].startswith("1 breaking change") and max(map(len, lines)) <= 80
    assert lines[-1] == "Worse: 3 cells (exit 1)."
    status, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0", "-v")
    assert status == 1
    for said in (
        "triton-3.1.0 → triton-3.2.0, of run 1",
        "Breaks (1 cell)", "chunk (1): aborts at 8 warps [triton-1]",
        "where     sm_90, without compat: fp16-7x33 num_warps=8",
        "before    pass", "now       crash: SIGABRT: reshapeOuts",
        "upstream  https://example.org/owner/project/issues/1", "fixed     by guarded_autotune (1 of 1 cells)",
        "Heavier (2 cells)", "stack     96 → 128 bytes: _softmax_kernel, 4 warps (sm_90: fp16-7x33)",
        "Worse: 3 cells (exit 1).",
    ):  # fmt: skip
        assert said in out
    assert out.index("Breaks (1 cell)") < out.index("Heavier (2 cells)")
    assert max(map(len, out.splitlines())) <= 80


def test_the_other_way_round_it_is_fixed(crosswarp, two_columns, known):
    status, out, _ = crosswarp("diff", "triton-3.2.0", "triton-3.1.0")
    assert status == 0
    assert "Fixed (1 cell)" in out and "triton-1: aborts at 8 warps" in out
    assert "Nothing regressed among 4 cells" in out


def test_without_a_known_issue_it_says_what_to_do(crosswarp, two_columns):
    status, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0")
    assert status == 1 and "no known issue: report it upstream and add it to issues.toml" in out


@pytest.mark.parametrize(
    "name", ["triton-3.2.0", "run", "1", "1:triton-3.2.0", "b.json", "b.json:triton-3.2.0"]
)
def test_a_side_against_itself_is_nothing(crosswarp, two_columns, name):
    crosswarp("baseline", "write", "b.json")
    status, out, _ = crosswarp("diff", name, name, "--format", "json")
    document = json.loads(out)
    assert (status, document["worse"], document["groups"]) == (0, False, [])
    assert set(document["counts"]) == {"same"}


def test_a_committed_baseline_against_the_next_run(crosswarp, two_columns, stored, make_record):
    status, out, _ = crosswarp("baseline", "write", "b.json")
    assert (status, out) == (0, "b.json: 8 cells of 2 columns, run 1\n")
    stored(
        make_record(column="triton-3.1.0", outcome="mismatch", fingerprint="mismatch: out wrong")
    )
    status, out, _ = crosswarp("diff", "b.json", "run")
    assert status == 1
    assert "b.json → run 2" in out and "Gone (7 cells)" in out
    assert "now       mismatch: out wrong" in out
    assert crosswarp("diff", "b.json", "1")[0] == 0
    # Beside one column, the other side stands for its own of that name.
    status, out, _ = crosswarp("diff", "b.json", "2:triton-3.1.0")
    assert status == 1 and "triton-3.1.0 of b.json → triton-3.1.0 of run 2" in out


def test_a_baseline_of_an_earlier_run(crosswarp, two_columns, stored, make_record):
    stored(make_record(), status="cancelled")
    assert crosswarp("baseline", "write", "b.json", "--run", "1")[1].startswith("b.json: 8 cells")
    status, out, _ = crosswarp("baseline", "write", "b.json")
    assert status == 0 and "not whole: cancelled" in out
    status, out, _ = crosswarp("diff", "1:triton-3.2.0", "triton-3.2.0")
    assert "run 2 (cancelled)" in out


def test_what_a_cut_off_run_did_not_reach_is_not_gone(crosswarp, stored, make_record):
    cells = [make_record(case=case) for case in "ab"]
    stored(*cells, planned=2)
    stored(cells[0], planned=1)
    status, out, _ = crosswarp("diff", "1", "2")
    assert status == 0 and "Gone (1 cell)" in out and "unknown" not in out
    stored(cells[0], planned=2, status="cancelled")
    status, out, _ = crosswarp("diff", "1", "3")
    assert "Unknown (1 cell)" in out and "gone" not in out and "did not come to them" in out


def test_only_cells_that_both_sides_have_are_the_same(crosswarp, stored, make_record):
    """3.6.0 twice said 433 of the 425 cells that both runs had."""
    cells = [make_record(), make_record(case="lacked", outcome="unsupported")]
    stored(*cells, make_record(case="lacked-there", outcome="unsupported"))
    stored(*cells, make_record(case="lacked-here", outcome="unsupported"))
    _, out, _ = crosswarp("diff", "1", "2", "--format", "json")
    assert json.loads(out)["counts"] == {"same": 1}
    assert "among 1 cells that both have" in crosswarp("diff", "1", "2")[1]


def test_groups_are_root_causes(crosswarp, stored, make_record):
    red = {"outcome": "crash", "fingerprint": "one"}
    kernels = ("a", "b", "c")
    stored(
        *(make_record(column="triton-3.1.0", kernel=kernel) for kernel in kernels),
        *(make_record(kernel=kernel, **red) for kernel in "ab"),
        make_record(kernel="c", outcome="crash", fingerprint="two"),
        make_record(kernel="d", **red),
    )
    _, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0", "--format", "json")
    groups = [(g["comparison"], g["kernels"]) for g in json.loads(out)["groups"]]
    # What is new and red has nothing to be compared with, and is shown with its failure.
    assert groups == [("regressed", {"a": 1, "b": 1}), ("regressed", {"c": 1}), ("new", {"d": 1})]
    _, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0")
    assert "before    absent\n    now       crash: one" in out


def test_one_issue_is_one_cause_whatever_its_fingerprints(crosswarp, stored, make_record, known):
    stored(
        *(make_record(column="triton-3.1.0", case=case) for case in "ab"),
        *(make_record(case=c, outcome="crash", fingerprint=f"{c}: reshapeOuts") for c in "ab"),
    )
    _, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0", "--format", "json")
    assert [group["kernels"] for group in json.loads(out)["groups"]] == [{"softmax": 2}]


def test_the_worst_changes_come_first_and_the_rest_is_counted(crosswarp, stored, make_record):
    def launches(**figures):
        return {"launches": [{"kernel": "_kernel", "num_warps": 4, **figures}]}

    grown = [(0, 40), (100, 150), (100, 900), (100, 300), (100, 200), (64, 80)]
    narrowed = [(16.0, 8.0), (16.0, 5.333)]
    for side in (0, 1):
        stored(
            make_record(case="r", resources=launches(registers=(100, 200)[side])),
            *(
                make_record(case=f"c{pair[0]}-{pair[1]}", resources=launches(stack=pair[side]))
                for pair in grown
            ),
            *(
                make_record(
                    case=f"a{pair[1]}",
                    resources=launches(access=pair[side], kind=("wgmma", "mma")[side]),
                )
                for pair in narrowed
            ),
        )
    _, out, _ = crosswarp("diff", "1", "2", "-v")
    rows = out[out.index("softmax (9)") :].splitlines()[1:]
    # A row may go on in a second line, which has no change of its own.
    rows = [row for row in rows if "→" in row or row.strip().startswith("and ")][:9]
    assert [re.sub(r":.*", "", row).strip() for row in rows] == [
        "stack     0 → 40 bytes", "100 → 900 bytes", "100 → 300 bytes", "100 → 200 bytes", "and 2 more",
        "registers 100 → 200",
        "access    16 → 5.333 bytes an access", "16 → 8 bytes an access", "tensor    wgmma → mma",
    ]  # fmt: skip


def test_what_could_not_be_compared_is_said(crosswarp, stored, make_record):
    times = {"median": 1.0, "low": 1.0, "high": 1.0, "bytes": 10, "of_copy": 0.5, "alone": False}
    at = {"lane": "device", "resources": {"timing": times}}
    stored(make_record(column="triton-3.1.0", **at), make_record(**at))
    for form in FORMATS:
        _, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0", "--format", form)
        assert "timed beside other jobs" in out


def test_json_has_both_values_and_every_cell(crosswarp, two_columns, known):
    _, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0", "--format", "json")
    document = json.loads(out)
    first, second = document["groups"]
    assert (first["issue"], first["shims"], first["fixed_cells"]) == (
        "triton-1",
        ["guarded_autotune"],
        1,
    )
    assert first["links"] == ["https://example.org/owner/project/issues/1"]
    assert [cell["after"]["fingerprint"] for cell in first["cells"]] == ["SIGABRT: reshapeOuts"]
    assert [
        (change["before"], change["after"])
        for cell in second["cells"]
        for change in cell["changes"]
    ] == [(96, 128), (96, 128)]
    assert document["counts"] == {"regressed": 1, "resource-regressed": 2, "same": 1}


def test_markdown_has_a_row_for_each_group(crosswarp, two_columns, known):
    _, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0", "--format", "markdown")
    rows = [line for line in out.splitlines() if line.startswith("|")]
    assert len([row for row in rows if "`chunk` (1)" in row and "issues/1)" in row]) == 1
    assert len([row for row in rows if "stack 96 → 128 bytes" in row]) == 1


@pytest.mark.parametrize(
    ("before", "after", "named", "todo"),
    [
        ("triton-9.9.9", "triton-3.2.0", 'run 1 has no column "triton-9.9.9"', "it holds triton-3.1.0, triton-3.2.0"),
        ("1:main", "triton-3.2.0", 'run 1 has no column "main"', "Name a column"),
        ("7", "run", "has no run 7", "crosswarp runs"),
        ("7:triton-3.2.0", "run", "has no run 7", "crosswarp runs"),
        ("²", "run", 'no column "²"', "Name a column"),
        ("9" * 40, "run", "no column", "Name a column"),
        ("x:triton-3.2.0", "run", '"x" is no run and no file', "Name a column"),
        ("none.json", "run", "none.json: there is no such baseline", "crosswarp baseline write none.json"),
        ("some/where", "run", "there is no such baseline", "crosswarp baseline write some/where"),
        ("bad.json", "run", "bad.json: not a baseline", "write it anew"),
        ("bad.json:main", "run", "bad.json: not a baseline", "write it anew"),
        ("b.json:main", "run", 'b.json has no column "main"', "it holds triton-3.1.0"),
        ("", "run", 'no column ""', "Name a column"),
    ],
)  # fmt: skip
def test_what_names_nothing(crosswarp, two_columns, tmp_path, before, after, named, todo):
    (tmp_path / "bad.json").write_text("[")
    crosswarp("baseline", "write", "b.json")
    for arguments in ((before, after), (after, before)):
        status, out, err = crosswarp("diff", *arguments)
        assert (status, out) == (2, "")
        assert err.startswith("crosswarp: ") and named in err and todo in err


def test_a_column_of_an_earlier_run_is_named_in_full(crosswarp, two_columns, stored, make_record):
    stored(make_record())
    status, _, err = crosswarp("diff", "triton-3.1.0", "triton-3.2.0")
    assert status == 2 and "Run 1 has: write 1:triton-3.1.0" in err
    assert crosswarp("diff", "1:triton-3.1.0", "triton-3.2.0")[0] in (0, 1)


def test_one_column_against_several_others(crosswarp, two_columns, stored, make_record):
    stored(make_record(column="main"))
    status, _, err = crosswarp("diff", "1", "main")
    assert status == 2 and "which of triton-3.1.0, triton-3.2.0?" in err


def test_nothing_in_common_is_no_green_diff(crosswarp, stored, make_record):
    stored(make_record(outcome="not-run"))
    stored(make_record(), make_record(kernel="other"))
    for before, after in (("1", "2"), ("2", "1")):
        status, out, err = crosswarp("diff", before, after)
        assert (status, out) == (2, "") and "no cell in common that ran on both sides" in err


@pytest.mark.parametrize(
    "arguments", [["diff"], ["diff", "1"], ["baseline"], ["baseline", "read", "x"]]
)
def test_argparse_errors_are_usage_errors_too(crosswarp, arguments):
    assert crosswarp(*arguments)[0] == 2


def test_without_a_store(crosswarp):
    for arguments in (["diff", "1", "2"], ["baseline", "write", "b.json"]):
        status, _, err = crosswarp(*arguments)
        assert status == 4 and "Run `crosswarp run` first" in err


def test_two_baselines_need_no_store(crosswarp, two_columns, tmp_path):
    crosswarp("baseline", "write", "b.json")
    (tmp_path / "store.db").unlink()
    assert crosswarp("diff", "b.json:triton-3.1.0", "b.json:triton-3.2.0")[0] == 1


def test_a_baseline_that_cannot_be_written(crosswarp, two_columns, stored):
    status, _, err = crosswarp("baseline", "write", "no/such/folder/b.json")
    assert status == 2 and "Name a file that can be written" in err
    assert crosswarp("baseline", "write", "b.json", "--run", "7")[0] == 2
    stored()
    status, _, err = crosswarp("baseline", "write", "b.json")
    assert status == 2 and "holds no cell" in err


@pytest.fixture
def hostile(crosswarp, stored, make_record):
    """Two runs whose every word is strange, and the second is worse."""
    at = {"column": f"triton-3.2.0{HOSTILE}", "kernel": f"k{HOSTILE}", "case": HOSTILE}
    launch = {"kernel": HOSTILE, "num_warps": 4, "stack": 8}
    stored(
        make_record(**at, config=HOSTILE),
        make_record(**at, resources={"launches": [{**launch, "stack": 0}]}),
    )
    stored(
        make_record(
            **at, config=HOSTILE, outcome="crash", fingerprint="``" + HOSTILE, reason=HOSTILE
        ),
        make_record(**at, resources={"launches": [launch]}),
        make_record(**{**at, "kernel": "new" + HOSTILE}, outcome="crash", fingerprint=HOSTILE),
    )


def test_hostile_text_on_a_terminal(crosswarp, hostile):
    status, out, _ = crosswarp("diff", "1", "2", "-v")
    assert status == 1 and "0 → 8 bytes" in out and "Breaks (1 cell)" in out
    assert all(char == "\n" or char.isprintable() for char in out) and "title" not in out
    status, _, err = crosswarp("diff", HOSTILE, "1")
    assert status == 2
    assert all(char == "\n" or char.isprintable() for char in err)


def test_hostile_text_in_markdown(crosswarp, hostile):
    _, out, _ = crosswarp("diff", "1", "2", "--format", "markdown")
    assert all(char == "\n" or char.isprintable() for char in out)
    for block in out.strip().split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in rows}) <= 1
    outside = re.sub(r"(`+).*?\1", "", re.sub(r"\\`", "", out))
    assert "alert" in outside and "<script>" not in outside
    assert not re.search(r"(?<!\\)\]\(javascript", outside)


def test_hostile_text_in_a_baseline(crosswarp, hostile, tmp_path):
    assert crosswarp("baseline", "write", "b.json")[0] == 0
    assert (tmp_path / "b.json").read_text("utf-8").replace("\n", "").isprintable()
    status, out, _ = crosswarp("diff", "b.json", "run")
    assert status == 0 and "Nothing regressed among 3 cells" in out


@pytest.mark.parametrize(("plan", "heavier"), [({}, 1), ({"suite": "theirs"}, 2)])
def test_of_a_reproducer_only_passing_or_failing_counts(
    crosswarp, stored, make_record, plan, heavier
):
    """softmax and a reproducer fail on the newer column in one case and need more stack in another."""
    launches = [
        {"launches": [{"kernel": "_kernel", "num_warps": 4, "stack": stack}]} for stack in (96, 512)
    ]
    records = [
        make_record(column=column, kernel=kernel, case=case, resources=launches[newer], **red)
        for newer, column in enumerate(("triton-3.1.0", "triton-3.2.0"))
        for kernel in ("softmax", "block_pointers")
        for case, red in (
            ("fails", {"outcome": "crash", "fingerprint": "f"} if newer else {}),
            ("grows", {}),
        )
    ]
    stored(*records, **plan)
    status, out, _ = crosswarp("diff", "triton-3.1.0", "triton-3.2.0", "--format", "json")
    document = json.loads(out)
    assert status == 1 and document["counts"]["regressed"] == 2
    assert document["counts"]["resource-regressed"] == heavier


def test_the_verdict_counts_what_breaks_what_is_fixed_and_what_is_heavier(
    crosswarp, two_columns, known
):
    out = crosswarp("diff", "triton-3.1.0", "triton-3.2.0")[1]
    assert "1 breaking change (1 cell), fixed with compat. 1 kernel heavier." in out
    out = crosswarp("diff", "triton-3.2.0", "triton-3.1.0")[1]
    assert "Nothing breaks. 1 known issue fixed." in out
    (status, out, _) = crosswarp("diff", "1", "1")
    assert status == 0 and "Nothing breaks." in out


@pytest.mark.parametrize(
    ("text", "names_a_file"),
    [
        ("baseline/all", True), ("all.json", True), ("all.json:triton-3.2.0", True), ("all.json.bak", False),
        ("triton-3.2.0", False), ("1:triton-3.2.0", False), ("there", True), ("there:triton-3.2.0", True),
        ("x:there", False), ("a:b", True), ("main", False),
    ],
)  # fmt: skip
def test_what_names_a_file(text, names_a_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("there", "a:b"):
        (tmp_path / name).touch()
    assert is_file(text) is names_a_file


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Each pair differs in one thing, by which the first comes first.
        ({"outcome": "regressed"}, {"outcome": "changed-failure"}),
        ({"issue": None}, {"issue": True}),
        ({"record": {"outcome": "crash"}}, {"record": {"outcome": "compile-error"}}),
        ({"record": {"kernel": "a"}}, {"record": {"kernel": "b"}}),
    ],
)
def test_groups_are_ordered(first, second, make_record, make_issue):
    usual = {"outcome": "regressed", "issue": None, "record": {}}
    pairs, verdict = [], Verdict()
    for number, changes in enumerate((second, first)):
        made = {**usual, **changes}
        values = {
            "outcome": "crash",
            "fingerprint": f"F{number}",
            "kernel": "same",
            **made["record"],
        }
        record = make_record(case=str(number), **values)
        pairs.append(Pair(make_record(case=str(number)), record, Comparison(made["outcome"])))
        if made["issue"]:
            verdict.known.append((record, make_issue()))
    assert [group.pairs[0] for group in groups(pairs, [verdict])] == pairs[::-1]


def test_a_side_is_cut_to_a_column(make_record):
    records = [make_record(column=column) for column in "abc"]
    side = Side("run 1", records, unreached=frozenset("bc"))
    assert side.columns == ["a", "b", "c"] and side.title == "run 1"
    for column, unreached in (("a", ""), ("b", "b")):
        mine = side.of(column)
        assert (mine.columns, mine.unreached) == ([column], frozenset(unreached))
        assert mine.title == f"{column} of run 1"


@pytest.mark.parametrize(
    ("outcomes", "worse"),
    [((), False), (("same",), False), (("fixed", "new"), False), (("regressed",), True), (("same", "regressed"), True)],
)  # fmt: skip
def test_a_diff_is_worse_where_one_cell_is(make_record, outcomes, worse):
    pairs = [Pair(make_record(), make_record(), Comparison(outcome)) for outcome in outcomes]
    made = Diff(Side("a", []), Side("b", []), pairs, ())
    assert made.worse is worse and made.counts == Counter(outcomes)


def test_the_resources_of_a_reproducer_of_either_side_do_not_count(make_record):
    def side(name, column, registers, **more):
        launches = [{"kernel": "_k", "num_warps": 4, "registers": registers}]
        return Side(name, [make_record(column=column, kernel=kernel, resources={"launches": launches})
                           for kernel in ("softmax", "small")], column=column, **more)  # fmt: skip

    small = {"reproducers": frozenset({"small"})}
    for more, other, kernels in (({}, {}, 2), (small, {}, 1), ({}, small, 1), (small, small, 1)):
        made = diff(side("a", "c", 32, **more), side("b", "d", 200, **other), ())
        assert made.counts == {"resource-regressed": kernels}
