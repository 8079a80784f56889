"""The figures of a run, recorded or played, by the same rules from the coordinator's effects.

A member is stopped from a JoinGroup that keeps no partition until its group is stable again. A partition is unserved
while its group has members and no living member owns it: all wait in a rebalance, or its owner is dead and the
coordinator does not know yet. A partition moves if its new seat is not its last one. A seat is a member id, or the
instance id of a static member, so that a static member's restart moves nothing.

Memberships and ownership come from `rollcall.history`. Knows when processes ended; knows no log and no simulation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import takewhile
from operator import attrgetter
from typing import NamedTuple, TypeGuard

from rollcall.answers.clients.reactions import LEAVE_UNPOLLED
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.history.holdings import Holding, Partition, holdings_of
from rollcall.history.members import Membership, memberships_of
from rollcall.schemas.causes import CauseKind, EndCause, row_of, why_left
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import (
    Assigned,
    Effect,
    JoinPhaseEnded,
    JoinReceived,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
    RebalanceStarted,
    Reply,
    StateChanged,
)
from rollcall.schemas.errors import Error

Counted = (
    Assigned
    | GroupTypeChanged
    | JoinPhaseEnded
    | JoinReceived
    | MemberJoined
    | MemberRemoved
    | RebalanceEnded
    | RebalanceStarted
    | Reply
    | StateChanged
)
"""The effects that figures depend on; of the replies only some."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A rebalance that began: its cause and its culprit's client id."""

    at_ms: int
    cause: str
    client_id: str


@dataclass(slots=True)
class Outcome:
    """The figures of one run of one group, or of many put together by `add`."""

    rebalances: int = 0
    """Rebalances that began."""
    generations: int = 0
    """Join phases that ended with members; of a group of the newer protocol, epochs that all members reached."""
    rebalancing_ms: int = 0
    """How long the group was in a rebalance."""
    stopped_member_ms: int = 0
    """How long members were stopped, in total; a member of the newer protocol continues with what it keeps."""
    unserved: dict[Partition, int] = field(default_factory=dict)
    """How long each partition was unserved, ms."""
    partitions_moved: int = 0
    expiries: int = 0
    """Members whose session ended."""
    wrongly_expired: int = 0
    """Those of them that were alive."""
    deaths: int = 0
    """Members that died or closed silently, and had no successor."""
    detected: int = 0
    """Those of them that the coordinator removed."""
    detection_ms: int = 0
    """How long after their end it removed them, all of them added up."""
    longest_detection_ms: int = 0
    refused: int = 0
    """JoinGroups that were refused because the group was full."""
    causes: dict[str, int] = field(default_factory=dict)
    begun: list[Begun] = field(default_factory=list)

    @property
    def unserved_partition_ms(self) -> int:
        """How long partitions were unserved, all of them added up."""
        return sum(self.unserved.values())

    def records_delayed(self, rates: Mapping[Partition, float]) -> int:
        """How many records were written to partitions while these were unserved. rates: records a millisecond."""
        return round(sum(rates.get(partition, 0.0) * ms for partition, ms in self.unserved.items()))

    @property
    def mean_detection_ms(self) -> float | None:
        """None where no death was detected."""
        return self.detection_ms / self.detected if self.detected else None

    def add(self, other: Outcome) -> None:
        """Puts another group's figures to these."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            match each.name:
                case "longest_detection_ms":
                    self.longest_detection_ms = max(mine, theirs)
                case "causes" | "unserved":
                    setattr(self, each.name, dict(Counter(mine) + Counter(theirs)))
                case "begun":
                    self.begun = sorted([*mine, *theirs], key=attrgetter("at_ms"))
                case _:
                    setattr(self, each.name, mine + theirs)


class CountedPeriod(NamedTuple):
    """What is counted of a run."""

    from_ms: int
    until_ms: int

    def end(self, at_ms: int | None) -> int:
        """When something ended that lasts to the end of the run if it did not."""
        return self.until_ms if at_ms is None else at_ms

    def covered_ms(self, spans: Iterable[tuple[int, int]]) -> int:
        """How much of it these spans cover together."""
        found_ms, reached_ms = 0, self.from_ms
        for from_ms, to_ms in sorted(spans):
            since_ms, reached_ms = max(from_ms, reached_ms), max(min(to_ms, self.until_ms), reached_ms)
            found_ms += max(0, reached_ms - since_ms)
        return found_ms


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What effects do not show."""

    process_of: Mapping[str, str]
    """The process behind each member id."""
    ended_ms: Mapping[str, int]
    """When each process that fell silent for good did so."""
    unpolled: frozenset[str] = frozenset()
    """Member ids that left because their applications did not poll, for libraries that do not say so."""
    grown_ms: tuple[int, ...] = ()
    """When topics grew, so that members rejoined, for libraries that do not say so."""

    def ended_of(self, member_id: str) -> int | None:
        """When the process of a member fell silent for good; None: it did not."""
        return self.ended_ms.get(self.process_of.get(member_id, ""))

    def has_died(self, member_id: str, from_ms: int, until_ms: int) -> bool:
        """Whether the process of a member fell silent for good within this time."""
        ended_ms = self.ended_of(member_id)
        return ended_ms is not None and from_ms <= ended_ms <= until_ms


def is_counted(effect: Effect) -> TypeGuard[Counted]:
    """Whether a figure depends on it; on most effects, answers and commits, no figure does."""
    if isinstance(effect, Reply):
        return effect.error_code is Error.GROUP_MAX_SIZE_REACHED
    return isinstance(effect, Counted)


