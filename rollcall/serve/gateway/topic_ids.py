"""Topic ids: OffsetCommit and OffsetFetch v10 and the newer group protocol name topics by id, a group by name.

Requests go to the coordinator with names beside the ids, and its answers get the ids of their names. Unknown ids are
answered here. The coordinator of a consumer group needs the existing topics to assign their partitions. So a heartbeat
carries them when a member joins, and once after the topics have changed.

Knows the messages; must not know a socket or where the topics are from.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TypeVar

import msgspec

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ClientGroupRequest,
    ConsumerGroupAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    OffsetTopic,
    Response,
)
from rollcall.schemas.refusals import fetched_topic, refusal
from rollcall.schemas.wire_fields import first_version

Asked = TypeVar("Asked", OffsetCommitRequestTopic, OffsetFetchRequestTopic, ConsumerGroupTopicPartitions)
Answered = TypeVar("Answered", OffsetFetchResponseTopic, ConsumerGroupTopicPartitions)

NAME_TOPICS = (
    OffsetCommitRequest,
    OffsetFetchRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupDescribeRequest,
)
"""The requests that name topics, or whose answers do, by ids."""
_IDS_SINCE = first_version(OffsetTopic, "topic_id")
_NO_ID = uuid.UUID(int=0)
_REPORTED_MAX = 100_000
"""At most this many groups are remembered as knowing the topics; a forgotten one gets them again."""
_NAMESPACE = uuid.UUID("5f0e2f0c-6f1c-5d0e-9a53-9d2b5f3f5c8e")


class TopicIds:
    """The ids and partition counts of the topics. topics: partition counts by name; a topic has the same id in every
    gateway, at every start. None: topics and their ids are learned later.
    """

    def __init__(self, topics: Mapping[str, int] | None = None) -> None:
        self.by_name: Mapping[str, uuid.UUID] = {}
        self.name_by_id: Mapping[str, str] = {}
        self._are_learned = topics is None
        self._sizes: dict[str, int] | None = None
        self._reported_to: set[int] = set()
        """The groups that have got the present topics, by the hashes of their ids."""
        if topics:
            self.learn(topics, {name: uuid.uuid5(_NAMESPACE, name) for name in topics})

    def as_of_now(self) -> TopicIds:
        """The topics as they are now, whatever is learned later: for an answer that is built in another thread."""
        return copy(self)

    @property
    def are_known(self) -> bool:
        """Whether there are topics that a group can get."""
        return self._sizes is not None

    def learn(self, sizes: Mapping[str, int], ids: Mapping[str, uuid.UUID]) -> None:
        """Sets the topics. ids: also those of topics whose partition count is unknown."""
        if sizes != self._sizes:
            self._sizes = dict(sizes)
            self._reported_to.clear()
        if ids != self.by_name:
            self.by_name = dict(ids)
            self.name_by_id = {str(topic_id): name for name, topic_id in ids.items()}

    def note_reported(self, request: ClientGroupRequest, done: asyncio.Future[Response]) -> None:
        """A request of `with_names` has been answered: unless it was refused, its group knows the topics that it
        carried."""
        if not isinstance(request, ConsumerGroupHeartbeatRequest) or request.cluster_topics is not self._sizes:
            return
        if done.cancelled() or done.exception() is not None:
            return
        response = done.result()
        if isinstance(response, ConsumerGroupHeartbeatResponse) and response.error_code is Error.NONE:
            if len(self._reported_to) >= _REPORTED_MAX:
                self._reported_to.clear()
            self._reported_to.add(hash(request.group_id))

    def with_names(self, request: ClientGroupRequest) -> ClientGroupRequest:
        """The request with the names of its topics; those of unknown id are left out."""
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
                    topic_partitions=None if owned is None else self._with_names(owned, "topic_name"),
                    cluster_topics=self._sizes if self._needs_topics(request) else None,
                )
        return request

    def _needs_topics(self, request: ConsumerGroupHeartbeatRequest) -> bool:
        """A group that a member joins may be new; a leaving member's request carries no topics."""
        return request.member_epoch == JOIN or (
            request.member_epoch > JOIN and hash(request.group_id) not in self._reported_to
        )

    def with_ids(self, request: ClientGroupRequest, response: Response) -> Response:
        """The response to `with_names(request)` with all ids, and with what the unknown ids get."""
        match request, response:
            case OffsetCommitRequest(), OffsetCommitResponse() if _has_ids(request):
                answered = {topic.topic_id for topic in response.topics}
                unknown = [topic for topic in request.topics if topic.topic_id not in answered]
                refused = refusal(msgspec.structs.replace(request, topics=unknown), Error.UNKNOWN_TOPIC_ID)
                assert isinstance(refused, OffsetCommitResponse)
                return msgspec.structs.replace(response, topics=response.topics + refused.topics)
            case OffsetFetchRequest(), OffsetFetchResponse() if _has_ids(request):
                group = response.groups[0]
                known = self._with_ids(group.topics, self.by_name.get)
                answered = {topic.topic_id for topic in known}
                asked = request.groups[0].topics or []
                missing = [
                    fetched_topic(topic, Error.UNKNOWN_TOPIC_ID) for topic in asked if topic.topic_id not in answered
                ]
                answer = msgspec.structs.replace(group, topics=known + missing)
                return msgspec.structs.replace(response, groups=[answer])
            case ConsumerGroupHeartbeatRequest(), ConsumerGroupHeartbeatResponse() if response.assignment is not None:
                given = self._with_ids(response.assignment.topic_partitions, self._id_of)
                return msgspec.structs.replace(response, assignment=ConsumerGroupAssignment(topic_partitions=given))
            case ConsumerGroupDescribeRequest(), ConsumerGroupDescribeResponse():
                members = [member for group in response.groups for member in group.members]
                shown = [one for member in members for one in (member.assignment, member.target_assignment)]
                for topic in (topic for one in shown for topic in one.topic_partitions):
                    topic.topic_id = str(self._id_of(topic.topic_name) or _NO_ID)
        return response

    def _with_names(self, topics: Sequence[Asked], field: str = "name") -> list[Asked]:
        return [
            msgspec.structs.replace(topic, **{field: self.name_by_id[topic.topic_id]})
            for topic in topics
            if topic.topic_id in self.name_by_id
        ]

    def _with_ids(self, topics: Sequence[Answered], id_of: Callable[[str], uuid.UUID | None]) -> list[Answered]:
        """The topics with their ids, without deleted ones. An answer about topics by id has their ids already."""
        return [
            msgspec.structs.replace(topic, topic_id=str(topic_id))
            for topic in topics
            if (topic_id := topic.topic_id if topic.topic_id in self.name_by_id else id_of(topic.topic))
        ]

    def _id_of(self, name: str) -> uuid.UUID | None:
        """None: the topic is gone."""
        found = self.by_name.get(name)
        return found if found is not None or self._are_learned else uuid.uuid5(_NAMESPACE, name)


def _has_ids(request: OffsetCommitRequest | OffsetFetchRequest) -> bool:
    return request.api_version >= _IDS_SINCE
