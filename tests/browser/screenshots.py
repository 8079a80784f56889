"""The README's pictures of the page: `make screenshots` writes docs/pictures/page-*.png.

Knows which pages are shown. Must not know what is on them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import chromium
from tests.browser.serving import served
from tests.lag.homes import write_capture
from tests.page.homes import recorded
from tests.request_log.truth import OF_LAG
from tests.source_tree import ROOT

FOLDER = ROOT / "docs" / "pictures"
SHOWN = (
    ("page-overview", OF_LAG, "/", 900),
    ("page-group", OF_LAG, "/group?group=orders-eager", 1100),
    ("page-rebalance", "d-kill", "/rebalance?group=clicks-agg&generation=2", 1150),
)


def main() -> None:
    """Writes each picture and says where."""
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=chromium.find(), args=chromium.flags())
        for name, incident, path, height in SHOWN:
            home = Path(folder) / name / incident
            if incident == OF_LAG:
                write_capture(home)
            else:
                recorded(home, incident)
            with served(home, incident) as address:
                page = browser.new_page(viewport={"width": 1280, "height": height})
                page.goto(address + path)
                page.locator("figure.plot > svg").first.wait_for()
                page.wait_for_timeout(500)
                page.screenshot(path=FOLDER / f"{name}.png")
                print(FOLDER / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
