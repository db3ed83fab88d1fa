"""Reports are functions of the store, and nothing that a cell wrote gets out of its place in them."""

from __future__ import annotations

import json

import pytest

from crosswarp.matrix.results.store import Environment
from crosswarp.reports.findings import diff
from crosswarp.reports.text import diff_text, escape
from crosswarp.reports.text.comment import comment, markdown
from crosswarp.reports.text.export import export
from crosswarp.reports.text.summary import summary
from crosswarp.reports.text.table import grids, mark, table

HOSTILE = "\x1b[2J\x1b]0;title\x07\u202egnp.exe | <script>alert(1)</script> `code` [a](javascript:x) \x9b31m\r\nnext"


@pytest.fixture
def abort(make_record):
    def make(**changes):
        return make_record(**{
            "kernel": "chunk", "config": "BLOCK=64,num_warps=8", "outcome": "crash",
            "fingerprint": "SIGABRT: LinearLayout reshapeOuts", **changes,
        })  # fmt: skip

    return make


@pytest.fixture
def founding(make_record, abort):
    """Red bare and green shimmed on 3.2.0, green everywhere else."""
    records = []
    for column in ("triton-3.1.0", "triton-3.2.0"):
        red = {} if column == "triton-3.2.0" else {"outcome": "pass", "fingerprint": ""}
        for target in ("sm_80", "sm_90"):
            records += [
                abort(column=column, target=target, **red),
                abort(
                    column=column,
                    target=target,
                    outcome="pass",
                    mode="shimmed",
                    shims=("guarded_autotune",),
                ),
                make_record(column=column, target=target),
                make_record(column=column, target=target, mode="shimmed"),
            ]
    return records


def test_one_regression_for_one_cause(stored, founding, make_issue):
    (group,) = stored(founding, [make_issue()]).regressions
    assert (group.kernel, group.first_column, group.targets) == (
        "chunk",
        "triton-3.2.0",
        ["sm_80", "sm_90"],
    )
    assert (group.cells, group.fixed_cells, group.shims) == (2, 2, ["guarded_autotune"])


def test_the_oldest_bad_column_is_the_first(stored, abort, make_issue):
    records = [abort(column=f"triton-{version}") for version in ("3.10.0", "3.9.0", "3.2.0")]
    (group,) = stored(records, [make_issue(triton="")]).regressions
    assert group.first_column == "triton-3.2.0"
    assert group.columns == ["triton-3.2.0", "triton-3.9.0", "triton-3.10.0"]


def test_the_summary_says_it_all_in_80_columns(stored, founding, make_issue):
    view = stored(founding, [make_issue()])
    text = summary(view)
    assert "crash    3.2.0   triton-1: aborts at 8 warps" in text and "https" not in text
    parts = text.rstrip().split("\n\n")
    assert parts[0] == parts[-1]
    assert text.startswith("As expected: 2 cells fail without compat, each by a known issue.")
    text = summary(view, verbose=True)
    for said in (
        "triton-3.2.0  compile  without", "chunk: aborts at 8 warps [triton-1]", "first bad triton-3.2.0",
        "https://example.org/owner/project/issues/1", "guarded_autotune (2 of 2 cells)",
        "by a known issue. Compat fixes",
    ):  # fmt: skip
        assert said in text
    assert max(len(line) for line in text.splitlines()) <= 80


LIBRARY = {"library": {"name": "lib", "declares": {"triton": "triton>=2.3.1"}}}


@pytest.mark.parametrize(
    ("plan", "said", "unsaid"),
    [
        ({}, ["report it upstream and add it to issues.toml", "crosswarp reproduce"], []),
        (
            {"suite": "mine"},
            ["Triton: its compiler dies", "--xfail", "crosswarp reproduce"],
            ["issues.toml"],
        ),
        (
            LIBRARY,
            [
                "Triton: its compiler dies",
                "crosswarp test --triton 3.2.0",
                "--cases test_a::test_1",
                "crosswarp reproduce",
            ],
            ["issues.toml"],
        ),
    ],
)
def test_the_advice_fits_whose_kernels_they_are(stored, make_record, plan, said, unsaid):
    red = make_record(outcome="crash", fingerprint="SIGABRT", kernel="test_a::test_1")
    text = summary(stored([red], **plan))
    # Whose fault it is stands in one line.
    assert max(len(line) for line in text.splitlines() if "Triton: " not in line) <= 80
    text = " ".join(text.split())
    for part in (*said, "crosswarp issues --run 1 --new"):
        assert part in text
    assert not [part for part in unsaid if part in text]


def test_the_summary_of_what_nobody_expected(stored, make_record, abort, make_issue):
    records = [
        make_record(outcome="mismatch", fingerprint="out: 3 of 9 differ"),
        abort(config="num_warps=8", outcome="pass", fingerprint=""),
        abort(config="x,num_warps=8", mode="shimmed"),
    ]
    text = summary(stored(records, [make_issue()], code=1))
    assert "FAILS UNEXPECTEDLY (1 cells)" in text and "out: 3 of 9 differ" in text
    assert "PASSES UNEXPECTEDLY (1 cells)" in text
    assert "NOT FIXED (1 cells)" in text
    assert "Not as expected" in text and "As expected:" not in text


