"""Groups at their maximum size: those who are refused show that others, who left no line, had joined before them.

The log of a broker in virtual time, whose maximum size the importer does not know.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.schemas.effects import RebalanceStarted
from tests.request_log.broker import Broker
from tests.request_log.fleet import live
from tests.request_log.imported import rebalances_in
from tests.request_log.played import LENGTH_MS, read

ACTIONS = ("start", "start", "close", "kill", "stall", "commit")
LIVES = (112, *range(200, 230), 293, 359, 361, 1123, 1190, 1214, 1305)


def lives(seed: int) -> Broker:
    """Clients come and go at a broker, more of them than its groups take."""
    chance = random.Random(seed)
    size = chance.choice([1, 2, 3, 4])
    plan = [("start", who, 50 * who + chance.randint(0, 3000)) for who in range(4)]
    for _ in range(chance.randint(3, 14)):
        what, who = chance.choice(ACTIONS), chance.randint(0, 6)
        plan.append((what, who, chance.randint(0, LENGTH_MS)))
    broker = Broker(seed=seed, late_ms=0.5, config=GroupConfig(group_max_size=size))
    live(broker, plan, has_static=chance.random() < 0.3)
    return broker


@pytest.mark.parametrize("seed", LIVES)
def test_whoever_set_a_rebalance_off_is_named_where_others_are_refused(seed: int, tmp_path: Path) -> None:
    played = read(lives(seed), tmp_path)
    found, real = played.found, rebalances_in(played.effects_shown(), "g")
    assert found.rebalances("g")[: len(real)] == real
    assert found.parity.first == []


@pytest.mark.parametrize("seed", [153, 1240, 1300, 2271, 2661, 2381])
def test_what_a_log_cannot_tell_apart_is_not_reported_as_certain(seed: int, tmp_path: Path) -> None:
    """Sessions that end within milliseconds, newcomers that left no line: who was first is in no line."""
    played = read(lives(seed), tmp_path)
    real = {
        effect.from_generation_id: (effect.cause.kind, effect.cause.member_id)
        for _, effect in played.effects_shown()
        if isinstance(effect, RebalanceStarted)
    }
    for started in played.found.of_group("g", RebalanceStarted):
        kind, member_id = real.get(started.from_generation_id, (started.cause.kind, started.cause.member_id))
        if (started.cause.kind, started.cause.member_id) != (kind, member_id):
            assert started.cause.is_inferred
            named = {(one.kind, one.member_id) for one in started.cause.candidates}
            assert (kind, member_id) in named or started.cause.kind in ("unknown", "member_joined")
