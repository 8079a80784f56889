"""Which input each era of a group is taken from: the log, if it saw the group from its creation or from a generation
that both name; otherwise the topic. Knows eras, and what is remembered of earlier ones. Must not know how facts are
used.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from rollcall.history.facts import Fact
from rollcall.inputs.offsets_topic.beside_log.eras import NO_GROUP, Era, Reached, is_conversion
from rollcall.inputs.tolerances import SAME_FACT_WITHIN_MS, is_near
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import GroupObserved, MemberRemoved

FOREVER_MS = 1 << 62
_KEPT_GENERATIONS = 256
_STEPS = (EffectName.ASSIGNED, EffectName.MEMBER_PROGRESSED)
"""A member's own steps towards an epoch: by the topic's clock one may come when the log's next era has begun."""


class Difference(NamedTuple):
    """A generation on which the inputs differ."""

    at_ms: int
    what: str
    log: str
    topic: str


class Until(NamedTuple):
    """Up to which moments facts are known."""

    heard_ms: int
    """All facts of both."""
    decided_ms: int
    """Facts up to then can be decided."""
    log_ms: int = FOREVER_MS
    """The last moment that the log covers."""
    topic_ms: int = FOREVER_MS
    """The last moment that the topic covers."""
    whole_from_ms: int = -1
    """From when on the topic has every record: before, compaction may have left some out."""


class Before(msgspec.Struct):
    """What is remembered of eras that are decided."""

    log: Reached = msgspec.field(default_factory=Reached)
    topic: Reached = msgspec.field(default_factory=Reached)
    is_log_reporting: bool = False
    """Whether the open era is the log's."""
    is_logged: bool = False
    """Whether the log also has the topic's open era."""
    logged: list[int] = []
    """The last generations taken from the log."""
    topic_from_ms: int | None = None
    """From when on the topic has records of the group; None: not yet."""


