"""A coordinator for benches of whatever asks through the tables of a home: the pure core, no Spark, a batch at a time.

    python -m benchmarks.table_answers HOME

Writes replies alone, and nothing expires: a bench is over before it could. Knows the tables; must not know who asks.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from benchmarks.gateway_process import CONFIG
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.step import step
from schemas.effect_rows import row_of
from schemas.effects import Reply
from schemas.fan_out import group_id_of
from schemas.messages import GroupRequest
from schemas.tables import EFFECTS, EFFECTS_FOLDER, REQUESTS, REQUESTS_FOLDER
from tables.delta_log import DeltaLog
from tables.table_follower import TableFollower

BATCH_EVERY_S = 0.1
_ROOT = Path(__file__).parents[1]
_DAY_MS = 86_400_000
_HEARTBEAT = '"api":"Heartbeat"'


def make_tables(home: Path) -> None:
    for folder, table in ((REQUESTS_FOLDER, REQUESTS), (EFFECTS_FOLDER, EFFECTS)):
        DeltaTable.create(str(home / folder), schema=table.arrow, partition_by=list(table.partition_by) or None)


@contextmanager
def answering(home: Path) -> Iterator[None]:
    """A home's tables, and answers to what is asked there, from here to the end of the block."""
    make_tables(home)
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.table_answers", str(home)], cwd=_ROOT)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def answer(home: Path) -> None:
    """Answers until the process ends."""
    requests = TableFollower(home / REQUESTS_FOLDER, ["request"], from_version=0)
    effects = DeltaTable(str(home / EFFECTS_FOLDER))
    decoder = msgspec.json.Decoder(GroupRequest)
    groups: dict[str, Group] = {}
    while True:
        began = time.monotonic()
        texts = [text for table in requests.poll() for text in table["request"].to_pylist()]
        rows = [row for text in texts for row in _replies(groups, decoder.decode(text))]
        if rows:
            write_deltalake(effects, pa.Table.from_pylist(rows, schema=EFFECTS.arrow), mode="append")
        time.sleep(max(0.001, BATCH_EVERY_S - (time.monotonic() - began)))


def _replies(groups: dict[str, Group], request: GroupRequest) -> Iterator[dict[str, Any]]:
    group_id = group_id_of(request)
    group = groups.setdefault(group_id, Group(group_id))
    for effect in step(group, request, request.received_at_ms, CONFIG):
        if isinstance(effect, Reply):
            values = msgspec.to_builtins(row_of(effect, request.request_seq))
            yield {**values, "group_id": group_id, "at_date": effect.at_ms // _DAY_MS}


Times = dict[str, list[float]]
"""Group id -> seconds since the epoch of each of its heartbeats, in order."""


class Commits(NamedTuple):
    """How the tables were written: when each group's heartbeats were committed, and when their replies were."""

    asked: Times
    answered: Times
    appends: int
    requests: int


def commits(home: Path) -> Commits:
    """What became of a home's tables."""
    asked, answered = defaultdict(list), defaultdict(list)
    appends = requests = 0
    for committed_at, rows in _by_commit(home / REQUESTS_FOLDER, ["group_id", "request_seq", "request"]):
        appends, requests = appends + 1, requests + len(rows)
        for row in sorted(rows, key=lambda row: int(row["request_seq"])):
            if _HEARTBEAT in row["request"]:
                asked[row["group_id"]].append(committed_at)
    for committed_at, rows in _by_commit(home / EFFECTS_FOLDER, ["group_id", "api"]):
        for row in rows:
            if row["api"] == "Heartbeat":
                answered[row["group_id"]].append(committed_at)
    return Commits(asked, answered, appends, requests)


def _by_commit(table: Path, columns: list[str]) -> Iterator[tuple[float, list[dict[str, Any]]]]:
    log = DeltaLog(table)
    for version in sorted(log.versions()):
        rows = [row for path in log.appended(version) or [] for row in pq.ParquetFile(path).read(columns).to_pylist()]
        if rows:
            yield (table / "_delta_log" / f"{version:020d}.json").stat().st_mtime, rows


if __name__ == "__main__":
    answer(Path(sys.argv[1]))
