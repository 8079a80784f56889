"""Homes with lag in them: of the capture, and of news that a test gives in literal numbers.

Must not know any view.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.lines.files import files_in_order
from rollcall.inputs.request_log.log_ends import lag_of
from rollcall.tables.lag.rows import Fetched, LagRows, LogEnd
from rollcall.tables.lag_rows import append_lag
from tests.request_log.truth import OF_LAG, truth
from tests.views.story import Story, write_effects
from tests.why.reading import CAPTURES, capture

ZONE = zone_of("UTC")


@cache
def lag_of_capture() -> LagRows:
    """What the capture's log says of ends and fetches."""
    found = LagRows()
    for rows in lag_of(files_in_order(CAPTURES / OF_LAG / "requests.log.gz", ZONE), ZONE, truth(OF_LAG)["topic_ids"]):
        found.ends += rows.ends
        found.fetches += rows.fetches
    assert len(found.ends) > 10_000
    return found


def write_capture(home: Path) -> Path:
    write_effects(home, capture(OF_LAG))
    append_lag(home, lag_of_capture())
    return home


def truth_of_lag() -> dict[str, Any]:
    lag: dict[str, Any] = truth(OF_LAG)["lag"]
    return lag


def ends(*samples: tuple[int, int], topic: str = "t", partition: int = 0, start: int = 0) -> list[LogEnd]:
    """Rows of (at_ms, end)."""
    return [LogEnd(topic, partition, at_ms, start, end, end, "sample") for at_ms, end in samples]


def group(
    name: str, topic: str, *commits: tuple[int, int], client: str = "a", session_timeout_ms: int = 60_000
) -> Story:
    """A group of one member that owns partition 0 of a topic from 100 on, and commits (at_ms, offset)."""
    story = Story(name)
    story.join(100, client, topics=(topic,), session_timeout_ms=session_timeout_ms)
    story.let_time_pass(100)
    story.sync(100, client, {client: [f"{topic}-0"]})
    for at_ms, offset in commits:
        story.commit(at_ms, client, {f"{topic}-0": offset})
    return story


def write_home(
    home: Path, stories: Sequence[Story], log_ends: Sequence[LogEnd], fetches: Sequence[Fetched] = ()
) -> None:
    write_effects(home, {story.group_id: story.rows for story in stories})
    append_lag(home, LagRows(list(log_ends), list(fetches)))
