"""Whole scenarios, against the answers that a real broker gave to the same requests at the same times."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from tests.protocol.rules import rule
from tests.protocol.scenario import FOLDER, differences, read, scenario_files

FILES = scenario_files()


@rule(
    "Scenarios: contents, release and the form of fresh ids are those of Apache Kafka 4.3.1, and of 4.4.0",
    origin="testConcurrentRandomSequence",
)
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
@pytest.mark.parametrize("kafka", KafkaVersion)
def test_the_core_answers_as_kafka_did(path: Path, kafka: KafkaVersion) -> None:
    assert differences(read(path, kafka)) == []


@rule("Scenarios: a wrong field of any answer would be noticed")
@pytest.mark.parametrize("name", ["rules/static-restart-leader", "consumer/upgrade"])
def test_a_wrong_answer_would_be_noticed(name: str) -> None:
    """Every field of every answer of a scenario, made wrong, one at a time."""
    scenario = read(FOLDER / f"{name}.json")
    for step in scenario.steps:
        for field, value in list(step["answer"].items()):
            step["answer"][field] = 77 if field == "when" else "wrong"
            assert len(differences(scenario)) == 1, (step, field)
            step["answer"][field] = value
    assert differences(scenario) == []
