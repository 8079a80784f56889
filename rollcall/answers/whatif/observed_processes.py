"""From the requests of one group, which member ids are one process, and what it did when.

A process is known by the member ids it was given. One that asks for another id is the same process if it does so on a
connection it has, or if its last id was no longer valid and client id, host and instance id are the same.

Knows requests and recorded answers; infers no schedule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from rollcall.answers.clients.consumer_group_member import JOIN_EPOCH
from rollcall.answers.simulation.plan import Subscribed, TopicChange
from rollcall.coordinator_udfs.protocol.leave_group import MEMBERS_SINCE
from rollcall.inputs.request_log.explaining.inferred_causes import partition_counts
from rollcall.inputs.request_log.recorded import OrderedRequest, Recorded
from rollcall.schemas.causes import CauseKind, cause_of_leaving
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    GroupObservedRequest,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    SyncGroupRequest,
)

FATAL = frozenset(
    {
        Error.FENCED_INSTANCE_ID,
        Error.GROUP_MAX_SIZE_REACHED,
        Error.INCONSISTENT_GROUP_PROTOCOL,
        Error.INVALID_SESSION_TIMEOUT,
        Error.UNRELEASED_INSTANCE_ID,
        Error.UNSUPPORTED_ASSIGNOR,
    }
)
"""Errors that end an application, unless it is started anew."""
IDLE_MS = 8000
"""A member beats more often than this: one that was silent for less is not the process that comes under a new id."""
FromMember = (
    JoinGroupRequest | SyncGroupRequest | HeartbeatRequest | OffsetCommitRequest | ConsumerGroupHeartbeatRequest
)
ID_IS_OF_NO_USE = FATAL | {Error.UNKNOWN_MEMBER_ID}


class Act(StrEnum):
    """What a process did."""

    JOIN = "join"
    SYNC = "sync"
    BEAT = "beat"
    COMMIT = "commit"
    LEAVE = "leave"
    """It closed, or unsubscribed."""
    LEAVE_UNPOLLED = "leave_unpolled"
    """It left because its application did not poll."""


@dataclass(slots=True)
class ObservedRequest:
    act: Act
    at_ms: int
    answered_ms: int | None
    """None if the answer was never sent."""
    error: Error
    """The error of the answer."""
    owes_acknowledgement: bool = False
    """By the newer protocol: it got a new assignment and has to acknowledge it."""


@dataclass(slots=True)
class Process:
    """One process, as far as it was seen."""

    client_id: str
    client_host: str
    group_instance_id: str | None
    was_there: bool
    member_ids: list[str] = field(default_factory=list)
    connections: set[str] = field(default_factory=set)
    seen: list[ObservedRequest] = field(default_factory=list)
    versions: dict[Act, int] = field(default_factory=dict)
    """The version of each API that it used."""
    join: JoinGroupRequest | None = None
    """Its last JoinGroup."""
    heartbeat: ConsumerGroupHeartbeatRequest | None = None
    """The last heartbeat of the newer protocol with all fields."""
    subscriptions: list[Subscribed] = field(default_factory=list)
    """Its subscriptions by the newer protocol, with the time of each change."""
    heartbeat_interval_ms: int | None = None
    """The heartbeat interval in the broker's answers."""
    owned: frozenset[TopicPartition] = frozenset()
    """What it owns by its last heartbeat of the newer protocol."""

    @property
    def needs_another_id(self) -> bool:
        """Whether its last id is no longer valid: it left with that id, or got UNKNOWN_MEMBER_ID."""
        last = self.seen[-1] if self.seen else None
        return last is not None and (last.act is Act.LEAVE_UNPOLLED or last.error in ID_IS_OF_NO_USE)

    def note_subscription(self, request: ConsumerGroupHeartbeatRequest) -> None:
        """Notes its subscription from now on, if it has changed."""
        before = self.subscriptions[-1] if self.subscriptions else None
        said = request.subscribed_topic_regex
        pattern = said if said is not None else before.pattern if before is not None else ""
        topics = tuple(sorted(request.subscribed_topic_names or ()))
        if before is None or (before.topics, before.pattern) != (topics, pattern):
            self.subscriptions.append(Subscribed(request.received_at_ms, topics, pattern))

    @property
    def has_closed(self) -> bool:
        return bool(self.seen) and self.seen[-1].act is Act.LEAVE


