"""OffsetCommit, OffsetFetch and OffsetDelete: the messages about committed offsets. See `rollcall.schemas.messages`."""

from __future__ import annotations

from typing import Annotated

from rollcall.schemas.errors import Error
from rollcall.schemas.shapes import Int32, Int64, Request, Response, Shape, Since, Versions


class OffsetTopic(Shape, kw_only=True):
    """A topic by its name, from v10 on by its id. Who passes a message of v10 on puts the name beside the id."""

    name: Annotated[str, Versions(0, 9, is_passed_on=True)] = ""
    topic_id: Annotated[str, Since(10)] = ""

    @property
    def topic(self) -> str:
        """Its name, or its id: homes up to 0.2 may have the name there, and an unknown topic has only that."""
        return self.name or self.topic_id


# ---------------------------------------------------------------- OffsetCommit (key 8)


class OffsetCommitRequestPartition(Shape, kw_only=True):
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Annotated[Int32, Since(6)] = -1
    committed_metadata: str | None = None


class OffsetCommitRequestTopic(OffsetTopic, kw_only=True):
    partitions: list[OffsetCommitRequestPartition]


class OffsetCommitRequest(Request, tag="OffsetCommit", kw_only=True):
    """OffsetCommit v2-10; v10 names topics by id."""

    group_id: str
    generation_id_or_member_epoch: Int32 = -1
    member_id: str = ""
    group_instance_id: Annotated[str | None, Since(7)] = None
    retention_time_ms: Annotated[Int64, Versions(2, 4)] = -1
    topics: list[OffsetCommitRequestTopic]
    is_acknowledged: bool = False
    """Set by a gateway that answers the commit once it is in the request table (decision 19)."""


class OffsetCommitResponsePartition(Shape, kw_only=True):
    partition_index: Int32
    error_code: Error = Error.NONE


class OffsetCommitResponseTopic(OffsetTopic, kw_only=True):
    partitions: list[OffsetCommitResponsePartition]


class OffsetCommitResponse(Response, kw_only=True):
    throttle_time_ms: Annotated[Int32, Since(3)] = 0
    topics: list[OffsetCommitResponseTopic] = []


# ---------------------------------------------------------------- OffsetFetch (key 9)


class OffsetFetchRequestTopic(OffsetTopic, kw_only=True):
    partition_indexes: list[Int32]


class OffsetFetchRequestGroup(Shape, kw_only=True):
    group_id: str
    member_id: Annotated[str | None, Since(9)] = None
    member_epoch: Annotated[Int32, Since(9)] = -1
    topics: list[OffsetFetchRequestTopic] | None = None


class OffsetFetchRequest(Request, tag="OffsetFetch", kw_only=True):
    """OffsetFetch v1-10: one group on top up to v7, a list of groups from v8; topics null means all of them."""

    group_id: Annotated[str, Versions(0, 7)] = ""
    topics: Annotated[list[OffsetFetchRequestTopic] | None, Versions(0, 7)] = None
    groups: Annotated[list[OffsetFetchRequestGroup], Since(8)] = []
    require_stable: Annotated[bool, Since(7)] = False


class OffsetFetchResponsePartition(Shape, kw_only=True):
    partition_index: Int32
    committed_offset: Int64 = -1
    committed_leader_epoch: Annotated[Int32, Since(5)] = -1
    metadata: str | None = ""
    error_code: Error = Error.NONE


class OffsetFetchResponseTopic(OffsetTopic, kw_only=True):
    partitions: list[OffsetFetchResponsePartition]


class OffsetFetchResponseGroup(Shape, kw_only=True):
    group_id: str
    topics: list[OffsetFetchResponseTopic] = []
    error_code: Error = Error.NONE


class OffsetFetchResponse(Response, kw_only=True):
    throttle_time_ms: Annotated[Int32, Since(3)] = 0
    topics: Annotated[list[OffsetFetchResponseTopic], Versions(0, 7)] = []
    error_code: Annotated[Error, Versions(2, 7)] = Error.NONE
    groups: Annotated[list[OffsetFetchResponseGroup], Since(8)] = []


# ---------------------------------------------------------------- OffsetDelete (key 47)


class OffsetDeleteRequestPartition(Shape, kw_only=True):
    partition_index: Int32


class OffsetDeleteRequestTopic(Shape, kw_only=True):
    name: str
    partitions: list[OffsetDeleteRequestPartition]


class OffsetDeleteRequest(Request, tag="OffsetDelete", kw_only=True):
    """OffsetDelete v0."""

    group_id: str
    topics: list[OffsetDeleteRequestTopic]


class OffsetDeleteResponsePartition(Shape, kw_only=True):
    partition_index: Int32
    error_code: Error = Error.NONE


class OffsetDeleteResponseTopic(Shape, kw_only=True):
    name: str
    partitions: list[OffsetDeleteResponsePartition]


class OffsetDeleteResponse(Response, kw_only=True):
    error_code: Error = Error.NONE
    throttle_time_ms: Int32 = 0
    topics: list[OffsetDeleteResponseTopic] = []
