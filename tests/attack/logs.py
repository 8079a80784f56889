"""Hostile request logs: single lines, and whole logs through both importers, the core and the request table's rows.

Watches that every line is counted, that no line and no log takes long, that what comes out can be written and applied,
and that a live import that is stopped and continued has counted the same. Knows the importers' entrances.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.lines.files import LogLine, files_in_order, lines_in_order
from rollcall.inputs.request_log.lines.line import LineReader
from rollcall.inputs.request_log.lines.reading import Reading
from rollcall.inputs.request_log.recorded import OrderedRequest, Quarantined, Tally
from rollcall.programs.settings import from_texts
from rollcall.tables.request_table import request_rows
from tests.attack.attacked import Attacked, Finding
from tests.attack.recorded_texts import LOGS, changed, recorded_lines
from tests.request_log.core_replay import Replay
from tests.shadow.fed import Feed
from tests.whole_log import WholeLog

UTC = ZoneInfo("UTC")
AT_MS = 1_772_359_200_000
LINES_A_CASE = 50
LOOK_EVERY_MS = 250
OVER_MS = 4_000_000
"""A log that stands still for this time is over."""
KINDS_MAX = 300
"""The most reasons that a tally may have, whatever its lines say."""
CHANGES = (0.002, 0.01, 0.03, 0.1, 0.3)


class LogLines:
    """Single lines, read one after the other as an importer reads them."""

    name = "log-lines"
    slow_s = 1.0

    def __init__(self) -> None:
        self._pool = [line for path in LOGS for line in recorded_lines(path)]
        self.renew()

    def renew(self) -> None:
        self._bad: list[Quarantined] = []
        self._tally = Tally()
        self._reading = Reading(LineReader(), self._tally, self._bad.append)

    def case(self, random: Random) -> bytes:
        texts = []
        for _ in range(LINES_A_CASE):
            text = random.choice(self._pool)
            for _ in range(random.choice((1, 1, 1, 2, 5))):
                text = changed(random, text, self._pool)
            texts.append(text)
        return b"\n".join(texts)

    def play(self, case: bytes) -> int:
        before = self._tally.quarantined.total()
        lines = case.split(b"\n")
        requests = []
        for line in lines:
            for entry in self._reading.read(LogLine("a.log", self._tally.read + 1, AT_MS, line)):
                requests.append(entry.request)
                _ = entry.recorded.response
        request_rows(requests)
        _check(self._tally)
        if self._tally.quarantined.total() - before != len(self._bad):
            raise Finding("a bad line is counted and not put into quarantine")
        self._bad.clear()
        return len(lines)

    def close(self) -> None:
        self._bad.clear()

    def figures(self) -> str:
        return f"{self._tally.used} used, {self._tally.quarantined.total()} in quarantine"


class WholeLogs(Attacked):
    """Recorded logs with many lines changed, lost, doubled and moved, from the first line to the report."""

    name = "whole-logs"
    slow_s = 10.0

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._given_up = 0

    def case(self, random: Random) -> bytes:
        lines = recorded_lines(random.choice(LOGS))
        share = random.choice((1 / len(lines), *CHANGES))
        written: list[bytes] = []
        for line in lines:
            if random.random() >= share:
                written.append(line)
                continue
            match random.randrange(10):
                case 0:
                    pass
                case 1:
                    written += [line] * random.randrange(2, 6)
                case 2:
                    written.insert(random.randrange(len(written) + 1), line)
                case 3:
                    written += [random.choice(lines), line]
                case _:
                    for _ in range(random.choice((1, 1, 2, 4))):
                        line = changed(random, line, lines)
                    written.append(line)
        match random.randrange(4):
            case 0:
                first, last = sorted((random.randrange(len(written) + 1), random.randrange(len(written) + 1)))
                written = written[first:last]
            case 1:
                other = recorded_lines(random.choice(LOGS))
                written += other[random.randrange(len(other)) :]
            case _:
                pass
        return b"\n".join(written) + b"\n"

    def play(self, case: bytes) -> int:
        path = Path(self._folder.name) / "requests.log"
        path.write_bytes(case)
        self._play_finished(path)
        self._play_live(path)
        return 1

    def _play_finished(self, path: Path) -> None:
        log = WholeLog(path, UTC)
        log.config = from_texts(GroupConfig, log.look_over().seen.shown())
        self._apply(list(log), log.config, log.tally)

    def _play_live(self, path: Path) -> None:
        feed = Feed(GroupConfig(), LOOK_EVERY_MS)
        lines = list(lines_in_order(files_in_order(path, UTC), UTC))

        def go_on(place: int) -> None:
            if place == len(lines) // 2:
                tally = feed.live.tally
                feed.go_on(GroupConfig())
                if feed.live.tally != tally:
                    raise Finding("a live import that is continued has counted something else")

        feed.feed(lines, go_on).look(OVER_MS)
        given = sorted(feed.rows, key=lambda ordered: ordered.request.received_at_ms)
        self._apply(given, GroupConfig(), feed.live.tally)

    def _apply(self, ordered: list[OrderedRequest], config: GroupConfig, tally: Tally) -> None:
        """Gives what came out of a log to those that take it."""
        _check(tally)
        self._given_up += len(tally.given_up)
        request_rows(each.request for each in ordered)
        for _ in Replay(config).run(ordered, tally.last_at_ms):
            pass

    def close(self) -> None:
        self._folder.cleanup()

    def figures(self) -> str:
        return f"{self._given_up} groups given up"


def _check(tally: Tally) -> None:
    if tally.read != tally.used + tally.skipped.total() + tally.quarantined.total():
        raise Finding("a line is counted twice, or not at all")
    if len(tally.skipped) + len(tally.quarantined) + len(tally.examples) > KINDS_MAX:
        raise Finding("reasons are not grouped")
