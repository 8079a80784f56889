"""The page as people use it: in a real browser, by pointer and by keyboard, narrow and wide, light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from rollcall.tables.job_status import StatusWriter
from tests.browser.conftest import WIDTHS
from tests.browser.serving import served
from tests.page.homes import HOSTILE
from tests.views.histories import one_expires, two_members
from tests.views.story import write_effects

Window = Callable[..., Page]
PATHS = {
    "overview": "/",
    "group": "/group?group=clicks-agg",
    "rebalance": "/rebalance?group=clicks-agg&generation=2",
    "troubles": "/troubles",
    "sql": "/sql?q=select+group_id%2C+cause+from+rebalances+order+by+1%2C+2",
}
FITS = "document.querySelector('#groups').scrollWidth <= document.querySelector('#groups').parentElement.clientWidth"
DRAWN = {"overview": 1, "group": 3, "rebalance": 1, "troubles": 0, "sql": 0}


def drawn(page: Page, count: int) -> None:
    """Waits until this many pictures are drawn."""
    expect(page.locator("figure.plot > svg")).to_have_count(count)


def drag(page: Page, place: str, from_share: float, to_share: float) -> None:
    """Chooses a part of a picture's frame with the pointer."""
    picture = page.locator(f"{place} svg")
    box = picture.bounding_box()
    assert box is not None
    left, right = (float(picture.get_attribute(name) or 0) for name in ("data-left", "data-right"))
    middle = box["y"] + 60
    page.mouse.move(box["x"] + left + from_share * (right - left), middle)
    page.mouse.down()
    page.mouse.move(box["x"] + left + to_share * (right - left), middle, steps=8)
    page.mouse.up()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PATHS)
def test_every_page_is_whole_legible_and_reachable_for_everyone(
    window: Window, incident: str, shots: Path, name: str, width: str, scheme: str
) -> None:
    page = window(incident + PATHS[name], WIDTHS[width], scheme)
    drawn(page, DRAWN[name])
    page.screenshot(path=shots / f"{name}-{width}-{scheme}.png", full_page=True)
    # No page is wider than its window: only tables and pictures scroll by themselves.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_the_overview_fits_a_window_and_on_a_phone_its_list_comes_before_the_filters(
    window: Window, incident: str
) -> None:
    page = window(incident, 1400)
    assert page.evaluate(FITS)
    expect(page.locator("th.of-lag")).to_be_hidden()
    top = "document.querySelector({}).getBoundingClientRect().top"
    is_first = f"{top.format(repr('#groups'))} < {top.format(repr('.filters'))}"
    assert not page.evaluate(is_first)
    assert window(incident, 390).evaluate(is_first)


def test_a_bar_leads_to_the_groups_that_rebalanced_then(window: Window, incident: str) -> None:
    page = window(incident)
    drawn(page, 1)
    page.locator("#strip a").first.click()
    expect(page).to_have_url(re.compile("[?&]from="))
    expect(page.locator("#strip .chosen")).to_have_count(1)


def test_a_small_picture_has_its_values_at_the_pointer_and_by_keyboard(window: Window, behind: str) -> None:
    page = window(behind)
    picture, tip = page.locator("#groups .ticks").first, page.locator(".tip")
    expect(tip).to_be_hidden()
    picture.hover(position={"x": 119, "y": 10})
    expect(tip).to_have_text(re.compile(r"^\d\d:\d\d:\d\d to \d\d:\d\d:\d\d UTC: .*lag up to [\d,]+ records$"))
    last = tip.inner_text()
    page.mouse.move(1, 1)
    expect(tip).to_be_hidden()
    picture.focus()
    expect(tip).to_have_text(last)
    place = int(picture.locator("rect").first.get_attribute("x") or 0)
    for _ in range(59 - place):
        page.keyboard.press("ArrowLeft")
    expect(tip).to_have_text(re.compile("rebalance: joined"))
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [one["id"] for one in found] == []


def test_the_overview_with_lag_fits_a_window(window: Window, behind: str) -> None:
    page = window(behind, 1400)
    assert page.evaluate(FITS)


def test_on_a_phone_the_overview_has_what_one_on_call_needs_and_fits(window: Window, behind: str) -> None:
    page = window(behind, 390)
    heads = page.locator("#groups thead th:visible").all_inner_texts()
    assert heads == ["Group", "State", "Trouble, 24 h", "Members", "Lag", "Latest rebalance"]
    assert page.evaluate(FITS)
    expect(page.locator("#groups .ticks").first).to_be_hidden()


