"""One member in virtual time, and short ways to bring it where a test begins.

    bench = Bench()
    bench.stable("t0 t1")          # polls, finds the coordinator, joins in two steps, is assigned t-0 and t-1
    bench.at(3_000).expire()       # -> outputs; bench.sent is the last request

Partitions are written "t0 t1 u0". Times are literal. Knows the member's inputs and outputs and no rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from rollcall.answers.clients.assignors import ASSIGNORS, Assignor
from rollcall.answers.clients.committing import start_commit
from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.clients.events import (
    CommitKind,
    CoordinatorFound,
    Event,
    MemberRequest,
    Output,
    Send,
)
from rollcall.answers.clients.member import GroupMember
from rollcall.answers.clients.membership import Turn
from rollcall.schemas.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)

GROUP = "orders"
COOPERATIVE: dict[str, Any] = {"partition_assignment_strategy": ("cooperative-sticky",), "enable_auto_commit": False}
"""Settings of a member that never gives up all partitions, and commits nothing by itself."""
STATIC: dict[str, Any] = {**COOPERATIVE, "group_instance_id": "pod-1"}
COUNTS = {"t": 4, "u": 2}
R = TypeVar("R", bound=MemberRequest)
NODE = CoordinatorFound(0, "broker", 9092)


def partitions(text: str) -> tuple[TopicPartition, ...]:
    """ "t0 u1" as partitions."""
    return tuple(TopicPartition(word[:-1], int(word[-1])) for word in text.split())


def assignment(text: str) -> bytes:
    return encode_assignment(Assignment(partitions(text)))


class Bench:
    """settings: of the consumer, by the config's field names. sent: the last request; requests: all of them."""

    def __init__(self, *, topics: str = "t u", assignors: Mapping[str, Assignor] = ASSIGNORS, **settings: Any) -> None:
        self.config = ConsumerConfig(**{"group_id": GROUP, "client_id": "app", **settings})
        self.member = GroupMember(self.config, assignors=assignors)
        self.now_ms = 0
        self.requests: list[MemberRequest] = []
        self.member.metadata_changed(COUNTS)
        self.member.subscribe(topics.split(), 0)

    # ------------------------------------------------------------ inputs

    def at(self, now_ms: int) -> Bench:
        assert now_ms >= self.now_ms
        self.now_ms = now_ms
        return self

    def poll(self) -> list[Event]:
        return self._events(self.member.poll(self.now_ms))

    def expire(self) -> list[Event]:
        return self._events(self.member.expire(self.now_ms))

    def close(self, timeout_ms: int = 30_000) -> list[Event]:
        return self._events(self.member.close(self.now_ms, timeout_ms))

    def subscribe(self, topics: str) -> list[Event]:
        return self._events(self.member.subscribe(topics.split(), self.now_ms))

    def commit(self, text: str, *, is_at_close: bool = False, timeout_ms: int = 30_000) -> list[Event]:
        kind, deadline_ms = CommitKind.BEFORE_JOIN, None
        if is_at_close:
            kind, deadline_ms = CommitKind.AT_CLOSE, self.now_ms + timeout_ms
        turn = Turn(self.now_ms)
        start_commit(self.member.membership, dict.fromkeys(partitions(text), 7), kind, turn, deadline_ms)
        return self._events(turn.outputs)

    def disconnect(self) -> list[Event]:
        return self._events(self.member.disconnected(self.now_ms))

    def answer(self, request: MemberRequest, response: Response) -> list[Event]:
        return self._events(self.member.response(request.request_id, response, self.now_ms))

    def fail(self, request: MemberRequest) -> list[Event]:
        return self._events(self.member.request_failed(request.request_id, self.now_ms))

    def _events(self, outputs: list[Output]) -> list[Event]:
        self.requests += [each.request for each in outputs if isinstance(each, Send)]
        return [each for each in outputs if not isinstance(each, Send)]

    # ------------------------------------------------------------ what was sent

    @property
    def sent(self) -> MemberRequest:
        return self.requests[-1]

    def take(self) -> list[MemberRequest]:
        """The requests since the last take."""
        taken, self.requests = self.requests, []
        return taken

    def last(self, kind: type[R]) -> R:
        """The last request of a kind."""
        return next(each for each in reversed(self.requests) if isinstance(each, kind))

    @property
    def join(self) -> JoinGroupRequest:
        return self.last(JoinGroupRequest)

    @property
    def heartbeat(self) -> HeartbeatRequest:
        return self.last(HeartbeatRequest)

    # ------------------------------------------------------------ answers

    def found(self) -> list[Event]:
        node = Coordinator(key=GROUP, node_id=NODE.node_id, host=NODE.host, port=NODE.port)
        return self.answer(self.last(FindCoordinatorRequest), FindCoordinatorResponse(coordinators=[node]))

    def not_found(self, error: Error) -> list[Event]:
        answered = FindCoordinatorResponse(coordinators=[Coordinator(key=GROUP, error_code=error)])
        return self.answer(self.last(FindCoordinatorRequest), answered)

    def joined(self, generation_id: int = 1, *, leads: bool = False, **fields: Any) -> list[Event]:
        """The join phase ends; leads: this member alone is the group."""
        response = JoinGroupResponse(
            **{
                "generation_id": generation_id,
                "protocol_type": "consumer",
                "protocol_name": self.config.partition_assignment_strategy[0],
                "leader": "app-1" if leads else "other",
                "member_id": "app-1",
                "members": [subscribed("app-1", "t u")] if leads else [],
                **fields,
            }
        )
        return self.answer(self.join, response)

    def join_refused(self, error: Error, member_id: str = "") -> list[Event]:
        return self.answer(self.join, JoinGroupResponse(error_code=error, member_id=member_id))

    def synced(self, text: str) -> list[Event]:
        name = self.member.config.partition_assignment_strategy[0]
        return self.answer(
            self.last(SyncGroupRequest),
            SyncGroupResponse(protocol_type="consumer", protocol_name=name, assignment=assignment(text)),
        )

    def sync_refused(self, error: Error) -> list[Event]:
        return self.answer(self.last(SyncGroupRequest), SyncGroupResponse(error_code=error))

    def beaten(self, error: Error = Error.NONE) -> list[Event]:
        """The last heartbeat is answered."""
        return self.answer(self.heartbeat, HeartbeatResponse(error_code=error))

    def committed(self, error: Error = Error.NONE) -> list[Event]:
        """The last commit is answered, every partition alike."""
        request = self.last(OffsetCommitRequest)
        topics = [
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return self.answer(request, OffsetCommitResponse(topics=topics))

    # ------------------------------------------------------------ ways to a beginning

    def connected(self) -> Bench:
        """The coordinator is found, nothing else."""
        self.poll()
        self.found()
        return self

    def preparing(self) -> Bench:
        """The second JoinGroup is in flight, or a static member's first."""
        self.connected().poll()
        if not self.config.is_static:
            self.join_refused(Error.MEMBER_ID_REQUIRED, "app-1")
            self.poll()
        return self

    def completing(self, *, leads: bool = False) -> Bench:
        """A SyncGroup of generation 1 is in flight."""
        self.preparing().joined(leads=leads)
        return self

    def stable(self, text: str = "t0 t1", *, leads: bool = False) -> Bench:
        """Owns these partitions in generation 1; nothing is in flight."""
        self.completing(leads=leads).synced(text)
        self.poll()
        assert not self.member.membership.in_flight
        return self

    def rejoining(self, text: str = "t0 t1") -> Bench:
        """In generation 1 and told that the group rebalances; its next JoinGroup is in flight."""
        self.stable(text).at(self.now_ms + 3000).expire()
        self.beaten(Error.REBALANCE_IN_PROGRESS)
        self.poll()
        assert isinstance(self.sent, JoinGroupRequest)
        return self


def subscribed(member_id: str, topics: str, owned: str = "", generation_id: int = -1) -> JoinGroupResponseMember:
    """One member in the leader's list."""
    subscription = Subscription(tuple(topics.split()), None, partitions(owned), generation_id)
    return JoinGroupResponseMember(member_id=member_id, metadata=encode_subscription(subscription))


def left(request: MemberRequest) -> tuple[str, str | None]:
    """(member id, reason) of a LeaveGroup."""
    assert isinstance(request, LeaveGroupRequest)
    (identity,) = request.members
    return identity.member_id, identity.reason
