"""The log ends and fetched offsets of a request log as rows, under the names of topics. Knows how lines, names and the
rows to keep fit together; must not know the layout of a line or the rules of names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from zoneinfo import ZoneInfo

import msgspec

from rollcall.inputs.request_log.fetches import KEYS, FetchReader, Reported, UnchangedPartition, key_of
from rollcall.inputs.request_log.lines.files import LogFile, LogLine, lines_in_order
from rollcall.tables.lag.kept import KeptEnds, KeptFetches
from rollcall.tables.lag.rows import Fetched, LagRows, LogEnd

HELD_AT_MOST = 100_000
"""At most this many facts about topics without a name wait for it; more get the id as name."""
ROWS_AT_ONCE = 200_000
_LINES_A_PART = 10_000


class LagNews:
    """Reads the lines of one log in order. names: of topics by id; they may still grow."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.lines = 0
        """How many lines reported log ends."""
        self._reader, self._names = FetchReader(), names
        self._ends, self._fetches = KeptEnds(), KeptFetches()
        self._rows = LagRows()
        self._unnamed: dict[str, list[Reported]] = {}
        self._held = 0

    def take_in(self, line: LogLine) -> None:
        """Takes in a line of any API. An unreadable one is skipped: groups do not need it."""
        if key_of(line.text) not in KEYS:
            return
        try:
            reported = self._reader.read(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        self.lines += 1
        for one in reported:
            self._take_by_id(one) if one.topic in self._reader.ids else self._take(one)

    @property
    def count(self) -> int:
        """How many rows are ready."""
        return len(self._rows.ends) + len(self._rows.fetches)

    def take(self) -> LagRows:
        """The rows since the last time."""
        rows, self._rows = self._rows, LagRows()
        return rows

    def stood(self) -> LagRows:
        """The last moments of all unchanged partitions, for a log that continues."""
        return LagRows(self._ends.rest(), self._fetches.rest())

    def rest(self) -> LagRows:
        """The last rows, once the log has ended."""
        self._release(*self._unnamed)
        rows, stood = self.take(), self.stood()
        return LagRows([*rows.ends, *stood.ends], [*rows.fetches, *stood.fetches])

    def _take_by_id(self, reported: Reported) -> None:
        self._unnamed.setdefault(reported.topic, []).append(reported)
        self._held += 1
        if reported.topic in self._names:
            self._release(reported.topic)
        elif self._held >= HELD_AT_MOST:
            self._release(*self._unnamed)

    def _release(self, *topic_ids: str) -> None:
        """Takes what was held of topics, the earlier first; under the id, if the name is not known."""
        for topic_id in topic_ids:
            held = self._unnamed.pop(topic_id)
            self._held -= len(held)
            name = self._names.get(topic_id, topic_id)
            for reported in held:
                self._take(reported._replace(topic=name), topic_id)

    def _take(self, reported: Reported, topic_id: str | None = None) -> None:
        match reported:
            case LogEnd():
                self._rows.ends += self._ends.take(reported._replace(topic_id=topic_id))
            case Fetched():
                self._rows.fetches += self._fetches.take(reported)
            case UnchangedPartition():
                self._ends.confirm(reported.topic, reported.partition, reported.at_ms, topic_id)


def lag_of(files: Sequence[LogFile], zone: ZoneInfo, names: Mapping[str, str]) -> Iterator[LagRows]:
    """The lag rows of a whole log, in parts, which may be empty. Unreadable lines are skipped: groups do not need them.

    files: in the order of their first timestamps. names: of topics by id.
    """
    news = LagNews(names)
    for number, line in enumerate(lines_in_order(files, zone), 1):
        news.take_in(line)
        if number % _LINES_A_PART == 0:
            yield news.take() if news.count >= ROWS_AT_ONCE else LagRows()
    yield news.rest()
