"""A request log in, requests out: read twice, ordered by arrival, each group followed, all requests in order of time.

Lines are held back for a few seconds, and longer if the survey announces a request that arrived about now and was
answered late. So memory depends on how long requests wait and how many groups there are, not on the log's length.

Knows how the parts go together; knows no rule of any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from pathlib import Path
from zoneinfo import ZoneInfo

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from request_log.following.follower import Follower
from request_log.following.group_model import GroupModel
from request_log.following.topic_names import TopicNames
from request_log.lines.files import LogFiles
from request_log.lines.in_order import InOrder
from request_log.lines.line import LineReader
from request_log.lines.reading import Reading
from request_log.lines.silences import Silences
from request_log.lines.work_times import WorkTimes
from request_log.recorded import LoggedRequest, OrderedRequest, Quarantined, Tally
from request_log.survey import MEMBERSHIP, Survey, WaitsToCome, survey

LOOK_AHEAD_MS = 10_000
"""How much of the log is read beyond the request being taken: conclusions from later lines need no more."""
BEFORE_A_WAIT_MS = 5_000
"""A long wait has its reason a little earlier: requests are held back from this long before it."""
ORDER_MS = 30_000
"""How far apart in time requests of different groups may be: deadlines are settled, and coordinators move."""
_LINES_AT_ONCE = 2_000


@dataclass(slots=True)
class LogImport:
    """One log. Iterating gives its requests in order of time."""

    path: Path
    zone: ZoneInfo
    config: GroupConfig = field(default_factory=GroupConfig)
    """The broker's settings, which may be changed until the iteration begins: see `look_over`."""
    quarantine: Callable[[Quarantined], None] = lambda line: None
    """Takes bad lines."""
    progress: Callable[[float], None] | None = None
    """Told the share of the log that is read."""
    tally: Tally = field(default_factory=Tally)
    """What became of the lines, complete once the iteration is over."""
    survey: Survey | None = None
    """What the first look found; None before it."""
    _names: TopicNames = field(default_factory=TopicNames)
    _silences: Silences = field(default_factory=Silences)
    _followers: dict[str, Follower] = field(default_factory=dict)
    _pending: InOrder[LoggedRequest] = field(default_factory=lambda: InOrder(attrgetter("began_ms")))
    _ordered: InOrder[OrderedRequest] = field(default_factory=lambda: InOrder(attrgetter("request.received_at_ms")))
    _seq: int = 0
    _at_ms: int = -1

    def look_over(self) -> Survey:
        """The first look over the log, at most once. Raises LogFileError where there is no log.

        Its `settings` are those of the broker that the log gives away: for `config`, unless somebody knows better.
        """
        if self.survey is None:
            self.survey = survey(LogFiles(self.path, self.zone, MEMBERSHIP))
        return self.survey

    def __iter__(self) -> Iterator[OrderedRequest]:
        """All requests in order of time. Raises LogFileError where there is no log."""
        found = self.look_over()
        reading = Reading(LineReader(), self.tally, self.quarantine)
        waits, work_times = WaitsToCome(found), WorkTimes()
        for line in LogFiles(self.path, self.zone):
            logged = reading.read(line)
            self._silences.note(line, logged)
            for entry in work_times.read(line.at_ms, logged):
                self._await(entry, found)
                waits.note(entry)
            if self.tally.read % _LINES_AT_ONCE == 0:
                looked_ahead_ms = (self.tally.last_at_ms or 0) - LOOK_AHEAD_MS
                yield from self._release(min(looked_ahead_ms, waits.first_ms - BEFORE_A_WAIT_MS))
                if self.progress is not None:
                    self.progress(self.tally.read / found.lines)
        for entry in work_times.rest():
            self._await(entry, found)
        yield from self._release(inf)

    # ------------------------------------------------------------ order

    def _release(self, until_ms: float) -> Iterator[OrderedRequest]:
        """Takes the requests before this time, then gives those that none to come can be earlier than."""
        for entry in self._pending.take_before(until_ms):
            self._followers[entry.group_id].take(entry)
        if until_ms == inf:
            for follower in self._followers.values():
                follower.finish(self.tally.last_at_ms or 0)
        for ordered in self._ordered.take_before(until_ms - ORDER_MS):
            at_ms = max(ordered.request.received_at_ms, self._at_ms)
            self._seq = self._seq + 1 if at_ms == self._at_ms else 0
            self._at_ms = ordered.request.received_at_ms = at_ms
            ordered.request.request_seq = self._seq
            yield ordered

    def _await(self, entry: LoggedRequest, found: Survey) -> None:
        """Holds a request back until all is read that may come before it."""
        follower = self._followers.get(entry.group_id)
        if follower is None:
            model = GroupModel(Group(entry.group_id), self.config, self.tally, self._ordered.add)
            follower = self._followers[entry.group_id] = Follower(model, found, self._names, self._silences)
        follower.read(entry)
        self._pending.add(entry)
