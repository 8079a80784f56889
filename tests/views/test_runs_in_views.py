"""Heartbeats in runs and heartbeats one by one lead to the same rows of every view, and to the same explanation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollcall.answers.views.catalog import VIEWS
from rollcall.answers.why.explanation import explain
from rollcall.answers.why.sections import lines_of
from rollcall.schemas.messages import HeartbeatRequest
from tests import requests
from tests.requests import packed
from tests.views.histories import two_members
from tests.views.story import Story, write_effects
from tests.views.view_rows import Row, rows_of
from tests.why.reading import reader_of

Beats = list[tuple[int, str]]
GROUP = "two"
AT_REST: Beats = [(4000, "a"), (5000, "b"), (7001, "a"), (8002, "b"), (13_500, "b"), (16_000, "a"), (19_000, "b")]
"""b is silent for 5.498 s, a for 8.999 s of its 10 s: a near miss."""
WHILE_B_EXPIRES: Beats = [(21_000, "a"), (24_000, "a"), (28_999, "a"), (29_001, "a"), (31_000, "b")]
"""b's session ends at 29 s: a is told at 29.001 s, and b learns at 31 s that it is none."""


def one_by_one(story: Story, beats: Beats) -> None:
    for at_ms, who in beats:
        story.send(at_ms, request_of(story, at_ms, who))


def in_one_run(story: Story, beats: Beats) -> None:
    story.send(beats[-1][0], packed([request_of(story, at_ms, who) for at_ms, who in beats], f"run {beats[0][0]}"))


def request_of(story: Story, at_ms: int, who: str) -> HeartbeatRequest:
    named: dict[str, Any] = {"request_id": f"{who} {at_ms}", "client_id": who}
    return requests.heartbeat(story.member_ids[who], story.generation_id, at_ms, story.group_id, **named)


def reported(beat: Callable[[Story, Beats], None]) -> Story:
    story = two_members(GROUP)
    beat(story, AT_REST)
    beat(story, WHILE_B_EXPIRES)
    story.join(32_000, "a")
    story.sync(32_100, "a", {"a": ["t-0", "t-1"]})
    return story


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    found = []
    for beat in (one_by_one, in_one_run):
        home = tmp_path_factory.mktemp(beat.__name__)
        write_effects(home, {GROUP: reported(beat).rows})
        found.append(home)
    return found[0], found[1]


def without_ids(rows: list[Row]) -> list[str]:
    """Rows as texts that compare, whatever ids the requests in them had."""
    return sorted(repr({**row, "request_id": None}) for row in rows)


@pytest.mark.parametrize("view", [view.name for view in VIEWS])
def test_every_view_has_the_same_rows(homes: tuple[Path, Path], view: str) -> None:
    single, run = (rows_of(home, view) for home in homes)
    assert without_ids(run) == without_ids(single)


def test_each_heartbeat_has_an_id_of_its_own(homes: tuple[Path, Path]) -> None:
    replies = [row for row in rows_of(homes[1], "replies") if row["api"] == "Heartbeat"]
    assert len(replies) == len({row["request_id"] for row in replies}) == len(AT_REST) + len(WHILE_B_EXPIRES) + 1


def test_the_story_has_what_the_views_look_for(homes: tuple[Path, Path]) -> None:
    (miss,) = rows_of(homes[1], "near_misses")
    assert (miss["client_id"], miss["gap_ms"], miss["slack_ms"]) == ("a", 8999, 1001)
    assert {row["client_id"]: row["slack_ms"] for row in rows_of(homes[1], "heartbeat_slack")} == {"a": 1001, "b": 0}


def test_the_explanation_is_the_same() -> None:
    single, run = (lines_of(explain(GROUP, reader_of(reported(beat).rows))) for beat in (one_by_one, in_one_run))
    assert run == single
    assert any(line.about == "notified" and line.at_ms == 29_001 for line in run)
