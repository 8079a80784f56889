"""Histories with a trouble in them. Must not know an alarm."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from rollcall.schemas.effect_rows import EffectRow
from tests.views.story import Story, one_member, write_effects

STOOD_STILL_MS = 15_000


def write_home(home: Path, stories: Iterable[Story]) -> None:
    """A home whose job works, whatever the time."""
    write_effects(home, {story.group_id: story.rows for story in stories})
    works(home, 1 << 50)


def works(home: Path, batch_at_ms: int) -> None:
    status = {"state": "running", "process": os.getpid(), "started_at_ms": 1, "batch_at_ms": batch_at_ms}
    (home / "status.json").write_text(json.dumps(status))


def standstill(group_id: str) -> Story:
    """A group in which nobody held a partition from 3 to 15 s."""
    story = one_member(group_id, session_timeout_ms=30_000)
    story.join(3_000, "a", session_timeout_ms=30_000)
    story.sync(STOOD_STILL_MS, "a", {"a": ["t-0"]})
    return story


def ongoing_trouble() -> list[EffectRow]:
    """Facts of a group in which nobody has held a partition since 3.0 s."""
    return [row for row in standstill("orders").rows if (row.at_ms or 0) < STOOD_STILL_MS]
