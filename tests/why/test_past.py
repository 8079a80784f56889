"""What is read of a span of time gives what reading everything gives, cut at every rebalance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rollcall.answers.pictures.ownership import ownership
from rollcall.answers.pictures.period import period_of
from rollcall.answers.pictures.timeline import timeline
from rollcall.answers.why.explanation import explain
from rollcall.answers.why.past import Read, past_of
from rollcall.answers.why.sections import account_of
from rollcall.schemas.effect_rows import EffectRow
from tests.nightly import nightly_but
from tests.offsets_topic.folded import NAMES as DUMPS
from tests.views.histories import stories
from tests.views.random_homes import random_histories
from tests.views.random_lives import KINDS
from tests.why.reading import CAPTURES, reader_of, recorded

RECORDED = [
    *(("log", path.parent.name) for path in sorted(CAPTURES.glob("*/requests.log.gz"))),
    *(("topic", name) for name in DUMPS),
]
"""Every recording of either input."""
SEEDS = {"log": range(8), "topic": range(8), "mixed topic": range(15)}
"""Random lives of both protocols, by what reports them; those of topics also beside a log that lacks something."""
SOURCES = [*RECORDED, ("stories", ""), ("random", ""), *(("lives", kind) for kind in SEEDS)]
LARGEST = ("log", "t-lag")


def everything(rows: Sequence[EffectRow]) -> Read:
    """A reader that gives the whole past, whatever it is asked from when on."""
    read = reader_of(rows)

    def read_all(effects: Sequence[str], _: int, to_ms: int) -> Any:
        return read(effects, 0, to_ms)

    return read_all


def groups(source: str, name: str, folder: Path) -> Mapping[str, list[EffectRow]]:
    if source in ("log", "topic"):
        return recorded(source, name)
    if source == "lives":
        return {life: rows for seed in SEEDS[name] for life, rows in KINDS[name](seed, folder).items()}
    if source == "stories":
        return {story.group_id: story.rows for story in stories()}
    return {name: history.rows for name, history in random_histories(40, 10).items()}


def spans(rows: Sequence[EffectRow]) -> Iterator[tuple[int, int]]:
    """Each rebalance's generation and when it began."""
    for one in past_of(reader_of(rows)).rebalances:
        if one.to_generation_id is not None:
            yield one.to_generation_id, one.started_at_ms


@pytest.mark.parametrize(("source", "name"), nightly_but(set(SOURCES) - {LARGEST}, SOURCES))
def test_an_explanation_and_the_pictures_need_no_more_than_is_read(source: str, name: str, tmp_path: Path) -> None:
    compared = 0
    for group_id, rows in groups(source, name, tmp_path).items():
        part, whole = reader_of(rows), everything(rows)
        for generation_id, started_at_ms in spans(rows):
            read_in_part, read_whole = (explain(group_id, read, generation_id) for read in (part, whole))
            assert account_of(read_in_part) == account_of(read_whole), (group_id, generation_id)
            compared += 1
            until_ms = started_at_ms + 60_000
            shown, all_shown = (period_of(group_id, read, started_at_ms, until_ms) for read in (part, whole))
            for draw in (timeline, ownership):
                assert draw(shown) == draw(all_shown), (group_id, generation_id, draw)
    assert compared > 2
