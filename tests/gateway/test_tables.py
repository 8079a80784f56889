"""A gateway over the tables: what is asked reaches the coordinator once, what it answers comes back."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from prometheus_client import generate_latest

from rollcall.coordinator_udfs.protocol.known_groups import KnownGroups
from rollcall.coordinator_udfs.settings import LATEST_MS
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import GroupRemoved, StateChanged
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import GroupRequest, HeartbeatRequest, Response
from rollcall.schemas.tables import EFFECTS, REQUESTS
from rollcall.serve.gateway.backend import BackendError, Outcome
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.tables.effects_table import EffectsTable
from rollcall.serve.gateway.tables.request_sink import NotAppended, RequestSink
from rollcall.serve.gateway.tables.tables_backend import TablesBackend
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.request_table import RequestTable
from tests.gateway.gateway_before import other
from tests.gateway.running import GROUPS, asynchronous, gateway_of
from tests.gateway.scripted_broker import scripted_broker
from tests.gateway.table_coordinator import TableCoordinator
from tests.gateway.wire_client import alone_in, beaten, heartbeat, is_answered, is_served, join, park
from tests.requests import heartbeat as a_heartbeat
from tests.waiting import WITHIN_S, until_true
from tests.wire_client import Client


def requests_of(home: Path) -> list[GroupRequest]:
    """Everything in the request table, as the coordinator would read it with any Delta reader."""
    table = DeltaTable(str(home / REQUESTS.name)).to_pyarrow_table()
    decoder = msgspec.json.Decoder(GroupRequest)
    return [decoder.decode(text) for text in table["request"].to_pylist()]


# ---------------------------------------------------------------- end to end


@asynchronous
async def test_a_member_joins_through_the_tables(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS):
        async with gateway_of(tmp_path) as server:
            client = await Client.connect(server.address)
            assert await beaten(client, *await alone_in(client)) == "none"
            listed = await client.call("ListGroups", 5)
            assert [(g.group_id, g.group_state) for g in listed.groups] == [("g", "Stable")]
    asked = requests_of(tmp_path)
    assert len({request.request_id for request in asked}) == len(asked) == 4


@asynchronous
async def test_what_one_gateway_has_answered_the_list_of_another_knows(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS):
        async with gateway_of(tmp_path) as first, gateway_of(tmp_path, **{"gateway.poll.interval.ms": "500"}) as slow:
            client, late = await Client.connect(first.address), await Client.connect(slow.address)
            for group in ("g1", "g2", "g3"):
                await alone_in(client, group)
                listed = await late.call("ListGroups", 5)
                assert (group, "Stable") in [(g.group_id, g.group_state) for g in listed.groups]


@asynchronous
async def test_before_an_upstream_the_group_is_the_tables_and_the_rest_the_brokers(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS):
        async with (
            scripted_broker() as broker,
            gateway_of(tmp_path, **{"gateway.upstream": str(broker.address), "topics": ""}) as server,
        ):
            client = await Client.connect(server.address)
            await alone_in(client)
            client.send_raw(other(9))
            assert await client.receive_raw() == (9).to_bytes(4, "big") + other(9)[4:]
            assert len(broker.seen) == 1
    assert {type(request).__name__ for request in requests_of(tmp_path)} == {"JoinGroupRequest", "SyncGroupRequest"}


@asynchronous
async def test_two_gateways_share_one_coordinator_and_each_gets_its_own_answers(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS) as coordinator:
        async with gateway_of(tmp_path) as one, gateway_of(tmp_path) as other:
            first, second = await Client.connect(one.address), await Client.connect(other.address)
            member, _ = await alone_in(first)
            await park(second)
            await until_true(lambda: len(coordinator.groups["g"].members) == 2)
            rejoined = await first.call("JoinGroup", 9, **join(member=member))
            _, joined = await second.receive("JoinGroup", 9)
            assert joined.generation_id == rejoined.generation_id
            for client in (first, second):
                listed = await client.call("ListGroups", 5)
                assert [group.group_state for group in listed.groups] == ["CompletingRebalance"]
                brokers = (await client.call("Metadata", 12, topics=[])).brokers
                assert {(b.host, b.port) for b in brokers} == {one.address, other.address}
                assert len({broker.node_id for broker in brokers}) == 2


@asynchronous
async def test_what_is_asked_while_no_coordinator_runs_is_answered_once_one_does(tmp_path: Path) -> None:
    async with gateway_of(tmp_path) as server:
        client = await Client.connect(server.address)
        sent = client.send("JoinGroup", 9, **join())
        backend = server.backend
        await until_true(lambda: backend.figures().backlog == 1)
        await until_true(lambda: (tmp_path / REQUESTS.name).exists() and len(requests_of(tmp_path)) == 1)
        assert (backend.figures().backlog_age_s or 0) >= 0
        with TableCoordinator(tmp_path, GROUPS):
            correlation_id, given = await client.receive("JoinGroup", 9)
        assert (correlation_id, given.error_code.name) == (sent, "member_id_required")
        assert backend.figures().backlog == 0


@asynchronous
async def test_a_parked_request_is_no_backlog_and_a_dropped_one_is_forgotten(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS) as coordinator:
        async with gateway_of(tmp_path) as server:
            first, second, third = [await Client.connect(server.address) for _ in range(3)]
            await alone_in(first)
            waiting, _ = await park(second)
            await until_true(lambda: server.backend.figures().parked == 1)
            figures = server.backend.figures()
            assert (figures.backlog, figures.rebalances_by_cause) == (0, {"member_joined": 2})
            assert figures.groups_by_state == {"PreparingRebalance": 1}
            asked = len(coordinator.requests)
            third.send("JoinGroup", 9, **join(member=waiting))
            await until_true(lambda: len(coordinator.requests) == asked + 1)
            await first.call("Heartbeat", 4, **heartbeat())
            assert server.backend.figures().parked == 1


@asynchronous
async def test_requests_that_come_together_go_in_one_commit(tmp_path: Path) -> None:
    async with gateway_of(tmp_path, **{"gateway.flush.interval.ms": "60000"}) as server:
        log = DeltaLog(tmp_path / REQUESTS.name)
        before = log.latest()
        clients = [await Client.connect(server.address) for _ in range(20)]
        for client in clients:
            for _ in range(20):
                client.send("Heartbeat", 4, **heartbeat())
        await until_true(lambda: server.backend.figures().backlog == 400)
    assert len(requests_of(tmp_path)) == 400
    assert log.latest() - before <= 3


@asynchronous
async def test_what_is_too_long_for_the_coordinator_is_refused_before_it_gets_there(tmp_path: Path) -> None:
    pairs = {"spark.coordinator.group.id.max.bytes": "10", "spark.coordinator.request.max.bytes": "1000"}
    async with gateway_of(tmp_path, **pairs) as server:
        client = await Client.connect(server.address)
        assert await beaten(client, group="äääääg") == "invalid_group_id"
        assert await beaten(client, "m" * 1000) == "invalid_request"
    assert requests_of(tmp_path) == []


@asynchronous
async def test_a_table_that_cannot_be_written_is_a_coordinator_to_be_asked_again(tmp_path: Path) -> None:
    with TableCoordinator(tmp_path, GROUPS):
        async with gateway_of(tmp_path) as server:
            client = await Client.connect(server.address)
            (tmp_path / REQUESTS.name).rename(tmp_path / "away")
            assert await beaten(client) == "coordinator_not_available"
            assert server.health()["status"] == "requests cannot be appended"
            (tmp_path / "away").rename(tmp_path / REQUESTS.name)
            assert await is_answered(client)
            assert server.health()["status"] == "ok"


@asynchronous
async def test_a_stop_hands_over_what_was_read(tmp_path: Path) -> None:
    async with gateway_of(tmp_path, **{"gateway.flush.interval.ms": "60000"}) as server:
        client = await Client.connect(server.address)
        client.send("Heartbeat", 4, **heartbeat("first"))
        await until_true(lambda: len(requests_of(tmp_path)) == 1)
        client.send("Heartbeat", 4, **heartbeat("second"))
        await until_true(lambda: server.backend.figures().backlog == 2)
    assert {group_id_of(request) for request in requests_of(tmp_path)} == {"first", "second"}


class Taking:
    """Takes requests; has nothing to be made ready or ended."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def open(self) -> None:
        """Nothing has to be made ready."""

    def close(self) -> None:
        """Nothing has to be ended."""

    def is_alone(self) -> bool:
        return False


