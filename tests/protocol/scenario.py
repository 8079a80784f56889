"""Scenarios with the answers that a real broker gave: reading them, and playing them through the trace in virtual time.

A file holds one scenario: what it shows, the profile of broker settings, the topics there are at first (t1 and t2 with
4 partitions each if it does not say), when it ends, and its steps. A step is the line that the trace reads, and how
Apache Kafka 4.3.1 answered, and 4.4.0 where its answer differs (`answer_4.4`):

- `$m1` stands for the member id that a JoinGroup with `"bind": "m1"` was given. Bytes are a text (its UTF-8),
  `{"topics": [...], "user": "..."}` (a consumer's subscription, version 1), `{"assigned": {...}}` or `{"hex": ...}`.
- An answer leaves out what says nothing: see `_SAYS_NOTHING`. `new_member_id` is the form of a fresh id, `partitions`
  what a ConsumerGroupHeartbeat is assigned. `when` is the number of the step that released it, or after how many ms a
  timer did, from and to; absent, it came at once.
- `no_response`: nobody answers. `{"$any": [...]}`: Kafka answers now this, now that.
- `lenient`: another answer is as good, for the reason given.

Knows the shape of steps; must not know a rule of the protocol.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from rollcall.coordinator_udfs.trace import Trace, config_from
from tests.protocol.scenario_answers import Answer, answer_of
from tests.requests import assignment, flat

FOLDER = Path(__file__).resolve().parent.parent / "scenarios"
HOST = "/127.0.0.1"
TIMER_SLACK_MS = 30
_COMMON = {
    "group.min.session.timeout.ms": 500,
    "group.max.session.timeout.ms": 300_000,
    "group.initial.rebalance.delay.ms": 0,
    "topics": "t1:4,t2:4",
}
PROFILES: dict[str, dict[str, Any]] = {
    "default": _COMMON,
    "delay3000": _COMMON | {"group.initial.rebalance.delay.ms": 3_000},
    "maxsize2": _COMMON | {"group.max.size": 2},
    "delay900max3": _COMMON | {"group.initial.rebalance.delay.ms": 900, "group.max.size": 3},
}
"""Those of the scenarios of the classic protocol, which are played over the wire too."""
_CONSUMER = _COMMON | {
    "group.consumer.session.timeout.ms": 3_000,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.assignment.interval.ms": 0,
}
CONSUMER_PROFILES: dict[str, dict[str, Any]] = {
    "consumer848": _CONSUMER,
    "consumer848max2": _CONSUMER | {"group.consumer.max.size": 2},
    "consumer848interval": _CONSUMER | {"group.consumer.assignment.interval.ms": 1_000},
    "consumer848disabled": _CONSUMER | {"group.consumer.migration.policy": "disabled"},
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
_UUID = re.compile(r"[A-Za-z0-9_-]{22}")
_NAMES_OF_BYTES = frozenset({"metadata", "assignment", "member_metadata", "member_assignment"})

Step = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """One scenario. A step's number counts from 1. topics: partition counts by name, of the profile where none are."""

    name: str
    title: str
    profile: str
    end_ms: int
    steps: list[Step]
    topics: Mapping[str, int] | None = None
    kafka: KafkaVersion = KafkaVersion.V4_3

    @property
    def config(self) -> GroupConfig:
        """The broker's settings, with the topics there are at first."""
        pairs = (PROFILES | CONSUMER_PROFILES)[self.profile]
        if self.topics:
            pairs = pairs | {"topics": ",".join(f"{topic}:{count}" for topic, count in self.topics.items())}
        return config_from(f"{key}={value}" for key, value in {**pairs, "kafka.version": self.kafka}.items())


def scenario_files() -> list[Path]:
    """Every scenario, in order of name."""
    return sorted(FOLDER.rglob("*.json"))


def read(path: Path, kafka: KafkaVersion = KafkaVersion.V4_3) -> Scenario:
    """A file's scenario with the answers of this version."""
    scenario = json.loads(path.read_text())
    steps = [step | {"answer": step.get(f"answer_{kafka}", step["answer"])} for step in scenario["steps"]]
    return Scenario(**scenario | {"steps": in_bytes(steps)}, kafka=kafka)


