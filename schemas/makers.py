"""Makes the facts that more than one input has: each field of a member, a group or a rebalance by one rule.

What an input does not have is None, empty or -1, as the effects declare it, never a guess. Knows the shapes; must not
know why a fact is emitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind, EndCause
from rollcall.schemas.consumer_effects import GroupTypeChanged, MemberLeftForNow, MemberSubscribed
from rollcall.schemas.effects import (
    Assigned,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    MemberWait,
    RebalanceEnded,
    RebalanceStarted,
    StateChanged,
    TopicPartitions,
)

Terms = tuple[int, int, list[str] | None]
"""A member's settings: session timeout and rebalance timeout in ms, topics."""
NO_TERMS: Terms = (-1, -1, None)
Subscription = tuple[list[str], str, str | None, str]
"""The rest that a member's assignment depends on: topics, pattern, the assignor that it votes for, which protocol."""


class Named(Protocol):
    """A member, or another object with its ids."""

    @property
    def member_id(self) -> str: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...


class Generation(Protocol):
    """A group, as far as each generation may change it."""

    @property
    def generation_id(self) -> int: ...
    @property
    def protocol_type(self) -> str | None: ...
    @property
    def protocol_name(self) -> str | None: ...
    @property
    def leader_id(self) -> str | None: ...


class Running(Protocol):
    """A rebalance under way. The lists hold the names of members."""

    cause: Cause
    started_at_ms: int
    from_generation_id: int
    members_before: int
    joined: list[str]
    left: list[str]
    expired: list[str]
    gone: list[str]


def cause_by(kind: CauseKind, member: Named, client_reason: str | None = None, *, is_inferred: bool = False) -> Cause:
    """A cause with its culprit."""
    return Cause(
        kind=kind,
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        group_instance_id=member.group_instance_id,
        client_reason=client_reason or None,
        is_inferred=is_inferred,
    )


def cause_among(candidates: Sequence[CauseCandidate], members: Iterable[Named] = ()) -> Cause:
    """One cause for several possible ones: what they agree on, and all candidates. members: who may be to blame."""
    kinds = {one.kind for one in candidates}
    ids = {one.member_id for one in candidates}
    kind = kinds.pop() if len(kinds) == 1 else CauseKind.UNKNOWN
    culprit = next((one for one in members if ids == {one.member_id}), None)
    cause = Cause(kind=kind) if culprit is None else cause_by(kind, culprit)
    cause.is_inferred = True
    cause.candidates = tuple(candidates) if len(candidates) > 1 else ()
    return cause


def member_joined(
    at_ms: int, member: Named, terms: Terms, replaces_member_id: str | None = None, *, is_inferred: bool = False
) -> MemberJoined:
    session_timeout_ms, rebalance_timeout_ms, topics = terms
    return MemberJoined(
        at_ms=at_ms,
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        group_instance_id=member.group_instance_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        topics=topics,
        replaces_member_id=replaces_member_id,
        is_inferred=is_inferred,
    )


def member_updated(at_ms: int, member: Named, terms: Terms) -> MemberUpdated:
    session_timeout_ms, rebalance_timeout_ms, topics = terms
    return MemberUpdated(
        at_ms=at_ms,
        member_id=member.member_id,
        client_id=member.client_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        topics=topics,
    )


def member_subscribed(at_ms: int, member: Named, subscription: Subscription) -> MemberSubscribed:
    topics, pattern, server_assignor, member_type = subscription
    return MemberSubscribed(
        at_ms=at_ms,
        member_id=member.member_id,
        client_id=member.client_id,
        member_type=member_type,
        topics=topics,
        pattern=pattern,
        server_assignor=server_assignor,
    )


def member_left_for_now(at_ms: int, member: Named) -> MemberLeftForNow:
    return MemberLeftForNow(
        at_ms=at_ms,
        member_id=member.member_id,
        client_id=member.client_id,
        group_instance_id=member.group_instance_id,
    )


def member_removed(
    at_ms: int,
    member: Named,
    generation_id: int,
    end_cause: EndCause,
    client_reason: str | None = None,
    replaced_by: str | None = None,
    *,
    is_inferred: bool = False,
    candidates: tuple[EndCause, ...] = (),
) -> MemberRemoved:
    return MemberRemoved(
        at_ms=at_ms,
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        group_instance_id=member.group_instance_id,
        generation_id=generation_id,
        end_cause=end_cause,
        client_reason=client_reason or None,
        replaced_by_member_id=replaced_by,
        is_inferred=is_inferred,
        candidates=candidates,
    )


def assigned(
    at_ms: int, member: Named, generation_id: int, partitions: list[TopicPartitions] | None, assignment: bytes = b""
) -> Assigned:
    return Assigned(
        at_ms=at_ms,
        member_id=member.member_id,
        client_id=member.client_id,
        group_instance_id=member.group_instance_id,
        generation_id=generation_id,
        partitions=partitions,
        assignment=assignment,
    )


def type_changed(
    at_ms: int, from_type: str | None, to_type: str, why: str, generation_id: int, client_id: str = ""
) -> GroupTypeChanged:
    return GroupTypeChanged(
        at_ms=at_ms,
        from_type=from_type,
        to_type=to_type,
        why=why,
        generation_id=generation_id,
        client_id=client_id,
    )


def state_changed(at_ms: int, group: Generation, from_state: str, to_state: str) -> StateChanged:
    return StateChanged(
        at_ms=at_ms,
        from_state=from_state,
        to_state=to_state,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader_id=group.leader_id,
    )


def rebalance_started(running: Running, from_state: str, join_timeout_ms: int) -> RebalanceStarted:
    return RebalanceStarted(
        at_ms=running.started_at_ms,
        from_generation_id=running.from_generation_id,
        from_state=from_state,
        cause=running.cause,
        members_before=running.members_before,
        join_timeout_ms=join_timeout_ms,
    )


def rebalance_ended(
    at_ms: int,
    running: Running,
    to_generation_id: int,
    outcome: str,
    members_after: int,
    waits: Sequence[MemberWait] = (),
) -> RebalanceEnded:
    """Of those who kept the others waiting, the first of those that did so longest is the slowest."""
    slowest = max(waits, key=lambda one: one.held_others_ms, default=None)
    if slowest is not None and slowest.held_others_ms <= 0:
        slowest = None
    return RebalanceEnded(
        at_ms=at_ms,
        from_generation_id=running.from_generation_id,
        to_generation_id=to_generation_id,
        started_at_ms=running.started_at_ms,
        cause=running.cause,
        outcome=outcome,
        members_before=running.members_before,
        members_after=members_after,
        joined=running.joined,
        left=running.left,
        expired=running.expired,
        gone=tuple(running.gone),
        slowest_member_id=None if slowest is None else slowest.member_id,
        slowest_client_id=None if slowest is None else slowest.client_id or slowest.group_instance_id or "",
        slowest_wait_ms=None if slowest is None else slowest.held_others_ms,
        waits=[*waits],
    )


def by_topic(partitions: Iterable[tuple[str, int]]) -> list[TopicPartitions]:
    """Partitions, each with its topic, as lists by topic; both in rising order."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return [TopicPartitions(topic=topic, partitions=own) for topic, own in topics.items()]


def of_topics(partitions: Mapping[str, Iterable[int]]) -> list[TopicPartitions]:
    """Partitions that stand by topic already, in rising order; a topic without any is left out."""
    found = ((topic, sorted(partitions[topic])) for topic in sorted(partitions))
    return [TopicPartitions(topic=topic, partitions=own) for topic, own in found if own]
