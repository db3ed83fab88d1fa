"""The documentation site: built strictly, its links followed, its search asked, and its examples run."""

from __future__ import annotations

import functools
import html
import http.server
import importlib.util
import json
import os
import posixpath
import re
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
import yaml

from crosswarp import compat
from crosswarp.matrix.facts import issues, known_texts, targets
from crosswarp.matrix.results import baseline
from crosswarp.reports import cli
from crosswarp.reports import page as matrix_page
from crosswarp.reports.findings import reproducers
from crosswarp.reports.findings.view import view
from crosswarp.reports.page.text import slug_of

ROOT = Path(__file__).resolve().parent.parent
# What the whole takes is environments, a network or a GPU; the tests of these commands have them.
RECORDED = {"run", "check", "test", "bisect", "blame", "libraries", "update", "doctor", "fuzz"}


def script(name):
    """A script of docs/, which is no package."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "docs"))


# The entries at the top of mkdocs.yml's menu.
MENU = [
    name for entry in yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"] for name in entry
]
examples = script("examples")
build = script("build")
FOUND = [
    (path, block, command)
    for path in examples.pages()
    for block, command in examples.examples(path.read_text("utf-8"))
]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site, around the page of a run without a cell: the matrix has tests of its own."""
    from crosswarp.matrix.results.store import Store

    folder = tmp_path_factory.mktemp("docs")
    with Store(folder / "store.db") as store:
        store.finish(
            store.begin(["run"], {"columns": [], "targets": [], "lanes": [], "modes": []}),
            "finished",
            0,
        )
        known = issues.load()
        matrix_page.write(folder / "matrix", matrix_page.site(view(store, known), known))
    build.build(folder / "site", folder / "matrix")
    return folder / "site"


