"""Scenarios with the answers that a real broker gave: reading them, and playing them through the trace in virtual time.

A file holds one scenario: what it shows, the profile of broker settings, when it ends, and its steps. A step says when
which client sends what, and how Apache Kafka 4.3.1 answered:

- `$m1` stands for the member id that a JoinGroup with `"bind": "m1"` was given. Bytes are a text (its UTF-8),
  `{"topics": [...], "user": "..."}` (a consumer's subscription, version 1) or `{"hex": ...}`.
- An answer leaves out what says nothing: see `_SAYS_NOTHING`. `new_member_id` is the form of a fresh id. `when` is the
  number of the step that released it, or after how many ms a timer did, from and to; absent, it came at once.
- `no_response`: Kafka does not answer. `{"$any": [...]}`: Kafka answers now this, now that.
- `lenient`: another answer is as good, for the reason given.

Knows the shape of answers; must not know a rule of the protocol.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.trace import Trace
from programs.settings import from_texts
from schemas.consumer_protocol import Assignment, TopicPartition, encode_assignment
from tests.protocol.scenario_requests import line_of

FOLDER = Path(__file__).resolve().parent.parent / "scenarios"
CONSUMER_FOLDER = FOLDER / "consumer"
"""The scenarios of the newer group protocol, in a form of their own: see `tests.protocol.consumer_scenario`."""
TIMER_SLACK_MS = 30
_COMMON = {"group.min.session.timeout.ms": 500, "group.max.session.timeout.ms": 300_000, "topics": "t1:4,t2:4"}
PROFILES: dict[str, dict[str, Any]] = {
    "default": _COMMON | {"group.initial.rebalance.delay.ms": 0},
    "delay3000": _COMMON | {"group.initial.rebalance.delay.ms": 3_000},
    "maxsize2": _COMMON | {"group.initial.rebalance.delay.ms": 0, "group.max.size": 2},
    "delay900max3": _COMMON | {"group.initial.rebalance.delay.ms": 900, "group.max.size": 3},
}
_SAYS_NOTHING: dict[str, Any] = {
    "error": "NONE",
    "generation": -1,
    "protocol_type": None,
    "protocol": None,
    "leader": "",
    "member": "",
    "skip_assignment": False,
    "members": [],
    "assignment": b"",
    "partitions": None,
    "heartbeat_interval_ms": 0,
    "member_epoch": 0,
}
_FRESH_ID = re.compile(r"(.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)
_NAMES_OF_BYTES = frozenset({"metadata", "assignment", "member_metadata", "member_assignment"})

Step = dict[str, Any]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """One scenario. A step's number counts from 1."""

    name: str
    title: str
    profile: str
    end_ms: int
    steps: list[Step]


def scenario_files() -> list[Path]:
    """Every scenario of the classic protocol, in order of name."""
    return sorted(path for path in FOLDER.rglob("*.json") if path.parent != CONSUMER_FOLDER)


def read(path: Path) -> Scenario:
    return Scenario(**json.loads(path.read_text()))


def differences(scenario: Scenario, answers: Mapping[int, Answer] | None = None) -> list[str]:
    """What the core answers otherwise than Kafka did, or what these answers do, one line a field."""
    if answers is None:
        answers = Playing(scenario).answers()
    return [
        f"step {number} ({step['member']} {step['api']}): {field}: Kafka {expected!r}, here {got!r}"
        for number, step in enumerate(scenario.steps, 1)
        if "lenient" not in step
        for field, expected, got in differing(in_bytes(step["answer"]), answers[number])
    ]


def differing(expected: Answer, got: Answer) -> Iterator[tuple[str, Any, Any]]:
    for field in sorted(expected.keys() | got.keys()):
        nothing = _SAYS_NOTHING.get(field)
        wanted, given = expected.get(field, nothing), got.get(field, nothing)
        if not (is_timely(wanted, given, TIMER_SLACK_MS) if field == "when" else is_equal(wanted, given)):
            yield field, wanted, given


def is_equal(wanted: Any, given: Any) -> bool:
    """Whether an answer's value is the one wanted, or one of those that Kafka gave."""
    match wanted:
        case {"$any": choices}:
            return any(is_equal(choice, given) for choice in choices)
        case dict():
            return isinstance(given, dict) and not list(differing(wanted, given))
        case list():
            same_length = isinstance(given, list) and len(given) == len(wanted)
            return same_length and all(is_equal(one, other) for one, other in zip(wanted, given, strict=True))
        case _:
            return bool(wanted == given)


