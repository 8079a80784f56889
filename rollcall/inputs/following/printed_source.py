"""What a broker prints, its server.log, as facts while it grows.

The state has the facts that later lines may change. Must not know what a line says, nor when facts are committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from rollcall.inputs.following.following import last_state
from rollcall.inputs.following.merging_feed import Known
from rollcall.inputs.following.source import LogSource, Tail
from rollcall.inputs.printed.groups.live_groups import Given, LiveGroups
from rollcall.inputs.printed.growing_log import GrowingLog, Read
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.lines.files import LogLine, is_far_ahead
from rollcall.inputs.request_log.lines.tail import Position
from rollcall.inputs.request_log.recorded import Quarantined
from rollcall.schemas.effect_rows import EffectRow, of_group, rows_of
from rollcall.tables.home import Home

FOLDER = "printed"
APP_ID = "rollcall-printed"
LOOKS_SHARE = 0.5
"""The share of time that looking for what is due may take."""


class PrintedKept(msgspec.Struct):
    """The state of such a shadow."""

    log: str
    """The log that it follows, as the user named it."""
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


def find_printed(home: Home) -> PrintedKept | None:
    """The state as of the last commit; None: the home has no such shadow. Raises HomeError: it cannot be read."""
    return last_state(home.path / FOLDER, home.effects, APP_ID, PrintedKept, "how far the log was read")


class PrintedSource(LogSource):
    """A broker's log whose state the home holds. clock: seconds. is_beside: as in `LiveGroups`."""

    folder, app_id = FOLDER, APP_ID
    not_known: tuple[str, ...] = (
        "a broker's own log has no heartbeats, commits and hosts; a rebalance is shown when it has ended.",
    )

    def __init__(
        self,
        kept: PrintedKept,
        tail: Tail[LogLine, Position],
        clock: Callable[[], float] = time.monotonic,
        *,
        is_beside: bool = False,
    ) -> None:
        super().__init__(tail, clock)
        self._kept, self.shown = kept, kept.log
        self._log = GrowingLog(kept.log, zone_of(kept.zone), kept.unread)
        self._groups = LiveGroups(kept.facts, kept.given, is_beside=is_beside)
        self._log_ms = max((fact.at_ms for fact in kept.facts if fact.at_ms is not None), default=kept.position.at_ms)
        """The last line's time."""
        self._in_file_ms = kept.position.at_ms
        """The same by the file's own clock."""
        self._due: list[EffectRow] = []
        self._look_at = 0.0

    @property
    def counts(self) -> str:
        kept = self._kept
        return f"{kept.lines} lines read, {kept.facts_read} about groups, {kept.doubtful} in quarantine"

    @property
    def due_rows(self) -> int:
        return len(self._due)

    def read(self, lines: Sequence[LogLine], *, is_pause: bool) -> None:
        self._kept.lines += len(lines)
        if lines or (is_pause and self._log.unread):
            texts = [(line.number, line.text.decode("utf-8", "replace")) for line in lines]
            self._take(self._log.read(texts, is_pause=is_pause), lines)
            self._note_time(lines)

    def look(self) -> None:
        now = self._clock()
        if self._log_ms is None or now < self._look_at:
            return
        for due in self._groups.due(self._log_ms + self.silent_ms):
            self._due += of_group(due.group_id, rows_of(due.shown, due.first_seq))
        ended = self._clock()
        self._look_at = ended + (ended - now) / LOOKS_SHARE

    def take_due(self) -> list[EffectRow]:
        due, self._due = self._due, []
        return due

    def state(self) -> PrintedKept:
        kept = self._kept
        kept.position, kept.unread = self._tail.position, self._log.unread
        kept.facts, kept.given = self._groups.facts, self._groups.given
        return kept

    def settle(self, number: int) -> None:
        """Nothing: all that comes of lines are facts."""

    def known(self, hold_ms: int, now_ms: float) -> Known:
        until_ms = now_ms if self.silent_ms >= hold_ms or self._log_ms is None else self._log_ms
        waits_ms = self._log.unread_from_ms()
        before_ms = int(until_ms if waits_ms is None else min(until_ms, waits_ms)) - hold_ms
        waiting = self._groups.waiting()
        return Known(
            {group_id: min(before_ms, first_ms - hold_ms) for group_id, first_ms in waiting.items()}, before_ms
        )

    def _take(self, read: Read, lines: Sequence[LogLine]) -> None:
        self._groups.take(read.facts)
        self._kept.facts_read += len(read.facts)
        self._kept.doubtful += len(read.doubtful)
        self.unfit += [Quarantined(line.file, line.number, line.broken, "") for line in lines if line.broken]
        self.unfit += [Quarantined(entry.file, entry.line_number, why, entry.text) for entry, why in read.doubtful]

    def _note_time(self, lines: Sequence[LogLine]) -> None:
        """Notes the last line's time. One a day ahead may be wrong, unless the file's own clock has it too."""
        if lines:
            self._in_file_ms = lines[-1].at_ms
        read_ms = self._log.at_ms
        if read_ms is None or (self._in_file_ms is not None and is_far_ahead(read_ms, self._log_ms)):
            read_ms = self._in_file_ms
        self._log_ms = read_ms
