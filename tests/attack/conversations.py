"""Members of either protocol who converse with a group's coordinator, honest but for some of their requests.

What a member is answered (its id, its generation or epoch, what it owns) is in its next request, and what a case leaves
of a group is there for the next case. Watches that the group stays sound, that nothing breaks it, that each request is
answered at most once, and that a turn that is played again gives the same. Knows requests, answers and the turns of a
group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from rollcall.coordinator_udfs.group_turns import GroupTurns
from rollcall.coordinator_udfs.protocol.config import ExpressionLimits, GroupConfig
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.coordinator_udfs.state_codec import StateRow
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow
from rollcall.schemas.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatResponse,
    DescribeGroupsRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    Request,
    SyncGroupResponse,
)
from rollcall.serve.gateway.tables.effects_table import response_of
from tests.attack.attacked import Attacked, Finding, raised_at
from tests.attack.recorded_texts import changed
from tests.attack.texts import AT_MS
from tests.protocol.watch import assert_sound
from tests.requests import commit, consumer_beat, fitting, heartbeat, join, leave, sync

GROUPS = ("g0", "g1", "g2", "orders")
NEWER = ("g2", "orders")
"""Those of the newer protocol, as far as their clients are honest."""
CLIENTS = 6
GAPS_MS = (0, 0, 0, 1, 1, 20, 20, 300, 300, 300, 1_000, 1_000, 3_000, 11_000, 61_000, 700_000)
_GAP_ENDS_TURN_MS = 3_000
PATTERNS = ("t.*", "(", "(?i)(\\pL\\pN?){60}x|t17", "u+", "", ".*")
NEXT = "next"
"""What an honest client of the group would do now."""
ACTIONS = (
    *("join", "sync", "beat", "leave", "commit", "fetch", "describe", "consume", "pattern", "depart"),
    *(NEXT for _ in range(20)),
)
SETTINGS = StreamSettings(
    group=GroupConfig(
        group_initial_rebalance_delay_ms=500,
        topics={"t1": 4, "t2": 1, "u1": 7},
        offsets_max_bytes=4_000,
        members_max_bytes=20_000,
        expressions=ExpressionLimits(count=3),
    ),
    clock=Clock.PROCESSING,
    turn_max_work=600,
)
"""With limits that a few members meet."""
_CHANGED_SHARE = 0.15
_ROW_MAX_CHARACTERS = 1_000_000
_REMEMBERED = 20


class Move(msgspec.Struct, array_like=True):
    """What one client does after a time: a request as it should be, or with something hostile in it."""

    gap_ms: int
    client: int
    action: str
    choice: int
    is_changed: bool
    ends_turn: bool


@dataclass
class _Member:
    """What a client has been answered."""

    member_id: str = ""
    generation_id: int = -1
    is_assigned: bool = False
    epoch: int = 0
    owned: dict[str, list[int]] = field(default_factory=dict)


@dataclass
class _Group:
    """A group's state, its clients, and what they have sent."""

    stored: StateRow | None = None
    clients: list[_Member] = field(default_factory=lambda: [_Member() for _ in range(CLIENTS)])
    senders: dict[str, int] = field(default_factory=dict)
    """Who sent the requests that are not answered yet, by their ids."""
    texts: list[bytes] = field(default_factory=list)


