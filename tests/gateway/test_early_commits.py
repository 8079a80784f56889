"""Commits that are answered once they are in the request table: none is lost, refused afterwards, or takes the place of
a later one, whatever else happens and however late the coordinator comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.known_groups import KnownGroups
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Effect, OffsetsCommitted, Reply, RequestDropped, RequestParked
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatResponse,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatRunRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    StreamRequest,
)
from rollcall.serve.gateway.tables.early_answers import EarlyAnswers
from rollcall.serve.gateway.tables.early_commits import (
    MOST_BYTES,
    MOST_GROWN_BYTES,
    MOST_UNTAKEN,
    TAKEN_WITHIN_MS,
    EarlyCommits,
)
from rollcall.serve.gateway.tables.under_way import UnderWay
from tests.gateway.facts import facts_of
from tests.requests import commit, consumer_beat, heartbeat, join, leave, sync

G = "g"
T = 1_000_000
YOUNG_MS = 3000
CONFIG = GroupConfig(
    group_initial_rebalance_delay_ms=0,
    group_min_session_timeout_ms=1,
    topics={"t1": 2, "t2": 1, "many": 10_000},
    consumer=ConsumerConfig(session_timeout_ms=10_000, heartbeat_interval_ms=1000, assignment_interval_ms=0),
)
PARTITIONS = (TopicPartition("t1", 0), TopicPartition("t1", 1), TopicPartition("t2", 0))


@dataclass
class Client:
    """What one client was answered."""

    name: str
    session_ms: int
    rebalance_ms: int
    member_id: str = ""
    generation_id: int = -1
    is_leader: bool = False
    must_join: bool = True
    must_sync: bool = False
    waits: bool = False
    """For the answer to its JoinGroup or SyncGroup, or to a heartbeat of the newer protocol."""
    owned: dict[str, list[int]] = field(default_factory=dict)
    """Of a consumer of the newer protocol."""


@dataclass
class World:
    """Clients, their only gateway, a request table, and a coordinator whose batches come when they are told to."""

    clients: list[Client]
    now_ms: int = T
    group: Group = field(default_factory=lambda: Group(G))
    queue: list[StreamRequest] = field(default_factory=list)
    table: list[StreamRequest] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    acknowledged: dict[str, OffsetCommitRequest] = field(default_factory=dict)
    may_be: dict[str, OffsetCommitRequest] = field(default_factory=dict)
    asked: dict[str, Client] = field(default_factory=dict)
    batch_ms: int = T
    unread: list[Effect] = field(default_factory=list)
    taken_at_ms: dict[str, int] = field(default_factory=dict)
    """By request: its moment for the coordinator, which is later than its arrival where a deadline came between."""

    def __post_init__(self) -> None:
        self.known = KnownGroups()
        self.under_way = UnderWay(self.known, 1_000_000)
        self.early = EarlyAnswers(self.known, self.under_way)
        self.commits = EarlyCommits(self.known, self.under_way, CONFIG)

    # ------------------------------------------------------------ clients and gateway

    def ask(self, request: GroupRequest, client: Client | None = None) -> None:
        self.queue += self.early.due(self.now_ms)
        if client is not None:
            self.asked[request.request_id] = client
        is_young = self.now_ms - self.batch_ms <= YOUNG_MS
        if isinstance(request, HeartbeatRequest) and is_young:
            runs = self.early.take(request)
            if runs is not None:
                self.queue += runs
                return
        self.queue += self.early.run_before(request)
        self.early.note(request)
        if isinstance(request, OffsetCommitRequest) and is_young and self.commits.answer(request, 100) is not None:
            request = msgspec.structs.replace(request, is_acknowledged=True)
            self.may_be[request.request_id] = request
        self.under_way.begin(request, None)
        self.queue.append(request)

    def go_on(self, client: Client) -> None:
        """What a healthy client does next."""
        number, at_ms = len(self.asked), self.now_ms
        if client.waits:
            return
        client.waits = client.must_join or client.must_sync
        if client.must_join:
            said: dict[str, Any] = {"member_id": client.member_id, "session_timeout_ms": client.session_ms}
            said |= {"rebalance_timeout_ms": client.rebalance_ms, "request_id": f"j{number}"}
            self.ask(join(client.name, at_ms, G, **said), client)
        elif client.must_sync:
            assigned = list(self.group.members) if client.is_leader else None
            ids = client.member_id, client.generation_id
            self.ask(sync(*ids, at_ms, G, assigned=assigned, request_id=f"s{number}"), client)
        else:
            self.ask(heartbeat(client.member_id, client.generation_id, at_ms, G, request_id=f"h{number}"), client)

    def commit(self, client: Client, at: TopicPartition) -> None:
        number = len(self.asked)
        more: dict[str, Any] = {"request_id": f"c{number}", "metadata": "m" * (number % 3)}
        ids = client.member_id, client.generation_id
        self.ask(commit(*ids, {at: number}, group=G, api_version=9, received_at_ms=self.now_ms, **more), client)

    def leave(self, client: Client) -> None:
        if client.member_id:
            self.ask(leave(client.member_id, self.now_ms, G, request_id=f"l{len(self.asked)}"), client)
            client.member_id, client.must_join, client.must_sync = "", True, False

    def append(self) -> None:
        """What is queued is in the table; the gateway says so to whom it may."""
        queue, self.queue = self.queue, []
        self.table += queue
        for request in queue:
            if isinstance(request, HeartbeatRunRequest):
                self.commits.appended(request, self.now_ms)
            is_young = self.now_ms - self.batch_ms <= YOUNG_MS
            if not isinstance(request, OffsetCommitRequest) or not request.is_acknowledged:
                continue
            if is_young and self.commits.is_sure(request, self.now_ms):
                self.commits.acknowledged(request)
                self.acknowledged[request.request_id] = request

    # ------------------------------------------------------------ the coordinator

    def batch(self) -> None:
        """The coordinator takes what is in the table, then time."""
        effects: list[Effect] = []
        for request in self.table:
            at_ms = self.taken_at_ms[request.request_id] = max(request.received_at_ms, self.group.updated_at_ms)
            begin_ms = min(request.from_ms, at_ms) if isinstance(request, HeartbeatRunRequest) else at_ms
            effects += expire_due(self.group, begin_ms - 1, CONFIG, self.now_ms)
            effects += step(self.group, request, at_ms, CONFIG, self.now_ms)
        effects += expire_due(self.group, self.now_ms, CONFIG, self.now_ms)
        self.table.clear()
        self.batch_ms = self.now_ms
        self.effects += effects
        self.unread += effects

    def read(self) -> None:
        """The gateway reads what came of the batches, and clients their answers."""
        effects, self.unread = self.unread, []
        for fact in facts_of(G, effects):
            self.known.apply(G, fact.effect, fact.detail)
            if fact.effect == EffectName.MEMBER_UPDATED:
                self.commits.forget(G, fact.member_id or "")
            if fact.effect == EffectName.MEMBER_REMOVED:
                self.early.forget(G, fact.member_id or "")
                self.commits.forget(G, fact.member_id or "")
        for effect in effects:
            self._read(effect)

    def round(self) -> None:
        """All of it, one after the other."""
        self.append()
        self.batch()
        self.read()

    def _read(self, effect: Effect) -> None:
        if isinstance(effect, RequestParked):
            self.under_way.park(effect.request_id)
        if isinstance(effect, RequestDropped):
            self.under_way.drop(effect.request_id)
            self.asked[effect.request_id].waits = False
        if isinstance(effect, Reply):
            one = self.under_way.drop(effect.request_id)
            if one is not None:
                self.commits.taken(G, one, effect.response)
            client = self.asked.get(effect.request_id)
            if client is not None:
                _take(client, effect)


class ConsumerWorld(World):
    """The same with clients of the newer protocol, which never skip a step of their reconciliation."""

    def go_on(self, client: Client) -> None:
        if not client.waits:
            client.member_id, client.waits = client.name, True
            epoch = 0 if client.must_join else client.generation_id
            self._beat(client, epoch, topics=["t1", "t2"], owned=client.owned)

    def leave(self, client: Client) -> None:
        if not client.must_join and not client.waits:
            client.must_join, client.waits, client.owned = True, True, {}
            self._beat(client, -2 if self._instance_id(client) else -1)

    def _beat(self, client: Client, epoch: int, **said: Any) -> None:
        more: dict[str, Any] = {"instance_id": self._instance_id(client), "request_id": f"b{len(self.asked)}"}
        self.ask(consumer_beat(client.name, epoch, self.now_ms, G, **said, **more), client)

    def _instance_id(self, client: Client) -> str | None:
        """Those of one session timeout, of which they know nothing, are static members, which leave for a while."""
        return f"i-{client.name}" if client.session_ms == 45_000 else None


def _take(client: Client, reply: Reply) -> None:
    if reply.api in ("JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat"):
        client.waits = False
    match reply.error_code:
        case Error.NONE if isinstance(reply.response, ConsumerGroupHeartbeatResponse):
            if reply.response.member_epoch > 0:
                client.generation_id, client.must_join = reply.response.member_epoch, False
            if reply.response.assignment is not None:
                given = reply.response.assignment.topic_partitions
                client.owned = {one.topic: list(one.partitions) for one in given}
        case Error.FENCED_MEMBER_EPOCH:
            client.must_join, client.owned = True, {}
        case Error.NONE if isinstance(reply.response, JoinGroupResponse):
            reported = reply.response
            client.member_id, client.generation_id = reported.member_id, reported.generation_id
            client.is_leader = reported.leader == reported.member_id
            client.must_join, client.must_sync = False, True
        case Error.NONE if reply.api == "SyncGroup":
            client.must_sync = False
        case Error.REBALANCE_IN_PROGRESS | Error.ILLEGAL_GENERATION if reply.api != "OffsetCommit":
            client.must_join, client.must_sync = True, False
        case Error.UNKNOWN_MEMBER_ID:
            client.member_id, client.must_join, client.must_sync, client.owned = "", True, False, {}


def assert_kept(world: World) -> None:
    """Each acknowledged commit was stored at its moment, and partitions hold what was committed last."""
    replies = {one.request_id: one for one in world.effects if isinstance(one, Reply) and one.api == "OffsetCommit"}
    stored = {one.request_id: one for one in world.effects if isinstance(one, OffsetsCommitted)}
    for request_id, request in world.acknowledged.items():
        assert replies[request_id].error_code is Error.NONE
        assert stored[request_id].at_ms == world.taken_at_ms[request_id] >= request.received_at_ms
    last: dict[tuple[str, int], int] = {}
    for one in stored.values():
        for offset in one.offsets:
            at = offset.topic, offset.partition
            assert offset.commit_timestamp_ms >= last.get(at, 0)
            last[at] = offset.commit_timestamp_ms


def settled(
    count: int = 3,
    session_ms: int = 10_000,
    rebalance_ms: int = 60_000,
    *,
    beats: bool = True,
    commits: bool = True,
    kind: type[World] = World,
) -> World:
    """A Stable group whose members have offsets, and heartbeats."""
    world = kind([Client(f"c{n}", session_ms, rebalance_ms) for n in range(count)])
    for _ in range(20):
        for client in world.clients:
            world.go_on(client)
        world.now_ms += 10
        world.round()
        if world.group.shown_state == "Stable" and not any(one.must_join or one.must_sync for one in world.clients):
            break
    for client, at in zip(world.clients * 3, PARTITIONS, strict=False):
        if commits:
            world.commit(client, at)
        if beats:
            world.go_on(client)
    world.now_ms += 10
    world.round()
    assert world.group.shown_state == "Stable"
    return world


Action = tuple[str, int, int]
OFTEN = ("commit", "commit", "commit", "commit", "go on", "go on", "append", "append", "all", "all")
actions = st.tuples(
    st.sampled_from((*OFTEN, "leave", "rejoin", "batch", "read", "silence")),
    st.integers(0, 2),
    st.sampled_from((0, 1, 30, 30, 300, 300, 1000, 2900)),
)


def play(world: World, moves: Iterable[Action]) -> World:
    for what, number, gap_ms in moves:
        world.now_ms += gap_ms
        client = world.clients[number % len(world.clients)]
        match what:
            case "commit":
                world.commit(client, PARTITIONS[number])
            case "go on":
                world.go_on(client)
            case "leave":
                world.leave(client)
            case "rejoin":
                client.must_join = True
                world.go_on(client)
            case "append":
                world.append()
            case "batch":
                world.batch()
            case "read":
                world.read()
            case _:
                for each in world.clients if what == "all" else ():
                    world.go_on(each)
                world.round()
    world.append()
    world.batch()
    return world


worlds = st.builds(
    settled,
    st.integers(1, 3),
    st.sampled_from((6000, 10_000, 45_000)),
    st.sampled_from((10_000, 60_000)),
    beats=st.booleans(),
    commits=st.booleans(),
    kind=st.sampled_from((World, ConsumerWorld)),
)
lives = st.lists(actions, min_size=5, max_size=60)


@given(world=worlds, moves=lives)
@settings(max_examples=300)
def test_what_is_acknowledged_is_kept(world: World, moves: list[Action]) -> None:
    assert_kept(play(world, moves))


def test_the_random_lives_have_commits_that_are_acknowledged() -> None:
    acknowledged: dict[type[World], list[int]] = {World: [], ConsumerWorld: []}

    @settings(max_examples=100, derandomize=True, database=None)
    @given(world=worlds, moves=lives)
    def play_one(world: World, moves: list[Action]) -> None:
        acknowledged[type(world)].append(len(play(world, moves).acknowledged))

    play_one()
    for counts in acknowledged.values():
        assert sum(counts) > 50
        assert sum(1 for count in counts if count) > 15


# ---------------------------------------------------------------- one group at rest


def is_acknowledged(world: World) -> bool:
    world.commit(world.clients[0], PARTITIONS[0])
    before = len(world.acknowledged)
    world.append()
    return len(world.acknowledged) > before


@pytest.mark.parametrize("kind", [World, ConsumerWorld])
@pytest.mark.parametrize("commits", [True, False])
def test_a_commit_of_a_member_of_a_group_at_rest_waits_for_no_batch(kind: type[World], commits: bool) -> None:
    world = settled(kind=kind, commits=commits)
    assert is_acknowledged(world)
    world.now_ms += 500
    assert is_acknowledged(world)


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.leave(world.clients[1]),
        lambda world: world.ask(join("new", world.now_ms, G, request_id="x")),
    ],
    ids=["leave", "join"],
)
def test_after_a_request_that_may_change_the_group_commits_wait(change: object) -> None:
    world = settled()
    change(world)  # type: ignore[operator]
    assert not is_acknowledged(world)


def test_beside_a_heartbeat_of_the_member_itself_its_commits_wait_and_beside_another_s_they_do_not() -> None:
    world = settled(kind=ConsumerWorld)
    world.go_on(world.clients[1])
    assert is_acknowledged(world)
    world.go_on(world.clients[0])
    assert not is_acknowledged(world)


def test_a_static_member_that_is_away_for_a_while_commits_nothing_early() -> None:
    world = settled(1, 45_000, kind=ConsumerWorld)
    assert is_acknowledged(world)
    world.leave(world.clients[0])
    world.round()
    assert not is_acknowledged(world)


@pytest.mark.parametrize("kind", [World, ConsumerWorld])
def test_a_group_grows_by_a_limit_at_most_before_the_coordinator_looks_whether_there_is_room(kind: type[World]) -> None:
    world = settled(1, kind=kind)
    client, taken_bytes = world.clients[0], 0
    metadata, count = "m" * 1000, 30
    for first in range(0, 3000, count):
        at = {TopicPartition("many", first + number): 5 for number in range(count)}
        more: dict[str, Any] = {"metadata": metadata, "received_at_ms": world.now_ms, "api_version": 9}
        request = commit(client.member_id, client.generation_id, at, group=G, **more)
        if world.commits.answer(request, MOST_BYTES) is None:
            break
        taken_bytes += count * len(metadata)
        assert world.commits.answer(request, MOST_BYTES) is not None
    assert MOST_GROWN_BYTES * 0.6 < taken_bytes < MOST_GROWN_BYTES


def test_a_member_of_another_session_than_before_is_not_held_for_alive_by_the_longer_one() -> None:
    world = settled(1, 45_000)
    client = world.clients[0]
    client.session_ms, client.must_join = 6000, True
    for _ in range(2):
        world.go_on(client)
        world.round()
    assert world.commits._groups[G].alive_until_ms[client.member_id] == world.now_ms + 6000


def test_of_a_partition_that_does_not_exist_or_with_long_metadata_the_coordinator_answers() -> None:
    world = settled(1)
    member_id, generation_id = world.clients[0].member_id, world.clients[0].generation_id
    more: dict[str, Any] = {"group": G, "received_at_ms": world.now_ms}
    known = commit(member_id, generation_id, {PARTITIONS[0]: 5}, **more)
    assert world.commits.answer(known, 100) is not None
    assert world.commits.answer(known, MOST_BYTES + 1) is None
    for other in (
        commit(member_id, generation_id, {TopicPartition("t1", 9): 5}, **more),
        commit(member_id, generation_id, {PARTITIONS[0]: 5}, metadata="n" * 4097, **more),
        commit(member_id, generation_id + 1, {PARTITIONS[0]: 5}, **more),
        commit("stranger", generation_id, {PARTITIONS[0]: 5}, **more),
    ):
        assert world.commits.answer(other, 100) is None


def test_a_member_whose_session_may_end_before_the_coordinator_comes_waits() -> None:
    world = settled(1, 6000)
    before = set(world.acknowledged)
    world.commit(world.clients[0], PARTITIONS[0])
    world.now_ms += 6000 - TAKEN_WITHIN_MS
    world.batch_ms = world.now_ms
    world.append()
    assert set(world.acknowledged) == before


def test_a_member_that_might_be_removed_for_not_joining_again_waits() -> None:
    assert not is_acknowledged(settled(2, rebalance_ms=9_999))
    assert is_acknowledged(settled(2, rebalance_ms=10_000))


def test_a_limited_number_of_commits_of_one_group_waits_in_the_table() -> None:
    world = settled(1)
    assert sum(is_acknowledged(world) for _ in range(MOST_UNTAKEN + 5)) == MOST_UNTAKEN
    world.batch()
    world.read()
    assert is_acknowledged(world)


def test_members_that_are_gone_are_forgotten() -> None:
    world = settled(2)
    world.leave(world.clients[1])
    world.round()
    assert len(world.commits._groups[G].alive_until_ms) == 1
    world.commits.forget(G)
    assert world.commits._groups == {}
