"""Badges: the one thing to know of a run, in a box that its text fits."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest

from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.store import Environment
from crosswarp.reports.findings.missing import missing
from crosswarp.reports.text import badges as badges_module
from crosswarp.reports.text.badges import COLOURS, Badge, badges, endpoint, files, svg, width

ROOT = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"
STATES = {
    "passing": ({}, "2 ok"),
    "fixed": ({"red": "pass"}, "2 ok · 1 fixed"),
    "regressed": ({"red": "pass", "fingerprint": "never seen"}, "1 regressed · 2 ok"),
    "shim failed": ({"red": "crash"}, "1 regressed · 2 ok"),
    "no shim": ({"red": "crash", "shim": None}, "2 ok · 1 known"),
    "not run": ({"outcome": "not-run"}, "not run"),
    "unsupported": ({"outcome": "unsupported"}, "unsupported"),
}


@pytest.fixture
def badge(make_record, make_issue, stored):
    """`badge(red="pass")`: the badges of two cells, and of a third that is red bare and `red` shimmed."""

    def make(
        outcome="pass",
        red="",
        fingerprint="reshapeOuts",
        shim="guarded",
        columns=(),
        stale=None,
        **run,
    ):
        records = [
            make_record(case=case, mode=mode, outcome=outcome)
            for case in "ab"
            for mode in ("bare", "shimmed")
        ]
        if red:
            third = {"kernel": "chunk", "config": "num_warps=8", "fingerprint": fingerprint}
            records.append(make_record(**third, outcome="crash"))
            records.append(make_record(**third, outcome=red, mode="shimmed"))
        issue = make_issue(shim=shim, configs=["*"], case={"kernel": "chunk"})
        shown = stored(records, [issue], columns=columns, **run)
        return badges(shown, stale)["all"]

    return make


@pytest.mark.parametrize("name", STATES)
def test_the_message_says_how_it_stands(badge, name):
    options, message = STATES[name]
    assert badge(**options).message == message


def test_each_state_has_its_colour(badge):
    colours = {name: badge(**options).colour for name, (options, _) in STATES.items()}
    assert colours["shim failed"] == colours["regressed"]
    stale = badge(stale=date(2126, 1, 1)).colour
    assert stale not in (colours["passing"], colours["fixed"], colours["regressed"])
    assert len({*colours.values()}) == 5
    # Red is for what is wrong and for nothing else.
    assert [badge(**o).wrong for o, _ in STATES.values()] == [
        name in ("regressed", "shim failed") for name in STATES
    ]


def test_stale_is_decided_by_the_date_that_is_given(badge):
    fresh = badge(started="2026-11-20T23:59:59+00:00", stale=date(2026, 11, 20))
    assert fresh.message == "2 ok"
    stale = badge(started="2026-11-20T23:59:59+00:00", stale=date(2026, 11, 21))
    assert stale.message == "stale, of 2026-11-20 · 2 ok"
    # What is stale is not known to be right or wrong.
    assert badge(red="pass", fingerprint="x", stale=date(2126, 1, 1)).colour == COLOURS["stale"]


def test_what_is_missing_is_not_green(badge):
    lost = badge(columns=["triton-3.1.0", "triton-3.2.0"])
    assert (lost.message, lost.colour) == ("2 ok · 1 column not run", COLOURS["incomplete"])
    short = badge(planned={("triton-3.2.0", "compile"): 9})
    assert (short.message, short.colour) == ("2 ok · not whole", COLOURS["incomplete"])
    cut = badge(status="cut off")
    assert (cut.message, cut.colour) == ("2 ok · not whole", COLOURS["incomplete"])


def test_an_issue_that_no_longer_reproduces(make_record, make_issue, stored):
    records = [make_record(kernel="chunk", config="num_warps=8")]
    badge = badges(stored(records, [make_issue()]))["all"]
    assert (badge.message, badge.colour) == ("1 ok · 1 newly passing", COLOURS["known"])


def test_a_run_of_the_shims_alone(make_record, stored):
    assert badges(stored([make_record(mode="shimmed")]))["all"].message == "1 ok"


def test_one_for_the_whole_each_column_and_each_target(make_record, stored):
    records = [
        make_record(column="triton-2.3.1"), make_record(column="triton-3.9.0", target="gfx942"),
        make_record(column="main", target="cpu", lane="interpret", versions={"triton": "3.8.1+git1"}),
    ]  # fmt: skip
    stand_in = Environment("main", "main (stand-in: triton 3.9.0)", "ready", "", {}, (), 0.0)
    pair = "triton-3.2.0+torch-2.5.1"
    columns = ["triton-2.3.1", pair, "triton-3.9.0", "main"]
    plan = {"targets": ["sm_90", "gfx90a"], "lanes": ["compile", "interpret"]}
    made = badges(stored(records, columns=columns, environments=[stand_in], **plan))
    assert {name: f"{one.label} | {one.message}" for name, one in made.items()} == {
        "all": "triton 2.3.1 – 3.9 | 3 ok · 1 column not run",
        "columns/triton-2.3.1": "triton 2.3.1 | 1 ok",
        f"columns/{pair}": "triton 3.2.0 + torch 2.5.1 | not run",
        "columns/triton-3.9.0": "triton 3.9.0 | 1 ok",
        "columns/main": "main (stand-in: triton 3.9.0) | 1 ok",
        "targets/sm_90": "sm_90 | 1 ok · 3 columns not run",
        "targets/gfx90a": "gfx90a | not run",
        "targets/gfx942": "gfx942 | 1 ok · 3 columns not run",
        "targets/cpu": "interpreter | 1 ok · 3 columns not run",
    }


@pytest.mark.parametrize(
    ("versions", "label"),
    [(["3.2.0"], "triton 3.2"), (["3.10.0", "3.9.0"], "triton 3.9 – 3.10"), ([], "triton")],
)
def test_the_range_of_versions(make_record, stored, versions, label):
    records = [make_record(column=f"triton-{version}") for version in versions]
    assert badges(stored(records or [make_record(column="main")]))["all"].label == label


@pytest.mark.parametrize(
    "text", ["triton 2.3.1 – 3.9", "1,204 ok · 3 fixed", "WWWWWW", "漢字漢字", "☃✗", "x" * 90]
)
def test_text_is_never_clipped(text):
    drawn = ElementTree.fromstring(svg(Badge(text, text, COLOURS["passing"])))
    label, message = drawn.findall(f"{SVG}text")
    for part in (label, message):
        assert part.text == text and int(part.get("textLength")) == width(text)
        assert part.get("lengthAdjust") == "spacingAndGlyphs"
    left = int(re.match(r"M(\d+) ", drawn.find(f"{SVG}path").get("d"))[1])
    total = int(drawn.get("width"))
    assert int(label.get("x")) + width(text) < left < int(message.get("x"))
    assert int(message.get("x")) + width(text) < total == int(drawn.get("viewBox").split()[2])


def test_widths_are_those_of_the_fonts():
    # What DejaVu Sans says of itself at 11 px; the table may be wider and not narrower.
    for text, measured in (
        ("triton 2.3.1 – 3.9", 91.4),
        ("1,204 ok · 3 healed", 106.4),
        ("MMMMMMMMMM", 94.9),
        ("iiiiiiiiii", 30.6),
    ):
        assert measured <= width(text) <= measured * 1.1


def test_white_is_read_on_every_colour():
    def light(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for name, colour in COLOURS.items():
        assert 1.05 / (light(colour) + 0.05) >= 4.5, name


def test_it_is_read_aloud_as_it_looks():
    drawn = ElementTree.fromstring(svg(Badge("sm_90", "2 ok", COLOURS["passing"])))
    assert (drawn.get("role"), drawn.get("aria-label")) == ("img", "sm_90: 2 ok")
    assert drawn.find(f"{SVG}title").text == "sm_90: 2 ok"


def test_the_endpoint_is_what_shields_asks_for():
    assert json.loads(endpoint(Badge("sm_90", "1 regressed", "#cf222e", wrong=True))) == {
        "schemaVersion": 1, "label": "sm_90", "message": "1 regressed", "color": "cf222e", "isError": True,
    }  # fmt: skip


def test_hostile_names_stay_text_and_inside_the_folder(make_record, stored, hostile, tmp_path):
    records = [
        make_record(target=f"../{hostile}"),
        make_record(target=f"../{hostile}x"),
        make_record(target=".."),
    ]
    made = badges(stored(records))
    assert len(made) == 1 + 1 + 3
    for name, text in files(made).items():
        assert re.fullmatch(
            r"(all|(columns|targets)/[A-Za-z0-9_+-][A-Za-z0-9._+-]*)\.(svg|json)", name
        )
        if name.endswith(".svg"):
            drawn = ElementTree.fromstring(text)
            assert {part.tag for part in drawn.iter()} <= {
                f"{SVG}{t}" for t in ("svg", "title", "rect", "path", "text")
            }
            for part in drawn.findall(f"{SVG}text"):
                assert len(part.text) <= badges_module.LONGEST and part.text.isprintable()
        else:
            assert json.loads(text)["label"].isprintable()


def test_the_command(command, stored, make_record, tmp_path):
    shown = stored([make_record()])
    store, out = str(tmp_path / "store.db"), tmp_path / "deep" / "badges"
    status, said, _ = command("badge", "--store", store, "--out", str(out))
    assert status == 0 and "3 badges and grid.svg (triton 3.2 | 1 ok)" in said
    written = {p.relative_to(out).as_posix(): p.read_text("utf-8") for p in out.rglob("*.*")}
    grid = written["grid.svg"]
    assert written == {**files(badges(shown)), "grid.svg": grid} and "softmax" in grid
    command("badge", "--store", store, "--out", str(out), "--stale-before", "2126-01-01")
    assert "stale" in (out / "all.svg").read_text("utf-8")
    # Again, and the same bytes.
    command("badge", "--store", store, "--out", str(out))
    assert {
        p.relative_to(out).as_posix(): p.read_text("utf-8") for p in out.rglob("*.*")
    } == written
    status, _, said = command("badge", "--store", store, "--stale-before", "soon")
    assert status == 2 and "write 2026-11-21" in said
    (tmp_path / "file").write_text("")
    status, _, said = command("badge", "--store", store, "--out", str(tmp_path / "file"))
    assert status == 2 and "can be written" in said


def test_what_is_missing_is_said(make_record, stored):
    records = [
        make_record(),
        make_record(case="*", outcome="not-run", reason="cancelled"),
        make_record(
            column="triton-3.1.0", case="*", outcome="not-run", reason="environment failed"
        ),
    ]
    columns = ["triton-3.0.0", "triton-3.1.0", "triton-3.2.0"]
    shown = stored(
        records, columns=columns, status="cut off", planned={("triton-3.2.0", "compile"): 3}
    )
    assert [str(one) for one in missing(shown)] == [
        "This run is not whole: cut off.",
        "triton-3.0.0: Nothing was recorded.",
        "triton-3.1.0: Not run (environment failed).",
        "triton-3.2.0: 1 cells not run (cancelled).",
        "triton-3.2.0: 2 planned cases have no outcome in the lane compile.",
    ]
    assert missing(stored([make_record()])) == []


def test_the_readme_shows_the_badge_of_the_baseline():
    """Whoever writes the one anew writes the other: `crosswarp badge --baseline --out docs/badges`."""
    whole = json.loads((ROOT / "docs" / "badges" / "all.json").read_text("utf-8"))
    bare = [one for one in baseline.read(ROOT / "baseline" / "all.json") if one.mode == "bare"]
    passed, red = sum(one.outcome == "pass" for one in bare), sum(one.red for one in bare)
    counted = [int(part.split()[0].replace(",", "")) for part in whole["message"].split(" · ")]
    assert counted[0] == passed and sum(counted[1:]) == red
    assert re.fullmatch(r"\S+ ok · \S+ fixed( · \S+ known)?", whole["message"])
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"[![{whole['label']} | {whole['message']}](docs/badges/all.svg)]" in readme
    assert "(docs/badges/grid.svg)" in readme
