"""What came of a run, recorded or played: the same figures, made by the same rules from the coordinator's effects.

A member is stopped from a JoinGroup that keeps no partition until its group is stable again. A partition is unserved
while its group has members and no living member owns it: all wait in a rebalance, or its owner is dead and the
coordinator does not know yet. A partition moves if its new seat is not its last one. A seat is a member id, or the
instance id of a static member, so that a static member's restart moves nothing.

Knows effects and when processes ended; knows no log and no simulation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TypeGuard, assert_never

from coordinator_udfs.protocol.cause import CauseKind, EndCause
from coordinator_udfs.protocol.consumer.effects import GroupTypeChanged
from coordinator_udfs.protocol.consumer.states import GroupType
from coordinator_udfs.protocol.effects import (
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
    TopicPartitions,
)
from coordinator_udfs.protocol.states import GroupState
from schemas.consumer_protocol import TopicPartition
from schemas.errors import Error

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
    """A rebalance that began: its cause and whose doing it was, by client id."""

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
    """How long members were stopped, all of them added up; one of the newer protocol goes on with what it keeps."""
    unserved_partition_ms: int = 0
    """How long partitions were unserved, all of them added up."""
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
                case "causes":
                    self.causes = dict(Counter(mine) + Counter(theirs))
                case "begun":
                    self.begun = sorted([*mine, *theirs], key=attrgetter("at_ms"))
                case _:
                    setattr(self, each.name, mine + theirs)


@dataclass(frozen=True, slots=True)
class Known:
    """What effects do not show."""

    process_of: Mapping[str, str]
    """The process behind each member id."""
    ended_ms: Mapping[str, int]
    """When each process that fell silent for good did so."""
    unpolled: frozenset[str] = frozenset()
    """Member ids that left because their applications did not poll, for libraries that do not say so."""
    grown_ms: tuple[int, ...] = ()
    """When topics grew, so that members rejoined, for libraries that do not say so."""


def is_counted(effect: Effect) -> TypeGuard[Counted]:
    """Whether a figure depends on it; on most effects, answers and commits, no figure does."""
    if isinstance(effect, Reply):
        return effect.error_code is Error.GROUP_MAX_SIZE_REACHED
    return isinstance(effect, Counted)


def measure(effects: Iterable[Effect], known: Known, from_ms: int, until_ms: int) -> Outcome:
    """One group's effects, in order of time, from its first; counted is what lies in from_ms..until_ms."""
    ledger = _Ledger(known, from_ms, until_ms)
    for effect in effects:
        if effect.at_ms > until_ms:
            break
        ledger.take(effect)
    ledger.close()
    return ledger.outcome


