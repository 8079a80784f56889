"""A classic group's rebalances, from its coordinator's lines.

`Preparing to rebalance` begins one and says why, `Stabilized` ends its join phase, `Assignment received` completes it.
Lines are missing in what people keep: what a missing line would have said stays unknown. Knows one group's facts in
order. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollcall.inputs.printed.groups.consumer_history import downgraded_by
from rollcall.inputs.printed.groups.holders import TOGETHER_MS, Before, holder_of
from rollcall.inputs.printed.groups.reasons import DOWNGRADED, Causes, cause_of_going, read_reason
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance, rebalance_of

_GOES = (FactKind.MEMBER_LEFT, FactKind.MEMBER_EXPIRED)
_ENDS_THE_STORY = (FactKind.GROUP_TAKEN_OVER, FactKind.GROUP_UNLOADED, FactKind.GROUP_DIED, FactKind.GROUPS_DELETED)


def classic_rebalances(facts: Sequence[LoggedFact], log_ends_ms: float | None) -> list[LoggedRebalance]:
    """The rebalances of one group, in order. log_ends_ms: the time up to which all lines are read."""
    history = _History(facts, log_ends_ms)
    for place, fact in enumerate(facts):
        history.take(place, fact)
    history.close("")
    history.causes.settle()
    return history.found


class _History:
    def __init__(self, facts: Sequence[LoggedFact], log_ends_ms: float | None) -> None:
        self.facts = facts
        self.before = Before(facts)
        self.causes = Causes(facts, log_ends_ms)
        self.found: list[LoggedRebalance] = []
        self.running: LoggedRebalance | None = None
        self.removed: list[LoggedFact] = []
        """Members that left or expired since the latest rebalance began: the next one may be theirs."""

    def take(self, place: int, fact: LoggedFact) -> None:
        """One line, in order."""
        self.causes.take(place, fact)
        match fact.kind:
            case FactKind.REBALANCE_BEGAN:
                self._begin(place, fact)
            case FactKind.JOIN_PHASE_ENDED:
                self._end_join_phase(fact)
            case FactKind.ASSIGNMENT_RECEIVED:
                self._complete(fact)
            case FactKind.GROUP_EMPTIED | FactKind.NOBODY_BACK:
                self._empty(fact)
            case kind if kind in _GOES:
                self.removed.append(fact)
                self._add(fact)
                self._blame_for_emptying()
            case FactKind.GROUP_DIED if self._is_over(fact):
                self._empty(fact)
                self.close("empty")
            case kind if kind in _ENDS_THE_STORY or _is_under_the_newer(fact):
                self.close("")
            case _:
                self._add(fact)

    def _is_over(self, fact: LoggedFact) -> bool:
        """Whether a group is removed in the generation that the running rebalance began in: it had no end of its own.

        Kafka 0.9 removes a group as its last member goes.
        """
        running = self.running
        return (
            running is not None
            and running.joined_at_ms is None
            and fact.generation_id is not None
            and fact.generation_id == running.from_generation_id
        )

    def close(self, outcome: str) -> None:
        """The running rebalance is as far as the lines have it."""
        if self.running is not None:
            self.running.outcome = self.running.outcome or outcome
            self.running.held_by = holder_of(self.running, self.before)
            self.found.append(self.running)
            self.running = None

    def _add(self, fact: LoggedFact) -> None:
        if self.running is not None:
            self.running.facts.append(fact)

    def _begin(self, place: int, fact: LoggedFact) -> None:
        self.close("superseded" if self._goes_on(fact) else "")
        self.running = rebalance_of(fact)
        self.running.from_generation_id = fact.generation_id
        self.running.generation_id = None if fact.generation_id is None else fact.generation_id + 1
        self.running.began_at_ms = fact.at_ms
        downgraded = downgraded_by(self.facts, place) if DOWNGRADED in fact.reason else None
        if downgraded is None:
            reason = read_reason(fact.reason)
            self.running.cause = self.causes.of(place, reason, self.running, self.removed)
            gone = [one for one in self.removed if one.member_id == self.running.cause.member_id]
        else:
            self.running.cause, gone = downgraded[0], [downgraded[1]]
        self.running.facts = [*gone, fact]
        self.removed = []

    def _goes_on(self, fact: LoggedFact) -> bool:
        """Whether a rebalance that begins follows the running one, whose assignment is awaited: no line is missing."""
        running = self.running
        return running is not None and running.joined_at_ms is not None and fact.generation_id == running.generation_id

    def _end_join_phase(self, fact: LoggedFact) -> None:
        running = self._of_generation(fact)
        running.joined_at_ms = fact.at_ms
        running.members = fact.members
        running.facts.append(fact)

    def _complete(self, fact: LoggedFact) -> None:
        running = self._of_generation(fact)
        running.ended_at_ms = fact.at_ms
        running.members = running.members if fact.members is None else fact.members
        running.outcome = "completed"
        running.facts.append(fact)
        self.close("completed")

    def _empty(self, fact: LoggedFact) -> None:
        running = self.running if fact.kind is FactKind.GROUP_DIED else None
        if running is not None:
            running.generation_id = None  # None was formed.
        running = running or self._of_generation(fact)
        running.ended_at_ms = fact.at_ms
        running.members = 0
        running.outcome = "empty"
        running.facts.append(fact)
        if fact.kind is FactKind.GROUP_EMPTIED:
            self._count_before(running)
            self.close("empty")
            self._blame_for_emptying()

    def _count_before(self, emptied: LoggedRebalance) -> None:
        """Where one member's end emptied a group at once, it had been alone in the generation before."""
        before = self.found[-1] if self.found else None
        gone = {one.member_id for one in (*emptied.facts, *self.removed) if one.kind in _GOES}
        is_at_once = emptied.began_at_ms is not None and (emptied.ended_at_ms or 0) - emptied.began_at_ms <= TOGETHER_MS
        if before is None or before.members is not None or len(gone) != 1 or not is_at_once:
            return
        if before.joined_at_ms is not None and before.generation_id == emptied.from_generation_id:
            before.members = 1
            before.held_by = holder_of(before, self.before)

    def _blame_for_emptying(self) -> None:
        """Who emptied a group whose rebalance has no line of its beginning: who went at that moment."""
        last = self.found[-1] if self.found and self.running is None else None
        if last is None or last.outcome != "empty" or last.began_at_ms is not None or last.cause.member_id:
            return
        for one in self.removed:
            if one.at_ms is None or last.ended_at_ms is None or abs(one.at_ms - last.ended_at_ms) > TOGETHER_MS:
                continue
            last.facts.append(one)
            last.cause = cause_of_going(one)

    def _of_generation(self, fact: LoggedFact) -> LoggedRebalance:
        """The rebalance that led to the line's generation: the running one, or one whose beginning is missing."""
        running = self.running
        if running is not None and fact.generation_id is not None:
            if running.generation_id is None:
                running.generation_id = fact.generation_id
            elif running.generation_id != fact.generation_id:
                self.close("")
        if self.running is None:
            self.running = rebalance_of(fact)
            self.running.generation_id = fact.generation_id
            self.removed = []
        return self.running


def _is_under_the_newer(fact: LoggedFact) -> bool:
    """Whether the group is a consumer group from this line on: no later line is of a classic group's rebalance."""
    is_upgrade = fact.kind is FactKind.GROUP_CONVERTED and fact.to_state == "consumer"
    return is_upgrade or fact.kind is FactKind.EPOCH_BUMPED
