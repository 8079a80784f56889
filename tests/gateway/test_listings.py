"""ListGroups waits for what came before it through its gateway, and for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from gateway.backend import Known
from gateway.tables.listings import LONGEST_WAIT_S, Listings
from tests.gateway.running import asynchronous
from tests.requests import heartbeat, join, leave

GROUPS: list[Known] = [("g", "consumer", "Stable", "classic")]
Listing = asyncio.Future[Iterable[Known]]


def listing() -> Listing:
    return asyncio.get_running_loop().create_future()


@asynchronous
async def test_it_waits_until_earlier_requests_are_taken() -> None:
    listings, early, late = Listings(), listing(), listing()
    listings.begin(join("a", request_id="r1"), 0.0)
    listings.ask(early, 0.1)
    listings.begin(leave("m", 5, request_id="r2"), 0.2)
    listings.ask(late, 0.3)
    listings.tell(GROUPS, 0.4)
    assert not early.done()
    listings.settle("r1")
    listings.tell(GROUPS, 0.5)
    assert early.result() == GROUPS
    assert not late.done()
    listings.settle("r2")
    listings.tell(GROUPS, 0.6)
    assert late.done()


@asynchronous
async def test_it_does_not_wait_for_what_only_reads() -> None:
    listings, asked = Listings(), listing()
    listings.begin(heartbeat("m", 1, 5, request_id="r1"), 0.0)
    listings.ask(asked, 0.1)
    listings.tell(GROUPS, 0.2)
    assert asked.done()


@asynchronous
async def test_it_does_not_wait_for_ever() -> None:
    listings, asked, next_one = Listings(), listing(), listing()
    listings.begin(join("a", request_id="r1"), 1.0)
    listings.ask(asked, 2.0)
    listings.tell(GROUPS, 0.9 + LONGEST_WAIT_S)
    assert not asked.done()
    listings.tell(GROUPS, 1.0 + LONGEST_WAIT_S)
    assert asked.done()
    listings.ask(next_one, 2.0 + LONGEST_WAIT_S)
    listings.tell(GROUPS, 2.0 + LONGEST_WAIT_S)
    assert next_one.done()


@asynchronous
async def test_a_client_that_is_gone_is_not_answered() -> None:
    listings, asked = Listings(), listing()
    listings.ask(asked, 0.0)
    asked.cancel()
    listings.tell(GROUPS, 0.1)
    assert asked.cancelled()
