"""The stream as a whole on one machine: an answer's way, an idle tick, requests a second, and many idle groups.

Compared with the same pipeline around a function that does nothing, in turns, so that a busy machine slows both. Knows
what is measured and the goals; how homes are run is `spark_homes`'s.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.figures import Anchor, Figure, Goal, at_least, at_most, bench
from benchmarks.spark_homes import Batch, LiveHome, folder, heap_in_use, session
from schemas.consumer_protocol import Assignment, Subscription, TopicPartition, encode_assignment, encode_subscription
from schemas.heartbeat_runs import packed
from schemas.messages import (
    GroupRequest,
    HeartbeatRequest,
    HeartbeatRunRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    SyncGroupAssignment,
    SyncGroupRequest,
)

ROUNDS, ANSWERS_A_ROUND, IDLE_A_ROUND, WARM_UP = 4, 50, 5, 10
LONG_SESSIONS = {"group.initial.rebalance.delay.ms": "1000"}
SESSION_TIMEOUT_MS = 1_800_000
PAIR_GROUPS = 20
MEBIBYTE = 1 << 20
NOTHING = "the do-nothing pipeline"


@bench
def answers() -> Iterator[Figure]:
    """An answer's way over 200 batches of one request, and an idle tick, beside a do-nothing pipeline."""
    with folder() as path, session() as spark:
        kinds = ("coordinator", "nothing")
        took: dict[str, list[float]] = {kind: [] for kind in kinds}
        idle: dict[str, list[int]] = {kind: [] for kind in kinds}
        sizes = [1] * PAIR_GROUPS
        members: dict[str, list[str]] = {}
        for turn in range(ROUNDS):
            for kind in kinds:
                home = LiveHome(spark, path / kind, LONG_SESSIONS, is_coordinator=kind == "coordinator")
                if turn == 0:
                    members[kind] = stabilize(home, sizes) if kind == "coordinator" else ["m"] * PAIR_GROUPS
                for n in range(WARM_UP + ANSWERS_A_ROUND):
                    each = n % PAIR_GROUPS
                    ms = home.answer_ms(heartbeat(each, members[kind][each], f"{turn}-{n}"))
                    if n >= WARM_UP:
                        took[kind].append(ms)
                idle[kind] += [batch.duration_ms for batch in home.idle_batches(IDLE_A_ROUND)]
                home.stop()
    ours, nothing = (statistics.median(took[kind]) for kind in kinds)
    yield Figure("answer_p50", ours, "ms", at_most(500), Anchor(nothing, NOTHING))
    yield Figure("answer_p99", statistics.quantiles(took["coordinator"], n=100)[98], "ms")
    yield Figure("answer_p50_do_nothing", nothing, "ms")
    yield Figure("answer_to_do_nothing", ours / nothing, "times", at_most(1.3))
    idle_ours, idle_nothing = (statistics.median(idle[kind]) for kind in kinds)
    yield Figure("idle_tick_p50", idle_ours, "ms", None, Anchor(idle_nothing, NOTHING))
    yield Figure("idle_tick_to_do_nothing", idle_ours / idle_nothing, "times", at_most(1.2))


@bench
def many_small_groups() -> Iterator[Figure]:
    """10,000 groups with a member each, three heartbeats from each in one batch; then all of them idle."""
    with folder() as path, session() as spark:
        home = LiveHome(spark, path, LONG_SESSIONS)
        yield Figure("10000_groups_x_3", _heartbeats_a_second(home, [1] * 10_000, 3), "requests/s", at_least(20_000))
        yield from _idle(spark, home, "10000_groups")
        home.stop()


@bench
def few_large_groups() -> Figure:
    """200 groups of 200 members, five heartbeats from each member in one batch."""
    with folder() as path, session() as spark:
        home = LiveHome(spark, path, LONG_SESSIONS)
        a_second = _heartbeats_a_second(home, [200] * 200, 5)
        home.stop()
    return Figure("200_groups_x_200_x_5", a_second, "requests/s", at_least(150_000))


@bench
def few_large_groups_in_runs() -> Figure:
    """The same heartbeats, those of a group as one run over five moments."""
    with folder() as path, session() as spark:
        home = LiveHome(spark, path, LONG_SESSIONS)
        members = stabilize(home, [200] * 200)
        for turn in range(4):
            home.append_and_wait(
                [run_of(group, members[200 * group : 200 * (group + 1)], turn) for group in range(200)]
            )
        home.idle_batches(1)
        whole = [batch.duration_ms for batch in home.batches() if batch.rows == 200]
        home.stop()
    return Figure(
        "200_groups_x_200_x_5_in_runs", len(members) * 5 / min(whole) * 1000, "heartbeats/s", at_least(300_000)
    )