def test_what_no_shim_fixes_is_shown_and_not_as_fixed(stored, abort, make_issue):
    issue = make_issue(shim=None, workaround="Use 4 warps.")
    red = [
        abort(target=target, mode=mode)
        for target in ("sm_80", "sm_90")
        for mode in ("bare", "shimmed")
    ]
    shown = stored(red, [issue])
    text = summary(shown)
    assert "NOT FIXED BY COMPAT (2 cells)" in text and "triton-1: Use 4 warps." in text
    assert "triton-3.2.0/sm_80/compile/shimmed/chunk" in text
    last = " ".join(text[text.rindex("As expected") :].split())
    assert "Known upstream, and not fixed (1 issue):" in text
    assert last == (
        "As expected: 2 cells fail without compat, each by a known issue. Compat fixes 0; 2 have no fix yet."
    )
    assert "green shimmed" not in text and max(map(len, text.splitlines())) <= 80
    not_fixed = json.loads(export(shown))["verdict"]["not_fixed"]
    assert [one["issue"] for one in not_fixed] == ["triton-1", "triton-1"]


def test_what_died_comes_before_what_was_refused(stored, make_record):
    outcomes = ("limit", "api-error", "crash", "mismatch")
    red = [make_record(case=one, outcome=one, fingerprint=one) for one in outcomes]
    text = summary(stored(red, code=1))
    places = [text.index(f"/{one}/\n") for one in ("crash", "mismatch", "api-error", "limit")]
    assert places == sorted(places)
    assert text.splitlines()[0] == "Not as expected: 4 cells fail unexpectedly (exit 1)"


@pytest.mark.parametrize(("plan", "apart"), [({}, True), ({"suite": "mine"}, False)])
def test_reproducers_are_counted_apart(stored, make_record, plan, apart):
    red = {"outcome": "crash", "fingerprint": "SIGABRT"}
    records = [make_record(), make_record(kernel="block_pointers", **red)]
    view = stored(records, **plan)
    text = " ".join(summary(view).split())
    told = "Apart from these, 1 reproducers of known issues: 1 cells, 1 fail without compat, 0 with it."
    assert (told in text) is apart
    assert ("triton-3.2.0 compile without 1 1" in text) is not apart
    shown = table(view)
    assert ("reproducer 3.2" in " ".join(shown.split())) is apart
    # Alone they are what was asked for.
    assert "Apart" not in summary(stored(records[1:], **plan))


def test_a_run_that_was_cut_off_is_not_reported_as_whole(stored, make_record):
    text = summary(stored([make_record()], status="cut off", code=None))
    assert "not whole: cut off" in text and "As expected" not in text


def test_the_stand_in_is_named_in_every_report(stored, make_record):
    label = "main (stand-in: triton 3.9.0)"
    shown = stored(
        [make_record(column="main")],
        environments=[Environment("main", label, "ready", "", {}, (), 0.0)],
    )
    assert label in summary(shown)
    assert label in markdown(shown)
    assert label in export(shown)
    assert label in table(shown)


def test_a_column_off_its_versions_is_named_with_what_was_overridden(stored, make_record):
    names = [f"triton-3.2.0+torch-2.5.1+numpy-{one}" for one in ("1.26.4", "2.4.1")]
    overridden = ("triton==3.2.0", "torch==2.5.1")
    shown = stored(
        [make_record(column=name) for name in names],
        environments=[Environment(names[0], names[0], "ready", "", {}, (), 0.0, overridden)],
    )
    text = summary(shown)
    assert f"{names[0]}: overridden: triton==3.2.0," in text
    assert json.loads(export(shown))["environments"][0]["overrides"] == list(overridden)
    # Neither is cut off to what both begin with.
    assert {"+numpy-1.26.4", "+numpy-2.4.1"} <= {line.strip() for line in text.splitlines()}
    assert max(map(len, text.splitlines())) <= 80


def test_the_marks(make_record):
    bare, fixed = make_record(outcome="crash"), make_record(mode="shimmed")
    assert mark([bare, make_record(), fixed]) == "crash → pass"
    assert mark([make_record(), fixed]) == "pass"
    assert mark([make_record()]) == "pass → -"
    assert mark([]) == "-"
    assert mark([make_record(), make_record(outcome="not-run"), fixed]) == "pass"


def test_targets_with_the_same_grid_share_one(stored, founding, make_issue):
    (grid,) = grids(stored(founding, [make_issue()]))
    assert (grid.targets, grid.columns) == (("sm_80", "sm_90"), ("triton-3.1.0", "triton-3.2.0"))
    assert dict(grid.rows)["chunk"] == ("pass", "crash → pass")


