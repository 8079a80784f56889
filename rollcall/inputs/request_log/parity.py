"""Recorded answers beside ours: equal or not, and where they differ.

Only what the group decides is compared. Left out are throttle times; partitions that are refused because of the topic
or an authorizer (a log does not show which topics exist); what a caller may do to a group; error texts; and the order
of members, topics and groups, which Kafka takes from hash tables. The broker chooses a leader and a new member's id by
chance; a replay gets both, so they are compared as well.

Knows the messages; knows no rule of the protocol.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rollcall.coordinator_udfs.protocol.config_apis import ConfigSource
from rollcall.inputs.request_log.recorded import OrderedRequest, Recorded
from rollcall.schemas.effects import Effect, Reply, RequestDropped
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import names_many_groups
from rollcall.schemas.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeGroupsRequest,
    GroupRequest,
    HeartbeatResponse,
    IncrementalAlterConfigsRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Response,
)
from rollcall.schemas.wire_fields import carried

NOT_THE_GROUPS = frozenset(
    {
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.TOPIC_AUTHORIZATION_FAILED,
        Error.UNKNOWN_TOPIC_ID,
        Error.INVALID_COMMIT_OFFSET_SIZE,
        Error.UNSTABLE_OFFSET_COMMIT,
        Error.UNKNOWN_SERVER_ERROR,
    }
)
"""Errors of a partition that are not the group's decision."""
DIFFERENCES_KEPT = 50

Content = dict[str, Any]


class Difference(msgspec.Struct):
    """One recorded answer that ours does not equal."""

    request_id: str
    group_id: str
    api: str
    api_version: int
    client_id: str
    received_at_ms: int
    recorded: Content
    """The recorded fields that differ, by name."""
    ours: Content
    """The same fields of our answer."""


def differing(request: GroupRequest, recorded: Response, ours: Response) -> tuple[Content, Content] | None:
    """The fields in which two answers to a request differ, the recorded one's and ours; None if they are equal."""
    theirs, mine = _content(request, recorded), _content(request, ours)
    left_out = theirs.pop("left out", ())
    mine.pop("left out", None)
    if left_out:
        mine["partitions"] = {key: value for key, value in mine["partitions"].items() if key not in left_out}
    if theirs == mine:
        return None
    names = [name for name in theirs | mine if theirs.get(name) != mine.get(name)]
    return {name: theirs.get(name) for name in names}, {name: mine.get(name) for name in names}


def _content(request: GroupRequest, response: Response) -> Content:
    """The fields that are compared, by name, in an order that both sides share."""
    match request:
        case JoinGroupRequest():
            content = carried(response, request.api_version)
            content["members"] = {member["member_id"]: member for member in content["members"]}
        case OffsetCommitRequest():
            assert isinstance(response, OffsetCommitResponse)
            content = _by_partition(
                (topic.topic_id or topic.name, partition.partition_index, partition.error_code)
                for topic in response.topics
                for partition in topic.partitions
            )
        case OffsetFetchRequest():
            assert isinstance(response, OffsetFetchResponse)
            content = _fetched(request, response)
        case OffsetDeleteRequest():
            assert isinstance(response, OffsetDeleteResponse)
            content = _by_partition(
                (topic.name, partition.partition_index, partition.error_code)
                for topic in response.topics
                for partition in topic.partitions
            )
            content["error_code"] = response.error_code
        case DescribeGroupsRequest():
            content = carried(response, request.api_version)["groups"][0]
            content["members"] = {member["member_id"]: member for member in content["members"]}
            content.pop("authorized_operations", None)
            content.pop("error_message", None)
        case ConsumerGroupHeartbeatRequest():
            content = carried(response, request.api_version, in_tables=True)
            if content["assignment"] is not None:
                content["assignment"] = _partitions(content["assignment"])
            content.pop("error_message", None)
        case ConsumerGroupDescribeRequest():
            content = carried(response, request.api_version)["groups"][0]
            content["members"] = {member["member_id"]: _described(member) for member in content["members"]}
            content.pop("authorized_operations", None)
            content.pop("error_message", None)
        case DescribeConfigsRequest():
            assert isinstance(response, DescribeConfigsResponse)
            # What is set only for the group: the broker's own settings are not the group's, nor is their wording.
            content = {
                c.name: c.value for c in response.results[0].configs if c.config_source == ConfigSource.GROUP_CONFIG
            }
        case AlterConfigsRequest() | IncrementalAlterConfigsRequest():
            assert isinstance(response, AlterConfigsResponse)
            content = {"error_code": response.responses[0].error_code}
        case _:
            content = carried(response, request.api_version)
    content.pop("throttle_time_ms", None)
    return content


def _partitions(assignment: Content) -> dict[str, list[int]]:
    """An assignment of the newer protocol by topic, its partitions sorted."""
    topics = assignment["topic_partitions"]
    return {each["topic_name"] or each["topic_id"]: sorted(each["partitions"]) for each in topics}


def _described(member: Content) -> Content:
    """A member of a ConsumerGroupDescribe, its assignments in an order that both sides share."""
    topics = {"subscribed_topic_names": sorted(member["subscribed_topic_names"])}
    return member | topics | {name: _partitions(member[name]) for name in ("assignment", "target_assignment")}


