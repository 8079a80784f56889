"""The page beside a whole `make run`: it shows what the fleet does while it does it, and what SQL says of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.serving import served
from tests.child import PATIENCE_S, Child
from tests.run.running import start

Window = Callable[..., Page]
WHO = "select cause_client_id from rebalances where cause = 'session_expired'"
WITHIN_MS = 120_000


@dataclass
class Demo:
    home: Path
    process: Child
    page: str
    """The address that it has printed."""


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    home = tmp_path / "home"
    process = start(home, DEMO_SECONDS=str(int(PATIENCE_S)))
    try:
        reported = process.read_until("The page is at http://127.0.0.1:")
        yield Demo(home, process, reported.partition("The page is at ")[2].split()[0].rstrip("/"))
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.ended()


def test_a_browser_left_open_shows_the_fleets_whole_story_and_when_it_ended(demo: Demo, window: Window) -> None:
    overview = window(demo.page, outlives=True)
    group = window(f"{demo.page}/group?group=audit", outlives=True)
    expect(overview.locator("#liveness")).to_contain_text("Live")
    # Nobody touches either page again: the groups form, a consumer dies, and both show it; the second page was opened
    # before there was such a group.
    expect(overview.locator("#groups tbody th")).to_have_text(
        ["audit", "orders", "payments", "reports"], timeout=WITHIN_MS
    )
    expect(group.locator("#rebalances")).to_contain_text("session expired", timeout=WITHIN_MS)
    demo.process.read_until(": session expired, by audit-2")
    state = overview.locator("#groups tbody tr", has_text="audit").locator("td").first
    expect(state).to_have_text("Stable", timeout=WITHIN_MS)
    expect(group.locator("#facts")).to_contain_text("Stable", timeout=WITHIN_MS)
    with served(demo.home) as address:
        beside = window(f"{address}/sql?q=select+cause_client_id+from+rebalances+where+cause+%3D+%27session_expired%27")
        expect(beside.locator("#answer tbody")).to_have_text("audit-2")
        other = window(address)
        os.killpg(demo.process.pid, signal.SIGINT)
        expect(other.locator("#liveness")).to_contain_text("it is current up to", timeout=WITHIN_MS)
        # Both would ask again once their server has ended.
        beside.close()
        other.close()
    # The demo served the first two itself.
    for page in (overview, group):
        expect(page.locator("#liveness")).to_contain_text("is not reached since", timeout=WITHIN_MS)
