"""Upkeep of a home's tables by hand: while no job runs on it, or for a cluster's tables.

    rollcall maintain [--home FOLDER] [--conf FILE]

Tables that the driver writes are maintained without Spark, and only while no job holds their home. Tables of a cluster
job are maintained by Spark, whether the job runs or not, but on S3 while it does not: there the table format keeps one
program's commits apart from each other, not two programs'. A live job with the driver's writer maintains its own
tables. Requests that no job has read yet are left alone.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from rollcall.jobs.config import JobConfig
from rollcall.jobs.spark.session import spark_session
from rollcall.jobs.spark.store_folder import held
from rollcall.jobs.stream.checkpoint import read_version
from rollcall.jobs.stream.upkeep import kept_of, tables_of
from rollcall.schemas.tables import EFFECTS, QUARANTINE, REQUESTS, Table
from rollcall.tables import in_spark
from rollcall.tables.home import LIVE, Home
from rollcall.tables.lasting_facts import keep_lasting_facts
from rollcall.tables.upkeep import may_tend_requests, tend
from rollcall.tables.versions import Versions, is_table

ONE_PROGRAM_WRITES = ("s3://", "s3a://", "s3n://")
"""Stores in which a table takes commits of one program at a time."""
CLUSTER_TABLES = (EFFECTS, QUARANTINE)


def maintain(home: Home, config: JobConfig) -> list[str]:
    """Maintains a home's tables; returns a line for each. Raises HomeError: no such home, or a job holds it."""
    now_ms = int(time.time() * 1000)
    if not home.is_local:
        spark = spark_session("rollcall maintenance")
        if not home.location.startswith(ONE_PROGRAM_WRITES):
            return maintain_cluster(spark, home, config, now_ms)
        with held(spark, home, "maintenance"):
            return maintain_cluster(spark, home, config, now_ms)
    home.check_there()
    done = []
    with home.locked("maintenance"):
        config = replace(config, effects_writer=home.read_note().get("writer", config.effects_writer))
        unread = _unread_commits(home)
        for kept in tables_of(home, config):
            if kept.table is REQUESTS and not may_tend_requests(kept, unread, now_ms, most=0):
                done.append(f"requests: left alone, the coordinator has not read the last {unread} commits yet")
                continue
            if not is_table(kept.path):
                continue
            tend(kept, now_ms, thorough=True)
            done.append(f"{kept.table.name}: put together, checkpointed and cleaned")
        if config.effects_writer == "cluster":
            done += maintain_cluster(spark_session("rollcall maintenance"), home, config, now_ms)
    return done


def _unread_commits(home: Home) -> int:
    """How many commits of the request table the next start of the job has to read; it needs each of them."""
    if home.read_note().get("kind", LIVE) != LIVE and not Path(home.checkpoint).exists():
        return 0
    version = read_version(Path(home.checkpoint))
    return 0 if version is None else max(0, Versions(Path(home.requests)).latest() - version)


def maintain_cluster(spark: SparkSession, home: Home, config: JobConfig, now_ms: int) -> list[str]:
    """Maintains the tables that Spark writes, by Spark."""
    for key, value in in_spark.UPKEEP_SETTINGS.items():
        spark.conf.set(key, value)
    done = []
    for table in CLUSTER_TABLES:
        kept = kept_of(table, home, config)
        before_ms = kept.old_before_ms(now_ms)
        old = None if before_ms is None else _before(table, before_ms)
        if table is EFFECTS and home.is_local:
            keep_lasting_facts(Path(kept.path))
        for statement in in_spark.upkeep(kept.path, old, config.versions_retention_minutes):
            spark.sql(statement)
        done.append(f"{table.name}: put together and cleaned")
    return done


def _before(table: Table, before_ms: int) -> str:
    """The SQL condition for rows before a moment; of a table partitioned by day, for its partitions."""
    if table.partition_by:
        return f"at_date < '{datetime.fromtimestamp(before_ms / 1000, UTC).date().isoformat()}'"
    return f"at_ms < {before_ms}"
