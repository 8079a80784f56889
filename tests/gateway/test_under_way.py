"""Requests under way: what they may change until they are taken, and the listings that wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from rollcall.coordinator_udfs.protocol.known_groups import KnownGroups
from rollcall.schemas.messages import GroupRequest, HeartbeatResponse, Response
from rollcall.serve.gateway.backend import Known
from rollcall.serve.gateway.tables import under_way as under_way_module
from rollcall.serve.gateway.tables.effects_table import Reply
from rollcall.serve.gateway.tables.under_way import LISTED_WITHIN_MS, UnderWay
from tests.gateway.running import asynchronous
from tests.requests import consumer_beat, heartbeat, join, leave

GROUPS: Iterable[Known] = [("g", "consumer", "Stable", "classic")]


def empty() -> UnderWay:
    return UnderWay(KnownGroups(), 1_000_000)


def listing() -> asyncio.Future[Iterable[Known]]:
    return asyncio.get_running_loop().create_future()


def groups() -> Iterable[Known]:
    return GROUPS


@asynchronous
async def test_a_listing_waits_until_earlier_requests_are_taken() -> None:
    under_way, early, late = empty(), listing(), listing()
    under_way.begin(join("a", 0, request_id="r1"), None)
    under_way.list_after_these(early)
    under_way.begin(leave("m", 200, request_id="r2"), None)
    under_way.list_after_these(late)
    under_way.answer_listings(groups, 400)
    assert not early.done()
    under_way.drop("r1")
    under_way.answer_listings(groups, 500)
    assert early.result() == GROUPS
    assert not late.done()
    under_way.park("r2")
    under_way.answer_listings(groups, 600)
    assert late.done()


@asynchronous
async def test_a_listing_does_not_wait_for_ever() -> None:
    under_way, asked, next_one = empty(), listing(), listing()
    under_way.begin(join("a", 1000, request_id="r1"), None)
    under_way.list_after_these(asked)
    under_way.answer_listings(groups, 999 + LISTED_WITHIN_MS)
    assert not asked.done()
    under_way.answer_listings(groups, 1000 + LISTED_WITHIN_MS)
    assert asked.done()
    under_way.list_after_these(next_one)
    under_way.answer_listings(groups, 2000 + LISTED_WITHIN_MS)
    assert next_one.done()


@asynchronous
async def test_a_listing_whose_client_is_gone_is_not_answered_and_none_waits_for_what_only_reads() -> None:
    under_way, gone, asked = empty(), listing(), listing()
    under_way.begin(heartbeat("m", 1, 0, request_id="r1"), None)
    for each in (gone, asked):
        under_way.list_after_these(each)
    gone.cancel()
    under_way.answer_listings(groups, 100)
    assert gone.cancelled()
    assert asked.done()


@asynchronous
async def test_a_request_is_pending_until_a_commit_answers_it_though_its_client_is_gone() -> None:
    under_way, answer = empty(), asyncio.get_running_loop().create_future()
    under_way.begin(leave("m", 0, "g", request_id="r1"), answer)
    assert [one.request_id for one in under_way.awaited()] == ["r1"]
    answer.cancel()
    assert under_way.awaited() == []
    assert under_way.may_change("g")
    assert not under_way.may_change("other")
    under_way.drop("r1")
    assert not under_way.may_change("g")
    assert under_way.drop("r1") is None


@asynchronous
async def test_a_lost_request_changes_nothing_any_more_and_its_client_still_has_its_answer() -> None:
    under_way = empty()
    answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
    under_way.begin(leave("m", 5, "g", request_id="r1"), answer)
    under_way.begin(join("c", 5, "other", request_id="r2"), None)
    under_way.park("r2")
    under_way.forget_lost(5)
    assert under_way.may_change("g")
    under_way.forget_lost(6)
    under_way.forget_lost(6)
    assert not under_way.may_change("g")
    assert under_way.offers("other") != []
    assert under_way.settle(Reply("r1", HeartbeatResponse(), "g")) is not None
    assert answer.result() == HeartbeatResponse()


@asynchronous
async def test_a_lost_request_whose_client_goes_later_is_forgotten() -> None:
    under_way, answer = empty(), asyncio.get_running_loop().create_future()
    under_way.begin(leave("m", 5, "g", request_id="r1"), answer)
    under_way.forget_lost(6)
    answer.cancel()
    under_way.forget_lost(6)
    assert not under_way.has_any


def test_requests_that_nobody_awaits_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_way_module, "MOST_UNAWAITED", 10)
    under_way = empty()
    asked: list[GroupRequest] = [consumer_beat(f"m{n}", 1, 5, "g", request_id=f"r{n}") for n in range(25)]
    for request in asked:
        under_way.begin(request, None)
    assert [under_way.has_heartbeat_of(request) for request in asked] == [False] * 15 + [True] * 10


def test_a_heartbeat_is_pending_until_the_last_of_its_member_is_answered() -> None:
    under_way = empty()
    first, second = (consumer_beat("m", 3, 5, "g", request_id=each) for each in ("r1", "r2"))
    under_way.begin(first, None)
    under_way.begin(second, None)
    under_way.drop("r1")
    assert under_way.has_heartbeat_of(first)
    under_way.drop("r2")
    assert not under_way.has_heartbeat_of(first)
