"""A log's heartbeats in runs and one by one: the same facts, groups, views, explanations and counted answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_udfs.state_codec import decode
from jobs.replay.comparison import Comparison
from request_log.in_runs import OrderedRun, Row, in_runs
from request_log.parity import Parity
from request_log.recorded import OrderedRequest
from schemas.effect_names import EffectName
from schemas.effect_rows import EffectRow
from schemas.messages import HeartbeatRequest
from schemas.tables import EFFECTS_FOLDER
from tests.protocol.heartbeat_runs import state_of
from tests.request_log.fleet import Deed, live
from tests.request_log.imported import Imported
from tests.request_log.played import deeds, play
from tests.request_log.recordings import INCIDENTS, capture, incident
from tests.request_log.streamed import Streamed, streamed
from tests.request_log.truth import BOTH_PROTOCOLS, NAMES
from tests.views.asked import rows_of, without_ids
from tests.views.story import write_effects
from tests.why.reading import reader_of
from views.catalog import VIEWS
from why.explanation import explain
from why.sections import lines_of

OWN = sorted(path.name.partition(".")[0] for path in INCIDENTS.glob("*.log.gz"))
LOGS = [*NAMES, *BOTH_PROTOCOLS, *OWN]
SIZES = (7, 400, 20_000)
"""Requests a commit."""


def log_of(name: str) -> Imported:
    return incident(name) if name in OWN else capture(name)


@cache
def both(name: str, size: int) -> tuple[Streamed, Streamed, list[Row], list[Row]]:
    """One by one and in runs: what the stream told, and the rows that it was given."""
    single, requests = streamed(log_of(name), size, is_packed=False)
    packed, rows = streamed(log_of(name), size, is_packed=True)
    return single, packed, requests, rows


def taken_beats(rows: Iterable[EffectRow]) -> Counter[tuple[Any, ...]]:
    """Every heartbeat that was answered NONE, however that is told."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if row.effect == EffectName.HEARTBEATS_TAKEN:
            detail = json.loads(row.detail or "")
            for one in detail["taken"]:
                who = (one["member_id"], one["client_id"], row.generation_id, one["api_version"])
                found.update((detail["from_ms"] + beat, *who) for beat in one["beats"])
        elif is_beat(row) and row.error_code == "NONE":
            found[row.at_ms, row.member_id, row.client_id, row.generation_id, row.api_version] += 1
    return found


