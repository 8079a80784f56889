"""A growing request log as facts: its lines become requests, and the coordinator's rules answer them here.

A home has the requests too. Those of a commit are in its state until they are in their table. Must not know what a line
says, nor when facts are committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from rollcall.inputs.following.following import last_state
from rollcall.inputs.following.lag_lines import LagLines
from rollcall.inputs.following.merging_feed import Known
from rollcall.inputs.following.source import LogSource, Tail
from rollcall.inputs.request_log.broker_settings import SettingsSeen, split_given
from rollcall.inputs.request_log.group_rows import GroupRows
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.tail import Position
from rollcall.inputs.request_log.live import LiveImport
from rollcall.inputs.request_log.recorded import given_up
from rollcall.inputs.request_log.snapshot import SnapshotError, Snapshots, restored
from rollcall.programs.settings import from_texts
from rollcall.schemas.effect_rows import EffectRow, of_group
from rollcall.schemas.tables import REQUESTS
from rollcall.tables.appending import OpenTable, append_once
from rollcall.tables.home import Home, HomeError
from rollcall.tables.request_table import request_line
from rollcall.tables.rows import read_lines

FOLDER = "shadow"
APP_ID = "rollcall-shadow"
REQUESTS_ID = "rollcall-shadow-requests"
LOOK_EVERY_S = 0.5
"""How often a log without new lines is looked at for what its time makes due."""
_AFTER_SPARK = 1 << 30
"""Numbers of facts from here on are greater than those that Spark gave them in a millisecond."""
_UNKNOWN = "how far the log was read"


class ShadowState(msgspec.Struct):
    """The state of a shadow."""

    log: str
    """The log that it follows, as the user named it."""
    zone: str
    """The zone of the log's timestamps."""
    given: dict[str, str]
    """Broker settings that the user gave, by Kafka's keys."""
    seen: SettingsSeen
    """The other settings, as far as the log has shown them."""
    settings: dict[str, str]
    """The settings with which requests are answered."""
    position: Position
    """How far the log was read."""
    snapshot: bytes | None
    """The import's state there (`rollcall.inputs.request_log.snapshot`); None before the first line."""
    facts: dict[str, tuple[int, int]] = {}
    """By group, the time of its last fact, and that one's number in its millisecond."""
    requests: bytes | None = None
    """The rows of the requests of this commit, as lines of JSON. None: an earlier version's, by which Spark answers."""

    def learn_version(self, version: KafkaVersion | None) -> None:
        """Takes up the version that the log's cluster says; what the log or the user says counts more."""
        self.seen.kafka_version = self.seen.kafka_version or version
        if self.snapshot is None:
            self.settings = self.seen.beside(self.given)


def find_kept(home: Home) -> ShadowState | None:
    """The state as of the last commit; None for a home without a shadow. Raises HomeError: the file cannot be read."""
    kept = last_state(home.path / FOLDER, home.effects, APP_ID, ShadowState, _UNKNOWN)
    if kept is not None and kept.requests is not None:
        return kept
    # An earlier version's number is that of its last commit of requests.
    return last_state(home.path / FOLDER, home.requests, APP_ID, ShadowState, _UNKNOWN)


def new_kept(log: str, zone: str, given: Mapping[str, str], seen: SettingsSeen) -> ShadowState:
    """The state of a shadow that has read nothing yet. seen: the settings that a first pass over the log has shown."""
    return ShadowState(log, zone, dict(given), seen, seen.beside(given), Position(), None, requests=b"")


