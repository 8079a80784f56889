"""A first pass over a whole log, before its groups are followed: what their order and causes need from later lines.

A JoinGroup is logged when it is answered, up to the rebalance timeout after it arrived: a reader in order of arrival
must know that such a line is still to come. A client that left because its application was slow joins again only when
the application is done. The lines of other groups show topics' names, the broker's settings and when it was away. So a
group can be followed alone, with these findings and its own requests.

Knows requests; keeps one number for each long wait, and one entry for each connection that left.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from pathlib import Path
from zoneinfo import ZoneInfo

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN, LEAVE
from rollcall.coordinator_udfs.protocol.kafka_versions import version_reached
from rollcall.inputs.request_log.broker_settings import GroupConfigs, SettingsSeen, split_given
from rollcall.inputs.request_log.following.topic_names import TopicNames
from rollcall.inputs.request_log.lines.files import files_in_order
from rollcall.inputs.request_log.lines.reading import SectionReading
from rollcall.inputs.request_log.lines.sections import sections_in
from rollcall.inputs.request_log.lines.silences import Silences
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.request_log.topic_metadata import TopicMetadata
from rollcall.inputs.tolerances import RETURNED_AT_ONCE_MS
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)

LONG_WAIT_MS = 4000
"""Longer waits are noted in this pass; shorter ones fit in the look-ahead buffer."""
_CONNECTIONS_KEPT = 200_000


@dataclass(slots=True)
class Survey:
    """The findings of the first pass."""

    waits: dict[str, array[float]] = field(default_factory=dict)
    """By group, when each request that waited long arrived, ms since the epoch, rising."""
    came_back: Set[str] = frozenset()
    """The ids of requests to leave after which the same process joined again; see `inferred_causes`."""
    seen: SettingsSeen = field(default_factory=SettingsSeen)
    """The broker's settings that the log shows."""
    topic_names: dict[str, str] = field(default_factory=dict)
    """By topic id, as far as the log shows them."""
    ids_for_names: dict[str, str] = field(default_factory=dict)
    """By topic name, see `TopicNames`."""
    topics: TopicMetadata = field(default_factory=TopicMetadata)
    """What METADATA lines show of topics."""
    silences: Silences = field(default_factory=Silences)
    """When a broker wrote no line and may have been away."""
    end_ms: int = 0
    """The latest timestamp of the log."""
    group_configs: GroupConfigs = field(default_factory=dict)
    """The configs of single groups that a user gave."""

    def inferred(self, given: Mapping[str, str]) -> dict[str, str]:
        """The broker's settings that the log shows and the user does not give, by Kafka's keys."""
        return {key: value for key, value in self.seen.shown().items() if key not in given}

    def settings(self, given: Mapping[str, str]) -> dict[str, str]:
        """Returns the broker's settings, as a user gives them, otherwise as the log shows them, and notes those of
        groups.

        Raises ConfigError.
        """
        broker, self.group_configs = split_given(given)
        return self.seen.beside(broker)

    def learn_release(self, release: Callable[[], tuple[int, ...] | None]) -> None:
        """Takes up the broker's release by what lies beside the log, unless a line of the log shows the version."""
        if self.seen.kafka_version is None and (numbers := release()) is not None:
            self.seen.kafka_version = version_reached(numbers, lambda version: version.numbers)


