"""What a run's screen shows of a group is what all its facts say, whenever the screen was opened."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rollcall.history.facts import effects_in, facts_of
from rollcall.history.members import memberships_of
from rollcall.schemas.effect_names import LASTING, EffectName
from rollcall.schemas.effect_rows import EffectRow
from rollcall.shown.replay_report import tell_home
from rollcall.shown.watch import RebalanceLines, Watch, client_ids
from rollcall.tables.home import Home
from tests.views.histories import one_expires, stories
from tests.views.random_homes import random_histories
from tests.views.story import write_effects
from tests.why.reading import as_columns, recorded

_CAME_OR_WENT = (
    (EffectName.GROUP_CREATED, EffectName.GROUP_REMOVED),
    (EffectName.MEMBER_JOINED, EffectName.MEMBER_REMOVED),
)
HOW_A_GROUP_IS = (*_CAME_OR_WENT, *((name,) for name in LASTING if name not in chain.from_iterable(_CAME_OR_WENT)))
"""The facts that say how a group is now, whenever they happened: the latest of each kind, of a group or a member."""


def groups(source: str, name: str) -> Mapping[str, list[EffectRow]]:
    if source == "stories":
        return {story.group_id: story.rows for story in stories()}
    return recorded(source, name) if source != "random" else {n: h.rows for n, h in random_histories(40, 10).items()}


def columns(group_id: str, rows: Sequence[EffectRow]) -> list[dict[str, Any]]:
    return [{**as_columns(row), "group_id": group_id} for row in rows]


def latest(group_id: str, rows: Sequence[EffectRow]) -> list[dict[str, Any]]:
    """What says how the group is after these."""
    last: dict[tuple[int, str | None], EffectRow] = {}
    for row in rows:
        for place, kind in enumerate(HOW_A_GROUP_IS):
            if row.effect in kind:
                last.pop((place, row.member_id), None)
                last[place, row.member_id] = row
    return columns(group_id, list(last.values()))


def shown(watch: Watch) -> dict[str, tuple[str, int, list[str]]]:
    return {
        group_id: (group.state, group.generation_id, client_ids(group))
        for group_id, group in watch.groups.by_id.items()
        if group_id in watch.with_news
    }


def cuts(rows: Sequence[EffectRow]) -> Iterator[int]:
    """The beginning and the end of every rebalance, by place."""
    ends = (EffectName.REBALANCE_STARTED, EffectName.REBALANCE_ENDED)
    return (place for place, row in enumerate(rows) if row.effect in ends)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        *(("log", name) for name in ("d-kill", "o-consumer-protocol", "q-consumer-slow", "g-coop-vs-range")),
        *(("topic", name) for name in ("n-classic-mixed", "q-consumer-slow")),
        *(("stories", ""), ("random", "")),
    ],
)
def test_a_screen_that_is_opened_later_shows_the_same(source: str, name: str, tmp_path: Path) -> None:
    compared = 0
    for group_id, rows in groups(source, name).items():
        for cut in [0, *cuts(rows)]:
            early, late = Watch(tmp_path), Watch(tmp_path)
            reported_early = [line for row in (columns(group_id, rows)) for line in early.lines([row])]
            late.begin_with(latest(group_id, rows[:cut]))
            reported_late = [line for row in columns(group_id, rows[cut:]) for line in late.lines([row])]
            assert shown(late) == shown(early), (group_id, cut)
            assert reported_late == reported_early[len(reported_early) - len(reported_late) :]
            compared += 1
        members = memberships_of(effects_in(facts_of(columns(group_id, rows))))
        if (group := early.groups.get(group_id)) is not None:
            assert client_ids(group) == sorted(one.client_id for one in members if one.ended_at_ms is None)
    assert compared > 5


def test_who_was_a_member_before_is_on_the_screen_of_a_home_that_goes_on(tmp_path: Path) -> None:
    rows = one_expires().rows
    cut = next(place for place, row in enumerate(rows) if row.effect == EffectName.MEMBER_REMOVED)
    write_effects(tmp_path, {"expired": rows[:cut], "at rest": rows[:cut]})
    watch = Watch(tmp_path)
    assert shown(watch) == {}
    write_effects(tmp_path, {"expired": rows[cut : cut + 1]})
    lines = list(watch.look())
    assert [line[14:] for line in lines] == ["expired: b was removed (session expired)"]
    assert shown(watch)["expired"][2] == ["a"]


def test_lines_of_several_groups_are_in_order_of_time_and_leave_out_what_took_none(tmp_path: Path) -> None:
    watched = RebalanceLines(tmp_path)
    write_effects(tmp_path, recorded("log", "d-kill"))
    lines = list(watched.look())
    clocks = [line[:12] for line in lines]
    assert len(set(clocks)) > 3
    assert clocks == sorted(clocks)
    assert [line for line in lines if "0.0 s" in line] == []
    assert any(line.endswith("4 -> 3 members") for line in lines)


@pytest.mark.parametrize("source", ["log", "topic"])
def test_a_line_of_a_consumer_group_names_epochs(source: str, tmp_path: Path) -> None:
    watched = RebalanceLines(tmp_path)
    write_effects(tmp_path, recorded(source, "q-consumer-slow"))
    lines = [line for line in watched.look() if ": rebalance, " in line]
    assert len(lines) > 5
    assert [line for line in lines if not re.search(r", epoch -?\d+ -> -?\d+: ", line)] == []


@pytest.mark.parametrize(
    ("source", "name", "step"),
    [("log", "q-consumer-slow", "epoch"), ("topic", "q-consumer-slow", "epoch"), ("log", "d-kill", "generation")],
)
def test_a_report_of_a_replay_names_the_steps_of_the_groups_kind(
    source: str, name: str, step: str, tmp_path: Path
) -> None:
    write_effects(tmp_path, recorded(source, name))
    out = io.StringIO()
    tell_home(Console(file=out, soft_wrap=True), Home(tmp_path))
    lines = [line for line in out.getvalue().splitlines() if ": rebalance, " in line]
    assert len(lines) > 5
    assert [line for line in lines if not re.search(rf", {step} -?\d+ -> -?\d+: ", line)] == []
