"""Scenarios that a real broker answered, over the wire: the contents of every answer are Kafka's."""

from __future__ import annotations

import asyncio

from tests.gateway.parity import play_patiently, scenarios
from tests.gateway.parity_play import otherwise
from tests.gateway.process import serving
from tests.protocol.scenario import PROFILES

LONGEST_MS = 2000
SCALE = 3.0
"""Only the short ones here, and slowly, for the machine may be busy: `make parity` plays all."""


def test_the_short_scenarios_are_answered_as_kafka_did() -> None:
    short = [scenario for scenario in scenarios("default") if scenario.end_ms <= LONGEST_MS]
    assert len(short) > 50
    with serving(PROFILES["default"]) as address:
        found = asyncio.run(play_patiently(short, address, SCALE))
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_wrong_answer_and_a_late_one_would_be_noticed() -> None:
    (scenario,) = scenarios("default", ["two-member-rebalance"])
    answers = {number: dict(step["answer"]) for number, step in enumerate(scenario.steps, 1)}
    late = {**answers, 1: answers[1] | {"when": [500]}}
    assert otherwise(scenario, late, with_times=False) == otherwise(scenario, answers, with_times=True)
    assert len(otherwise(scenario, late, with_times=True)) == len(otherwise(scenario, answers, with_times=True)) + 1
    wrong = {**answers, 1: answers[1] | {"error": "NONE"}}
    assert len(otherwise(scenario, wrong, with_times=False)) == len(otherwise(scenario, answers, with_times=False)) + 1
