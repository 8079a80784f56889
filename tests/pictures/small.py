"""Pictures of small histories, for tests: a story's stretch of time, and a lane's bars."""

from __future__ import annotations

from pictures.scene import Lanes
from pictures.stretch import Stretch, stretch_of
from tests.views.story import Story
from tests.why.reading import reader_of


def stretch(story: Story, from_ms: int = 0, to_ms: int = 20_000) -> Stretch:
    return stretch_of(story.group_id, reader_of(story.rows), from_ms, to_ms)


def bars(scene: Lanes, lane: str) -> list[tuple[int, int, str]]:
    """Each bar's beginning, end and kind."""
    place = scene.lanes.index(lane)
    return sorted((bar.from_ms, bar.to_ms, bar.kind) for bar in scene.bars if bar.lane == place)
