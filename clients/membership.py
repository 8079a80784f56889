"""All that a member remembers between two inputs, as data; a deadline is a field on what it ends.

Two threads of a Java consumer share this state, and the split is kept because it is what a group sees of a slow
application: the background (answers, heartbeats, timeouts) goes on by itself; the foreground (revoking, joining,
assigning, raising errors) waits until the application polls.

Knows no rule beside "which state lets heartbeats flow". Source: AbstractCoordinator, ConsumerCoordinator, Heartbeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from clients.assignors import Assignor, RebalanceProtocol, ReplicaRacks
from clients.assignors.racks import NO_RACKS
from clients.config import ConsumerConfig
from clients.events import CommitFailure, CommitKind, FatalError, MemberRequest, Output
from schemas.consumer_protocol import TopicPartition
from schemas.messages import FindCoordinatorRequest


class MemberState(StrEnum):
    """UNJOINED: in no group. PREPARING_REBALANCE: JoinGroup sent. COMPLETING_REBALANCE: joined, assignment awaited.
    STABLE: assignment received. Heartbeats flow in the last two.
    """

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


JOINED = frozenset({MemberState.COMPLETING_REBALANCE, MemberState.STABLE})
REBALANCING = frozenset({MemberState.PREPARING_REBALANCE, MemberState.COMPLETING_REBALANCE})


class Generation(NamedTuple):
    """The generation a member is in; -1, "" and None where it has none."""

    generation_id: int = -1
    member_id: str = ""
    protocol_name: str | None = None

    @property
    def is_reset(self) -> bool:
        """Forgotten, the member id perhaps not."""
        return self.generation_id == -1 and self.protocol_name is None


NO_GENERATION = Generation()


class CoordinatorNode(NamedTuple):
    """Where the coordinator was found."""

    node_id: int
    host: str
    port: int


@dataclass(slots=True)
class InFlight:
    """A request sent and not answered. commit_id: the commit it is for."""

    request: MemberRequest
    sent_generation: Generation
    deadline_ms: int
    commit_id: int | None = None

    @property
    def is_to_coordinator(self) -> bool:
        return not isinstance(self.request, FindCoordinatorRequest)


@dataclass(slots=True)
class Commit:
    """A commit that is wanted. deadline_ms: None if nobody waits. failure: how its last attempt failed.

    retry_at_ms: when to try again; None while a request is in flight or the coordinator is looked for.
    """

    commit_id: int
    kind: CommitKind
    offsets: Mapping[TopicPartition, int]
    deadline_ms: int | None
    is_in_flight: bool = False
    is_done: bool = False
    failure: CommitFailure | None = None
    attempts: int = 0
    retry_at_ms: int | None = None


class LastAssignment(NamedTuple):
    """What an assignor was told of the last assignment it made or received."""

    partitions: tuple[TopicPartition, ...]
    generation_id: int


@dataclass(slots=True)
class Subscription:
    """What the application wants and has. topics: None if it is not subscribed.

    joined_topics: as told in the last JoinGroup. owned: what the application believes is its own. positions: the next
    offset to consume, where known. assignment_snapshot: partition counts when this member last led, None if it did not.
    """

    topics: frozenset[str] | None = None
    joined_topics: frozenset[str] | None = None
    owned: frozenset[TopicPartition] = frozenset()
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    partition_counts: Mapping[str, int] = field(default_factory=dict)
    replica_racks: ReplicaRacks = field(default_factory=lambda: NO_RACKS)
    assignment_snapshot: Mapping[str, int] | None = None
    last_assignments: dict[str, LastAssignment] = field(default_factory=dict)


@dataclass(slots=True)
class Rejoin:
    """The foreground's way into the next generation.

    is_prepared: partitions were given up for this rebalance. is_awaited: JoinGroup or SyncGroup in flight.
    assignment: received, not yet handed to the application. retry_at_ms: not before.
    prepare_commit, prepare_deadline_ms: the auto-commit before a join, and until when it is waited for.
    """

    is_needed: bool = True
    reason: str = ""
    is_prepared: bool = False
    is_awaited: bool = False
    assignment: bytes | None = None
    attempts: int = 0
    retry_at_ms: int = 0
    prepare_commit: Commit | None = None
    prepare_deadline_ms: int | None = None

    @property
    def is_pending(self) -> bool:
        return self.is_awaited or self.assignment is not None


@dataclass(slots=True)
class Pulse:
    """The background's timers; they count only while the member has joined.

    session_deadline_ms: without a good answer until then the coordinator is taken for lost. poll_deadline_ms: without
    a poll until then the member leaves. attempts: failed heartbeats in a row.
    """

    heartbeat_due_ms: int = 0
    session_deadline_ms: int = 0
    poll_deadline_ms: int = 0
    attempts: int = 0


@dataclass(slots=True)
class Lookup:
    """Where the coordinator is, and when it may be looked for again."""

    node: CoordinatorNode | None = None
    attempts: int = 0
    retry_at_ms: int = 0


@dataclass(slots=True)
class Closing:
    """A close under way. has_left: partitions are given up and LeaveGroup, if any, is sent."""

    deadline_ms: int
    has_left: bool = False


@dataclass(slots=True)
class Membership:
    """One consumer's membership in one group."""

    config: ConsumerConfig
    assignors: Mapping[str, Assignor]
    rebalance_protocol: RebalanceProtocol
    request_id_prefix: str
    state: MemberState = MemberState.UNJOINED
    generation: Generation = NO_GENERATION
    is_leader: bool = False
    lookup: Lookup = field(default_factory=Lookup)
    rejoin: Rejoin = field(default_factory=Rejoin)
    pulse: Pulse = field(default_factory=Pulse)
    subscription: Subscription = field(default_factory=Subscription)
    in_flight: dict[str, InFlight] = field(default_factory=dict)
    commits: dict[int, Commit] = field(default_factory=dict)
    auto_commit_due_ms: int | None = None
    failures: list[FatalError] = field(default_factory=list)
    closing: Closing | None = None
    is_closed: bool = False
    requests_made: int = 0
    commits_made: int = 0

    @property
    def has_joined(self) -> bool:
        """Heartbeats flow."""
        return self.state in JOINED

    @property
    def is_beating(self) -> bool:
        """The background's timers count."""
        return self.has_joined and not (self.closing is not None and self.closing.has_left)

    @property
    def is_looking(self) -> bool:
        """A FindCoordinator is in flight."""
        return any(not each.is_to_coordinator for each in self.in_flight.values())

    def next_request_id(self) -> str:
        self.requests_made += 1
        return f"{self.request_id_prefix}-{self.requests_made}"

    def request_rejoin(self, reason: str) -> None:
        """The next poll joins again and gives this reason."""
        self.rejoin.reason = reason
        self.rejoin.is_needed = True

    def reset(self, reason: str, *, forgets_member_id: bool) -> None:
        """Out of the generation, and perhaps out of the group: the next poll loses all partitions and joins anew."""
        self.state = MemberState.UNJOINED
        self.generation = Generation(member_id="" if forgets_member_id else self.generation.member_id)
        self.request_rejoin(reason)
        self.rejoin.is_prepared = False


@dataclass(slots=True)
class Turn:
    """One input: its moment, what came of it so far, and requests whose connection it closed."""

    now_ms: int
    outputs: list[Output] = field(default_factory=list)
    disconnected: list[InFlight] = field(default_factory=list)

    def emit(self, output: Output) -> None:
        self.outputs.append(output)


def sorted_partitions(partitions: frozenset[TopicPartition]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(partitions))
