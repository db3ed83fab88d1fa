"""The site as files: the same bytes for the same store, no text out of its place, and never half a folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.results.verdict import judge
from crosswarp.reports import page
from crosswarp.reports.findings.view import view
from crosswarp.reports.page.folder import MARK
from crosswarp.reports.page.missing import missing
from crosswarp.reports.page.model import Model
from crosswarp.reports.page.text import line, script, slugs, web

RIGHT_TO_LEFT = "\u202e"
HOSTILE = (
    f"\x1b[31m\x1b]0;title\x07{RIGHT_TO_LEFT}\u2067\u200b</script><script>hacked=1</script>\"'`"
    "<img src=x onerror=hacked=1>{{7*7}}\u2028\u2029\x00\x9b\r\nnext"
)


@pytest.fixture
def make_site(page_run, make_issue):
    def make(issues=None, more=(), **changes):
        issues = [make_issue()] if issues is None else issues
        with Store(page_run(**changes)) as store:
            shown = view(store, issues)
        # Not by way of the store, which takes no invalid UTF-8.
        records = [*shown.records, *more]
        verdict = judge(records, issues)
        return page.site(replace(shown, records=records, verdict=verdict), issues)

    return make


@pytest.fixture
def hostile(make_record, make_issue):
    """What to give to make_site, so that every text of it is hostile."""
    values = {
        name: HOSTILE + "\ud800" + name for name in ("kernel", "case", "config", "target", "reason")
    }
    red = [
        make_record(
            **values, column=column, mode=mode, outcome="crash", fingerprint=HOSTILE, message=HOSTILE * 9000 + "\ud800",
            resources={"launches": [{"kernel": HOSTILE, "num_warps": 4, "stack": 8}], HOSTILE: HOSTILE},
            shims=(HOSTILE,),
        )
        for column in ("triton-3.1.0", HOSTILE)
        for mode in ("bare", "shimmed")
    ]  # fmt: skip
    issue = make_issue(
        title=HOSTILE, kernels=["**"], configs=["*"], fingerprint="", workaround=HOSTILE, triton="",
    )  # fmt: skip
    # Past the schema, which would refuse them.
    links = (
        "javascript:hacked=1",
        'https://example.org/"><script>',
        "https://example.org/a/b/issues/1",
    )
    issue = replace(issue, links=links)
    return {
        "more": red, "notes": [HOSTILE], "issues": [issue], "status": "cancelled",
        "plan": {"columns": ["triton-3.1.0", "triton-3.2.0", HOSTILE], "targets": [HOSTILE], "suite": HOSTILE},
    }  # fmt: skip


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_the_same_store_gives_the_same_bytes(page_run, tmp_path):
    store = page_run()
    made = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        subprocess.run(
            [sys.executable, "-m", "crosswarp.reports.cli", "report", "--format", "html", "--out", str(out),
             "--store", str(store)],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": f"UTC+{seed}"}, check=True,
        )  # fmt: skip
        made.append({p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()})
    assert made[0] == made[1]


def test_every_page_links_to_what_is_there(make_site):
    files = make_site()
    found = {path: Tags(text) for path, text in files.items() if path.endswith(".html")}
    assert {"index.html", "kernels/chunk.html", "issues/triton-1.html"} < set(found)
    seen = 0
    for path, parsed in found.items():
        for _, attrs in parsed.tags:
            url = attrs.get("href") or attrs.get("src")
            if not url or url.startswith("https://"):
                continue
            target, fragment = urldefrag(url)
            there = (
                str((Path("/") / Path(path).parent / unquote(target)).resolve())[1:]
                if target
                else path
            )
            assert there in files, (path, url)
            if fragment and there != "index.html":
                assert any(attrs.get("id") == fragment for _, attrs in found[there].tags), url
            seen += 1
    assert seen > 50


def test_no_page_runs_or_loads_anything_but_its_own_files(make_site, hostile):
    for path, text in make_site(**hostile).items():
        if not path.endswith(".html"):
            continue
        tags = Tags(text).tags
        (policy,) = (
            a["content"] for t, a in tags if a.get("http-equiv") == "Content-Security-Policy"
        )
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        for tag, attrs in tags:
            assert tag != "script" or attrs["src"].startswith(("data/", "assets/", "../"))
            assert not any(name.startswith("on") or name == "style" for name in attrs), (
                path,
                attrs,
            )
            for name in ("href", "src"):
                assert not re.match(r"\s*(javascript|data):", attrs.get(name) or ""), (path, attrs)


def test_hostile_text_is_text_and_is_cut(make_site, hostile):
    files = make_site(**hostile)
    for path, text in files.items():
        if path.startswith("assets/"):
            continue
        assert "<script>" not in text and "<img src=x" not in text, path
        strange = {char for char in text if not char.isprintable() and char != "\n"}
        assert not strange, (path, strange)
        assert len(text) < 200_000, path
    details = [text for path, text in files.items() if path.startswith("data/kernels/")]
    assert re.search(r"\[\.\.\. \d+ characters left out \.\.\.\]", max(details, key=len))
    index = Tags(files["issues/triton-1.html"])
    assert "<script>hacked=1</script>" in index.text and "{{7*7}}" in index.text


def test_scripts_hold_data_that_no_html_ends():
    text = script({HOSTILE: ["</script>", "<!--", "\u2028"]})
    assert text.isascii() and not set("<>&") & set(text)
    assert json.loads(text) == {HOSTILE: ["</script>", "<!--", "\u2028"]}
    with pytest.raises(ValueError):
        script(float("nan"))


def test_file_names():
    made = slugs(["softmax", "Softmax", "../../etc", "a" * 999, "", "index", "\ud800"])
    assert made["softmax"] == "softmax"
    assert len(set(made.values())) == 7
    assert all(
        re.fullmatch(r"[a-z0-9._+-]{1,80}", slug) and ".." != slug[:2] for slug in made.values()
    )
    assert made == slugs(reversed(made))


def test_lines_are_cut_with_a_note():
    assert line("x" * 301) == "x" * 300 + " [... 1 characters left out ...]"
    assert (
        web("https://example.org/a") and not web("javascript:alert(1)") and not web("https://a b")
    )


# What is missing


def test_a_run_that_lacks_something_says_what(make_site, make_record):
    not_run = make_record(
        column="triton-3.4.0", case="*", outcome="not-run", reason="cancelled", message="before its turn",
    )  # fmt: skip
    columns = ["triton-3.1.0", "triton-3.2.0", "triton-3.3.1", "triton-3.4.0", "triton-3.5.1"]
    files = make_site(
        more=[not_run],
        status="cancelled",
        plan={"columns": columns, "lanes": ["compile", "device"]},
    )
    text = " ".join(Tags(files["index.html"]).text.split())
    for said in (
        "This run is not whole: cancelled", "triton-3.5.1: Nothing was recorded", "triton-3.4.0: Not run (cancelled)",
    ):  # fmt: skip
        assert said in text
    assert "Nothing was recorded" in Tags(files["columns/triton-3.5.1.html"]).text


def test_planned_cases_without_a_record_are_counted(page_run):
    path = page_run()
    with Store(path) as store:
        store.session(1, "triton-3.2.0", "interpret", {}, 7)
        said = missing(Model(view(store, []), []))
    assert "triton-3.2.0: 5 planned cases have no outcome in the lane interpret." in said


def test_a_whole_run_lacks_nothing(make_site):
    files = make_site(plan={"columns": ["triton-3.1.0", "triton-3.2.0"], "targets": ["sm_90"]})
    assert "What is missing" not in files["index.html"]


# What the pages say


def test_an_upgrade_says_what_breaks_and_what_heals_it(make_site):
    text = " ".join(Tags(make_site()["columns/triton-3.2.0.html"]).text.split())
    assert "1 breaking change (1 cell), fixed with compat. 1 kernel heavier." in text
    assert "aborts at 8 warps" in text and "by guarded_autotune (1 of 1 cells)" in text
    assert "64 → 128: _kernel, 4 warps" in text


def test_an_upgrade_to_what_was_cut_short_says_nothing_is_gone(page_run, make_issue):
    with Store(page_run()) as store:
        whole = view(store, [make_issue()])
    column = "triton-3.2.0"
    kept = [one for one in whole.records if one.column != column or one.kernel != "chunk"]
    lost = len(whole.records) - len(kept)
    for planned, outcome in (({}, "gone"), ({(column, "compile"): 99}, "unknown")):
        shown = replace(whole, records=kept, planned=planned)
        counts = Model(shown, []).upgrades["triton-3.1.0", column].counts
        assert counts.get(outcome, 0) == lost, counts


def test_an_issue_says_whether_it_is_you(make_site):
    text = " ".join(Tags(make_site()["issues/triton-1.html"]).text.split())
    for said in (
        "SIGABRT: LinearLayout reshapeOuts", ">=3.2,<3.3", "1 of 1 failing cells of this run pass with it",
        "crosswarp run --triton 3.2.0 --lanes compile --kernels chunk --suite suite",
    ):  # fmt: skip
        assert said in text


def test_the_columns_stand_oldest_first(make_site):
    columns = ["triton-3.3.1", "triton-3.2.0", "triton-3.1.0"]
    data = make_site(plan={"columns": columns})["data/grid.js"]
    grid = json.loads(data.removeprefix("var crosswarp=").removesuffix(";\n"))
    assert [column["short"] for column in grid["columns"]] == ["3.1.0", "3.2.0", "3.3.1"]
    row = next(one for one in grid["grids"] if one["target"] == "sm_90")["rows"][0]
    crash, passed = (1 << grid["outcomes"].index(name) for name in ("crash", "pass"))
    regressed, fixed = (1 << grid["changes"].index(name) for name in ("regressed", "fixed"))
    assert row == [
        [passed, passed, 0, 0],
        [crash | passed, passed, regressed, 0],
        [passed, passed, fixed, 0],
    ]


def test_a_column_of_which_nothing_ran_is_no_column_before(make_site, make_record):
    """Else what broke between its neighbours would be new, and not regressed."""
    skipped = make_record(column="triton-3.1.9", case="*", outcome="not-run")
    files = make_site(more=[skipped])
    assert "1 breaking change (1 cell), fixed with compat" in files["columns/triton-3.2.0.html"]
    assert "from-triton-3.1.9" not in files["columns/triton-3.2.0.html"]
    assert "nothing to compare with" in files["columns/triton-3.1.9.html"]


# The folder


def test_a_second_site_takes_the_place_of_the_first(tmp_path):
    out = tmp_path / "new" / "site"
    page.write(out, {"index.html": "old", "kernels/gone.html": "x"})
    (out / "badges").mkdir()
    (out / "badges" / "a.svg").write_text("theirs")
    (out / "CNAME").symlink_to("badges/a.svg")
    page.write(out, {"index.html": "new"})
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert files == sorted([MARK, "CNAME", "badges/a.svg", "index.html"])
    assert (out / "index.html").read_text() == "new" and (out / "CNAME").is_symlink()
    assert [path.name for path in out.parent.iterdir()] == ["site"]


def test_a_folder_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="crosswarp did not make it. Empty it, or name another"):
        page.write(tmp_path, {"index.html": ""})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(UsageError, match="this is a file"):
        page.write(tmp_path / "thesis.txt", {"index.html": ""})


def test_a_file_in_the_way_is_refused(tmp_path):
    page.write(tmp_path / "site", {"index.html": ""})
    (tmp_path / "site" / "kernels").mkdir()
    (tmp_path / "site" / "kernels" / "a.html").write_text("mine")
    with pytest.raises(UsageError, match="kernels/a.html was not written by crosswarp"):
        page.write(tmp_path / "site", {"index.html": "", "kernels/a.html": ""})
    assert (tmp_path / "site" / "kernels" / "a.html").read_text() == "mine"


def test_an_empty_folder_and_a_link_are_taken(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    page.write(tmp_path / "link", {"index.html": "x"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "index.html").read_text() == "x"


def test_a_full_disk_leaves_the_old_site(tmp_path, page_run, make_record):
    """A limit on the size of a file, which fails in the middle as a full disk does."""
    long = [make_record(case=str(n), outcome="crash", message=f"{n} " * 9000) for n in range(9)]
    store, out = page_run(more=long), tmp_path / "site"
    page.write(out, {"index.html": "old"})
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "from crosswarp.reports import cli; sys.exit(cli.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, "report", "--format", "html", "--out", str(out), "--store", str(store)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "could not be written (File too large). What was there is left as it was." in done.stderr
    assert done.stderr.rstrip().endswith("or name another.")
    assert (out / "index.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if "site" in path.name] == ["site"]


@pytest.mark.parametrize("arguments", [["--format", "html"], ["--out", "site"]])
def test_html_needs_a_folder_and_nothing_else_takes_one(command, page_run, arguments):
    status, _, said = command("report", "--store", str(page_run()), *arguments)
    assert status == 2 and "write --format html --out DIR" in said


def test_the_command_writes_the_site(command, page_run, tmp_path):
    status, said, _ = command(
        "report", "--store", str(page_run()), "--format", "html", "--out", str(tmp_path / "site")
    )
    assert (status, said) == (0, f"{tmp_path / 'site' / 'index.html'}\n")
    assert (tmp_path / "site" / "data" / "kernels" / "chunk.js").is_file()
