"""Scripts for a broker in virtual time, and what the importer makes of the log that it leaves, for tests.

Knows how a script is played and held against the broker's truth; must not know which scripts there are to play.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from rollcall.schemas.effects import Effect, RebalanceStarted
from tests.request_log.broker import START_MS, Broker
from tests.request_log.fleet import MemberOf
from tests.request_log.imported import Imported, imported, rebalances_in

LENGTH_MS = 60_000
AT_THE_END_MS = 50
"""What happens shortly before the last line may show in none."""
TIED_MS = 4
"""Of what is worked on within this time, a log of whole milliseconds need not show what was first."""


@dataclass
class Played:
    broker: Broker
    found: Imported

    def compare(self, group_id: str) -> None:
        """Every answer is the broker's, and every rebalance by generation, cause and culprit, until the last lines."""
        assert self.found.parity.first == []
        effects = self.effects_shown()
        ours, theirs = self.found.rebalances(group_id), rebalances_in(effects, group_id)
        assert [rebalance[0] for rebalance in ours[: len(theirs)]] == [real[0] for real in theirs]
        assert len(ours) <= len(theirs) + 1
        begun_ms = [e.at_ms for group, e in effects if group == group_id and isinstance(e, RebalanceStarted)]
        clear = [not self._is_tied(group_id, at_ms) for at_ms in begun_ms]
        assert list(compress(ours, clear)) == list(compress(theirs, clear))

    def effects_shown(self) -> list[tuple[str, Effect]]:
        """The broker's effects but for those of the end."""
        until_ms = (self.found.tally.last_at_ms or 0) - AT_THE_END_MS
        return [(group, effect) for group, effect in self.broker.effects if effect.at_ms <= until_ms]

    def _is_tied(self, group_id: str, at_ms: float) -> bool:
        near = [of for of, worked_ms in self.broker.worked if abs(worked_ms - at_ms) <= TIED_MS and of == group_id]
        return len(near) > 1


def play(script: Callable[[Broker], None], folder: Path, **broker: float) -> Played:
    """Runs a script and reads the log it left."""
    stage = Broker(**broker)  # type: ignore[arg-type]
    script(stage)
    return read(stage, folder)


def read(stage: Broker, folder: Path, acts: Iterable[tuple[float, Callable[[], Any]]] = ()) -> Played:
    """Runs a broker to the end, with what is done and when, and reads the log it left."""
    for at_ms, act in acts:
        later(stage, at_ms, act)
    stage.run(START_MS + LENGTH_MS)
    return Played(stage, imported(stage.write(folder / "requests.log")))


def with_consumer_groups(seed: int, session_timeout_ms: int = 45_000, heartbeat_interval_ms: int = 1_000) -> Broker:
    """A broker of two topics, whose consumer groups have these timeouts."""
    consumer = ConsumerConfig(session_timeout_ms=session_timeout_ms, heartbeat_interval_ms=heartbeat_interval_ms)
    return Broker(seed=seed, config=GroupConfig(topics={"t": 8, "u": 3}, consumer=consumer))


def start(broker: Broker, name: str, **member: object) -> MemberOf:
    return MemberOf(broker, "g", name, **member).start()  # type: ignore[arg-type]


def later(broker: Broker, at_ms: float, act: Callable[[], Any]) -> None:
    broker.at(START_MS + at_ms, act)


actions = st.lists(
    st.tuples(
        st.sampled_from(["start", "close", "kill", "stall", "commit"]), st.integers(0, 5), st.integers(0, LENGTH_MS)
    ),
    min_size=1,
    max_size=12,
)
