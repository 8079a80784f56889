"""What comes out of a member: requests to send, and what its application and its connection have to know.

Every input of a member returns these in the order in which they happen, so a revocation stands before the JoinGroup
that it precedes. Facts are in the past tense; only Send is an order. Knows the shapes and no rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from schemas.consumer_protocol import TopicPartition
from schemas.errors import Error
from schemas.messages import (
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
)


class CommitKind(StrEnum):
    """Who wants a commit: the application, and whether it waits, or the member itself, and when."""

    ASYNC = "async"
    SYNC = "sync"
    INTERVAL = "interval"
    BEFORE_JOIN = "before_join"
    AT_CLOSE = "at_close"


class CommitFailure(StrEnum):
    """How a commit failed: as the exceptions of the Java client, and a wait that was too long."""

    COMMIT_FAILED = "CommitFailedException"
    REBALANCE_IN_PROGRESS = "RebalanceInProgressException"
    RETRIABLE = "RetriableCommitFailedException"
    FATAL = "KafkaException"
    TIMED_OUT = "TimeoutException"


@dataclass(frozen=True, slots=True)
class Send:
    """A request to send: FindCoordinator to any broker, every other to the coordinator last found.

    deadline_ms: when the member gives up on an answer, by itself, in `expire`.
    """

    request: MemberRequest
    deadline_ms: int


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """Connect here; requests follow."""

    node_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class CoordinatorLost:
    """Close the connection to the coordinator: no answer on it is awaited any longer."""

    cause: str


@dataclass(frozen=True, slots=True)
class PartitionsAssigned:
    """The application owns these from now on, beside those it kept; empty if nothing is new."""

    partitions: tuple[TopicPartition, ...]
    generation_id: int


@dataclass(frozen=True, slots=True)
class PartitionsRevoked:
    """The application owns these no longer, and nobody else does yet."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class PartitionsLost:
    """The application owns these no longer, and somebody else may have for a while."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """A commit succeeded; one of no offsets does so without a request."""

    commit_id: int
    kind: CommitKind
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """A commit failed for good. error: what the coordinator answered, None if it was not asked or did not answer."""

    commit_id: int
    kind: CommitKind
    failure: CommitFailure
    error: Error | None
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class FatalError:
    """The application's call to poll ends with this error. Should it poll again, the member tries again."""

    api: str
    error: Error | None
    message: str


@dataclass(frozen=True, slots=True)
class LeftGroup:
    """The member left. is_announced: with a LeaveGroup; a static member, or one without a coordinator, sends none."""

    member_id: str
    reason: str
    is_announced: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """Nothing more comes out of this member."""


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
