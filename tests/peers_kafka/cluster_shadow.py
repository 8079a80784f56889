"""`rollcall shadow` of a real cluster as a program of its own, alone or beside a request log: started, killed, asked.

Knows the program's command line and its home. Must not know what the cluster's groups do.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from rollcall.answers.sql.engine import ask
from rollcall.tables.home import Home
from tests.source_tree import ROOT
from tests.streaming.live import read_rows
from tests.waiting import until

PATIENCE_S = 180.0
LOOK_EVERY_S = 0.5
BEGUN = "rollcall: following"
SHORT_HOLD = {"spark.coordinator.log.hold.ms": "15000"}
"""Half of what a shadow waits for its log by default: on a busy machine a line may be that late."""
END_PATIENCE_S = 120.0

Rows = list[tuple[Any, ...]]


class ClusterShadow:
    """The program on a home in a folder, where its settings and its words lie as well. sources: what it follows."""

    def __init__(self, folder: Path, *sources: str, settings: Mapping[str, str] | None = None) -> None:
        self.home = Home(folder / "home")
        conf = folder / "shadow.conf"
        conf.write_text("".join(f"{key}={value}\n" for key, value in (settings or {}).items()))
        places = ["--conf", str(conf), "--home", self.home.location]
        self._command = [sys.executable, "-m", "rollcall", "shadow", *sources, *places]
        self._said = folder / "shadow.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._began = self.said().count(BEGUN)
        with self._said.open("a") as said:
            self._process = subprocess.Popen(self._command, cwd=ROOT, stdout=said, stderr=said)

    def await_begun(self) -> None:
        """Until it says that it follows its sources."""
        until(lambda: self.said().count(BEGUN) > self._began, self.said, PATIENCE_S, LOOK_EVERY_S)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> str:
        """As Ctrl-C does; all that it has said."""
        assert self._process is not None
        self._process.terminate()
        assert self._process.wait(END_PATIENCE_S) == 0, self.said()
        return self.said()

    def end(self) -> None:
        """Kills it if it runs."""
        if self.is_running():
            self.kill()

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def said(self) -> str:
        return self._said.read_text() if self._said.exists() else ""

    def rows(self, query: str) -> Rows:
        """The answer in SQL; none before there is anything to ask."""
        if not DeltaTable.is_deltatable(self.home.effects):
            return []
        return [tuple(row) for row in ask(self.home.path, query).rows]

    def await_rows(self, query: str, what: str, are_there: Callable[[Rows], object] = bool) -> Rows:
        """The rows of a query once they are there, which is once there are any unless said otherwise."""
        found: Rows = []

        def are_enough() -> bool:
            assert self.is_running(), self.said()
            found[:] = self.rows(query)
            return bool(are_there(found))

        until(are_enough, lambda: f"{what}; there is {found}: {self.said()}", PATIENCE_S, LOOK_EVERY_S)
        return found


def facts_of(shadow: ClusterShadow) -> Counter[tuple[tuple[str, Any], ...]]:
    """How often it reports each fact."""
    return Counter(tuple(row.items()) for row in read_rows(shadow.home.effects))


def difference(one: ClusterShadow, whole: ClusterShadow) -> str:
    """What one shadow reports otherwise than another, and all that it said."""
    reported, wanted = facts_of(one), facts_of(whole)
    missing, added = list(wanted - reported), list(reported - wanted)
    return f"{len(missing)} facts missing, as {missing[:2]}; {len(added)} added, as {added[:2]}; {one.said()}"
