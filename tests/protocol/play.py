"""Plays random clients against one group and keeps what was asked: the calls with their times, ready to play again.

A move says who does what in general words ("rejoins under its own id") and asks it here, once it is known which id that
is. Knows how a caller drives the core (what is due before a request fires first) and what a client learns of an answer;
must not know any rule of the protocol.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.schemas.consumer_protocol import decode_assignment
from rollcall.schemas.effects import Effect, Reply
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatResponse,
    GroupObservedRequest,
    JoinGroupResponse,
    StreamRequest,
    SyncGroupResponse,
)

GROUP_ID = "orders"
INSTANCE_IDS: tuple[str | None, ...] = (None, None, "i-1", "i-2", None, "i-1")
"""By client: the last claims another's instance id."""
CLIENTS = len(INSTANCE_IDS)


class Call(NamedTuple):
    """One call of the core at at_ms, with the topics there were: a request, or, without one, what is due by then."""

    at_ms: int
    request: StreamRequest | None
    config: GroupConfig


Watcher = Callable[[Group, Call, list[Effect]], None]


def see_nothing(group: Group, call: Call, effects: list[Effect]) -> None:
    """The watcher of a play that is only played."""


def apply(group: Group, call: Call, armed_from_ms: int | None = None) -> list[Effect]:
    """What comes of one call of the core."""
    if call.request is None:
        return expire_due(group, call.at_ms, call.config, armed_from_ms)
    return step(group, call.request, call.at_ms, call.config, armed_from_ms)


def replay(calls: Iterable[Call]) -> tuple[Group, list[Effect]]:
    """The same calls on a new group: the group, and all effects."""
    group = Group(GROUP_ID)
    return group, [effect for call in calls for effect in apply(group, call)]


@dataclass(slots=True)
class Client:
    """What one client knows of itself. keeps_id: it makes its own member id, as a consumer does."""

    number: int
    member_id: str = ""
    epoch: int = -1
    keeps_id: bool = False
    owned: dict[str, list[int]] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    is_cooperative: bool = False
    is_classic: bool = False
    synced_epoch: int = -1
    id_count: int = 0

    def instance_id(self, is_static: bool = True) -> str | None:
        """Its group.instance.id, if it has one and says so."""
        return INSTANCE_IDS[self.number] if is_static else None

    def learn(self, reply: Reply) -> None:
        """A client keeps what an answer says about it."""
        match reply.response:
            case JoinGroupResponse(member_id=member_id, generation_id=generation_id) if reply.error_code in (
                Error.NONE,
                Error.MEMBER_ID_REQUIRED,
            ):
                self.member_id, self.epoch = member_id, generation_id
            case SyncGroupResponse(assignment=assignment) if self.keeps_id and reply.error_code is Error.NONE:
                self.owned, self.synced_epoch = {}, self.epoch
                for topic, partition in decode_assignment(assignment).partitions if assignment else ():
                    self.owned.setdefault(topic, []).append(partition)
            case ConsumerGroupHeartbeatResponse(member_epoch=epoch, assignment=given, error_code=Error.NONE):
                self.epoch, self.is_classic = max(epoch, 0), False
                if given is not None:
                    self.owned = {each.topic: list(each.partitions) for each in given.topic_partitions}
            case _:
                if not self.keeps_id and reply.error_code in (Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID):
                    self.member_id, self.epoch = "", -1


@dataclass(frozen=True, slots=True)
class Move:
    """client, after gap_ms, does something."""

    gap_ms: int
    client: int

    @abstractmethod
    def make(self, play: Play, client: Client) -> None:
        """Asks for what the move says."""


@dataclass(slots=True)
class Play:
    """One group and its clients. `calls`: every call of the core so far; `effects`: everything that came of them."""

    config: GroupConfig
    watch: Watcher = see_nothing
    group: Group = field(default_factory=lambda: Group(GROUP_ID))
    now_ms: int = 1_000_000
    clients: list[Client] = field(default_factory=lambda: [Client(number) for number in range(CLIENTS)])
    calls: list[Call] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    _sent_by: dict[str, Client] = field(default_factory=dict)

    def make(self, moves: Iterable[Move]) -> Play:
        """Makes these moves, one after the other; returns itself."""
        for move in moves:
            self.wait(move.gap_ms)
            move.make(self, self.clients[move.client])
        return self

    def wait(self, gap_ms: int) -> None:
        """Lets time pass; what is due before the end of it fires."""
        self.now_ms += gap_ms
        self.call(None, self.now_ms - 1)

    def load(self) -> None:
        """A coordinator loads the group anew."""
        if self.group.is_known:
            named: dict[str, Any] = {"request_id": "load", "group_id": GROUP_ID, "why": ""}
            self.call(GroupObservedRequest(**named, api_version=0, received_at_ms=self.now_ms, is_loaded=True))

    def send(self, client: Client, request: StreamRequest) -> Reply | None:
        """A client's request now; its answer, None if it is parked or dropped."""
        request.request_id, request.received_at_ms = f"r{len(self.calls)}", self.now_ms
        request.client_id, request.client_host = f"c-{client.number}", f"/10.0.0.{client.number}"
        self._sent_by[request.request_id] = client
        replies = (effect for effect in self.call(request) if isinstance(effect, Reply))
        return next((reply for reply in replies if reply.request_id == request.request_id), None)

    def call(self, request: StreamRequest | None, at_ms: int | None = None) -> list[Effect]:
        """One call of the core, now if at_ms does not say when; whoever is answered learns of it."""
        call = Call(self.now_ms if at_ms is None else at_ms, request, self.config)
        effects = apply(self.group, call)
        self.calls.append(call)
        self.effects += effects
        self.watch(self.group, call, effects)
        for effect in effects:
            if isinstance(effect, Reply) and effect.request_id in self._sent_by:
                self._sent_by[effect.request_id].learn(effect)
        return effects


def compared(group: Group) -> Group:
    """A group without what turns have cost, and without what is remembered to save work."""
    other = group.copy()
    other.work = 0
    if other.consumer is not None:
        other.consumer.note_looked_at(None)
    return other
