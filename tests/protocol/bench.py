"""A test bench: one group in virtual time, driven by verbs, with clients called by short names.

    bench = Bench()
    bench.stable("m1", "m2")            # generation 2, m1 leads
    bench.at(1_000)
    rejoined = bench.join("m1")         # parked: the leader's rejoin starts a rebalance
    assert rejoined.is_parked

A client's name stands for its member id as soon as the group has one for it (the client itself may not know it yet);
bytes of an assignment are `name-generation`. Before a request at T every earlier deadline fires, as for the live job.
Knows how to ask and what was answered; must not know a rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self, TypeVar

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.lifecycle import load_group, unload_group
from rollcall.coordinator_udfs.protocol.members import Member, PendingMember
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.step import expire_due, next_deadline_ms, step
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.effects import Effect, Reply, RequestDropped, RequestParked
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import GroupRequest, Response
from tests.protocol.bench_requests import Kind, Requests
from tests.requests import fitting

E = TypeVar("E", bound=Effect)
HOST = "/10.0.0.7"


class Call:
    """One request and what became of it."""

    def __init__(self, bench: GroupBench, request: GroupRequest) -> None:
        self.bench = bench
        self.request = request

    @property
    def reply(self) -> Reply | None:
        """The answer, None while there is none."""
        found = [reply for reply in self.bench.of(Reply) if reply.request_id == self.request.request_id]
        assert len(found) <= 1, f"answered {len(found)} times: {found}"
        return found[0] if found else None

    @property
    def is_parked(self) -> bool:
        """Accepted, and neither answered nor dropped so far."""
        parked = any(effect.request_id == self.request.request_id for effect in self.bench.of(RequestParked))
        return parked and self.reply is None and not self.is_dropped

    @property
    def is_dropped(self) -> bool:
        """Never to be answered, as in Kafka."""
        return any(effect.request_id == self.request.request_id for effect in self.bench.of(RequestDropped))

    @property
    def answered_at_ms(self) -> int:
        return self._answer().at_ms

    @property
    def error(self) -> Error:
        return self._answer().error_code

    @property
    def response(self) -> Any:
        """The response, a struct of `rollcall.schemas.messages`."""
        response: Response = self._answer().response
        return response

    @property
    def partition_errors(self) -> dict[tuple[str, int], Error]:
        """Of an answer about offsets: the error of each (topic, partition)."""
        return {
            (topic.name, partition.partition_index): partition.error_code
            for topic in self.response.topics
            for partition in topic.partitions
        }

    @property
    def member_errors(self) -> list[Error]:
        """Of a LeaveGroup's answer: the error of each member, in the order asked."""
        return [member.error_code for member in self.response.members]

    @property
    def epoch(self) -> int:
        """Of a ConsumerGroupHeartbeat's answer."""
        epoch: int = self.response.member_epoch
        return epoch

    @property
    def assigned(self) -> dict[str, list[int]] | None:
        """What a ConsumerGroupHeartbeat's answer lets its member use; None if it says nothing of it."""
        reported = self.response.assignment
        return None if reported is None else {each.topic: each.partitions for each in reported.topic_partitions}

    def _answer(self) -> Reply:
        reply = self.reply
        assert reply is not None, f"not answered: {self.request}"
        return reply


