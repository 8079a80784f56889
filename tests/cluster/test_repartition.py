"""A home moved to another number of shuffle partitions: whoever asks is answered as if it had stayed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rollcall.jobs.repartition import SETTINGS, repartition
from rollcall.jobs.spark.session import PARTITIONS_KEY, spark_session
from rollcall.jobs.stream.checkpoint import shuffle_partitions
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.messages import GroupRequest
from rollcall.tables.home import Home, HomeError
from tests.requests import commit, heartbeat, join, leave, sync
from tests.source_tree import ROOT
from tests.streaming.live import Live, now_ms

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
OF_ONE_MACHINE = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
GROUPS = [f"group-{number}" for number in range(9)]
SESSION_MS = 300_000
OFFSETS = {TopicPartition("t1", 0): 42}


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    """A session with the state store of conf/spark-cluster.conf."""
    spark = spark_session("rollcall tests", SETTINGS, is_brief=True)
    yield spark
    spark.stop()


def asked(live: Live, requests: Sequence[GroupRequest]) -> list[dict[str, Any]]:
    """The answers to requests, without when they were given."""
    live.send(*requests)
    replies = [live.reply_to(request) for request in requests]
    return [{name: row[name] for name in ("request_id", "error_code", "generation_id", "detail")} for row in replies]


def first_half(live: Live, at_ms: int) -> tuple[list[Any], list[str]]:
    joined = asked(
        live, [join("a", at_ms, group, session_timeout_ms=SESSION_MS, request_id=f"j-{group}") for group in GROUPS]
    )
    members = [str(row["detail"]["response"]["member_id"]) for row in joined]
    synced = [sync(member, 1, at_ms, group, assigned=[member]) for member, group in zip(members, GROUPS, strict=True)]
    return [joined, asked(live, synced)], members


def second_half(live: Live, members: list[str], at_ms: int) -> list[Any]:
    pairs = list(zip(members, GROUPS, strict=True))
    return [
        asked(live, [heartbeat(member, 1, at_ms, group) for member, group in pairs]),
        asked(
            live,
            [
                commit(member, 1, OFFSETS, group=group, request_id=f"c-{group}", received_at_ms=at_ms)
                for member, group in pairs
            ],
        ),
        asked(live, [leave(member, at_ms, group) for member, group in pairs]),
    ]


@pytest.mark.nightly
def test_a_moved_home_answers_as_one_that_stayed(session: SparkSession, tmp_path: Path) -> None:
    at_ms, reported = now_ms(), {}
    for name, partitions in (("stayed", None), ("grown", 5), ("shrunk", 1)):
        session.conf.set(PARTITIONS_KEY, "2")
        live = Live(session, tmp_path / name, {})
        before, members = first_half(live, at_ms)
        live.stop()
        checkpoint = Path(live.home.checkpoint)
        if partitions is not None:
            # A program of its own, as its user starts it.
            words = ["repartition", "--partitions", str(partitions), "--home", live.home.location]
            command = [sys.executable, "-m", "rollcall", *words]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
            assert done.stdout == f"rollcall: {live.home.shown} has {partitions} shuffle partitions now.\n", done.stderr
            with pytest.raises(HomeError, match="it has that number of partitions already"):
                repartition(live.home, partitions)
        assert shuffle_partitions(checkpoint) == (partitions or 2)
        live.go_on()
        reported[name] = [*before, *second_half(live, members, at_ms + 1)]
        live.stop()
        assert shuffle_partitions(checkpoint) == (partitions or 2)
        assert len(list((checkpoint / "state" / "0").glob("[0-9]*"))) >= (partitions or 2)
    assert reported["grown"] == reported["stayed"]
    assert reported["shrunk"] == reported["stayed"]
    assert [{row["error_code"] for row in rows} for rows in reported["stayed"]] == [{"NONE"}] * 5


def test_what_cannot_be_moved_stays_as_it_is_in_a_sentence(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="does not exist"):
        repartition(Home(tmp_path / "nowhere"), 4)
    with pytest.raises(HomeError, match=r"^--partitions 0: is not between 1 and 10000\.$"):
        repartition(Home(tmp_path), 0)
    with pytest.raises(HomeError, match="has not finished a batch yet"):
        repartition(Home(tmp_path), 4)
    session.conf.set(PROVIDER, OF_ONE_MACHINE)
    live = Live(session, tmp_path / "local", {})
    asked(live, [heartbeat("nobody", 1, now_ms(), "g")])
    with live.home.locked("the coordinator"), pytest.raises(HomeError, match="in use by the coordinator"):
        repartition(live.home, 4)
    live.stop()
    with pytest.raises(HomeError, match="its state is not in RocksDB"):
        repartition(live.home, 4)
    session.conf.set(PROVIDER, OF_ONE_MACHINE)
    live.go_on()
    asked(live, [heartbeat("nobody", 1, now_ms() + 1, "g")])
    live.stop()
