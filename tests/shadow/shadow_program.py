"""A shadow of a log as a program of its own, on a log that a test writes: started, killed, started again.

Knows the program's command line and its tables. Must not know what a line says.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from rollcall.tables.home import Home
from tests.shadow.finished_log import Answers, answers_in, each_heartbeat
from tests.source_tree import ROOT
from tests.waiting import until

PATIENCE_S = 120.0


class Shadow:
    """The program itself, on a log that the test writes."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "requests.log"
        self.home = Home(folder / "home")
        self.log.touch()
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rollcall", "shadow", str(self.log), "--home", self.home.location]
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
