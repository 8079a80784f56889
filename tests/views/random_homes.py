"""A home full of random histories, each a group of its own: clients that stop at nothing, and fleets that behave.

Plays go through the stream's own function; fleets are the simulation's, with real consumers' assignors.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.answers.simulation.plan import WorldPlan
from rollcall.answers.simulation.world import World
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.state_codec import decode
from rollcall.schemas.effect_rows import EffectRow, row_of
from rollcall.schemas.effects import Effect
from tests.protocol.classic_moves import configs, plays
from tests.protocol.heartbeat_runs import in_runs
from tests.protocol.play import GROUP_ID, Call, Move, Play
from tests.simulation.checks import GROUP
from tests.simulation.fleets import COOPERATIVE_FLEETS, EAGER_FLEETS, QUIET_MS, worlds
from tests.views.story import Story


class History(NamedTuple):
    """A group's facts, and the group as it is in the end; None if it is unknown then."""

    rows: list[EffectRow]
    group: Group | None


def random_histories(play_count: int, fleet_count: int) -> dict[str, History]:
    """Histories by the name of their group in the home; the same ones every time. Every second play's heartbeats come
    in runs.
    """
    found: dict[str, History] = {}

    @settings(max_examples=play_count, derandomize=True, database=None)
    @given(config=configs, moves=st.lists(plays, min_size=1, max_size=3))
    def tell_play(config: GroupConfig, moves: list[list[Move]]) -> None:
        calls = Play(config).make(chain.from_iterable(moves)).calls
        found[f"play {len(found)}"] = reported(config, in_runs(calls, 8) if len(found) % 2 else calls)

    @settings(max_examples=fleet_count, derandomize=True, database=None)
    @given(plan=worlds(EAGER_FLEETS) | worlds(COOPERATIVE_FLEETS))
    def tell_fleet(plan: WorldPlan) -> None:
        found[f"fleet {len(found)}"] = _lived(plan)

    tell_play()
    tell_fleet()
    return found


def reported(config: GroupConfig, calls: Iterable[Call]) -> History:
    """What comes of calls on a group of its own, through the stream's own function."""
    story = Story(GROUP_ID, config)
    for call in calls:
        if call.request is None:
            story.let_time_pass(call.at_ms)
        else:
            story.send(call.at_ms, call.request)
    return History(story.rows, None if story.state is None else decode(GROUP_ID, story.state.document))


def _lived(plan: WorldPlan) -> History:
    world = World(plan)
    world.run_until(QUIET_MS)
    effects = [reported.effect for reported in world.record.effects if reported.group_id == GROUP]
    group = world.group(GROUP)
    return History(list(numbered(effects)), group if group.is_known else None)


def numbered(effects: Iterable[Effect]) -> Iterable[EffectRow]:
    """Rows, numbered within their millisecond as the stream numbers them."""
    at_ms, seq = -1, 0
    for effect in effects:
        seq = seq + 1 if effect.at_ms == at_ms else 0
        at_ms = effect.at_ms
        yield row_of(effect, seq)