class OneAtATime(Taking):
    """Takes them slowly, one call after the other, as who hands them over is promised."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self._turn = threading.Lock()

    def append(self, rows: pa.Table) -> None:
        assert self._turn.acquire(blocking=False), "two appends at one time"
        self.begun.set()
        assert self.may_go_on.wait(WITHIN_S)
        self.taken += rows["group_id"].to_pylist()
        self._turn.release()


def numbered(number: int, member_id: str = "m") -> HeartbeatRequest:
    return a_heartbeat(member_id, 1, 1, f"g{number}", request_id=f"me-{number}")


@asynccontextmanager
async def over(home: Path, taking: RequestSink) -> AsyncIterator[TablesBackend]:
    backend = TablesBackend(home, Settings(), taking, "me")
    await backend.start()
    yield backend
    await backend.close()


@asynchronous
async def test_more_than_can_be_appended_in_time_is_a_coordinator_to_be_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollcall.serve.gateway.tables.request_sink._QUEUED_MAX_BYTES", 10_000)
    taking = OneAtATime()
    async with over(tmp_path, taking) as backend:
        asked = [backend.submit(numbered(number, "m" * 3000)) for number in range(6)]
        await until_true(taking.begun.is_set)
        refused = [answer for answer in asked if not isinstance(answer, asyncio.Future)]
        reported = [error.answer for error in refused if isinstance(error, BackendError)]
        assert reported == [Error.COORDINATOR_NOT_AVAILABLE] * 3
        assert len(refused) == 3
        taking.may_go_on.set()
        await until_true(lambda: len(taking.taken) == 3)
        backend.submit(numbered(6))
        await until_true(lambda: taking.taken == ["g0", "g1", "g2", "g6"])


@asynchronous
async def test_a_stop_waits_for_the_append_that_goes_on(tmp_path: Path) -> None:
    taking = OneAtATime()
    async with over(tmp_path, taking) as backend:
        for number in range(3):
            backend.submit(numbered(number))
            await until_true(taking.begun.is_set)
        asyncio.get_running_loop().call_later(0.2, taking.may_go_on.set)
    assert taking.taken == ["g0", "g1", "g2"]


class Breaking(Taking):
    """Raises what nobody expected for some requests, and takes the others."""

    def append(self, rows: pa.Table) -> None:
        if "g1" in rows["group_id"].to_pylist():
            raise BufferError("queue full")
        if "g2" in rows["group_id"].to_pylist():
            raise NotAppended("too long", frozenset(rows["request_id"].to_pylist()), are_too_long=True)
        self.taken += rows["group_id"].to_pylist()


async def assert_refused(answer: Outcome | asyncio.Future[Response]) -> None:
    assert isinstance(answer, asyncio.Future)
    with pytest.raises(BackendError):
        await answer


@asynchronous
async def test_whatever_an_append_raises_its_requests_are_refused_and_the_next_are_taken(tmp_path: Path) -> None:
    taking = Breaking()
    async with over(tmp_path, taking) as backend:
        await assert_refused(backend.submit(numbered(1)))
        assert backend.figures().is_failing
        backend.submit(numbered(0))
        await until_true(lambda: taking.taken == ["g0"])
        assert not backend.figures().is_failing
        # What one client makes too long says nothing of whether others are served.
        await assert_refused(backend.submit(numbered(2)))
        assert not backend.figures().is_failing


@asynchronous
async def test_a_task_that_ends_by_an_error_begins_again_and_health_and_metrics_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rollcall.serve.gateway.tables.tables_backend.AGAIN_AFTER_S", 0.01)
    with TableCoordinator(tmp_path, GROUPS):
        async with gateway_of(tmp_path) as server:
            backend = server.backend
            assert isinstance(backend, TablesBackend)
            whole = backend._look_whether_away

            def broken_once() -> None:
                monkeypatch.setattr(backend, "_look_whether_away", whole)
                raise ZeroDivisionError("not foreseen")

            monkeypatch.setattr(backend, "_look_whether_away", broken_once)
            await until_true(lambda: backend.figures().task_failures == {"effects": 1})
            assert server.health()["status"] == "an error ended the task effects, which began again"
            assert await is_served(server.address)
            metrics = generate_latest(server.metrics.registry).decode()
    assert 'rollcall_gateway_task_failures_total{task="effects"} 1.0' in metrics
    assert "effects: ended by an error" in caplog.text


@asynchronous
async def test_the_age_of_the_last_batch_is_what_the_job_says(tmp_path: Path) -> None:
    backend = TablesBackend(tmp_path, Settings(), RequestTable(tmp_path / "requests", "me"), "me")
    assert backend.figures().batch_age_s is None
    (tmp_path / "status.json").write_text(json.dumps({"batch_at_ms": int((time.time() - 5) * 1000)}))
    assert 5 <= (backend.figures().batch_age_s or 0) < 10
    at_rest = {"state": "running", "batch_at_ms": 1, "rests_until_ms": LATEST_MS}
    (tmp_path / "status.json").write_text(json.dumps(at_rest))
    os.utime(tmp_path / "status.json", (time.time() - 5, time.time() - 5))
    assert 5 <= (backend.figures().batch_age_s or 0) < 10
    (tmp_path / "status.json").write_text("{")
    assert backend.figures().batch_age_s is None


# ---------------------------------------------------------------- the effects table


def append(path: Path, *values: dict[str, object]) -> None:
    rows = [{"at_ms": 0, "at_date": 0, "seq": 0, **row} for row in values]
    write_deltalake(str(path), pa.Table.from_pylist(rows, schema=EFFECTS.arrow), mode="append")


def created(group: str, at_ms: int = 0, seq: int = 0) -> dict[str, object]:
    return {"group_id": group, "effect": "group_created", "at_ms": at_ms, "seq": seq}


def test_only_what_a_version_added_is_read_and_of_replies_only_our_own(tmp_path: Path) -> None:
    path = tmp_path / EFFECTS.name
    followed = EffectsTable(path, "gw")
    assert not followed.has_news()
    reply = {"group_id": "g", "effect": "reply", "api": "Heartbeat", "error_code": "NONE"}
    append(path, {**reply, "request_id": "gw-1"}, {**reply, "request_id": "other-1"}, created("g"))
    assert followed.has_news()
    news = followed.news()
    assert [reply.request_id for reply in news.replies] == ["gw-1"]
    assert [(fact.group_id, fact.effect) for fact in news.facts] == [("g", "group_created")]
    assert not followed.has_news()


def test_versions_cleaned_away_unread_are_passed_over_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / EFFECTS.name
    for group in ("a", "b", "c", "d"):
        append(path, created(group))
    followed = EffectsTable(path, "gw")
    for version in range(2):
        (path / "_delta_log" / f"{version:020d}.json").unlink()
    for group in ("c", "d"):
        assert followed.has_news()
        assert [fact.group_id for fact in followed.news().facts] == [group]
    assert not followed.has_news()


def test_a_home_made_anew_is_followed_from_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollcall.tables.table_follower._LOST_AFTER_S", 0.0)
    path = tmp_path / EFFECTS.name
    for group in ("a", "b"):
        append(path, created(group))
    followed = EffectsTable(path, "gw")
    assert [len(followed.news().facts) for _ in range(2)] == [1, 1]
    path.rename(tmp_path / "old")
    append(path, created("new"))
    assert not followed.has_news()
    assert followed.has_news()
    assert [fact.group_id for fact in followed.news().facts] == ["new"]


def changed(group: str, to_state: str, at_ms: int = 0) -> dict[str, object]:
    change = StateChanged(
        at_ms=at_ms,
        from_state="Empty",
        to_state=to_state,
        generation_id=1,
        protocol_type="consumer",
        protocol_name=None,
        leader_id=None,
    )
    return {"group_id": group, "effect": "state_changed", "at_ms": at_ms, "detail": row_of(change, 0).detail}


def became(group: str, kind: str, at_ms: int) -> dict[str, object]:
    change = GroupTypeChanged(at_ms=at_ms, from_type=None, to_type=kind, why="created", generation_id=1, client_id="c")
    return {"group_id": group, "effect": "group_type_changed", "at_ms": at_ms, "detail": row_of(change, 0).detail}


def known_from(followed: EffectsTable) -> KnownGroups:
    known = KnownGroups()
    for fact in followed.history():
        known.apply(fact.group_id, fact.effect, fact.detail)
    return known


def shown(known: KnownGroups) -> list[tuple[str, str | None, str, str | None]]:
    return sorted((one.group_id, one.protocol_type, one.state, one.group_type) for one in known)


def test_history_says_which_groups_are_consumer_groups(tmp_path: Path) -> None:
    path = tmp_path / EFFECTS.name
    made = [created(name, 1) for name in ("moved", "anew")]
    reported = [became(name, "consumer", 2) for name in ("moved", "anew")]
    last = changed("moved", "Reconciling", 3)
    append(path, last, created("anew", 4), *made, *reported)
    assert shown(known_from(EffectsTable(path, "gw"))) == [
        ("anew", None, "Empty", "classic"),
        ("moved", "consumer", "Reconciling", "consumer"),
    ]


def test_history_has_every_group_whatever_the_files_order(tmp_path: Path) -> None:
    path = tmp_path / EFFECTS.name
    append(path, changed("a", "Stable", 5), created("gone", 1))
    append(path, created("a", 1), created("b", 2))
    append(path, {"group_id": "gone", "effect": "group_removed", "at_ms": 1, "seq": 1})
    followed = EffectsTable(path, "gw")
    known = known_from(followed)
    assert shown(known) == [("a", "consumer", "Stable", "classic"), ("b", None, "Empty", "classic")]
    assert not followed.has_news()
    known.apply("b", EffectName.GROUP_REMOVED, row_of(GroupRemoved(at_ms=9, why="deleted", generation_id=1), 0).detail)
    assert [group.state for group in known] == ["Stable"]
