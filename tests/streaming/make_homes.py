"""Makes the homes of one version that tests open with later versions: tests/streaming/homes/NAME.tar.gz.

    python -m tests.streaming.make_homes NAME [TREE]          TREE: a checkout of it, from 0.4.0 on, else this one

A home of a job, one of a shadow that has read half a log, and one of a dump of __consumer_offsets.
Beside them told.json: what that version said of each home, in every view and for every rebalance. That version's own
programs make and read them; of this version the shapes of requests are used. Must not import the other version.
"""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, write_deltalake

from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.messages import GroupRequest
from rollcall.tables.request_table import request_rows
from tests.requests import commit, consumer_beat, heartbeat, join, sync
from tests.source_tree import ROOT
from tests.streaming.live import now_ms, read_rows
from tests.waiting import until

HOMES = Path(__file__).parent / "homes"
LOGS = _, NEWER_LOG = [ROOT / f"tests/captures/{name}/requests.log.gz" for name in ("d-kill", "o-consumer-protocol")]
DUMP = ROOT / "tests/captures/o-consumer-protocol/offsets-topic.jsonl.gz"
SETTINGS = {
    "topics": "t1:4",
    "group.min.session.timeout.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
}
PATIENCE_S = 120.0
STILL_S = 8.0
LASTING_MS = 600_000
NOT_KEPT = ("lock", "sql.sock", "logs", "_jars")
REPORT_OF_HOMES = """
import contextlib, io, json, sys
from pathlib import Path
sys.path.insert(0, ".")
from rollcall.tables.home import Home
from rollcall.cli.sql import answer_query
from rollcall.cli.why import answer
from rollcall.answers.views.catalog import NAMES

def rows(command, *words, **more):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        command(*words, **more)
    printed = map(json.loads, out.getvalue().splitlines())
    return [{name: value for name, value in row.items() if value is not None} for row in printed]

reported = {}
for path in sorted(Path(sys.argv[1]).iterdir()):
    home = Home(path)
    views_of = [name for name in NAMES if name != "requests"]
    views = {name: rows(answer_query, home, f"SELECT * FROM {name}", form="json") for name in views_of}
    keys = [(row["group_id"], str(row["to_generation_id"])) for row in views["rebalances"] if "to_generation_id" in row]
    why = {" ".join(key): rows(answer, home, *key, "", "json") for key in keys}
    reported[path.name] = {"views": views, "why": why}
Path(sys.argv[2]).write_text(json.dumps(reported, indent=0, sort_keys=True))
"""


class Version:
    """A version's own programs, in its own checkout."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree

    def command(self, name: str, home: Path, *words: str) -> list[str]:
        """A program's command line. name: coordinator, shadow, replay."""
        module = ["rollcall.jobs.coordinator"] if name == "coordinator" else ["rollcall", name]
        return [sys.executable, "-m", *module, *words, "--home", str(home)]

    @contextmanager
    def running(self, name: str, home: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """A program until the block ends; it is asked to stop then, and awaited."""
        environment = {**os.environ, "PYTHONPATH": str(self.tree)}
        process = subprocess.Popen(self.command(name, home, *words), cwd=self.tree, env=environment)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)

    def run(self, *command: str) -> None:
        subprocess.run(command, cwd=self.tree, env={**os.environ, "PYTHONPATH": str(self.tree)}, check=True)


