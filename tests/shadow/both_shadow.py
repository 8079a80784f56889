"""A shadow of a log and its cluster's topic as a test drives it: both grow, and it is killed; without a broker."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rollcall.inputs.following.both import OF_LINES, BothKept, BothSource, Kind, find_both
from rollcall.inputs.following.following import Following
from rollcall.inputs.following.merging_feed import MergingFeed
from rollcall.inputs.following.printed_source import PrintedKept, PrintedSource
from rollcall.inputs.following.request_source import RequestSource, new_kept
from rollcall.inputs.following.topic_source import TopicKept, TopicSource
from rollcall.inputs.following.topic_tail import TopicTail
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.lines.tail import LogTail
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow.earlier_topic import take_over_both
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_quarantine, open_requests
from rollcall.tables.job_status import StatusWriter
from tests.offsets_topic.folded import capture
from tests.shadow.deaths import Killed
from tests.shadow.written_topic import WrittenTopic

UTC = ZoneInfo("UTC")
CONFIG = JobConfig(log_hold_ms=10_000)


class Both:
    """The program that follows both, on a clock of its own; a kill is a new start on the same home."""

    def __init__(self, folder: Path, name: str, kind: Kind) -> None:
        self.home, self.log = Home(folder / "home"), folder / "broker.log"
        self.topic = WrittenTopic(capture(name).names)
        self.now_ms = self.topic_ms = 0
        self._kind = kind
        self.log.touch()
        self.home.path.mkdir()

    def start(self) -> None:
        """It may be killed while it starts, too."""
        while True:
            with suppress(Killed):
                self.following = self._started()
                return

    def _started(self) -> Following:
        kept = take_over_both(self.home, self._kind, CONFIG) or find_both(self.home, self._kind) or BothKept()
        merging = MergingFeed(kept.merging, self._kind.rule, self.topic.names, CONFIG.log_hold_ms)
        log, topic = self.log_source(self.home, kept.log), self.topic_source(self.home, kept.topic)
        both = BothSource(self._kind, log, topic, merging, CONFIG.log_hold_ms, self.now_s, lambda: self.now_ms)
        return Following(self.home, both, StatusWriter(None), self.now_s)

    def log_source(self, home: Home, kept: Any = None) -> PrintedSource | RequestSource:
        """What follows the log from where the state says."""
        if self._kind is OF_LINES:
            kept = kept or PrintedKept(str(self.log), "UTC")
            return PrintedSource(kept, LogTail(self.log, UTC, kept.position), self.now_s, is_beside=True)
        kept = kept or new_kept(str(self.log), "UTC", {}, SettingsSeen())
        requests, tail = open_requests(home), LogTail(self.log, UTC, kept.position)
        return RequestSource(home, requests, kept, tail, clock=self.now_s)

    def topic_source(self, home: Home, kept: TopicKept | None = None) -> TopicSource:
        """The same of the topic."""
        kept = kept or TopicKept()
        tail = TopicTail(self.topic.consumer, self.topic, kept.places, self.now_s, lambda: self.topic_ms)
        quarantine = open_quarantine(home)
        return TopicSource(home, quarantine, kept, tail, names=self.topic.names, raw_max_bytes=1_000, clock=self.now_s)

    def now_s(self) -> float:
        return self.now_ms / 1000

    def look(self) -> bool:
        """Returns whether it lives."""
        with suppress(Killed):
            self.following.step()
            return True
        self.start()
        return False
