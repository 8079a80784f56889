"""The facts from a group's records, as the effects of `rollcall.coordinator_udfs.protocol`. Knows the form of each
fact; must not know why it is emitted. What the topic does not have is None, empty or -1, as the effects declare it,
never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.inputs.offsets_topic.history.departures import Verdict
from rollcall.inputs.offsets_topic.history.state import NO_RECORD, History, Member
from rollcall.inputs.offsets_topic.record_names import name_of_record
from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind, EndCause
from rollcall.schemas.consumer_effects import GroupTypeChanged, MemberSubscribed
from rollcall.schemas.effects import (
    Assigned,
    Effect,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    RebalanceEnded,
    StateChanged,
    TopicPartitions,
)
from rollcall.schemas.shown_effects import ShownEffect


class Story:
    """The facts of one group by the records at hand. names: topic names by id that are known beside the group's."""

    def __init__(self, history: History, names: Mapping[str, str]) -> None:
        self.history = history
        self.facts: list[ShownEffect] = []
        self.offset = NO_RECORD
        """The record that shows what is emitted."""
        self._names = names

    def emit(self, effect: Effect) -> None:
        shown_by = "" if self.offset == NO_RECORD else name_of_record(self.history.partition, self.offset)
        self.facts.append(ShownEffect(effect, shown_by))

    @contextmanager
    def shown_at(self, offset: int) -> Iterator[None]:
        """What is emitted meanwhile is shown by another record than the one at hand, or by none."""
        before, self.offset = self.offset, offset
        try:
            yield
        finally:
            self.offset = before

    @property
    def last(self) -> Effect | None:
        """The fact before."""
        return self.facts[-1].effect if self.facts else None

    def type_changed(
        self, from_type: GroupType | None, to_type: GroupType, why: str, at_ms: int, client_id: str = ""
    ) -> None:
        """The group is under another protocol from now on, going on from the generation or epoch that it has."""
        self.emit(
            GroupTypeChanged(
                at_ms=at_ms,
                from_type=from_type,
                to_type=to_type,
                why=why,
                generation_id=self.history.generation_id,
                client_id=client_id,
            )
        )

    def joined(
        self, member: Member, at_ms: int, *, is_inferred: bool = False, replaces_member_id: str | None = None
    ) -> None:
        self.emit(
            MemberJoined(
                at_ms=at_ms,
                member_id=member.member_id,
                client_id=member.client_id,
                client_host=member.client_host,
                group_instance_id=member.group_instance_id,
                session_timeout_ms=member.session_timeout_ms,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                topics=member.topics,
                replaces_member_id=replaces_member_id,
                is_inferred=is_inferred,
            )
        )

    def subscribed(self, member: Member, at_ms: int) -> None:
        """What a member of a consumer group subscribes to."""
        self.emit(
            MemberSubscribed(
                at_ms=at_ms,
                member_id=member.member_id,
                client_id=member.client_id,
                member_type=GroupType.CLASSIC if member.is_classic else GroupType.CONSUMER,
                topics=member.topics or [],
                pattern=member.pattern,
                server_assignor=member.server_assignor,
            )
        )

    def updated(self, member: Member, at_ms: int) -> None:
        self.emit(
            MemberUpdated(
                at_ms=at_ms,
                member_id=member.member_id,
                client_id=member.client_id,
                session_timeout_ms=member.session_timeout_ms,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                topics=member.topics,
            )
        )

    def removed(self, member: Member, at_ms: int, verdict: Verdict, replaced_by: str | None = None) -> None:
        """A member was removed; verdict: how, as far as it is known."""
        self.emit(
            MemberRemoved(
                at_ms=at_ms,
                member_id=member.member_id,
                client_id=member.client_id,
                client_host=member.client_host,
                group_instance_id=member.group_instance_id,
                generation_id=self.history.generation_id,
                end_cause=verdict.end_cause,
                replaced_by_member_id=replaced_by,
                is_inferred=verdict.is_inferred,
                candidates=verdict.candidates,
            )
        )

    def assigned(self, member: Member, at_ms: int, generation_id: int, assignment: bytes = b"") -> None:
        """A member owns `held`, with topic names if known; nothing is emitted for opaque bytes."""
        partitions = None if member.topics is None and assignment else self.partitions(member.held)
        self.emit(
            Assigned(
                at_ms=at_ms,
                member_id=member.member_id,
                client_id=member.client_id,
                group_instance_id=member.group_instance_id,
                generation_id=generation_id,
                partitions=partitions,
                assignment=assignment,
            )
        )

    def epoch_ended(self, at_ms: int, outcome: str, members_after: int) -> None:
        """Ends the rebalance of a consumer group under way, if there is one. The records do not show who waited for
        whom."""
        history, running = self.history, self.history.rebalance
        if running is None:
            return
        history.rebalance = None
        if outcome == "completed":
            history.longest_rebalance_ms = max(history.longest_rebalance_ms, at_ms - running.started_at_ms)
        self.emit(
            RebalanceEnded(
                at_ms=at_ms,
                from_generation_id=running.from_epoch,
                to_generation_id=running.from_epoch + 1,
                started_at_ms=running.started_at_ms,
                cause=running.cause,
                outcome=outcome,
                members_before=running.members_before,
                members_after=members_after,
                joined=running.joined,
                left=running.left,
                expired=running.expired,
                gone=tuple(running.gone),
                waits=[],
            )
        )

    def partitions(self, held: Mapping[str, Iterable[int]]) -> list[TopicPartitions]:
        """By topic; a topic's id stands for its name if that is not known."""
        found: dict[str, list[int]] = {}
        for topic_id, numbers in held.items():
            topic = self.history.topic_names.get(topic_id) or self._names.get(topic_id) or topic_id
            found.setdefault(topic, []).extend(numbers)
        return [TopicPartitions(topic=topic, partitions=sorted(numbers)) for topic, numbers in sorted(found.items())]

    def state(self, at_ms: int, to_state: str, from_state: str | None = None) -> None:
        """The group is in another state. from_state: the one before, if it is not the last emitted."""
        history = self.history
        self.emit(
            StateChanged(
                at_ms=at_ms,
                from_state=from_state or history.state or to_state,
                to_state=to_state,
                generation_id=history.generation_id,
                protocol_type=history.protocol_type or None,
                protocol_name=history.protocol_name,
                leader_id=history.leader_id,
            )
        )
        history.state = to_state


