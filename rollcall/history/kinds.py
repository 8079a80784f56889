"""A kind of group: its terms, the moments of its members in a rebalance, and what its members' bytes mean. A classic
group, a consumer group (KIP-848) and a group of Connect's workers are one object each. Code that explains a rebalance
or draws a group uses the object, and never asks which kind it is. Must not know how anything is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from rollcall.history.facts import Fact
from rollcall.history.rebalances import Rebalance
from rollcall.history.sentences import awaited_clause
from rollcall.history.words import duration, ended
from rollcall.schemas.connect_protocol import decode_worker_assignment
from rollcall.schemas.consumer_effects import GroupTypeChanged, MemberProgressed
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Assigned, Effect, GroupFound, StateChanged
from rollcall.schemas.layout import LayoutError

CONSUMER_GROUP = "consumer"
"""A consumer group in `group_type`; among a classic group's protocol types, consumers."""
STREAMS = "stream"
"""Under this name StreamsPartitionAssignor stands among the protocols."""

AT_WORK, WAITING, SYNCING, GIVING_UP, AWAITING = "stable", "waiting", "syncing", "giving_up", "awaiting"
"""What a member is in at a moment, as a timeline shows it."""


class MemberPhase(NamedTuple):
    """What a member is in, and the fact that brought it there."""

    kind: str
    by: str


@dataclass(frozen=True)
class Part:
    """A member's part; times are ms since the epoch; what did not happen or is not known has none."""

    name: str
    member_id: str
    host: str
    is_member: bool
    """False for a client that was only given a member id."""
    is_new: bool
    moments: dict[str, int]
    """When it did what members of its kind of group do in a rebalance, by `rollcall.history.kinds.Moment.key`."""
    held_others_ms: int | None
    end_cause: str | None
    """Why it was removed, where that was before the rebalance ended."""
    is_end_inferred: bool


@dataclass(frozen=True, kw_only=True)
class Course:
    """What a kind of group needs to describe a rebalance: the part of an explanation that it knows."""

    rebalance: Rebalance
    parts: list[Part]
    join_phase_ended_ms: int | None
    leader: str | None
    protocol_name: str | None
    protocol_type: str | None = None
    """`consumer`, `connect` or another, of a classic group."""
    held_back_ms: int = 0
    """In a group of Connect's workers: how long the leader holds back what a lost worker ran, counted from the
    assignment; 0: it holds nothing back."""

    @property
    def began_ms(self) -> int:
        """When the rebalance began, as far as that is known."""
        return self.rebalance.started_at_ms


@dataclass(frozen=True)
class Moment:
    """Something that a member does or receives once in a rebalance."""

    key: str
    head: str
    """Of its column."""
    verb: str
    """`a {verb} 2 s after the beginning`."""
    verb_of_new: str = ""
    """Of a member that was none before; empty: the same."""
    is_after_joins: bool = False
    """Measured from the end of the join phase, not from the beginning."""


