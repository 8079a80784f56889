"""The coordinator on Spark, live: requests go into one table, answers and history come out of another."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import functions as F

from rollcall.coordinator_udfs.protocol.join_group import new_member_id
from rollcall.schemas.tables import REQUESTS, STATE
from tests.requests import heartbeat, join, sync
from tests.streaming.live import Live, form, now_ms

Lives = Callable[..., Live]


# A session has one coordinator at a time: those on homes of their own come before the one that the rest shares.
@pytest.mark.nightly
def test_the_initial_delay_gathers_the_members_that_join_within_it(live: Lives) -> None:
    running = live(**{"group.initial.rebalance.delay.ms": "2500"})
    first, second = join("a", now_ms()), join("b", now_ms() + 1)
    running.send(first, second)
    replies = [running.reply_to(request) for request in (first, second)]
    assert [reply["generation_id"] for reply in replies] == [1, 1]
    assert len({reply["at_ms"] for reply in replies}) == 1
    assert replies[0]["at_ms"] >= replies[0]["received_at_ms"] + 2500


def test_what_a_batch_leads_to_is_one_commit(live: Lives) -> None:
    running = live()
    running.stop()
    version = DeltaTable(running.home.effects).version()
    running.send(*(join("a", now_ms(), f"group-{n}") for n in range(20)))
    running.drain()
    assert len(running.effects(effect="reply")) == 20
    assert DeltaTable(running.home.effects).version() == version + 1


def test_an_idle_coordinator_ticks_and_commits_nothing(running: Live) -> None:
    form(running, "a", "idle", session_timeout_ms=60_000)
    running.after_batches(1)
    versions = [DeltaTable(path).version() for path in (running.home.effects, running.home.quarantine)]
    running.after_batches(3)
    assert [DeltaTable(path).version() for path in (running.home.effects, running.home.quarantine)] == versions


def test_a_member_joins_syncs_beats_and_expires_when_it_falls_silent(running: Live) -> None:
    joined = join("a", now_ms(), "silent", session_timeout_ms=1000)
    member, at_ms = new_member_id(joined), joined.received_at_ms
    synced = sync(member, 1, at_ms + 1, "silent", assigned=[member])
    # One commit, so that no deadline lies between them.
    running.send(joined, synced, heartbeat(member, 1, at_ms + 2, "silent"))
    assert running.reply_to(synced)["error_code"] == "NONE"
    beat = running.effect("reply", group_id="silent", api="Heartbeat")
    assert beat["error_code"] == "NONE"
    gone = running.effect("member_removed", group_id="silent")
    assert (gone["member_id"], gone["cause"], gone["client_id"]) == (member, "session_expired", "a")
    assert gone["at_ms"] >= beat["at_ms"] + 1000
    ended = running.effect("rebalance_ended", group_id="silent", cause="session_expired")
    assert ended["detail"]["outcome"] == "empty"
    facts = running.effects(group_id="silent")
    assert len({(e["at_ms"], e["seq"]) for e in facts}) == len(facts)


def test_a_member_that_does_not_rejoin_is_left_behind_at_the_rebalance_timeout(running: Live) -> None:
    form(running, "a", "left", session_timeout_ms=60_000, rebalance_timeout_ms=2000)
    newcomer = join("b", now_ms(), "left", rebalance_timeout_ms=1000)
    reply = running.ask(newcomer)
    assert (reply["error_code"], reply["generation_id"]) == ("NONE", 2)
    assert reply["at_ms"] - reply["received_at_ms"] >= 2000
    assert running.effect("member_removed", group_id="left")["cause"] == "rebalance_timeout"


def test_rows_fit_for_no_group_are_put_into_quarantine_and_the_rest_goes_on(running: Live) -> None:
    rows: list[dict[str, object]] = [
        {"group_id": None, "request": "{}", "received_at_ms": 5},
        {"group_id": "orders", "request": None},
        {"group_id": "g" * 100_000, "request": "{}"},
        {"group_id": "orders", "request": "x" * 10_000_000, "request_id": "r"},
        {"group_id": "orders", "request": "{ nonsense"},
        {"group_id": "orders", "request": '{"api": "Metadata"}', "received_at_ms": 7},
    ]
    table = pa.Table.from_pylist(rows, schema=REQUESTS.arrow)
    running.append(pa.concat_tables([table, _no_utf8()]))
    assert running.ask(join("a", now_ms(), "after", session_timeout_ms=60_000))["error_code"] == "NONE"
    found = {row["reason"]: row for row in running.quarantine()}
    assert sorted(reason[:44] for reason in found) == [
        "group_id: has 100000 bytes, at most 32767 ar",
        "group_id: is null",
        "request: Invalid value 'Metadata' - at `$.ap",
        "request: has 10000000 bytes, at most 4194304",
        "request: is not JSON: JSON is malformed: obj",
        "request: is not UTF-8; the invalid bytes are",
        "request: is null",
    ]
    assert found["group_id: is null"]["received_at_ms"] == 5
    assert {row["source"] for row in found.values()} == {"delta"}
    (long,) = [row for reason, row in found.items() if "4194304" in reason]
    assert (long["group_id"], len(long["raw"])) == ("orders", 1_048_576)


def _no_utf8() -> pa.Table:
    """A row whose request is not UTF-8, as only a foreign writer could have written it."""
    text = b"\xff\xfe{"
    ends = pa.py_buffer(b"\x00\x00\x00\x00" + len(text).to_bytes(4, "little"))
    request = pa.StringArray.from_buffers(1, ends, pa.py_buffer(text))
    columns = [pa.array(["orders"]), pa.array(["r9"]), pa.array([1]), pa.array([0]), request]
    return pa.Table.from_arrays(columns, schema=REQUESTS.arrow)


def test_the_state_store_holds_a_row_a_group_that_sql_can_open(running: Live) -> None:
    member = form(running, "a", "stored", session_timeout_ms=60_000)
    running.after_batches(2)
    state = running.spark.read.format("statestore").load(running.home.checkpoint).where("key.group_id = 'stored'")
    (row,) = state.select("key.group_id", "value.groupState.*").collect()
    assert list(row.asDict()) == ["group_id", *STATE.names]
    assert (row["group_id"], row["state"], row["generation_id"], row["leader_id"]) == ("stored", "Stable", 1, member)
    opened = state.select(F.get_json_object("value.groupState.document", "$.members[0].client_id").alias("client"))
    assert [r["client"] for r in opened.collect()] == ["a"]
