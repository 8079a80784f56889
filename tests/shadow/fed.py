"""A log fed line by line to the import that follows it, as a broker would write it, for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.lines.files import LogLine, files_in_order, lines_in_order
from rollcall.inputs.request_log.live import LiveImport
from rollcall.inputs.request_log.recorded import OrderedRequest
from rollcall.inputs.request_log.snapshot import Snapshots, restored
from rollcall.schemas.effects import Effect
from rollcall.schemas.messages import HeartbeatRequest
from tests.request_log.core_replay import Replay
from tests.request_log.truth import FOLDER, NAMES
from tests.source_tree import ROOT

CAPTURES = [FOLDER / name for name in NAMES]
INCIDENTS = sorted((ROOT / "tests" / "request_log" / "incidents").glob("*.log.gz"))
LONG_AFTER_MS = 4_000_000
"""How long after its last line a log is surely over."""

UTC = ZoneInfo("UTC")


@cache
def lines_of(path: Path) -> list[LogLine]:
    return list(lines_in_order(files_in_order(path, UTC), UTC))


class Heard:
    """The listener of one group."""

    def __init__(self, feed: Feed, group_id: str) -> None:
        self._feed, self._group_id = feed, group_id

    def take(self, ordered: OrderedRequest) -> None:
        self._feed.released.append((self._feed.at_ms, ordered))

    def accept(self, beat: OrderedRequest) -> None:
        self.take(beat)
        assert isinstance(beat.request, HeartbeatRequest)
        self._feed.beats.append((self._group_id, beat.request.received_at_ms, beat.request.member_id))

    def take_effects(self, effects: list[Effect]) -> None:
        self._feed.effects[self._group_id] += effects


class Feed:
    """Feeds an import and looks at it every so often of the log's time. released: rows, with the log's time then."""

    def __init__(self, config: GroupConfig, look_every_ms: int = 250) -> None:
        self.live = LiveImport(config, self.listener_of)
        self.look_every_ms = look_every_ms
        self.released: list[tuple[int, OrderedRequest]] = []
        self.effects: defaultdict[str, list[Effect]] = defaultdict(list)
        """By group, without the answers to accepted heartbeats."""
        self.beats: list[tuple[str, int, str]] = []
        """The accepted heartbeats: group, time and member."""
        self.at_ms = 0
        self._next_look_ms: int | None = None

    def go_on(self, config: GroupConfig) -> None:
        """The import is thrown away and made again from its snapshot."""
        self.live = restored(Snapshots(self.live).take(), config, self.listener_of)

    def listener_of(self, group_id: str) -> Heard:
        return Heard(self, group_id)

    def feed(self, lines: Iterable[LogLine], after_each: Callable[[int], None] = lambda place: None) -> Feed:
        """after_each: called after each line with the number of lines so far."""
        for place, line in enumerate(lines, 1):
            if line.at_ms is not None and (self._next_look_ms is None or line.at_ms >= self._next_look_ms):
                self.look()
                self._next_look_ms = line.at_ms + self.look_every_ms
            self.live.read(line)
            after_each(place)
        return self

    def look(self, later_ms: int = 0) -> None:
        """later_ms: how long the log has stood still."""
        self.at_ms = (self.live.tally.last_at_ms or 0) + later_ms
        self.live.release(self.at_ms)

    def end(self) -> Feed:
        """The log stands still for ever."""
        self.look(LONG_AFTER_MS)
        return self

    @property
    def rows(self) -> list[OrderedRequest]:
        return [row for _, row in self.released]


def effects_of(rows: Iterable[OrderedRequest], config: GroupConfig, end_ms: int | None) -> dict[str, list[Effect]]:
    """What the rows lead to, by group; rows of different groups may come in any order."""
    by_group: dict[str, list[Effect]] = defaultdict(list)
    in_order = sorted(rows, key=lambda row: row.request.received_at_ms)
    for group_id, effect in Replay(config).run(in_order, end_ms):
        by_group[group_id].append(effect)
    return by_group


def reported(effects: Iterable[Effect]) -> list[str]:
    """Effects as texts; those of one moment in any order."""
    return sorted(map(repr, effects))
