"""The facts from a group's records, as the effects of `rollcall.coordinator_udfs.protocol`. Knows the form of each
fact; must not know why it is emitted. What the topic does not have is None, empty or -1, as the effects declare it,
never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.inputs.offsets_topic import name_of_record
from rollcall.inputs.offsets_topic.history.departures import Verdict
from rollcall.inputs.offsets_topic.history.state import NO_RECORD, History, Member
from rollcall.schemas import makers
from rollcall.schemas.causes import CauseCandidate, CauseKind, EndCause
from rollcall.schemas.consumer_effects import PatternsResolved
from rollcall.schemas.effects import Effect, OffsetsCommitted, OffsetsRemoved, TopicPartitions
from rollcall.schemas.makers import of_topics
from rollcall.schemas.shown_effects import ShownEffect

_Growing = TypeVar("_Growing", OffsetsCommitted, OffsetsRemoved, PatternsResolved)


class Story:
    """The facts of one group by the records at hand. names: topic names by id that are known beside the group's."""

    def __init__(self, history: History, names: Mapping[str, str]) -> None:
        self.history = history
        self.facts: list[ShownEffect] = []
        self.offset = NO_RECORD
        """The record that shows what is emitted."""
        self._names = names

    def emit(self, effect: Effect) -> None:
        """The next fact; a list is held back, since the next records may add to it."""
        self.end_list()
        if isinstance(effect, OffsetsCommitted | OffsetsRemoved | PatternsResolved):
            self.history.growing, self.history.growing_shown_at = effect, self.offset
        else:
            self._add(effect)

    def list_of(self, kind: type[_Growing], at_ms: int) -> _Growing | None:
        """The fact before, if it is a list of this kind and time."""
        last = self.history.growing
        return last if isinstance(last, kind) and last.at_ms == at_ms else None

    def end_list(self) -> None:
        """Nothing is added to the fact before."""
        if (last := self.history.growing) is not None:
            with self.shown_at(self.history.growing_shown_at):
                self._add(last)
            self.history.growing, self.history.growing_shown_at = None, NO_RECORD

    def end_list_before(self, at_ms: int) -> None:
        """A record of this time is next."""
        if self.history.growing is not None and self.history.growing.at_ms != at_ms:
            self.end_list()

    @contextmanager
    def shown_at(self, offset: int) -> Iterator[None]:
        """What is emitted meanwhile is shown by another record than the one at hand, or by none."""
        before, self.offset = self.offset, offset
        try:
            yield
        finally:
            self.offset = before

    def type_changed(
        self, from_type: GroupType | None, to_type: GroupType, why: str, at_ms: int, client_id: str = ""
    ) -> None:
        """The group is under another protocol from now on, going on from the generation or epoch that it has."""
        self.emit(makers.type_changed(at_ms, from_type, to_type, why, self.history.generation_id, client_id))

    def joined(
        self, member: Member, at_ms: int, *, is_inferred: bool = False, replaces_member_id: str | None = None
    ) -> None:
        self.emit(makers.member_joined(at_ms, member, member.terms, replaces_member_id, is_inferred=is_inferred))

    def subscribed(self, member: Member, at_ms: int) -> None:
        """What a member of a consumer group subscribes to."""
        kind = GroupType.CLASSIC if member.is_classic else GroupType.CONSUMER
        subscription = (member.topics or [], member.pattern, member.server_assignor, kind)
        self.emit(makers.member_subscribed(at_ms, member, subscription))

    def removed(self, member: Member, at_ms: int, verdict: Verdict, replaced_by: str | None = None) -> None:
        """A member was removed; verdict: how, as far as it is known."""
        self.emit(
            makers.member_removed(
                *(at_ms, member, self.history.generation_id, verdict.end_cause),
                replaced_by=replaced_by,
                is_inferred=verdict.is_inferred,
                candidates=verdict.candidates,
            )
        )

    def assigned(self, member: Member, at_ms: int, generation_id: int, assignment: bytes = b"") -> None:
        """A member owns `held`, with topic names if known; nothing is emitted for opaque bytes."""
        partitions = None if member.topics is None and assignment else self.partitions(member.held)
        self.emit(makers.assigned(at_ms, member, generation_id, partitions, assignment))

    def epoch_ended(self, at_ms: int, outcome: str, members_after: int) -> None:
        """Ends the rebalance of a consumer group under way, if there is one. The records do not show who waited for
        whom."""
        history, running = self.history, self.history.rebalance
        if running is None:
            return
        history.rebalance = None
        if outcome == "completed":
            history.longest_rebalance_ms = max(history.longest_rebalance_ms, at_ms - running.started_at_ms)
        to_epoch = running.from_generation_id + 1
        self.emit(makers.rebalance_ended(at_ms, running, to_epoch, outcome, members_after))

    def partitions(self, held: Mapping[str, Iterable[int]]) -> list[TopicPartitions]:
        """What is held, by topic."""
        found: dict[str, list[int]] = {}
        for topic_id, numbers in held.items():
            found.setdefault(self._name_of(topic_id), []).extend(numbers)
        return of_topics(found)

    def holds(self, member: Member, topic: str, partition: int) -> bool:
        """Whether a member of a consumer group owns a partition, by its topic's name."""
        return any(partition in numbers and self._name_of(one) == topic for one, numbers in member.held.items())

    def _name_of(self, topic_id: str) -> str:
        """A topic's id stands for its name if that is not known."""
        return self.history.topic_names.get(topic_id) or self._names.get(topic_id) or topic_id

    def _add(self, effect: Effect) -> None:
        shown_by = "" if self.offset == NO_RECORD else name_of_record(self.history.partition, self.offset)
        self.facts.append(ShownEffect(effect, shown_by))

    def state(self, at_ms: int, to_state: str, from_state: str | None = None) -> None:
        """The group is in another state. from_state: the one before, if it is not the last emitted."""
        from_state = from_state or self.history.state or to_state
        self.emit(makers.state_changed(at_ms, self.history, from_state, to_state))
        self.history.state = to_state


def candidates_of(member: Member, verdict: Verdict) -> list[CauseCandidate]:
    """The causes that a member's end may be, by what is known of it."""
    ends = verdict.candidates or (verdict.end_cause,)
    return [candidate(CauseKind(end.value), member) for end in ends if end is not EndCause.UNKNOWN]


def candidate(kind: CauseKind, member: Member | None = None) -> CauseCandidate:
    if member is None:
        return CauseCandidate(kind=kind)
    return CauseCandidate(kind=kind, member_id=member.member_id, client_id=member.name)