def test_links_lead_from_the_overview_to_a_rebalance_and_its_neighbours(window: Window, incident: str) -> None:
    page = window(incident)
    page.locator("#groups").get_by_role("link", name="clicks-agg").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("clicks-agg")
    page.locator("#rebalances a").nth(1).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("generation 1 -> 2")
    expect(page.locator(".headline")).to_contain_text("sent no heartbeat within its session timeout")
    page.get_by_role("link", name="Next rebalance").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("generation 2 -> 3")
    page.get_by_role("link", name="Previous rebalance").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("generation 1 -> 2")


def test_a_span_is_chosen_with_the_pointer(window: Window, incident: str) -> None:
    page = window(incident)
    drawn(page, 1)
    drag(page, "#strip", 0.2, 0.35)
    page.wait_for_url("**from=*")
    expect(page.locator("#groups thead")).to_contain_text("in the span")
    # The two expiries of 05:38:55 and 05:38:59.
    expect(page.locator("#groups tbody tr")).to_have_count(2)
    page.get_by_role("link", name="All of the time").click()
    expect(page.locator("#groups tbody tr")).to_have_count(3)


def test_a_span_of_a_picture_is_drawn_larger_until_it_is_clicked_twice(window: Window, incident: str) -> None:
    page = window(f"{incident}/group?group=clicks-agg")
    drawn(page, 3)
    picture = page.locator("#plot-timeline svg")
    ends = [str(picture.get_attribute(name)) for name in ("data-from", "data-to")]
    drag(page, "#plot-timeline", 0.25, 0.5)
    for name, end in zip(("data-from", "data-to"), ends, strict=True):
        expect(picture).not_to_have_attribute(name, end)
    picture.dblclick()
    for name, end in zip(("data-from", "data-to"), ends, strict=True):
        expect(picture).to_have_attribute(name, end)


