"""Many groups at rest: formed, then nothing but heartbeats; and how many heartbeats a home's history tells of.

Knows members and the effects table; must not know who answers them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pyarrow.compute as pc
from deltalake import DeltaTable

from benchmarks.live_group import LiveGroup
from jobs.home import Home
from listeners.addresses import Address
from schemas.effect_names import EffectName
from schemas.errors import Error
from schemas.heartbeat_runs import beats_taken

INTERVAL_S = 3.0
FORMED_AT_ONCE = 25
_COLUMNS = ["effect", "api", "error_code", "detail"]


async def rest(
    address: Address, groups: int, size: int, seconds: float, note: Callable[[int], None]
) -> tuple[int, list[float]]:
    """How many heartbeats were taken in all, and sorted seconds that those took which came once all had formed.

    note: called with -1 when all have formed, and with 1 at the end.
    """
    resting = [LiveGroup(address, f"resting-{number}", size) for number in range(groups)]
    took, over = list[float](), asyncio.Event()
    beating = []
    for first in range(0, groups, FORMED_AT_ONCE):
        some = resting[first : first + FORMED_AT_ONCE]
        await asyncio.gather(*(group.form() for group in some))
        beating += [asyncio.create_task(group.beat_every(INTERVAL_S, took, over)) for group in some]
    took.clear()
    note(-1)
    await asyncio.sleep(seconds)
    note(1)
    measured = sorted(took)
    over.set()
    await asyncio.gather(*beating)
    return sum(group.beats for group in resting), measured


def heartbeats_reported(home: Home) -> int:
    """How many heartbeats a history says were answered NONE, in runs and alone.

    Raises AssertionError: a member was removed.
    """
    facts = DeltaTable(home.effects).to_pyarrow_table(columns=_COLUMNS)
    removed = facts.filter(pc.equal(facts["effect"], EffectName.MEMBER_REMOVED)).num_rows
    assert not removed, f"{removed} members were removed"
    runs = facts.filter(pc.equal(facts["effect"], EffectName.HEARTBEATS_TAKEN))["detail"].to_pylist()
    taken = sum(len(beats) for run in runs for beats in beats_taken(run))
    replies = facts.filter(pc.and_(pc.equal(facts["effect"], EffectName.REPLY), pc.equal(facts["api"], "Heartbeat")))
    return taken + sum(error == Error.NONE for error in replies["error_code"].to_pylist())
