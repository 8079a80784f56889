"""Follows what a broker prints, its server.log, on a home: each effect once, however the program ends.

No query runs and no JVM: lines become effects in this process. Each commit keeps the facts that later lines may change,
and the place in the log. Must not know what a line says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import msgspec
from pyspark.sql.streaming.query import StreamingQuery

from rollcall.inputs.following.numbered_state import NumberedState, last_state
from rollcall.inputs.printed.groups.live_groups import Given, LiveGroups
from rollcall.inputs.printed.growing_log import GrowingLog, Read
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.quarantined import append_lines_once
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.lines.files import LogLine, is_far_ahead
from rollcall.inputs.request_log.lines.tail import Position
from rollcall.inputs.request_log.recorded import Quarantined
from rollcall.inputs.shown_rows import rows_of
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow.feed import Tail
from rollcall.jobs.shadow.log_progress import Known
from rollcall.jobs.stream.home_tables import open_effects, open_quarantine
from rollcall.jobs.stream.upkeep import Upkeep
from rollcall.schemas.effect_rows import texts_of
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter
from rollcall.tables.rows import typed_rows

PRINTED_SHADOW = "shadow of a broker's log"
FOLDER = "printed"
APP_ID = "rollcall-printed"
LINES_AT_ONCE = 2_000
PAUSE_S = 1.0
"""A log without new lines for this long has written its last one to the end."""
COMMIT_EVERY_S = 0.5
LOOKS_SHARE = 0.5
"""The share of time that looking for what is due may take."""
_KEEP_EVERY_S = 30.0
"""How often the place in the log is kept while nothing is due."""


class PrintedKept(msgspec.Struct):
    """The state of such a shadow."""

    log: str
    """The log that it follows, as LOG= names it."""
    zone: str
    """The zone of the log's timestamps."""
    position: Position = msgspec.field(default_factory=Position)
    """How far the log was read."""
    unread: list[tuple[int, str]] = []
    """Lines that were read and are not understood yet, with their numbers."""
    facts: list[LoggedFact] = []
    given: dict[str, Given] = {}
    """By group id, how far its effects are in the home."""
    lines: int = 0
    facts_read: int = 0
    doubtful: int = 0


