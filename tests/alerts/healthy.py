"""A quiet hour of a thousand healthy groups: steady ones, deploys, changes of scale, and a restart of the broker.

Their clients are simulated; alike groups differ in their moments. Must not know an alarm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake

from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.simulation.network import between
from rollcall.answers.simulation.plan import ConsumerPlan, Schedule, Span, WorldPlan
from rollcall.answers.simulation.world import World
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.effects import Effect
from rollcall.schemas.tables import EFFECTS
from tests.simulation.lossy import LossyNetwork, LossyPlan
from tests.views.random_homes import numbered
from tests.views.story import table_of

HOUR_MS = 3_600_000
KINDS = ("steady", "deploy", "static deploy", "cooperative deploy", "scale up and down")
OF_A_KIND = 4
"""As many are simulated of each; the others are the same under other names, as often as COPIES says."""
COPIES = {kind: 202 if kind == "steady" else 12 for kind in KINDS}
GROUPS = OF_A_KIND * sum(COPIES.values())
RESTART = Span(2_400_000, 8_000)
"""When the broker is away."""


class _World(World):
    network_kind = LossyNetwork


@cache
def facts() -> dict[str, list[EffectRow]]:
    """The facts of the groups that are simulated, by group."""
    consumers = tuple(one for kind in KINDS for number in range(OF_A_KIND) for one in _consumers(kind, number))
    network = LossyPlan(noticed=1.0, outages=(RESTART,))
    world = _World(WorldPlan(consumers, {"t": 12}, GroupConfig(), network))
    world.run_until(HOUR_MS)
    effects: defaultdict[str, list[Effect]] = defaultdict(list)
    for each in world.record.effects:
        effects[each.group_id].append(each.effect)
    return {group_id: [*numbered(reported)] for group_id, reported in effects.items()}


def write_until(home: Path, from_ms: int, to_ms: int) -> None:
    """Appends what happens in this time to a home, of GROUPS groups."""
    one = table_of(
        {
            group_id: [row for row in reported if from_ms <= (row.at_ms or 0) < to_ms]
            for group_id, reported in facts().items()
        }
    )
    copies = []
    for kind, count in COPIES.items():
        of_kind = one.filter(pc.starts_with(one["group_id"], f"{kind} "))
        for copy in range(count):
            names = pc.binary_join_element_wise(of_kind["group_id"], str(copy), " ")
            copies.append(of_kind.set_column(0, "group_id", names))
    write_deltalake(home / EFFECTS.name, pa.concat_tables(copies), mode="append", partition_by=["at_date"])


def _consumers(kind: str, number: int) -> Iterator[ConsumerPlan]:
    group_id = f"{kind} {number}"

    def one(member: int, schedule: Schedule, name: str = "", instance: str | None = None) -> ConsumerPlan:
        strategy = ("cooperative-sticky",) if kind == "cooperative deploy" else ("range",)
        config = ConsumerConfig(
            group_id=group_id,
            client_id=f"app-{member}",
            group_instance_id=instance,
            session_timeout_ms=90_000 if kind == "steady" else 45_000,
            heartbeat_interval_ms=30_000 if kind == "steady" else 10_000,
            auto_commit_interval_ms=600_000,
            partition_assignment_strategy=strategy,
        )
        return ConsumerPlan(f"{group_id} {member}{name}", config, ("t",), schedule)

    begins_ms = between(600_000, 1_800_000, 0, group_id)
    match kind:
        case "steady":
            yield from (one(member, Schedule(start_ms=member * 200)) for member in range(1 + number % 3))
        case "scale up and down":
            yield from (one(member, Schedule()) for member in range(2))
            for member in range(2, 5):
                yield one(
                    member, Schedule(start_ms=begins_ms + member * 700, close_ms=begins_ms + 1_200_000 + member * 900)
                )
        case _:
            for member in range(4):
                ends_ms = begins_ms + member * 45_000
                instance = f"pod-{member}" if kind == "static deploy" else None
                yield one(member, Schedule(close_ms=ends_ms), instance=instance)
                yield one(member, Schedule(start_ms=ends_ms + 6_000), " again", instance)
