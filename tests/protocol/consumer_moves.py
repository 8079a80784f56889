"""Random clients of a consumer group, some of the classic protocol: what they may do next, and what all of them do at
once; what all groups see is in `shared_moves`.

Knows the requests there are; must not know any rule of the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any

from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import INT32_MAX, ConsumerConfig, GroupConfig, MigrationPolicy
from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from rollcall.schemas.errors import Error
from tests import requests
from tests.protocol import shared_moves as m
from tests.protocol.play import CLIENTS, GROUP_ID, Client, Move, Play, Watcher, see_nothing
from tests.protocol.shared_moves import Epoch

TOPICS = {"t1": 4, "t2": 3, "u1": 5}
PATTERNS = ("t.*", "u.", ".*1", "nothing", "(")
FIRST = requests.assignment([("t1", 0)])


def consumer_play(config: GroupConfig, watch: Watcher = see_nothing, **more: Any) -> Play:
    """A play of clients that make their own member ids."""
    clients = [Client(number, f"member-{number}", 0, keeps_id=True) for number in range(CLIENTS)]
    return Play(config, watch, clients=clients, **more)


# ---------------------------------------------------------------- what clients do with their last answer


def beat(play: Play, client: Client, epoch: int, **more: Any) -> None:
    """A ConsumerGroupHeartbeat."""
    play.send(client, requests.consumer_beat(client.member_id, epoch, 0, GROUP_ID, **more))


def everybody(play: Play, rounds: int = 2) -> None:
    """Every client that has been given an epoch beats with its last answer's."""
    for _ in range(rounds):
        for client in play.clients:
            if client.epoch > 0 and client.is_classic:
                cycle(play, client)
            elif client.epoch > 0:
                beat(play, client, client.epoch, owned=client.owned)


def cycle(play: Play, client: Client) -> None:
    """A classic member's SyncGroup where it has joined, its heartbeat, and a JoinGroup if it is told to."""
    if client.synced_epoch != client.epoch:
        sync(play, client)
    reply = play.send(client, requests.heartbeat(client.member_id, client.epoch, 0, GROUP_ID))
    if reply is not None and reply.error_code in (Error.REBALANCE_IN_PROGRESS, Error.ILLEGAL_GENERATION):
        join_classic(play, client)


def join_classic(play: Play, client: Client, is_static: bool = False, session_timeout_ms: int = 6000) -> None:
    """A JoinGroup, by a new id if the client has no epoch, and a SyncGroup if it is answered at once."""
    owned = requests.flat(client.owned) if client.is_cooperative else ()
    metadata = requests.subscription(*client.topics, owned=owned, version=1)
    fields: dict[str, Any] = {
        "api_version": 5,
        "protocols": {"range": metadata},
        "group_instance_id": client.instance_id(is_static),
        "session_timeout_ms": session_timeout_ms,
        "rebalance_timeout_ms": 5000,
    }
    member_id = client.member_id if client.epoch > 0 else ""
    reply = play.send(client, requests.join("", 0, GROUP_ID, member_id=member_id, **fields))
    if reply is not None and reply.error_code is Error.MEMBER_ID_REQUIRED:
        reply = play.send(client, requests.join("", 0, GROUP_ID, member_id=client.member_id, **fields))
    if reply is not None and reply.error_code is Error.NONE:
        sync(play, client)


def sync(play: Play, client: Client) -> None:
    """A SyncGroup; who leads gives itself a partition."""
    play.send(client, requests.sync(client.member_id, client.epoch, 0, GROUP_ID, assigned={client.member_id: FIRST}))


# ---------------------------------------------------------------- moves

_some_topics = st.lists(st.sampled_from((*TOPICS, "t9")), unique=True, max_size=3).map(tuple)
_patterns = st.sampled_from((None, None, None, *PATTERNS, ""))
Topics = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Join(Move):
    """Joins or rejoins with epoch 0."""

    topics: Annotated[Topics | None, st.one_of(st.none(), _some_topics)]
    pattern: Annotated[str | None, _patterns]
    assignor: Annotated[str | None, st.sampled_from((None, None, None, "uniform", "range", "none such"))]
    is_static: Annotated[bool, st.booleans()]
    is_new_id: Annotated[bool, st.sampled_from((False, False, True))]
    rebalance_timeout_ms: Annotated[int, st.sampled_from((0, 700, 5000, 60_000))]

    def make(self, play: Play, client: Client) -> None:
        if self.is_new_id:
            client.id_count += 1
            client.member_id = f"member-{client.number}-{client.id_count}"
        client.is_classic = False
        topics = ("t1",) if self.topics is None and self.pattern is None else self.topics
        beat(
            play,
            client,
            0,
            instance_id=client.instance_id(self.is_static),
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=self.pattern,
            server_assignor=self.assignor,
        )


class Said(StrEnum):
    """What a member says that it owns."""

    NOTHING_SAID = "nothing said"
    ANSWERED = "what it was answered"
    NONE = "none"
    FOREIGN = "what it was never answered"

    def owned(self, client: Client) -> dict[str, list[int]] | None:
        """Its partitions by topic."""
        match self:
            case Said.NOTHING_SAID:
                return None
            case Said.ANSWERED:
                return client.owned
            case Said.NONE:
                return {}
            case Said.FOREIGN:
                return {"t1": [0, 1, 2, 3]}


