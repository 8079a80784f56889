"""A log through the importer, for tests: requests, effects, parity, and what there is to say of them.

That the pure core gives the very effects when the requests are applied again is asserted of every log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import merge
from pathlib import Path
from typing import Any

import msgspec

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.inputs.request_log.broker_settings import split_given
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.parity import Comparing, Parity
from rollcall.inputs.request_log.recorded import OrderedRequest, Quarantined, Tally
from rollcall.programs.settings import from_texts
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import Effect, RebalanceStarted, Reply
from rollcall.schemas.errors import Error
from tests.request_log.core_replay import Replay
from tests.whole_log import WholeLog


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


@dataclass
class Heard:
    """All that comes of a group."""

    comparing: Comparing
    requests: list[OrderedRequest] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)

    def take(self, ordered: OrderedRequest) -> None:
        self.requests.append(ordered)
        self.comparing.take(ordered)

    def accept(self, beat: OrderedRequest) -> None:
        self.requests.append(beat)
        self.comparing.accept(beat)

    def take_effects(self, effects: list[Effect]) -> None:
        self.effects += effects
        self.comparing.take_effects(effects)


def imported(path: Path, zone: str = "UTC", settings: Mapping[str, str] | None = None) -> Imported:
    """settings: what the broker is known to have; else what the log shows, else Kafka's defaults."""
    quarantined: list[Quarantined] = []
    log = WholeLog(path, zone_of(zone), quarantine=quarantined.append)
    found = log.look_over()
    broker, found.group_configs = split_given(settings or {})
    log.config = from_texts(GroupConfig, found.seen.beside(broker))
    parity = Parity()
    heard: defaultdict[str, Heard] = defaultdict(lambda: Heard(Comparing(parity)))
    log.follow(heard.__getitem__)
    for group in heard.values():
        group.comparing.close()
    rows = list(merge(*(group.requests for group in heard.values()), key=lambda row: row.request.received_at_ms))
    replay = Replay(log.config)
    effects = list(replay.run(rows, log.tally.last_at_ms))
    again: defaultdict[str, list[Effect]] = defaultdict(list)
    for group_id, effect in effects:
        again[group_id].append(effect)
    for group_id, group in heard.items():
        assert texts_of(group.effects) == texts_of(again[group_id]), group_id
    assert (parity.equal, parity.different) == (replay.parity.equal, replay.parity.different)
    return Imported(rows, quarantined, log.tally, effects, parity, replay.groups, log.config)


def texts_of(effects: Iterable[Effect]) -> list[bytes]:
    """Effects to be compared, without the answers of accepted heartbeats."""
    return [
        msgspec.json.encode(row_of(effect, 0))
        for effect in effects
        if not (isinstance(effect, Reply) and effect.api == "Heartbeat" and effect.error_code is Error.NONE)
    ]