def test_markdown_for_the_readme(stored, founding, make_issue):
    text = markdown(stored(founding, [make_issue()]))
    assert "| `chunk` | pass | crash → pass |" in text
    assert "[owner/project\\#1](https://example.org/owner/project/issues/1)" in text
    assert "`guarded_autotune`" in text
    # A README shows all of it at once.
    assert text.startswith("### ✅ crosswarp: ") and "<details>" not in text


def test_json_is_strict_and_complete(stored, founding, make_issue):
    def refuse(constant):
        raise AssertionError(constant)

    document = json.loads(export(stored(founding, [make_issue()])), parse_constant=refuse)
    assert len(document["cells"]) == len(founding)
    assert document["verdict"]["as_expected"] is True
    assert len(document["verdict"]["fixed"]) == 2
    assert document["cells"][0]["id"].startswith("triton-3.1.0/sm_80/compile/bare/chunk/")


@pytest.mark.parametrize("render", [summary, table])
def test_hostile_text_on_a_terminal(stored, make_record, render):
    records = [
        make_record(
            kernel="k" + HOSTILE,
            case=HOSTILE,
            config=HOSTILE,
            outcome="crash",
            fingerprint=HOSTILE,
            message=HOSTILE,
        )
    ]
    failed = Environment("triton-3.2.0", HOSTILE, "failed", HOSTILE, {}, (), 0.0)
    text = render(stored(records, code=1, environments=[failed]))
    assert all(char == "\n" or char.isprintable() for char in text)
    assert "title" not in text


def test_hostile_text_in_markdown(stored, make_record):
    text = markdown(
        stored(
            [make_record(kernel="k" + HOSTILE, outcome="crash", fingerprint="``" + HOSTILE)], code=1
        )
    )
    assert all(char == "\n" or char.isprintable() for char in text)
    # Each row has the cells of its head: no pipe of the text ended one.
    for block in text.strip().split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in rows}) <= 1
    # What is outside of a code span holds no markup.
    assert "<script>" not in "".join(text.split("`")[::2]) or "```" in text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("`x`", "\\`x\\`"),
        ("[a](b)", "\\[a\\](b)"),
        ("![a]", "\\!\\[a\\]"),
        ("see https://evil.invalid", "see `https://evil.invalid`"),
        ("@me: owner/name#1", "`@me:` `owner/name#1`"),
        ("www.evil.invalid a@b.c GH-1", "`www.evil.invalid` `a@b.c` `GH-1`"),
        ("at 0f1e2d3 or 1234567", "at `0f1e2d3` or 1234567"),
        ("two\nlines", "two lines"),
    ],
)
def test_markdown_escapes(text, escaped):
    assert escape.markdown(text) == escaped


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a", "`a`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("a|b", "`a\\|b`"),
        ("a\\|b", "`a\\\\\\|b`"),
        ("", "` `"),
    ],
)
def test_code_spans(text, span):
    assert escape.code(text) == span


def test_only_web_addresses_become_links():
    assert escape.link("x", "https://example.org/a") == "[x](https://example.org/a)"
    for url in ("javascript:alert(1)", "https://a b", "https://a)b", "data:text/html,x"):
        assert "](" not in escape.link("x", url)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\u202eb\u200bc\x00d\x7f", "abcd"),
        ("\x1b", ""),
        ("tab\there", "tab    here"),
        ("ö → ✓", "ö → ✓"),
    ],
)
def test_terminal_escapes(text, plain):
    assert escape.terminal(text) == plain


def test_the_summary_points_at_what_is_green_and_heavier(stored, make_record):
    def launches(stack):
        return {"launches": [{"kernel": "_kernel", "num_warps": 4, "stack": stack}]}

    records = [
        make_record(column=f"triton-{version}", resources=launches(stack))
        for version, stack in (("3.10.0", 400), ("3.1.0", 100), ("3.2.0", 100))
    ]
    text = summary(stored(records))
    (line,) = (line for line in text.splitlines() if "crosswarp diff" in line)
    assert line == "  1 resource-regressed: crosswarp diff 1:triton-3.2.0 1:triton-3.10.0"
    assert "heavier" not in summary(stored(records[1:]))


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({}, "report it upstream and add it to issues.toml"),
        ({"suite": "mine"}, "correct the kernel, or list it as expected"),
        (LIBRARY, "correct it in the library, or list it as expected"),
    ],
)
def test_comments_and_diffs_advise_alike(stored, make_record, plan, said, tmp_path):
    green = make_record(column="triton-3.1.0")
    red = make_record(outcome="crash", fingerprint="SIGABRT")
    view = stored([green, red], code=1, **plan)
    assert f"{said[0].upper()}{said[1:]}" in comment(view)
    store = tmp_path / "store.db"
    sides = [diff.side(column, store) for column in ("triton-3.1.0", "triton-3.2.0")]
    for told in (diff_text.terminal, diff_text.markdown):
        assert said in " ".join(told(diff.diff(*sides, [])).split())
