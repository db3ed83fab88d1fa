"""Which releases a specifier admits, and in which state a release is."""

from __future__ import annotations

import itertools

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.results.supported import STATES, _pair, short, span, supported

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


def found_states(found, mode="bare"):
    letters = {state: letter for letter, state in LETTERS.items()}
    return "".join(letters[one.state] for one in found.suite[mode].releases)


@pytest.mark.parametrize("text", ["gggg", "rggg", "g?gr", "uugg", "r???"])
def test_the_states_of_a_suite_of_one(make_releases, text):
    found = supported(make_releases(text), TABLE)
    assert found_states(found) == text
    assert found.suite["bare"] == found.kernels["softmax"]["bare"]


def test_red_is_red_whether_known_or_not_and_in_one_mode_only(make_releases):
    records = make_releases("gggr", issue="fla-196") + make_releases("gggg", mode="shimmed")
    found = supported(records, TABLE)
    assert found.suite["bare"].triton.specifier == ">=2.3.1,<3.2"
    assert found.suite["shimmed"].triton.specifier == ">=2.3.1"
    assert (found_states(found), found_states(found, "shimmed")) == ("gggr", "gggg")


def test_torch_is_that_of_the_official_pairs(make_releases):
    ranged = supported(make_releases("grgr"), TABLE).suite["bare"]
    assert ranged.torch.specifier == ">=2.3.1,!=2.4.*,<2.6"


def test_a_suite_is_green_without_a_kernel_that_declares_itself_absent(make_releases):
    found = supported(make_releases("gggg") + make_releases("uugg", kernel="descriptors"), TABLE)
    assert found_states(found) == "gggg"
    assert [one.lacking for one in found.suite["bare"].releases[1:3]] == [("descriptors",), ()]
    assert found.kernels["descriptors"]["bare"].triton.specifier == ">=3.1"


def test_a_target_that_lacks_everything_is_named_once(make_releases):
    found = supported(make_releases("gggg") + make_releases("uggg", target="gfx942"), TABLE)
    assert [one.lacking for one in found.suite["bare"].releases[:2]] == [("gfx942",), ()]


def test_a_configuration_that_was_passed_over_takes_nothing_away(make_releases):
    records = make_releases("gggg", config="num_warps=4")
    records += make_releases("uuuu", config="num_warps=8", reason="configuration dropped")
    assert found_states(supported(records, TABLE)) == "gggg"


def test_cells_that_another_column_has_are_missing(make_releases):
    found = supported(make_releases("gggg") + make_releases("gg?r", case="fp16-1x5"), TABLE)
    assert found_states(found) == "gg?r"
    assert [one.missing for one in found.suite["bare"].releases] == [0, 0, 1, 0]


def test_a_column_that_was_not_run_or_whose_environment_failed_is_unknown(
    make_releases, make_record
):
    failed = make_record(
        column="triton-3.2.0", case="*", outcome="not-run", reason="environment failed"
    )
    found = supported(
        [*make_releases("gg??"), failed], TABLE, planned=["triton-3.1.0", "triton-3.2.0"]
    )
    assert found_states(found) == "gg??"
    columns_of = [one.release.columns for one in found.suite["bare"].releases]
    assert columns_of[2:] == [("triton-3.1.0",), ("triton-3.2.0",)]


def test_a_single_column_that_ended_early_is_not_green(make_releases, make_record):
    records = make_releases("gg??")
    planned = {("triton-2.3.1", "compile"): 1, ("triton-3.0.0", "compile"): 2}
    assert short(records, planned) == {"triton-3.0.0"}
    found = supported(records, TABLE, short=short(records, planned))
    assert found_states(found) == "g???"


def test_main_counts_as_the_release_that_it_stands_in_for(make_releases, make_record):
    versions = {"triton": "3.2.0", "torch": "2.6.0+cu124"}
    main = make_record(column="main", outcome="crash", versions=versions)
    assert found_states(supported([*make_releases("ggg?"), main], TABLE)) == "gggr"
    # The same release twice: red wins.
    assert found_states(supported([*make_releases("gggg"), main], TABLE)) == "gggr"