def others(rows: Iterable[EffectRow]) -> Counter[tuple[Any, ...]]:
    """All other facts, without what only their place among heartbeats or their run's name gives them."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if row.effect == EffectName.HEARTBEATS_TAKEN or (is_beat(row) and row.error_code == "NONE"):
            continue
        left_out = {"seq", "request_id"} if is_beat(row) else {"seq"}
        found[tuple(getattr(row, name) for name in EffectRow.__struct_fields__ if name not in left_out)] += 1
    return found


def is_beat(row: EffectRow) -> bool:
    return row.effect == EffectName.REPLY and row.api == "Heartbeat"


def assert_equal(single: Streamed, packed: Streamed) -> None:
    assert packed.facts.keys() == single.facts.keys()
    for group_id, facts in single.facts.items():
        assert taken_beats(packed.facts[group_id]) == taken_beats(facts), group_id
        assert others(packed.facts[group_id]) == others(facts), group_id
    assert packed.states.keys() == single.states.keys()
    for group_id, state in single.states.items():
        ours = state_of(decode(group_id, packed.states[group_id].document))
        assert ours == state_of(decode(group_id, state.document)), group_id


def counted(folder: Path, facts: dict[str, list[EffectRow]], rows: Iterable[Row]) -> Parity:
    """What a replay counts, whose effects come in two commits."""
    write_effects(folder, {})
    comparison = Comparison(folder / EFFECTS_FOLDER, Parity())
    comparison.expect(rows)
    for part in (0, 1):
        write_effects(folder, {group_id: told[part::2] for group_id, told in facts.items()})
        comparison.compare()
    comparison.close()
    return comparison.parity


def assert_counted_equally(
    folder: Path, single: Streamed, packed: Streamed, requests: list[Row], rows: list[Row]
) -> None:
    theirs, ours = counted(folder / "single", single.facts, requests), counted(folder / "packed", packed.facts, rows)
    assert (ours.equal, ours.different) == (theirs.equal, theirs.different)
    assert sorted(each.request_id for each in ours.first) == sorted(each.request_id for each in theirs.first)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", LOGS)
def test_a_recorded_log_leads_to_the_same_facts_and_groups(name: str, size: int) -> None:
    single, packed, _, _ = both(name, size)
    assert_equal(single, packed)


@pytest.mark.parametrize("name", LOGS)
def test_every_answer_is_counted_as_if_it_stood_alone(name: str, tmp_path: Path) -> None:
    single, packed, requests, rows = both(name, 400)
    assert_counted_equally(tmp_path, single, packed, requests, rows)
    assert counted(tmp_path / "again", packed.facts, rows).compared == sum(
        request.recorded is not None for request in log_of(name).rows
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    plan=deeds,
    has_static=st.booleans(),
    seed=st.integers(0, 99),
    late_ms=st.sampled_from([0.5, 5.0, 40.0]),
    size=st.integers(1, 300),
)
def test_whatever_members_do_runs_tell_the_same(
    plan: list[Deed],
    has_static: bool,
    seed: int,
    late_ms: float,
    size: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    opening = [("start", i, 50 * i) for i in range(3)]
    folder = tmp_path_factory.mktemp("log")
    script = partial(live, plan=[*opening, *plan], has_static=has_static)
    log = play(script, folder, seed=seed, late_ms=late_ms).found
    (single, requests), (packed, rows) = (streamed(log, size, is_packed=is_packed) for is_packed in (False, True))
    assert_equal(single, packed)
    assert_counted_equally(folder, single, packed, requests, rows)


@pytest.mark.parametrize("name", LOGS)
def test_the_rows_of_a_group_rise_and_hold_every_request_once(name: str) -> None:
    _, _, requests, rows = both(name, 400)
    by_group: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        group_id = row.group_id if isinstance(row, OrderedRequest) else row.request.group_id
        by_group.setdefault(group_id, []).append((row.request.received_at_ms, row.request.request_seq))
    assert all(keys == sorted(set(keys)) for keys in by_group.values())
    held = [beat for row in rows for beat in (row.beats if isinstance(row, OrderedRun) else [row])]
    assert sorted(map(id, held)) == sorted(map(id, requests))


def test_a_log_at_rest_needs_far_fewer_rows() -> None:
    log = capture("a-scale")
    beats = sum(isinstance(row.request, HeartbeatRequest) for row in log.rows)
    rows = in_runs(log.rows)
    assert len(rows) < len(log.rows) - beats * 0.6


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Every log's groups, one by one and in runs."""
    found = (tmp_path_factory.mktemp("single"), tmp_path_factory.mktemp("packed"))
    for is_packed, home in enumerate(found):
        told = {name: both(name, 400)[:2][is_packed].facts for name in LOGS}
        write_effects(home, {f"{name} {group}": rows for name, facts in told.items() for group, rows in facts.items()})
    return found


@pytest.mark.parametrize("view", [view.name for view in VIEWS])
def test_every_view_has_the_same_rows(homes: tuple[Path, Path], view: str) -> None:
    single, packed = (rows_of(home, view) for home in homes)
    assert without_ids(packed) == without_ids(single)


@pytest.mark.parametrize("name", LOGS)
def test_every_rebalance_is_explained_alike(name: str) -> None:
    single, packed, _, _ = both(name, 400)
    for group_id, facts in single.facts.items():
        generations = {row.generation_id for row in facts if row.effect == EffectName.REBALANCE_ENDED}
        for generation_id in sorted(generations, key=lambda each: each or 0)[-10:]:
            theirs, ours = (
                lines_of(explain(group_id, reader_of(told), generation_id)) for told in (facts, packed.facts[group_id])
            )
            assert ours == theirs, (group_id, generation_id)
