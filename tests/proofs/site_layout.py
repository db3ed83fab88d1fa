"""Walks every page of a site in Chromium, on a screen and on a phone: what overflows, is broken, small or cut off.

    python docs/build.py --out SITE && python tests/proofs/site_layout.py SITE

A page is its article, shown in the frame of another: to open each would take a hundred times as long. It is legible
where nothing overflows (a table may scroll on a phone), no name is broken between two letters, and no letter is
smaller than 12 px. `tests/test_docs_site.py` asks the same of the pages that docs/ makes.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

SCREEN, PHONE = 1440, 390
# The part of a page that is shown in the frame of another, by the folder of the site.
_BOXES = {"run": "main", "": "article"}
_AT_ONCE = 50


def walk(tab: Any, address: str, site: Path, folder: str = "") -> list[tuple[int, str, str, str]]:
    """The findings on a site's pages, those below `folder` or all others: width, page, kind and text."""
    box = _BOXES[folder]
    pages = []
    for path in sorted(site.rglob("*.html")):
        page = path.relative_to(site).as_posix()
        if (page.partition("/")[0] == "run") == (folder == "run"):
            inner = re.search(
                rf"<{box}\b[^>]*>(.*)</{box}>", path.read_text(encoding="utf-8"), re.S
            )
            pages += [(page, inner[1])] if inner else []
    script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    script = script[script.index("([box") :]
    tab.goto(f"{address}{folder}{'/' if folder else ''}index.html")
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
        found = shutil.which("chromium") or playwright.chromium.executable_path
        with playwright.chromium.launch(executable_path=found) as browser:
            tab = browser.new_page()
            findings = [
                finding
                for folder in _BOXES
                for finding in walk(tab, f"{site.as_uri()}/", site, folder)
            ]
    for finding in findings:
        print(*finding, sep="  ")
    counts = Counter((width, kind) for width, _, kind, _ in findings)
    print(f"{len(list(site.rglob('*.html')))} pages: {dict(counts) or 'nothing'}")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
