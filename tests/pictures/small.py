"""Pictures of small histories, for tests: a story's period of time, and a lane's bars."""

from __future__ import annotations

from rollcall.answers.pictures.period import Period, period_of
from rollcall.answers.pictures.scene import Lanes
from tests.views.story import Story
from tests.why.reading import reader_of


def period(story: Story, from_ms: int = 0, to_ms: int = 20_000) -> Period:
    return period_of(story.group_id, reader_of(story.rows), from_ms, to_ms)


def bars(scene: Lanes, lane: str) -> list[tuple[int, int, str]]:
    """Each bar's beginning, end and kind."""
    place = scene.lanes.index(lane)
    return sorted((bar.from_ms, bar.to_ms, bar.kind) for bar in scene.bars if bar.lane == place)