@dataclass(frozen=True, slots=True)
class Beat(Move):
    epoch: Annotated[Epoch, st.sampled_from((Epoch.OWN, Epoch.OWN, Epoch.OWN, Epoch.BEFORE, Epoch.AFTER))]
    said: Annotated[Said, st.sampled_from((Said.ANSWERED, Said.ANSWERED, *Said))]
    topics: Annotated[Topics | None, st.one_of(st.none(), st.none(), st.none(), _some_topics)]
    pattern: Annotated[str | None, st.one_of(st.none(), st.none(), _patterns)]
    is_full: Annotated[bool, st.booleans()]

    def make(self, play: Play, client: Client) -> None:
        beat(
            play,
            client,
            max(self.epoch.number(play, client), 1),
            rebalance_timeout_ms=700 if self.is_full else -1,
            topics=None if self.topics is None else list(self.topics),
            subscribed_topic_regex=self.pattern,
            owned=self.said.owned(client),
        )


@dataclass(frozen=True, slots=True)
class Leave(Move):
    """is_for_now: -2, which is for static members."""

    is_for_now: Annotated[bool, st.booleans()]

    def make(self, play: Play, client: Client) -> None:
        beat(play, client, -2 if self.is_for_now else -1, instance_id=client.instance_id(self.is_for_now))


@dataclass(frozen=True, slots=True)
class Restart(Move):
    """A static member's process is restarted: it joins, beats, leaves for now and joins again."""

    is_new_id: Annotated[bool, st.booleans()]

    def make(self, play: Play, client: Client) -> None:
        join = Join(0, client.number, ("t1", "t2"), None, None, True, False, 5000)
        join.make(play, client)
        everybody(play)
        Leave(0, client.number, True).make(play, client)
        replace(join, is_new_id=self.is_new_id).make(play, client)


@dataclass(frozen=True, slots=True)
class ClassicJoin(Move):
    topics: Annotated[Topics, st.sampled_from((("t1",), ("t1", "t2"), ()))]
    is_cooperative: Annotated[bool, st.booleans()]
    is_static: Annotated[bool, st.booleans()]
    session_timeout_ms: Annotated[int, st.sampled_from((900, 6000))]

    def make(self, play: Play, client: Client) -> None:
        client.topics, client.is_cooperative, client.is_classic = self.topics, self.is_cooperative, True
        join_classic(play, client, self.is_static, self.session_timeout_ms)


@dataclass(frozen=True, slots=True)
class ClassicCycle(Move):
    """Heartbeats; joins again where it is told to; syncs where it joined."""

    def make(self, play: Play, client: Client) -> None:
        cycle(play, client)


@dataclass(frozen=True, slots=True)
class ChangeTopic(Move):
    """A topic is made (0 to some partitions), grows, or goes (0)."""

    topic: Annotated[str, st.sampled_from((*TOPICS, "t9", "u9"))]
    partition_count: Annotated[int, st.sampled_from((0, 1, 4, 7))]

    def make(self, play: Play, client: Client) -> None:
        topics = dict(play.config.topics or {})
        is_new = self.topic not in topics and self.partition_count > 0
        if self.partition_count == 0:
            topics.pop(self.topic, None)
        else:
            topics[self.topic] = max(topics.get(self.topic, 0), self.partition_count)
        play.config = replace(play.config, topics=topics, topics_version=play.config.topics_version + is_new)


@dataclass(frozen=True, slots=True)
class Everybody(Move):
    """Every client that is a member beats twice in turn, with its last answer's epoch."""

    def make(self, play: Play, client: Client) -> None:
        everybody(play)


# ---------------------------------------------------------------- what can be drawn

_gaps = st.sampled_from((0, 0, 1, 50, 50, 400, 400, 1100, 3100, 10_500))


def _of(kind: type[Move], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Move]:
    return st.builds(kind, **{"gap_ms": _gaps, "client": st.integers(0, CLIENTS - 1), **fields})


_usual_join = _of(
    Join,
    topics=st.sampled_from((("t1",), ("t1", "t2"), ("t1", "t2"), ("u1",))),
    pattern=st.none(),
    assignor=st.none(),
    is_static=st.just(True),
    is_new_id=st.just(False),
    rebalance_timeout_ms=st.just(5000),
)
moves = m.weighted(
    (1, _usual_join),
    (1, _of(Join)),
    (2, _of(Beat)),
    (2, _of(Everybody)),
    (1, _of(Leave)),
    (1, _of(Restart, client=st.sampled_from((2, 3)))),
    (1, _of(ClassicJoin)),
    (1, _of(ClassicCycle)),
    (1, _of(m.LeaveGroup)),
    (1, _of(m.OffsetCommit, version=st.sampled_from((8, 9, 9, 10)), epoch=st.sampled_from(Epoch))),
    (1, _of(m.Ask, api=st.sampled_from((*m.OF_ANY_GROUP, *m.OF_CONSUMER_GROUPS)))),
    (1, _of(ChangeTopic)),
    (1, _of(m.Again)),
)
plays = st.one_of(st.lists(moves, max_size=20), st.lists(moves, min_size=15, max_size=60))
configs = st.builds(
    GroupConfig,
    members_max_bytes=st.sampled_from((INT32_MAX, 8_388_608, 30_000)),
    group_min_session_timeout_ms=st.just(1),
    group_initial_rebalance_delay_ms=st.sampled_from((0, 300)),
    group_max_size=st.sampled_from((2, 100)),
    offsets_retention_minutes=st.just(1),
    offsets_retention_check_interval_ms=st.sampled_from((20_000, 600_000)),
    topics=st.just(TOPICS),
    kafka_version=st.sampled_from(KafkaVersion),
    consumer=st.builds(
        ConsumerConfig,
        session_timeout_ms=st.just(6000),
        min_session_timeout_ms=st.just(2000),
        heartbeat_interval_ms=st.just(500),
        assignment_interval_ms=st.sampled_from((0, 0, 1000)),
        max_size=st.sampled_from((4, 100, 100)),
        migration_policy=st.sampled_from(
            (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.BIDIRECTIONAL, *MigrationPolicy)
        ),
    ),
)
