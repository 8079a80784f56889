"""Members that live against the broker of a test: they join, sync, heartbeat, commit, leave, die, stall and come back.

Knows what a client does with an answer; knows no log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import HeartbeatResponse, JoinGroupResponse, Response, SyncGroupResponse
from tests.request_log.broker import START_MS, Broker
from tests.request_log.newer_member import HEARTBEAT_MS, LoggedMember, NewerMember
from tests.requests import assignment, flat, subscription

START_NEWER = "start newer"

Action = tuple[str, int, int]
"""What happens (start, close, kill, stall, commit; start newer: by the newer protocol), to which member, how many ms
after the start.
"""


@dataclass
class MemberOf(LoggedMember):
    """One of the classic protocol. partitions: how many the leader gives out."""

    host = "10.0.1.7"
    session_ms: int = 6000
    join_version: int = 7
    partitions: int = 6
    reason: str | None = None
    member_id: str = ""
    _members: list[str] = field(default_factory=list)
    _leads: bool = False

    def start(self) -> MemberOf:
        """Joins, and goes on until it is closed or killed."""
        self._join()
        return self

    def close(self) -> None:
        """Leaves."""
        self.is_alive = False
        identity = {"member_id": self.member_id, "group_instance_id": self.instance_id}
        self._send("LeaveGroup", 4, members=[identity])

    def commit(self, offset: int = 1) -> None:
        """Commits an offset of its first partition."""
        partition = {"partition_index": 0, "committed_offset": offset}
        topics = [{"name": "t", "partitions": [partition]}]
        self._send("OffsetCommit", 8, generation_id_or_member_epoch=self.generation_id, topics=topics, **self._itself())

    def _itself(self) -> dict[str, Any]:
        return {"member_id": self.member_id, "group_instance_id": self.instance_id}

    def _join(self) -> None:
        self._joins += 1
        join = self._joins
        self.generation_id = -1
        optional: dict[str, Any] = {"reason": self.reason or ""} if self.join_version >= 8 else {}
        said = self._itself() if self.join_version >= 5 else {"member_id": self.member_id}
        self._send(
            "JoinGroup",
            self.join_version,
            lambda response: self._joined(response, join),
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=self.rebalance_ms,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": subscription("t", version=1)}],
            **said,
            **optional,
        )

    def _joined(self, response: Response, join: int) -> None:
        assert isinstance(response, JoinGroupResponse)
        if not self._is_of(join):
            return
        match response.error_code:
            case Error.NONE:
                self.member_id, self.generation_id = response.member_id, response.generation_id
                self._members = [member.member_id for member in response.members]
                self._leads = response.leader == self.member_id and not response.skip_assignment
                self._sync(join)
            case Error.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
                self._join()
            case Error.UNKNOWN_MEMBER_ID:
                self.member_id = ""
                self._join()
            case _:
                self.is_alive = False

    def _sync(self, join: int) -> None:
        assignments = []
        if self._leads:
            for i, member_id in enumerate(self._members):
                owned = {"t": range(i, self.partitions, len(self._members))}
                assignments.append({"member_id": member_id, "assignment": assignment(flat(owned), 1)})
        self._send(
            "SyncGroup",
            3,
            lambda response: self._answered(response, join),
            generation_id=self.generation_id,
            assignments=assignments,
            **self._itself(),
        )

    def _go_on(self, join: int, **fields: Any) -> None:
        if self._is_of(join) and not self.is_stalled:
            said = {"generation_id": self.generation_id, **self._itself(), **fields}
            self._send("Heartbeat", 3, lambda response: self._answered(response, join), **said)

    def _answered(self, response: Response, join: int) -> None:
        assert isinstance(response, HeartbeatResponse | SyncGroupResponse)
        if not self._is_of(join):
            return
        if response.error_code is Error.NONE:
            self._later(HEARTBEAT_MS, join)
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


def live(broker: Broker, plan: list[Action], has_static: bool) -> None:
    """Members of group g do what was planned, each as far as it is alive; has_static: every second one is static."""
    members: dict[int, Member] = {}
    for turn, (what, who, at_ms) in enumerate(sorted(plan, key=lambda action: action[2])):
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