class GroupBench:
    """One group, whichever protocol it speaks. Settings: by their names in ConsumerConfig and GroupConfig."""

    def __init__(self, group_id: str, **settings: Any) -> None:
        self.config = GroupConfig()
        self.set(**settings)
        self.group = Group(group_id)
        self.now_ms = 0
        self.effects: list[Effect] = []
        self.is_tied = False
        """Whether the next request is of the same millisecond; else what is due at its moment fires behind it."""
        self._sent = 0

    def set(self, **settings: Any) -> None:
        """The broker is restarted with other settings."""
        names = ConsumerConfig.__dataclass_fields__
        of_consumers = {name: settings.pop(name) for name in settings.keys() & names}
        self.config = replace(self.config, consumer=replace(self.config.consumer, **of_consumers), **settings)

    # ------------------------------------------------------------ time

    def at(self, now_ms: int) -> Self:
        """Sets the clock; what is due before, and not at, that time fires."""
        assert now_ms >= self.now_ms, f"{now_ms} is before {self.now_ms}"
        self._take(expire_due(self.group, now_ms - 1, self.config))
        self.now_ms = now_ms
        return self

    def tick(self, now_ms: int) -> Self:
        """Lets time pass: what is due up to and at that time fires."""
        self.now_ms = now_ms
        self._take(expire_due(self.group, now_ms, self.config))
        return self

    # ------------------------------------------------------------ sending

    def ask(self, kind: Kind, version: int, client: str, **fields: Any) -> Call:
        """Sends a request of this kind now; a builder's, of `tests.requests`, is about the group."""
        request = self._request(kind, version, client, **fields)
        self._handle(request)
        return Call(self, request)

    def _request(self, kind: Kind, version: int, client: str, **fields: Any) -> GroupRequest:
        self._sent += 1
        envelope = {
            "request_id": f"{self._sent}.{client}",
            "client_id": client,
            "client_host": HOST,
            "received_at_ms": self.now_ms,
        }
        if isinstance(kind, type):
            request: GroupRequest = fitting(kind, version, **{**envelope, **fields})
        else:
            request = kind(api_version=version, **{**envelope, "group": self.group.group_id, **fields})
        return request

    def _handle(self, request: GroupRequest) -> None:
        self._take(expire_due(self.group, self.now_ms - 1, self.config))
        self._take(step(self.group, request, self.now_ms, self.config))
        if not self.is_tied:
            self._take(expire_due(self.group, self.now_ms, self.config))

    def _take(self, effects: Iterable[Effect]) -> None:
        self.effects += effects

    # ------------------------------------------------------------ the coordinator's own moves

    def unload(self) -> Self:
        """The coordinator of the group moves away."""
        turn = Turn(self.now_ms, self.config, self.now_ms)
        unload_group(self.group, turn)
        self._take(turn.effects)
        return self

    def load(self) -> None:
        """A coordinator takes the group over from storage."""
        turn = Turn(self.now_ms, self.config, self.now_ms)
        load_group(self.group, turn)
        self._take(turn.effects)

    # ------------------------------------------------------------ what was

    def of(self, kind: type[E]) -> list[E]:
        """Every effect of a kind so far, in order."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def last(self, kind: type[E]) -> E:
        """The latest effect of a kind."""
        return self.of(kind)[-1]


class Bench(Requests, GroupBench):
    """A group of the classic protocol.

    Without settings there is no initial delay, and each session timeout is allowed.
    """

    def __init__(self, group_id: str = "g", **settings: Any) -> None:
        defaults: dict[str, Any] = {
            "group_initial_rebalance_delay_ms": 0,
            "group_min_session_timeout_ms": 1,
            "group_max_session_timeout_ms": 1_000_000,
        }
        super().__init__(group_id, **(defaults | settings))
        self.ids: dict[str, str] = {}
        self.habits: dict[str, dict[str, Any]] = {}
        self._binds: dict[str, str] = {}

    # ------------------------------------------------------------ sending

    def send(self, kind: Kind, version: int, client: str, *, bind: bool = False, **fields: Any) -> Call:
        """Sends a request of this kind now; bind: the member id of its answer is the client's from then on."""
        request = self._request(kind, version, client, **fields)
        if bind:
            self._binds[request.request_id] = client
        self._handle(request)
        return Call(self, request)

    def _take(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            self.effects.append(effect)
            match effect:
                case RequestParked() | Reply(error_code=Error.NONE | Error.MEMBER_ID_REQUIRED):
                    if effect.request_id in self._binds:
                        self.ids[self._binds[effect.request_id]] = effect.member_id
                case _:
                    pass

    # ------------------------------------------------------------ groups ready made

    def static(self, *clients: str) -> Self:
        """These clients have instance ids: m2 has i2."""
        for client in clients:
            self.client(client, instance_id=client.replace("m", "i"))
        return self

    def completing(self, *clients: str) -> Bench:
        """These clients have joined and none has synced; the first leads. Generation 1 for one, 2 for several."""
        first, *others = clients
        self.enter(first)
        for client in others:
            self.enter(client)
        if others:
            self.join(first)
        assert self.state is GroupState.COMPLETING_REBALANCE, self.state
        return self

    def stable(self, *clients: str) -> Bench:
        """These clients are Stable members, each with its own assignment; the first leads."""
        self.completing(*clients)
        self.sync(clients[0], plan=clients)
        for client in clients[1:]:
            self.sync(client)
        assert self.state is GroupState.STABLE, self.state
        return self

    def patient(self, *clients: str, rebalance_ms: int = 30_000) -> Bench:
        """These clients are Stable members with long sessions, so that only what a test does happens."""
        for client in clients:
            self.client(client, rebalance_ms=rebalance_ms, session_ms=200_000)
        return self.stable(*clients)

    def empty(self) -> Bench:
        """A group that had a member once: Empty, generation 2."""
        self.stable("gone").leave("gone")
        return self

    def preparing(self, *clients: str) -> Bench:
        """These clients were Stable; the first, the leader, has rejoined and the others are awaited."""
        self.stable(*clients).join(clients[0])
        assert self.state is GroupState.PREPARING_REBALANCE, self.state
        return self

    # ------------------------------------------------------------ what is

    @property
    def state(self) -> GroupState:
        return self.group.state

    @property
    def generation(self) -> int:
        return self.group.generation_id

    @property
    def leader(self) -> str | None:
        return None if self.group.leader_id is None else self.name_of(self.group.leader_id)

    @property
    def members(self) -> list[str]:
        """Names of the members, in join order."""
        return [self.name_of(member_id) for member_id in self.group.members]

    def member(self, client: str) -> Member:
        return self.group.members[self.ids[client]]

    def id_of(self, client: str) -> str:
        """The member id of a client; of a stranger, its name, so that an unknown id is simply written."""
        return self.ids.get(client, client)

    def name_of(self, member_id: str) -> str:
        """The client whose member id this is, else the id itself."""
        return next((client for client, known in self.ids.items() if known == member_id), member_id)

    def deadlines(self) -> dict[str, int]:
        """Every deadline by its owner: join, sync, sweep are the group's, the others by client."""
        group = self.group
        own = {"join": group.join_deadline_ms, "sync": group.sync_deadline_ms, "sweep": group.sweep_deadline_ms}
        owners: list[Member | PendingMember] = [*group.members.values(), *group.pending.values()]
        waiting = {self.name_of(owner.member_id): owner.session_deadline_ms for owner in owners}
        found = {name: deadline_ms for name, deadline_ms in (own | waiting).items() if deadline_ms is not None}
        bound = next_deadline_ms(group)
        assert not found or (bound is not None and bound <= min(found.values()))
        return found

    # ------------------------------------------------------------ what was

    def replies(self) -> list[tuple[int, str, Error]]:
        """Every answer so far: when, to whom, with which error."""
        return [(reply.at_ms, reply.client_id, reply.error_code) for reply in self.of(Reply)]
