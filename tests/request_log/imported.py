"""A log through the importer and the pure core, for tests: rows, effects, parity, and what there is to say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from programs.settings import from_texts
from request_log.core_replay import Replay
from request_log.importer import LogImport
from request_log.lines.clock import zone_of
from request_log.parity import Parity
from request_log.recorded import OrderedRequest, Quarantined, Tally
from schemas.effects import Effect, RebalanceStarted


@dataclass
class Imported:
    """What came of a log. effects: (group id, effect) in order of time."""

    rows: list[OrderedRequest]
    quarantined: list[Quarantined]
    tally: Tally
    effects: list[tuple[str, Effect]]
    parity: Parity
    groups: dict[str, Group]
    config: GroupConfig

    def of_group(self, group_id: str, kind: type[Effect]) -> list[Any]:
        return [effect for of, effect in self.effects if of == group_id and isinstance(effect, kind)]

    def rebalances(self, group_id: str) -> list[tuple[int, str, str]]:
        """From generation, cause and culprit of each."""
        return rebalances_in(self.effects, group_id)


def rebalances_in(effects: list[tuple[str, Effect]], group_id: str) -> list[tuple[int, str, str]]:
    return [
        (effect.from_generation_id, str(effect.cause.kind), effect.cause.member_id)
        for of, effect in effects
        if of == group_id and isinstance(effect, RebalanceStarted)
    ]


def imported(path: Path, zone: str = "UTC", settings: Mapping[str, str] | None = None) -> Imported:
    """settings: what the broker is known to have; else what the log shows, else Kafka's defaults."""
    quarantined: list[Quarantined] = []
    log = LogImport(path, zone_of(zone), quarantine=quarantined.append)
    shown = log.look_over().settings
    log.config = from_texts(GroupConfig, {**shown, **(settings or {})})
    rows = list(log)
    replay = Replay(log.config)
    effects = list(replay.run(rows, log.tally.last_at_ms))
    return Imported(rows, quarantined, log.tally, effects, replay.parity, replay.groups, log.config)
