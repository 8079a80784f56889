"""A growing log followed by a program that is killed on the way: its history is the finished log's, with no gap."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from jobs.home import Home
from tests.shadow.finished_log import Answers, answers_in, each_heartbeat, expected
from tests.source_tree import ROOT
from tests.waiting import until

LOG = ROOT / "tests/captures/d-kill/requests.log.gz"
OTHER_SETTINGS = ROOT / "tests/request_log/incidents/full-group.log.gz"
"""Of a broker with group.max.size=3 and an initial delay of 1 s."""
PATIENCE_S = 120.0


class Shadow:
    """The program itself, on a log that the test writes."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "requests.log"
        self.home = Home(folder / "home")
        self.log.touch()
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "jobs.rollcall", "shadow", str(self.log), "--home", self.home.location]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def start_again(self) -> None:
        self.process = self._start()

    def write(self, lines: list[bytes]) -> None:
        with self.log.open("ab") as file:
            file.write(b"".join(lines))

    def rotate(self) -> None:
        self.log.rename(self.log.with_name("requests.log.2026-11-21-05"))
        self.log.touch()

    def effects(self) -> list[dict[str, Any]]:
        """Every fact, and the answer to every heartbeat of a run."""
        if not DeltaTable.is_deltatable(self.home.effects):
            return []
        rows = DeltaTable(self.home.effects).to_pyarrow_table().to_pylist()
        return [fact for row in rows for fact in each_heartbeat(row)]

    def answers(self) -> Answers:
        return answers_in(self.effects())

    def is_running(self) -> bool:
        try:
            return bool(json.loads((self.home.path / "status.json").read_text())["state"] == "running")
        except FileNotFoundError:
            return False

    def stop(self) -> str:
        """As Ctrl-C does; what it said."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, out
        return out

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()

    def await_effects(self, is_enough: Callable[[int], bool], what: str) -> int:
        def ask() -> int | None:
            assert self.process.poll() is None, self.process.communicate()[0]
            count = len(self.effects())
            return count if is_enough(count) else None

        return until(ask, what, PATIENCE_S)


def test_a_shadow_that_is_killed_twice_tells_the_finished_logs_history(tmp_path: Path) -> None:
    answers, facts = expected(LOG)
    lines = gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)
    thirds = lines[:162], lines[162:324], lines[324:]
    shadow = Shadow(tmp_path)
    try:
        shadow.write(thirds[0])
        first = shadow.await_effects(lambda count: count > 0, "the first third")
        shadow.kill()
        shadow.write(thirds[1])
        shadow.rotate()
        shadow.start_again()
        shadow.await_effects(lambda count: count > first, "the second third")
        shadow.kill()
        shadow.write(thirds[2])
        shadow.start_again()
        shadow.await_effects(lambda count: count >= facts, "all of it")
        out = shadow.stop()
    finally:
        shadow.end()
    assert "485 lines read, 463 used, 0 in quarantine" in out
    assert (shadow.answers(), len(shadow.effects())) == (answers, facts)
    expiries = [e for e in shadow.effects() if (e["effect"], e["cause"]) == ("rebalance_ended", "session_expired")]
    assert sorted(str(e["group_id"]) for e in expiries) == ["audit-trail", "clicks-agg", "views-agg"]


def test_settings_that_the_log_gives_away_are_learnt_by_the_running_query(tmp_path: Path) -> None:
    answers, facts = expected(OTHER_SETTINGS)
    shadow = Shadow(tmp_path)
    try:
        until(shadow.is_running, "the query", PATIENCE_S)
        shadow.write(gzip.decompress(OTHER_SETTINGS.read_bytes()).splitlines(keepends=True))
        shadow.await_effects(lambda count: count >= facts, "all of it")
        out = shadow.stop()
    finally:
        shadow.end()
    assert "the broker has group.initial.rebalance.delay.ms=1000 group.max.size=3, as the log shows" in out
    assert (shadow.answers(), len(shadow.effects())) == (answers, facts)