def differences(scenario: Scenario, answers: Mapping[int, Answer] | None = None) -> list[str]:
    """What the core answers otherwise than Kafka did, or what these answers do, one line a field."""
    return [line for lines in differing_steps(scenario, answers) for line in lines]


def differing_steps(scenario: Scenario, answers: Mapping[int, Answer] | None = None) -> list[list[str]]:
    """The same, apart for each step that has differences."""
    if answers is None:
        answers = Playing(scenario).answers()
    found = [
        [
            f"{step_name(number, step)}: {field}: Kafka {expected!r}, here {got!r}"
            for field, expected, got in differing(step["answer"], answers[number])
        ]
        for number, step in enumerate(scenario.steps, 1)
        if "lenient" not in step
    ]
    return [lines for lines in found if lines]


def line_of(number: int, step: Step) -> dict[str, Any]:
    """The line of the step with this number, which is its request id; only what asks somebody has one."""
    request: dict[str, Any] = step["request"]
    return request if "api_version" not in request else request | {"request_id": str(number), "client_host": HOST}


def step_name(number: int, step: Step) -> str:
    """What a step is called in a difference: its number, its client and its API."""
    return f"step {number} ({step['request'].get('client_id', 'admin')} {step['request']['api']})"


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
            return assignment(flat(assigned), spec.get("version", 1))
    raise ValueError(f"bytes: {spec!r} is neither a text nor a subscription, an assignment or hex")


def in_bytes(value: Any, key: str = "") -> Any:
    """What a file says, with its bytes as they are on the wire."""
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
        self.scenario = scenario
        self.names: dict[str, str] = {}
        self._said = str(scenario.steps)

    def answers(self) -> dict[int, Answer]:
        """By the number of the step: what it was answered, and when."""
        trace = Trace(self.scenario.config)
        replies: dict[int, tuple[dict[str, Any], str | None]] = {}
        lines = [line_of(number, step) for number, step in enumerate(self.scenario.steps, 1)]
        for line in [*lines, {"at_ms": self.scenario.end_ms, "api": "Tick"}]:
            for reply in trace.feed(line):
                number = int(reply["request_id"])
                replies[number] = (reply, self._fresh_id(self.scenario.steps[number - 1], reply))
        return {number: self._answer(number, *replies.get(number, (None, None))) for number in range(1, len(lines) + 1)}

    def _fresh_id(self, step: Step, reply: Mapping[str, Any]) -> str | None:
        """Notes what a member id is called; its form, where the scenario says one."""
        member_id, name = reply.get("member_id"), step["request"].get("bind")
        if not name or not member_id or reply["error_code"] not in ("NONE", "MEMBER_ID_REQUIRED"):
            return None
        self.bind(name, member_id)
        if "new_member_id" not in step["answer"]:
            return None
        fresh = _FRESH_ID.fullmatch(member_id)
        return f"{fresh[1]}-<uuid>" if fresh else "(another form)"

    def bind(self, name: str, member_id: str) -> None:
        """This id is called so from now on."""
        self.names[member_id] = f"${name}"

    def _answer(self, number: int, reply: Mapping[str, Any] | None, fresh_id: str | None = None) -> Answer:
        if reply is None:
            return {"no_response": True}
        form = {} if fresh_id is None else {"new_member_id": fresh_id}
        when = self._when(number, reply)
        return answer_of(reply, self.name_of) | form | ({} if when is None else {"when": when})

    def _when(self, number: int, reply: Mapping[str, Any]) -> int | list[int] | None:
        """None: at once; a step's number: by it; [ms]: this time after it was asked, by a timer."""
        sent_at_ms, answered_at_ms = self.scenario.steps[number - 1]["request"]["at_ms"], reply["at_ms"]
        if answered_at_ms == sent_at_ms:
            return None
        at_ms = [step["request"]["at_ms"] for step in self.scenario.steps]
        released_by = [n for n, each_ms in enumerate(at_ms, 1) if each_ms == answered_at_ms]
        return released_by[-1] if released_by else [answered_at_ms - sent_at_ms]

    def name_of(self, member_id: str) -> str:
        """The name of a member id; an id that is in no answer and in no request is named by its form."""
        if member_id in self.names:
            return self.names[member_id]
        if fresh := _FRESH_ID.fullmatch(member_id):
            return f"<{fresh[1]}-uuid>"
        return "<uuid>" if _UUID.fullmatch(member_id) and member_id not in self._said else member_id
