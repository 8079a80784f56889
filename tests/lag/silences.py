"""Members that are silent for a while and live on, as where nobody records. Must not know any view."""

from __future__ import annotations

from tests.lag.homes import ends
from tests.views.story import Story

SESSION_MS = 60_000
"""Longer than the time without a recording, so that the member is there before and after."""


def beats(from_ms: int, to_ms: int) -> list[tuple[int, int | None]]:
    return [(at_ms, None) for at_ms in range(from_ms, to_ms, 3000)]


def two_partitions(*moves: tuple[int, int | None]) -> Story:
    """A member that commits both of its partitions at each of 10, 20 and 30 s; moves are of partition 0 alone."""
    story = Story("g")
    story.join(100, "a", session_timeout_ms=SESSION_MS)
    story.let_time_pass(100)
    story.sync(100, "a", {"a": ["t-0", "t-1"]})
    for at_ms in (10_000, 20_000, 30_000):
        story.commit(at_ms, "a", {"t-0": at_ms // 100, "t-1": at_ms // 100})
        for beat_ms in range(at_ms + 3000, at_ms + 10_000, 3000):
            story.heartbeat(beat_ms, "a")
    for at_ms, offset in moves:
        if offset is None:
            story.heartbeat(at_ms, "a")
        else:
            story.commit(at_ms, "a", {"t-0": offset})
    return story


GROWING = [
    one for part in (0, 1) for one in ends(*((ms, ms // 100 + 50) for ms in range(5000, 160_000, 5000)), partition=part)
]
