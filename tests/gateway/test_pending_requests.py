"""Requests under way: what they may change until they are taken, and the listings that wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from rollcall.schemas.messages import GroupRequest, HeartbeatResponse, Response
from rollcall.serve.gateway.backend import Known
from rollcall.serve.gateway.tables import pending_requests
from rollcall.serve.gateway.tables.pending_requests import LISTED_WITHIN_MS, PendingRequests
from tests.gateway.running import asynchronous
from tests.requests import consumer_beat, heartbeat, join, leave

GROUPS: Iterable[Known] = [("g", "consumer", "Stable", "classic")]


def listing() -> asyncio.Future[Iterable[Known]]:
    return asyncio.get_running_loop().create_future()


def groups() -> Iterable[Known]:
    return GROUPS


@asynchronous
async def test_a_listing_waits_until_earlier_requests_are_taken() -> None:
    pending, early, late = PendingRequests(), listing(), listing()
    pending.add(join("a", 0, request_id="r1"), None)
    pending.list_after_these(early, 100)
    pending.add(leave("m", 200, request_id="r2"), None)
    pending.list_after_these(late, 300)
    pending.answer_listings(groups, 400)
    assert not early.done()
    pending.remove("r1")
    pending.answer_listings(groups, 500)
    assert early.result() == GROUPS
    assert not late.done()
    pending.park("r2")
    pending.answer_listings(groups, 600)
    assert late.done()


@asynchronous
async def test_a_listing_does_not_wait_for_ever() -> None:
    pending, asked, next_one = PendingRequests(), listing(), listing()
    pending.add(join("a", 1000, request_id="r1"), None)
    pending.list_after_these(asked, 2000)
    pending.answer_listings(groups, 999 + LISTED_WITHIN_MS)
    assert not asked.done()
    pending.answer_listings(groups, 1000 + LISTED_WITHIN_MS)
    assert asked.done()
    pending.list_after_these(next_one, 2000 + LISTED_WITHIN_MS)
    pending.answer_listings(groups, 2000 + LISTED_WITHIN_MS)
    assert next_one.done()


@asynchronous
async def test_a_listing_whose_client_is_gone_is_not_answered_and_none_waits_for_what_only_reads() -> None:
    pending, gone, asked = PendingRequests(), listing(), listing()
    pending.add(heartbeat("m", 1, 0, request_id="r1"), None)
    for each in (gone, asked):
        pending.list_after_these(each, 5)
    gone.cancel()
    pending.answer_listings(groups, 100)
    assert gone.cancelled()
    assert asked.done()


@asynchronous
async def test_a_request_is_pending_until_a_commit_answers_it_though_its_client_is_gone() -> None:
    pending, answer = PendingRequests(), asyncio.get_running_loop().create_future()
    pending.add(leave("m", 0, "g", request_id="r1"), answer)
    assert [one.request_id for one in pending.awaited()] == ["r1"]
    answer.cancel()
    assert pending.awaited() == []
    assert pending.may_change("g")
    assert not pending.may_change("other")
    pending.remove("r1")
    assert not pending.may_change("g")
    assert pending.remove("r1") is None


@asynchronous
async def test_a_lost_request_changes_nothing_any_more_and_its_client_still_has_its_answer() -> None:
    over: list[str] = []
    pending = PendingRequests(over.append)
    answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
    pending.add(leave("m", 5, "g", request_id="r1"), answer)
    pending.add(join("c", 5, "g", request_id="r2"), None)
    pending.park("r2")
    pending.forget_lost(5)
    assert over == []
    pending.forget_lost(6)
    pending.forget_lost(6)
    assert over == ["r1"]
    assert pending.offers("g") != []
    one = pending.remove("r1")
    assert one is not None
    one.give(HeartbeatResponse())
    assert answer.result() == HeartbeatResponse()


def test_requests_that_nobody_awaits_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_requests, "MOST_UNAWAITED", 10)
    pending = PendingRequests()
    asked: list[GroupRequest] = [consumer_beat(f"m{n}", 1, 5, "g", request_id=f"r{n}") for n in range(25)]
    for request in asked:
        pending.add(request, None)
    assert [pending.has_heartbeat_of(request) for request in asked] == [False] * 15 + [True] * 10


def test_a_heartbeat_is_pending_until_the_last_of_its_member_is_answered() -> None:
    pending = PendingRequests()
    first, second = (consumer_beat("m", 3, 5, "g", request_id=each) for each in ("r1", "r2"))
    pending.add(first, None)
    pending.add(second, None)
    pending.remove("r1")
    assert pending.has_heartbeat_of(first)
    pending.remove("r2")
    assert not pending.has_heartbeat_of(first)