@dataclass(frozen=True)
class GroupKind:
    """A classic group of consumers; the other kinds override what differs."""

    step: str = "generation"
    step_shown: str = "gen"
    """For little room."""
    one: str = "partition"
    many: str = "partitions"
    nobody: str = "nobody consumed"
    somebody: str = "at least one member consumed"
    why_again: str = ""
    """Why members of this kind join again without being asked to."""
    moments: tuple[Moment, ...] = (
        Moment("notified", "Notified", "was notified of the rebalance"),
        Moment("rejoined", "Rejoined", "rejoined", "joined"),
        Moment("synced", "Synced", "sent its SyncGroup", is_after_joins=True),
        Moment("back", "Resumed", "got its assignment"),
    )
    came: str = "rejoined"
    """The moment for which the others wait."""
    ready: str = "synced"
    """The moment at which nobody waits for it any more."""
    late_by: str = "rejoined"
    """The moment by which one is late, while nobody's assignment is awaited."""
    back: str = "back"
    """The moment from which on it works again; empty: it never stopped."""
    hint: str = "Notified, rejoined, resumed: time since the rebalance began. Synced: time since the join phase ended."
    gives_whole_assignments: bool = True
    """Whether each rebalance gives every member its whole assignment."""
    parks_joins: bool = True
    """Whether a JoinGroup may wait for others; one that is taken at once restarts its member's session."""
    formed_by: EffectName = EffectName.JOIN_PHASE_ENDED
    """The fact by which a generation begins to show on a timeline."""

    def count(self, number: int) -> str:
        """`1 partition`, `3 partitions`."""
        return f"{number} {self.one if number == 1 else self.many}"

    def awaited(self, e: Course) -> list[Part]:
        """Return the members that have not joined yet or, after the join phase, not synced."""
        key = self.late_by if e.join_phase_ended_ms is None else self.ready
        return [part for part in e.parts if key not in part.moments and part.end_cause is None]

    def slowness(self, part: Part) -> float:
        """The higher, the later it came; those that never did are the slowest."""
        return part.moments.get(self.late_by, float("inf"))

    def delay(self, e: Course, part: Part) -> str:
        """Why the others waited for a member."""
        if self.came not in part.moments:
            return "it never rejoined" if part.is_member else "it was given an id and had not come back with it"
        came_ms, notified_ms = part.moments[self.came], part.moments.get("notified")
        took = duration(came_ms - e.began_ms)
        came = f"it {'joined' if part.is_new else 'rejoined'} {took} after the beginning"
        if not part.is_new and notified_ms is not None and notified_ms <= came_ms:
            came += f", {duration(came_ms - notified_ms)} after the response to a heartbeat had notified it"
        return awaited_clause(came, part.held_others_ms or 0, _assignment_wait_ms(e, part))

    def timeline(self, e: Course) -> Iterable[tuple[int, str]]:
        """The moments of its members that matter to all."""
        notified = [(part.moments["notified"], part.name) for part in e.parts if "notified" in part.moments]
        if notified:
            at_ms, name = min(notified, key=lambda one: one[0])
            yield at_ms, f"{name} was the first to be notified, by the response to a heartbeat or commit"
        came = [part for part in e.parts if self.came in part.moments]
        for part, place in ((came[0], "first"), (came[-1], "last")) if len(came) > 1 else ():
            yield part.moments[self.came], f"{part.name} was the {place} to {'join' if part.is_new else 'rejoin'}"
        if e.join_phase_ended_ms is not None:
            leader = "nobody leads" if e.leader is None else f"{e.leader} leads"
            known = f" ({e.protocol_name or 'no protocol'}); {leader}" if e.leader or e.protocol_name else ""
            yield e.join_phase_ended_ms, f"all members of the generation are known{known}"
        for part in e.parts:
            if part.name == e.leader and self.ready in part.moments:
                yield part.moments[self.ready], f"the leader's assignment came, from {part.name}"
                break

    def generation_of(self, fact: Fact) -> int:
        """The generation that begins with a fact of `formed_by`."""
        return fact.generation_id

    def held_back_ms(self, effects: Iterable[Effect], generation_id: int | None) -> int:
        """How long the assignments of a generation hold back the tasks of a lost member; 0: not at all."""
        return 0

    def unread(self, e: Course) -> list[str]:
        """What in the members' bytes is not shown, or needs an explanation."""
        if e.protocol_name == STREAMS:
            return [
                "Kafka Streams: partitions are shown as they were assigned. Which tasks they are for, and which "
                "standby tasks members keep, stands in bytes of Streams' own (userData), which are not read."
            ]
        if e.protocol_type in (None, "", CONSUMER_GROUP):
            return []
        return [f"Members of protocol type {e.protocol_type} speak bytes of their own, which are not read."]

    def step_of(self, fact: Fact, was: MemberPhase, epoch: int) -> str | None:
        """What a member is in from a fact of its own, or of its generation, on; None: what it was.

        A member without a known JoinGroup, as one known only from the offsets topic, is at work once it has its
        assignment; any other once its SyncGroup is answered. epoch: the group's, at this moment.
        """
        match fact.effect, fact.api, fact.error_code:
            case EffectName.JOIN_RECEIVED, _, _:
                return WAITING
            case EffectName.REPLY, "JoinGroup", "NONE":
                return SYNCING
            case EffectName.REPLY, "SyncGroup", "NONE":
                return AT_WORK
            case EffectName.JOIN_PHASE_ENDED, _, _ if was.kind == AT_WORK or was.by == EffectName.MEMBER_JOINED:
                return SYNCING
            case EffectName.ASSIGNED, _, _ if was.by in (EffectName.MEMBER_JOINED, EffectName.JOIN_PHASE_ENDED):
                return AT_WORK
            case (EffectName.REPLY, "Heartbeat", "NONE") | (EffectName.HEARTBEATS_TAKEN, _, _):
                return AT_WORK if was.by == EffectName.MEMBER_JOINED else None
            case _:
                return None


