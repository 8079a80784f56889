"""Feeds a growing log into a home's request table: each request once, whatever ends the program.

Before rows are committed, the import's whole state and its place in the log are written to a file beside the table,
under the number that the commit will carry. So the table's last commit says from which state to go on. Lines that
cannot be understood go to quarantine, in commits that carry a line's number.

Knows the files of a shadow and what a commit carries; must not know Spark, nor what a line says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec
from deltalake import DeltaTable

from coordinator_udfs.protocol.config import GroupConfig
from jobs.config import JobConfig
from jobs.home import Home, HomeError
from jobs.stream.home_tables import open_quarantine, open_requests
from jobs.stream.quarantine import quarantine_of_lines
from programs.settings import from_texts
from request_log.broker_settings import SettingsSeen
from request_log.in_runs import in_runs
from request_log.lines.files import LogLine
from request_log.lines.tail import Position
from request_log.live import LiveImport
from request_log.recorded import OrderedRequest, Quarantined
from request_log.snapshot import SnapshotError, Snapshots, restored
from tables.appending import append_once
from tables.request_rows import request_rows
from tables.whole_file import write_whole

FOLDER = "shadow"
APP_ID = "rollcall-shadow"
LINES_AT_ONCE = 2_000
REQUESTS_A_COMMIT = 20_000
UNFIT_AT_MOST = 5_000
"""So many bad lines are held before they are written."""
COMMIT_EVERY_S = 0.25
_COMMITS_SHARE = 0.1
"""How much of the time may go into commits: where commits are slow, there are fewer of them."""
_KEEP_EVERY_S = 30.0
"""How often the place in the log is kept while its lines give no rows."""


class Tail(Protocol):
    """Where lines come from."""

    @property
    def position(self) -> Position: ...

    def poll(self, lines_at_most: int) -> list[LogLine]: ...

    def close(self) -> None: ...


class Kept(msgspec.Struct):
    """The state of a shadow, in a file beside the request table."""

    log: str
    """The log that it follows, as LOG= names it."""
    zone: str
    """The zone of the log's timestamps."""
    given: dict[str, str]
    """Broker settings that the user gave, by Kafka's keys."""
    seen: SettingsSeen
    """What the log has shown of the other settings."""
    settings: dict[str, str]
    """The settings by which committed requests are answered."""
    position: Position
    """How far the log was read."""
    snapshot: bytes | None
    """The import's state there (`request_log.snapshot`); None before the first line."""


def find_kept(home: Home) -> Kept | None:
    """The state as of the last commit; None for a home without a shadow. Raises HomeError: the file cannot be read."""
    if not DeltaTable.is_deltatable(home.requests):
        return None
    commits = DeltaTable(home.requests).transaction_version(APP_ID)
    path = _path(home, commits or 0)
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=Kept)
    except FileNotFoundError:
        if commits is None:
            return None
        raise HomeError(f"{path} is missing: without it nobody knows how far the log was read.") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise HomeError(f"{path} cannot be read: {error}.") from None


class ShadowFeed:
    """Follows a log for one home. `step` is one look at the log. clock: seconds, to know how long a log did not grow.

    Where the log shows that the broker has other settings than were assumed, `has_learnt` is true, and `step` commits
    nothing more until `learn` is called. Before that call the stream must have answered all that was committed, by the
    old settings. Raises HomeError: the kept state cannot be read.
    """

    def __init__(
        self, home: Home, config: JobConfig, kept: Kept, tail: Tail, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.home = home
        self.tail = tail
        self._clock = clock
        self._kept = kept
        self._requests = open_requests(home, config)
        self._quarantine = open_quarantine(home, config)
        self._unfit: list[Quarantined] = []
        self._held: list[OrderedRequest] = []
        try:
            self.live = _live(kept, config, self._unfit)
        except SnapshotError as error:
            raise HomeError(f"{home.shown}/{FOLDER} cannot be read: {error}.") from None
        self._snapshots = Snapshots(self.live)
        self.commits = self._requests.transaction_version(APP_ID) or 0
        self._grown_at = self._kept_at = clock()
        self._commit_at = 0.0
        (home.path / FOLDER).mkdir(exist_ok=True)
        self._keep(self.commits)

    def step(self) -> bool:
        """Reads new lines and commits the requests that are certain by now; whether there may be more lines at once."""
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
        if self._held and (now >= self._commit_at or len(self._held) >= REQUESTS_A_COMMIT):
            self._commit()
        elif now - self._kept_at > _KEEP_EVERY_S and not self._held:
            self._write_unfit()
            self._keep(self.commits)
        return len(lines) == LINES_AT_ONCE

    @property
    def is_committed(self) -> bool:
        """Whether all requests that are certain are in the table."""
        return not self._held

    def log_ms(self) -> float | None:
        """The log's last moment and what has passed since; None before the first line."""
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
        """Assumes the settings that the log shows, for all requests from now on; returns all settings."""
        self._kept.settings = self._settings
        self.live.reconfigure(from_texts(GroupConfig, self._settings))
        self._keep(self.commits)
        return self._kept.settings

    @property
    def _settings(self) -> dict[str, str]:
        return {**self._kept.seen.shown(), **self._kept.given}

    def close(self) -> None:
        """Commits the requests that are certain by now."""
        if self._held:
            self._commit()

    def _commit(self) -> None:
        began = self._clock()
        self._write_unfit()
        self._keep(self.commits + 1)
        rows = request_rows(row.request for row in in_runs(self._held))
        append_once(self._requests, rows, APP_ID, self.commits + 1, has_upkeep=True)
        self.commits += 1
        self._held.clear()
        self._clear_older()
        took_s = self._clock() - began
        self._commit_at = began + max(COMMIT_EVERY_S, took_s / _COMMITS_SHARE)

    def _keep(self, commits: int) -> None:
        """Writes the state that goes with so many commits of the table."""
        self._kept.position, self._kept.snapshot = self.tail.position, self._snapshots.take()
        write_whole(_path(self.home, commits), msgspec.msgpack.encode(self._kept))
        self._kept_at = self._clock()

    def _clear_older(self) -> None:
        for path in (self.home.path / FOLDER).glob("*.state"):
            if path != _path(self.home, self.commits):
                path.unlink()

    def _write_unfit(self) -> None:
        """Appends bad lines to the quarantine, except those that it has already, from before a crash."""
        done = self._quarantine.transaction_version(APP_ID) or 0
        unfit = [line for line in self._unfit if line.line > done]
        self._unfit.clear()
        if unfit:
            append_once(self._quarantine, quarantine_of_lines(unfit), APP_ID, unfit[-1].line, has_upkeep=True)


def _live(kept: Kept, config: JobConfig, unfit: list[Quarantined]) -> LiveImport:
    live = LiveImport(config.group, unfit.append)
    if kept.snapshot is not None:
        live = restored(kept.snapshot, config.group, unfit.append)
    live.seen = kept.seen
    return live


def new_kept(log: str, zone: str, given: Mapping[str, str], seen: SettingsSeen | None = None) -> Kept:
    """The state of a shadow that has read nothing yet. seen: the settings that a first pass over the log has shown."""
    seen = seen or SettingsSeen()
    return Kept(log, zone, dict(given), seen, {**seen.shown(), **given}, Position(), None)


def _path(home: Home, commits: int) -> Path:
    return home.path / FOLDER / f"{commits:012d}.state"
