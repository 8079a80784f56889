"""`make shadow FROM=kafka://host:port`: follows a cluster's __consumer_offsets and keeps its groups' history.

    rollcall shadow kafka://host:port [--conf FILE] [--no-offsets] [--home FOLDER]

Spark's Kafka source reads every partition, and one streaming query keyed by group id folds the records. After a stop or
a kill, the next start goes on at the same place. Knows how the program is started and ended; must not know a record.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from jobs.config import PREFIX, JobConfig, load_config
from jobs.home import Home, HomeError
from jobs.shadow.program import ShadowProgram
from jobs.spark.jars import make_kafka_ready
from jobs.spark.kafka_cluster import KafkaCluster
from jobs.stream.query import stop_after_batch
from jobs.stream.sources.cluster_url import SCHEME, ClusterUrl
from jobs.stream.sources.offsets_topic import COUNTS, TOPIC, Counted, load_offsets_topic
from jobs.stream.topic_histories import tell_histories
from jobs.stream.topic_names import TopicNames
from jobs.stream.upkeep import Upkeep
from jobs.stream.writers.driver_writer import DriverWriter
from programs.errors import ConfigError
from programs.log_lines import log_to_standard_error
from programs.steady_clock import SteadyClock
from tables.job_status import StatusWriter

TOPIC_SHADOW = "topic shadow"
SOURCE = "offsets-topic"
POLL_S = 0.2
TRIGGER_INTERVAL_MS = 1_000
"""The least time between two batches' beginnings, unless the settings name another: commits come all the time."""
BACK_MS = 5_000
"""A machine's clock that was set back so far would keep Spark's trigger waiting."""
HOLD_MS = 2_000
"""How long a fact waits for the rest of its request's records, which Kafka writes all at once."""


def topic_config(source: str, conf: Path | None) -> JobConfig:
    """The job's configuration for a cluster: settings of a file, TLS and SASL among them. Raises ConfigError."""
    try:
        servers = ",".join(ClusterUrl.from_text(source).server_texts)
    except ValueError:
        raise ConfigError(
            f"FROM={source}: is not of the form {SCHEME}host:port or {SCHEME}host:port,host:port"
        ) from None
    return load_config(
        conf,
        {
            f"{PREFIX}source": "kafka",
            f"{PREFIX}kafka.topic": TOPIC,
            f"{PREFIX}effects.writer": "driver",
            "kafka.bootstrap.servers": servers,
        },
    )


class TopicFollowing:
    """A cluster's topic that is followed on a home that is locked and settled."""

    def __init__(
        self,
        home: Home,
        config: JobConfig,
        spark: SparkSession,
        status: StatusWriter,
        *,
        has_commits: bool,
        clock: Callable[[], SteadyClock] = SteadyClock,
    ) -> None:
        """status: where the query's batches are told of. clock: made with each start of the query.

        Raises ClusterError, HomeError (see settle).
        """
        self.home = home
        self.config = config
        self.cluster = KafkaCluster(spark, dict(config.kafka_options))
        settle(home, self.cluster.cluster_id(), has_commits=has_commits)
        self.cluster.check_topic(TOPIC)
        self._spark, self._status, self._has_commits = spark, status, has_commits
        self._counted, self._counted_to = Counted(), -1
        self._make_clock = clock
        self.query = self._start()

    def count(self) -> None:
        """Adds up what batches have read since the last look."""
        for progress in self.query.recentProgress:
            counts = progress.observedMetrics.get(COUNTS)
            if progress.batchId > self._counted_to and counts is not None:
                told: Mapping[str, int] = counts.asDict()
                self._counted = Counted(*(old + told[name] for name, old in self._counted._asdict().items()))
                self._counted_to = progress.batchId

    @property
    def counts(self) -> str:
        read, commits, unknown = self._counted
        return f"{read} records read, {commits} of them commits, {unknown} of a type that nobody knows"

    def read_until_ms(self) -> int | None:
        """A moment up to which all records are read and told, but for those of open requests; None: not known yet."""
        progress = self.query.lastProgress
        if progress is None:
            return None
        topic = next(source for source in progress.sources if "Kafka" in source.description)
        if json.loads(topic.endOffset or "{}") != json.loads(topic.latestOffset or "{}"):
            return None
        return round(datetime.fromisoformat(progress.timestamp).timestamp() * 1000)

    def maybe_start_again(self) -> None:
        """Starts the query anew if the machine's clock was set back: its trigger would wait for that to catch up."""
        if not self.query.isActive or self._clock.wall_is_behind_ms() < BACK_MS:
            return
        stop_after_batch(self.query)
        self.count()
        self.query = self._start()

    def _start(self) -> StreamingQuery:
        names = TopicNames(self.cluster.names)
        writer = DriverWriter(self.home, self.config, SOURCE, names.named)

        def write(batch: DataFrame, batch_id: int) -> None:
            self._status.batch_done(*writer.write(batch, batch_id)[:3])

        records = load_offsets_topic(self._spark, self.config, has_commits=self._has_commits)
        texts = tell_histories(records, {}, self.config.quarantine_raw_max_bytes, HOLD_MS)
        stream = texts.writeStream.queryName(SOURCE).outputMode("append").foreachBatch(write)
        interval_ms = self.config.trigger_interval_ms or TRIGGER_INTERVAL_MS
        stream = stream.trigger(processingTime=f"{interval_ms} milliseconds")
        started_at_ms = int(time.time() * 1000)
        self._clock = self._make_clock()
        query = stream.option("checkpointLocation", self.home.checkpoint).start()
        writer.query_id.set_result(query.id)
        self._status.running(query.id, started_at_ms)
        return query


class TopicShadow:
    """Follows a cluster's topic on a home until a signal comes or the query fails. Raises UserError."""

    def __init__(self, home: Home, source: str, config: JobConfig, console: Console, *, has_commits: bool) -> None:
        self.source = source
        home.settle(TOPIC_SHADOW, "driver")
        self._program = program = ShadowProgram(home, console, kafka_settings())
        with console.status("asking the cluster"):
            self._topic = TopicFollowing(home, config, program.spark, program.status, has_commits=has_commits)

    def run(self) -> int:
        """Follows the topic; returns the exit status."""
        topic, stop = self._topic, self._program.stop
        upkeep = Upkeep(topic.home, topic.config, lambda: None)
        upkeep.start()
        self._program.begin(f"{TOPIC} of {self.source}")
        while topic.query.isActive and not stop.wait(POLL_S):
            topic.count()
            topic.maybe_start_again()
            self._program.maybe_tell_rebalances()
        if topic.query.isActive:
            stop_after_batch(topic.query, lambda: stop.is_urgent)
        upkeep.stop()
        topic.count()
        return self._program.report([topic.query], topic.counts)

    def close(self) -> None:
        """Stops Spark."""
        self._topic.cluster.close()
        self._program.close()


def kafka_settings() -> dict[str, str]:
    """What a session needs to read from Kafka. Raises Missing."""
    return {"spark.jars": ",".join(make_kafka_ready())}


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
    log_to_standard_error(logging.WARNING)
    config = topic_config(source, conf)
    with home.locked("a shadow"):
        shadow = TopicShadow(home, source, config, console, has_commits=has_commits)
        try:
            return shadow.run()
        finally:
            shadow.close()
