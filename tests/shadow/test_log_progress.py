"""The time up to which a followed log is said to be complete: no later fact is of a time before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.following.merging_feed import Known
from rollcall.inputs.following.request_source import known_of
from rollcall.inputs.request_log.live import LOOK_AHEAD_MS
from tests.request_log.broker import START_MS, Broker
from tests.request_log.fleet import MemberOf
from tests.shadow.fed import CAPTURES, Feed, lines_of

HOLD_MS = 30_000
SMALL = [path for path in CAPTURES if path.name != "j-busy-1"]


class Noting(Feed):
    """Holds what an import gives against what was known before."""

    known: Known = Known({}, -1)
    behind_ms: list[int]
    """How far behind the log's time what is known of each group was."""

    def look(self, later_ms: int = 0) -> None:
        before, known = len(self.released), self.known
        super().look(later_ms)
        for _, row in self.released[before:]:
            assert row.request.received_at_ms > known.of(row.group_id), row.request
        at_ms = (self.live.tally.last_at_ms or 0) + later_ms
        self.known = known_of(self.live, at_ms - HOLD_MS, is_silent=later_ms >= HOLD_MS)
        assert all(self.known.of(group_id) >= known.of(group_id) for group_id in self.live.groups)
        self.behind_ms = [at_ms - known_ms for known_ms in self.known.by_group.values()]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_what_comes_later_happened_later(path: Path) -> None:
    noting = Noting(GroupConfig(), 1_000)
    noting.feed(lines_of(path))
    noting.look(HOLD_MS)
    noting.end()
    assert noting.behind_ms == [HOLD_MS] * len(noting.live.groups)


def test_a_group_that_beats_is_known_sooner_than_one_that_is_silent(tmp_path: Path) -> None:
    broker = Broker()
    for who in range(2):
        MemberOf(broker, "g", f"m{who}").start()
    broker.run(START_MS + 60_000)
    noting = Noting(GroupConfig(), 1_000)
    noting.feed(lines_of(broker.write(tmp_path / "requests.log")))
    assert max(noting.behind_ms) < 2 * LOOK_AHEAD_MS
    assert noting.known.of("another") < noting.known.of("g") - HOLD_MS + 2 * LOOK_AHEAD_MS
