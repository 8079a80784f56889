"""What a recording proves of a group, written into the core's group: formed before, moved, gone without a line."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.step import expire_due, next_deadline_ms, step
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import (
    Effect,
    GroupObserved,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
    RebalanceStarted,
    Reply,
    RequestDropped,
)
from rollcall.schemas.messages import GroupRequest
from rollcall.schemas.wire_fields import RequestError, parse_request
from tests import requests

CONFIG = GroupConfig()
DAY_MS = 86_400_000


def observed(**fields: Any) -> GroupRequest:
    said = {"api": "GroupObserved", "api_version": 0, "request_id": "r", "group_id": "g", "why": "seen", **fields}
    return parse_request(said, is_replay=True)  # type: ignore[return-value]


def join(member_id: str) -> GroupRequest:
    return requests.join("c", member_id=member_id, api_version=9, protocols={"range": b""})


def formed_group(*member_ids: str, generation_id: int = 7) -> Group:
    group = Group("g")
    members = [{"member_id": member_id, "client_id": f"client-{member_id}"} for member_id in member_ids]
    seen = observed(state="Stable", generation_id=generation_id, members=members, protocol_type="consumer")
    step(group, seen, 1000, CONFIG)
    return group


def error_of(effects: list[Effect]) -> str:
    return next(effect.error_code for effect in effects if isinstance(effect, Reply))


def of_kind(effects: list[Effect], kind: type[Effect]) -> list[Any]:
    return [effect for effect in effects if isinstance(effect, kind)]


def test_members_seen_in_a_recording_are_members_and_marked_as_inferred() -> None:
    group = Group("g")
    effects = step(group, observed(state="Stable", generation_id=7, members=[{"member_id": "m1"}]), 1000, CONFIG)
    assert [effect.why for effect in of_kind(effects, GroupObserved)] == ["seen"]
    assert [(e.member_id, e.is_inferred) for e in of_kind(effects, MemberJoined)] == [("m1", True)]
    assert not of_kind(effects, Reply)
    assert group.state is GroupState.STABLE
    assert error_of(step(group, requests.heartbeat("m1", 7), 1001, CONFIG)) == "NONE"


def test_a_member_whose_timeouts_nobody_saw_never_expires() -> None:
    group = formed_group("m1")
    group.sweep_deadline_ms = None
    assert expire_due(group, DAY_MS, CONFIG) == []
    assert error_of(step(group, requests.heartbeat("m1", 7), DAY_MS, CONFIG)) == "NONE"


def test_it_expires_once_its_own_join_has_said_when() -> None:
    group = formed_group("m1")
    step(group, join("m1"), 2000, CONFIG)
    assert group.state is GroupState.COMPLETING_REBALANCE
    assert next_deadline_ms(group) == 12_000


def test_no_join_timer_runs_while_a_timeout_is_unknown() -> None:
    group = formed_group("m1", "m2")
    step(group, join("m1"), 2000, CONFIG)
    assert group.state is GroupState.PREPARING_REBALANCE
    assert group.join_deadline_ms is None


def test_who_is_seen_to_be_gone_is_removed_with_a_rebalance_that_names_it() -> None:
    group = formed_group("m1", "m2")
    effects = step(group, observed(gone=[{"member_id": "m2", "end_cause": "session_expired"}]), 2000, CONFIG)
    [started] = of_kind(effects, RebalanceStarted)
    assert (started.cause.kind, started.cause.member_id) == (CauseKind.SESSION_EXPIRED, "m2")
    assert started.cause.is_inferred
    assert [(e.member_id, e.is_inferred) for e in of_kind(effects, MemberRemoved)] == [("m2", True)]
    assert error_of(step(group, requests.heartbeat("m1", 7), 2001, CONFIG)) == "REBALANCE_IN_PROGRESS"


def test_the_last_one_awaited_being_gone_ends_the_join_phase() -> None:
    group = formed_group("m1", "m2")
    step(group, join("m1"), 2000, CONFIG)
    step(group, observed(gone=[{"member_id": "m2", "end_cause": "unknown"}]), 3000, CONFIG)
    assert (group.state, group.generation_id) == (GroupState.COMPLETING_REBALANCE, 8)
    assert list(group.members) == ["m1"]


def test_a_complete_view_forgets_who_is_not_in_it() -> None:
    group = formed_group("m1", "m2")
    members = [{"member_id": "m3"}]
    effects = step(group, observed(is_complete=True, generation_id=9, state="Stable", members=members), 2000, CONFIG)
    assert [(e.member_id, e.end_cause) for e in of_kind(effects, MemberRemoved)] == [
        ("m1", EndCause.UNKNOWN),
        ("m2", EndCause.UNKNOWN),
    ]
    assert list(group.members) == ["m3"]


def test_an_assignment_that_was_seen_completes_the_rebalance_and_answers_who_waits_for_it() -> None:
    group = formed_group("m1", "m2")
    step(group, observed(state="CompletingRebalance", generation_id=8), 2000, CONFIG)
    sync = requests.sync("m2", 8)
    step(group, sync, 2001, CONFIG)
    members = [{"member_id": "m1", "assignment": "AQ=="}, {"member_id": "m2", "assignment": "Ag=="}]
    effects = step(group, observed(state="Stable", members=members), 2002, CONFIG)
    assert [reply.response.assignment for reply in of_kind(effects, Reply)] == [b"\x02"]
    assert (group.state, group.pending_sync) == (GroupState.STABLE, {})


def test_a_group_that_was_loaded_gives_each_member_a_whole_session_and_drops_what_was_parked() -> None:
    group = formed_group("m1", "m2")
    step(group, join("m1"), 2000, CONFIG)
    effects = step(group, observed(is_loaded=True), 50_000, CONFIG)
    assert [dropped.request_id for dropped in of_kind(effects, RequestDropped)] == ["join-c-0"]
    assert group.state is GroupState.STABLE
    assert group.members["m1"].session_deadline_ms == 60_000


def test_offsets_that_were_seen_are_committed_and_those_seen_to_be_none_are_not() -> None:
    group = Group("g")
    offset = {"topic": "t", "partition": 0, "committed_offset": 5}
    step(group, observed(offsets=[offset]), 1000, CONFIG)
    assert group.offsets["t", 0].committed_offset == 5
    step(group, observed(offsets=[{**offset, "committed_offset": -1}]), 1001, CONFIG)
    assert group.offsets == {}


def test_only_a_replay_may_bring_what_was_observed() -> None:
    fields = {"api": "GroupObserved", "api_version": 0, "request_id": "r", "group_id": "g", "why": "seen"}
    with pytest.raises(RequestError, match="GroupObserved"):
        parse_request(fields)


def test_a_member_whose_timeouts_are_unknown_does_not_expire_after_its_coordinator_came_back() -> None:
    """Its protocols are known, from another member's answer; how long its session is nobody has said."""
    group = Group("g")
    member = {"member_id": "m1", "protocols": [{"name": "range", "metadata": ""}]}
    types = {"protocol_type": "consumer", "protocol_name": "range"}
    step(group, observed(state="Stable", generation_id=7, members=[member], **types), 1000, CONFIG)
    step(group, observed(is_away=True), 2000, CONFIG)
    step(group, observed(is_loaded=True), 30_000, CONFIG)
    assert expire_due(group, DAY_MS, CONFIG) == []
    assert list(group.members) == ["m1"]


