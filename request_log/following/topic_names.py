"""The names of topics that a client names by id alone (OffsetCommit and OffsetFetch 10), where the log shows them.

A member commits what it is assigned, and an assignment names topics: where only one topic has the partitions that are
committed under an id, it is that topic's id. Knows ids and assignments; knows no group's state.
"""

from __future__ import annotations

from functools import lru_cache

from coordinator_udfs.protocol.group import Group
from schemas.consumer_protocol import ConsumerProtocolError, decode_assignment
from schemas.messages import GroupRequest, OffsetCommitRequest, OffsetFetchRequest, OffsetFetchRequestTopic
from schemas.wire_fields import first_version

BY_ID_SINCE = first_version(OffsetFetchRequestTopic, "topic_id")


class TopicNames:
    """The names that were found so far."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        """By topic id."""

    def fill_in(self, request: GroupRequest, group: Group) -> None:
        """Gives the topics of a request that names them by id their names, once these are known."""
        if request.api_version < BY_ID_SINCE:
            return
        if isinstance(request, OffsetCommitRequest):
            for topic in request.topics:
                asked = frozenset(partition.partition_index for partition in topic.partitions)
                topic.name = self._name_of(topic.topic_id, asked, request.member_id, group)
        elif isinstance(request, OffsetFetchRequest):
            for fetched in request.groups[0].topics or ():
                asked = frozenset(fetched.partition_indexes)
                member_id = request.groups[0].member_id or ""
                fetched.name = self._name_of(fetched.topic_id, asked, member_id, group)

    def _name_of(self, topic_id: str, partitions: frozenset[int], member_id: str, group: Group) -> str:
        name = self.names.get(topic_id)
        if name is None:
            member = group.members.get(member_id)
            owned = _assigned(member.assignment) if member is not None else {}
            candidates = [topic for topic, numbers in owned.items() if partitions <= numbers]
            if len(candidates) != 1:
                return ""
            name = self.names[topic_id] = candidates[0]
        return name


@lru_cache(maxsize=1024)
def _assigned(assignment: bytes) -> dict[str, set[int]]:
    owned: dict[str, set[int]] = {}
    try:
        partitions = decode_assignment(assignment).partitions if assignment else ()
    except ConsumerProtocolError:
        return owned
    for topic, partition in partitions:
        owned.setdefault(topic, set()).add(partition)
    return owned
