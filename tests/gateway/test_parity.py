"""Scenarios that a real broker answered, over the wire: the contents and the times of every answer are Kafka's."""

from __future__ import annotations

import asyncio

from rollcall.serve.gateway.assembly import stand_alone
from rollcall.serve.gateway.settings import Settings
from tests.gateway.core_backend import SteppedBackend
from tests.gateway.parity import scenarios
from tests.gateway.parity_play import Connections, otherwise
from tests.gateway.running import DEFAULTS, started
from tests.gateway.stepped_play import SteppedPlaying
from tests.protocol.scenario import PROFILES, Scenario

LONGEST_MS = 2000
"""Only the short ones here: `make parity` plays all."""


def test_the_short_scenarios_are_answered_as_kafka_did_and_when_it_did() -> None:
    short = [one for profile in PROFILES for one in scenarios(profile) if one.end_ms <= LONGEST_MS]
    assert len(short) > 140
    found = {scenario.name: asyncio.run(differing(scenario)) for scenario in short}
    assert {name: lines for name, lines in found.items() if lines} == {}


async def differing(scenario: Scenario) -> list[str]:
    backend = SteppedBackend(scenario.config)
    async with started(stand_alone(Settings.from_pairs(DEFAULTS), backend)) as server:
        connections = Connections(server.address)
        answers = await SteppedPlaying(scenario, connections, backend).play()
        connections.close()
    return otherwise(scenario, answers, with_times=True)


def test_a_wrong_answer_and_a_late_one_would_be_noticed() -> None:
    (scenario,) = scenarios("default", ["two-member-rebalance"])
    answers = {number: dict(step["answer"]) for number, step in enumerate(scenario.steps, 1)}
    late = {**answers, 1: answers[1] | {"when": [500]}}
    assert otherwise(scenario, late, with_times=False) == otherwise(scenario, answers, with_times=True)
    assert len(otherwise(scenario, late, with_times=True)) == len(otherwise(scenario, answers, with_times=True)) + 1
    wrong = {**answers, 1: answers[1] | {"error": "NONE"}}
    assert len(otherwise(scenario, wrong, with_times=False)) == len(otherwise(scenario, answers, with_times=False)) + 1
