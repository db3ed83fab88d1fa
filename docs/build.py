"""The documentation site: `nox -s docs-site`, or `python docs/build.py --out FOLDER`.

What stands on it is docs/, a few pages that live elsewhere in the repository, and the matrix of the baseline (or of
the folder that --matrix names, as `crosswarp report --format html` writes it). Each shim, command and known issue has a
page of its own here. Zensical makes HTML of it and finds what links to no page or heading; a link that leaves docs/ is
led to the page, or to a copy of the file, here. Any of them that leads nowhere ends the build.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

import examples
from crosswarp import compat
from crosswarp.laboratory.pages import error_pages, known_issue_pages
from crosswarp.matrix.facts import issues, known_texts, language_table
from crosswarp.matrix.results.store import Store
from crosswarp.reports import cli, page
from crosswarp.reports.findings.view import view
from crosswarp.reports.page import why_data
from crosswarp.reports.page.text import breakable, slug_of
from crosswarp.reports.text import escape

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CONFIGURATION = ROOT / "mkdocs.yml"
# Pages that live beside what they tell of, and what they are called on the site.
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "kernels/README.md": "suite.md",
    "tests/bench/README.md": "benchmarks.md",
    "tests/ecosystem/README.md": "ecosystem-tests.md",
}
# Pages whose sections are pages of their own on the site: docs/shims.md#gather becomes shims/gather.md.
SPLIT = ("shims.md", "commands.md")
# Lists whose every entry has a page, and measurements: a search for an error should find what explains it.
UNSEARCHED = re.compile(r"(evidence/.*|releases/.*|issues|shims|language)\.md")
# The entry of the menu that is a run, and the place on a run's pages before which the menu goes.
RUN, PAGES = "The matrix", '<nav aria-label="Pages">'
CURRENT = ' aria-current="true"'
_SECTION = re.compile(r"^## `?(?P<name>[a-z_0-9]+)`?$", re.M)
# The link of a Markdown link or picture. Code is cut out before.
_LINK = re.compile(r"(?<=\]\()(?P<path>[^)\s#:]+)(?P<rest>#[^)\s]*)?(?=\))")
_CODE = re.compile(
    r"(^ {0,3}(?P<fence>```+)[^\n]*\n.*?^ {0,3}(?P=fence)[ \t]*$|(`+)(?!`).+?(?<!`)\3(?!`))",
    re.S | re.M,
)


class BrokenLink(Exception):
    """A page links to what is not there."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument(
        "--out", type=Path, default=ROOT / ".crosswarp" / "docs-site", metavar="FOLDER"
    )
    parser.add_argument(
        "--matrix", type=Path, metavar="FOLDER", help="a page of a run (default: of the baseline)"
    )
    options = parser.parse_args()
    try:
        build(options.out, options.matrix)
    except BrokenLink as broken:
        print(f"docs: {broken}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failed:
        print(
            f"docs: Zensical ended with {failed.returncode}; what it found stands above.",
            file=sys.stderr,
        )
        return 1
    print(
        f"The site is in {options.out}; to read it with its search: python -m http.server -d {options.out}"
    )
    return 0


def build(out: Path, matrix: Path | None = None) -> None:
    """Write the site to `out`, in place of what is there.

    Raises BrokenLink, or subprocess.CalledProcessError of a Zensical that was told to be strict.
    """
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        stage(work / "docs")
        if matrix is None:
            page.write(work / "docs" / "run", of_baseline(work))
        else:
            shutil.copytree(matrix, work / "docs" / "run")
        shutil.copy(CONFIGURATION, work)
        done = subprocess.run(
            zensical(work / CONFIGURATION.name),
            cwd=work,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            print(done.stdout, file=sys.stderr)
        done.check_returncode()
        join_run(work / "site")
        for path in (work / "site").rglob("*.html"):
            if not path.is_relative_to(work / "site" / "run"):
                path.write_text(breakable(path.read_text(encoding="utf-8")), encoding="utf-8")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(work / "site", out)


def join_run(site: Path) -> None:
    """Give the pages of the run the menu of the documentation, and a search in its titles.

    A published run brings its pages with it, so they are changed here and not where they are made.
    """
    menu = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))["nav"]
    entries = [(name, _address(first_page(below))) for one in menu for name, below in one.items()]
    for _, address in entries:
        if not (site / address).is_file():
            raise BrokenLink(f"the menu leads to {address}, which is not there.")
    items = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    titles = [[_plain(item["title"]), _file_of(item["location"])] for item in items]
    index = f"var siteIndex = {json.dumps(titles, ensure_ascii=False)};\n"
    (site / "run" / "assets" / "search_index.js").write_text(index, encoding="utf-8")
    shutil.copy(DOCS / "run_search.js", site / "run" / "assets")
    for path in (site / "run").rglob("*.html"):
        root = "../" * len(path.relative_to(site).parent.parts)
        links = "".join(
            f'<a href="{root}{address}"{CURRENT if name == RUN else ""}>{html.escape(name)}</a>\n'
            for name, address in entries
        )
        added = (
            f'<nav class="site" aria-label="Site">\n{links}</nav>\n'
            f'<div class="site-search" id="site-search" role="search" data-root="{root}">'
            '<input type="search" aria-label="Search the documentation" placeholder="Search" maxlength="400">'
            f'<ol></ol></div>\n<script src="{root}run/assets/run_search.js" defer></script>\n'
        )
        page_text = path.read_text(encoding="utf-8")
        path.write_text(page_text.replace(PAGES, added + PAGES, 1), encoding="utf-8")