def is_timely(wanted: Any, given: Any, slack_ms: int) -> bool:
    """wanted: None (at once), a step's number, or [from, to] in ms; given: None, a step's number, or [ms]."""
    match wanted:
        case {"$any": choices}:
            return any(is_timely(choice, given, slack_ms) for choice in choices)
        case [first_ms, last_ms]:
            return isinstance(given, list) and first_ms - slack_ms <= given[0] <= last_ms + slack_ms
        case _:
            return bool(wanted == given)


# ---------------------------------------------------------------- bytes


def to_bytes(spec: Any) -> bytes:
    """The bytes that a scenario's text, subscription, assignment or hex stands for."""
    match spec:
        case str():
            return spec.encode()
        case {"hex": digits}:
            return bytes.fromhex(digits)
        case {"topics": topics, "user": user}:
            named = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
            data = user.encode()
            return struct.pack(">hi", 1, len(topics)) + named + struct.pack(">i", len(data)) + data + bytes(4)
        case {"assigned": assigned}:
            owned = tuple(TopicPartition(topic, p) for topic, partitions in assigned.items() for p in partitions)
            return encode_assignment(Assignment(owned), spec.get("version", 1))
    raise ValueError(f"bytes: {spec!r} is neither a text nor a subscription, an assignment or hex")


def in_bytes(value: Any, key: str = "") -> Any:
    """An answer of a file with its bytes as they are on the wire."""
    if key in _NAMES_OF_BYTES and not (isinstance(value, dict) and "$any" in value):
        return to_bytes(value)
    if isinstance(value, dict):
        return {name: in_bytes(inner, key if name == "$any" else name) for name, inner in value.items()}
    if isinstance(value, list):
        return [in_bytes(inner, key) for inner in value]
    return value


# ---------------------------------------------------------------- playing


