"""A classic group's rebalances, from its coordinator's lines.

`Preparing to rebalance` begins one and says why, `Stabilized` ends its join phase, `Assignment received` completes it.
Lines are missing in what people keep: what a missing line would have said stays unknown. Knows one group's facts in
order. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from rollcall.inputs.printed.groups.consumer_history import downgraded_by
from rollcall.inputs.printed.groups.holders import TOGETHER_MS, Before, holder_of
from rollcall.inputs.printed.groups.reasons import DOWNGRADED, NOT_PROVIDED, Reason, left, read_reason
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance, client_id_of, concluded, rebalance_of
from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind

BACK_WITHIN_MS = 5_000
"""A client that polled too late comes back, as a rule within seconds. One that did not for this long has closed."""
_COMES_BACK = (FactKind.MEMBER_ID_GIVEN, FactKind.MEMBER_ADDED, FactKind.STATIC_MEMBER_REPLACED)
_BROUGHT_BY = {
    FactKind.MEMBER_ADDED: CauseKind.MEMBER_JOINED,
    FactKind.MEMBER_EXPIRED: CauseKind.SESSION_EXPIRED,
}
_GOES = (FactKind.MEMBER_LEFT, FactKind.MEMBER_EXPIRED)
_ENDS_THE_STORY = (FactKind.GROUP_TAKEN_OVER, FactKind.GROUP_UNLOADED, FactKind.GROUP_DIED, FactKind.GROUPS_DELETED)


def classic_rebalances(facts: Sequence[LoggedFact], log_ends_ms: float | None) -> list[LoggedRebalance]:
    """The rebalances of one group, in order. log_ends_ms: the time up to which all lines are read."""
    history = _History(facts, log_ends_ms)
    for place, fact in enumerate(facts):
        history.take(place, fact)
    history.close("")
    return history.found


class _History:
    def __init__(self, facts: Sequence[LoggedFact], log_ends_ms: float | None) -> None:
        self.facts = facts
        self.log_ends_ms = log_ends_ms
        self.before = Before(facts)
        self.came: dict[str, list[tuple[int, str]]] = {}
        """By client id: where it came, and under which member id."""
        for place, fact in enumerate(facts):
            member_id = _who_came(fact)
            if member_id:
                self.came.setdefault(client_id_of(member_id), []).append((place, member_id))
        self.found: list[LoggedRebalance] = []
        self.running: LoggedRebalance | None = None
        self.removed: list[LoggedFact] = []
        """Members that left or expired since the latest rebalance began: the next one may be theirs."""

    def take(self, place: int, fact: LoggedFact) -> None:
        """One line, in order."""
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
            self.running.cause = self._cause(place, fact)
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
            last.cause = _cause_of(
                Reason(CauseKind.SESSION_EXPIRED, member_id=one.member_id)
                if one.kind is FactKind.MEMBER_EXPIRED
                else _left_by(one)
            )

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

    def _cause(self, place: int, fact: LoggedFact) -> Cause:
        reason = read_reason(fact.reason)
        if reason is None:
            return self._of_the_line_before(place)
        before = self.facts[place - 1].member_id if place else ""
        if reason.member_id and before.startswith(reason.member_id):
            reason = reason._replace(member_id=before)  # Where a line is cut within the id, the one before it has it.
        if reason.kind is CauseKind.SYNC_TIMEOUT and reason.member_ids:
            reason = reason._replace(member_id=reason.member_ids[0])
        elif reason.candidates == left(Reason(CauseKind.UNKNOWN)).candidates:
            reason = self._leave(reason)
        if reason.kind is CauseKind.UNKNOWN and reason.candidates:
            reason = reason if self._is_back(place, reason.member_id) else reason._replace(kind=CauseKind.MEMBER_LEFT)
        return _cause_of(reason)

    def _of_the_line_before(self, place: int) -> Cause:
        """Who came or expired just before a line that gives no reason, as those of Redpanda and Kafka 2.0 do not."""
        before, fact = self.facts[max(place - 1, 0)], self.facts[place]
        after_ms = between_ms(before, fact)
        is_it = not fact.reason and before.kind in _BROUGHT_BY and after_ms is not None and 0 <= after_ms <= TOGETHER_MS
        return concluded(_BROUGHT_BY[before.kind], before.member_id) if is_it else Cause(kind=CauseKind.UNKNOWN)

    def _leave(self, reason: Reason) -> Reason:
        """A leave whose words stand in the lines before it, as Kafka 4 prints them; they also name who left."""
        named = {*reason.member_ids, reason.member_id} - {""}
        leaves = [
            one for one in self.removed if one.kind is FactKind.MEMBER_LEFT and (not named or one.member_id in named)
        ]
        if not leaves:
            return reason._replace(member_id=reason.member_id or next(iter(reason.member_ids), ""))
        first = leaves[0]
        words = "" if first.client_reason == "not provided" else first.client_reason
        return left(
            Reason(CauseKind.UNKNOWN, member_id=first.member_id, instance_id=first.instance_id, client_reason=words)
        )

    def _is_back(self, place: int, member_id: str) -> bool:
        """Whether its client id joined again, or the lines end too soon to say that it did not."""
        client_id = client_id_of(member_id)
        began_ms = self.facts[place].at_ms
        if not client_id or began_ms is None or self.log_ends_ms is None:
            return True
        if self.log_ends_ms - began_ms < BACK_WITHIN_MS or not self.came:
            return True  # Before Kafka 3.0 a broker prints at DEBUG alone who joins while a rebalance runs.
        later = takewhile(lambda one: one[0] >= place, reversed(self.came.get(client_id, [])))
        return any(other != member_id for _, other in later)


def _who_came(fact: LoggedFact) -> str:
    """The member whose join a line shows, or that begins a rebalance by it; empty: none."""
    if fact.kind in _COMES_BACK:
        return fact.member_id
    reason = read_reason(fact.reason) if fact.kind is FactKind.REBALANCE_BEGAN else None
    return reason.member_id if reason is not None and reason.kind is CauseKind.MEMBER_JOINED else ""


def _is_under_the_newer(fact: LoggedFact) -> bool:
    """Whether the group is a consumer group from this line on: no later line is of a classic group's rebalance."""
    is_upgrade = fact.kind is FactKind.GROUP_CONVERTED and fact.to_state == "consumer"
    return is_upgrade or fact.kind is FactKind.EPOCH_BUMPED


def _left_by(fact: LoggedFact) -> Reason:
    words = "" if fact.client_reason == NOT_PROVIDED else fact.client_reason
    named = Reason(CauseKind.UNKNOWN, member_id=fact.member_id, instance_id=fact.instance_id, client_reason=words)
    return left(named)


def _cause_of(reason: Reason) -> Cause:
    client_id = client_id_of(reason.member_id)
    return Cause(
        kind=reason.kind,
        member_id=reason.member_id,
        client_id="" if reason.instance_id else client_id,
        group_instance_id=reason.instance_id or None,
        client_reason=reason.client_reason or None,
        is_inferred=bool(reason.candidates),
        candidates=tuple(
            CauseCandidate(kind=kind, member_id=reason.member_id, client_id=client_id) for kind in reason.candidates
        ),
    )
