"""The group as an object: members, counts and indexes that must never drift."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import Member, ParkedJoin, ParkedSync, PendingMember
from tests.protocol.bench import Bench
from tests.protocol.play import compared
from tests.protocol.rules import rule


def member(member_id: str, *protocols: str, instance_id: str | None = None, rebalance_ms: int = 1) -> Member:
    return Member(
        member_id=member_id,
        client_id=f"client-{member_id}",
        client_host="/10.0.0.7",
        session_timeout_ms=1,
        rebalance_timeout_ms=rebalance_ms,
        protocols=dict.fromkeys(protocols or ("range",), b""),
        joined_at_ms=0,
        group_instance_id=instance_id,
    )


def group_of(*members: Member) -> Group:
    group = Group("g")
    for one in members:
        group.add(one, "consumer")
    return group


@rule("Group: the first member sets the protocol type, and leads where nobody does")
def test_the_first_member_sets_type_and_leads() -> None:
    group = Group("g")
    group.add(member("m1"), "consumer")
    group.add(member("m2"), "other")
    assert (group.protocol_type, group.leader_id) == ("consumer", "m1")


@rule(
    "Group: an id given out is awaited no longer once it is a member",
    origin="testRemovalFromPendingAfterMemberIsStable",
)
def test_a_member_is_no_longer_pending() -> None:
    group = Group("g")
    group.pending["m1"] = PendingMember("m1", "", "", 1)
    group.add(member("m1"), "consumer")
    assert (group.pending, list(group.members)) == ({}, ["m1"])


@rule("Group: a member's id is never given out again", origin="testCannotAddPendingMemberIfStable")
def test_no_member_is_pending_besides() -> None:
    bench = Bench().stable("m1")
    bench.join("m1", "", recorded_member_id=bench.id_of("m1"))
    assert bench.id_of("m1") not in bench.group.members
    assert len(bench.group.pending) == 1


@rule(
    "Group: who goes is awaited by nothing any more",
    origin="testRemovalFromPendingWhenMemberIsRemoved testRemovalFromPendingSyncWhenMemberIsRemoved",
)
def test_removal_forgets_everything() -> None:
    group = group_of(member("m1", instance_id="i1"))
    group.pending["p"] = PendingMember("p", "", "", 1)
    group.pending_sync["m1"] = None
    group.remove("m1")
    group.remove("p")
    assert (group.members, group.pending, group.pending_sync, group.static_member_id("i1")) == ({}, {}, {}, None)
    assert (group.is_supported_by_all("range"), group.leader_id) == (True, None)


@rule("Group: removing a stranger changes nothing")
def test_a_stranger_cannot_be_removed() -> None:
    group = group_of(member("m1"))
    assert group.remove("stranger") is None
    assert list(group.members) == ["m1"]


@rule("Group: the oldest member left leads when the leader goes (Kafka: any)")
def test_the_oldest_member_left_leads() -> None:
    group = group_of(member("m1"), member("m2"), member("m3"))
    group.remove("m1")
    assert group.leader_id == "m2"
    group.remove("m3")
    assert group.leader_id == "m2"


@rule("Group: the rebalance timeout is the longest of the members, 0 without any")
def test_the_longest_rebalance_timeout_counts() -> None:
    assert Group("g").rebalance_timeout_ms == 0
    assert group_of(member("m1", rebalance_ms=5), member("m2", rebalance_ms=9)).rebalance_timeout_ms == 9


@rule("Group: an empty group has everybody joined")
def test_nobody_is_everybody() -> None:
    assert Group("g").has_all_members_joined


@rule("Group: a newcomer's waiting JoinGroup does not keep it alive, any other waiting request does")
@pytest.mark.parametrize(
    ("is_new", "joins", "syncs", "lives"),
    [
        (False, False, False, False),
        (False, True, False, True),
        (False, False, True, True),
        (True, True, False, False),
        (True, False, False, False),
    ],
)
def test_what_keeps_a_member_alive(is_new: bool, joins: bool, syncs: bool, lives: bool) -> None:
    one = member("m1")
    one.is_new = is_new
    one.parked_join = ParkedJoin("1", 9, 0) if joins else None
    one.parked_sync = ParkedSync("1", 5, 0) if syncs else None
    assert one.has_satisfied_heartbeat is lives


@rule(
    "Group: a static member's place passes to another id, what it led and owned with it",
    origin="testReplaceGroupInstance testCannotAddStaticMemberIfAlreadyPresent",
)
def test_a_place_passes_to_another_id() -> None:
    old = member("old", "range", "sticky", instance_id="i1")
    old.assignment = b"mine"
    group = group_of(old, member("m2"))
    group.pending_sync["old"] = None
    new = group.replace_static(old, "new")
    assert (list(group.members), group.leader_id, group.static_member_id("i1")) == (["m2", "new"], "new", "new")
    assert (new.assignment, new.client_id, new.is_new, list(group.pending_sync)) == (
        b"mine",
        "client-old",
        False,
        ["old"],
    )
    assert (group.is_supported_by_all("range"), group.is_supported_by_all("sticky")) == (True, False)


@rule("Group: forgotten, it is as if it had never been")
def test_a_forgotten_group_is_a_new_one() -> None:
    bench = Bench().stable("m1")
    bench.group.forget()
    assert compared(bench.group) == Group("g")