class Playing:
    """One scenario on its way through the trace; ids are called by their names again."""

    def __init__(self, scenario: Scenario) -> None:
        pairs = {key: str(value) for key, value in PROFILES[scenario.profile].items()}
        self.scenario = scenario
        self.trace = Trace(from_texts(GroupConfig, pairs))
        self.names: dict[str, str] = {}

    def answers(self) -> dict[int, Answer]:
        """By the number of the step: what it was answered, and when."""
        replies: dict[int, tuple[dict[str, Any], str | None]] = {}
        lines = [line_of(number, step, to_bytes) for number, step in enumerate(self.scenario.steps, 1)]
        for line in [*lines, {"at_ms": self.scenario.end_ms, "api": "Tick"}]:
            for reply in self.trace.feed(line):
                number = int(reply["request_id"])
                replies[number] = (reply, self._fresh_id(self.scenario.steps[number - 1], reply))
        return {number: self._answer(number, *replies.get(number, (None, None))) for number in range(1, len(lines) + 1)}

    def _fresh_id(self, step: Step, reply: Mapping[str, Any]) -> str | None:
        """Notes what a member id is called; the form of an id that has not been given before."""
        member_id, name = reply.get("member_id"), step.get("bind")
        if not name or not member_id or reply["error_code"] not in ("NONE", "MEMBER_ID_REQUIRED"):
            return None
        self.names[member_id] = f"${name}"
        fresh = _FRESH_ID.fullmatch(member_id)
        return f"{fresh[1]}-<uuid>" if fresh else "(another form)"

    def _answer(self, number: int, reply: Mapping[str, Any] | None, fresh_id: str | None) -> Answer:
        if reply is None:
            return {"no_response": True}
        answer = self._contents(reply)
        if fresh_id is not None:
            answer["new_member_id"] = fresh_id
        when = self._when(self.scenario.steps[number - 1]["at_ms"], reply["at_ms"])
        return answer if when is None else answer | {"when": when}

    def _when(self, sent_at_ms: int, answered_at_ms: int) -> int | list[int] | None:
        if answered_at_ms == sent_at_ms:
            return None
        released_by = [n for n, step in enumerate(self.scenario.steps, 1) if step["at_ms"] == answered_at_ms]
        return released_by[-1] if released_by else [answered_at_ms - sent_at_ms]

    def name_of(self, member_id: str) -> str:
        """What a member id is called; one that nobody was told by its form."""
        fresh = _FRESH_ID.fullmatch(member_id)
        return self.names.get(member_id) or (f"<{fresh[1]}-uuid>" if fresh else member_id)

    def _contents(self, reply: Mapping[str, Any]) -> Answer:
        error = {"error": reply["error_code"]} if "error_code" in reply else {}
        match reply["api"]:
            case "JoinGroup":
                return error | self._joined(reply)
            case "SyncGroup":
                protocol = {"protocol_type": reply.get("protocol_type"), "protocol": reply.get("protocol_name")}
                return error | protocol | {"assignment": reply["assignment"]}
            case "LeaveGroup" if "members" in reply:
                return error | {
                    "members": [
                        {
                            "member": self.name_of(m["member_id"]),
                            "instance": m["group_instance_id"],
                            "error": m["error_code"],
                        }
                        for m in reply["members"]
                    ]
                }
            case "OffsetCommit" | "OffsetDelete":
                return error | {"partitions": _partition_errors(reply["topics"])}
            case "OffsetFetch":
                return {"groups": [_fetched(group) for group in reply["groups"]]}
            case "DescribeGroups":
                return {"groups": sorted((self._described(g) for g in reply["groups"]), key=lambda g: str(g["group"]))}
            case "ListGroups":
                return error | {"groups": sorted(map(_listed, reply["groups"]), key=lambda g: str(g["group"]))}
            case "DeleteGroups":
                deleted = [{"group": r["group_id"], "error": r["error_code"]} for r in reply["results"]]
                return {"groups": sorted(deleted, key=lambda g: str(g["group"]))}
            case "FindCoordinator":
                return {"coordinators": [_found(c) for c in reply.get("coordinators", [reply])]}
            case _:
                return error

    def _joined(self, reply: Mapping[str, Any]) -> Answer:
        members = [
            {
                "member": self.name_of(member["member_id"]),
                "instance": member.get("group_instance_id"),
                "metadata": member["metadata"],
            }
            for member in reply["members"]
        ]
        return {
            "generation": reply["generation_id"],
            "protocol_type": reply.get("protocol_type"),
            "protocol": reply["protocol_name"],
            "leader": self.name_of(reply["leader"]),
            "member": self.name_of(reply["member_id"]),
            "skip_assignment": reply.get("skip_assignment", False),
            "members": sorted(members, key=lambda member: str(member["member"])),
        }

    def _described(self, group: Mapping[str, Any]) -> Answer:
        members = [
            {
                "member": self.name_of(member["member_id"]),
                "instance": member.get("group_instance_id"),
                "client_id": member["client_id"],
                "metadata": member["member_metadata"],
                "assignment": member["member_assignment"],
            }
            for member in group["members"]
        ]
        return {
            "group": group["group_id"],
            "error": group["error_code"],
            "state": group["group_state"],
            "protocol_type": group["protocol_type"],
            "protocol": group["protocol_data"],
            "members": sorted(members, key=lambda member: str(member["member"])),
        }


def _partition_errors(topics: list[Mapping[str, Any]]) -> list[str]:
    return sorted(
        f"{topic['name']}/{partition['partition_index']} {partition['error_code']}"
        for topic in topics
        for partition in topic["partitions"]
    )


def _fetched(group: Mapping[str, Any]) -> Answer:
    offsets = [
        f"{topic['name']}/{p['partition_index']} {p['committed_offset']}"
        + (f" '{p['metadata']}'" if p["metadata"] else "")
        + f" {p['error_code']}"
        for topic in group["topics"]
        for p in topic["partitions"]
    ]
    return {"group": group["group_id"], "error": group["error_code"], "offsets": sorted(offsets)}


def _listed(group: Mapping[str, Any]) -> Answer:
    return {
        "group": group["group_id"],
        "protocol_type": group["protocol_type"],
        "state": group.get("group_state"),
        "type": group.get("group_type"),
    }


def _found(coordinator: Mapping[str, Any]) -> Answer:
    node = "none" if coordinator["port"] == -1 else "this"
    return {"key": coordinator.get("key"), "error": coordinator["error_code"], "node": node}
