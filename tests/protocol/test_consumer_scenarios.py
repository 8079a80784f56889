"""Whole scenarios of the newer group protocol, against what a real broker answered to the same requests."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest

from tests.protocol.consumer_scenario import consumer_differences, consumer_scenario_files, read_consumer_scenario
from tests.protocol.rules import rule
from tests.protocol.scenario import CONSUMER_FOLDER

FILES = consumer_scenario_files()


@rule("Consumer scenarios: contents and release of every answer are those of Apache Kafka 4.3.1")
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_a_consumer_group_answers_as_kafkas_did(path: Path) -> None:
    assert consumer_differences(read_consumer_scenario(path)) == []


@rule("Consumer scenarios: a wrong field of any answer would be noticed")
def test_a_wrong_answer_about_a_consumer_group_would_be_noticed() -> None:
    scenario = read_consumer_scenario(CONSUMER_FOLDER / "upgrade.json")
    for place, step in enumerate(scenario.steps):
        for field in step.get("answer", {}):
            steps = copy.deepcopy(scenario.steps)
            steps[place]["answer"][field] = "wrong" if field not in ("assignment", "metadata") else {"hex": "77"}
            assert len(consumer_differences(replace(scenario, steps=steps))) == 1, (step, field)
