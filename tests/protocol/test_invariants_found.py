"""What the random plays have found, each as the shortest play that shows it."""

from __future__ import annotations

from typing import Any

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.schemas.effects import Effect, RebalanceEnded, RebalanceStarted
from rollcall.schemas.messages import GroupRequest, JoinGroupRequest
from tests import requests
from tests.protocol.watch import assert_sound

AT_ONCE = GroupConfig(group_initial_rebalance_delay_ms=0)


def join(request_id: str, client_id: str, member_id: str = "", version: int = 3) -> JoinGroupRequest:
    named: dict[str, Any] = {"request_id": request_id, "member_id": member_id, "protocol_type": "connect"}
    return requests.join(client_id, group="g", api_version=version, protocols={"p": b""}, **named)


def ask(group: Group, *requests: GroupRequest) -> list[Effect]:
    """Each a millisecond after the one before."""
    effects: list[Effect] = []
    for request in requests:
        at_ms = group.updated_at_ms + 1
        effects += step(group, request, at_ms, AT_ONCE) + expire_due(group, at_ms, AT_ONCE)
    return effects


def test_a_join_that_arrives_twice_word_for_word_is_two_members_never_one_counted_twice() -> None:
    group = Group("g")
    ask(group, join("r1", "a"), join("r1", "a"))
    assert len(group.members) == 2
    assert group.awaiting_join_count == 1
    assert_sound(group)


def test_a_member_id_request_that_arrives_again_after_the_id_has_joined_gives_out_another_id() -> None:
    group = Group("g")
    ask(group, join("r1", "a", version=4))
    (member_id,) = group.pending
    ask(group, join("r2", "a", member_id, version=4), join("r1", "a", version=4))
    assert list(group.members) == [member_id]
    assert list(group.pending) != [member_id]
    assert_sound(group)


def test_a_newcomer_that_supersedes_a_rebalance_is_counted_in_the_one_it_sets_off_alone() -> None:
    group = Group("g")
    effects = ask(group, join("r1", "a"), join("r2", "b"))
    assert group.state is GroupState.PREPARING_REBALANCE
    ended = next(effect for effect in effects if isinstance(effect, RebalanceEnded))
    started = [effect for effect in effects if isinstance(effect, RebalanceStarted)][-1]
    assert (ended.outcome, ended.members_before, ended.members_after, ended.joined) == ("superseded", 0, 1, ["a"])
    assert started.members_before == 1


def test_a_leaver_that_supersedes_a_rebalance_has_left_in_the_one_it_sets_off_alone() -> None:
    group = Group("g")
    ask(group, join("r1", "a"), join("r2", "b"))
    ask(group, join("r3", "a", next(iter(group.members))))
    assert group.state is GroupState.COMPLETING_REBALANCE
    last = requests.leave(list(group.members)[1], 0, "g", api_version=0, request_id="r4")
    ended, started = (e for e in ask(group, last) if isinstance(e, RebalanceEnded | RebalanceStarted))
    assert isinstance(ended, RebalanceEnded)
    assert isinstance(started, RebalanceStarted)
    assert (ended.outcome, ended.members_after, ended.left) == ("superseded", 2, [])
    assert started.members_before == 2
    assert group.rebalance is not None
    assert group.rebalance.left == ["b"]


def test_a_consumer_that_supersedes_a_rebalance_takes_nobody_of_its_client_id_out_of_it() -> None:
    """A client that joins by one id and then by another is two members; the first of them joined in what it set off."""
    config = GroupConfig(topics={"t1": 2})
    group = Group("orders")
    effects: list[Effect] = []
    for at_ms, member_id, client_id in ((1000, "m1", "app-1"), (1001, "m2", "app-0"), (1002, "m3", "app-0")):
        effects += step(group, requests.consumer_beat(member_id, 0, at_ms, client_id=client_id), at_ms, config)
    ended = [effect for effect in effects if isinstance(effect, RebalanceEnded)]
    assert [(one.outcome, one.joined) for one in ended[-1:]] == [("superseded", ["app-0"])]
