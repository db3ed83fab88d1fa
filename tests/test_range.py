"""`crosswarp range`: what is pasted, what it says of what nobody tried, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

from crosswarp.matrix.facts import columns
from crosswarp.matrix.results.store import Store

FORMATS = ("table", "markdown", "json")
HOSTILE = "\x1b[2J\x1b]0;title\x07\u202e | <script>alert(1)</script> `code` \x9b31m\r\nnext"


@pytest.fixture
def crosswarp(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: command("range", *arguments, "--store", "store.db")


@pytest.fixture
def stored(tmp_path):
    def make(*records, status="finished", planned=(), **plan):
        with Store(tmp_path / "store.db") as store:
            columns = list(dict.fromkeys(r.column for r in records))
            run = store.begin(["run"], {"columns": columns, **plan})
            store.cells(run, records)
            for record in records:
                store.session(run, record.column, record.lane, record.versions, 0)
            for column, lane, count in planned:
                store.session(run, column, lane, {}, count)
            store.finish(run, status, 0)
        return run

    return make


@pytest.fixture
def five(stored, make_releases, make_record):
    """The founding columns: 3.2.0 is red bare, main stands in for 3.9.0, and nothing between them was run."""
    newest = {"triton": "3.9.0", "torch": "2.15.0+cpu"}
    records = [
        *make_releases("rggr"), *make_releases("gggg", mode="shimmed"),
        make_record(column="main", versions=newest), make_record(column="main", mode="shimmed", versions=newest),
    ]  # fmt: skip
    return stored(*records)


def test_what_is_pasted_stands_by_itself(crosswarp, five):
    status, out, _ = crosswarp()
    assert status == 0
    lines = out.splitlines()
    assert "without compat  triton>=3.0,!=3.2.*" in lines
    assert "                torch>=2.4.1,!=2.6.*" in lines
    assert "with compat     triton>=2.3.1" in lines
    for said in (
        "Floor: 2.3.1 fails.", "Holes: 3.2.0.", "Ceiling: open; nothing newer than 3.9.0 was tried.",
        "Floor: nothing older than 2.3.1 was tried.", "3.9.0 was measured as main.",
        "UNKNOWN: 3.3.1, 3.4.0, 3.5.1, 3.6.0, 3.7.1, 3.8.0 lie inside and were not run",
        "crosswarp run --triton all",
    ):  # fmt: skip
        assert said in out
    assert max(map(len, lines)) <= 80


def test_what_the_metadata_says_stands_beside_what_was_measured(crosswarp, stored, make_releases):
    declares = {"triton": "triton>=2.3.1", "torch": "torch>=2.1", "numpy": "x", "other": 3}
    library = {"name": "lib", "declares": declares}
    stored(*make_releases("rggr"), *make_releases("gggg", mode="shimmed"), library=library)
    status, out, _ = crosswarp()
    assert status == 0 and max(map(len, out.splitlines())) <= 80
    out = " ".join(out.split())
    assert (
        "Your metadata says triton>=2.3.1; measured: >=3.0,<3.2 without compat, >=2.3.1,<3.3 with compat."
        in out
    )
    # That floor is the oldest column's alone.
    assert ">=2.3.1,<2.7 (nothing older was tried) with compat." in out
    assert "Your metadata says torch>=2.1; measured: >=2.4.1,<2.6" in out and "numpy" not in out
    assert json.loads(crosswarp("--format", "json")[1])["declares"] == {
        "triton": "triton>=2.3.1", "torch": "torch>=2.1"
    }  # fmt: skip
    assert "Your metadata says" in crosswarp("--format", "markdown")[1]


def test_a_sample_is_not_missing_what_a_broken_column_drew_instead(crosswarp, stored, make_record):
    def cells(sample):
        def cell(column, kernel, **changes):
            return make_record(column=f"triton-{column}", kernel=kernel, **changes)

        stored(
            cell("3.1.0", "test_a", case="import", outcome="api-error"),
            cell("3.1.0", "test_b::test_other"), cell("3.2.0", "test_a::test_one"),
            library={"name": "lib", **({"sample": 1} if sample else {})},
        )  # fmt: skip
        return crosswarp()[1]

    assert "without compat  triton>=3.2,<3.3" in cells(True)
    # Without a sample every column has the same tests.
    assert "no release passes" in cells(False)


def test_a_librarys_missing_release_is_run_by_its_own_command(crosswarp, stored, make_releases):
    stored(*make_releases("g?gg"), library={"name": "lib"})
    assert "crosswarp test --triton 3.0.0" in " ".join(crosswarp()[1].split())


@pytest.mark.parametrize("library", [{}, {"declares": "triton"}, {"declares": {"triton": HOSTILE}}])
def test_a_library_in_a_strangers_store_says_what_it_likes(
    crosswarp, stored, make_releases, library
):
    stored(*make_releases("gggg"), library=library)
    for form in FORMATS:
        status, out, _ = crosswarp("--format", form)
        assert status == 0 and "\x1b" not in out
        assert form != "markdown" or "<script" not in out


def test_an_open_ceiling_is_only_above_the_newest_that_is_known(crosswarp, stored, make_releases):
    stored(*make_releases("gggg"))
    _, out, _ = crosswarp()
    assert "triton>=2.3.1,<3.3" in out and "Ceiling: 3.3.1 was not run, or not whole." in out


def test_a_floor_above_what_was_not_run_does_not_say_that_nothing_was_tried(
    crosswarp, stored, make_releases
):
    stored(*make_releases("r?gg"))
    _, out, _ = crosswarp()
    assert "Floor: 3.0.0 was not run, or not whole." in out and "nothing older" not in out


def test_nothing_green(crosswarp, stored, make_releases):
    stored(*make_releases("rrrr"))
    for form in ("table", "markdown"):
        status, out, _ = crosswarp("--format", form)
        assert status == 0 and "triton: no release passes" in out and "triton>" not in out
    document = json.loads(crosswarp("--format", "json")[1])
    assert document["suite"]["bare"]["triton"] is None and not document["suite"]["bare"]["open"]


def test_where_a_package_is_missing_nothing_was_measured(crosswarp, stored, make_record):
    library = {"name": "lib", "declares": {"triton": "triton>=3.1"}}

    def store(missing):
        failed = {
            "outcome": "api-error",
            "fingerprint": f"No module named '{missing}'",
            "case": "import",
        }
        stored(
            make_record(column="triton-3.1.0", **failed), make_record(column="triton-3.2.0", **failed),
            library=library,
        )  # fmt: skip

    store("einops")
    for form in ("table", "markdown"):
        _, out, _ = crosswarp("--format", form)
        assert "measured: unknown without compat." in " ".join(out.split())
        assert "no release passes" not in out
    assert all(
        not one["red"]
        for one in json.loads(crosswarp("--format", "json")[1])["suite"]["bare"]["releases"]
    )
    # The library's own import error comes last, and hides the missing package.
    failed = {
        "outcome": "api-error", "fingerprint": "ImportError: needs the DSL", "case": "import",
        "message": "E   ModuleNotFoundError: No module named 'cutlass'",
    }  # fmt: skip
    stored(make_record(column="triton-3.1.0", **failed), library=library)
    assert "measured: unknown without compat." in " ".join(crosswarp()[1].split())
    # Triton's own module is missing because of the release.
    store("triton.tools.tensor_descriptor")
    assert "measured: no release passes without compat." in " ".join(crosswarp()[1].split())


def test_a_run_that_is_not_whole(crosswarp, stored, make_releases):
    stored(*make_releases("gggg"), status="cancelled", planned=[("triton-3.2.0", "compile", 3)])
    _, out, _ = crosswarp()
    assert "Run 1 is not whole: cancelled." in out and "triton>=2.3.1,<3.2" in out
    assert "not whole (some not run)" in out


def test_a_kernel_says_which_release_did_not_run_all_of_it(crosswarp, stored, make_releases):
    stored(*make_releases("gggg"), *make_releases("g?gg", kernel="matmul"))
    _, out, _ = crosswarp()
    (row,) = re.findall(r"(?m)^matmul .*\n.*", out)
    assert ">=2.3.1, <3.3" in row and "whole: 3.0.0)" in row


def test_a_part_of_the_run(crosswarp, stored, make_releases):
    stored(
        *make_releases("rggg", kernel="layer_norm"), *make_releases("gggg"), *make_releases("ggrg", target="gfx942"),
        *make_releases("gggr", target="cpu", lane="interpret"),
    )  # fmt: skip
    specifiers = {
        ("--kernels", "layer_norm"): ">=3.0,<3.3",
        ("--kernels", "soft*", "--lanes", "compile"): ">=2.3.1,!=3.1.*,<3.3",
        ("--kernels", "softmax", "--targets", "sm_90"): ">=2.3.1,<3.2",
        ("--kernels", "softmax", "--targets", "sm_90", "--lanes", "compile"): ">=2.3.1,<3.3",
        ("--kernels", "softmax", "--targets", "H100"): ">=2.3.1,<3.2",
        ("--lanes", "interpret"): ">=2.3.1,<3.2",
    }
    for arguments, specifier in specifiers.items():
        document = json.loads(crosswarp(*arguments, "--format", "json")[1])
        assert document["suite"]["bare"]["triton"] == specifier, arguments


def test_an_earlier_run(crosswarp, stored, make_releases):
    stored(*make_releases("rggg"))
    stored(*make_releases("gggg"))
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


def test_another_table_of_columns(crosswarp, stored, make_releases, tmp_path):
    stored(*make_releases("gggg"))
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


@pytest.mark.parametrize(("plan", "left"), [({}, True), ({"suite": "theirs"}, False)])
def test_what_shows_a_known_issue_makes_no_range(crosswarp, stored, make_releases, plan, left):
    shows = make_releases("grrg", kernel="block_pointers")
    stored(*make_releases("gggg"), *shows, **plan)
    _, out, _ = crosswarp()
    assert ("without compat  triton>=2.3.1,<3.3\n" in out) is left
    assert ("Left out: 1 reproducers of known issues" in out) is left
    for more in (["--reproducers"], ["--kernels", "block_*"]):
        assert "!=3.0.*" in crosswarp(*more)[1]


def test_a_floor_below_which_nothing_ran_is_no_finding_against_the_metadata(
    crosswarp, stored, make_releases
):
    library = {"name": "lib", "declares": {"triton": "triton>=2.3.1"}}
    stored(*make_releases("??gg"), library=library)
    said = " ".join(crosswarp()[1].split())
    assert "triton>=2.3.1; measured: >=3.1,<3.3 (nothing older was tried) without compat." in said