_RAW = re.compile(r"(<(script|style)\b[^>]*>).*?</\2>|<!--.*?-->", re.S)
_TAG = re.compile(r"<[a-zA-Z][^>]*>")
_PLACE = re.compile(r"""\s(id|name|href|src)=(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")


def links_and_anchors(text):
    """The links of a page, and the anchors that it has. An HTML parser takes ten times as long for the same."""
    links, anchors = [], set()
    for tag in _TAG.findall(_RAW.sub(r"\1", text)):
        for attribute, *quoted in _PLACE.findall(tag):
            value = html.unescape("".join(quoted))
            anchors.add(value) if attribute in ("id", "name") else links.append(value)
    return links, anchors


def test_links_and_anchors_of_a_page():
    text = """<a id=x href="a&amp;b"><img alt="1" src='c'><!-- <a href=d> --><script src=e>"<a href=f>"</script>"""
    assert links_and_anchors(text) == (["a&b", "c", "e"], {"x"})


def test_every_link_leads_somewhere(site):
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    pages = {
        name: links_and_anchors(path.read_text("utf-8"))
        for name, path in files.items()
        if name.endswith(".html") and not name.startswith("run/") and path.name != "404.html"
    }
    assert len(pages) > 25
    broken = []
    for name, (links, _) in pages.items():
        for link in links:
            if re.match(r"(https?|mailto|data):|//", link):
                assert not link.startswith(("http:", "//")), (name, link)
                continue
            to, anchor = urldefrag(unquote(link))
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), to)) if to else name
            target = target if target in files else posixpath.join(target, "index.html")
            if posixpath.normpath(target) not in files or (
                anchor and target in pages and anchor not in pages[target][1]
            ):
                broken.append((name, link))
    assert not broken


def test_nothing_is_asked_of_another_host(site):
    """No font, script, style or picture: who reads of an error tells nobody."""
    for path in site.rglob("*.html"):
        for match in re.finditer(r"<(?:script|link|img|iframe)\b[^>]*>", path.read_text("utf-8")):
            assert not re.search(r'(?:src|href)="?(?:https?:)?//', match[0]), (path, match[0])


def test_every_page_is_in_the_menu():
    listed = set(
        re.findall(
            r"[\w./-]+\.md",
            yaml.safe_dump(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]),
        )
    )
    docs = ROOT / "docs"
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    # The build makes the list of all errors, which leads to the page of each.
    assert listed == there | set(build.ELSEWHERE.values()) | {"errors/index.md"}


def test_each_shim_command_and_known_issue_has_a_page(site):
    items = json.loads((site / "search.json").read_text("utf-8"))["items"]
    texts = {}
    for item in items:
        page = item["location"].partition("#")[0]
        texts[page] = texts.get(page, "") + plain(f" {item['title']} {item['text']} ")
    for shim in compat.all_shims():
        for text in known_texts.symptoms(shim.symptom):
            assert plain(html.escape(text)) in texts[f"shims/{shim.name}/"]
    for issue in issues.load():
        page = texts[f"issues/{slug_of(issue.id)}/"]
        assert plain(html.escape(issue.title)) in page and (issue.shim or "Fix") in page
    for name in cli.COMMANDS:
        assert f"usage: crosswarp {name}" in texts[f"commands/{name}/"]
    # Lists and measurements would stand between a reader and the page of the error.
    assert not {"issues/", "shims/", "evidence/findings/"} & texts.keys()


def plain(text):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())


def test_a_link_that_leads_nowhere_ends_the_build(tmp_path, monkeypatch):
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, value in (("ROOT", tmp_path), ("DOCS", docs), ("ELSEWHERE", {})):
        monkeypatch.setattr(build, name, value)
    (tmp_path / "code.py").write_text("pass\n")
    page = docs / "a.md"
    page.write_text(
        "[x](../code.py), `[y](gone.md)` and [z](https://example.org/)\n\n```\n[y](gone.md)\n```\n"
    )
    assert "[x](source/code.py.txt), `[y](gone.md)`" in build.linked(page, tmp_path / "out")
    assert (tmp_path / "out" / "source" / "code.py.txt").read_text() == "pass\n"
    for link in ("../gone.py", "gone.md", "gone.md#there"):
        page.write_text(f"[x]({link})\n")
        with pytest.raises(build.BrokenLink, match="gone"):
            build.linked(page, tmp_path / "out")


def test_zensical_ends_at_a_heading_that_is_not_there(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[x](index.md#gone)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\n")
    strict = build.zensical(tmp_path / "mkdocs.yml")
    done = subprocess.run(strict, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode and "gone" in re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)


def test_the_readme_is_short_and_keeps_the_two_commands():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 110
    for session in ("matrix", "lint tests"):
        assert f"\n    python3 -m pip install 'nox[uv]' && python3 -m nox -s {session}\n" in text
    for path in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (ROOT / path).is_file(), path


def test_the_numbers_of_the_readme_are_those_of_the_data():
    records = baseline.read(ROOT / "baseline" / "all.json")
    failing = sum(one.red for one in records if one.mode == "bare")
    left = sum(one.red for one in records if one.mode == "shimmed")
    kernels = {one.kernel for one in records}
    shown = reproducers.among(kernels)
    cover = f"{len(kernels - shown)} kernels and {len(shown)} reproducers of known issues"
    assert len({one.column for one in records}) == 11
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    for claim in (
        f"[{len(compat.all_shims())} fixes](docs/shims.md)",
        f"for {len(targets.load())} GPU targets",
        f"{cover} on eleven releases",
        f"Without compat {failing:,} of {len(records):,} results fail",
        f"With compat {failing - left:,} of them pass, and {left} have no fix yet",
    ):
        assert claim in text
    assert f"| {cover}, " in (ROOT / "docs/evidence/findings.md").read_text("utf-8")


def test_a_count_by_hand_in_the_readme_is_that_of_the_page_it_is_from():
    readme, device, faq, upstream = (
        " ".join((ROOT / name).read_text("utf-8").split())
        for name in (
            "README.md",
            "docs/evidence/findings.md",
            "docs/faq.md",
            "docs/upstream/index.md",
        )
    )
    verdicts, differing = re.search(
        r"Of ([\d,]+) verdicts of the virtual sm_90, (\d+) differ", device
    ).groups()
    assert f"{differing} of {verdicts} `compile` verdicts differed" in readme
    assert f"{differing} of {verdicts} verdicts differed" in faq
    rows = upstream.partition("| known issue | right since |")[2].partition(". ")[0]
    drafts = len(
        re.findall(r"\| wrong numbers, without a word \||\| wrong numbers by chance \|", upstream)
    )
    known = (
        len(set(re.findall(r"`([\w-]+)`", rows.partition("`cluster-product-chance`")[0]))) + drafts
    )
    assert known == 13
    for page in (readme, upstream):
        assert re.search(r"Thirteen (of the|known) issues are silent miscompilations", page)


def test_every_command_has_an_example():
    shown = {command.arguments[0] for path, _, command in FOUND if path.name == "commands.md"}
    assert shown == set(cli.COMMANDS)
    run = {command.arguments[0] for _, block, command in FOUND if not block.recorded}
    assert run >= set(cli.COMMANDS) - RECORDED


@pytest.mark.parametrize(
    "path",
    sorted({path for path, block, _ in FOUND if not block.recorded}),
    ids=lambda path: path.stem,
)
def test_the_examples_print_what_stands_there(path):
    text = path.read_text("utf-8")
    assert examples.renewed(text) == text, (
        "run `nox -s docs` (or `python docs/examples.py`), look, and commit it"
    )


@pytest.mark.parametrize(
    "line",
    sorted({command.line for _, block, command in FOUND if block.recorded}),
    ids=lambda line: line[10:50],
)
def test_what_was_recorded_would_be_understood(line):
    examples.parsed(examples.Command(line, ""))


def test_what_was_recorded_says_when():
    for path, block, command in FOUND:
        if block.recorded:
            (said,) = (one for one in block.comments if one.startswith("recorded:"))
            assert re.search(r"\b20\d\d-\d\d-\d\d\b", said), (path, command.line)
            assert command.arguments[0] in RECORDED


def test_an_example_that_prints_otherwise_is_seen():
    text = "```console\n$ crosswarp columns --ids | head -2\nold\n```\n"
    assert examples.renewed(text) == text.replace("old\n", "triton-2.3.1\ntriton-3.0.0\n")
    for line in ("crosswarp columns > file", "rm -r .", "crosswarp columns; true"):
        with pytest.raises(ValueError):
            examples.renewed(f"```console\n$ {line}\n```\n")
    with pytest.raises(SystemExit):
        examples.parsed(examples.Command("crosswarp run --no-such-option", ""))


@pytest.fixture
def visit(browser, site):
    """`visit("shims/")`: a tab with that page, served as a host would; what it asks of any other fails the test."""
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home, wrong, contexts = f"http://127.0.0.1:{server.server_port}/", [], []

        def open_(path, width=1300):
            size = {"width": width, "height": 800}
            contexts.append(browser.new_context(viewport=size, reduced_motion="reduce"))
            tab = contexts[-1].new_page()
            tab.on("pageerror", lambda error: wrong.append(str(error)))
            tab.on(
                "request",
                lambda asked: (
                    asked.url.startswith((home, "data:", "blob:")) or wrong.append(asked.url)
                ),
            )
            tab.goto(home + path)
            return tab

        yield open_
        for context in contexts:
            context.close()
        server.shutdown()
    assert not wrong


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_):
        pass


def pages_of(shim):
    """The page of the shim, and those of the known issues that it fixes."""
    fixed = [issue for issue in issues.load() if issue.shim == shim]
    return [f"/shims/{shim}/", *(f"/issues/{slug_of(issue.id)}/" for issue in fixed)]


@pytest.mark.browser
def test_the_search_finds_the_page_of_an_error_first(visit):
    """Of some shims: the search of a text takes seconds."""
    asked = [(shim.symptom.splitlines()[0].strip(), shim.name) for shim in compat.all_shims()][::12]
    tab = visit("")
    tab.get_by_role("button", name="Search").first.click()
    box = tab.locator("input[aria-label=Search]")
    others = []
    for error, shim in [("Block pointers", "block_pointers"), *asked]:
        box.fill("")
        tab.locator("a[href*='h=']").first.wait_for(state="detached")
        box.fill(error)
        first = tab.locator("a[href*='h=']").first.get_attribute("href")
        if not any(page in first for page in pages_of(shim)):
            others.append((error, first))
    assert not others
    tab.locator("a[href*='h=']").first.click()
    tab.wait_for_url("**/?h=*")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("error", "page"),
    [
        ("ValueError: atomic_add does not support my_bf16", "errors/atomic-bf16/"),
        ("error: ann.py:7:0: stack frame size (9) exceeds limit (8) in function 'f'", "errors/stack-frame-limit/"),
        ("AttributeError: module 'triton.language' has no attribute 'fma'", "issues/bi-mamba2-2/"),
    ],
)  # fmt: skip
def test_an_error_with_names_of_the_reader_is_answered_above_the_search(visit, error, page):
    tab = visit("faq/")
    tab.get_by_role("button", name="Search").first.click()
    tab.locator("input[aria-label=Search]").fill(error)
    tab.locator("a[data-why]").click()
    tab.wait_for_url(f"**/{page}*")


@pytest.mark.browser
def test_each_page_is_legible_on_a_screen_and_on_a_phone(browser, site, load_script):
    """The two longest pages of each folder; tests/proofs/site_layout.py walks all 900. Those of a run are in
    test_page_browser."""
    with browser.new_context() as context:
        layout = load_script("proofs/site_layout.py")
        longest = None if os.environ.get("NIGHTLY") else 2
        tab = context.new_page()
        assert layout.walk(tab, site, "article", without="run", longest=longest) == []


_MENU = """() => [...document.querySelectorAll(".md-nav--primary > .md-nav__list > .md-nav__item")].map(
    item => item.querySelector(".md-ellipsis").textContent.trim())"""


@pytest.mark.browser
def test_the_page_of_a_run_has_the_menu_of_the_documentation(visit):
    tab = visit("")
    menu = tab.evaluate(_MENU)
    for path in ("run/index.html", "run/issues/index.html"):
        tab = visit(path)
        links = tab.get_by_role("navigation", name="Site").get_by_role("link")
        assert links.all_text_contents() == menu == MENU
        assert tab.locator(".site [aria-current]").all_text_contents() == ["The matrix"]
    links.filter(has_text="Reference").click()
    tab.wait_for_url("**/commands/index.html")


@pytest.mark.browser
def test_the_page_of_a_run_searches_the_documentation(visit):
    """A third of the texts of the search of the documentation."""
    asked = [(shim.symptom.splitlines()[0].strip(), shim.name) for shim in compat.all_shims()][::3]
    tab = visit("run/issues/index.html")
    box = tab.get_by_role("searchbox", name="Search the documentation")
    box.focus()
    others = []
    for error, shim in asked:
        box.fill(error[:400])
        first = tab.locator("#site-search a").first
        if not any(page in first.get_attribute("href") for page in pages_of(shim)):
            others.append((error, first.get_attribute("href")))
    assert not others
    first.click()
    tab.wait_for_url("**/shims/**")


@pytest.mark.browser
def test_the_matrix_opens_from_the_menu(visit):
    tab = visit("")
    tab.get_by_role("link", name="The matrix").first.click()
    tab.get_by_role("link", name="Open the matrix").click()
    tab.wait_for_url("**/run/index.html")
    assert "crosswarp" in tab.title()