def measure(effects: Iterable[Effect], known: ProcessFacts, from_ms: int, until_ms: int) -> Outcome:
    """One group's effects, in order of time, from its first; counted is what lies in from_ms..until_ms."""
    counted = [one for one in takewhile(lambda one: one.at_ms <= until_ms, effects) if is_counted(one)]
    span = CountedPeriod(from_ms, until_ms)
    memberships, holdings = memberships_of(counted), holdings_of(counted)
    outcome = Outcome(
        stopped_member_ms=_stopped_ms(counted, span),
        unserved=_unserved_ms(holdings, memberships, known, span),
        partitions_moved=_moved(holdings, memberships, span),
    )
    _count_rebalances(outcome, counted, known, span)
    _count_ends(outcome, memberships, known, span)
    return outcome


def _count_rebalances(outcome: Outcome, effects: Iterable[Counted], known: ProcessFacts, span: CountedPeriod) -> None:
    is_newer, started_ms = False, 0
    for effect in effects:
        is_within = effect.at_ms >= span.from_ms
        match effect:
            case GroupTypeChanged():
                is_newer = effect.is_to_consumer
            case RebalanceStarted() if is_within:
                cause = _cause_of(effect, started_ms, known)
                outcome.causes[cause] = outcome.causes.get(cause, 0) + 1
                outcome.begun.append(Begun(effect.at_ms, cause, effect.cause.client_id))
                started_ms = effect.at_ms
            case RebalanceEnded() if is_within:
                outcome.rebalancing_ms += effect.at_ms - max(effect.started_at_ms or 0, span.from_ms)
                outcome.generations += is_newer and effect.outcome == "completed"
            case JoinPhaseEnded() if is_within:
                outcome.generations += bool(effect.member_ids)
            case Reply() if is_within:
                outcome.refused += 1
            case _:
                pass
    outcome.rebalances = len(outcome.begun)


def _cause_of(started: RebalanceStarted, since_ms: int, known: ProcessFacts) -> str:
    """The cause as of a client library that sends reasons. since_ms: when the rebalance before it began."""
    cause = started.cause
    if cause.kind is CauseKind.MEMBER_LEFT and cause.member_id in known.unpolled:
        return str(why_left(LEAVE_UNPOLLED))
    has_grown = any(since_ms < each <= started.at_ms for each in known.grown_ms)
    if cause.kind is CauseKind.MEMBER_REJOINED and not cause.client_reason and has_grown:
        return str(CauseKind.METADATA_CHANGED)
    return str(cause.kind)


def _count_ends(outcome: Outcome, memberships: Iterable[Membership], known: ProcessFacts, span: CountedPeriod) -> None:
    for one in memberships:
        if one.ended_at_ms is None:
            outcome.deaths += known.has_died(one.member_id, *span)
        elif one.ended_at_ms >= span.from_ms:
            has_died = known.has_died(one.member_id, span.from_ms, one.ended_at_ms)
            if row_of(one.end_cause).is_expiry:
                outcome.expiries += 1
                outcome.wrongly_expired += not has_died
            if has_died and one.end_cause != EndCause.STATIC_MEMBER_REPLACED:
                late_ms = one.ended_at_ms - (known.ended_of(one.member_id) or 0)
                outcome.deaths += 1
                outcome.detected += 1
                outcome.detection_ms += late_ms
                outcome.longest_detection_ms = max(outcome.longest_detection_ms, late_ms)


def _stopped_ms(effects: Iterable[Counted], span: CountedPeriod) -> int:
    """How long members were stopped: from a JoinGroup that keeps nothing until the group is stable or they are gone."""
    stopped: dict[str, int] = {}
    found_ms = 0
    for effect in effects:
        match effect:
            case JoinReceived() if not any(each.partitions for each in effect.owned_partitions or ()):
                stopped.setdefault(effect.member_id, max(effect.at_ms, span.from_ms))
                continue
            case StateChanged(to_state=GroupState.STABLE):
                over, stopped = stopped, {}
            case MemberRemoved() if effect.member_id in stopped:
                over = {effect.member_id: stopped.pop(effect.member_id)}
            case _:
                continue
        found_ms += sum(max(0, effect.at_ms - since_ms) for since_ms in over.values())
    return found_ms + sum(span.until_ms - since_ms for since_ms in stopped.values())


def _unserved_ms(
    holdings: Iterable[Holding], memberships: Iterable[Membership], known: ProcessFacts, span: CountedPeriod
) -> dict[Partition, int]:
    """How long partitions, from their first owner on, had no live one while the group had members."""
    members = [(one.joined_at_ms, span.end(one.ended_at_ms)) for one in memberships]
    served: dict[Partition, list[tuple[int, int]]] = {}
    for one in holdings:
        to_ms = min(span.end(one.to_ms), span.end(known.ended_of(one.member_id)))
        served.setdefault(one.partition, []).append((one.from_ms, to_ms))
    found = dict[Partition, int]()
    for partition, spans in served.items():
        owned = CountedPeriod(max(spans[0][0], span.from_ms), span.until_ms)
        found[partition] = owned.covered_ms(members) - owned.covered_ms(spans)
    return found


def _moved(holdings: Iterable[Holding], memberships: Iterable[Membership], span: CountedPeriod) -> int:
    """How many times a partition got another seat than its last one."""
    seat_of = {one.member_id: one.group_instance_id or one.member_id for one in memberships}
    seats: dict[Partition, str] = {}
    found = 0
    for one in holdings:
        seat = seat_of.get(one.member_id, one.member_id)
        found += one.from_ms >= span.from_ms and seats.get(one.partition, seat) != seat
        seats[one.partition] = seat
    return found