def test_classic_members_that_a_consumer_group_is_seen_without_have_gone_nobody_knows_how() -> None:
    """Their bytes are not known, so they cannot be members of it before each is seen again."""
    group = formed_group("m1")
    consumer = {"member_id": "n1", "client_id": "new", "client_host": "/h", "member_epoch": 7, "told_epoch": 7}
    effects = step(group, observed(consumer=consumer), 2000, CONFIG)
    [removed] = of_kind(effects, MemberRemoved)
    assert (removed.member_id, removed.end_cause, removed.is_inferred) == ("m1", EndCause.UNKNOWN, True)
    assert [joined.member_id for joined in of_kind(effects, MemberJoined)] == ["n1"]


@pytest.mark.parametrize(("epoch", "begun"), [(7, (None, "observed")), (2, (GroupType.CLASSIC, "replaced"))])
def test_a_classic_group_that_is_seen_at_a_lower_epoch_was_begun_anew(
    epoch: int, begun: tuple[GroupType | None, str]
) -> None:
    group = formed_group("m1")
    consumer = {"member_id": "n1", "client_id": "new", "client_host": "/h", "member_epoch": epoch}
    effects = step(group, observed(consumer={**consumer, "told_epoch": epoch}), 2000, CONFIG)
    [changed] = of_kind(effects, GroupTypeChanged)
    assert (changed.from_type, changed.why) == begun


def test_a_rebalance_that_is_seen_to_have_led_to_no_later_generation_has_not_completed() -> None:
    group = formed_group("m1", "m2", generation_id=11)
    step(group, observed(state="PreparingRebalance"), 2000, CONFIG)
    members = [{"member_id": "m1"}, {"member_id": "m2"}]
    effects = step(group, observed(state="Stable", generation_id=10, members=members), 3000, CONFIG)
    [ended] = of_kind(effects, RebalanceEnded)
    assert (ended.from_generation_id, ended.to_generation_id, ended.outcome) == (10, 10, "superseded")


def test_nor_has_one_whose_assignment_was_awaited() -> None:
    """A coordinator that was loaded counts on from the last generation that was written."""
    group = formed_group("m1")
    step(group, join("m1"), 2000, CONFIG)
    step(group, observed(members=[{"member_id": "m2"}]), 2001, CONFIG)
    sync = requests.sync("m2", 8)
    assert not of_kind(step(group, sync, 2002, CONFIG), Reply)
    effects = step(group, observed(generation_id=7, state="Stable"), 3000, CONFIG)
    assert [dropped.api for dropped in of_kind(effects, RequestDropped)] == ["SyncGroup"]
    [ended] = of_kind(effects, RebalanceEnded)
    assert (ended.outcome, ended.from_generation_id, ended.to_generation_id) == ("superseded", 7, 7)
    assert (group.state, group.pending_sync) == (GroupState.STABLE, {})
