"""Scenarios that a real broker answered, played before the Spark job: the contents of every answer are Kafka's."""

from __future__ import annotations

import asyncio

from tests.gateway.parity import play, play_patiently, report, scenarios
from tests.peers_job.conftest import Running

LONGEST_MS = 1500
LONGER = (
    "session-expiry-completes-join",
    "rebalance-timeout-drops-slow",
    "pending-sync-expiry",
    "static-restart-leader",
    "two-member-rebalance",
)
SCALE = 10.0
"""By so much times are stretched: an answer takes a micro-batch, not a millisecond."""
WARMING = 10
"""So many are played before any counts: the first batches of a JVM that has just started take seconds."""


def test_scenarios_are_answered_as_kafka_did(running: Running) -> None:
    every = scenarios("default")
    some = [scenario for scenario in every if scenario.end_ms <= LONGEST_MS or scenario.name in LONGER]
    assert len(some) > 80
    assert {scenario.name for scenario in some} >= set(LONGER)
    asyncio.run(play(some[:WARMING], running.gateway, SCALE, with_times=False))
    found = asyncio.run(play_patiently(some, running.gateway, SCALE))
    assert report(found, "before the Spark job") == 0