def first_page(below: str | list[str | dict[str, Any]]) -> str:
    """The page that an entry of the menu opens: its own, or the first below it."""
    if isinstance(below, str):
        return below
    first = below[0]
    return first if isinstance(first, str) else next(iter(first.values()))


def _address(page_path: str) -> str:
    """`error/index.html` of `error.md`."""
    return _file_of(re.sub(r"(^|/)index\.md$", r"\1", page_path).removesuffix(".md"))


def _file_of(location: str) -> str:
    """`shims/gather/index.html#x` of `shims/gather/#x`: a folder opens from a disk too."""
    path, mark, anchor = location.partition("#")
    path = path.rstrip("/")
    return f"{path}/index.html{mark}{anchor}".removeprefix("/")


def _plain(title: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", title))


def zensical(configuration: Path) -> list[str]:
    """The command that builds what it describes; strict: a heading that is not there ends it."""
    return [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(configuration)]


def stage(folder: Path) -> None:
    """Everything that Zensical reads, with links that hold there."""
    for path in sorted(DOCS.rglob("*")):
        there = folder / path.relative_to(DOCS)
        if path.is_dir() or path.suffix in (".py", ".pyc", ".js"):
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            there.write_text(linked(path, folder), encoding="utf-8")
        else:
            shutil.copy(path, there)
    for path, name in ELSEWHERE.items():
        (folder / name).write_text(linked(ROOT / path, folder), encoding="utf-8")
    for name in SPLIT:
        if (folder / name).is_file():
            split(folder / name)
    errors(folder)
    known_issues(folder)
    for path in folder.rglob("*.md"):
        if UNSEARCHED.fullmatch(path.relative_to(folder).as_posix()):
            text = path.read_text(encoding="utf-8")
            path.write_text(f"---\nsearch:\n  exclude: true\n---\n{text}", encoding="utf-8")


def split(path: Path) -> None:
    """Write each section that is named in code, or like a command, to a file in the folder named like the page."""
    text = path.read_text(encoding="utf-8")
    found = list(_SECTION.finditer(text))
    names = {section["name"] for section in found}
    own = path.with_suffix("")
    own.mkdir()
    rest, end = [], 0
    for section, following in zip(found, [*found[1:], None], strict=True):
        rest.append(text[end : section.start()])
        heading = re.search(r"^## ", text[section.end() :], re.M)
        end = section.end() + heading.start() if heading else len(text)
        assert following is None or following.start() >= end
        body = _anchors(text[section.end() : end], names, "")
        body = _LINK.sub(lambda link: _from_below(link, names), body)
        made = f"# {section[0][3:]}\n{body.rstrip()}\n{_errors_of(section['name'])}{_help(section['name'])}"
        (own / f"{section['name']}.md").write_text(made, encoding="utf-8")
    rest.append(text[end:])
    path.write_text(_anchors("".join(rest), names, f"{own.name}/"), encoding="utf-8")


def _anchors(text: str, names: set[str], folder: str) -> str:
    """`text` with links to sections of its page led to their own pages."""
    return re.sub(
        r"\]\(#(\w+)\)", lambda m: f"]({folder}{m[1]}.md)" if m[1] in names else m[0], text
    )


def _from_below(link: re.Match[str], names: set[str]) -> str:
    """A link of a page, as it is from the folder of its sections."""
    own = link["path"].removesuffix(".md") in names and "/" not in link["path"]
    return link[0] if own or ":" in link["path"] else f"../{link[0]}"


def _errors_of(name: str) -> str:
    """The error texts that a shim is known by, each a heading, which the search ranks before text."""
    symptoms = [
        text
        for shim in compat.all_shims()
        if shim.name == name
        for text in known_texts.symptoms(shim.symptom)
    ]
    return "".join(
        f'\n## {escape.code(text)}\n\n`compat.install(only=["{name}"])` fixes it.\n'
        for text in symptoms
    )


def _help(name: str) -> str:
    """`crosswarp NAME --help`, for the page of a command."""
    if name not in cli.COMMANDS:
        return ""
    printed = examples.printed(examples.Command(f"crosswarp {name} --help", ""))
    return f"\n## Options\n\n```text\n{printed.rstrip()}\n```\n"


def known_issues(folder: Path) -> None:
    """A page for each known issue, to which the list of them links."""
    entries = issues.load()
    (folder / "issues").mkdir()
    listed = (folder / "issues.md").read_text(encoding="utf-8")
    for entry in entries:
        slug = slug_of(entry.id)
        text = known_issue_pages.page(entry, compat.all_shims(), f"../run/issues/{slug}.html")
        (folder / "issues" / f"{slug}.md").write_text(text, encoding="utf-8")
        shown = f"\\[{escape.markdown(entry.id)}\\]"
        listed = listed.replace(shown, f"[{escape.markdown(entry.id)}](issues/{slug}.md)")
    (folder / "issues.md").write_text(listed, encoding="utf-8")


def errors(folder: Path) -> None:
    """A page for each error, and the box to paste into with its data and scripts."""
    pages = error_pages.pages()
    (folder / "errors").mkdir()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    data = json.dumps(why_data.data(), ensure_ascii=False)
    names = json.dumps(sorted(Path(name).stem for name in pages))
    slugs = json.dumps({entry.id: slug_of(entry.id) for entry in issues.load()})
    text = f"var whyData = {data};\nvar whyPages = {names};\nvar whyIssues = {slugs};\n"
    (folder / "errors" / "why_data.js").write_text(text, encoding="utf-8")
    for name in ("why_engine.js", "why_box.js"):
        shutil.copy(Path(page.__file__).parent / "assets" / name, folder / "errors")
    shutil.copy(DOCS / "search_why.js", folder / "errors")


def linked(path: Path, folder: Path) -> str:
    """The text of a page, its links led to what the site has of them."""
    home = DOCS if path.is_relative_to(DOCS) else folder
    here = path.parent.relative_to(DOCS) if home is DOCS else Path()

    def lead(match: re.Match[str]) -> str:
        target = (path.parent / match["path"]).resolve()
        if target.is_relative_to(DOCS):
            to = target.relative_to(DOCS)
        elif str(to := target.relative_to(ROOT)) in ELSEWHERE:
            to = Path(ELSEWHERE[str(to)])
        elif target.is_file():
            to = Path("source", f"{to}.txt")
            (folder / to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, folder / to)
        if to.name in SPLIT and to.parent == Path() and match["rest"]:
            return os.path.relpath(to.with_suffix("") / f"{match['rest'][1:]}.md", here)
        if not target.is_file() and to.parts[:1] != ("run",):
            raise BrokenLink(
                f"{path.relative_to(ROOT)} links to {match['path']}, which is not there. Correct the link."
            )
        return os.path.relpath(to, here) + (match["rest"] or "")

    parts, end = [], 0
    text = path.read_text(encoding="utf-8")
    for code in _CODE.finditer(text):
        parts += [_LINK.sub(lead, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(lead, text[end:])])


def of_baseline(work: Path) -> dict[str, str]:
    """The pages of a run that holds what the baseline does, by file name."""
    examples.fill(work / "store.db")
    with Store(work / "store.db") as store:
        known = issues.load()
        return page.site(view(store, known), known, language_table.load())


if __name__ == "__main__":
    sys.exit(main())
