"""Members that live against the broker of a test: they join, sync, heartbeat, commit, leave, die, stall and come back.

Knows what a client does with an answer; knows no log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from schemas.consumer_protocol import Assignment, Subscription, TopicPartition, encode_assignment, encode_subscription
from schemas.errors import Error
from schemas.messages import HeartbeatResponse, JoinGroupResponse, Response, SyncGroupResponse
from tests.request_log.broker import START_MS, Broker
from tests.request_log.newer_member import NewerMember

HEARTBEAT_MS = 1000

START_NEWER = "start newer"

Deed = tuple[str, int, int]
"""What happens (start, close, kill, stall, commit; start newer: by the newer protocol), to which member, how many ms
after the start.
"""


@dataclass
class MemberOf:
    """One consumer of one group. partitions: how many the leader gives out."""

    broker: Broker
    group_id: str
    name: str
    instance_id: str | None = None
    session_ms: int = 6000
    rebalance_ms: int = 30_000
    join_version: int = 7
    partitions: int = 6
    reason: str | None = None
    member_id: str = ""
    generation_id: int = -1
    is_alive: bool = True
    is_stalled: bool = False
    _life: int = 0
    _members: list[str] = field(default_factory=list)
    _leads: bool = False

    @property
    def connection(self) -> str:
        return str(40_000 + abs(int.from_bytes(self.name.encode(), "big")) % 20_000)

    def start(self) -> MemberOf:
        """Joins, and goes on until it is closed or killed."""
        self._join()
        return self

    def kill(self) -> None:
        """Dies without a word."""
        self.is_alive = False
        self.broker.kill(self.connection)

    def close(self) -> None:
        """Leaves."""
        self.is_alive = False
        identity = {"member_id": self.member_id, "group_instance_id": self.instance_id}
        self._send("LeaveGroup", 4, lambda response: None, members=[identity])

    def stall(self, for_ms: float) -> None:
        """Is stopped for a while, and goes on as if nothing had happened."""
        self.is_stalled = True
        life = self._life
        self.broker.at(self.broker.now_ms + for_ms, lambda: self._wake(life))

    def commit(self, offset: int = 1) -> None:
        """Commits an offset of its first partition."""
        partition = {"partition_index": 0, "committed_offset": offset}
        self._send(
            "OffsetCommit",
            8,
            lambda response: None,
            generation_id_or_member_epoch=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            topics=[{"name": "t", "partitions": [partition]}],
        )

    def _wake(self, life: int) -> None:
        self.is_stalled = False
        self._heartbeat(life)

    def _send(self, api: str, version: int, answered: Any, **fields: Any) -> None:
        self.broker.send(
            api,
            version,
            answered,
            client_id=self.name,
            host="10.0.1.7",
            connection=self.connection,
            group_id=self.group_id,
            **fields,
        )

    def _join(self) -> None:
        self._life += 1
        life = self._life
        self.generation_id = -1
        metadata = encode_subscription(Subscription(("t",)), 1)
        optional: dict[str, Any] = {}
        if self.join_version >= 5:
            optional["group_instance_id"] = self.instance_id
        if self.join_version >= 8:
            optional["reason"] = self.reason or ""
        self._send(
            "JoinGroup",
            self.join_version,
            lambda response: self._joined(response, life),
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": metadata}],
            **optional,
        )

    def _joined(self, response: Response, life: int) -> None:
        assert isinstance(response, JoinGroupResponse)
        if not self.is_alive or life != self._life:
            return
        match response.error_code:
            case Error.NONE:
                self.member_id, self.generation_id = response.member_id, response.generation_id
                self._members = [member.member_id for member in response.members]
                self._leads = response.leader == self.member_id and not response.skip_assignment
                self._sync(life)
            case Error.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
                self._join()
            case Error.UNKNOWN_MEMBER_ID:
                self.member_id = ""
                self._join()
            case _:
                self.is_alive = False

    def _sync(self, life: int) -> None:
        assignments = []
        if self._leads:
            for i, member_id in enumerate(self._members):
                owned = range(i, self.partitions, len(self._members))
                assignment = encode_assignment(Assignment(tuple(TopicPartition("t", n) for n in owned)), 1)
                assignments.append({"member_id": member_id, "assignment": assignment})
        self._send(
            "SyncGroup",
            3,
            lambda response: self._synced(response, life),
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=assignments,
        )

    def _synced(self, response: Response, life: int) -> None:
        assert isinstance(response, SyncGroupResponse)
        if not self.is_alive or life != self._life:
            return
        if response.error_code is not Error.NONE:
            self._rejoin(response.error_code)
            return
        self.broker.at(self.broker.now_ms + HEARTBEAT_MS, lambda: self._heartbeat(life))

    def _heartbeat(self, life: int) -> None:
        if not self.is_alive or self.is_stalled or life != self._life:
            return
        self._send(
            "Heartbeat",
            3,
            lambda response: self._beat(response, life),
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )

    def _beat(self, response: Response, life: int) -> None:
        assert isinstance(response, HeartbeatResponse)
        if not self.is_alive or life != self._life:
            return
        if response.error_code is Error.NONE:
            self.broker.at(self.broker.now_ms + HEARTBEAT_MS, lambda: self._heartbeat(life))
        else:
            self._rejoin(response.error_code)

    def _rejoin(self, error: Error) -> None:
        if error is Error.FENCED_INSTANCE_ID:
            self.is_alive = False
            return
        if error is Error.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        self._join()


Member = MemberOf | NewerMember


def live(broker: Broker, plan: list[Deed], has_static: bool) -> None:
    """Members of group g do what was planned, each as far as it is alive; has_static: every second one is static."""
    members: dict[int, Member] = {}
    for turn, (what, who, at_ms) in enumerate(sorted(plan, key=lambda deed: deed[2])):
        instance_id = f"i{who}" if has_static and who % 2 else None
        kind = NewerMember if what == START_NEWER else MemberOf
        newcomer = kind(broker, "g", f"m{who}-{turn}", instance_id=instance_id)
        broker.at(START_MS + at_ms, partial(_happen, members, what, who, turn, newcomer))


def _happen(members: dict[int, Member], what: str, who: int, turn: int, newcomer: Member) -> None:
    member = members.get(who)
    if what in ("start", START_NEWER) and (member is None or not member.is_alive):
        members[who] = newcomer.start()
    elif member is None or not member.is_alive or not member.member_id:
        return
    elif what == "close" and member.instance_id is None:
        member.close()
    elif what == "kill":
        member.kill()
    elif what == "stall":
        member.stall(1000 + 900 * turn)
    elif what == "commit" and member.generation_id >= 0:
        member.commit(turn)


def begin(member: MemberOf) -> Callable[[], None]:
    """What starts a member."""

    def start() -> None:
        member.start()

    return start
