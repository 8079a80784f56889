"""Scenarios that a real broker answered, played before the Spark job: the contents of every answer are Kafka's."""

from __future__ import annotations

import asyncio

from tests.gateway.parity import play, report, scenarios
from tests.peers_job.conftest import Running

NAMES = (
    "commit-member",
    "delete-groups",
    "describe-states",
    "leave-batch",
    "list-filters",
    "protocol-voting",
    "static-fencing",
    "static-restart-leader",
    "sync-states",
    "two-member-rebalance",
)
"""Some whose sessions and rebalances may take ten seconds; `tests.gateway.test_parity` plays others in virtual time."""
SCALE = 10.0
"""By so much times are stretched: an answer takes a micro-batch, not a millisecond."""


def test_scenarios_are_answered_as_kafka_did(running: Running) -> None:
    some = scenarios("default", NAMES)
    assert len(some) == len(NAMES)
    found = asyncio.run(play(some, running.gateway, SCALE, with_times=False))
    assert report(found, "before the Spark job") == 0