class Conversations(Attacked):
    """Members' conversations with the coordinators of a few groups."""

    name = "conversations"
    slow_s = 1.0

    def __init__(self) -> None:
        self._answers = self._quarantined = self._cuts = 0
        self.renew()

    def renew(self) -> None:
        self._groups = {name: _Group() for name in GROUPS}
        self._at_ms = AT_MS
        self._requests = 0

    def case(self, random: Random) -> bytes:
        moves = [
            Move(
                random.choice(GAPS_MS),
                random.randrange(CLIENTS),
                random.choice(ACTIONS),
                random.getrandbits(32),
                random.random() < _CHANGED_SHARE,
                random.random() < 0.3,
            )
            for _ in range(random.choice((5, 20, 60)))
        ]
        return msgspec.msgpack.encode([random.choice(GROUPS), moves])

    def play(self, case: bytes) -> int:
        group_id, moves = msgspec.msgpack.decode(case, type=tuple[str, list[Move]])
        group, texts = self._groups[group_id], []
        for move in moves:
            self._at_ms += move.gap_ms
            texts.append(self._text(group_id, group, move))
            if move.ends_turn or move.gap_ms >= _GAP_ENDS_TURN_MS:
                self._turn(group_id, group, texts)
                texts = []
        self._turn(group_id, group, texts)
        return len(moves)

    def figures(self) -> str:
        return f"{self._answers:,} answers, {self._quarantined:,} in quarantine, {self._cuts:,} turns cut"

    # ------------------------------------------------------------ requests

    def _text(self, group_id: str, group: _Group, move: Move) -> str:
        self._requests += 1
        request_id = f"r{self._requests}"
        group.senders[request_id] = move.client
        request = self._request(group_id, group.clients[move.client], move)
        text = msgspec.json.encode(
            msgspec.structs.replace(
                request,
                request_id=request_id,
                client_id=f"c{move.client}",
                received_at_ms=self._at_ms,
                request_seq=self._requests,
            )
        )
        group.texts = [*group.texts[-_REMEMBERED:], text]
        if move.is_changed:
            text = changed(Random(move.choice), text, group.texts)
        return text.decode("utf-8", "replace")

    def _request(self, group_id: str, known: _Member, move: Move) -> Request:
        choice, at_ms = move.choice, self._at_ms
        instance_id = f"i{move.client % 2}" if choice % 5 == 0 else None
        newcomer: dict[str, Any] = {"group_instance_id": instance_id, "session_timeout_ms": (6_000, 30_000)[choice % 2]}
        match _next(group_id, known, choice) if move.action == NEXT else move.action:
            case "join":
                version = (3, 5, 9)[choice % 3]
                if version < 5:
                    del newcomer["group_instance_id"]
                name = ("range", "roundrobin", "mine")[choice // 7 % 3]
                given = {name: b"\0" * (choice % 900)} if choice % 11 == 0 else None
                return join(
                    "", at_ms, group_id, api_version=version, member_id=known.member_id, protocols=given, **newcomer
                )
            case "sync":
                assigned = {each.member_id: b"x" * (choice % 700) for each in self._groups[group_id].clients}
                return sync(known.member_id, known.generation_id, at_ms, group_id, assigned=assigned)
            case "beat":
                return heartbeat(known.member_id, known.generation_id, at_ms, group_id)
            case "leave":
                return leave(known.member_id, at_ms, group_id)
            case "commit":
                offsets = {TopicPartition(("t1", "t1", "é" * 90)[choice % 3], choice // 3 % 5): choice % 1_000}
                generation_id = known.epoch if choice % 2 else known.generation_id
                member_id = known.member_id if choice % 7 else ""
                return commit(member_id, generation_id if member_id else -1, offsets, group=group_id, api_version=9)
            case "fetch":
                topics = [OffsetFetchRequestTopic(name="t1", partition_indexes=[0, 1, 1])]
                return fitting(OffsetFetchRequest, 7, group_id=group_id, topics=topics)
            case "describe":
                if choice % 2:
                    return fitting(DescribeGroupsRequest, 5, groups=[group_id])
                return fitting(ConsumerGroupDescribeRequest, 1, group_ids=[group_id])
            case "pattern":
                pattern = PATTERNS[choice % len(PATTERNS)]
                return consumer_beat(
                    known.member_id or "new", known.epoch, at_ms, group_id, subscribed_topic_regex=pattern
                )
            case "depart":
                return consumer_beat(known.member_id, -2 if choice % 3 == 0 else -1, at_ms, group_id)
            case _:
                member_id = known.member_id or f"member-{move.client}"
                owned = known.owned if choice % 3 and known.epoch else None
                return consumer_beat(member_id, known.epoch, at_ms, group_id, owned=owned, instance_id=instance_id)

    # ------------------------------------------------------------ turns

    def _turn(self, group_id: str, group: _Group, texts: list[str]) -> None:
        """Plays a turn, and others at once while requests are put off."""
        while True:
            turns = GroupTurns(group_id, group.stored, self._at_ms, SETTINGS)
            outcome = turns.take(texts)
            if self._requests % 50 == 0:
                again = GroupTurns(group_id, group.stored, self._at_ms, SETTINGS).take(texts)
                if again != outcome:
                    raise Finding("a turn that is played again gives something else")
            group.stored = outcome.row
            _assert_sound(turns)
            for row in outcome.rows:
                self._take(group, row)
            if not turns.memory.put_off:
                return
            self._cuts += 1
            self._at_ms += 1
            texts = []

    def _take(self, group: _Group, row: EffectRow) -> None:
        if len(row.detail or "") > _ROW_MAX_CHARACTERS:
            raise Finding(f"a row of {row.effect} is longer than {_ROW_MAX_CHARACTERS} characters")
        if row.effect == QUARANTINED:
            self._quarantined += 1
            if "broke" in (row.cause or ""):
                raise Finding(f"a request breaks its group: {(row.cause or '').strip().splitlines()[-1]}")
            return
        if row.effect != EffectName.REPLY.value:
            return
        self._answers += 1
        client = group.senders.pop(row.request_id or "", None)
        if client is None:
            # What was changed may have another request's id.
            return
        known = group.clients[client]
        response = response_of(row.api or "", row.error_code or "", row.detail)
        match response:
            case _ if row.error_code == "UNKNOWN_MEMBER_ID":
                group.clients[client] = _Member()
            case JoinGroupResponse(member_id=member_id) if member_id:
                known.member_id, known.generation_id, known.is_assigned = (
                    member_id,
                    response.generation_id,
                    False,
                )
            case SyncGroupResponse():
                known.is_assigned = response.error_code == "NONE"
            case ConsumerGroupHeartbeatResponse(member_epoch=epoch):
                known.epoch = max(epoch, 0) if response.error_code == "NONE" else 0
                known.member_id = response.member_id or known.member_id
                if response.assignment is not None:
                    known.owned = {each.topic: each.partitions for each in response.assignment.topic_partitions}
            case HeartbeatResponse(error_code="REBALANCE_IN_PROGRESS"):
                known.generation_id = -1


def _next(group_id: str, known: _Member, choice: int) -> str:
    if group_id in NEWER:
        return "consume" if choice % 4 else "commit"
    if not known.member_id or known.generation_id < 0:
        return "join"
    if not known.is_assigned:
        return "sync"
    return "beat" if choice % 3 else "commit"


def _assert_sound(turns: GroupTurns) -> None:
    group = turns.group
    try:
        assert_sound(group)
    except AssertionError as error:
        place = raised_at(error)
        raise Finding(f"a group is not sound: {place.tb_frame.f_code.co_name}, line {place.tb_lineno}") from None