def cause_by(kind: CauseKind, member: Member, *, is_inferred: bool = False) -> Cause:
    """A cause with its culprit."""
    return Cause(
        kind=kind,
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        group_instance_id=member.group_instance_id,
        is_inferred=is_inferred,
    )


def cause_among(candidates: Sequence[CauseCandidate], members: Iterable[Member]) -> Cause:
    """One cause for several possible ones: what they agree on, and all candidates."""
    kinds = {one.kind for one in candidates}
    ids = {one.member_id for one in candidates}
    kind = kinds.pop() if len(kinds) == 1 else CauseKind.UNKNOWN
    culprit = next((one for one in members if ids == {one.member_id}), None)
    cause = Cause(kind=kind) if culprit is None else cause_by(kind, culprit)
    cause.is_inferred = True
    cause.candidates = tuple(candidates) if len(candidates) > 1 else ()
    return cause


def candidates_of(member: Member, verdict: Verdict) -> list[CauseCandidate]:
    """The causes that a member's end may be, by what is known of it."""
    ends = verdict.candidates or (verdict.end_cause,)
    return [candidate(CauseKind(end.value), member) for end in ends if end is not EndCause.UNKNOWN]


def candidate(kind: CauseKind, member: Member | None = None) -> CauseCandidate:
    if member is None:
        return CauseCandidate(kind=kind)
    return CauseCandidate(kind=kind, member_id=member.member_id, client_id=member.name)
