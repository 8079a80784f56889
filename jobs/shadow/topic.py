"""`make shadow FROM=kafka://host:port`: follows a cluster's __consumer_offsets and keeps its groups' history.

    rollcall shadow kafka://host:port [--conf FILE] [--no-offsets] [--home FOLDER]

Spark's Kafka source reads every partition, and one streaming query keyed by group id folds the records. After a stop or
a kill, the next start goes on at the same place. Knows how the program is started and ended; must not know a record.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from jobs.config import PREFIX, JobConfig, load_config
from jobs.home import Home, HomeError
from jobs.shown.terminal import Teller
from jobs.shown.watch import Watch
from jobs.spark.jars import make_kafka_ready
from jobs.spark.kafka_cluster import KafkaCluster
from jobs.spark.session import spark_session
from jobs.spark.shutdown import StopSignal
from jobs.spark.warm_answers import WarmAnswers, pool_settings
from jobs.stream.query import failure_of, stop_after_batch
from jobs.stream.sources.offsets_topic import COUNTS, TOPIC, Counted, load_offsets_topic
from jobs.stream.sources.request_log_topic import SCHEME
from jobs.stream.topic_histories import tell_histories
from jobs.stream.topic_names import TopicNames
from jobs.stream.upkeep import Upkeep
from jobs.stream.writers.driver_writer import DriverWriter
from programs.errors import ConfigError
from programs.visible import visible
from tables.job_status import StatusWriter

TOPIC_SHADOW = "topic shadow"
SOURCE = "offsets-topic"
POLL_S = 0.2
TRIGGER_INTERVAL_MS = 1_000
"""The least time between two batches' beginnings, unless the settings name another: commits come all the time."""
HOLD_MS = 2_000
"""How long a fact waits for the rest of its request's records, which Kafka writes all at once."""


def topic_config(source: str, conf: Path | None) -> JobConfig:
    """The job's configuration for a cluster: settings of a file, TLS and SASL among them. Raises ConfigError."""
    servers = urlsplit(source).netloc
    has_ports = all(server.rpartition(":")[2].isdecimal() and ":" in server for server in servers.split(","))
    if not source.startswith(SCHEME) or not has_ports:
        raise ConfigError(f"FROM={source}: is not of the form {SCHEME}host:port or {SCHEME}host:port,host:port")
    return load_config(
        conf,
        {
            f"{PREFIX}source": "kafka",
            f"{PREFIX}kafka.topic": TOPIC,
            f"{PREFIX}effects.writer": "driver",
            "kafka.bootstrap.servers": servers,
        },
    )


class TopicShadow:
    """Follows a cluster's topic on a home until a signal comes or the query fails. Raises UserError."""

    def __init__(self, home: Home, source: str, config: JobConfig, console: Console, *, has_commits: bool) -> None:
        self.home = home
        self.source = source
        self.config = config
        self._teller = Teller(console)
        with console.status("starting Spark"):
            jars = {"spark.jars": ",".join(make_kafka_ready())}
            self._spark = spark_session("rollcall shadow", {**pool_settings(), **jars})
        self._cluster = KafkaCluster(self._spark, dict(config.kafka_options))
        with console.status("asking the cluster"):
            settle(home, self._cluster.cluster_id(), has_commits=has_commits)
            self._cluster.check_topic(TOPIC)
        self._answers = WarmAnswers(self._spark, home)
        self._stop, self._status = StopSignal(self._spark), StatusWriter(home.path)
        self._counted, self._counted_to = Counted(), -1
        self._query = self._start(self._spark, has_commits=has_commits)

    def run(self) -> int:
        """Follows the topic; returns the exit status."""
        upkeep = Upkeep(self.home, self.config, lambda: None)
        upkeep.start()
        self._answers.start()
        self._teller.say(f"rollcall: following {TOPIC} of {self.source} on {self.home.shown}; Ctrl-C stops it.")
        watch = Watch(self.home.path)
        while self._query.isActive and not self._stop.wait(POLL_S):
            self._count()
            self._teller.attempt(lambda: self._tell_rebalances(watch))
        if self._query.isActive:
            stop_after_batch(self._query, lambda: self._stop.is_urgent)
        upkeep.stop()
        return self._report()

    def close(self) -> None:
        """Stops Spark."""
        self._answers.stop()
        self._cluster.close()
        self._spark.stop()

    def _start(self, spark: SparkSession, *, has_commits: bool) -> StreamingQuery:
        names = TopicNames(self._cluster.names)
        writer = DriverWriter(self.home, self.config, SOURCE, names.named)

        def write(batch: DataFrame, batch_id: int) -> None:
            self._status.batch_done(*writer.write(batch, batch_id))

        records = load_offsets_topic(spark, self.config, has_commits=has_commits)
        texts = tell_histories(records, {}, self.config.quarantine_raw_max_bytes, HOLD_MS)
        stream = texts.writeStream.queryName(SOURCE).outputMode("append").foreachBatch(write)
        interval_ms = self.config.trigger_interval_ms or TRIGGER_INTERVAL_MS
        stream = stream.trigger(processingTime=f"{interval_ms} milliseconds")
        started_at_ms = int(time.time() * 1000)
        query = stream.option("checkpointLocation", self.home.checkpoint).start()
        writer.query_id.set_result(query.id)
        self._status.running(query.id, started_at_ms)
        return query

    def _tell_rebalances(self, watch: Watch) -> None:
        for line in watch.look():
            if line in watch.rebalances:
                self._teller.say(line)
        watch.rebalances.clear()

    def _count(self) -> None:
        """Adds up what batches have read since the last look."""
        for progress in self._query.recentProgress:
            counts = progress.observedMetrics.get(COUNTS)
            if progress.batchId > self._counted_to and counts is not None:
                told: Mapping[str, int] = counts.asDict()
                self._counted = Counted(*(old + told[name] for name, old in self._counted._asdict().items()))
                self._counted_to = progress.batchId

    def _report(self) -> int:
        self._count()
        reason = failure_of(self._query)
        if reason is not None and not self._stop.wait(0):
            self._status.failed(reason, str(self._query.exception()))
            print(f"rollcall: the query failed: {visible(reason)}", file=sys.stderr)
            return 1
        self._status.stopped()
        read, commits, unknown = self._counted
        told = f"{read} records read, {commits} of them commits, {unknown} of a type that nobody knows"
        self._teller.say(f"rollcall: the shadow has stopped; {told}. It goes on there when it is started again.")
        return 0


def settle(home: Home, cluster_id: str, *, has_commits: bool) -> None:
    """Notes what a new home follows. Raises HomeError: an old one follows another cluster, or otherwise."""
    home.settle(TOPIC_SHADOW, "driver")
    note = home.read_note()
    if note.setdefault("cluster_id", cluster_id) != cluster_id:
        raise HomeError(
            f"{home.shown} follows the cluster {note['cluster_id']}, and this is {cluster_id}: name another "
            f"ROLLCALL_HOME."
        )
    if note.setdefault("has_commits", has_commits) is not has_commits:
        was = "with" if note["has_commits"] else "without"
        raise HomeError(f"{home.shown} was begun {was} commits: keep OFFSETS=, or name another ROLLCALL_HOME.")
    home.write_note(note)


def follow_topic(home: Home, source: str, conf: Path | None, console: Console, *, has_commits: bool) -> int:
    """Follows a cluster's topic on a home until a signal comes; returns 0, or 1 if it failed. Raises UserError."""
    config = topic_config(source, conf)
    with home.locked("a shadow"):
        shadow = TopicShadow(home, source, config, console, has_commits=has_commits)
        try:
            return shadow.run()
        finally:
            shadow.close()
