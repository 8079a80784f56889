"""What writes the tables is killed again and again, in an append, a compaction, a checkpoint and a commit: what was
written for good is there once, and every start goes on by itself.

KILLS= and SEED= in the environment: how often, and which dice, else the same each time; `make test-kills` sets them.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from deltalake import DeltaTable

from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.home import Home
from tests.source_tree import ROOT
from tests.tables.doomed_writers import COMMITTED
from tests.waiting import until

KILLS = int(os.environ.get("KILLS") or 8)
SEED = int(os.environ.get("SEED") or 1)
START_S = 60.0


class Moment(NamedTuple):
    """When a program is killed: as soon as a file of this kind appears; no kind: at any moment of half a second."""

    who: str
    name: str
    files: str

    def wait(self, home: Path, dice: random.Random) -> None:
        """Until it has come."""
        ends_at = time.monotonic() + dice.uniform(0, 0.5)
        before = set(home.glob(self.files)) if self.files else set()

        def has_come() -> bool:
            if not self.files:
                return time.monotonic() >= ends_at
            return bool(set(home.glob(self.files)) - before)

        until(has_come, self.name, START_S, every_s=0.0005)


MOMENTS = (
    Moment("gateway", "an append's file is there, its commit not yet", f"requests/part-*-{'[0-9]' * 10}.parquet"),
    Moment("gateway", "an append is committed", "requests/_delta_log/*.json"),
    Moment("gateway", "any", ""),
    Moment("job", "effects are committed, the batch not noted yet", "effects/_delta_log/*.json"),
    Moment("job", "effects are written or put together, not committed", "effects/at_date=*/part-*"),
    Moment("job", "requests are put together, not committed", "requests/part-*-c000*.parquet"),
    Moment("job", "a log's checkpoint is being written", "*/_delta_log/*.checkpoint.parquet"),
    Moment("job", "any", ""),
)


class Writer:
    """A program that is killed and started again; what it says is kept."""

    def __init__(self, who: str, home: Home) -> None:
        self.who, self._home = who, home
        self._said = home.path / f"{who}.said"
        self.start()

    def start(self) -> None:
        """Starts it, and waits until it has written something."""
        before = len(self.said())
        command = [sys.executable, "-m", "tests.tables.doomed_writers", self.who, self._home.location]
        with self._said.open("ab") as out, self._said.with_suffix(".errors").open("ab") as errors:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=errors)
        until(lambda: len(self.said()) > before, lambda: f"{self.who}, which ended: {self.process.poll()}", START_S)

    def said(self) -> list[str]:
        """What it has written for good, as far as it said so in whole lines."""
        text = self._said.read_text() if self._said.exists() else ""
        return text.splitlines() if text.endswith("\n") or not text else text.splitlines()[:-1]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.mark.nightly
def test_killed_writers_lose_nothing_and_write_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dice, home, done = random.Random(SEED), Home(tmp_path), Counter[str]()
    writers = {who: Writer(who, home) for who in ("job", "gateway")}
    try:
        for number in range(KILLS):
            moment = MOMENTS[number % len(MOMENTS)] if number < len(MOMENTS) else dice.choice(MOMENTS)
            moment.wait(tmp_path, dice)
            writers[moment.who].kill()
            writers[moment.who].start()
            done[f"{moment.who}: {moment.name}"] += 1
    finally:
        for writer in writers.values():
            writer.kill()
    requests = [row["request_id"] for row in DeltaTable(home.requests).to_pyarrow_table().to_pylist()]
    batches = sorted(row["seq"] for row in DeltaTable(home.effects).to_pyarrow_table().to_pylist())
    assert len(requests) == len(set(requests)), f"seed {SEED}: a request stands twice"
    assert set(writers["gateway"].said()) <= set(requests), f"seed {SEED}: an appended request is lost"
    assert batches == list(range(len(batches))), f"seed {SEED}: a batch is missing or stands twice"
    assert len(batches) - 1 in (noted := int((tmp_path / COMMITTED).read_text()), noted + 1)
    for path in (home.requests, home.effects):
        versions = sorted(int(found.stem) for found in (Path(path) / "_delta_log").glob("*[0-9].json"))
        assert versions == list(range(versions[0], DeltaLog(Path(path)).latest() + 1)), (
            f"seed {SEED}: a version is missing"
        )
    with capsys.disabled():
        print(f"\nseed {SEED}: {KILLS} kills, {len(requests)} requests and {len(batches)} batches, each once")
        for what, count in sorted(done.items()):
            print(f"{count:5}  {what}")
