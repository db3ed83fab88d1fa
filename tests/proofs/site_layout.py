"""Walks every page of a site in Chromium, on a screen and on a phone: what overflows, is broken, small or cut off.

    python docs/build.py --out SITE && python tests/proofs/site_layout.py SITE

A page is its article, shown in the frame of another: to open each would take a hundred times as long. It is legible
where nothing overflows (a table may scroll on a phone), no name is broken between two letters, and no letter is
smaller than 12 px. `tests/test_docs_site.py` and `tests/test_page_browser.py` ask the same of what they build.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

SCREEN, PHONE = 1440, 390
_AT_ONCE = 50


def walk(
    tab: Any, site: Path, box: str, without: str = "", longest: int | None = None
) -> list[tuple[int, str, str, str]]:
    """The findings on each page of `site` that has the element `box`: width, page, kind and text.

    Args:
        without: a folder whose pages are left out.
        longest: how many pages of each folder at the top of the site, the longest ones; all by default.
    """
    folders: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(site.rglob("*.html")):
        inside = re.search(rf"<{box}\b[^>]*>(.*)</{box}>", path.read_text("utf-8"), re.S)
        if inside and not (without and path.is_relative_to(site / without)):
            name = path.relative_to(site).as_posix()
            folders.setdefault(name.partition("/")[0], []).append((name, inside[1]))
    by_length = [sorted(pages, key=lambda page: -len(page[1])) for pages in folders.values()]
    pages = [page for of_folder in by_length for page in of_folder[:longest]]
    script = Path(__file__).with_suffix(".js").read_text("utf-8").partition("\n")[2]
    tab.goto((site / "index.html").as_uri())
    findings = []
    for width in (SCREEN, PHONE):
        tab.set_viewport_size({"width": width, "height": 400})
        for start in range(0, len(pages), _AT_ONCE):
            shown = tab.evaluate(script, [box, pages[start : start + _AT_ONCE]])
            findings += [(width, *finding) for finding in shown]
    return findings


def main() -> int:
    from playwright.sync_api import sync_playwright

    site = Path(sys.argv[1]).resolve()
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or playwright.chromium.executable_path
        with playwright.chromium.launch(executable_path=path) as browser:
            tab = browser.new_page()
            findings = walk(tab, site, "article", without="run") + walk(tab, site / "run", "main")
    for finding in findings:
        print(*finding, sep="  ")
    counts = Counter((width, kind) for width, _, kind, _ in findings)
    print(f"{len(list(site.rglob('*.html')))} pages: {dict(counts) or 'nothing'}")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
