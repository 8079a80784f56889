"""What writes a home's tables, as programs that a test kills: a gateway's side, and a job's side with its upkeep.

    python -m tests.tables.doomed_writers gateway|job HOME

Both write all the time, print a number once it is written for good, and go on from there when they are started
again. Knows who writes which table with what; must not know Spark, a client, nor when it is killed.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
import uuid
from pathlib import Path

import pyarrow as pa

from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.upkeep import tables_of
from rollcall.jobs.stream.writers.driver_writer import DriverWriter
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.request_table import RequestTable, request_rows
from rollcall.tables.upkeep import tend
from rollcall.tables.whole_file import write_whole
from tests.requests import heartbeat

T = 1_700_000_000_000
FLUSH_S = 0.03
"""A gateway's pause between two commits."""
COMMITTED = "committed"
"""Stands for Spark's own commit: the last batch of which the job knows that it is written."""


class Batch:
    """A batch of one fact as foreachBatch gives it, as far as the writer looks."""

    def __init__(self, group_id: str, seq: int = 0) -> None:
        self._fact = {"group_id": group_id, "seq": seq, "effect": "group_created", "at_ms": T}

    def toArrow(self) -> pa.Table:
        return pa.table({"effects": pa.array([json.dumps(self._fact) + "\n"], pa.string())})


def writer_of(home: Home) -> DriverWriter:
    """The writer of one and the same query, whichever process it is in."""
    writer = DriverWriter(home, JobConfig())
    writer.query_id.set_result("query")
    return writer


def gateway(home: Home) -> None:
    """Appends requests under ids of its own."""
    who = uuid.uuid4().hex
    table = RequestTable(Path(home.requests), who)
    table.open()
    pace = threading.Event()
    for number in itertools.count():
        table.append(request_rows([heartbeat("m", 1, time.time_ns() // 1_000_000, request_id=f"{who}-{number}")]))
        print(f"{who}-{number}", flush=True)
        pace.wait(FLUSH_S)


def job(home: Home) -> None:
    """Writes batches, each noted after it is written, while upkeep goes on."""
    open_requests(home)
    writer, note = writer_of(home), home.path / COMMITTED
    threading.Thread(target=_tend_for_ever, args=(home,), daemon=True).start()
    done = int(note.read_text()) if note.exists() else -1
    for number in itertools.count(done + 1):
        writer.write(Batch("g", number), number)  # type: ignore[arg-type]
        write_whole(note, str(number))
        print(number, flush=True)


def _tend_for_ever(home: Home) -> None:
    for turn in itertools.count():
        for kept in tables_of(home, JobConfig()):
            # As in a job: a run that meets another's commit is left to the next.
            try:
                tend(kept, int(time.time() * 1000), thorough=turn % 3 == 2)
            except Exception as error:
                print(f"upkeep: {error}", file=sys.stderr)


if __name__ == "__main__":
    {"gateway": gateway, "job": job}[sys.argv[1]](Home(sys.argv[2]))
