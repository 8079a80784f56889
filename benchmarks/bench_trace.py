"""The trace: JSON lines in and out around the core, as a replay without Spark would go."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from benchmarks.figures import Figure, bench, cpu_seconds
from benchmarks.groups import GROUP_ID, SESSION_TIMEOUT_MS
from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.trace import Line, run

GROUPS = 50
HEARTBEATS = 50_000
CONFIG = GroupConfig(group_initial_rebalance_delay_ms=0)


@bench
def lines() -> Iterator[Figure]:
    """Heartbeats of many groups of one member each, from text to text, effects included."""
    encode = msgspec.json.Encoder().encode
    text = [encode(line) for line in (*_joins(), *_heartbeats())]

    def drive() -> None:
        answers = sum(len(encode(line)) > 0 for line in run(text, CONFIG, with_effects=True))
        if answers < len(text):
            raise AssertionError("a line was not answered")

    yield Figure("lines_per_second", len(text) / cpu_seconds(drive), "1/s")


def _joins() -> Iterator[Line]:
    for n in range(GROUPS):
        yield {
            "at_ms": 0,
            "request_id": f"join-{n}",
            "api": "JoinGroup",
            "api_version": 3,
            "client_id": f"client-{n}",
            "client_host": "/10.0.0.1",
            "bind": f"m{n}",
            "group_id": f"{GROUP_ID}-{n}",
            "session_timeout_ms": SESSION_TIMEOUT_MS,
            "rebalance_timeout_ms": 300_000,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": ""}],
        }
        yield {
            "at_ms": 0,
            "request_id": f"sync-{n}",
            "api": "SyncGroup",
            "api_version": 3,
            "group_id": f"{GROUP_ID}-{n}",
            "generation_id": 1,
            "member_id": f"$m{n}",
        }


def _heartbeats() -> Iterator[Line]:
    for n in range(HEARTBEATS):
        yield {
            "at_ms": 1000 + n * 3000 // GROUPS,
            "request_id": f"heartbeat-{n}",
            "api": "Heartbeat",
            "api_version": 4,
            "client_id": f"client-{n % GROUPS}",
            "client_host": "/10.0.0.1",
            "group_id": f"{GROUP_ID}-{n % GROUPS}",
            "generation_id": 1,
            "member_id": f"$m{n % GROUPS}",
        }