class PrintedFollowing:
    """Follows a log on a home that is locked and checked. status: gets each commit. clock: seconds.

    Raises HomeError: the kept state cannot be read.
    """

    def __init__(
        self,
        home: Home,
        kept: PrintedKept,
        tail: Tail,
        config: JobConfig,
        status: StatusWriter,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home, self._kept, self._tail, self._config = home, kept, tail, config
        self._status, self._clock = status, clock
        table = open_effects(home, config)
        self._states = NumberedState[PrintedKept](
            home.path / FOLDER, table, APP_ID, commit_every_s=COMMIT_EVERY_S, clock=clock
        )
        self._quarantine = open_quarantine(home, config)
        self._log = GrowingLog(kept.log, zone_of(kept.zone), kept.unread)
        self._groups = LiveGroups(kept.facts, kept.given)
        self._log_ms = max((fact.at_ms for fact in kept.facts if fact.at_ms is not None), default=kept.position.at_ms)
        """The last line's time."""
        self._held: list[str] = []
        self._unfit: list[Quarantined] = []
        self._grown_at = clock()
        self._look_at = 0.0
        status.running(str(uuid4()), int(time.time() * 1000))
        self._states.keep(self._state())

    @property
    def shown(self) -> str:
        return self._kept.log

    @property
    def queries(self) -> list[StreamingQuery]:
        return []

    @property
    def counts(self) -> str:
        kept = self._kept
        return f"{kept.lines} lines read, {kept.facts_read} about groups, {kept.doubtful} in quarantine"

    def goes_on(self) -> bool:
        return True

    def not_known(self) -> tuple[str, ...]:
        return ("a broker's own log has no heartbeats, commits and hosts; a rebalance is shown when it has ended.",)

    def upkeeps(self) -> list[Upkeep]:
        return [Upkeep(self._home, self._config, lambda: None)]

    def known(self, hold_ms: int, now_ms: float) -> Known | None:
        """Up to which time the effects of each group are in the home; None: some that are due are not yet there.

        hold_ms: how long after its time a line may be written, and how long a silent log is waited for. now_ms: the
        time of this machine, which counts while the log is silent.
        """
        if self._held:
            return None
        is_silent = (self._clock() - self._grown_at) * 1000 >= hold_ms
        until_ms = now_ms if is_silent or self._log_ms is None else self._log_ms
        waits_ms = self._log.unread_from_ms()
        before_ms = int(until_ms if waits_ms is None else min(until_ms, waits_ms)) - hold_ms
        waiting = self._groups.waiting()
        return Known(
            {group_id: min(before_ms, first_ms - hold_ms) for group_id, first_ms in waiting.items()}, before_ms
        )

    def step(self) -> bool:
        """One look at the log; returns whether more lines may be there."""
        lines = self._tail.poll(LINES_AT_ONCE)
        now = self._clock()
        if lines:
            self._grown_at = now
            self._kept.lines += len(lines)
        is_pause = now - self._grown_at >= PAUSE_S
        if lines or (is_pause and self._log.unread):
            self._take(self._log.read([(line.number, _text(line)) for line in lines], is_pause=is_pause), lines)
            self._note_time()
        self._note_due()
        if (self._held or self._unfit) and self._states.may_commit:
            self._commit()
        elif now - self._states.kept_at > _KEEP_EVERY_S:
            self._states.keep(self._state())
        return len(lines) == LINES_AT_ONCE

    def finish(self) -> None:
        """Commits what is due by now."""
        if self._held or self._unfit:
            self._commit()
        self._states.keep(self._state())

    def closing_lines(self) -> Iterator[str]:
        return iter(())

    def _take(self, read: Read, lines: list[LogLine]) -> None:
        self._groups.take(read.facts)
        self._kept.facts_read += len(read.facts)
        self._kept.doubtful += len(read.doubtful)
        self._unfit += [Quarantined(line.file, line.number, line.broken, "") for line in lines if line.broken]
        self._unfit += [Quarantined(entry.file, entry.line_number, why, entry.text) for entry, why in read.doubtful]

    def _note_time(self) -> None:
        """Notes the last line's time. One a day ahead may be wrong, unless the file's own clock has it too."""
        in_file_ms, read_ms = self._tail.position.at_ms, self._log.at_ms
        if read_ms is None or (in_file_ms is not None and is_far_ahead(read_ms, self._log_ms)):
            read_ms = in_file_ms
        self._log_ms = read_ms

    def _note_due(self) -> None:
        """Takes what is due by the log's time, which goes on while nothing is written."""
        now = self._clock()
        if self._log_ms is None or now < self._look_at:
            return
        for due in self._groups.due(self._log_ms + (now - self._grown_at) * 1000):
            self._held += texts_of(due.group_id, rows_of(due.shown, due.first_seq))
        ended = self._clock()
        self._look_at = ended + (ended - now) / LOOKS_SHARE

    def _commit(self) -> None:
        """Appends what is due, with the place in the log behind it; bad lines are in quarantine before."""
        self._write_unfit()
        rows = typed_rows(self._held)
        self._states.commit(self._state(), rows)
        self._held.clear()
        self._status.batch_done(self._states.number, rows.num_rows, 0)

    def _write_unfit(self) -> None:
        append_lines_once(self._quarantine, self._unfit, APP_ID)
        self._unfit.clear()

    def _state(self) -> PrintedKept:
        kept = self._kept
        kept.position, kept.unread = self._tail.position, self._log.unread
        kept.facts, kept.given = self._groups.facts, self._groups.given
        return kept


def find_printed(home: Home) -> PrintedKept | None:
    """The state as of the last commit; None: the home has no such shadow. Raises HomeError: it cannot be read."""
    return last_state(home.path / FOLDER, home.effects, APP_ID, PrintedKept, "how far the log was read")


def _text(line: LogLine) -> str:
    return line.text.decode("utf-8", "replace")
