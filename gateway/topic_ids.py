"""Topic ids: OffsetCommit and OffsetFetch v10 and the newer group protocol name topics by id, a group by name.

The coordinator sees the name where the id stands and answers likewise; ids that are no topic's are answered here. The
heartbeats of a consumer group bring the topics that there are, since its coordinator shares out their partitions: with
each member that joins, and once after the topics have changed.
Knows the messages; knows no socket and not where the topics are from.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from copy import copy
from typing import TypeVar

import msgspec

from coordinator_udfs.protocol.consumer.refusals import JOIN
from schemas.errors import Error
from schemas.messages import (
    ClientGroupRequest,
    ConsumerGroupAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    DescribedAssignment,
    DescribedConsumerGroup,
    DescribedTopicPartitions,
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
    Response,
)
from schemas.wire_fields import first_version

Asked = TypeVar("Asked", OffsetCommitRequestTopic, OffsetFetchRequestTopic, ConsumerGroupTopicPartitions)
Named = TypeVar("Named", ConsumerGroupTopicPartitions, DescribedTopicPartitions)
Topic = TypeVar("Topic", OffsetCommitResponseTopic, OffsetFetchResponseTopic)

NEVER = 1 << 15
_IDS_SINCE: dict[type[Request], int] = {
    OffsetCommitRequest: first_version(OffsetCommitRequestTopic, "topic_id"),
    OffsetFetchRequest: first_version(OffsetFetchRequestTopic, "topic_id"),
}
_NO_ID = uuid.UUID(int=0)
_TOLD_MAX = 100_000
"""So many groups are remembered as told; one that is forgotten is told again."""
_NAMESPACE = uuid.UUID("5f0e2f0c-6f1c-5d0e-9a53-9d2b5f3f5c8e")


class TopicIds:
    """The ids and the sizes of the topics there are.

    topics: by name with their partition counts; a topic has the same id in every gateway, at every start. None: they
    are learned, with the ids that they have elsewhere.
    """

    def __init__(self, topics: Mapping[str, int] | None = None) -> None:
        self.by_name: Mapping[str, uuid.UUID] = {}
        self.name_by_id: Mapping[str, str] = {}
        self._are_learned = topics is None
        self._sizes: dict[str, int] | None = None
        self._told: set[int] = set()
        """The groups that have been told of the topics as they are now, by the hashes of their ids."""
        if topics:
            self.learn(topics, {name: _id_of(name) for name in topics})

    def as_of_now(self) -> TopicIds:
        """The topics as they are now, whatever is learned later: for an answer that is built in another thread."""
        return copy(self)

    @property
    def are_known(self) -> bool:
        """Whether there is something to tell a group."""
        return self._sizes is not None

    def learn(self, sizes: Mapping[str, int], ids: Mapping[str, uuid.UUID]) -> None:
        """The topics are these from now on. ids: of topics without a size as well."""
        if sizes != self._sizes:
            self._sizes = dict(sizes)
            self._told.clear()
        if ids != self.by_name:
            self.by_name = dict(ids)
            self.name_by_id = {str(topic_id): name for name, topic_id in ids.items()}

    def settle(self, request: ClientGroupRequest, done: asyncio.Future[Response]) -> None:
        """A request of `named` has been answered: its group knows what it brought, unless it was refused."""
        if not isinstance(request, ConsumerGroupHeartbeatRequest) or request.cluster_topics is not self._sizes:
            return
        if done.cancelled() or done.exception() is not None:
            return
        response = done.result()
        if isinstance(response, ConsumerGroupHeartbeatResponse) and response.error_code is Error.NONE:
            if len(self._told) >= _TOLD_MAX:
                self._told.clear()
            self._told.add(hash(request.group_id))

    def named(self, request: ClientGroupRequest) -> ClientGroupRequest:
        """The request with names where ids stand; topics of unknown id are left out."""
        match request:
            case OffsetCommitRequest() if _has_ids(request):
                return msgspec.structs.replace(request, topics=self._with_names(request.topics))
            case OffsetFetchRequest() if _has_ids(request) and request.groups[0].topics is not None:
                group = msgspec.structs.replace(request.groups[0], topics=self._with_names(request.groups[0].topics))
                return msgspec.structs.replace(request, groups=[group])
            case ConsumerGroupHeartbeatRequest():
                owned = request.topic_partitions
                return msgspec.structs.replace(
                    request,
                    topic_partitions=None if owned is None else self._with_names(owned),
                    cluster_topics=self._sizes if self._is_to_be_told(request) else None,
                )
        return request

    def _is_to_be_told(self, request: ConsumerGroupHeartbeatRequest) -> bool:
        """A group that a member joins may be new; whoever leaves brings nothing."""
        return request.member_epoch == JOIN or (
            request.member_epoch > JOIN and hash(request.group_id) not in self._told
        )

    def answered(self, request: ClientGroupRequest, response: Response) -> Response:
        """The response to `named(request)` with ids again, and with what the unknown ids get."""
        match request, response:
            case OffsetCommitRequest(), OffsetCommitResponse() if _has_ids(request):
                committed = [self._with_id(topic) for topic in response.topics if topic.topic_id in self.by_name]
                return msgspec.structs.replace(response, topics=committed + self._unknown_committed(request))
            case OffsetFetchRequest(), OffsetFetchResponse() if _has_ids(request):
                group = response.groups[0]
                known = [self._with_id(topic) for topic in group.topics if topic.topic_id in self.by_name]
                topics = known + self._unknown_fetched(request.groups[0].topics or [])
                return msgspec.structs.replace(response, groups=[msgspec.structs.replace(group, topics=topics)])
            case ConsumerGroupHeartbeatRequest(), ConsumerGroupHeartbeatResponse() if response.assignment is not None:
                given = [self._renamed(topic) for topic in response.assignment.topic_partitions if self._id(topic)]
                return msgspec.structs.replace(response, assignment=ConsumerGroupAssignment(topic_partitions=given))
            case ConsumerGroupDescribeRequest(), ConsumerGroupDescribeResponse():
                return msgspec.structs.replace(response, groups=[self._described(group) for group in response.groups])
        return response

    def _with_names(self, topics: Sequence[Asked]) -> list[Asked]:
        return [
            msgspec.structs.replace(topic, topic_id=self.name_by_id[topic.topic_id])
            for topic in topics
            if topic.topic_id in self.name_by_id
        ]

    def _with_id(self, topic: Topic) -> Topic:
        return msgspec.structs.replace(topic, topic_id=str(self.by_name[topic.topic_id]))

    def _id(self, topic: Named) -> uuid.UUID | None:
        """None: the topic is gone."""
        found = self.by_name.get(topic.topic_id)
        return found if found is not None or self._are_learned else _id_of(topic.topic_id)

    def _renamed(self, topic: Named) -> Named:
        """With the id where its name stands."""
        return msgspec.structs.replace(topic, topic_id=str(self._id(topic) or _NO_ID))

    def _described(self, group: DescribedConsumerGroup) -> DescribedConsumerGroup:
        members = [
            msgspec.structs.replace(
                member,
                assignment=self._shown(member.assignment),
                target_assignment=self._shown(member.target_assignment),
            )
            for member in group.members
        ]
        return msgspec.structs.replace(group, members=members)

    def _shown(self, assignment: DescribedAssignment) -> DescribedAssignment:
        return DescribedAssignment(topic_partitions=[self._renamed(topic) for topic in assignment.topic_partitions])

    def _unknown_committed(self, request: OffsetCommitRequest) -> list[OffsetCommitResponseTopic]:
        return [
            OffsetCommitResponseTopic(
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=Error.UNKNOWN_TOPIC_ID
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
            if topic.topic_id not in self.name_by_id
        ]

    def _unknown_fetched(self, topics: list[OffsetFetchRequestTopic]) -> list[OffsetFetchResponseTopic]:
        return [
            OffsetFetchResponseTopic(
                topic_id=topic.topic_id,
                partitions=[
                    OffsetFetchResponsePartition(partition_index=partition, error_code=Error.UNKNOWN_TOPIC_ID)
                    for partition in topic.partition_indexes
                ],
            )
            for topic in topics
            if topic.topic_id not in self.name_by_id
        ]


def _id_of(name: str) -> uuid.UUID:
    return uuid.uuid5(_NAMESPACE, name)


def _has_ids(request: ClientGroupRequest) -> bool:
    """Whether the request names topics by id."""
    return request.api_version >= _IDS_SINCE.get(type(request), NEVER)
