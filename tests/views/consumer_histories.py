"""Small histories of consumer groups (KIP-848), in virtual time with literal moments.

The first epoch that a member is in is 2, as in Kafka; a session is 45 s, whoever is to give up has 60 s.
"""

from __future__ import annotations

from typing import Any

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from tests.requests import consumer_beat
from tests.views.story import Story

TWO_PARTITIONS = GroupConfig(topics={"t1": 2}, group_initial_rebalance_delay_ms=0)


def beat(story: Story, at_ms: int, who: str, owned: list[int] | None = None, **more: Any) -> None:
    """A member's heartbeat in the epoch of its last answer; owned: the partitions of t1 that it says it owns."""
    epochs = [row.generation_id for row in story.rows if row.effect == "reply" and row.member_id == who]
    said = None if owned is None else {"t1": owned}
    epoch = more.pop("epoch", epochs[-1] if epochs else 0)
    story.send(at_ms, consumer_beat(who, epoch, at_ms, story.group_id, owned=said, client_host="/10.0.0.1", **more))


def alone(name: str) -> Story:
    """a holds both partitions from 1000 on."""
    story = Story(name, TWO_PARTITIONS)
    beat(story, 1000, "a")
    return story


def two_consumers(name: str = "two consumers") -> Story:
    """b joins at 3000; a is told at 4000 to give t1-1 up, and has at 4500; b has it at 5000."""
    story = alone(name)
    beat(story, 3000, "b")
    beat(story, 4000, "a")
    beat(story, 4500, "a", [0])
    beat(story, 5000, "b")
    return story


def consumer_leaves() -> Story:
    """b leaves at 8000; a has all again at 9000."""
    story = two_consumers("a consumer leaves")
    beat(story, 8000, "b", epoch=-1)
    beat(story, 9000, "a")
    return story


def consumer_expires() -> Story:
    """b is heard of at 5000 for the last time; its session ends at 50,000."""
    story = two_consumers("a consumer expires")
    for at_ms in range(10_000, 60_000, 5000):
        beat(story, at_ms, "a")
    return story


def holds_on() -> Story:
    """b joins at 3000; a beats, says that it owns both, and is fenced 60 s after it was told to give one up at 4000."""
    story = alone("holds on")
    beat(story, 3000, "b")
    for at_ms in range(4000, 70_000, 5000):
        if at_ms < 64_000:
            beat(story, at_ms, "a", [0, 1])
        beat(story, at_ms + 1000, "b")
    return story


def third_comes_meanwhile() -> Story:
    """c joins at 3500, before a has given up what b is to have."""
    story = alone("third")
    beat(story, 3000, "b")
    beat(story, 3500, "c")
    beat(story, 4000, "a")
    beat(story, 4500, "a", [0])
    beat(story, 5000, "b")
    beat(story, 5500, "c")
    return story


def static_consumer_returns() -> Story:
    """a, a static member, stops at 5000 and is back under another id at 7000."""
    story = Story("a static consumer returns", TWO_PARTITIONS)
    beat(story, 1000, "a", instance_id="i")
    beat(story, 5000, "a", epoch=-2, instance_id="i")
    beat(story, 7000, "a2", instance_id="i")
    return story


def consumer_stories() -> list[Story]:
    return [
        *(two_consumers(), consumer_leaves(), consumer_expires(), holds_on(), third_comes_meanwhile()),
        static_consumer_returns(),
    ]
