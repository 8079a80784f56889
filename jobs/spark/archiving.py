"""The run from which the class data archive is made: a little of everything that programs do with Spark.

    python -m rollcall.jobs.spark.archiving ARCHIVE

The JVM writes down the classes that it has loaded by the end: those of a session, of the streaming query on both of
its clocks, of Delta's tables and of a query. Knows what to run; must not know where the archive is used.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from rollcall.jobs.config import JobConfig
from rollcall.jobs.spark.archive import WORKSPACE
from rollcall.jobs.spark.session import spark_session
from rollcall.jobs.spark.views import register_views
from rollcall.jobs.stream.query import start
from rollcall.schemas.messages import JoinGroupProtocol, JoinGroupRequest
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.request_table import RequestTable, request_rows

_AT_MS = 1_790_000_000_000
_EVENT = {"spark.coordinator.clock": "event", "spark.coordinator.source.tick.ms": "0"}
_WRITTEN_WITHIN_S = 300


def run_all(archive: Path) -> None:
    """Runs what programs do with Spark; the JVM writes the archive when it ends."""
    options = f"-Xss16m -XX:ArchiveClassesAtExit={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"
    spark = spark_session("rollcall archive", {"spark.driver.extraJavaOptions": options})
    with tempfile.TemporaryDirectory(prefix=WORKSPACE, dir=archive.parent) as folder:
        home = Home(Path(folder) / "home")
        config = JobConfig.from_pairs(_EVENT)
        open_requests(home, config.versions_retention_minutes)
        table = RequestTable(Path(home.requests), "archive")
        table.append(request_rows([_request()]))
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


def _request() -> JoinGroupRequest:
    return JoinGroupRequest(
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


if __name__ == "__main__":
    run_all(Path(sys.argv[1]))
