"""Lines as requests, each line counted: used, skipped or put into quarantine.

Knows whether a line is used; knows no order of lines.
"""

from __future__ import annotations

from collections.abc import Callable

from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.line import LineReader, Unreadable
from rollcall.inputs.request_log.recorded import LoggedRequest, Quarantined, Tally

_RAW_KEPT = 4_000
_REASON_KEPT = 400


class Reading:
    """Reads lines and keeps the tally of a log; bad lines go to `quarantine`."""

    def __init__(self, reader: LineReader, tally: Tally, quarantine: Callable[[Quarantined], None]) -> None:
        self._reader = reader
        self._tally = tally
        self._quarantine = quarantine

    def read(self, line: LogLine) -> list[LoggedRequest]:
        """The requests in a line; none for a line that is skipped or bad."""
        tally = self._tally
        self._count(line)
        try:
            logged = self._reader.read(line)
        except Unreadable as error:
            bad = Quarantined(
                file=line.file,
                line=line.number,
                reason=str(error)[:_REASON_KEPT],
                text=line.text[:_RAW_KEPT].decode("utf-8", "replace"),
            )
            tally.quarantined[error.kind] += 1
            tally.examples.setdefault(error.kind, f"{bad.file} line {bad.line}: {bad.reason}")
            self._quarantine(bad)
            return []
        if isinstance(logged, str):
            tally.skip(logged)
            return []
        if logged[0].was_refused and all(entry.was_refused for entry in logged):
            tally.skip(f"refused before it reached its group: {logged[0].recorded.error}")
        else:
            tally.used += 1
        return logged

    def _count(self, line: LogLine) -> None:
        tally = self._tally
        tally.read += 1
        if line.at_ms is not None:
            if tally.first_at_ms is None:
                tally.first_at_ms = line.at_ms
            if tally.last_at_ms is None or line.at_ms > tally.last_at_ms:
                tally.last_at_ms = line.at_ms
