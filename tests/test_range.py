"""`crosswarp range`: which releases a specifier admits, what it says of what nobody tried, and what it refuses."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from crosswarp.matrix import columns
from crosswarp.matrix.columns import Column
from crosswarp.matrix.store import Store
from crosswarp.matrix.supported import STATES, short, span, supported
from crosswarp.reports import cli

FORMATS = ("table", "markdown", "json")
HOSTILE = "\x1b[2J\x1b]0;title\x07\u202e | <script>alert(1)</script> `code` \x9b31m\r\nnext"
OLD = ("2.3.1", "3.0.0", "3.1.0", "3.2.0")
LETTERS = {"g": "green", "r": "red", "u": "unsupported", "?": "unknown"}
TABLE = [
    Column(id=f"triton-{triton}", triton=triton, torch=torch)
    for triton, torch in zip(OLD, ("2.3.1", "2.4.1", "2.5.1", "2.6.0"))
]


def states(text, releases=OLD):
    return [(Version(one), LETTERS[letter]) for one, letter in zip(releases, text)]


@pytest.mark.parametrize(
    ("text", "specifier"),
    [
        # Contiguous: open above the newest, and the oldest to the patch.
        ("gggg", ">=2.3.1"),
        ("rggg", ">=3.0"),
        ("rrrg", ">=3.2"),
        # A ceiling is the first minor of which nothing is green.
        ("gggr", ">=2.3.1,<3.2"),
        ("grrr", ">=2.3.1,<3.0"),
        # Holes are whole minors.
        ("grgg", ">=2.3.1,!=3.0.*"),
        ("grrg", ">=2.3.1,!=3.0.*,!=3.1.*"),
        ("ggrg", ">=2.3.1,!=3.1.*"),
        # Of what is unsupported there nothing works either.
        ("uggg", ">=3.0"),
        ("gugg", ">=2.3.1,!=3.0.*"),
        # What was not run bounds the range, and makes no hole.
        ("?ggg", ">=3.0"),
        ("ggg?", ">=2.3.1,<3.2"),
        ("gg??", ">=2.3.1,<3.1"),
        ("gg?r", ">=2.3.1,<3.1"),
        ("g?rg", ">=2.3.1,!=3.1.*"),
        # Nothing green.
        ("rrrr", ""),
        ("r?ur", ""),
        ("????", ""),
        ("", ""),
    ],
)
def test_the_specifier(text, specifier):
    assert span(states(text)).specifier == specifier


@pytest.mark.parametrize(
    ("releases", "text", "specifier"),
    [
        # The series has a green patch: only the red patch is left out.
        (("3.2.0", "3.3.0", "3.3.1"), "grg", ">=3.2,!=3.3.0"),
        (("3.2.0", "3.3.1", "3.3.2"), "grg", ">=3.2,!=3.3.1"),
        (("3.3.0", "3.3.1", "3.4.0"), "grg", ">=3.3,!=3.3.1"),
        (("3.3.0", "3.3.1", "3.4.0"), "rgg", ">=3.3.1"),
        (("3.3.0", "3.3.1"), "gr", ">=3.3,<3.3.1"),
        # No patch of it is green: the whole series, once.
        (("3.2.0", "3.3.0", "3.3.1", "3.4.0"), "grrg", ">=3.2,!=3.3.*"),
        # 3.10 comes after 3.9.
        (("3.10.0", "3.9.0"), "gg", ">=3.9"),
        (("3.10.0", "3.9.0"), "rg", ">=3.9,<3.10"),
        (("3.2.0.post1", "3.3.0"), "gg", ">=3.2.0.post1"),
    ],
)
def test_patch_releases(releases, text, specifier):
    assert span(states(text, releases)).specifier == specifier


@pytest.mark.parametrize(
    "releases",
    [OLD, ("3.2.0", "3.3.0", "3.3.1", "3.3.2", "3.4.0"), ("2.3.0", "2.3.1", "3.9.0", "3.10.0")],
)
def test_every_history_admits_the_green_ones_alone(releases):
    for text in itertools.product(LETTERS, repeat=len(releases)):
        found = span(states(text, releases))
        if "g" not in text:
            assert found.specifier == ""
            continue
        window = SpecifierSet(found.specifier)
        for one, letter in zip(releases, text):
            if letter in "gru":
                assert window.contains(one, prereleases=True) == (letter == "g"), (text, one)
            else:
                # What was not run is either left out, or named.
                inside = Version(one) in found.inside
                assert window.contains(one, prereleases=True) == inside, (text, one)


def test_what_the_ends_rest_on():
    found = span(states("rg?g"))
    assert (str(found.floor), str(found.ceiling)) == ("3.0.0", "3.2.0")
    assert found.below == (Version("2.3.1"), "red") and found.above is None
    assert found.inside == (Version("3.1.0"),)
    found = span(states("gr?g")[1:] + states("g"))
    assert found.holes == (Version("3.0.0"),) and found.below is None


@pytest.fixture
def suite(make_record):
    """`suite("gr?u")`: one kernel, a letter for each release of TABLE; `?` has no cell."""

    def make(text, **changes):
        outcomes = {"g": "pass", "r": "crash", "u": "unsupported"}
        return [
            make_record(column=f"triton-{one}", outcome=outcomes[letter], **changes)
            for one, letter in zip(OLD, text)
            if letter != "?"
        ]

    return make


def found_states(found, mode="bare"):
    letters = {state: letter for letter, state in LETTERS.items()}
    return "".join(letters[one.state] for one in found.suite[mode].releases)


@pytest.mark.parametrize("text", ["gggg", "rggg", "g?gr", "uugg", "r???"])
def test_the_states_of_a_suite_of_one(suite, text):
    found = supported(suite(text), TABLE)
    assert found_states(found) == text
    assert found.suite["bare"] == found.kernels["softmax"]["bare"]


def test_red_is_red_whether_known_or_not_and_in_one_mode_only(suite):
    records = suite("gggr", issue="fla-196") + suite("gggg", mode="shimmed")
    found = supported(records, TABLE)
    assert found.suite["bare"].triton.specifier == ">=2.3.1,<3.2"
    assert found.suite["shimmed"].triton.specifier == ">=2.3.1"
    assert (found_states(found), found_states(found, "shimmed")) == ("gggr", "gggg")


def test_torch_is_that_of_the_official_pairs(suite):
    ranged = supported(suite("grgr"), TABLE).suite["bare"]
    assert ranged.torch.specifier == ">=2.3.1,!=2.4.*,<2.6"


def test_a_suite_is_green_without_a_kernel_that_declares_itself_absent(suite):
    found = supported(suite("gggg") + suite("uugg", kernel="descriptors"), TABLE)
    assert found_states(found) == "gggg"
    assert [one.lacking for one in found.suite["bare"].releases[1:3]] == [("descriptors",), ()]
    assert found.kernels["descriptors"]["bare"].triton.specifier == ">=3.1"


def test_a_target_that_lacks_everything_is_named_once(suite):
    found = supported(suite("gggg") + suite("uggg", target="gfx942"), TABLE)
    assert [one.lacking for one in found.suite["bare"].releases[:2]] == [("gfx942",), ()]


def test_a_configuration_that_was_passed_over_takes_nothing_away(suite):
    records = suite("gggg", config="num_warps=4")
    records += suite("uuuu", config="num_warps=8", reason="configuration dropped")
    assert found_states(supported(records, TABLE)) == "gggg"


def test_cells_that_another_column_has_are_missing(suite):
    found = supported(suite("gggg") + suite("gg?r", case="fp16-1x5"), TABLE)
    assert found_states(found) == "gg?r"
    assert [one.missing for one in found.suite["bare"].releases] == [0, 0, 1, 0]


def test_a_column_that_was_not_run_or_whose_environment_failed_is_unknown(suite, make_record):
    failed = make_record(
        column="triton-3.2.0", case="*", outcome="not-run", reason="environment failed"
    )
    found = supported([*suite("gg??"), failed], TABLE, planned=["triton-3.1.0", "triton-3.2.0"])
    assert found_states(found) == "gg??"
    columns_of = [one.release.columns for one in found.suite["bare"].releases]
    assert columns_of[2:] == [("triton-3.1.0",), ("triton-3.2.0",)]


def test_a_single_column_that_ended_early_is_not_green(suite, make_record):
    records = suite("gg??")
    planned = {("triton-2.3.1", "compile"): 1, ("triton-3.0.0", "compile"): 2}
    assert short(records, planned) == {"triton-3.0.0"}
    found = supported(records, TABLE, short=short(records, planned))
    assert found_states(found) == "g???"


def test_main_counts_as_the_release_that_it_stands_in_for(suite, make_record):
    versions = {"triton": "3.2.0", "torch": "2.6.0+cu124"}
    main = make_record(column="main", outcome="crash", versions=versions)
    assert found_states(supported([*suite("ggg?"), main], TABLE)) == "gggr"
    # The same release twice: red wins.
    assert found_states(supported([*suite("gggg"), main], TABLE)) == "gggr"


@pytest.mark.parametrize(
    ("column", "versions", "why"),
    [
        ("main", {"triton": "3.10.0+git1234", "torch": "2.16.0"}, "a build of its own"),
        ("main", {"triton": "3.10.0.dev1", "torch": "2.16.0"}, "a build of its own"),
        ("main", {}, "it did not run"),
        ("here-triton-3.2.0-git1", {"triton": "3.2.0+git1", "torch": "2.6.0"}, "a build of its own"),
        ("here-triton-3.2.0", {"triton": "3.2.0", "torch": "2.5.1"}, "off the official pair"),
        ("triton-3.2.0+torch-2.5.1", {"triton": "3.2.0", "torch": "2.5.1"}, "off the official pair"),
        ("triton-3.2.0+torch-2.5.1", {}, "off the official pair"),
        ("triton-of-old", {}, "it did not run"),
    ],
)  # fmt: skip
def test_what_is_no_release_is_left_out_and_named(suite, make_record, column, versions, why):
    other = make_record(column=column, outcome="crash", versions=versions)
    found = supported([*suite("gggg"), other], TABLE)
    assert found_states(found) == "gggg"
    assert why in found.left_out[column]


def test_a_release_that_the_table_does_not_know(suite, make_record):
    versions = {"triton": "3.3.0", "torch": "2.7.0+cpu"}
    other = make_record(column="triton-3.3.0", outcome="crash", versions=versions)
    found = supported([*suite("gggg"), other], TABLE)
    assert found.suite["bare"].triton.specifier == ">=2.3.1,<3.3"
    assert found.suite["bare"].torch.specifier == ">=2.3.1,<2.7"


def test_wrong_versions_do_not_count_as_the_release_that_was_found(suite, make_record):
    wrong = make_record(
        column="triton-3.2.0", case="*", outcome="not-run", versions={"triton": "3.1.0"}
    )
    assert found_states(supported([*suite("ggg?"), wrong], TABLE)) == "ggg?"


def test_the_worst_kernel_comes_first(suite):
    records = []
    for kernel, bare, shimmed in (
        ("a", "gggg", "gggg"),
        ("b", "rrrr", "gggg"),
        ("c", "gggr", "gggr"),
    ):
        records += suite(bare, kernel=kernel) + suite(shimmed, kernel=kernel, mode="shimmed")
    assert list(supported(records, TABLE).kernels) == ["c", "b", "a"]


def test_the_states_are_told_in_order_of_weight():
    assert STATES == ("red", "unknown", "green", "unsupported")


# The command


@pytest.fixture
def crosswarp(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        try:
            status = cli.main(["range", *arguments, "--store", "store.db"])
        except SystemExit as stopped:
            status = stopped.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out, captured.err

    return call


@pytest.fixture
def stored(tmp_path):
    def make(*records, status="finished", planned=()):
        with Store(tmp_path / "store.db") as store:
            run = store.begin(["run"], {"columns": list(dict.fromkeys(r.column for r in records))})
            store.cells(run, records)
            for record in records:
                store.session(run, record.column, record.lane, record.versions, 0)
            for column, lane, count in planned:
                store.session(run, column, lane, {}, count)
            store.finish(run, status, 0)
        return run

    return make


@pytest.fixture
def five(stored, suite, make_record):
    """The founding columns: 3.2.0 is red bare, main stands in for 3.9.0, and nothing between them was run."""
    newest = {"triton": "3.9.0", "torch": "2.15.0+cpu"}
    records = [
        *suite("rggr"), *suite("gggg", mode="shimmed"),
        make_record(column="main", versions=newest), make_record(column="main", mode="shimmed", versions=newest),
    ]  # fmt: skip
    return stored(*records)


def test_what_is_pasted_stands_by_itself(crosswarp, five):
    status, out, _ = crosswarp()
    assert status == 0
    lines = out.splitlines()
    assert "bare      triton>=3.0,!=3.2.*" in lines
    assert "          torch>=2.4.1,!=2.6.*" in lines
    assert "shimmed   triton>=2.3.1" in lines
    for said in (
        "Floor: 2.3.1 is red.", "Holes: 3.2.0.", "Ceiling: open; nothing newer than 3.9.0 was tried.",
        "Floor: nothing older than 2.3.1 was tried.", "3.9.0 was measured as main.",
        "UNKNOWN: 3.3.1, 3.4.0, 3.5.1, 3.6.0, 3.7.1, 3.8.0 lie inside and were not run",
        "crosswarp run --columns all",
    ):  # fmt: skip
        assert said in out
    assert max(map(len, lines)) <= 80


def test_an_open_ceiling_is_only_above_the_newest_that_is_known(crosswarp, stored, suite):
    stored(*suite("gggg"))
    _, out, _ = crosswarp()
    assert "triton>=2.3.1,<3.3" in out and "Ceiling: 3.3.1 was not run, or not whole." in out


def test_a_floor_above_what_was_not_run_does_not_say_that_nothing_was_tried(
    crosswarp, stored, suite
):
    stored(*suite("r?gg"))
    _, out, _ = crosswarp()
    assert "Floor: 3.0.0 was not run, or not whole." in out and "nothing older" not in out


def test_nothing_green(crosswarp, stored, suite):
    stored(*suite("rrrr"))
    for form in ("table", "markdown"):
        status, out, _ = crosswarp("--format", form)
        assert status == 0 and "triton: no release is green" in out and "triton>" not in out
    document = json.loads(crosswarp("--format", "json")[1])
    assert document["suite"]["bare"]["triton"] is None and not document["suite"]["bare"]["open"]


def test_a_run_that_is_not_whole(crosswarp, stored, suite):
    stored(*suite("gggg"), status="cancelled", planned=[("triton-3.2.0", "compile", 3)])
    _, out, _ = crosswarp()
    assert "Run 1 is not whole: cancelled." in out and "triton>=2.3.1,<3.2" in out
    assert "not whole (some not run)" in out


def test_a_kernel_says_which_release_did_not_run_all_of_it(crosswarp, stored, suite):
    stored(*suite("gggg"), *suite("g?gg", kernel="matmul"))
    _, out, _ = crosswarp()
    (row,) = re.findall(r"(?m)^matmul .*\n.*", out)
    assert ">=2.3.1, <3.3" in row and "whole: 3.0.0)" in row


def test_a_part_of_the_run(crosswarp, stored, suite):
    stored(
        *suite("rggg", kernel="layer_norm"), *suite("gggg"), *suite("ggrg", target="gfx942"),
        *suite("gggr", target="cpu", lane="interpret"),
    )  # fmt: skip
    specifiers = {
        ("--kernels", "layer_norm"): ">=3.0,<3.3",
        ("--kernels", "soft*", "--lanes", "compile"): ">=2.3.1,!=3.1.*,<3.3",
        ("--kernels", "softmax", "--targets", "sm_90"): ">=2.3.1,<3.2",
        ("--kernels", "softmax", "--targets", "sm_90", "--lanes", "compile"): ">=2.3.1,<3.3",
        ("--lanes", "interpret"): ">=2.3.1,<3.2",
    }
    for arguments, specifier in specifiers.items():
        document = json.loads(crosswarp(*arguments, "--format", "json")[1])
        assert document["suite"]["bare"]["triton"] == specifier, arguments


def test_an_earlier_run(crosswarp, stored, suite):
    stored(*suite("rggg"))
    stored(*suite("gggg"))
    assert "triton>=2.3.1,<3.3" in crosswarp()[1]
    assert "triton>=3.0,<3.3" in crosswarp("--run", "1")[1]


def test_json_has_every_release_with_its_state(crosswarp, five):
    document = json.loads(crosswarp("--format", "json")[1])
    assert document["run"] == {**document["run"], "id": five, "status": "finished"}
    bare = document["suite"]["bare"]
    assert (bare["floor"], bare["ceiling"], bare["open"]) == ("3.0.0", "3.9.0", True)
    assert bare["holes"] == ["3.2.0"] and bare["unknown_inside"][0] == "3.3.1"
    by_triton = {one["triton"]: one for one in bare["releases"]}
    assert len(by_triton) == len([c for c in columns.load() if c.official])
    assert by_triton["3.2.0"]["red_kernels"] == ["softmax"]
    assert by_triton["3.9.0"]["columns"] == ["main"] and by_triton["3.4.0"]["columns"] == []
    assert document["by_kernel"]["softmax"]["shimmed"]["triton"] == ">=2.3.1"


def test_another_table_of_columns(crosswarp, stored, suite, tmp_path):
    stored(*suite("gggg"))
    (tmp_path / "c.toml").write_text(
        '[[column]]\nid = "triton-3.2.0"\ntriton = "3.2.0"\ntorch = "2.6.0"\n'
    )
    assert "triton>=2.3.1\n" in crosswarp("--columns-file", "c.toml")[1]


@pytest.mark.parametrize(
    ("arguments", "named", "todo"),
    [
        (["--kernels", "softmaxx"], 'no kernel matches "softmaxx"', "Did you mean softmax?"),
        (["--targets", "sm_91"], 'no target matches "sm_91"', "Run 1 has: sm_90"),
        (["--lanes", "device"], 'no lane matches "device"', "Run 1 has: compile"),
        (["--kernels", ","], "an empty selection", "leave the option out"),
        (["--run", "7"], "has no run 7", "crosswarp runs"),
        (["--columns-file", "nowhere.toml"], "no such file", "Give a path"),
    ],
)
def test_usage(crosswarp, five, arguments, named, todo):
    status, out, err = crosswarp(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("crosswarp: ") and named in err and todo in err


@pytest.mark.parametrize("arguments", [["--run", "0"], ["--format", "pdf"], ["softmax"]])
def test_argparse_errors_are_usage_errors_too(crosswarp, arguments):
    assert crosswarp(*arguments)[0] == 2


def test_without_a_store_and_without_a_cell(crosswarp, stored):
    assert crosswarp()[0] == 4
    stored()
    status, _, err = crosswarp()
    assert status == 2 and "holds no cell" in err


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_text(crosswarp, stored, make_record, form):
    at = {"kernel": f"k{HOSTILE}", "target": f"sm{HOSTILE}", "case": HOSTILE}
    stored(
        make_record(column=f"main{HOSTILE}", **at, versions={"triton": HOSTILE, "torch": HOSTILE}),
        make_record(**at),
        make_record(**{**at, "kernel": "soft" + HOSTILE}, outcome="unsupported"),
    )
    status, out, _ = crosswarp("--format", form)
    assert status == 0
    assert all(char == "\n" or char.isprintable() for char in out)
    if form == "markdown":
        assert "<script>" not in re.sub(r"(`+).*?\1", "", re.sub(r"\\`", "", out))
        for block in out.strip().split("\n\n"):
            rows = [line for line in block.splitlines() if line.startswith("|")]
            assert len({row.replace("\\|", "").count("|") for row in rows}) <= 1
