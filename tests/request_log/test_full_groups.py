"""Groups at their maximum size: those who are refused show that others, who left no line, had joined before them.

The log of a broker in virtual time, whose maximum size nobody tells the importer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from coordinator_udfs.protocol.config import GroupConfig
from tests.request_log.broker import START_MS, Broker
from tests.request_log.fleet import MemberOf
from tests.request_log.imported import imported, rebalances_in

LENGTH_MS = 60_000
AT_THE_END_MS = 50
"""What happens shortly before the last line may show in none."""
DEEDS = ("start", "start", "close", "kill", "stall", "commit")
LIVES = (*range(200, 230), 293, 359, 361)


def lives(seed: int) -> Broker:
    """Clients come and go at a broker, more of them than its groups take."""
    chance = random.Random(seed)
    size = chance.choice([1, 2, 3, 4])
    plan = [(50 * who + chance.randint(0, 3000), "start", who) for who in range(4)]
    for _ in range(chance.randint(3, 14)):
        what, who = chance.choice(DEEDS), chance.randint(0, 6)
        plan.append((chance.randint(0, LENGTH_MS), what, who))
    broker = Broker(seed=seed, late_ms=0.5, config=GroupConfig(group_max_size=size))
    has_static = chance.random() < 0.3
    members: dict[int, MemberOf] = {}

    def act(what: str, who: int, turn: int) -> None:
        member = members.get(who)
        if what == "start" and (member is None or not member.is_alive):
            instance_id = f"i{who}" if has_static and who % 2 else None
            members[who] = MemberOf(broker, "g", f"m{who}-{turn}", instance_id=instance_id).start()
        elif member is None or not member.is_alive or not member.member_id:
            return
        elif what == "close" and member.instance_id is None:
            member.close()
        elif what == "kill":
            member.kill()
        elif what == "stall":
            member.stall(1000 + 900 * turn)
        elif what == "commit" and member.generation_id >= 0:
            member.commit(turn)

    for turn, (at_ms, what, who) in enumerate(sorted(plan, key=lambda deed: deed[0])):
        broker.at(START_MS + at_ms, acting(act, what, who, turn))
    return broker


def acting(act: Callable[[str, int, int], None], what: str, who: int, turn: int) -> Callable[[], None]:
    return lambda: act(what, who, turn)


@pytest.mark.parametrize("seed", LIVES)
def test_whoever_set_a_rebalance_off_is_named_where_others_are_refused(seed: int, tmp_path: Path) -> None:
    broker = lives(seed)
    broker.run(START_MS + LENGTH_MS)
    found = imported(broker.write(tmp_path / "requests.log"))
    until_ms = (found.tally.last_at_ms or 0) - AT_THE_END_MS
    real = rebalances_in([(group, effect) for group, effect in broker.effects if effect.at_ms <= until_ms], "g")
    assert found.rebalances("g")[: len(real)] == real
    assert found.parity.first == []
