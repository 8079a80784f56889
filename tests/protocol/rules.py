"""The mark that ties a test to the rule it proves and to the tests of Kafka that pin the same rule down.

    @rule("Heartbeat: NONE while the leader's assignment is awaited", origin="testHeartbeatDuringCompletingRebalance")
    def test_...

Knows nothing of the protocol; `tests.protocol.parity` makes the table of these marks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., None])


@dataclass(frozen=True)
class Rule:
    """One rule of the protocol: its topic, what it says, and the names of Kafka's tests of it."""

    topic: str
    text: str
    origins: tuple[str, ...]


def rule(title: str, *, origin: str = "") -> Callable[[Test], Test]:
    """Marks a test. title: `topic: what holds`. origin: names of Kafka's tests, blanks between them."""
    topic, colon, text = title.partition(": ")
    assert colon, f"{title!r} is not of the form 'topic: what holds'"

    def mark(test: Test) -> Test:
        test.__dict__.setdefault("rules", []).append(Rule(topic, text, tuple(origin.split())))
        return test

    return mark


def rules_of(test: Callable[..., None]) -> list[Rule]:
    """The rules that a test is marked with, in the order they are written above it."""
    marks: list[Rule] = test.__dict__.get("rules", [])
    return marks[::-1]
