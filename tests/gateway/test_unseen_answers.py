"""While the coordinator is away, heartbeats are answered at once; its own answers are reported later, once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    HeartbeatRequest,
)
from rollcall.serve.gateway.server import Server
from rollcall.serve.gateway.tables.under_way import UnsentAssignments, is_away, unseen_answer
from tests.gateway.consumer_beats import AT_ONCE, T1, beat, given
from tests.gateway.running import GROUPS, asynchronous, gateway_of
from tests.gateway.table_coordinator import TableCoordinator
from tests.gateway.wire_client import alone_in, beaten, heartbeat
from tests.requests import consumer_beat
from tests.waiting import until_true
from tests.wire_client import Client

AT_MS = 1_700_000_000_000
PLAIN = {"rebalance_timeout_ms": -1, "subscribed_topic_names": None, "topic_partitions": None}


Say = Callable[[Server, bool], Coroutine[None, None, None]]


@pytest.fixture
def say_away(monkeypatch: pytest.MonkeyPatch) -> Say:
    """Whether the coordinator is away, the test says; it goes on once the gateway goes by it."""
    said = [False]
    monkeypatch.setattr("rollcall.serve.gateway.tables.tables_backend._LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("rollcall.serve.gateway.tables.tables_backend.is_away", lambda *_, **__: said[0])

    async def say(server: Server, is_away: bool) -> None:
        said[0] = is_away
        await until_true(lambda: getattr(server.backend, "_is_away") is is_away)  # noqa: B009

    return say


@asynchronous
async def test_while_the_coordinator_is_away_heartbeats_are_answered_unseen_and_handed_over(
    tmp_path: Path, say_away: Say
) -> None:
    coordinator = TableCoordinator(tmp_path, GROUPS)
    async with gateway_of(tmp_path) as server:
        client, other = await Client.connect(server.address), await Client.connect(server.address)
        with coordinator:
            member, generation = await alone_in(client)
        waiting = client.send("Heartbeat", 4, **heartbeat(member=member, generation=generation))
        asked = other.send("DescribeGroups", 5, groups=["g"])
        await until_true(lambda: server.backend.figures().backlog == 2)
        await say_away(server, True)
        number, answer = await client.receive("Heartbeat", 4)
        assert (number, answer.error_code.name) == (waiting, "none")
        assert await beaten(client, member, generation) == await beaten(client, "nobody") == "none"
        with coordinator:
            assert (await other.receive("DescribeGroups", 5))[0] == asked
            await say_away(server, False)
            assert await beaten(client, "nobody") == "unknown_member_id"
            assert await beaten(client, member, generation) == "none"
    beats = [request for request in coordinator.requests if isinstance(request, HeartbeatRequest)]
    assert [request.member_id for request in beats] == [member, member, "nobody", "nobody", member]


@pytest.mark.parametrize(
    ("was_away", "silent_s", "oldest_s", "batch_age_s", "away"),
    [
        (False, 3.0, 3.0, None, True),
        (False, 3.0, 3.0, 3.1, True),
        (False, 90.0, 90.0, 3.0, False),  # It ends batches, whatever it leaves unanswered.
        (False, 2.9, 90.0, None, False),  # It answers others.
        (False, 90.0, 2.9, 90.0, False),  # It has not been asked for long.
        (True, 90.0, 0.0, 90.0, True),  # It was away, and has shown nothing since.
        (True, 0.0, 0.0, 90.0, False),
    ],
)
def test_a_coordinator_is_away_that_has_requests_and_neither_answers_nor_ends_a_batch(
    was_away: bool, silent_s: float, oldest_s: float, batch_age_s: float | None, away: bool
) -> None:
    found = is_away(3.0, was_away=was_away, silent_s=silent_s, oldest_s=oldest_s, batch_age_s=batch_age_s)
    assert found is away


@asynchronous
async def test_while_it_is_away_members_of_the_newer_protocol_are_answered_that_it_loads_and_handed_over_once(
    tmp_path: Path, say_away: Say
) -> None:
    coordinator = TableCoordinator(tmp_path, AT_ONCE)
    async with gateway_of(tmp_path) as server:
        client, newcomer = await Client.connect(server.address), await Client.connect(server.address)
        with coordinator:
            joined = await beat(client, "m1", 0)
            assert (joined.error_code.name, given(joined)) == ("none", [(T1, (0, 1, 2, 3))])
        await say_away(server, True)
        for _ in range(3):
            for who, member, epoch in ((client, "m1", joined.member_epoch), (newcomer, "m2", 0)):
                reported = await beat(who, member, epoch)
                assert (reported.error_code.name, given(reported)) == ("coordinator_load_in_progress", None)
        with coordinator:
            await until_true(lambda: len(coordinator.groups["g"].roster.members) == 2)
            await say_away(server, False)
            reported = await beat(newcomer, "m2", 0)
            assert (reported.error_code.name, given(reported)) == ("none", [])
    beats = [one for one in coordinator.requests if isinstance(one, ConsumerGroupHeartbeatRequest)]
    assert [one.member_id for one in beats] == ["m1", "m1", "m2", "m2"]


@asynchronous
async def test_an_assignment_whose_answer_nobody_awaited_is_given_with_the_next(tmp_path: Path) -> None:
    coordinator = TableCoordinator(tmp_path, AT_ONCE)
    async with gateway_of(tmp_path) as server:
        client, other = await Client.connect(server.address), await Client.connect(server.address)
        with coordinator:
            epoch = (await beat(client, "m1", 0)).member_epoch
            await beat(other, "m2", 0)
        client.send("ConsumerGroupHeartbeat", 1, group_id="g", member_id="m1", member_epoch=epoch, **PLAIN)
        await until_true(lambda: server.backend.figures().backlog == 1)
        client.close()
        await until_true(lambda: server.backend.figures().backlog == 0)
        again = await Client.connect(server.address)
        with coordinator:
            assert given(await beat(again, "m1", epoch)) == [(T1, (0, 1))]
            assert given(await beat(again, "m1", epoch)) is None


# ---------------------------------------------------------------- which, and what becomes of them


LOADING = ConsumerGroupHeartbeatResponse(error_code=Error.COORDINATOR_LOAD_IN_PROGRESS)


@pytest.mark.parametrize(
    ("member_id", "epoch", "answer"),
    [("m", 0, LOADING), ("m", 7, LOADING), ("m", -1, None), ("m", -2, None), ("", 0, None)],
)
def test_who_leaves_or_has_no_id_yet_waits(member_id: str, epoch: int, answer: object) -> None:
    assert unseen_answer(consumer_beat(member_id, epoch, AT_MS)) == answer


def gives(*partitions: int) -> ConsumerGroupHeartbeatResponse:
    topics = [ConsumerGroupTopicPartitions(topic_name="t1", partitions=list(partitions))]
    return ConsumerGroupHeartbeatResponse(assignment=ConsumerGroupAssignment(topic_partitions=topics))


NOTHING_NEW = ConsumerGroupHeartbeatResponse()


class Talk:
    """What the coordinator answers the heartbeats of some members, and what their clients are sent."""

    def __init__(self) -> None:
        self.unsent = UnsentAssignments()

    def sent(self, response: ConsumerGroupHeartbeatResponse, who: str = "m", group: str = "g") -> object:
        return self.unsent.answered(hash((group, who)), response, is_awaited=True, is_member=True)

    def lost(self, response: ConsumerGroupHeartbeatResponse, who: str = "m", *, is_member: bool = True) -> None:
        self.unsent.answered(hash(("g", who)), response, is_awaited=False, is_member=is_member)


def test_what_is_given_anew_is_sent_in_place_of_what_was_lost() -> None:
    talk = Talk()
    talk.lost(gives(0, 1))
    assert talk.sent(gives(1)) == gives(1)
    assert talk.sent(NOTHING_NEW) == NOTHING_NEW


def test_the_last_that_was_lost_is_sent_however_many_answers_are_lost_after_it() -> None:
    talk = Talk()
    for response in (gives(0, 1), gives(1), NOTHING_NEW):
        talk.lost(response)
    assert talk.sent(NOTHING_NEW) == gives(1)


def test_nobody_else_is_sent_it_and_a_member_that_is_gone_or_refused_is_sent_nothing() -> None:
    talk = Talk()
    talk.lost(gives(0))
    assert talk.sent(NOTHING_NEW, "other") == talk.sent(NOTHING_NEW, group="other") == NOTHING_NEW
    talk.unsent.forget("g", "m")
    assert talk.sent(NOTHING_NEW) == NOTHING_NEW
    talk.lost(gives(0))
    fenced = ConsumerGroupHeartbeatResponse(error_code=Error.FENCED_MEMBER_EPOCH)
    assert talk.sent(fenced) == fenced
    assert talk.sent(NOTHING_NEW) == NOTHING_NEW


def test_nothing_is_kept_for_a_member_that_had_gone_when_its_answer_came() -> None:
    talk = Talk()
    talk.lost(gives(0), is_member=False)
    assert talk.sent(NOTHING_NEW) == NOTHING_NEW
