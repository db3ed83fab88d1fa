"""The picture of the page in README.md, docs/page.png: `python docs/picture.py`, where there is a Chromium."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import build
from playwright.sync_api import sync_playwright

from crosswarp.reports import page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> int:
    found = os.environ.get("CROSSWARP_BROWSER") or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        site = Path(temporary, "site")
        page.write(site, build.of_baseline(Path(temporary)))
        with playwright.chromium.launch(executable_path=found) as browser:
            tab = browser.new_page(viewport={"width": 1200, "height": 720}, color_scheme="light")
            tab.goto((site / "index.html").as_uri())
            tab.screenshot(path=build.DOCS / "page.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
