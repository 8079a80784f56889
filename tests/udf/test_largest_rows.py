"""The largest legal group: no row of the effects table and no answer is longer than what a group's members may take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from rollcall.coordinator_udfs.group_turns import Outcome, take_turns
from rollcall.coordinator_udfs.settings import StreamSettings
from rollcall.jobs.config import JobConfig
from rollcall.schemas.messages import ConsumerGroupDescribeRequest, DescribeGroupsRequest, StreamRequest
from tests.requests import consumer_beat, fitting, join, subscription, sync

T = 1_700_000_000_000
CONFIG = JobConfig()
ROW_BYTES = CONFIG.members_max_bytes
STATE_BYTES = 2 * CONFIG.members_max_bytes


class Played:
    """A group `orders` after some batches: its state, the longest row, and what was answered."""

    def __init__(self, **group: Any) -> None:
        settings = CONFIG.stream_settings(0)
        self.settings: StreamSettings = replace(settings, stall_ms=3_600_000, group=replace(settings.group, **group))
        self.now_ms = T
        self.outcome = Outcome([], None, None)
        self.longest: tuple[int, str] = (0, "")
        self.longest_state = 0
        self.errors: set[tuple[str, str]] = set()

    def batch(self, *requests: StreamRequest) -> None:
        """Plays a batch, and those that it leads to at once."""
        texts = [msgspec.json.encode(request).decode() for request in requests]
        while True:
            self.outcome = take_turns("orders", texts, self.outcome.row, self.now_ms, self.settings)
            for row in self.outcome.rows:
                assert row.effect != "quarantined", row.cause
                size = len(msgspec.json.encode(row))
                self.longest = max(self.longest, (size, f"{row.effect} {row.api or ''}".strip()))
                if row.effect == "reply":
                    self.errors.add((str(row.api), str(row.error_code)))
            assert self.outcome.row is not None
            self.longest_state = max(self.longest_state, len(self.outcome.row.document.encode()))
            self.now_ms += 1
            texts = []
            if self.outcome.deadline_ms is None or self.outcome.deadline_ms > self.now_ms:
                return

    def ids(self) -> list[str]:
        assert self.outcome.row is not None
        stored = msgspec.json.decode(self.outcome.row.document)
        return [member["member_id"] for member in stored["members"]]

    def is_bounded(self) -> bool:
        return self.longest[0] <= ROW_BYTES and self.longest_state <= STATE_BYTES


def fill(played: Played, client_id: str, metadata: bytes, most: int, at_once: int = 8) -> None:
    """JoinGroups until one is refused, each by a client of its own."""
    for number in range(0, most, at_once):
        numbers = range(number, number + at_once)
        said = {"range": metadata}
        played.batch(*(join(f"{client_id}{n}", played.now_ms, protocols=said, request_seq=n) for n in numbers))
        if ("JoinGroup", "GROUP_MAX_SIZE_REACHED") in played.errors:
            return
    raise AssertionError("nobody was refused")


def rebalance_and_describe(played: Played, assignment: bytes, most: int) -> None:
    """The join phase ends, the leader assigns to as many as one request may name, an administrator asks."""
    assert played.outcome.row is not None
    if played.outcome.row.state == "PreparingRebalance":
        played.now_ms += 31_000
        played.batch()
    assert (played.outcome.row.state, len(played.ids())) == ("CompletingRebalance", played.outcome.row.member_count)
    generation, leader = played.outcome.row.generation_id, str(played.outcome.row.leader_id)
    assigned = {member_id: assignment for member_id in played.ids()[:most]}
    played.batch(sync(leader, generation, played.now_ms, assigned=assigned))
    played.batch(
        fitting(
            DescribeGroupsRequest, 5, groups=["orders"], request_id="d", received_at_ms=played.now_ms, client_id="admin"
        )
    )
    assert ("DescribeGroups", "NONE") in played.errors


def test_a_classic_group_of_few_members_with_very_long_metadata() -> None:
    owned = [("t", 2_000_000_000 + number) for number in range(185_000)]
    played = Played(group_initial_rebalance_delay_ms=0)
    fill(played, "c", subscription("\x01", owned=owned, version=1), 40)
    rebalance_and_describe(played, b"\0" * 600_000, 1)
    assert played.longest[0] > ROW_BYTES // 2
    assert played.is_bounded(), (played.longest, played.longest_state)


def test_a_classic_group_of_very_many_members_with_names_that_json_escapes() -> None:
    played = Played(group_initial_rebalance_delay_ms=0)
    fill(played, "\x01" * 30, b"", 20_000, at_once=1_000)
    assert len(played.ids()) > 1_000
    rebalance_and_describe(played, b"\0" * 100, 1_000)
    played.now_ms += 60_000
    played.batch()
    assert played.is_bounded(), (played.longest, played.longest_state)


def test_a_consumer_group_whose_members_subscribe_to_as_many_topics_as_they_may() -> None:
    topics = {f"{'t' * 240}{number:05}": 20 for number in range(4_000)}
    played = Played(topics=topics)
    names = list(topics)
    for number in range(40):
        said = names[number * 50 : number * 50 + 3_000]
        played.batch(consumer_beat(f"m{number}", 0, played.now_ms, topics=said, client_id=f"c{number}"))
        if ("ConsumerGroupHeartbeat", "GROUP_MAX_SIZE_REACHED") in played.errors:
            break
    assert ("ConsumerGroupHeartbeat", "GROUP_MAX_SIZE_REACHED") in played.errors
    assert played.longest[0] < ROW_BYTES // 4
    played.batch(
        fitting(ConsumerGroupDescribeRequest, 1, group_ids=["orders"], request_id="d", received_at_ms=played.now_ms)
    )
    assert played.is_bounded(), (played.longest, played.longest_state)