@pytest.mark.parametrize(
    ("column", "versions", "why"),
    [
        ("main", {"triton": "3.10.0+git1234", "torch": "2.16.0"}, "a local build"),
        ("main", {"triton": "3.10.0.dev1", "torch": "2.16.0"}, "a local build"),
        ("main", {}, "it did not run"),
        ("here-triton-3.2.0-git1", {"triton": "3.2.0+git1", "torch": "2.6.0"}, "a local build"),
        ("here-triton-3.2.0", {"triton": "3.2.0", "torch": "2.5.1"}, "off the official pair"),
        ("triton-3.2.0+torch-2.5.1", {"triton": "3.2.0", "torch": "2.5.1"}, "off the official pair"),
        ("triton-3.2.0+torch-2.5.1", {}, "off the official pair"),
        ("triton-3.2.0+numpy-2.4.1", {"triton": "3.2.0", "torch": "2.6.0"}, "it has numpy 2.4.1 in place"),
        ("triton-3.2.0+python-3.12", {}, "it has python 3.12 in place"),
        ("triton-of-old", {}, "it did not run"),
    ],
)  # fmt: skip
def test_what_is_no_release_is_left_out_and_named(
    make_releases, make_record, column, versions, why
):
    other = make_record(column=column, outcome="crash", versions=versions)
    found = supported([*make_releases("gggg"), other], TABLE)
    assert found_states(found) == "gggg"
    assert why in found.left_out[column]


def test_a_release_that_the_table_does_not_know(make_releases, make_record):
    versions = {"triton": "3.3.0", "torch": "2.7.0+cpu"}
    other = make_record(column="triton-3.3.0", outcome="crash", versions=versions)
    found = supported([*make_releases("gggg"), other], TABLE)
    assert found.suite["bare"].triton.specifier == ">=2.3.1,<3.3"
    assert found.suite["bare"].torch.specifier == ">=2.3.1,<2.7"


def test_wrong_versions_do_not_count_as_the_release_that_was_found(make_releases, make_record):
    wrong = make_record(
        column="triton-3.2.0", case="*", outcome="not-run", versions={"triton": "3.1.0"}
    )
    assert found_states(supported([*make_releases("ggg?"), wrong], TABLE)) == "ggg?"


def test_the_worst_kernel_comes_first(make_releases):
    records = []
    for kernel, bare, shimmed in (
        ("a", "gggg", "gggg"),
        ("b", "rrrr", "gggg"),
        ("c", "gggr", "gggr"),
    ):
        records += make_releases(bare, kernel=kernel) + make_releases(
            shimmed, kernel=kernel, mode="shimmed"
        )
    assert list(supported(records, TABLE).kernels) == ["c", "b", "a"]


def test_the_states_are_told_in_order_of_weight():
    assert STATES == ("red", "unknown", "green", "unsupported")


@pytest.mark.parametrize(
    ("name", "measured", "pair"),
    [
        # The table's column is what the table says, whatever was measured.
        ("triton-3.0.0", {"triton": "9.9", "torch": "9.9"}, ("3.0.0", "2.4.1")),
        ("triton-3.9.0", {"triton": "9.9", "torch": "2.9.1+cpu"}, ("3.9.0", "2.9.1")),
        ("here-venv", {"triton": "3.3.1", "torch": "2.7.0"}, ("3.3.1", "2.7.0")),
        ("here-triton-3.3.1", {}, ("3.3.1", None)),
        ("here-triton-3.3.1", {"triton": ""}, ("3.3.1", None)),
        ("here-venv", {"torch": "unknown"}, (None, None)),
    ],
)
def test_the_versions_of_a_column(name, measured, pair):
    assert _pair(name, {column.id: column for column in TABLE}, measured) == pair