class ConsumerGroup(GroupKind):
    """A consumer group (KIP-848): members give up and get partitions one by one, and keep consuming the others."""

    def delay(self, e: Course, part: Part) -> str:
        until = (
            f" until it was removed ({ended(part.end_cause, part.is_end_inferred)})"
            if self.came not in part.moments and part.end_cause
            else ""
        )
        return f"it held on to partitions that others were to have{until}"

    def timeline(self, e: Course) -> Iterable[tuple[int, str]]:
        for part in e.parts:
            if part.held_others_ms and self.came in part.moments:
                yield part.moments[self.came], f"{part.name} had let go of what others were to have"
        ready = [part for part in e.parts if self.ready in part.moments]
        if ready:
            last = max(ready, key=lambda part: part.moments[self.ready])
            yield last.moments[self.ready], f"{last.name} was the last to have all that the epoch gives it"

    def generation_of(self, fact: Fact) -> int:
        return fact.generation_id + 1

    def unread(self, e: Course) -> list[str]:
        return []

    def step_of(self, fact: Fact, was: MemberPhase, epoch: int) -> str | None:
        said = fact.content
        if not isinstance(said, MemberProgressed):
            is_classic_member = (fact.effect, fact.api, fact.error_code) == (EffectName.REPLY, "SyncGroup", "NONE")
            return AT_WORK if is_classic_member else None
        if said.state == "unrevoked":
            return GIVING_UP
        has_none = not any(each.partitions for each in said.partitions)
        if said.state == "unreleased" or (has_none and said.target_epoch < epoch):
            return AWAITING
        return AT_WORK


class ConnectGroup(GroupKind):
    """Workers of Kafka Connect."""

    def held_back_ms(self, effects: Iterable[Effect], generation_id: int | None) -> int:
        found = 0
        for one in effects:
            if isinstance(one, Assigned) and one.generation_id == generation_id:
                with suppress(LayoutError):
                    found = max(found, decode_worker_assignment(one.assignment).delay_ms)
        return found

    def unread(self, e: Course) -> list[str]:
        found = [
            "Connect's workers share connectors and tasks, which stand where consumers have topics and partitions."
        ]
        if e.held_back_ms:
            found.append(
                f"The leader holds back what a lost worker ran, and gives it to others {duration(e.held_back_ms)} "
                "after this assignment at the latest (scheduled.rebalance.max.delay.ms)."
            )
        return found


CLASSIC = GroupKind()
CONSUMER = ConsumerGroup(
    step="epoch",
    step_shown="epoch",
    moments=(
        Moment("reported", "Reported", "first reported in this epoch"),
        Moment("given_up", "Revoked", "had given up what the epoch took from it"),
        Moment("has_all", "Reconciled", "had all that the epoch gives it"),
    ),
    came="given_up",
    ready="has_all",
    late_by="has_all",
    back="",
    hint="Reported, revoked, reconciled: time since the epoch began.",
    parks_joins=False,
    gives_whole_assignments=False,
    formed_by=EffectName.REBALANCE_STARTED,
)
CONNECT = ConnectGroup(
    one="connector or task",
    many="connectors and tasks",
    nobody="nobody ran anything",
    somebody="at least one worker ran something",
    why_again=", as workers do when connectors are configured or held-back tasks are due",
)


def kind_of(group_type: str | None, protocol_type: str | None = None) -> GroupKind:
    """group_type: classic or consumer; protocol_type: of a classic group."""
    if group_type == CONSUMER_GROUP:
        return CONSUMER
    return CONNECT if protocol_type == "connect" else CLASSIC


def kinds_of(effects: Iterable[Effect]) -> list[tuple[int, GroupKind]]:
    """What kind of group it was from which moment on, by its type and by the protocol type of its states."""
    found: list[tuple[int, GroupKind]] = []
    group_type: str | None = None
    protocol_type: str | None = None
    for one in effects:
        match one:
            case GroupTypeChanged():
                group_type = one.to_type
            case GroupFound():
                group_type = one.group_type
            case StateChanged():
                protocol_type = one.protocol_type
            case _:
                continue
        found.append((one.at_ms, kind_of(group_type, protocol_type)))
    return found


def kind_at(kinds: Sequence[tuple[int, GroupKind]], at_ms: int) -> GroupKind:
    """The kind of group at a moment; before it is known, a classic group."""
    place = bisect_right(kinds, at_ms, key=lambda change: change[0])
    return kinds[place - 1][1] if place else CLASSIC


def _assignment_wait_ms(e: Course, part: Part) -> int:
    """How long the others waited for a leader's assignment."""
    if part.name != e.leader or "synced" not in part.moments or e.join_phase_ended_ms is None:
        return 0
    return part.moments["synced"] - e.join_phase_ended_ms