def _by_partition(partitions: Iterable[tuple[str, int, Error]]) -> Content:
    errors = {(topic, number): error for topic, number, error in partitions}
    left_out = [key for key, error in errors.items() if error in NOT_THE_GROUPS]
    kept = {key: error for key, error in errors.items() if error not in NOT_THE_GROUPS}
    return {"partitions": kept, "left out": left_out}


def _fetched(request: OffsetFetchRequest, response: OffsetFetchResponse) -> Content:
    answer = response.groups[0] if names_many_groups(request) else response
    topics, error = answer.topics, answer.error_code
    found = {
        (topic.topic_id or topic.name, p.partition_index): (p.committed_offset, p.metadata or "", p.error_code)
        for topic in topics
        for p in topic.partitions
    }
    left_out = [key for key, value in found.items() if value[2] in NOT_THE_GROUPS]
    kept = {key: value for key, value in found.items() if value[2] not in NOT_THE_GROUPS}
    return {"error_code": error, "partitions": kept, "left out": left_out}


def difference(request: GroupRequest, group_id: str, recorded: Recorded, ours: Response | None) -> Difference | None:
    """Where our answer to a request differs from the recorded one; None if it does not. ours: None if we gave none."""
    parts: tuple[Content, Content] | None
    if ours is None or isinstance(ours, HeartbeatResponse):
        error = None if ours is None else ours.error_code
        parts = None if error is recorded.error else ({"error_code": recorded.error}, {"error_code": error})
    elif isinstance(ours, OffsetCommitResponse) and _are_all_taken(recorded, ours):
        parts = None
    else:
        parts = differing(request, recorded.response, ours)
    if parts is None:
        return None
    return Difference(
        request_id=request.request_id,
        group_id=group_id,
        api=recorded.message.api,
        api_version=request.api_version,
        client_id=request.client_id,
        received_at_ms=request.received_at_ms,
        recorded=parts[0],
        ours=parts[1],
    )


def _are_all_taken(recorded: Recorded, ours: OffsetCommitResponse) -> bool:
    """Whether two answers accept the same partitions, and all of them, as most do; False proves nothing."""
    topics = recorded.wire.topics
    return len(topics) == len(ours.topics) and all(
        getattr(theirs, "name", None) == mine.name
        and [(one.partition_index, one.error_code) for one in theirs.partitions]
        == [(one.partition_index, 0) for one in mine.partitions if one.error_code is Error.NONE]
        for theirs, mine in zip(topics, ours.topics, strict=True)
    )


@dataclass(slots=True)
class Parity:
    """How many recorded answers ours equal."""

    equal: Counter[str] = field(default_factory=Counter)
    """How many are equal, by API."""
    different: Counter[str] = field(default_factory=Counter)
    """How many differ, by API."""
    first: list[Difference] = field(default_factory=list)
    """The first differences in full."""

    def note(self, ordered: OrderedRequest, ours: Response | None) -> Difference | None:
        """Counts one answer. ours: None for a request that we never answered."""
        if ordered.recorded is None:
            return None
        found = difference(ordered.request, ordered.group_id, ordered.recorded, ours)
        if found is None:
            self.equal[ordered.recorded.message.api] += 1
            return None
        self.different[found.api] += 1
        if len(self.first) < DIFFERENCES_KEPT:
            self.first.append(found)
        return found

    def add(self, other: Parity) -> None:
        """Adds what was counted of other groups."""
        self.equal.update(other.equal)
        self.different.update(other.different)
        self.first = (self.first + other.first)[:DIFFERENCES_KEPT]

    @property
    def compared(self) -> int:
        """How many answers were compared."""
        return self.equal.total() + self.different.total()

    @property
    def share(self) -> float:
        """The share of answers that are equal, 1 where none was compared."""
        return self.equal.total() / self.compared if self.compared else 1.0


class Comparing:
    """The requests of a group that wait for an answer, until ours is there to be compared."""

    def __init__(self, parity: Parity) -> None:
        self._parity = parity
        self._open: dict[str, OrderedRequest] = {}

    def take(self, ordered: OrderedRequest) -> None:
        """A request, before it is answered."""
        if ordered.recorded is not None:
            self._open[ordered.request.request_id] = ordered

    def accept(self, beat: OrderedRequest) -> None:
        """A heartbeat that we answered without an error."""
        if beat.recorded is not None and beat.recorded.error is Error.NONE:
            self._parity.equal["Heartbeat"] += 1
        else:
            self._parity.note(beat, HeartbeatResponse())

    def take_effects(self, effects: Iterable[Effect]) -> None:
        """The effects of a request or a deadline, with any answers."""
        for effect in effects:
            if isinstance(effect, Reply | RequestDropped):
                ordered = self._open.pop(effect.request_id, None)
                if ordered is not None:
                    self._parity.note(ordered, effect.response if isinstance(effect, Reply) else None)

    def close(self) -> None:
        """No more answers will come."""
        for ordered in self._open.values():
            self._parity.note(ordered, None)
        self._open.clear()
