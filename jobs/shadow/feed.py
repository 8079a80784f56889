"""Feeds a growing log into a home's request table: each request once, however the program ends.

Each commit keeps the import's whole state and its place in the log. Lines that cannot be decoded go to quarantine, in
commits that carry a line's number. Must not know Spark, nor what a line says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from rollcall.inputs.following.numbered_state import NumberedState, last_state
from rollcall.inputs.quarantined import append_lines_once
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.configs_given import split_given
from rollcall.inputs.request_log.group_rows import in_runs
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.tail import Position
from rollcall.inputs.request_log.live import LiveImport
from rollcall.inputs.request_log.recorded import OrderedRequest, Quarantined
from rollcall.inputs.request_log.snapshot import SnapshotError, Snapshots, restored
from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.home_tables import open_quarantine, open_requests
from rollcall.programs.settings import from_texts
from rollcall.tables.home import Home, HomeError
from rollcall.tables.request_rows import request_rows

FOLDER = "shadow"
APP_ID = "rollcall-shadow"
LINES_AT_ONCE = 2_000
REQUESTS_A_COMMIT = 20_000
UNFIT_AT_MOST = 5_000
"""At most this many bad lines are held before they are written."""
COMMIT_EVERY_S = 0.25
_KEEP_EVERY_S = 30.0
"""How often the place in the log is kept while no line becomes a row."""


class Tail(Protocol):
    """Where lines come from."""

    @property
    def position(self) -> Position: ...

    def poll(self, lines_at_most: int) -> list[LogLine]: ...

    def close(self) -> None: ...


class ShadowState(msgspec.Struct):
    """The state of a shadow, in a file beside the request table."""

    log: str
    """The log that it follows, as LOG= names it."""
    zone: str
    """The zone of the log's timestamps."""
    given: dict[str, str]
    """Broker settings that the user gave, by Kafka's keys."""
    seen: SettingsSeen
    """The other settings, as far as the log has shown them."""
    settings: dict[str, str]
    """The settings with which committed requests are answered."""
    position: Position
    """How far the log was read."""
    snapshot: bytes | None
    """The import's state there (`rollcall.inputs.request_log.snapshot`); None before the first line."""

    def learn_version(self, version: KafkaVersion | None) -> None:
        """Takes up the version that the log's cluster says; what the log or the user says counts more."""
        self.seen.kafka_version = self.seen.kafka_version or version
        if self.snapshot is None:
            self.settings = {**self.seen.shown(), **self.given}


def find_kept(home: Home) -> ShadowState | None:
    """The state as of the last commit; None for a home without a shadow. Raises HomeError: the file cannot be read."""
    return last_state(home.path / FOLDER, home.requests, APP_ID, ShadowState, "how far the log was read")


class ShadowFeed:
    """Follows a log for one home. `step` is one look at the log. clock: seconds, to know how long a log did not grow.

    If the log shows that the broker has other settings than assumed, `has_learnt` is true, and `step` commits nothing
    until `learn` is called. Call it when the stream has answered all committed requests with the old settings. Raises
    HomeError: the kept state cannot be read.
    """

    def __init__(
        self, home: Home, config: JobConfig, kept: ShadowState, tail: Tail, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.home = home
        self.tail = tail
        self._clock = clock
        self._kept = kept
        self._states = NumberedState[ShadowState](
            home.path / FOLDER, open_requests(home, config), APP_ID, commit_every_s=COMMIT_EVERY_S, clock=clock
        )
        self._quarantine = open_quarantine(home, config)
        self._unfit: list[Quarantined] = []
        self._held: list[OrderedRequest] = []
        try:
            self.live = _live(kept, config, self._unfit)
        except SnapshotError as error:
            raise HomeError(f"{home.shown}/{FOLDER} cannot be read: {error}.") from None
        self._snapshots = Snapshots(self.live)
        self._grown_at = clock()
        self._states.keep(self._state())

    def step(self) -> bool:
        """Reads new lines and commits the requests that are certain by now; returns whether more lines may be there."""
        lines = self.tail.poll(LINES_AT_ONCE)
        now = self._clock()
        if lines:
            self._grown_at = now
        for line in lines:
            self.live.read(line)
        if len(self._unfit) >= UNFIT_AT_MOST:
            self._write_unfit()
        if self.has_learnt:
            self.close()
            return False
        self._held += self.live.release(self.log_ms() or 0)
        if self._held and (self._states.may_commit or len(self._held) >= REQUESTS_A_COMMIT):
            self.close()
        elif now - self._states.kept_at > _KEEP_EVERY_S and not self._held:
            self._write_unfit()
            self._states.keep(self._state())
        return len(lines) == LINES_AT_ONCE

    @property
    def is_committed(self) -> bool:
        """Whether all requests that are certain are in the table."""
        return not self._held

    def log_ms(self) -> float | None:
        """The time of the log's last line plus the time since it was read; None before the first line."""
        last_ms = self.live.tally.last_at_ms
        return None if last_ms is None else last_ms + self.silent_s() * 1000

    def silent_s(self) -> float:
        """How long the log has not grown."""
        return self._clock() - self._grown_at

    @property
    def has_learnt(self) -> bool:
        """Whether the log shows other settings of the broker than are assumed."""
        return self._kept.settings != self._settings

    def learn(self) -> Mapping[str, str]:
        """Uses the settings that the log shows for all later requests; returns all settings."""
        self._kept.settings = self._settings
        broker, _ = split_given(self._settings)
        self.live.reconfigure(from_texts(GroupConfig, broker))
        self._states.keep(self._state())
        return self._kept.settings

    @property
    def _settings(self) -> dict[str, str]:
        return {**self._kept.seen.shown(), **self._kept.given}

    def close(self) -> None:
        """Commits the requests that are certain by now."""
        if self._held:
            self._write_unfit()
            self._states.commit(self._state(), request_rows(in_runs(self._held)))
            self._held.clear()

    @property
    def commits(self) -> int:
        """How many commits of requests there were."""
        return self._states.number

    def _state(self) -> ShadowState:
        self._kept.position, self._kept.snapshot = self.tail.position, self._snapshots.take()
        return self._kept

    def _write_unfit(self) -> None:
        """Appends bad lines to the quarantine, except those that it already has from before a crash."""
        append_lines_once(self._quarantine, self._unfit, APP_ID)
        self._unfit.clear()


def _live(kept: ShadowState, config: JobConfig, unfit: list[Quarantined]) -> LiveImport:
    live = LiveImport(config.group, unfit.append)
    if kept.snapshot is not None:
        live = restored(kept.snapshot, config.group, unfit.append)
    live.seen = kept.seen
    _, live.survey.group_configs = split_given(kept.given)
    return live


def new_kept(log: str, zone: str, given: Mapping[str, str], seen: SettingsSeen) -> ShadowState:
    """The state of a shadow that has read nothing yet. seen: the settings that a first pass over the log has shown."""
    return ShadowState(log, zone, dict(given), seen, {**seen.shown(), **given}, Position(), None)