@dataclass(slots=True)
class GroupObserver:
    """Takes one group's requests in order."""

    group_id: str
    processes: list[Process] = field(default_factory=list)
    """In the order of their first requests."""
    topics: dict[str, int] = field(default_factory=dict)
    """The first partition counts that assignments showed."""
    growths: list[TopicChange] = field(default_factory=list)
    protocol_types: set[str] = field(default_factory=set)
    matched: frozenset[str] = frozenset()
    """The topics that regular expressions were seen to match."""
    aways: list[tuple[int, int]] = field(default_factory=list)
    """From when to when the group had no coordinator."""
    _by_member: dict[str, Process] = field(default_factory=dict)
    _metadata_changed_ms: int | None = None
    _away_ms: int | None = None

    def take(self, ordered: OrderedRequest) -> None:
        """Takes in one request; one that no member sent shows nothing."""
        request, recorded = ordered.request, ordered.recorded
        match request:
            case JoinGroupRequest():
                self._take_join(request, recorded)
            case SyncGroupRequest():
                self._note_topics(request, recorded)
                self._note(Act.SYNC, request, request.member_id, recorded)
            case HeartbeatRequest():
                self._note(Act.BEAT, request, request.member_id, recorded)
            case OffsetCommitRequest(member_id=member_id) if member_id:
                self._note(Act.COMMIT, request, member_id, recorded)
            case LeaveGroupRequest():
                self._take_leave(request, recorded)
            case ConsumerGroupHeartbeatRequest():
                self._take_newer(request, recorded)
            case GroupObservedRequest(is_away=True):
                self._away_ms = request.received_at_ms
            case GroupObservedRequest(is_loaded=True):
                self.aways.append((self._away_ms or request.received_at_ms, request.received_at_ms))
                self._away_ms = None
            case _:
                pass

    # ------------------------------------------------------------ one request each

    def _take_join(self, request: JoinGroupRequest, recorded: Recorded | None) -> None:
        self.protocol_types.add(request.protocol_type)
        reason = (request.reason or "").lower()
        if request.inferred_cause == CauseKind.METADATA_CHANGED.value or "metadata has changed" in reason:
            self._metadata_changed_ms = request.received_at_ms
        process = self._process_of(request)
        process.join = request
        self._add(process, Act.JOIN, request, recorded)
        response = recorded.response if recorded is not None else None
        if isinstance(response, JoinGroupResponse) and response.member_id:
            self._name(process, response.member_id)

    def _take_newer(self, request: ConsumerGroupHeartbeatRequest, recorded: Recorded | None) -> None:
        self._note_cluster(request)
        known = self._by_member.get(request.member_id)
        if request.member_epoch == JOIN_EPOCH and (known is None or known.has_closed):
            known = self._begin(request, was_there=False)
            self._name(known, request.member_id)
        process = known or self._stranger(request, request.member_id)
        if request.subscribed_topic_names is not None and request.member_epoch >= JOIN_EPOCH:
            if request.rebalance_timeout_ms >= 0:
                process.heartbeat = request
            process.note_subscription(request)
        response = recorded.response if recorded is not None else None
        self._add(process, _act_of(request), request, recorded)
        if isinstance(response, ConsumerGroupHeartbeatResponse):
            process.heartbeat_interval_ms = response.heartbeat_interval_ms or process.heartbeat_interval_ms
            if request.topic_partitions is not None:
                process.owned = _flat(request.topic_partitions)
            given = None if response.assignment is None else _flat(response.assignment.topic_partitions)
            process.seen[-1].owes_acknowledgement = given not in (None, process.owned)

    def _note_cluster(self, request: ConsumerGroupHeartbeatRequest) -> None:
        """Notes the topics that the recording shows with this heartbeat."""
        matched = {topic for topics in (request.resolved_patterns or {}).values() for topic in topics}
        for topic, count in (request.cluster_topics or {}).items():
            if topic not in self.topics and topic in matched and self.matched:
                # All matching topics were known before: this one was created since.
                self.topics[topic] = 0
            self._note_count(topic, count, request.received_at_ms)
        self.matched |= matched

    def _take_leave(self, request: LeaveGroupRequest, recorded: Recorded | None) -> None:
        gone: Iterable[MemberIdentity | LeaveGroupRequest] = [request]
        if request.api_version >= MEMBERS_SINCE:
            gone = request.members
        for identity in gone:
            process = self._by_member.get(identity.member_id)
            if process is None or process.client_host != request.client_host:
                continue
            inferred = getattr(identity, "inferred_cause", None)
            reason = getattr(identity, "reason", None)
            kind = cause_of_leaving(reason, inferred, by_instance_id_only=False, by_another=False)
            act = Act.LEAVE_UNPOLLED if kind is CauseKind.POLL_TIMEOUT else Act.LEAVE
            self._add(process, act, request, recorded)

    def _note(self, act: Act, request: FromMember, member_id: str, recorded: Recorded | None) -> None:
        process = self._by_member.get(member_id) or self._stranger(request, member_id)
        self._add(process, act, request, recorded)

    def _add(self, process: Process, act: Act, request: GroupRequest, recorded: Recorded | None) -> None:
        if request.connection:
            process.connections.add(request.connection)
        process.versions[act] = request.api_version
        error = Error.NONE if recorded is None else recorded.error
        answered_ms = None if recorded is None else recorded.answered_at_ms
        process.seen.append(ObservedRequest(act, request.received_at_ms, answered_ms, error))

    # ------------------------------------------------------------ who it was

    def _process_of(self, request: JoinGroupRequest) -> Process:
        if request.member_id:
            return self._by_member.get(request.member_id) or self._stranger(request, request.member_id)
        same = next((each for each in reversed(self.processes) if _is_same(each, request)), None)
        return same or self._begin(request, was_there=False)

    def _stranger(self, request: FromMember, member_id: str) -> Process:
        """The process of a member id that no line gave out: one that was silent under another id, or was there
        before."""
        silent_since_ms = request.received_at_ms - IDLE_MS
        idle = [each for each in self.processes if each.seen and each.seen[-1].at_ms < silent_since_ms]
        alike = next((each for each in reversed(idle) if _is_alike(each, request)), None)
        process = alike or self._begin(request, was_there=True)
        self._name(process, member_id)
        return process

    def _begin(self, request: FromMember, *, was_there: bool) -> Process:
        process = Process(request.client_id, request.client_host, _instance_id_of(request), was_there)
        self.processes.append(process)
        return process

    def _name(self, process: Process, member_id: str) -> None:
        if member_id not in process.member_ids:
            process.member_ids.append(member_id)
        self._by_member[member_id] = process

    # ------------------------------------------------------------ topics

    def _note_topics(self, request: SyncGroupRequest, recorded: Recorded | None) -> None:
        if not request.assignments or recorded is None or recorded.error is not Error.NONE:
            return
        at_ms = request.received_at_ms if self._metadata_changed_ms is None else self._metadata_changed_ms
        for topic, count in partition_counts(request).items():
            self._note_count(topic, count, at_ms)
        self._metadata_changed_ms = None

    def _note_count(self, topic: str, count: int, at_ms: int) -> None:
        known = self.topics.get(topic)
        if known is None:
            self.topics[topic] = count
        elif count > max([known, *(each.partitions for each in self.growths if each.topic == topic)]):
            self.growths.append(TopicChange(at_ms, topic, count))


def _instance_id_of(request: FromMember) -> str | None:
    return request.instance_id if isinstance(request, ConsumerGroupHeartbeatRequest) else request.group_instance_id


def _flat(topics: Iterable[ConsumerGroupTopicPartitions]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic.topic, number) for topic in topics for number in topic.partitions)


def _act_of(request: ConsumerGroupHeartbeatRequest) -> Act:
    if request.member_epoch > JOIN_EPOCH:
        return Act.BEAT
    if request.member_epoch == JOIN_EPOCH:
        return Act.JOIN
    return Act.LEAVE_UNPOLLED if request.inferred_cause == CauseKind.POLL_TIMEOUT.value else Act.LEAVE


def _is_same(process: Process, request: JoinGroupRequest) -> bool:
    """Whether a process without an id is one that is known; one that closed and starts again is another schedule."""
    if process.has_closed:
        return False
    if request.connection and request.connection in process.connections:
        return True
    return _is_alike(process, request) and process.needs_another_id


def _is_alike(process: Process, request: FromMember) -> bool:
    who = (request.client_id, request.client_host, _instance_id_of(request))
    return who == (process.client_id, process.client_host, process.group_instance_id)
