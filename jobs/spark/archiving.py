"""Makes the class data archive: runs a small piece of all that programs do with Spark, and lets the JVM write it down.

    python -m jobs.spark.archiving     makes the archive if it is missing; never fails a set-up

What is loaded while it runs is in the archive: a session, the streaming query on both of its clocks, its Python
workers, the Delta tables and a view. Without it every program works as well, a few seconds later. Knows what to run;
must not know what comes of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from jobs.config import JobConfig
from jobs.home import Home
from jobs.preflight import Missing, run_online
from jobs.spark.archive import NAME, archive_path
from jobs.spark.jars import JARS_FOLDER
from jobs.spark.session import spark_session
from jobs.sql import register_views
from jobs.stream.query import start
from jobs.stream.writers.driver import open_requests
from schemas.messages import HeartbeatRequest, JoinGroupProtocol, JoinGroupRequest
from table_client.requests import RequestTable
from table_client.rows import request_rows

_AT_MS = 1_790_000_000_000
_EVENT = {"spark.coordinator.clock": "event", "spark.coordinator.source.tick.ms": "0"}
_WRITTEN_WITHIN_S = 300


def make_archive() -> None:
    """Makes the archive unless it is there, in place of those of another Java, Spark or set of JARs.

    A JVM that cannot make one (an other vendor's, a full disk) is told in a sentence and is no error.
    """
    path = archive_path()
    if path.is_file():
        return
    for old in JARS_FOLDER.glob(NAME.format(key="*")):
        old.unlink()
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        command = [sys.executable, "-m", __spec__.name, str(unfinished)]
        run_online("Preparing Spark's classes for a quick start", command)
        os.replace(unfinished, path)
    except (Missing, OSError):
        unfinished.unlink(missing_ok=True)
        print("rollcall: Spark's classes could not be archived; it starts all the same, a few seconds later.")


def run_all(archive: Path) -> None:
    """Does with Spark what programs do; the JVM writes the archive when it ends."""
    spark = spark_session("rollcall archive", {"spark.driver.extraJavaOptions": _options(archive)})
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        config = JobConfig.from_pairs(_EVENT)
        open_requests(home, config)
        table = RequestTable(Path(home.requests), "archive")
        table.append(request_rows(_requests()))
        start(spark, home, config, until_drained=True).query.awaitTermination()
        live = Home(Path(folder) / "live")
        query = start(spark, live, JobConfig()).query
        query.processAllAvailable()
        query.stop()
        register_views(spark, home, ["effects"])
        spark.sql("select effect, count(*) from effects group by effect order by effect").collect()
        process: subprocess.Popen[bytes] = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
        spark.stop()
    assert process.stdin is not None
    process.stdin.close()
    process.wait(_WRITTEN_WITHIN_S)


def _options(archive: Path) -> str:
    return f"-Xss16m -XX:ArchiveClassesAtExit={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"


def _requests() -> list[JoinGroupRequest | HeartbeatRequest]:
    join = JoinGroupRequest(
        request_id="1",
        api_version=9,
        client_id="archive",
        client_host="/127.0.0.1",
        received_at_ms=_AT_MS,
        request_seq=1,
        group_id="archive",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupProtocol(name="range", metadata=b"")],
    )
    beat = HeartbeatRequest(
        request_id="2",
        api_version=4,
        client_id="archive",
        client_host="/127.0.0.1",
        received_at_ms=_AT_MS + 1,
        request_seq=2,
        group_id="archive",
        generation_id=1,
        member_id="m",
    )
    return [join, beat]


if __name__ == "__main__":
    if sys.argv[1:]:
        run_all(Path(sys.argv[1]))
    else:
        make_archive()
