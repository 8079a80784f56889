"""The tables of costs: whole, and made of requests that are answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Route

from rollcall.serve.page.app import application
from rollcall.serve.page.history import History
from rollcall.serve.page.live import Watch
from tests.attack.cost.broker import LARGE, NEWER, Broker
from tests.attack.cost.commands import COMMANDS, READERS
from tests.attack.cost.search import cost_of, search
from tests.attack.cost.shapes import Shape
from tests.attack.cost.table import BEGIN, keep, kept_names
from tests.page.hostile_requests import PAGES

QUICK = {"/events", "/health", "/seen"}
"""Addresses whose fields change nothing."""


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    yield broker
    broker.close()


def test_the_tables_have_every_api_page_and_command(broker: Broker) -> None:
    commands = [f"rollcall {name}" for name in COMMANDS]
    assert kept_names() == [*broker.codecs, *PAGES, *commands, *READERS]


def test_every_address_of_the_page_is_searched(tmp_path: Path) -> None:
    history = History(tmp_path)
    routes = application(history, Watch(history), "a home").routes
    history.close()
    addresses = {route.path for route in routes if isinstance(route, Route)} - QUICK
    named = {path.replace("{name}", "timeline").replace("{form:str}", "csv") for path in addresses}
    assert len(named) > 5
    assert named <= PAGES.keys()


def test_a_request_costs_what_it_does(broker: Broker) -> None:
    spoken = broker.codecs["DescribeGroups"][-1]
    large, unknown = (
        cost_of(broker, spoken, Shape(0, (1, 1), 1, 0, group, "", True, False)) for group in (LARGE, "unknown")
    )
    assert large is not None
    assert unknown is not None
    assert large.answer_bytes > 3_000_000 > 1_000 > unknown.answer_bytes > 0
    assert large.written_bytes > 1000 * unknown.written_bytes
    again = cost_of(broker, spoken, Shape(0, (1, 1), 1, 0, NEWER, "", True, False))
    assert again is not None
    assert again.answer_bytes > 0


def test_a_search_finds_a_request_that_is_long() -> None:
    found = search("DeleteGroups", 0.3)
    assert found.tries > 0
    assert found.slowest.sent_bytes > 0
    assert found.slowest.answer_bytes > 0


def test_tables_are_put_into_their_place_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold\n<!-- end of costs -->\nafter\n")
    keep("| API |\n|---|\n| Heartbeat |", page)
    keep("| API |\n|---|\n| SyncGroup |", page)
    assert kept_names(page) == ["SyncGroup"]
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("\nafter\n")
    assert "old" not in page.read_text()