class Choice:
    """Decides for each era of both inputs which one it is taken from. The first era of either continues an earlier one.
    log_count, topic_count: how many eras are decided. waits_from_ms: when the log's first undecided era began.
    """

    def __init__(self, before: Before, log: Sequence[Era], topic: Sequence[Era], until: Until) -> None:
        self._before, self._log, self._topic, self._until = before, log, topic, until
        self.is_log_reporting = before.is_log_reporting
        """Whether the next era is the log's."""
        self._next = 1
        """The topic's first era that is neither taken from the log nor passed over."""
        self._thinned_from_ms = self._used_from_ms()
        """From when on the log is used, beside a topic that lacks records of that time."""
        self._elsewhere = list(self._times_elsewhere()) if until.whole_from_ms >= 0 else []
        self._turn_times, self._turns = [-1], [self.is_log_reporting]
        """When the choice of the log begins and ends."""
        self._is_reported = [self.is_log_reporting]
        """For each era of the log, whether it is taken from the log."""
        self._logged = {0} if before.is_logged else set[int]()
        """The topic's eras that are taken from the log."""
        self._changed_ms: list[int] = []
        """When the group became one of the other type, by the topic."""
        self._gone: dict[str | None, list[int]] = {}
        """When each member went, by the topic."""
        for one in chain.from_iterable((*era.forming, *era.tail) for era in topic):
            if is_conversion(one):
                self._changed_ms.append(one.at_ms)
            elif isinstance(one.content, MemberRemoved):
                self._gone.setdefault(one.member_id, []).append(one.at_ms)
        self._named: set[int] = set()
        """The log's eras whose generation the topic has as well."""
        self.waits_from_ms = FOREVER_MS
        self.compared = 0
        self.differences: list[Difference] = []
        self._walk(before)

    @property
    def log_count(self) -> int:
        return len(self._is_reported)

    @property
    def topic_count(self) -> int:
        return self._next

    @property
    def is_logged(self) -> bool:
        """Whether the topic's latest era is taken from the log."""
        return self._next - 1 in self._logged

    def does_log_report(self, place: int, fact: Fact, *, is_tail: bool) -> bool:
        """Whether a fact of one of the log's eras holds. is_tail: it happened after that era's rebalance."""
        if self._does_log_report_at(fact.at_ms) if is_tail else self._is_reported[place]:
            return True
        return (is_tail or place not in self._named) and self._is_alone(fact.at_ms)

    def does_topic_report(self, place: int, fact: Fact, *, is_tail: bool) -> bool:
        """Likewise, of one of the topic's."""
        if place not in self._logged and (not is_tail or self._topic[place].number != NO_GROUP):
            return True
        if is_tail:
            return fact.at_ms > self._until.log_ms or not self._does_log_report_at(fact.at_ms)
        was_reported = self._does_log_report_at(self._topic[place].began_ms)
        return fact.effect in _STEPS and was_reported and not self._does_log_report_at(fact.at_ms)

    def _is_alone(self, at_ms: int) -> bool:
        """Whether the topic has nothing of a moment."""
        from_ms = self._before.topic_from_ms
        return from_ms is None or at_ms < from_ms or at_ms > self._until.topic_ms

    def _does_log_report_at(self, at_ms: int) -> bool:
        return self._turns[bisect_right(self._turn_times, at_ms) - 1]

    # ------------------------------------------------------------ the walk

    def _walk(self, before: Before) -> None:
        for era in self._log[1:]:
            place = self._same_era(era)
            if self._must_wait(era, place):
                self.waits_from_ms = era.began_ms
                break
            if place is not None:
                self._pass_over(place)
                self._next = place + 1
                self._named.add(len(self._is_reported))
            elif self._is_inferred_again(era) or self._is_behind(era):
                self._named.add(len(self._is_reported))
            elif era.at_ms > self._until.topic_ms:
                self._pass_over(len(self._topic))
            self.is_log_reporting = self._is_reported_by_log(era, place)
            if self.is_log_reporting:
                earlier = before.logged if era.number else []
                before.logged = [*earlier, era.number][-_KEPT_GENERATIONS:]
                self._logged |= set() if place is None else {place}
            # A found group has no rebalance: the one that led there is the log's, if it has it.
            is_alone = self._is_alone(era.at_ms) if place is None else self._topic[place].is_found
            self._is_reported.append(self.is_log_reporting or (is_alone and era.has_beginning))
            self._turn(min(era.began_ms, self._thinned_from_ms) if era is self._log[1] else era.began_ms)
        ready_ms = min(self._until.decided_ms, self.waits_from_ms - SAME_FACT_WITHIN_MS - 1)
        last = next((n for n in range(self._next, len(self._topic)) if self._topic[n].at_ms > ready_ms), None)
        self._pass_over(len(self._topic) if last is None else last)

    def _turn(self, from_ms: int) -> None:
        self._turn_times.append(max(from_ms, self._turn_times[-1]))
        self._turns.append(self.is_log_reporting)

    def _pass_over(self, place: int) -> None:
        """The topic's eras before a place are not in the log, or differ there."""
        for passed, era in enumerate(self._topic[self._next : place], self._next):
            if era.number > 0:
                if self._is_logs_alone(era):
                    self._logged.add(passed)
                elif self._thinned_from_ms == FOREVER_MS or era.at_ms > self._until.log_ms:
                    self.is_log_reporting = False
                    self._turn(era.began_ms)
        self._next = max(self._next, place)

    def _same_era(self, era: Era) -> int | None:
        """The place of the topic's era that has the same generation at the same time."""
        if era.is_gap or era.number == NO_GROUP:
            return None
        for place in range(self._next, len(self._topic)):
            other = self._topic[place]
            if other.began_ms > era.at_ms + SAME_FACT_WITHIN_MS:
                break
            if other.number == era.number and is_near(other.at_ms, era.at_ms):
                return place
        return None

    def _is_inferred_again(self, era: Era) -> bool:
        """Whether the log only infers a generation that the topic has at that time."""
        return era.is_gap and any(
            one.number == era.number != NO_GROUP and is_near(one.ended_ms or one.at_ms, era.at_ms)
            for one in self._topic
        )

    def _is_behind(self, era: Era) -> bool:
        """Whether just after the topic's end the log shows a generation that had ended by the topic."""
        ended_ms, last = self._until.topic_ms, self._topic[-1]
        return 0 < era.number < last.number and ended_ms < era.at_ms <= ended_ms + SAME_FACT_WITHIN_MS

    def _must_wait(self, era: Era, place: int | None) -> bool:
        """Whether later facts may change the decision on an era."""
        if self._until.decided_ms == FOREVER_MS:
            return False
        if era.at_ms > self._until.decided_ms:
            return True
        if place is not None and not self._topic[place].is_over:
            return self._topic[place] is self._topic[-1]
        is_open = era is self._log[-1] and not era.is_over and (self.is_log_reporting or not era.is_consumer)
        return is_open and not any(
            one.number >= era.number and one.is_over and one.ended_ms <= self._until.decided_ms
            for one in self._topic[self._next :]
        )

    def _is_reported_by_log(self, era: Era, place: int | None) -> bool:
        is_begun_before = era.number == 0 and era is self._log[1] and self._has_group(era.at_ms)
        if self._is_logs_alone(era) and not is_begun_before:
            if place is not None and not era.is_consumer:
                self._agree(era, self._topic[place])
            return True
        if era.is_gap or era.number == NO_GROUP:
            return self.is_log_reporting and not era.is_gap
        if era.number == 0:
            # The log may have a group's creation only because it observed the group at that moment.
            after = self._log[len(self._is_reported) + 1 :][:1]
            is_observed = any(one.is_gap and one.began_ms == era.began_ms for one in after)
            return not self._has_group(era.at_ms) if place is None else not is_observed
        # The subscription and the target of a consumer group's member come only with its join.
        if not era.has_beginning or (era.is_consumer and not self.is_log_reporting):
            return False
        if place is None:
            is_last = era is self._log[-1] and self._next == len(self._topic)
            return self._is_alone(era.at_ms) or (is_last and self.is_log_reporting and not era.is_over)
        other, earlier = self._topic[place], self._topic[place - 1]
        if other.is_found:
            return self.is_log_reporting
        is_ongoing = not (era.is_over or other.is_over)
        is_as_long = is_ongoing or (era.is_over and era.ended_ms <= other.ended_ms + SAME_FACT_WITHIN_MS)
        # A change of type ends a rebalance in the topic, and the log may end it only after that.
        ends_late = era.is_over and any(other.began_ms < at_ms < era.ended_ms for at_ms in self._changed_ms)
        if not is_as_long or ends_late or era.members_before != other.members_before:
            return False
        if era.is_consumer and any(map(self._stays, era.forming)):
            return False
        is_seen = self.is_log_reporting or (era.is_cause_known and earlier.ended_ms < era.began_ms)
        return is_seen and self._agree(era, other)

    def _stays(self, fact: Fact) -> bool:
        """Whether the log only infers that a member went, and the topic has it still."""
        if not (isinstance(fact.content, MemberRemoved) and fact.content.is_inferred):
            return False
        return all(abs(at_ms - fact.at_ms) > SAME_FACT_WITHIN_MS for at_ms in self._gone.get(fact.member_id, ()))

    def _is_logs_alone(self, era: Era) -> bool:
        """Whether an era of either is the log's, whatever the topic has: the log had the group already when compaction
        left records out of the topic. Its silence proves nothing then, and what it has does not continue the log's.
        """
        is_logged = self._thinned_from_ms <= era.began_ms and era.at_ms <= self._until.log_ms
        return is_logged and not self._is_elsewhere(era)

    def _is_elsewhere(self, era: Era) -> bool:
        """Whether the log lacked the group at that time, in which the topic has generations of it."""
        return any(from_ms <= era.began_ms < to_ms for from_ms, to_ms in self._elsewhere)

    def _used_from_ms(self) -> int:
        """When the log's first era began by either input, if the topic lacks records of that time."""
        first = self._log[1] if len(self._log) > 1 else None
        if first is None or first.began_ms >= self._until.whole_from_ms:
            return FOREVER_MS
        place = self._same_era(first)
        return first.began_ms if place is None else min(first.began_ms, self._topic[place].began_ms)

    def _times_elsewhere(self) -> Iterator[tuple[int, int]]:
        """From when to when the log's broker lacked the group while the topic has generations of it."""
        for place, away in enumerate(self._log):
            if not (away.is_gap and _is_away(away)):
                continue
            later = (one.began_ms for one in self._log[place + 1 :] if one.number != NO_GROUP or not _is_away(one))
            back_ms = next(later, FOREVER_MS)
            if any(one.number > 0 and away.began_ms < one.began_ms < back_ms for one in self._topic):
                yield away.began_ms, back_ms

    def _has_group(self, at_ms: int) -> bool:
        """Whether there was a group, by the topic."""
        if at_ms < self._until.whole_from_ms:
            # The record of its creation may be missing, so that it was found with the next one.
            at_ms = max(at_ms - SAME_FACT_WITHIN_MS, -1)
        return next(one for one in reversed(self._topic) if one.began_ms <= at_ms).number != NO_GROUP

    def _agree(self, era: Era, other: Era) -> bool:
        """Whether both agree on a generation. For a consumer group the log decides."""
        common = [key for key in other.details if key in era.details]
        self.compared += len(common)
        differing = next((key for key in common if other.details[key] != era.details[key]), None)
        if differing is None:
            return True
        what = f"{differing} of generation {era.number}"
        self.differences.append(Difference(other.at_ms, what, era.details[differing], other.details[differing]))
        return era.is_consumer


def _is_away(era: Era) -> bool:
    """Whether the log's broker has no group, or is away, as an era begins."""
    if not era.forming:
        return True
    first = era.forming[0].content
    return isinstance(first, GroupObserved) and first.is_away
