"""The names of topics that a client names only by id, where the log shows them.

The newer group protocol names topics by id: a member is given ids, and the names it subscribes to are in its first
heartbeat. An id assigned to members has one of the names that all of them subscribe to; if one name is left, it is that
one. A ConsumerGroupDescribe has both. An OffsetCommit before version 10 has names: if one of the ids that its member
was given has the partition, it is of that name. OffsetCommit and OffsetFetch 10 have ids too: in a classic group the
name is that of the only topic with the partitions that the member commits. An id without a known name is used as the
name, and stands for it where members subscribe to it: of topics that all members are given together, no line may show
which is which.

Knows ids, subscriptions and assignments; knows no group's state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from rollcall.coordinator_udfs.protocol.claims import CONSUMER, owned
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.request_log.topic_metadata import TopicMetadata
from rollcall.schemas.limits import is_topic_id
from rollcall.schemas.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    GroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from rollcall.schemas.wire_fields import first_version

BY_ID_SINCE = first_version(OffsetFetchRequestTopic, "topic_id")
_MEMBERS_KEPT = 100_000


def names_described(entry: LoggedRequest) -> dict[str, str]:
    """The names of topics by id that the answer to a ConsumerGroupDescribe has."""
    response = entry.recorded.response
    assert isinstance(response, ConsumerGroupDescribeResponse)
    members = [member for group in response.groups for member in group.members]
    given = [assigned for member in members for assigned in (member.assignment, member.target_assignment)]
    return {topic.topic_id: topic.topic_name for assigned in given for topic in assigned.topic_partitions}


class TopicNames:
    """The names that were found so far."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        """By topic id."""
        self.subscriptions: dict[tuple[str, str], frozenset[str]] = {}
        """By group and member id, the names that a member subscribes to; none: it subscribes by a pattern."""
        self.candidates: dict[str, frozenset[str]] = {}
        """By topic id, the names that it may have."""
        self.ids_for_names: dict[str, str] = {}
        """The ids that stand for names in subscriptions."""
        self._given: dict[tuple[str, str], dict[str, set[int]]] = {}
        """By group and member id, the partitions that a member was ever given, by topic id."""
        self._unnamed: list[LoggedRequest] = []

    # ------------------------------------------------------------ learning

    def read(self, entry: LoggedRequest) -> None:
        """Takes in a request that was read and will be taken later."""
        self.learn(entry)
        if isinstance(entry.request, ConsumerGroupHeartbeatRequest | ConsumerGroupDescribeRequest):
            self._unnamed.append(entry)

    def learn(self, entry: LoggedRequest) -> None:
        """Takes in what a request shows, without filling in anything there."""
        request = entry.request
        if isinstance(request, ConsumerGroupHeartbeatRequest):
            self._read_heartbeat(entry, request)
        elif isinstance(request, OffsetCommitRequest):
            self._read_commit(request)
        elif isinstance(request, ConsumerGroupDescribeRequest):
            self.names.update(names_described(entry))

    def _read_heartbeat(self, entry: LoggedRequest, request: ConsumerGroupHeartbeatRequest) -> None:
        who = (request.group_id, request.member_id)
        if request.subscribed_topic_regex:
            self.subscriptions[who] = frozenset()
        elif request.subscribed_topic_names is not None:
            if len(self.subscriptions) >= _MEMBERS_KEPT:
                self.subscriptions.clear()
            self.subscriptions[who] = frozenset(request.subscribed_topic_names)
        subscribed = self.subscriptions.get(who)
        assignment = entry.recorded.wire.assignment
        if assignment is None or not subscribed:
            return
        for topic in assignment.topic_partitions:
            if topic.topic_id not in self.names:
                if len(self._given) >= _MEMBERS_KEPT:
                    self._given.clear()
                self._given.setdefault(who, {}).setdefault(topic.topic_id, set()).update(topic.partitions)
                self._narrow(topic.topic_id, subscribed)

    def _read_commit(self, request: OffsetCommitRequest) -> None:
        given = self._given.get((request.group_id, request.member_id), {})
        for topic in request.topics if given else ():
            for partition in topic.partitions:
                ids = [topic_id for topic_id, numbers in given.items() if partition.partition_index in numbers]
                if len(ids) == 1 and topic.name in self.candidates.get(ids[0], ()):
                    self._narrow(ids[0], frozenset({topic.name}))

    def _narrow(self, topic_id: str, subscribed: frozenset[str]) -> None:
        """Narrows a topic's candidates; the name of another id is left out, unless none is left then."""
        candidates = self.candidates.get(topic_id, subscribed) & subscribed
        taken = set(self.names.values())
        candidates = (candidates - taken) or candidates
        self.candidates[topic_id] = candidates
        if len(candidates) == 1:
            (self.names[topic_id],) = candidates
            del self.candidates[topic_id]
            for other, among in list(self.candidates.items()):
                self._narrow(other, among)

    def indistinct(self) -> dict[str, str]:
        """An id for each name that no line ties to an id: any order of them fits the log."""
        ids: dict[frozenset[str], list[str]] = {}
        for topic_id, among in self.candidates.items():
            ids.setdefault(among, []).append(topic_id)
        alike = ((sorted(among), sorted(found)) for among, found in ids.items() if len(among) == len(found))
        return {name: topic_id for names, found in alike for name, topic_id in zip(names, found, strict=True)}

    def ids_of(self, topics: Collection[str], shown: TopicMetadata, at_ms: float) -> dict[str, str]:
        """The ids of topics at a time, as far as these are known: of a name with several ids METADATA lines decide."""
        found = {name: known.topic_id for name in topics if (known := shown.at(name, at_ms)) is not None}
        left = set(topics) - found.keys()
        ids: dict[str, set[str]] = {}
        for topic_id, name in self.names.items() if left else ():
            if name in left and is_topic_id(topic_id):
                ids.setdefault(name, set()).add(topic_id)
        return found | {name: next(iter(of_name)) for name, of_name in ids.items() if len(of_name) == 1}

    # ------------------------------------------------------------ filling in

    def fill_in(self, request: GroupRequest, group: Group) -> None:
        """Gives the topics of a request that names them by id their names, once these are known.

        Those of the newer protocol's requests, and of the recorded answers to them, get theirs at the latest now, in
        all that was read.
        """
        for entry in self._unnamed:
            self._rename_all(entry)
        self._unnamed.clear()
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

    def _rename_all(self, entry: LoggedRequest) -> None:
        request, response = entry.request, entry.recorded.response
        if isinstance(request, ConsumerGroupHeartbeatRequest):
            self._rename(request.topic_partitions or ())
            if request.subscribed_topic_names and self.ids_for_names:
                named = request.subscribed_topic_names
                request.subscribed_topic_names = [self.ids_for_names.get(name, name) for name in named]
        if isinstance(response, ConsumerGroupHeartbeatResponse) and response.assignment is not None:
            self._rename(response.assignment.topic_partitions)

    def _rename(self, topics: Iterable[ConsumerGroupTopicPartitions]) -> None:
        """Puts the name beside the id."""
        for topic in topics:
            topic.topic_name = self.names.setdefault(topic.topic_id, topic.topic_id)

    def _name_of(self, topic_id: str, partitions: frozenset[int], member_id: str, group: Group) -> str:
        name = self.names.get(topic_id)
        if name is None:
            member = group.members.get(member_id)
            assigned = _assigned(member.assignment) if member is not None else {}
            candidates = [topic for topic, numbers in assigned.items() if partitions <= numbers]
            if len(candidates) != 1:
                return ""
            name = self.names[topic_id] = candidates[0]
        return name


@lru_cache(maxsize=1024)
def _assigned(assignment: bytes) -> dict[str, set[int]]:
    return {each.topic: {*each.partitions} for each in owned(CONSUMER, b"", assignment) or ()}
