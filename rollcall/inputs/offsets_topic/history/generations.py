"""Why a classic generation was formed, inferred from the difference to the one before.

The rules, with their reasons, stand in docs/offsets-topic.md under "Why a classic generation came about"; change both
together. Knows two generations; must not know a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollcall.inputs.offsets_topic.history.departures import Verdict
from rollcall.inputs.offsets_topic.history.state import Member
from rollcall.inputs.offsets_topic.history.story import candidate, candidates_of
from rollcall.schemas import makers
from rollcall.schemas.causes import OF_AN_UNSEEN_GENERATION, Cause, CauseCandidate, CauseKind, EndCause


@dataclass(frozen=True)
class Change:
    """From one generation in the topic to the next one in it."""

    before: Sequence[Member]
    came: Sequence[Member]
    gone: Sequence[tuple[Member, Verdict]]
    """Each with how it left."""
    stayed: Sequence[tuple[Member, Member]]
    """Each as it was and as it is."""
    replaced: Sequence[tuple[Member, Member]]
    """Likewise, where a static member came back under another id."""
    leader_id: str | None
    generations: int
    """By how much the number rose; more than one if generations never got an assignment."""
    was_followup_due: bool
    partition_counts: Mapping[str, int]

    @property
    def now(self) -> list[Member]:
        return [*self.came, *(new for _, new in (*self.stayed, *self.replaced))]

    @property
    def is_followup_next(self) -> bool:
        """Whether known partitions have no owner now: the next round of a cooperative rebalance is due. They were taken
        from members that stay, or belong to a topic whose other partitions have owners.
        """
        given: dict[str, set[int]] = {}
        for one in self.now:
            for topic, numbers in one.held.items():
                given.setdefault(topic, set()).update(numbers)
        taken = any(
            not given.get(topic, set()).issuperset(numbers)
            for old, new in self.stayed
            for topic, numbers in old.held.items()
            if topic in (new.topics or ())
        )
        # Counted, not iterated: a hostile record may have any partition number.
        counts = ((numbers, self.partition_counts.get(topic, 0)) for topic, numbers in given.items())
        return taken or any(sum(0 <= number < count for number in numbers) < count for numbers, count in counts)

    @property
    def has_new_topics_or_partitions(self) -> bool:
        """Whether a member that stays has other topics, or a topic has more partitions than ever before."""
        if any(old.topics != new.topics for old, new in (*self.stayed, *self.replaced)):
            return True
        return any(
            numbers and topic in self.partition_counts and max(numbers) >= self.partition_counts[topic]
            for one in self.now
            for topic, numbers in one.held.items()
        )


def cause_of(change: Change) -> Cause:
    """What set the rebalance off, as far as the two generations and the commits in between show it."""
    if not change.before:
        return _from_empty(change)
    candidates = _candidates(change)
    if change.generations > 1:
        known = {one.kind for one in candidates}
        return _unknown([*candidates, *(candidate(kind) for kind in OF_AN_UNSEEN_GENERATION if kind not in known)])
    if not candidates:
        return _unknown([candidate(CauseKind.MEMBER_REJOINED), candidate(CauseKind.METADATA_CHANGED)])
    left = _left_and_came_back(change)
    if left is not None:
        return makers.cause_by(CauseKind.MEMBER_LEFT, left, is_inferred=True)
    return makers.cause_among(candidates, (*change.now, *change.before))


def _from_empty(change: Change) -> Cause:
    """In a group without members only a JoinGroup starts a rebalance, and the first to join leads while it stays."""
    if not change.came or change.generations > 1:
        # The member that joined may have left before its assignment came.
        return Cause(kind=CauseKind.MEMBER_JOINED, is_inferred=True)
    if len(change.came) == 1:
        return makers.cause_by(CauseKind.MEMBER_JOINED, change.came[0])
    first = next((one for one in change.came if one.member_id == change.leader_id), None)
    if first is not None:
        return makers.cause_by(CauseKind.MEMBER_JOINED, first, is_inferred=True)
    return makers.cause_among([candidate(CauseKind.MEMBER_JOINED, one) for one in change.came], change.came)


def _candidates(change: Change) -> list[CauseCandidate]:
    found = [candidate(CauseKind.MEMBER_JOINED, one) for one in change.came]
    for member, verdict in change.gone:
        found += candidates_of(member, verdict)
    found += [candidate(CauseKind.STATIC_MEMBER_REPLACED, new) for _, new in change.replaced]
    if change.was_followup_due:
        found.append(candidate(CauseKind.COOPERATIVE_FOLLOWUP))
    elif change.has_new_topics_or_partitions:
        found.append(candidate(CauseKind.METADATA_CHANGED))
    return found


def _left_and_came_back(change: Change) -> Member | None:
    """The only client that left, where the only one that joined is the same: it left first."""
    came = {(one.name, one.client_host) for one in change.came}
    went = [member for member, verdict in change.gone if verdict.end_cause is EndCause.MEMBER_LEFT]
    is_plain = not (change.was_followup_due or change.replaced or change.has_new_topics_or_partitions)
    is_back = is_plain and len(went) == len(change.gone) == 1 and came == {(went[0].name, went[0].client_host)}
    return went[0] if is_back else None


def _unknown(candidates: list[CauseCandidate]) -> Cause:
    return Cause(kind=CauseKind.UNKNOWN, is_inferred=True, candidates=tuple(candidates))