class RequestSource(LogSource):
    """A request log whose state the home holds. requests: the home's table of them. say: for sentences to the
    user. clock: seconds.

    Raises HomeError: the kept state cannot be read.
    """

    folder, app_id = FOLDER, APP_ID
    not_known: tuple[str, ...] = ()

    def __init__(
        self,
        home: Home,
        requests: OpenTable,
        kept: ShadowState,
        tail: Tail[LogLine, Position],
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(tail, clock)
        self._requests, self._kept, self._say, self.shown = requests, kept, say, kept.log
        self.due_rows = 0
        self._groups: dict[str, GroupRows] = {}
        try:
            self.live = self._live(_config_of(kept.settings))
        except SnapshotError as error:
            raise HomeError(f"{home.shown}/{FOLDER} cannot be read: {error}.") from None
        if kept.requests is None:
            for group_id, held in self.live.groups.items():
                self._groups[group_id].at_ms, self._groups[group_id].seq = held.numbered.at_ms, _AFTER_SPARK
            kept.requests = b""
        self._snapshots = Snapshots(self.live)
        self._lag = LagLines(home.path, self.live.names.names, clock)
        self._look_at = 0.0

    @property
    def counts(self) -> str:
        tally = self.live.tally
        return f"{tally.read} lines read, {tally.used} used, {tally.quarantined.total()} in quarantine"

    def read(self, lines: Sequence[LogLine], *, is_pause: bool) -> None:
        for line in lines:
            self.live.read(line)
        self._lag.read(lines)
        if lines:
            self._look_at = 0.0
        shown = self._kept.seen.beside(self._kept.given)
        if shown != self._kept.settings:
            self._kept.settings = shown
            self.live.reconfigure(_config_of(shown))
            settings = " ".join(f"{key}={value}" for key, value in sorted(shown.items()))
            self._say(f"rollcall: the broker has {settings or 'the default settings'}, as the log shows.")

    def look(self) -> None:
        last_ms, now = self.live.tally.last_at_ms, self._clock()
        if last_ms is None or now < self._look_at:
            return
        self._look_at = now + LOOK_EVERY_S
        self.live.release(last_ms + self.silent_ms)
        self.due_rows = sum(group.waiting for group in self._groups.values())

    def take_due(self) -> list[EffectRow]:
        due, lines = list[EffectRow](), list[bytes]()
        for group_id, group in self._groups.items():
            group.end_run()
            due += of_group(group_id, group.facts)
            lines += [request_line(request, group_id) + b"\n" for request in group.requests]
            group.facts.clear()
            group.requests.clear()
        self._kept.requests, self.due_rows = b"".join(lines), 0
        self._groups = {group_id: group for group_id, group in self._groups.items() if group_id in self.live.groups}
        return due

    def state(self) -> ShadowState:
        kept = self._kept
        kept.position, kept.snapshot = self._tail.position, self._snapshots.take()
        kept.facts = {group_id: (group.at_ms, group.seq) for group_id, group in self._groups.items()}
        return kept

    def settle(self, number: int) -> None:
        if self._kept.requests:
            rows = read_lines([self._kept.requests], REQUESTS.arrow)
            append_once(self._requests, rows, REQUESTS_ID, number, has_upkeep=True)
            self._kept.requests = b""

    def known(self, hold_ms: int, now_ms: float) -> Known:
        silent_ms = self.silent_ms
        last_ms, is_silent = self.live.tally.last_at_ms, silent_ms >= hold_ms
        until_ms = now_ms if is_silent or last_ms is None else last_ms + silent_ms
        return known_of(self.live, int(until_ms) - hold_ms, is_silent=is_silent)

    def close(self) -> None:
        self._lag.close()
        super().close()

    def closing_lines(self) -> Iterator[str]:
        """The groups that were given up."""
        return given_up(self.live.tally)

    def _live(self, config: GroupConfig) -> LiveImport:
        kept = self._kept
        if kept.snapshot is None:
            live = LiveImport(config, self._listener_of, self.unfit.append)
        else:
            live = restored(kept.snapshot, config, self._listener_of, self.unfit.append)
        live.seen = kept.seen
        _, live.survey.group_configs = split_given(kept.given)
        return live

    def _listener_of(self, group_id: str) -> GroupRows:
        if group_id not in self._groups:
            self._groups[group_id] = GroupRows(*self._kept.facts.get(group_id, (-1, 0)))
        return self._groups[group_id]


def _config_of(settings: Mapping[str, str]) -> GroupConfig:
    return from_texts(GroupConfig, split_given(settings)[0])


def known_of(live: LiveImport, before_ms: int, *, is_silent: bool) -> Known:
    """Up to which time everything that follows from a log's lines of each group is known.

    before_ms: everything before it has been read. is_silent: the log does not grow, so no session is waited for. Time
    is the log's, and so its broker's; while the log is silent it is this machine's.
    """
    by_group: dict[str, int] = {}
    for group_id, held in live.groups.items():
        known_ms = before_ms
        if held.entries:
            known_ms = min(known_ms, int(held.entries[0].began_ms) - 1)
        elif not is_silent:
            members = held.follower.model.group.members.values()
            due_ms = min((member.session_deadline_ms or before_ms for member in members), default=before_ms)
            known_ms = min(known_ms, due_ms - 1)
        by_group[group_id] = max(known_ms, held.numbered.at_ms - 1)
    return Known(by_group, before_ms)
