"""A consumer's membership in a group of the newer protocol (KIP-848), without a clock, a socket or a thread.

    UNSUBSCRIBED -> JOINING -> RECONCILING -> ACKNOWLEDGING -> STABLE, and back to JOINING when it is fenced

The inputs and what comes of them are those of `rollcall.answers.clients.member`: the application's calls, the network's
answers, the clock. The coordinator says what the member owns; the member gives up and takes over while its application
polls, and acknowledges with its next heartbeat. Answers are read at any time, for heartbeats have a thread of their
own. Offsets are not committed here: a group does not see that.

Knows this protocol; knows no other member. Source: ConsumerMembershipManager, ConsumerHeartbeatRequestManager.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.clients.events import (
    Closed,
    CoordinatorFound,
    CoordinatorLost,
    FatalError,
    LeftGroup,
    MemberRequest,
    Output,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    Send,
)
from rollcall.answers.clients.reactions import LEAVE_ON_CLOSE, LEAVE_UNPOLLED
from rollcall.answers.clients.requests import find_coordinator
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    FindCoordinatorResponse,
    Response,
)

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_FOR_NOW_EPOCH = 0, -1, -2
DEFAULT_CLOSE_TIMEOUT_MS = 30_000
_VERSION = 1
_FENCED = frozenset({Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH})


class Phase(StrEnum):
    """Where the member stands."""

    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    """Its next heartbeat is a join."""
    RECONCILING = "reconciling"
    """It got another assignment, and waits for its application to poll."""
    ACKNOWLEDGING = "acknowledging"
    """It owns its new assignment; its next heartbeat says so."""
    STABLE = "stable"
    STALE = "stale"
    """It left because its application did not poll; the next poll joins again."""
    FATAL = "fatal"
    LEAVING = "leaving"
    CLOSED = "closed"


BEATING = frozenset({Phase.JOINING, Phase.RECONCILING, Phase.ACKNOWLEDGING, Phase.STABLE})


@dataclass(slots=True)
class _Sent:
    """A request whose answer is awaited."""

    request: MemberRequest
    at_ms: int
    deadline_ms: int


@dataclass(slots=True)
class ConsumerGroupMember:
    config: ConsumerConfig
    member_id: str
    """The client's own, kept for its life; its request ids begin with it."""
    phase: Phase = Phase.UNSUBSCRIBED
    member_epoch: int = JOIN_EPOCH
    owned_partitions: frozenset[TopicPartition] = frozenset()
    """What the application believes is its own."""
    _topics: tuple[str, ...] = ()
    _pattern: str = ""
    _says_pattern: bool = False
    """Whether it has or had a pattern; otherwise its requests do not name one."""
    _target: frozenset[TopicPartition] = frozenset()
    _has_node: bool = False
    _sent: _Sent | None = None
    _says_all: bool = True
    _says_topics: bool = False
    _beat_due_ms: int = 0
    _look_due_ms: int = 0
    _attempts: int = 0
    _poll_deadline_ms: int = 0
    _close_deadline_ms: int | None = None
    _failures: list[FatalError] = field(default_factory=list)
    _requests: int = 0

    # ------------------------------------------------------------ questions

    @property
    def has_joined(self) -> bool:
        """Answers are read at any time."""
        return True

    @property
    def waits_for_poll(self) -> bool:
        """Whether it is settled but for what its application's next poll is to take over or give up."""
        return self.phase is Phase.RECONCILING

    def next_deadline_ms(self) -> int | None:
        """The earliest time when `expire` has something to do; None if it waits or has nothing to do."""
        due = [] if self._sent is None else [self._sent.deadline_ms]
        if self._close_deadline_ms is not None:
            due.append(self._close_deadline_ms)
        if self.phase in BEATING:
            due.append(self._poll_deadline_ms)
            if self._sent is None:
                due.append(self._beat_due_ms if self._has_node else self._look_due_ms)
        return min(due, default=None) if self.phase is not Phase.CLOSED else None

    def next_poll_ms(self) -> int | None:
        """When a poll has something to do without another input; None if it waits for one."""
        return 0 if self._failures or self.phase in (Phase.RECONCILING, Phase.STALE) else None

    # ------------------------------------------------------------ the application

    def subscribe(self, topics: Iterable[str], now_ms: int, pattern: str = "") -> list[Output]:
        """Subscribes to these topics and to those that a regular expression (RE2) matches, as the coordinator sees it.

        The member joins at once, or says at once that it wants others now.
        """
        self._says_pattern = bool(pattern or self._pattern)
        self._topics, self._pattern = tuple(sorted(set(topics))), pattern
        self._poll_deadline_ms = now_ms + self.config.max_poll_interval_ms
        if self.phase is Phase.UNSUBSCRIBED:
            self._join(now_ms)
        elif self.phase in BEATING:
            self._says_topics, self._beat_due_ms = True, now_ms
        return self._go_on(now_ms)

    def poll(self, now_ms: int) -> list[Output]:
        """Takes a poll: raises one error, joins again if it had left, or takes over its new assignment."""
        self._poll_deadline_ms = now_ms + self.config.max_poll_interval_ms
        if self._failures:
            return [self._failures.pop(0)]
        if self.phase is Phase.STALE:
            self._join(now_ms)
        outputs: list[Output] = self._reconcile(now_ms) if self.phase is Phase.RECONCILING else []
        return outputs + self._go_on(now_ms)

    def advance(self, positions: Mapping[TopicPartition, int]) -> None:
        """Positions are of no use: nothing is committed."""

    def close(self, now_ms: int, timeout_ms: int = DEFAULT_CLOSE_TIMEOUT_MS) -> list[Output]:
        """Gives all partitions up and leaves; a static member for now, unless it says nothing at all."""
        outputs = self._drop(PartitionsRevoked)
        is_member = self.member_epoch > JOIN_EPOCH and self.phase in BEATING
        is_said = is_member and self._has_node and self.config.leave_group_on_close
        if is_member:
            outputs.append(LeftGroup(self.member_id, LEAVE_ON_CLOSE, is_said))
        if not is_said:
            self.phase = Phase.CLOSED
            return [*outputs, Closed()]
        self.phase, self._close_deadline_ms = Phase.LEAVING, now_ms + timeout_ms
        return [*outputs, self._leave(now_ms)]

    # ------------------------------------------------------------ the network and the clock

    def metadata_changed(self, partition_counts: Mapping[str, int]) -> None:
        """The coordinator looks at the topics itself."""

    def response(self, request_id: str, response: Response, now_ms: int) -> list[Output]:
        """Takes an answer. One that is not awaited is ignored."""
        sent = self._sent
        if sent is None or sent.request.request_id != request_id:
            return []
        self._sent = None
        match response:
            case FindCoordinatorResponse():
                return self._looked(response, now_ms) + self._go_on(now_ms)
            case ConsumerGroupHeartbeatResponse() if self.phase is Phase.LEAVING:
                return self._closed()
            case ConsumerGroupHeartbeatResponse(error_code=Error.NONE):
                self._take(response, sent.at_ms)
                return self._go_on(now_ms)
            case ConsumerGroupHeartbeatResponse():
                return self._refused(response, now_ms) + self._go_on(now_ms)
            case _:
                raise TypeError(f"{type(response).__name__} answers no request of a member")

    def request_failed(self, request_id: str, now_ms: int) -> list[Output]:
        """Takes note that a request timed out or its connection broke."""
        if self._sent is None or self._sent.request.request_id != request_id:
            return []
        return self._failed(now_ms)

    def disconnected(self, now_ms: int) -> list[Output]:
        """Takes note that the connection to the coordinator broke."""
        return self._failed(now_ms) if self._has_node else []

    def expire(self, now_ms: int) -> list[Output]:
        """Does what is due at or before now_ms in the background: timeouts, heartbeats, the poll check."""
        if self._close_deadline_ms is not None and self._close_deadline_ms <= now_ms:
            return self._closed()
        outputs: list[Output] = []
        if self._sent is not None and self._sent.deadline_ms <= now_ms:
            outputs += self._failed(now_ms)
        if self.phase in BEATING and self._poll_deadline_ms <= now_ms:
            outputs += self._left_unpolled(now_ms)
        return outputs + self._go_on(now_ms)

    # ------------------------------------------------------------ inside

    def _join(self, now_ms: int) -> None:
        self.phase, self.member_epoch, self._target = Phase.JOINING, JOIN_EPOCH, frozenset()
        self._says_all, self._beat_due_ms = True, now_ms

    def _go_on(self, now_ms: int) -> list[Output]:
        """Looks for the coordinator, or beats, if that is due."""
        if self.phase not in BEATING or self._sent is not None:
            return []
        if not self._has_node:
            return [self._look(now_ms)] if self._look_due_ms <= now_ms else []
        return [self._beat(now_ms)] if self._beat_due_ms <= now_ms else []

    def _reconcile(self, now_ms: int) -> list[Output]:
        """The application gives up what is no longer its own, then takes over what is new."""
        gone, new = self.owned_partitions - self._target, self._target - self.owned_partitions
        self.owned_partitions = self._target
        self.phase, self._beat_due_ms = Phase.ACKNOWLEDGING, now_ms
        outputs: list[Output] = [PartitionsRevoked(tuple(sorted(gone)))] if gone else []
        return [*outputs, PartitionsAssigned(tuple(sorted(new)), self.member_epoch)]

    def _drop(self, how: type[PartitionsRevoked | PartitionsLost]) -> list[Output]:
        owned, self.owned_partitions = tuple(sorted(self.owned_partitions)), frozenset()
        return [how(owned)] if owned else []

    def _left_unpolled(self, now_ms: int) -> list[Output]:
        is_member = self.member_epoch > JOIN_EPOCH
        outputs = self._drop(PartitionsLost)
        self.phase = Phase.STALE
        if not is_member or not self._has_node:
            return outputs
        outputs = [*outputs, LeftGroup(self.member_id, LEAVE_UNPOLLED, True), self._leave(now_ms)]
        self._sent = None
        return outputs

    def _take(self, response: ConsumerGroupHeartbeatResponse, asked_at_ms: int) -> None:
        """What the coordinator says: its epoch, when to come again, what it is to own."""
        if self.phase not in BEATING:
            return
        self._attempts = 0
        if self.phase is not Phase.ACKNOWLEDGING and not self._says_topics:
            self._beat_due_ms = asked_at_ms + response.heartbeat_interval_ms
        self.member_epoch = response.member_epoch
        if self.phase is Phase.JOINING:
            self.phase = Phase.STABLE
        if response.assignment is None:
            return
        self._target = frozenset(
            TopicPartition(topic.topic, partition)
            for topic in response.assignment.topic_partitions
            for partition in topic.partitions
        )
        if self._target != self.owned_partitions:
            self.phase = Phase.RECONCILING
        elif self.phase is Phase.RECONCILING:
            self.phase = Phase.STABLE

    def _refused(self, response: ConsumerGroupHeartbeatResponse, now_ms: int) -> list[Output]:
        error = response.error_code
        if self.phase not in BEATING:
            return []
        if error in _FENCED:
            outputs = self._drop(PartitionsLost)
            self._join(now_ms)
            return outputs
        self.phase = Phase.FATAL
        self._failures.append(FatalError("ConsumerGroupHeartbeat", error, response.error_message or str(error.name)))
        return self._drop(PartitionsLost)

    def _failed(self, now_ms: int) -> list[Output]:
        """A request got no answer: the next one has all fields, since the coordinator may be another one."""
        self._sent = None
        if self.phase is Phase.LEAVING:
            return self._closed()
        self._back_off(now_ms)
        was_known, self._has_node = self._has_node, False
        return [CoordinatorLost("a request was not answered")] if was_known else []

    def _back_off(self, now_ms: int) -> None:
        self._says_all = True
        self._beat_due_ms = self._look_due_ms = now_ms + self.config.backoff_ms(self._attempts)
        self._attempts += 1

    def _looked(self, response: FindCoordinatorResponse, now_ms: int) -> list[Output]:
        found = response.coordinators[0]
        if found.error_code is not Error.NONE:
            self._back_off(now_ms)
            return []
        self._has_node = True
        return [CoordinatorFound(found.node_id, found.host, found.port)]

    def _closed(self) -> list[Output]:
        self.phase, self._sent, self._close_deadline_ms = Phase.CLOSED, None, None
        return [Closed()]

    # ------------------------------------------------------------ requests

    def _look(self, now_ms: int) -> Send:
        return self._send(find_coordinator(self.config, self._next_id()), now_ms)

    def _beat(self, now_ms: int) -> Send:
        """A heartbeat says only what is new, and all of it where an answer was lost."""
        says_all, says_owned = self._says_all, self._says_all or self.phase is Phase.ACKNOWLEDGING
        says_topics = says_all or self._says_topics
        self._says_all = self._says_topics = False
        if self.phase is Phase.ACKNOWLEDGING:
            self.phase = Phase.STABLE
        request = self._heartbeat(self.member_epoch)
        if says_all:
            request.rebalance_timeout_ms = self.config.join_rebalance_timeout_ms
            request.server_assignor = self.config.group_remote_assignor
        if says_topics:
            request.subscribed_topic_names = list(self._topics)
            request.subscribed_topic_regex = self._pattern if self._says_pattern else None
        if says_owned:
            request.topic_partitions = _listed(self.owned_partitions)
        return self._send(request, now_ms)

    def _leave(self, now_ms: int) -> Send:
        return self._send(self._heartbeat(LEAVE_FOR_NOW_EPOCH if self.config.is_static else LEAVE_EPOCH), now_ms)

    def _heartbeat(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        """One that says who the member is, and nothing new."""
        return ConsumerGroupHeartbeatRequest(
            request_id=self._next_id(),
            api_version=_VERSION,
            client_id=self.config.client_id,
            group_id=self.config.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.config.group_instance_id,
        )

    def _send(self, request: MemberRequest, now_ms: int) -> Send:
        deadline_ms = now_ms + self.config.request_timeout_ms
        self._sent = _Sent(request, now_ms, deadline_ms)
        return Send(request, deadline_ms)

    def _next_id(self) -> str:
        self._requests += 1
        return f"{self.member_id}.{self._requests}"


def _listed(partitions: Iterable[TopicPartition]) -> list[ConsumerGroupTopicPartitions]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return [ConsumerGroupTopicPartitions(topic_name=topic, partitions=found) for topic, found in by_topic.items()]