def test_a_picture_is_as_wide_as_its_place(window: Window, incident: str) -> None:
    page = window(f"{incident}/rebalance?group=clicks-agg&generation=2")
    drawn(page, 1)
    page.set_viewport_size({"width": 700, "height": 900})
    expect(page.locator("figure.plot svg")).to_have_attribute("width", re.compile(r"6\d\d"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_moment_is_chosen_and_goes_along(window: Window, incident: str) -> None:
    page = window(incident)
    page.get_by_label("As it was at (UTC)").fill("2026-11-21 05:39:00")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#liveness")).to_contain_text("as it was at 2026-11-21 05:39:00.000")
    page.locator("#groups").get_by_role("link", name="clicks-agg").click()
    expect(page.locator("#facts")).to_contain_text("PreparingRebalance")
    expect(page.locator("#rebalances tbody tr")).to_have_count(2)


def test_who_owned_a_partition_then(window: Window, incident: str) -> None:
    page = window(f"{incident}/group?group=views-agg")
    page.get_by_label("Topic", exact=True).fill("views")
    page.get_by_label("Partition", exact=True).fill("1")
    page.get_by_label("at (UTC)", exact=True).fill("2026-11-21 05:39:00")
    page.get_by_role("button", name="Who?").click()
    expect(page.locator("#owned")).to_contain_text("views-agg-0 owned views-1 from 2026-11-21 05:38:55.049")


def test_the_list_is_searched_sorted_and_filtered_and_its_address_keeps_that(window: Window, incident: str) -> None:
    page = window(incident)
    names = page.locator("#groups tbody tr:visible th")
    expect(names).to_have_text(["audit-trail", "clicks-agg", "views-agg"])
    page.get_by_role("button", name="Group", exact=True).dblclick()
    expect(page.locator("#groups th[aria-sort=descending]")).to_have_text("Group")
    expect(names).to_have_text(["views-agg", "clicks-agg", "audit-trail"])
    page.get_by_label("Search").fill("agg")
    expect(names).to_have_text(["views-agg", "clicks-agg"])
    expect(page.locator("[data-count]")).to_have_text("2 of 3 groups")
    page.get_by_label("Trouble").select_option("storm")
    expect(names).to_have_count(0)
    assert "search=agg" in page.url
    again = window(page.url)
    expect(again.locator("#groups tbody tr:visible th")).to_have_count(0)


def test_all_of_it_is_done_by_keyboard_alone(window: Window, incident: str) -> None:
    page = window(incident)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "clicks-agg":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("clicks-agg")
    page.goto(f"{incident}/sql")
    page.get_by_label("A query in Spark's SQL").fill("select count(*) as n from rebalances")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer tbody")).to_have_text("9")


def test_a_time_shows_the_local_one_on_hover(window: Window, incident: str) -> None:
    page = window(f"{incident}/group?group=clicks-agg")
    assert "(your time)" in (page.locator("#facts time").first.get_attribute("title") or "")


def test_changes_come_by_themselves_and_leave_scroll_and_selection(window: Window, tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_effects(home, {f"group-{number:03}": two_members().rows for number in range(60)})
    with served(home) as address:
        page = window(address, width=1600)
        expect(page.locator("#groups tbody tr")).to_have_count(60)
        list_box = page.locator("#groups").locator("xpath=..")
        list_box.evaluate("box => { box.scrollTop = 300; }")
        cell = page.locator("#groups tbody th", has_text="group-020")
        top = cell.evaluate("cell => cell.getBoundingClientRect().top")
        cell.evaluate("cell => getSelection().selectAllChildren(cell)")
        write_effects(home, {"zz-expired": one_expires().rows})
        expect(page.locator("#groups tbody tr")).to_have_count(61)
        # The new row, which is in trouble, comes in front; what is looked at stays where it is.
        assert abs(cell.evaluate("cell => cell.getBoundingClientRect().top") - top) <= 1
        assert page.evaluate("getSelection().toString()").strip() == "group-020"
        # The page would ask again once its server has ended.
        page.close()


TABS = 20
"""Of which each history has more than the connections that a browser has to one host."""


def test_any_number_of_tabs_of_live_and_finished_histories_is_current(
    window: Window, incident: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with served_live(home) as (address, status):
        first = window(address)
        live, finished = [first], list[Page]()
        while len(live) + len(finished) < TABS:
            finished.append(another(first, incident))
            live.append(another(first, address))
        for tab in finished:
            expect(tab.locator("#groups tbody tr")).to_have_count(3)
        write_effects(home, {"second": one_expires().rows})
        for tab in live:
            expect(tab.locator("#groups tbody tr")).to_have_count(2)
            expect(tab.locator("#liveness .dot")).to_have_count(1)
        status.stopped()
        for tab in live:
            expect(tab.locator("#liveness .dot")).to_have_count(0)
        for tab in live:
            tab.close()


def test_a_hidden_tab_asks_nothing_and_is_current_once_it_is_shown(window: Window, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with served_live(home) as (address, _):
        shown = window(address)
        hidden = another(shown, address)
        hide(hidden, True)
        hidden.wait_for_load_state("networkidle")
        asked: list[str] = []
        hidden.on("request", lambda request: asked.append(request.url))
        write_effects(home, {"second": one_expires().rows})
        expect(shown.locator("#groups tbody tr")).to_have_count(2)
        assert asked == []
        hide(hidden, False)
        expect(hidden.locator("#groups tbody tr")).to_have_count(2)
        hidden.close()
        shown.close()


def test_without_a_shared_worker_a_page_asks_again_and_again(window: Window, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with served_live(home) as (address, _):
        page = window(address)
        page.add_init_script("delete window.SharedWorker")
        page.reload()
        write_effects(home, {"second": one_expires().rows})
        expect(page.locator("#groups tbody tr")).to_have_count(2)
        page.close()


@contextmanager
def served_live(home: Path) -> Iterator[tuple[str, StatusWriter]]:
    """Serve the page of a home with one group, whose job runs; its address and the job's status."""
    write_effects(home, {"first": two_members().rows})
    status = StatusWriter(home)
    status.running("id", 1)
    with served(home) as address:
        yield address, status


def another(page: Page, address: str) -> Page:
    """Open an address in another tab of the page's browser."""
    tab = page.context.new_page()
    tab.goto(address)
    tab.locator("#reading").wait_for(state="detached")
    return tab


def hide(page: Page, is_hidden: bool) -> None:
    """Make the page believe that its tab is hidden, or shown; a browser without a screen hides none."""
    page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        is_hidden,
    )


def test_hostile_names_are_text(window: Window, strangers: str) -> None:
    page = window(strangers)
    expect(page.locator("#groups tbody tr")).to_have_count(len(HOSTILE))
    addresses = page.locator("#groups tbody th a").evaluate_all("links => links.map(link => link.href)")
    for address in addresses:
        page.goto(address)
        drawn(page, 3)
        page.locator("#rebalances a").first.click()
        drawn(page, 1)
        assert page.locator("img, iframe, object").count() == 0
    assert page.evaluate("document.scripts.length") == 1


def test_what_the_browser_loads_is_small(window: Window, incident: str) -> None:
    sizes: dict[str, int] = {}
    page = window("about:blank")
    page.on("response", lambda answer: sizes.__setitem__(answer.url, len(answer.body())))
    page.goto(incident)
    drawn(page, 1)
    assert sum(sizes.values()) < 300_000
