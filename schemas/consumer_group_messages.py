"""ConsumerGroupHeartbeat and ConsumerGroupDescribe: the messages of the newer group protocol (KIP-848).

On the wire a topic has only its id. The coordinator knows only names: who passes a message on puts the one beside the
other. See `rollcall.schemas.messages`.
"""

from __future__ import annotations

from typing import Annotated

from rollcall.schemas.errors import Error
from rollcall.schemas.shapes import NOT_ON_THE_WIRE, Int32, Request, Response, Shape, Since

# ---------------------------------------------------------------- ConsumerGroupHeartbeat (key 68)


class ConsumerGroupTopicPartitions(Shape, kw_only=True):
    topic_id: str = ""
    topic_name: Annotated[str, NOT_ON_THE_WIRE] = ""
    partitions: list[Int32]

    @property
    def topic(self) -> str:
        """Its name, or its id: homes up to 0.2 have the name there, and an unknown topic has only that."""
        return self.topic_name or self.topic_id


class ConsumerGroupHeartbeatRequest(Request, tag="ConsumerGroupHeartbeat", kw_only=True):
    """ConsumerGroupHeartbeat v0-1. Null, and -1 for the rebalance timeout, means: as it was."""

    group_id: str
    member_id: str
    member_epoch: Int32
    """0 joins, -1 leaves, -2 is a static member that leaves and means to return, otherwise the epoch it has."""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: list[str] | None = None
    subscribed_topic_regex: Annotated[str | None, Since(1)] = None
    server_assignor: str | None = None
    topic_partitions: list[ConsumerGroupTopicPartitions] | None = None
    """What the member owns now."""
    cluster_topics: dict[str, Int32] | None = None
    """Not a client's: the topics that there are, with their partition counts, as who passes the request on sees them;
    null: as the group knows them.
    """
    topic_ids: dict[str, str] | None = None
    """Not a client's: ids of `cluster_topics`, as far as a recording shows them."""
    resolved_patterns: dict[str, list[str]] | None = None
    """Not a client's: a recording shows that by now these regular expressions stand for these topics."""
    inferred_cause: str | None = None
    """Not sent by clients: why it leaves or joins, a `CauseKind`, if a recording shows or infers it."""


class ConsumerGroupAssignment(Shape, kw_only=True):
    topic_partitions: list[ConsumerGroupTopicPartitions] = []


class ConsumerGroupHeartbeatResponse(Response, kw_only=True):
    throttle_time_ms: int = 0
    error_code: Error = Error.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: ConsumerGroupAssignment | None = None


# ---------------------------------------------------------------- ConsumerGroupDescribe (key 69)


class ConsumerGroupDescribeRequest(Request, tag="ConsumerGroupDescribe", kw_only=True):
    """ConsumerGroupDescribe v0-1."""

    group_ids: list[str]
    include_authorized_operations: bool = False


class DescribedTopicPartitions(Shape, kw_only=True):
    topic_id: str = ""
    topic_name: str
    partitions: list[int]


class DescribedAssignment(Shape, kw_only=True):
    topic_partitions: list[DescribedTopicPartitions] = []


class DescribedConsumerGroupMember(Shape, kw_only=True):
    """A member of a group that is described."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None = None
    assignment: DescribedAssignment
    target_assignment: DescribedAssignment
    member_type: Annotated[int, Since(1)] = -1
    """0 classic, 1 consumer (KIP-1099)."""


class DescribedConsumerGroup(Shape, kw_only=True):
    error_code: Error = Error.NONE
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[DescribedConsumerGroupMember] = []
    authorized_operations: int = -2147483648


class ConsumerGroupDescribeResponse(Response, kw_only=True):
    throttle_time_ms: int = 0
    groups: list[DescribedConsumerGroup] = []
