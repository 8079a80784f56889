"""Recorded assignments of Apache Kafka's own Java client (kafka-clients 4.3.1), one JSON line each, against ours.

Each line is a random group handed to the Java class's assign(Cluster, GroupSubscription): what exists, its members in
the order the Java map visits them (id, instance id, rack, generation, topics, claims), and what every member was given;
replicas have no racks. A partition is claimed twice at most where subscriptions are equal and once where they differ:
beyond that the outcome of conflicting claims differs on purpose (test_assignors_sticky.py has those cases).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rollcall.answers.clients.assignors import ASSIGNORS
from rollcall.schemas.consumer_protocol import TopicPartition
from tests.clients.assignor_groups import as_sent

RECORDED = [json.loads(line) for line in Path(__file__).with_name("java_assignments.jsonl").read_text().splitlines()]


def partitions_of(numbers_by_topic: dict[str, list[int]]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, number) for topic, numbers in numbers_by_topic.items() for number in numbers)


def our_assignment(case: dict[str, Any]) -> dict[str, list[TopicPartition]]:
    members = {
        member_id: as_sent(
            case["assignor"], member_id, tuple(topics), partitions_of(claims), generation, instance, rack
        )
        for member_id, instance, rack, generation, topics, claims in case["members"]
    }
    return ASSIGNORS[case["assignor"]].assign(case["partitions"], members)


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
def test_the_java_client_assigns_the_same(name: str) -> None:
    cases = [case for case in RECORDED if case["assignor"] == name]
    assert len(cases) >= 24
    for case in cases:
        ours = {member_id: sorted(partitions) for member_id, partitions in our_assignment(case).items()}
        java = {member_id: sorted(partitions_of(numbers)) for member_id, numbers in case["assignment"].items()}
        assert ours == java, case
