"""The groups of request logs and dumps in the shape that those of printed lines have, beside these.

Rebalances are the recordings', as they are beside the lines. Lines add findings, and rebalances of other generations.
Knows facts and shapes. Must not know files, nor how anything is worded.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from rollcall.history.facts import Fact, effects_in
from rollcall.history.kinds import CONSUMER_GROUP, GroupKind, kind_at, kinds_of
from rollcall.history.members import Membership, Names, memberships_of
from rollcall.history.parts import course_of, culprit_among, terms_of
from rollcall.history.rebalances import Rebalance, rebalances_of
from rollcall.history.sentences import Terms
from rollcall.history.words import some
from rollcall.inputs.believed_lines import Beside, beside, span
from rollcall.inputs.merged_facts import GroupRecorded
from rollcall.inputs.offsets_topic import record_in
from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import CLASSIC, Holder, LoggedGroup, LoggedRebalance, Source
from rollcall.inputs.recordings import Recordings
from rollcall.schemas.causes import Cause
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import Effect, GroupFound, GroupNotCovered, RebalanceStarted

_at_ms = attrgetter("at_ms")


def beside_lines(recordings: Recordings, printed: Sequence[LoggedGroup], clock: Clock) -> list[LoggedGroup]:
    """Every group, by whichever input has it. clock: that of the recordings' times."""
    by_lines = {group.group_id: group for group in printed}
    found, undated = [], []
    for group_id, recorded in recordings.groups.items():
        lines = by_lines.pop(group_id, None)
        both = None if lines is None else beside(lines, recorded)
        group = _logged_group(group_id, recorded, both, clock)
        found.append(group)
        if both is not None:
            recordings.left_out += both.refused
        if not group.rebalances and group.group_type not in (CLASSIC, CONSUMER_GROUP):
            recordings.left_out.append(
                f"What {group_id} did: it is a {group.group_type} group, whose records are not read."
            )
        if both is not None and both.is_at_other_times:
            recordings.left_out.append(
                f"What the lines add to the rebalances of {group_id}: they have the same generations at other times. "
                "--zone names the zone of times that are printed without one."
            )
        undated += [group_id] if both is not None and both.is_undated else []
    if undated:
        recordings.left_out.append(
            f"What the lines add to the rebalances of {some(sorted(undated))}: they have the same generations, and "
            "times without a date."
        )
    return [*found, *by_lines.values()]


def _logged_group(group_id: str, recorded: GroupRecorded, both: Beside | None, clock: Clock) -> LoggedGroup:
    """A group by what is recorded of it, with the findings of lines, and their evidence of the same rebalances."""
    history = _History(group_id, recorded, both, clock)
    rebalances, group_type = [*history.rebalances()], _type_of(history.effects)
    if both is None:
        return LoggedGroup(group_id, group_type, [], rebalances)
    if not rebalances:
        return both.lines
    own = [replace(one, terms=history.terms(one.cause, *span(one))) for one in both.own]
    rebalances = sorted([*rebalances, *own], key=lambda one: (span(one)[0], one.generation_id or 0))
    return LoggedGroup(group_id, group_type, both.lines.facts, rebalances, both.lines.findings)


def _type_of(effects: Sequence[Effect]) -> str:
    """The group's latest type."""
    for effect in reversed(effects):
        match effect:
            case GroupTypeChanged():
                return str(effect.to_type)
            case GroupFound():
                return effect.group_type
            case GroupNotCovered():
                return effect.why
            case _:
                pass
    return CLASSIC


class _History:
    """One group's facts."""

    def __init__(self, group_id: str, recorded: GroupRecorded, both: Beside | None, clock: Clock) -> None:
        self._group_id, self._recorded, self._clock = group_id, recorded, clock
        self._facts, self._same = (recorded.facts, {}) if both is None else (both.facts, both.same)
        self.effects = [*effects_in(self._facts)]
        self._kinds, memberships = kinds_of(self.effects), memberships_of(self.effects)
        self._coming, self._present = memberships[::-1], list[Membership]()
        self._of_member = defaultdict[str, list[Membership]](list)
        for one in memberships:
            self._of_member[one.member_id].append(one)

    def rebalances(self) -> Iterator[LoggedRebalance]:
        """Those of the facts, each with the lines and the records of its beginning and its end."""
        fact_of = {id(fact.content): fact for fact in self._facts}
        shown_by = {fact.seq: fact.request_id for fact in self._recorded.facts}
        for one in rebalances_of(self.effects):
            own = [fact_of[id(effect)] for effect in one.effects]
            shown = [(fact, shown_by.get(fact.seq, "")) for fact in own]
            lines = {id(same): same for effect in one.effects for same in self._same.get(id(effect), ())}
            is_logged = any(fact.seq < self._recorded.topic_from_seq for fact in own)
            end_ms = self._facts[-1].at_ms if one.ended_at_ms is None else one.ended_at_ms
            kind = kind_at(self._kinds, end_ms)
            of_topic = Source.TOPIC_AND_LINES if lines else Source.TOPIC
            yield LoggedRebalance(
                group_id=self._group_id,
                from_generation_id=one.from_generation_id,
                generation_id=one.leads_to,
                began_at_ms=one.started_at_ms if one.is_start_known else None,
                ended_at_ms=one.ended_at_ms if one.is_end_known else None,
                clock=self._clock,
                outcome=(one.outcome or "") if one.is_end_known else "",
                cause=one.cause,
                members=one.members_after,
                terms=self.terms(one.cause, one.started_at_ms, end_ms),
                held_by=self._holder(one, end_ms, kind),
                source=Source.REQUEST_LOG if is_logged else of_topic,
                facts=[
                    *(self._line(fact, place) for fact, place in shown if place and not record_in(place)),
                    *(fact for same in lines.values() for fact in same.facts),
                ],
                records=[*dict.fromkeys(record for _, place in shown if (record := record_in(place)))],
            )

    def terms(self, cause: Cause, began_ms: int, end_ms: int) -> Terms:
        """Return what is recorded of who set a rebalance off."""
        culprit = culprit_among(self._of_member[cause.member_id], cause, began_ms, end_ms)
        return terms_of(culprit, kind_at(self._kinds, end_ms))

    def _line(self, fact: Fact, place: str) -> LoggedFact:
        """The request that brought a fact about. Its id names its file and line."""
        file, _, line = place.rpartition(":")
        kind = FactKind.REBALANCE_BEGAN if isinstance(fact.content, RebalanceStarted) else FactKind.ASSIGNMENT_RECEIVED
        number = int(line.partition("/")[0])
        return LoggedFact(kind, file, number, fact.at_ms, self._clock, dialect=Source.REQUEST_LOG)

    def _holder(self, one: Rebalance, end_ms: int, kind: GroupKind) -> Holder | None:
        """Who kept the others waiting longest, if for long enough to be named."""
        slowest = one.slowest
        if slowest is None or not one.is_start_known:
            return None
        # Who went before is in no later rebalance, and in a long history most did.
        while self._coming and self._coming[-1].joined_at_ms <= end_ms:
            self._present.append(self._coming.pop())
        around = self._present = [each for each in self._present if each.is_member_in(one.started_at_ms, end_ms)]
        first = bisect_left(self._facts, one.started_at_ms, key=_at_ms)
        facts = self._facts[first : bisect_right(self._facts, end_ms, key=_at_ms)]
        course = course_of(facts, one, around, end_ms, Names(around), kind)
        part = next(part for part in course.parts if part.member_id == slowest.member_id)
        why = kind.delay(course, part)
        return Holder(slowest.held_others_ms, slowest.member_id, False, why, client_id=slowest.client_id)
