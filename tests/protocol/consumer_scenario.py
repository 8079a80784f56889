"""Scenarios of the newer group protocol with a real broker's answers: reading them, and playing them in virtual time.

A file holds one scenario: what it shows, the profile of broker settings, the topics there are at first, when it ends,
and its steps: the very line that the trace reads, and how Apache Kafka 4.3.1 answered it. An answer is written as in
`tests.protocol.scenario`, and leaves out what says nothing; `partitions` is what a ConsumerGroupHeartbeat is assigned.

Knows the shape of answers; must not know a rule of the protocol.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordinator_udfs.trace import Trace, config_from
from tests.protocol.scenario import CONSUMER_FOLDER, PROFILES, Answer, Playing, Step, differing, in_bytes

_COMMON = {
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.session.timeout.ms": 3_000,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.assignment.interval.ms": 0,
}
CONSUMER_PROFILES: dict[str, dict[str, Any]] = {
    "consumer848": _COMMON,
    "consumer848max2": _COMMON | {"group.consumer.max.size": 2},
    "consumer848interval": _COMMON | {"group.consumer.assignment.interval.ms": 1_000},
    "consumer848disabled": _COMMON | {"group.consumer.migration.policy": "disabled"},
}


@dataclass(frozen=True)
class ConsumerScenario:
    """One scenario. topics: partition counts by name. A step: {"request": ..., "answer": ...}; lenient: see there."""

    name: str
    title: str
    profile: str
    end_ms: int
    topics: dict[str, int]
    steps: list[Step]


def consumer_scenario_files() -> list[Path]:
    """Every scenario of the newer protocol, in order of name."""
    return sorted(CONSUMER_FOLDER.glob("*.json"))


def read_consumer_scenario(path: Path) -> ConsumerScenario:
    return ConsumerScenario(**json.loads(path.read_text()))


def consumer_differences(scenario: ConsumerScenario) -> list[str]:
    """What the core answers otherwise than Kafka did, one line a field."""
    answers = ConsumerPlaying(scenario).answers()
    return [
        f"step {number} ({step['request']['api']}): {field}: Kafka {wanted!r}, here {got!r}"
        for number, step in enumerate(scenario.steps, 1)
        if "lenient" not in step
        for field, wanted, got in differing(in_bytes(step.get("answer", {})), answers.get(number, {}))
    ]


class ConsumerPlaying(Playing):
    """One scenario on its way through the trace; ids that the group made are called by their names again."""

    _UUID = re.compile(r"[A-Za-z0-9_-]{22}")

    def __init__(self, scenario: ConsumerScenario) -> None:
        pairs = PROFILES["default"] | CONSUMER_PROFILES[scenario.profile]
        pairs["topics"] = ",".join(f"{topic}:{count}" for topic, count in scenario.topics.items())
        self.played = scenario
        self.said = json.dumps(scenario.steps)
        self.trace = Trace(config_from(f"{key}={value}" for key, value in pairs.items()))
        self.names: dict[str, str] = {}

    def answers(self) -> dict[int, Answer]:
        """By the number of the step: what it was answered, and by which later step's doing."""
        answers: dict[int, Answer] = {}
        requests = [step["request"] for step in self.played.steps]
        for number, request in enumerate(requests, 1):
            for reply in self.trace.feed({"request_id": str(number), "client_host": "/127.0.0.1"} | request):
                answered = int(reply["request_id"])
                self._note_name(requests[answered - 1], reply)
                when = {} if answered == number else {"when": number}
                answers[answered] = self._contents(reply) | when
        return answers

    def _note_name(self, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        if "bind" in request and reply["member_id"] and reply["error_code"] in ("NONE", "MEMBER_ID_REQUIRED"):
            self.names[reply["member_id"]] = f"${request['bind']}"

    def name_of(self, member_id: str) -> str:
        """As its parent has it; an id that the group made up and no request uses is `<uuid>`."""
        if self._UUID.fullmatch(member_id) and member_id not in self.said and member_id not in self.names:
            return "<uuid>"
        return super().name_of(member_id)

    def _contents(self, reply: Mapping[str, Any]) -> Answer:
        match reply["api"]:
            case "ConsumerGroupHeartbeat":
                reported = reply["assignment"]
                return {
                    "error": reply["error_code"],
                    "member": self.name_of(reply["member_id"] or "") or None,
                    "member_epoch": reply["member_epoch"],
                    "heartbeat_interval_ms": reply["heartbeat_interval_ms"],
                    "partitions": None if reported is None else _partitions(reported),
                }
            case "ConsumerGroupDescribe":
                return {"groups": sorted(map(self._group, reply["groups"]), key=lambda group: str(group["group"]))}
            case "OffsetCommit" | "OffsetFetch":
                return super()._contents(_by_name(reply))
            case _:
                return super()._contents(reply)

    def _group(self, group: Mapping[str, Any]) -> Answer:
        members = sorted(
            (self._member(member) for member in group["members"]), key=lambda member: str(member["member"])
        )
        return {
            "group": group["group_id"],
            "error": group["error_code"],
            "state": group["group_state"],
            "group_epoch": group["group_epoch"],
            "assignment_epoch": group["assignment_epoch"],
            "assignor": group["assignor_name"],
            "members": members,
        }

    def _member(self, member: Mapping[str, Any]) -> Answer:
        kind = {"type": ("classic", "consumer")[member["member_type"]]} if "member_type" in member else {}
        return kind | {
            "member": self.name_of(member["member_id"]),
            "instance": member["instance_id"],
            "rack": member["rack_id"],
            "member_epoch": member["member_epoch"],
            "client_id": member["client_id"],
            "topics": sorted(member["subscribed_topic_names"]),
            "regex": member["subscribed_topic_regex"],
            "assigned": _partitions(member["assignment"]),
            "target": _partitions(member["target_assignment"]),
        }


def _partitions(assignment: Mapping[str, Any]) -> dict[str, list[int]]:
    return {entry["topic"]: sorted(entry["partitions"]) for entry in assignment["topic_partitions"]}


def _by_name(value: Any) -> Any:
    """An answer that names its topics by `topic`, as with ids on the wire, as one that does by `name`."""
    if isinstance(value, dict):
        return {"name" if key == "topic" else key: _by_name(inner) for key, inner in value.items()}
    return [_by_name(item) for item in value] if isinstance(value, list) else value
