"""One browser for all tests of a file, a fresh window for each; what a page complains of fails its test.

`make test-browser` fails where no browser can be had; the sample of `.ci/run` leaves its tests out and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.serving import served
from tests.lag.homes import write_capture
from tests.page.homes import hostile, recorded

WIDTHS = {"narrow": 390, "wide": 1400}
NOT_REACHED = "Failed to load resource:"
# Longer than the library's 5 s, which a page beside Spark may take.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A file's own: while it is open, no other test of the worker can run a loop of asyncio."""
    path = chromium.find()
    if path is None:
        pytest.skip("no Chromium is here, and none could be installed")
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=path, args=chromium.flags())
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a recorded incident's page: three groups, in each of which one consumer was killed."""
    with served(recorded(tmp_path_factory.mktemp("incident") / "home", "d-kill")) as address:
        yield address


@pytest.fixture(scope="session")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page of a home with lag, of fifteen groups."""
    home = tmp_path_factory.mktemp("behind") / "home"
    write_capture(home)
    with served(home) as address:
        yield address


@pytest.fixture(scope="session")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page of a home whose clients have hostile names."""
    with served(hostile(tmp_path_factory.mktemp("hostile") / "home")) as address:
        yield address


@pytest.fixture
def window(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens an address in a window of its own: window(address, width=1600, scheme="light").

    outlives: it is opened before its matter is there, or outlives its server; what it cannot load is no complaint.
    """
    complaints: list[str] = []
    contexts = []

    def note(message: ConsoleMessage, expected: tuple[str, ...]) -> None:
        if message.type == "error" and not message.text.startswith(expected):
            complaints.append(message.text)

    def open_window(address: str, width: int = 1600, scheme: str = "light", outlives: bool = False) -> Page:
        expected = (NOT_REACHED,) if outlives else ()
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: note(message, expected))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
        # Whatever is asked of another host is a complaint, too.
        page.on("request", lambda request: _note_foreign(request.url, address, complaints))
        page.goto(address)
        # A home whose lists are not made yet is answered by a page that loads itself again: until its styles are there
        # the page is of another height.
        page.locator("#reading").wait_for(state="detached")
        page.wait_for_load_state()
        return page

    yield open_window
    for context in contexts:
        context.close()
    assert complaints == []


def _note_foreign(url: str, address: str, complaints: list[str]) -> None:
    own = "/".join(address.split("/")[:3])
    if not address.startswith("about:") and not url.startswith((own, "data:", "blob:")):
        complaints.append(f"asked of another host: {url}")


@pytest.fixture(scope="session")
def shots() -> Path:
    """Where screenshots are kept."""
    folder = Path("build") / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
