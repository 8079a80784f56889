"""Up to which time a followed log's facts of a group are all in its home's effects.

Knows how far the feed has read and committed requests, and how far the query has answered them. Must not know what this
is used for. Time is the log's, and so its broker's; while the log is silent it is this machine's.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from rollcall.inputs.request_log.live import LiveImport
from rollcall.jobs.shadow.log_following import LogFollowing
from rollcall.jobs.stream.checkpoint import read_version

NOTE_EVERY_S = 1.0


class Known(NamedTuple):
    """All facts before this time are known, ms since the epoch."""

    by_group: Mapping[str, int]
    all_others_ms: int

    def of(self, group_id: str) -> int:
        return self.by_group.get(group_id, self.all_others_ms)


NOTHING_KNOWN = Known({}, -1)


class LogProgress:
    """The progress of a log that is followed. hold_ms: how long a silent log is waited for.

    now_s: seconds since the epoch.
    """

    def __init__(self, log: LogFollowing, hold_ms: int, now_s: Callable[[], float] = time.time) -> None:
        self._log = log
        self._hold_ms = hold_ms
        self._now_s = now_s
        self._noted: deque[tuple[int, Known]] = deque()
        self._known = NOTHING_KNOWN
        self._noted_at_s = 0.0

    def _note(self) -> None:
        """Records which time the effects will cover once the query has read the request table's present version."""
        feed, now_s = self._log.feed, self._now_s()
        if not feed.is_committed or abs(now_s - self._noted_at_s) < NOTE_EVERY_S:
            return
        self._noted_at_s = now_s
        log_ms = feed.log_ms()
        is_silent = feed.silent_s() * 1000 >= self._hold_ms
        now_ms = now_s * 1000 if is_silent or log_ms is None else log_ms
        known = known_of(feed.live, int(now_ms) - self._hold_ms, is_silent=is_silent)
        version = self._log.version()
        if self._noted and self._noted[-1][0] == version:
            self._noted.pop()
        self._noted.append((version, known))

    def known(self) -> Known:
        """The time that the effects cover now."""
        self._note()
        read = read_version(Path(self._log.home.checkpoint))
        while self._noted and read is not None and self._noted[0][0] <= read:
            self._known = self._noted.popleft()[1]
        return self._known


def known_of(live: LiveImport, before_ms: int, *, is_silent: bool) -> Known:
    """Up to which time the requests of each group are committed, and so everything that follows from them.

    before_ms: everything before it has been read. is_silent: the log does not grow, so no session is waited for.
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
        by_group[group_id] = max(known_ms, held.at_ms - 1)
    return Known(by_group, before_ms)
