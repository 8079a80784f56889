"""Members that are silent for a while and live on, as where nobody records. Must not know any view."""

from __future__ import annotations

from random import Random

from rollcall.schemas.effect_rows import EffectRow, row_of
from rollcall.schemas.effects import HeartbeatsTaken
from rollcall.schemas.messages import MemberBeats
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


def run(at_ms: int, moments: list[int]) -> EffectRow:
    """A run with heartbeats at these moments."""
    beats = [moment - moments[0] for moment in moments]
    of_member = MemberBeats(member_id="a", group_instance_id=None, client_id="a", api_version=4, beats=beats)
    fact = HeartbeatsTaken(at_ms=at_ms, request_id="r", generation_id=1, from_ms=moments[0], taken=[of_member])
    return row_of(fact, 1 << 20)


def random_life(chance: Random, name: str) -> Story:
    """Commits now of one partition, now of both; heartbeats alone and in runs that overlap; silences now and then."""
    story = Story(name)
    story.join(100, "a", session_timeout_ms=chance.choice([12_000, 30_000, 60_000]))
    story.let_time_pass(100)
    story.sync(100, "a", {"a": ["t-0", "t-1"]})
    at_ms = 1000
    while at_ms < 240_000:
        at_ms += chance.choice([3000, 3000, 3000, 3000, 9999, 10_001, 15_001, 31_000])
        match chance.randrange(6):
            case 0:
                chosen = chance.choice([("t-0",), ("t-1",), ("t-0", "t-1")])
                story.commit(at_ms, "a", {partition: at_ms // 200 for partition in chosen})
            case 1 | 2:
                story.heartbeat(at_ms, "a")
            case _:
                moments = list(range(at_ms - 3000 * chance.randrange(4), at_ms + 1, 3000))
                story.rows.append(run(at_ms + chance.choice([0, 0, 700]), moments))
    return story
