"""What is kept of what is reported: what changed, and of a time in which nothing changed its first and its last moment.

With both ends of such a time known, a moment between two rows is interpolated over the time in which the log grew, and
not over the time in which it stood still. Knows no clock: every moment is given.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollcall.tables.lag.rows import Fetched, LogEnd

LATE_MS = 5_000
"""An end below one that was reported less than this before is late news: answers of two connections may cross. Later it
means that the log was cut, or its topic made again."""
MOVING_WITHIN_MS = 60_000
"""A partition moves whose commit rose within this before the latest news of it."""
FETCHED_EVERY_MS = 1_000
"""A client's fetched offset of a partition is kept this often at most."""


@dataclass(slots=True)
class _Known:
    """A partition as it was reported last."""

    start: int | None = None
    end: int | None = None
    stable: int | None = None
    at_ms: int = 0
    """When it was known to end there."""
    kept_at_ms: int = 0
    """The moment of its latest row with an end."""
    known_from: str = ""
    topic_id: str | None = None
    """As it was reported last; a later report without one does not change it."""
    is_id_reported: bool = False
    """The latest report had it."""
    former_ids: tuple[str, ...] = ()
    """Of the topics of this name that are gone."""


class KeptEnds:
    """The partitions of a cluster, each as it was reported last."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], _Known] = {}

    def take(self, reported: LogEnd) -> list[LogEnd]:
        """The rows that become of it: none where nothing changed, else the time without a change ends first.

        A log start may be reported alone, and an end too. What crossed newer news is late, and left out.
        """
        known = self._known.setdefault((reported.topic, reported.partition), _Known())
        if reported.end_offset is None:
            return self._take_start(reported, known)
        at_ms = max(reported.at_ms, known.at_ms)
        is_below = known.end is not None and reported.end_offset < known.end
        is_other = None not in (reported.topic_id, known.topic_id) and reported.topic_id != known.topic_id
        is_late = known.at_ms - reported.at_ms > LATE_MS or reported.topic_id in known.former_ids
        if is_late or (is_below and not is_other and reported.at_ms - known.at_ms < LATE_MS):
            return []
        is_cut = is_below or is_other
        start, stable = reported.log_start_offset, reported.last_stable_offset
        if not is_cut:
            start = _higher(start, known.start)
            stable = _stable(reported, known)
        is_same_log = reported.topic_id is None or reported.topic_id == known.topic_id
        if is_same_log and (start, reported.end_offset, stable) == (known.start, known.end, known.stable):
            known.at_ms, known.known_from = at_ms, reported.known_from
            known.is_id_reported = reported.topic_id is not None
            return []
        rows = self._last(reported.topic, reported.partition, known)
        known.is_id_reported = reported.topic_id is not None
        if reported.topic_id is not None:
            if is_other and known.topic_id is not None:
                known.former_ids += (known.topic_id,)
            known.topic_id = reported.topic_id
        known.start, known.end, known.stable = start, reported.end_offset, stable
        known.at_ms = known.kept_at_ms = at_ms
        known.known_from = reported.known_from
        return [*rows, reported._replace(at_ms=at_ms, log_start_offset=start, last_stable_offset=stable)]

    def confirm(self, topic: str, partition: int, at_ms: int, topic_id: str | None = None) -> None:
        """The partition still stands where it was reported last, as of this moment; not if it was another topic's."""
        known = self._known.get((topic, partition))
        if known is not None and known.end is not None and topic_id in (None, known.topic_id):
            known.at_ms = max(known.at_ms, at_ms)

    def rest(self) -> list[LogEnd]:
        """The last moments of all that did not change since its latest row."""
        return [row for (topic, partition), known in self._known.items() for row in self._last(topic, partition, known)]

    @staticmethod
    def _take_start(reported: LogEnd, known: _Known) -> list[LogEnd]:
        start = reported.log_start_offset
        if start is None or (known.start is not None and start <= known.start):
            return []
        known.start = start
        return [reported]

    @staticmethod
    def _last(topic: str, partition: int, known: _Known) -> list[LogEnd]:
        if known.at_ms <= known.kept_at_ms:
            return []
        known.kept_at_ms = known.at_ms
        topic_id = known.topic_id if known.is_id_reported else None
        return [LogEnd(topic, partition, known.at_ms, known.start, known.end, known.stable, known.known_from, topic_id)]


def _higher(reported: int | None, known: int | None) -> int | None:
    """What does not go down while the log is not cut; what was known stays where nothing is reported."""
    if reported is None or known is None:
        return known if reported is None else reported
    return max(reported, known)


def _stable(reported: LogEnd, known: _Known) -> int | None:
    """Where it is not reported, it stands while a transaction is open or nothing was appended; else nobody knows it."""
    if reported.last_stable_offset is not None or known.stable is None or known.end is None:
        return _higher(reported.last_stable_offset, known.stable)
    return known.stable if known.stable < known.end or reported.end_offset == known.end else None


class KeptFetches:
    """Where each client fetched from a partition last."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str, int], Fetched] = {}
        self._later: dict[tuple[str, str, str, int], Fetched] = {}

    def take(self, reported: Fetched) -> list[Fetched]:
        """The rows that become of it: none where the offset is the same, or the latest row is too young."""
        key = reported[:4]
        kept = self._kept.get(key)
        if kept is not None and reported.at_ms - kept.at_ms < FETCHED_EVERY_MS:
            self._later[key] = reported
            return []
        later = self._later.pop(key, None)
        rows = [later] if later is not None and reported.at_ms - later.at_ms >= FETCHED_EVERY_MS else []
        latest = rows[-1] if rows else kept
        if later is None and latest is not None and reported.fetched_offset == latest.fetched_offset:
            return []
        self._kept[key] = reported
        return [*rows, reported]

    def rest(self) -> list[Fetched]:
        """What was held back and is newer than its latest row."""
        rows = [
            reported
            for key, reported in self._later.items()
            if reported.fetched_offset != self._kept[key].fetched_offset
        ]
        self._kept.update(self._later)
        self._later.clear()
        return rows
