"""What a member returns: requests to send, and what its application and its connection must know.

Every input of a member returns these in the order in which they happen, so a revocation comes before its JoinGroup. All
are facts, in the past tense; only Send is an order. Knows the shapes and no rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)

MemberRequest = (
    FindCoordinatorRequest
    | JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | ConsumerGroupHeartbeatRequest
)


class CommitKind(StrEnum):
    """When a member commits."""

    INTERVAL = "interval"
    BEFORE_JOIN = "before_join"
    AT_CLOSE = "at_close"


class CommitFailure(StrEnum):
    """How a commit failed: one of the Java client's exceptions, or its time ran out."""

    COMMIT_FAILED = "CommitFailedException"
    REBALANCE_IN_PROGRESS = "RebalanceInProgressException"
    RETRIABLE = "RetriableCommitFailedException"
    FATAL = "KafkaException"
    TIMED_OUT = "TimeoutException"


@dataclass(frozen=True, slots=True)
class Send:
    """A request to send: FindCoordinator to any broker, every other to the coordinator last found."""

    request: MemberRequest
    deadline_ms: int
    """When `expire` gives up on the answer."""


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """The coordinator was found here; connect to it, requests follow."""

    node_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class CoordinatorLost:
    """The coordinator is lost: close the connection to it, no answer on it is awaited any longer."""

    cause: str


@dataclass(frozen=True, slots=True)
class PartitionsAssigned:
    """The application owns these from now on, in addition to those it kept; empty if nothing is new."""

    partitions: tuple[TopicPartition, ...]
    generation_id: int


@dataclass(frozen=True, slots=True)
class PartitionsRevoked:
    """The application no longer owns these, and no other member does yet."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class PartitionsLost:
    """The application no longer owns these, and another member may own them already."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """A commit succeeded."""

    commit_id: int
    kind: CommitKind
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class CommitFailed:
    commit_id: int
    kind: CommitKind
    failure: CommitFailure
    error: Error | None
    """The coordinator's error; None if it was not asked or did not answer."""
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class FatalError:
    """The application's call to poll ends with this error. If it polls again, the member tries again."""

    api: str
    error: Error | None
    message: str


@dataclass(frozen=True, slots=True)
class LeftGroup:
    member_id: str
    reason: str
    is_announced: bool
    """Whether it sent a LeaveGroup; a static member sends none, nor does one without a coordinator."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The member is closed; it returns nothing from now on."""


Event = (
    CoordinatorFound
    | CoordinatorLost
    | PartitionsAssigned
    | PartitionsRevoked
    | PartitionsLost
    | OffsetsCommitted
    | CommitFailed
    | FatalError
    | LeftGroup
    | Closed
)
Output = Send | Event