class _Ledger:
    """The figures so far, and the state that the next ones need."""

    def __init__(self, known: Known, from_ms: int, until_ms: int) -> None:
        self.outcome = Outcome()
        self._known = known
        self._from_ms = from_ms
        self._until_ms = until_ms
        self._at_ms = from_ms
        self._ends = sorted((at_ms, process) for process, at_ms in known.ended_ms.items())
        self._ended: set[str] = set()
        self._members: dict[str, str] = {}
        self._owned: dict[str, set[TopicPartition]] = {}
        self._seats: dict[TopicPartition, str] = {}
        self._stopped: dict[str, int] = {}
        self._started_ms = 0
        self._is_newer = False

    # ------------------------------------------------------------ time

    def take(self, effect: Effect) -> None:
        """Takes the next effect in order of time."""
        if not is_counted(effect):
            return
        while self._ends and self._ends[0][0] <= effect.at_ms:
            at_ms, process = self._ends.pop(0)
            self._pass_to(at_ms)
            self._ended.add(process)
        self._pass_to(effect.at_ms)
        self._note(effect)

    def close(self) -> None:
        """The run is over: all that still lasts ends now."""
        while self._ends and self._ends[0][0] < self._until_ms:
            at_ms, process = self._ends.pop(0)
            self._pass_to(at_ms)
            self._ended.add(process)
        self._pass_to(self._until_ms)
        for member_id in list(self._stopped):
            self._go_on(member_id, self._until_ms)
        for member_id in self._members:
            self.outcome.deaths += self._has_died(member_id, self._until_ms)

    def _pass_to(self, at_ms: int) -> None:
        length_ms = at_ms - self._at_ms
        if length_ms <= 0:
            return
        self._at_ms = at_ms
        if self._members:
            served = sum(len(owned) for member_id, owned in self._owned.items() if self._is_alive(member_id))
            self.outcome.unserved_partition_ms += (len(self._seats) - served) * length_ms

    def _is_alive(self, member_id: str) -> bool:
        return self._known.process_of.get(member_id) not in self._ended

    def _has_died(self, member_id: str, at_ms: int) -> bool:
        """Whether its process has fallen silent for good, within what is counted."""
        ended_ms = self._known.ended_ms.get(self._known.process_of.get(member_id, ""))
        return ended_ms is not None and self._from_ms <= ended_ms <= at_ms

    # ------------------------------------------------------------ facts

    def _note(self, effect: Counted) -> None:
        """What changes who is a member, who has what and who is stopped; then what is counted."""
        match effect:
            case GroupTypeChanged():
                self._is_newer = effect.to_type == GroupType.CONSUMER
            case MemberJoined():
                self._members[effect.member_id] = effect.group_instance_id or effect.member_id
            case MemberRemoved():
                self._remove(effect)
            case JoinReceived():
                self._stop(effect)
            case Assigned():
                self._assign(effect)
            case StateChanged(to_state=GroupState.STABLE):
                for member_id in list(self._stopped):
                    self._go_on(member_id, effect.at_ms)
            case StateChanged():
                pass
            case RebalanceStarted() | RebalanceEnded() | JoinPhaseEnded() | Reply():
                if effect.at_ms >= self._from_ms:
                    self._count(effect)
            case _:
                assert_never(effect)

    def _count(self, effect: RebalanceStarted | RebalanceEnded | JoinPhaseEnded | Reply) -> None:
        outcome = self.outcome
        match effect:
            case RebalanceStarted():
                cause = self._cause_of(effect)
                outcome.rebalances += 1
                outcome.causes[cause] = outcome.causes.get(cause, 0) + 1
                outcome.begun.append(Begun(effect.at_ms, cause, effect.cause.client_id))
            case RebalanceEnded():
                outcome.rebalancing_ms += effect.at_ms - max(effect.started_at_ms or 0, self._from_ms)
                outcome.generations += self._is_newer and effect.outcome == "completed"
            case JoinPhaseEnded():
                outcome.generations += bool(effect.member_ids)
            case Reply():
                outcome.refused += 1
            case _:
                assert_never(effect)

    def _cause_of(self, started: RebalanceStarted) -> str:
        cause = started.cause
        since_ms, self._started_ms = self._started_ms, started.at_ms
        if cause.kind is CauseKind.MEMBER_LEFT and cause.member_id in self._known.unpolled:
            return str(CauseKind.POLL_TIMEOUT)
        has_grown = any(since_ms < each <= started.at_ms for each in self._known.grown_ms)
        if cause.kind is CauseKind.MEMBER_REJOINED and not cause.client_reason and has_grown:
            return str(CauseKind.METADATA_CHANGED)
        return str(cause.kind)

    def _stop(self, joined: JoinReceived) -> None:
        kept = set(_flat(joined.owned_partitions))
        self._owned[joined.member_id] = self._owned.get(joined.member_id, set()) & kept
        if not kept:
            self._stopped.setdefault(joined.member_id, joined.at_ms)

    def _go_on(self, member_id: str, at_ms: int) -> None:
        stopped_ms = max(self._stopped.pop(member_id), self._from_ms)
        self.outcome.stopped_member_ms += max(0, at_ms - stopped_ms)

    def _assign(self, assigned: Assigned) -> None:
        member_id = assigned.member_id
        seat = self._members.get(member_id, member_id)
        mine = set(_flat(assigned.partitions))
        for partition in mine:
            if self._seats.get(partition, seat) != seat and assigned.at_ms >= self._from_ms:
                self.outcome.partitions_moved += 1
            self._seats[partition] = seat
        for other, owned in self._owned.items():
            if other != member_id:
                owned -= mine
        self._owned[member_id] = mine

    def _remove(self, removed: MemberRemoved) -> None:
        member_id, outcome = removed.member_id, self.outcome
        self._owned.pop(member_id, None)
        self._members.pop(member_id, None)
        if member_id in self._stopped:
            self._go_on(member_id, removed.at_ms)
        if removed.at_ms < self._from_ms:
            return
        has_died = self._has_died(member_id, removed.at_ms)
        if removed.end_cause is EndCause.SESSION_EXPIRED:
            outcome.expiries += 1
            outcome.wrongly_expired += not has_died
        if has_died and removed.end_cause is not EndCause.STATIC_MEMBER_REPLACED:
            late_ms = removed.at_ms - self._known.ended_ms[self._known.process_of[member_id]]
            outcome.deaths += 1
            outcome.detected += 1
            outcome.detection_ms += late_ms
            outcome.longest_detection_ms = max(outcome.longest_detection_ms, late_ms)


def _flat(topics: Iterable[TopicPartitions] | None) -> Iterable[TopicPartition]:
    return (TopicPartition(each.topic, number) for each in topics or () for number in each.partitions)