@bench
def a_hundred_thousand_groups() -> Iterator[Figure]:
    """100,000 groups with a member each, all idle, and as many whose function does nothing."""
    with folder() as path, session() as spark:
        nothing = LiveHome(spark, path / "nothing", LONG_SESSIONS, is_coordinator=False)
        nothing.append_and_wait([heartbeat(group, "m", "there") for group in range(100_000)])
        anchor = Anchor(statistics.median(batch.duration_ms for batch in nothing.idle_batches(10)), NOTHING)
        nothing.stop()
        home = LiveHome(spark, path / "coordinator", LONG_SESSIONS)
        stabilize(home, [1] * 100_000)
        yield from _idle(spark, home, "100000_groups", at_most(300), anchor)
        home.stop()


def _heartbeats_a_second(home: LiveHome, sizes: list[int], times: int) -> float:
    """The best of four batches."""
    members = stabilize(home, sizes)
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    count = len(members) * times
    for turn in range(4):
        beats: list[GroupRequest] = [
            heartbeat(group, member, f"{turn}-{n}-{round_}")
            for round_ in range(times)
            for n, (group, member) in enumerate(zip(groups, members, strict=True))
        ]
        home.append_and_wait(beats)
    home.idle_batches(1)
    whole = [batch.duration_ms for batch in home.batches() if batch.rows == count]
    return count / min(whole) * 1000


def _idle(
    spark: SparkSession, home: LiveHome, what: str, goal: Goal | None = None, anchor: Anchor | None = None
) -> Iterator[Figure]:
    batches: list[Batch] = home.idle_batches(10)
    yield Figure(f"{what}_idle_tick_p50", statistics.median(batch.duration_ms for batch in batches), "ms", goal, anchor)
    yield Figure(f"{what}_driver_heap", heap_in_use(spark) / MEBIBYTE, "MiB of 2048")


def stabilize(home: LiveHome, sizes: list[int]) -> list[str]:
    """Groups of these sizes, all Stable; every group's member ids, group by group."""
    joins = [join(group, n) for group, size in enumerate(sizes) for n in range(size)]
    joined = {row["request_id"]: row for row in home.append_and_wait(list(joins))}
    members = [str(joined[request.request_id]["member_id"]) for request in joins]
    syncs: list[GroupRequest] = []
    first = 0
    for group, size in enumerate(sizes):
        syncs += syncs_of(group, members[first : first + size])
        first += size
    home.append_and_wait(syncs)
    return members


def join(group: int, n: int) -> JoinGroupRequest:
    """A JoinGroup v3, so that one request makes a new member."""
    metadata = encode_subscription(Subscription(("orders",)), version=1)
    return JoinGroupRequest(
        **_envelope(group, n, f"join-{group}-{n}", 3),
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=300_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupProtocol(name="range", metadata=metadata)],
    )


def syncs_of(group: int, members: list[str]) -> list[GroupRequest]:
    """A SyncGroup of each; the first has the assignment."""
    given = [
        SyncGroupAssignment(
            member_id=member, assignment=encode_assignment(Assignment((TopicPartition("orders", n),)), version=1)
        )
        for n, member in enumerate(members)
    ]
    return [
        SyncGroupRequest(
            **_envelope(group, n, f"sync-{group}-{n}", 3),
            generation_id=1,
            member_id=member,
            assignments=given if n == 0 else [],
        )
        for n, member in enumerate(members)
    ]


def heartbeat(group: int, member_id: str, name: str) -> HeartbeatRequest:
    return HeartbeatRequest(**_envelope(group, 0, f"beat-{group}-{name}", 4), generation_id=1, member_id=member_id)


def run_of(group: int, members: list[str], turn: int) -> HeartbeatRunRequest:
    """Five heartbeats of each member, a millisecond apart."""
    began_ms = int(time.time() * 1000) - 10
    beats = []
    for moment in range(5):
        for member in members:
            beat = heartbeat(group, member, "packed")
            beat.received_at_ms = began_ms + moment
            beats.append(beat)
    return packed(beats, f"run-{group}-{turn}")


def _envelope(group: int, n: int, request_id: str, api_version: int) -> dict[str, Any]:
    return {
        "request_id": request_id,
        "api_version": api_version,
        "client_id": f"c-{n}",
        "client_host": "/127.0.0.1",
        "received_at_ms": int(time.time() * 1000),
        "request_seq": n,
        "group_id": f"group-{group}",
    }
