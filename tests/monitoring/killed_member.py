"""A home with a group of two members, one of which is killed at a call. Must not know who watches it."""

from __future__ import annotations

from pathlib import Path

from rollcall.serve.page.lists import TROUBLE_MS
from tests.lag.homes import ends, write_home
from tests.views.story import Story, write_effects

GROUP = "orders"


class Home:
    """Its facts are of one day of 1970, and nothing says that a job goes on with it."""

    def __init__(self, path: Path) -> None:
        self.path, self._story = path, Story(GROUP)
        self._story.join(1_000, "a")
        self._story.sync(1_100, "a", {"a": ["t-0", "t-1"]})
        self._story.commit(3_000, "a", {"t-0": 5, "t-1": 5})
        self._story.join(5_000, "b", session_timeout_ms=6_000)
        self._story.join(5_500, "a")
        self._story.sync(5_600, "a", {"a": ["t-0"], "b": ["t-1"]})
        self._story.sync(5_700, "b")
        self._story.commit(6_000, "a", {"t-0": 10})
        self._story.commit(6_100, "b", {"t-1": 10})
        reported = [(1_000, 0), (5_000, 10), (7_000, 20), (13_000, 120), (20_000, 150)]
        write_home(path, [self._story], [row for number in (0, 1) for row in ends(*reported, partition=number)])

    def kill(self) -> None:
        """Member b is silent, is removed, and a takes over after a second without anybody."""
        written = len(self._story.rows)
        self._story.heartbeat(9_000, "a")
        self._story.let_time_pass(12_500)
        self._story.join(13_000, "a")
        self._story.sync(14_500, "a", {"a": ["t-0", "t-1"]})
        write_effects(self.path, {GROUP: self._story.rows[written:]})

    def go_on(self) -> None:
        """All is well for longer than a trouble counts."""
        written = len(self._story.rows)
        self._story.commit(14_600, "a", {"t-0": 100, "t-1": 100})
        for at_ms in range(17_000, 14_500 + TROUBLE_MS + 5_000, 3_000):
            self._story.heartbeat(at_ms, "a")
        write_effects(self.path, {GROUP: self._story.rows[written:]})
