"""What a group's members may take together: who is refused when there is no room, and who is not."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol import group
from rollcall.coordinator_udfs.protocol.members import HeldBytes, held_by
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.step import step
from rollcall.schemas.effects import Reply
from rollcall.schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule
from tests.protocol.watch import assert_sound
from tests.requests import join

ROOM = 80_000
"""One member takes an eighth, 10,000, of which about 900 for its names."""


def protocols(raw_bytes: int) -> dict[str, bytes]:
    return {"range": b"x" * raw_bytes}


def full() -> Bench:
    """A Stable group: its members of 7,400 bytes leave no place for another one within nine tenths of the room."""
    bench = Bench(members_max_bytes=ROOM)
    members = [f"m{number}" for number in range(9)]
    for client in members:
        bench.client(client, protocols=protocols(5_000))
    bench.stable(*members)
    return bench


@rule("JoinGroup: a group takes no more members than it has room for in bytes, Kafka any")
@pytest.mark.parametrize("v", [3, 9])
def test_a_group_without_room_takes_nobody_and_goes_on_with_those_it_has(v: int) -> None:
    bench = full()
    before = bench.members
    refused = bench.join("m9", v=v, protocols=protocols(5_000))
    assert (refused.error, refused.response.member_id) == (Error.GROUP_MAX_SIZE_REACHED, "")
    assert (bench.members, bench.group.pending, bench.state) == (before, {}, GroupState.STABLE)
    assert [bench.heartbeat(client).error for client in before] == [Error.NONE] * 9


@rule("JoinGroup: a member whose metadata alone takes an eighth of the room is refused")
def test_one_member_cannot_take_it_all() -> None:
    bench = Bench(members_max_bytes=ROOM)
    assert bench.join("m1", v=3, protocols=protocols(7_000)).error is Error.GROUP_MAX_SIZE_REACHED
    assert not bench.group.is_known
    assert bench.join("m1", v=3, protocols=protocols(6_000)).error is Error.NONE


@rule("JoinGroup: a protocol that is named twice takes what the member keeps of it, the first")
def test_a_second_metadata_of_a_name_hides_no_first() -> None:
    bench = Bench(members_max_bytes=ROOM)
    twice = join("m1", group="g", protocols=[("range", b"x" * 7_000), ("range", b"")])
    (refused,) = step(bench.group, twice, 0, bench.config)
    assert isinstance(refused, Reply)
    assert refused.error_code is Error.GROUP_MAX_SIZE_REACHED


@rule("JoinGroup: what may be taken is known of most groups without counting")
def test_room_is_counted_anew_only_where_it_may_be_short(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def counting(*held: Any) -> HeldBytes:
        counted.append(1)
        return held_by(*held)

    monkeypatch.setattr(group, "held_by", counting)
    bench = Bench(members_max_bytes=ROOM)
    for number in range(9):
        bench.group = bench.group.copy()
        bench.join(f"m{number}", v=3, protocols=protocols(5_000))
        assert len(counted) == 1
    bench.group = bench.group.copy()
    assert len(bench.members) == 9
    assert bench.join("m9", v=3, protocols=protocols(5_000)).error is Error.GROUP_MAX_SIZE_REACHED
    assert len(counted) == 2


@rule("JoinGroup: the last tenth of a group's room is its members'")
def test_a_member_has_more_to_say_in_a_group_that_takes_nobody() -> None:
    bench = full()
    held = bench.group.held_bytes
    assert bench.join("m1", protocols=protocols(5_600)).is_parked
    assert bench.group.held_bytes == held + 800
    assert bench.join("m2", protocols=protocols(6_900)).error is Error.GROUP_MAX_SIZE_REACHED


@rule("JoinGroup: while members are awaited, one that asks for too much is not awaited any longer")
def test_a_member_refused_in_a_rebalance_holds_nobody_up() -> None:
    bench = full()
    bench.join("m0")
    assert bench.state is GroupState.PREPARING_REBALANCE
    assert bench.join("m1", protocols=protocols(7_000)).error is Error.GROUP_MAX_SIZE_REACHED
    assert "m1" not in bench.members
    assert len(bench.members) == 8


@rule("JoinGroup: ids given out take room, and give it back")
def test_ids_given_out_take_room_until_they_expire() -> None:
    bench = Bench(members_max_bytes=ROOM)
    bench.stable("m1")
    held = bench.group.held_bytes
    clients = [f"{'c' * 1_000}{number}" for number in range(40)]
    answers = [bench.join(client).error for client in clients]
    assert set(answers) == {Error.MEMBER_ID_REQUIRED, Error.GROUP_MAX_SIZE_REACHED}
    bench.tick(10_000)
    assert (bench.group.pending, bench.group.held_bytes < held + 1) == ({}, True)


@rule("Rebalance: it remembers of those that went no more than the group has room for")
def test_joining_and_leaving_does_not_fill_a_rebalance_that_goes_on() -> None:
    bench = Bench(members_max_bytes=ROOM)
    bench.client("m1", rebalance_ms=900_000, session_ms=900_000)
    bench.stable("m1")
    for number in range(200):
        client = f"{'c' * 1_000}{number}"
        joined = bench.join(client, v=3)
        if not joined.is_parked:
            break
        bench.leave(client)
    else:
        pytest.fail("nobody was refused")
    assert joined.error is Error.GROUP_MAX_SIZE_REACHED
    assert ROOM // 2 < bench.group.held_bytes < ROOM
    bench.join("m1")
    bench.sync("m1")
    assert bench.group.held_bytes < ROOM // 10


@rule("Rebalance: static members that are replaced again and again take no more than the group has room for")
@pytest.mark.parametrize("v", [5, 9])
def test_replacing_a_static_member_does_not_fill_a_rebalance_that_goes_on(v: int) -> None:
    bench = Bench(members_max_bytes=ROOM)
    bench.client("m1", rebalance_ms=900_000, session_ms=900_000)
    bench.stable("m1")
    errors = []
    for _ in range(200):
        answer = bench.join("c" * 1_000, "", v=v, instance_id="i")
        assert_sound(bench.group)
        if not answer.is_parked:
            errors.append(answer.error)
    assert Error.GROUP_MAX_SIZE_REACHED in errors
    assert bench.group.held_bytes < ROOM


@rule("Rebalance: an id that goes takes no more room than it took before")
def test_an_id_given_out_that_leaves_takes_no_further_room() -> None:
    bench = Bench(members_max_bytes=ROOM)
    bench.client("m1", rebalance_ms=900_000, session_ms=900_000)
    bench.stable("m1")
    bench.join("m2", v=3)
    bench.join("c" * 1_000)
    held = bench.group.held_bytes
    bench.leave("c" * 1_000)
    assert bench.group.pending == {}
    assert bench.group.held_bytes == held


@rule("SyncGroup: assignments that the group has no room for are the leader's mistake alone")
def test_assignments_without_room_are_refused_to_the_leader() -> None:
    bench = Bench(members_max_bytes=ROOM)
    members = [f"m{number}" for number in range(9)]
    bench.completing(*members)
    waiting = bench.sync("m1")
    too_long = bench.sync("m0", plan={"m1": b"x" * 8_000})
    too_many = bench.sync("m0", plan={client: b"x" * 7_000 for client in members})
    assert [too_long.error, too_many.error] == [Error.UNKNOWN_SERVER_ERROR] * 2
    assert waiting.is_parked
    assert bench.state is GroupState.COMPLETING_REBALANCE
    assert bench.sync("m0", plan={"m1": b"x" * 7_000}).error is Error.NONE
    assert waiting.response.assignment == b"x" * 7_000


@rule("ConsumerGroupHeartbeat: a group takes no more members than it has room for in bytes")
def test_a_consumer_group_without_room_takes_nobody() -> None:
    bench = ConsumerBench({"t1": 4}, members_max_bytes=ROOM)
    topics = [f"{'t' * 100}{number}" for number in range(65)]
    answers = [bench.join(f"m{number}", *topics).error for number in range(12)]
    assert answers == [Error.NONE] * 9 + [Error.GROUP_MAX_SIZE_REACHED] * 3
    refused = bench.join("m9", *topics)
    assert "members would take" in refused.response.error_message
    assert [bench.beat(client).error for client in bench.consumer.members] == [Error.NONE] * 9
    assert bench.beat("m1", subscribed_topic_names=[*topics, "t1"]).error is Error.NONE
    long = [f"{'t' * 200}{number}" for number in range(65)]
    assert bench.beat("m1", subscribed_topic_names=long).error is Error.GROUP_MAX_SIZE_REACHED
    assert bench.member("m1").topics == tuple(sorted([*topics, "t1"]))
    bench.leave("m0")
    assert bench.join("m9", "t1").error is Error.NONE


@rule("JoinGroup to a consumer group: the same room")
def test_a_classic_client_needs_room_in_a_consumer_group() -> None:
    bench = ConsumerBench({"t1": 4}, members_max_bytes=ROOM).with_members("m1")
    reply = bench.join_classic("m2", *(f"{'t' * 100}{number}" for number in range(100)))
    assert reply.error is Error.GROUP_MAX_SIZE_REACHED
    reply = bench.join_classic("m2", "t1")
    assert reply.error is Error.NONE


@rule("Group size: a recorded group has room for all that its broker took")
def test_without_the_setting_there_is_no_limit() -> None:
    bench = Bench()
    bench.stable("m1")
    for number in range(40):
        assert bench.join(f"{'c' * 30_000}{number}", v=3, protocols=protocols(500_000)).is_parked


@rule("Group size: assignor, rack and instance id that a member named once go on taking room, by either protocol")
def test_what_a_request_does_not_name_takes_room() -> None:
    bench = ConsumerBench({"t1": 4}, members_max_bytes=ROOM)
    bench.join("m1", "t1")
    bench.join("m2", "t1", server_assignor="uniform", rack_id="r")
    bench.join("m2", "t1", instance_id="i" * 100)
    assert (bench.group.held_at_most or 0) >= bench.group.held_bytes
    bench.beat("m2", subscribed_topic_names=["t1", "t2"], server_assignor="range")
    assert (bench.group.held_at_most or 0) >= bench.group.held_bytes
    bench.join_classic("m2", "t1", "t2", "t3")
    assert (bench.group.held_at_most or 0) >= bench.group.held_bytes