class CameBack:
    """Finds the members that left and joined again: as new members on the same connection, or under the same id."""

    def __init__(self) -> None:
        self.leaves: set[str] = set()
        """The ids of the requests by which they left."""
        self.left: dict[tuple[str, str], tuple[str, float]] = {}
        """By connection and group, the id of the last LeaveGroup and when it was."""
        self.departed: dict[tuple[str, str], str] = {}
        """By group and member id, the id of the last heartbeat by which a member of a consumer group left."""

    def note(self, entry: LoggedRequest) -> None:
        request, by = entry.request, (entry.request.connection or "", entry.group_id)
        if isinstance(request, LeaveGroupRequest) and entry.recorded.error is Error.NONE:
            if len(self.left) >= _CONNECTIONS_KEPT:
                self.left.clear()
            self.left[by] = (request.request_id, entry.began_ms)
        elif isinstance(request, JoinGroupRequest) and not request.member_id and by in self.left:
            leave_id, left_ms = self.left.pop(by)
            if entry.began_ms - left_ms >= RETURNED_AT_ONCE_MS:
                self.leaves.add(leave_id)
        elif isinstance(request, ConsumerGroupHeartbeatRequest) and entry.recorded.error is Error.NONE:
            self._note_heartbeat(request)

    def _note_heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> None:
        who = (request.group_id, request.member_id)
        if request.member_epoch == LEAVE:
            if len(self.departed) >= _CONNECTIONS_KEPT:
                self.departed.clear()
            self.departed[who] = request.request_id
        elif request.member_epoch == JOIN and who in self.departed:
            self.leaves.add(self.departed.pop(who))


class WaitsToCome:
    """The long waits of a group whose lines have not been read yet."""

    def __init__(self, waits: array[float]) -> None:
        self._waits = waits
        self._first = 0
        self._read: list[float] = []

    def note(self, entry: LoggedRequest) -> None:
        if entry.recorded.total_ms > LONG_WAIT_MS:
            heappush(self._read, arrival_of(entry))
            while self._read and self._first < len(self._waits) and self._read[0] == self._waits[self._first]:
                heappop(self._read)
                self._first += 1

    @property
    def first_ms(self) -> float:
        """When the first of them arrived; infinity if there is none."""
        return self._waits[self._first] if self._first < len(self._waits) else inf


def arrival_of(entry: LoggedRequest) -> float:
    """When a request arrived, ms since the epoch."""
    return entry.recorded.answered_at_ms - entry.recorded.total_ms


def is_looked_at(entry: LoggedRequest) -> bool:
    """Whether a survey takes in a request; most lines are of others."""
    match entry.request:
        case JoinGroupRequest() | LeaveGroupRequest() | ConsumerGroupDescribeRequest():
            return True
        case ConsumerGroupHeartbeatRequest() as request:
            is_new = request.member_epoch in (JOIN, LEAVE) or entry.recorded.wire.assignment is not None
            return is_new or bool(request.subscribed_topic_regex) or request.subscribed_topic_names is not None
        case SyncGroupRequest():
            return entry.recorded.total_ms > LONG_WAIT_MS
        case _:
            return False


class Surveying:
    """A survey in progress: takes in requests in order of their lines."""

    def __init__(self, topics: TopicMetadata) -> None:
        """topics: as the lines of the whole log show them."""
        self.seen = SettingsSeen(kafka_version=topics.kafka_version)
        self._topics = topics
        self._waits: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
        self._came_back = CameBack()
        self._names = TopicNames()
        self._names.names.update(topics.names)

    def note(self, entry: LoggedRequest) -> None:
        self.seen.note(entry)
        if entry.recorded.total_ms > LONG_WAIT_MS:
            self._waits[entry.group_id].append(arrival_of(entry))
        self._came_back.note(entry)
        self._names.learn(entry)

    def found(self, silences: Silences, end_ms: int) -> Survey:
        """The findings. silences: those of the whole log."""
        waits = {group_id: array("d", sorted(each)) for group_id, each in self._waits.items()}
        return Survey(
            waits,
            self._came_back.leaves,
            self.seen,
            self._names.names,
            self._names.indistinct(),
            self._topics,
            silences.of_whole_log(),
            end_ms,
        )


def settings_shown(path: Path, zone: ZoneInfo) -> SettingsSeen:
    """The broker's settings that a log of any length shows. Raises LogFileError where there is no log."""
    seen = SettingsSeen()
    for section in sections_in(files_in_order(path, zone), zone):
        reading = SectionReading(section, zone, lambda line: None)
        for placed in reading:
            if is_looked_at(placed.logged):
                seen.note(placed.logged)
        seen.kafka_version = reading.topics.kafka_version or seen.kafka_version
    return seen