class Table:
    """The tables of a home that a job of any version works in."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def send(self, request: GroupRequest) -> GroupRequest:
        write_deltalake(str(self._home / "requests"), request_rows([request]), mode="append")
        return request

    def ask(self, request: GroupRequest) -> dict[str, Any]:
        return self.reply(self.send(request))

    def reply(self, request: GroupRequest) -> dict[str, Any]:
        return self.fact(lambda row: row["effect"] == "reply" and row["request_id"] == request.request_id)

    def fact(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            return next((row for row in read_rows(str(self._home / "effects")) if is_it(row)), None)

        return until(look, "a fact", PATIENCE_S)


def live_classic(table: Table) -> None:
    """A group in which one member joins, commits, is joined by another, and outlives it."""
    table.ask(heartbeat("nobody", 0, now_ms()))
    a = str(table.ask(join("a", now_ms(), session_timeout_ms=LASTING_MS))["member_id"])
    table.ask(sync(a, 1, now_ms(), assigned=[a]))
    table.ask(commit(a, 1, {TopicPartition("t1", 0): 7}, request_id="commits", received_at_ms=now_ms()))
    second = table.send(join("b", now_ms(), session_timeout_ms=6000))
    table.fact(lambda row: row["effect"] == "rebalance_started" and row["generation_id"] == 1)
    table.ask(join("a", now_ms(), session_timeout_ms=LASTING_MS, member_id=a))
    b = str(table.reply(second)["member_id"])
    table.ask(sync(a, 2, now_ms(), assigned=[a, b]))
    table.ask(sync(b, 2, now_ms()))
    table.fact(lambda row: row["effect"] == "member_removed" and row["member_id"] == b)
    table.ask(join("a", now_ms(), session_timeout_ms=LASTING_MS, member_id=a))
    table.ask(sync(a, 3, now_ms(), assigned=[a]))


def live_newer(table: Table) -> None:
    """A consumer group whose second member comes and goes."""
    one = table.ask(consumer_beat("m1", 0, now_ms(), "billing"))
    table.ask(consumer_beat("m2", 0, now_ms(), "billing"))
    table.ask(consumer_beat("m2", -1, now_ms(), "billing"))
    table.ask(consumer_beat("m1", 0, now_ms(), "billing", request_id=f"again-{one['request_id']}"))


def make(name: str, version: Version) -> Path:
    """The packed homes."""
    with tempfile.TemporaryDirectory() as folder:
        homes = Path(folder) / "homes"
        homes.mkdir()
        job = homes / "job"
        with version.running("coordinator", job, *_settings()):
            until(lambda: DeltaTable.is_deltatable(str(job / "requests")), "the job's tables", PATIENCE_S)
            live_classic(Table(job))
            live_newer(Table(job))
        _shadow(version, homes / "shadow", Path(folder) / "requests.log")
        version.run(*version.command("replay", homes / "dump", str(DUMP)))
        return pack(version, Path(folder), name)


def pack(version: Version, folder: Path, name: str, *beside: str) -> Path:
    """Packs a folder's homes as NAME with what the version reports of them, and what else of the folder is named."""
    reported = folder / "told.json"
    version.run(sys.executable, "-c", REPORT_OF_HOMES, str(folder / "homes"), str(reported))
    for each in NOT_KEPT:
        for path in folder.glob(f"homes/*/{each}"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    target = HOMES / f"{name}.tar.gz"
    with tarfile.open(target, "w:gz") as packed:
        for each in ("homes", reported.name, *beside):
            packed.add(folder / each, each)
    return target


def _settings() -> list[str]:
    return [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]


def _shadow(version: Version, home: Path, log: Path) -> None:
    """A shadow of the first half of a log."""
    lines = gzip.decompress(NEWER_LOG.read_bytes()).splitlines(True)
    log.write_bytes(b"".join(lines[: len(lines) // 2]))
    with version.running("shadow", home, str(log)):
        until(Stillness(home), "the shadow's facts", PATIENCE_S)


class Stillness:
    """Whether a home has facts, and has had no new ones for STILL_S."""

    def __init__(self, home: Path) -> None:
        self._effects, self._facts, self._since = str(home / "effects"), 0, 0.0

    def __call__(self) -> bool:
        facts = len(read_rows(self._effects))
        if facts != self._facts:
            self._facts, self._since = facts, time.monotonic()
        return facts > 0 and time.monotonic() - self._since > STILL_S


def asked_for() -> tuple[str, Version]:
    """NAME and version of the command line."""
    return sys.argv[1], Version(Path(sys.argv[2]).absolute() if len(sys.argv) > 2 else ROOT)


if __name__ == "__main__":
    print(make(*asked_for()))
