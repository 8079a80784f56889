"""All that a member remembers between two inputs, as data; a deadline is a field on what it ends.

In a Java consumer two threads share this state. Here the two parts are kept, since a group sees the difference when an
application is slow: the background (answers, heartbeats, timeouts) runs on its own; the foreground (revoking,
joining, assigning, raising errors) waits until the application polls.

Knows only one rule, which state lets heartbeats flow. Source: AbstractCoordinator, ConsumerCoordinator, Heartbeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from rollcall.answers.clients.assignors import Assignor, RebalanceProtocol
from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.clients.events import (
    CommitFailure,
    CommitKind,
    CoordinatorFound,
    FatalError,
    MemberRequest,
    Output,
)
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.messages import FindCoordinatorRequest


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
        """Whether there is no generation; there may still be a member id."""
        return self.generation_id == -1 and self.protocol_name is None


NO_GENERATION = Generation()


@dataclass(slots=True)
class InFlight:
    """A request sent and not answered."""

    request: MemberRequest
    sent_generation: Generation
    deadline_ms: int
    commit_id: int | None = None
    """The commit it is for."""

    @property
    def is_to_coordinator(self) -> bool:
        return not isinstance(self.request, FindCoordinatorRequest)


@dataclass(slots=True)
class Commit:
    """A commit that is not finished."""

    commit_id: int
    kind: CommitKind
    offsets: Mapping[TopicPartition, int]
    deadline_ms: int | None
    """When the waiting call gives up; None if no call waits."""
    is_in_flight: bool = False
    is_done: bool = False
    failure: CommitFailure | None = None
    """How its last attempt failed."""
    attempts: int = 0
    retry_at_ms: int | None = None
    """When to try again; None while a request is in flight or the coordinator is looked for."""


class LastAssignment(NamedTuple):
    """The last assignment of an assignor, and its generation."""

    partitions: tuple[TopicPartition, ...]
    generation_id: int


@dataclass(slots=True)
class Subscription:
    """What the application subscribes to, owns and has consumed."""

    topics: frozenset[str] | None = None
    """None if it is not subscribed."""
    joined_topics: frozenset[str] | None = None
    """The topics in the last JoinGroup."""
    owned: frozenset[TopicPartition] = frozenset()
    """What the application believes is its own."""
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    """The next offset to consume, where known."""
    partition_counts: Mapping[str, int] = field(default_factory=dict)
    assignment_snapshot: Mapping[str, int] | None = None
    """Partition counts when this member last led, None if it did not."""
    last_assignments: dict[str, LastAssignment] = field(default_factory=dict)


@dataclass(slots=True)
class Rejoin:
    """The foreground's way into the next generation."""

    is_needed: bool = True
    reason: str = ""
    is_prepared: bool = False
    """Partitions were given up for this rebalance."""
    is_awaited: bool = False
    """JoinGroup or SyncGroup in flight."""
    assignment: bytes | None = None
    """Received, not yet handed to the application."""
    attempts: int = 0
    retry_at_ms: int = 0
    """The earliest time of the next attempt."""
    prepare_commit: Commit | None = None
    prepare_deadline_ms: int | None = None
    """How long `prepare_commit`, the auto-commit before a join, is awaited."""


@dataclass(slots=True)
class Pulse:
    """The background's timers; they run only while the member has joined."""

    heartbeat_due_ms: int = 0
    session_deadline_ms: int = 0
    """When the coordinator counts as lost, unless a good answer comes before."""
    poll_deadline_ms: int = 0
    """When the member leaves, unless the application polls before."""
    attempts: int = 0
    """Failed heartbeats in a row."""


@dataclass(slots=True)
class Lookup:
    """Where the coordinator is, and when it may be looked for again."""

    node: CoordinatorFound | None = None
    attempts: int = 0
    retry_at_ms: int = 0


@dataclass(slots=True)
class Closing:
    """A close under way."""

    deadline_ms: int
    has_left: bool = False
    """Partitions are given up and LeaveGroup, if any, is sent."""


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
        """Whether the member sends heartbeats."""
        return self.state in JOINED

    @property
    def is_beating(self) -> bool:
        """Whether the background's timers run."""
        return self.has_joined and not (self.closing is not None and self.closing.has_left)

    @property
    def is_looking(self) -> bool:
        """Whether a FindCoordinator is in flight."""
        return any(not each.is_to_coordinator for each in self.in_flight.values())

    def next_request_id(self) -> str:
        self.requests_made += 1
        return f"{self.request_id_prefix}-{self.requests_made}"

    def request_rejoin(self, reason: str) -> None:
        """Makes the next poll join again, with this reason."""
        self.rejoin.reason = reason
        self.rejoin.is_needed = True

    def reset(self, reason: str, *, forgets_member_id: bool) -> None:
        """Forgets the generation, and on request the member id: the next poll loses all partitions and joins again."""
        self.state = MemberState.UNJOINED
        self.generation = Generation(member_id="" if forgets_member_id else self.generation.member_id)
        self.request_rejoin(reason)
        self.rejoin.is_prepared = False


@dataclass(slots=True)
class Turn:
    """One input: its moment, its outputs so far, and the requests whose connection it closed."""

    now_ms: int
    outputs: list[Output] = field(default_factory=list)
    disconnected: list[InFlight] = field(default_factory=list)

    def emit(self, output: Output) -> None:
        self.outputs.append(output)


def sorted_partitions(partitions: frozenset[TopicPartition]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(partitions))
