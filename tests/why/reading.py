"""Readers of a group's facts for tests: of a story in virtual time, and of a capture replayed without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import msgspec

from rollcall.answers.why.explanation import Explanation, explain
from rollcall.answers.why.past import Read
from rollcall.history.facts import Fact, facts_of
from rollcall.history.rebalances import Span
from rollcall.inputs.printed.groups.logged_effects import shown_effects_of
from rollcall.schemas.effect_rows import EffectRow, row_of, rows_of
from tests.offsets_topic.folded import capture as folded
from tests.printed.recorded import groups_of
from tests.request_log.imported import imported
from tests.source_tree import ROOT
from tests.views.story import Story

CAPTURES = ROOT / "tests" / "captures"


def reader_of(rows: Sequence[EffectRow]) -> Read:
    """Reads what a table with these rows would give, in another order than theirs."""

    def read(effects: Sequence[str], from_ms: int, to_ms: int) -> Iterable[Mapping[str, Any]]:
        found = [row for row in rows if row.effect in effects and from_ms <= (row.at_ms or 0) <= to_ms]
        return [as_columns(row) for row in reversed(found)]

    return read


def as_columns(row: EffectRow) -> dict[str, Any]:
    return msgspec.structs.asdict(row)


def all_facts(story: Story) -> list[Fact]:
    return facts_of(map(as_columns, story.rows))


def explained(story: Story, generation_id: int | None = None, at: Span | None = None) -> Explanation:
    return explain(story.group_id, reader_of(story.rows), generation_id, at)


@cache
def capture(name: str) -> dict[str, list[EffectRow]]:
    """A capture's effects, as rows, by group."""
    reported = sorted(imported(CAPTURES / name / "requests.log.gz").effects, key=lambda item: item[0])
    found: dict[str, list[EffectRow]] = {}
    for group_id, items in groupby(reported, key=lambda item: item[0]):
        rows: list[EffectRow] = []
        for _, effect in items:
            seq = (rows[-1].seq or 0) + 1 if rows and rows[-1].at_ms == effect.at_ms else 0
            rows.append(row_of(effect, seq))
        found[group_id] = rows
    assert found
    return found


@cache
def topic(name: str) -> dict[str, list[EffectRow]]:
    """What a capture's offsets topic says, as rows, by group."""
    return {group_id: rows_of(shown, 0) for group_id, shown in folded(name).shown.items()}


@cache
def printed(name: str) -> dict[str, list[EffectRow]]:
    """What a capture's broker printed, as rows, by group."""
    return {group_id: rows_of(shown_effects_of(one), 0) for group_id, one in groups_of(name).items()}


def recorded(source: str, name: str) -> dict[str, list[EffectRow]]:
    """A capture's effects by group, from its `log`, from its `topic`, or as `printed` by its broker."""
    return {"log": capture, "topic": topic, "printed": printed}[source](name)
