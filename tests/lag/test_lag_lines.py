"""A followed log has the same lag as a whole one, also if the follower was stopped meanwhile."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable

from rollcall.inputs.following.lag_lines import SAID_AFTER_LINES, LagLines
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.lines.files import files_in_order, lines_in_order
from rollcall.inputs.request_log.lines.line import LineReader
from rollcall.inputs.request_log.lines.reading import Reading
from rollcall.inputs.request_log.lines.tail import LogTail, Position
from rollcall.inputs.request_log.recorded import Tally
from rollcall.shown.replay_report import log_lines
from rollcall.tables.home import Home
from tests.lag.homes import lag_of_capture
from tests.request_log.truth import OF_LAG, truth
from tests.shadow.request_shadow import started
from tests.shadow.ticks import finish
from tests.why.reading import CAPTURES

ZONE = zone_of("UTC")
LOG = CAPTURES / OF_LAG / "requests.log.gz"


def follow(home: Path, log: Path, position: Position, lines: int) -> Position:
    """Reads at most this many lines, then stops."""
    tail, lag = LogTail(log, ZONE, position), LagLines(home, truth(OF_LAG)["topic_ids"], time.monotonic)
    read = 0
    while read < lines and (found := tail.poll(min(1000, lines - read))):
        lag.read(found)
        read += len(found)
    lag.close()
    tail.close()
    return tail.position


def reported(home: Path, table: str, columns: str) -> set[tuple[object, ...]]:
    rows = duckdb.from_arrow(DeltaTable(f"{home}/{table}").to_pyarrow_table())
    found = rows.query("rows", f"select distinct {columns} from rows")
    assert found is not None
    return set(found.fetchall())


def test_a_log_that_is_followed_has_the_lag_that_a_whole_one_has(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    log.write_bytes(gzip.decompress(LOG.read_bytes()))
    home = Home(tmp_path / "home")
    home.path.mkdir()
    position = follow(home.path, log, Position(), 6_000)
    follow(home.path, log, position, 100_000)
    whole = lag_of_capture()
    ends = {(one.topic, one.partition, one.at_ms, one.end_offset) for one in whole.ends}
    found = reported(home.path, "log_ends", "topic, partition, at_ms, end_offset")
    # The stop itself shows that some stand, and a fetch session is known again from what it names next.
    assert len(ends - found) < len(ends) / 100
    assert len(found - ends) < len(ends) / 50
    # Which of the offsets of a second is kept depends on when the first was.
    fetched = {(one.client_id, one.topic, one.partition): one.fetched_offset for one in whole.fetches}
    columns = "client_id, topic, partition, max(fetched_offset) over (partition by client_id, topic, partition)"
    latest = {row[:3]: row[3] for row in reported(home.path, "fetches", columns)}
    assert latest == fetched


def test_lines_of_lag_are_used_and_a_log_without_says_so_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    reading = Reading(LineReader(), tally, lambda line: None)
    for line in lines_in_order(files_in_order(LOG, ZONE), ZONE):
        reading.read(line)
    assert tally.of_lag == 6943 + 48 + 2
    counts, *rest = log_lines(tally, 1.0)
    assert "11591 lines read in 1.0 s: " in counts
    assert not any("FETCH" in line for line in rest)
    log = tmp_path / "requests.log"
    log.write_bytes(b"[2026-11-23 08:10:17,099] INFO a line (kafka.server)\n" * (SAID_AFTER_LINES + 2000))
    follow(tmp_path, log, Position(), 100_000)
    assert capsys.readouterr().out.count("no line of the log is of FETCH or LIST_OFFSETS") == 1


def test_a_follower_that_starts_again_knows_the_names_that_it_has_read(tmp_path: Path) -> None:
    *lines, names = gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)
    log, home = tmp_path / "requests.log", Home(tmp_path / "home")
    for text in (names + b"".join(lines[:1000]), b"".join(lines[1000:2000])):
        with log.open("ab") as file:
            file.write(text)
        finish(started(home, log))
    found = reported(home.path, "fetches", "topic, at_ms > (select median(at_ms) from rows)")
    assert found == {(name, is_late) for name in truth(OF_LAG)["topic_ids"].values() for is_late in (False, True)}
