"""The answers that the scenarios call Kafka's are a real broker's, asked today."""

from __future__ import annotations

import asyncio

from tests.gateway.parity import play_patiently, real_kafka, report, scenarios

LONGEST_MS = 3000
SCALE = 3.0
"""The machine may be busy."""


def test_a_real_broker_answers_as_the_scenarios_say() -> None:
    some = [scenario for scenario in scenarios("default") if scenario.end_ms <= LONGEST_MS]
    assert len(some) > 100
    with real_kafka("default") as address:
        found = asyncio.run(play_patiently(some, address, SCALE))
    assert report(found, "a real Kafka") == 0
