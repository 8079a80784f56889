"""What a gateway remembers of requests is bounded by what there is: ids that clients make up are not kept."""

from __future__ import annotations

import asyncio
import itertools
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest

from rollcall.coordinator_udfs.protocol.known_groups import KnownGroup, KnownGroups, KnownMember
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.messages import ConsumerGroupHeartbeatResponse, GroupRequest, Operation, Response
from rollcall.serve.gateway.access import ALL_OPERATIONS, Access, Rule
from rollcall.serve.gateway.backend import BackendError
from rollcall.serve.gateway.tables.early_answers import EarlyAnswers
from rollcall.serve.gateway.tables.under_way import LISTED_WITHIN_MS, UnderWay
from rollcall.serve.gateway.topic_ids import TopicIds
from tests.requests import commit, consumer_beat, heartbeat, join, sync

T = 1_000_000
LONG_BYTES = 30_000
TIMES = 100
_numbers = itertools.count()


def long_id() -> str:
    return f"{next(_numbers)}-".ljust(LONG_BYTES, "x")


def kept_bytes(act: Callable[[], object]) -> int:
    """How much of what is allocated meanwhile is still there."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def of_one_member() -> KnownGroups:
    known = KnownGroups()
    group = KnownGroup("g", "Stable", generation_id=1, protocol_type="consumer", protocol_name="range")
    group.put("m", KnownMember("c", None, 45_000, 60_000))
    known._groups["g"] = group
    return known


@pytest.mark.parametrize(
    "forged",
    [
        lambda: heartbeat(long_id(), 1, T, "g"),
        lambda: heartbeat("m", 1, T, long_id()),
        lambda: sync(long_id(), 1, T, "g"),
        lambda: commit(long_id(), 1, {TopicPartition("t", 0): 1}, group="g", received_at_ms=T),
        lambda: commit("", -1, {TopicPartition("t", 0): 1}, group=long_id(), received_at_ms=T),
        lambda: join("", T, long_id(), protocols={long_id(): b"m" * LONG_BYTES}),
        lambda: consumer_beat(long_id(), 0, T, "g"),
    ],
    ids=["member id", "group id", "sync", "commit", "group of a commit", "join", "consumer"],
)
@pytest.mark.parametrize("is_answered", [True, False])
def test_ids_that_nobody_has_are_not_kept(forged: Callable[[], GroupRequest], is_answered: bool) -> None:
    known = of_one_member()
    under_way = UnderWay(known, LONG_BYTES)
    early = EarlyAnswers(known, under_way)

    def ask() -> None:
        for n in range(TIMES):
            request = forged()
            request.request_id = f"r{n}"
            early.note(request)
            with suppress(BackendError):
                under_way.begin(request, None)
            if is_answered:
                under_way.drop(request.request_id)

    assert kept_bytes(ask) < 5 * LONG_BYTES


def test_a_member_and_a_group_that_are_gone_are_forgotten() -> None:
    known = of_one_member()
    early, group = EarlyAnswers(known, UnderWay(known, 0)), known.get("g")
    assert group is not None

    def come_and_go() -> None:
        for n in range(TIMES):
            member_id = long_id()
            group.put(member_id, KnownMember("c", None, 45_000, 60_000))
            assert early.take(heartbeat(member_id, 1, T, "g", request_id=f"r{n}")) is not None
            group.remove(member_id)
            early.forget("g", member_id)
        known._groups.pop("g")
        early.forget("g")

    assert kept_bytes(come_and_go) < 5 * LONG_BYTES


def test_what_nobody_lists_for_is_forgotten_in_time() -> None:
    under_way = UnderWay(KnownGroups(), LONG_BYTES)

    def ask() -> None:
        for turn in range(10):
            at_ms = turn * 10_000
            for n in range(1000):
                under_way.begin(join("a", at_ms, request_id=f"r{turn}-{n}"), None)
            under_way.answer_listings(lambda: [], at_ms + LISTED_WITHIN_MS + 1)
            under_way.forget_lost(at_ms + 1)

    assert kept_bytes(ask) < 5 * LONG_BYTES


def test_answers_about_long_names_are_not_remembered() -> None:
    known = Access([Rule(True, "User:a", True, "", ALL_OPERATIONS)])
    assert kept_bytes(lambda: [known.allows("User:a", Operation.READ, long_id()) for _ in range(TIMES)]) < LONG_BYTES


def test_the_groups_that_know_the_topics_are_remembered_in_little() -> None:
    topic_ids = TopicIds({"t1": 4})
    loop = asyncio.new_event_loop()

    def settle() -> None:
        for n in range(TIMES):
            request = topic_ids.with_names(consumer_beat("m", 0, T, long_id(), request_id=f"r{n}"))
            done: asyncio.Future[Response] = loop.create_future()
            done.set_result(ConsumerGroupHeartbeatResponse())
            topic_ids.note_reported(request, done)

    try:
        assert kept_bytes(settle) < 5 * LONG_BYTES
    finally:
        loop.close()
