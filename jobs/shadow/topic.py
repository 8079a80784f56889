"""Follows a cluster's __consumer_offsets on a home: Spark's Kafka source reads it, a query keyed by group id folds it.

Knows the query, and what a home notes about its cluster. Must not know a record, nor how a program starts and ends.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rollcall.coordinator_udfs.protocol.kafka_versions import DIFFERENCES, KafkaVersion, version_reached
from rollcall.inputs.following.group_sessions import ask_sessions
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.jobs.config import PREFIX, JobConfig, load_config
from rollcall.jobs.shadow.cluster_url import SCHEME, servers_of
from rollcall.jobs.shadow.kinds import TOPIC_SHADOW
from rollcall.jobs.shadow.listed_offsets import ListedOffsets
from rollcall.jobs.shadow.log_ends_sampler import LogEndsSampler
from rollcall.jobs.shadow.program import Beside, Failure
from rollcall.jobs.spark.home_session import home_session
from rollcall.jobs.spark.jars import make_kafka_ready
from rollcall.jobs.spark.kafka_cluster import KafkaCluster
from rollcall.jobs.spark.shutdown import listen_in_jvm
from rollcall.jobs.stream.query import failure_of, stop_after_batch
from rollcall.jobs.stream.sources.offsets_topic import COUNTS, Counted, load_offsets_topic
from rollcall.jobs.stream.topic_histories import tell_histories
from rollcall.jobs.stream.topic_names import TopicNames
from rollcall.jobs.stream.upkeep import Upkeep
from rollcall.jobs.stream.writers.driver_writer import DriverWriter
from rollcall.programs.errors import ConfigError
from rollcall.programs.kafka_options import client_settings
from rollcall.programs.log_lines import tell
from rollcall.programs.steady_clock import SteadyClock
from rollcall.programs.stop_signal import StopSignal
from rollcall.tables.home import Home, HomeError
from rollcall.tables.job_status import StatusWriter

SOURCE = "offsets-topic"
TRIGGER_INTERVAL_MS = 1_000
"""The least time between two batches' beginnings, unless the settings name another: commits come all the time."""
BACK_MS = 5_000
"""If the machine's clock is set back by more than this, Spark's trigger waits too long: the query is restarted."""
_NO_ANSWER = re.compile(
    r"\borg\.apache\.kafka\.common\.errors\.(?:Timeout|Disconnect|Network|BrokerNotAvailable|LeaderNotAvailable)Exception"
)
HOLD_MS = 2_000
"""How long a fact waits for the other records of its request, which Kafka writes together."""


def topic_config(source: str, conf: Path | None) -> JobConfig:
    """The job's configuration for a cluster: settings of a file, TLS and SASL among them. Raises ConfigError."""
    try:
        servers = ",".join(servers_of(source))
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
    """Follows a cluster's topic on a home that is locked and checked."""

    def __init__(
        self,
        home: Home,
        config: JobConfig,
        spark: SparkSession,
        status: StatusWriter,
        *,
        has_commits: bool,
        may_rest: bool = True,
        sessions: Mapping[str, int] | None = None,
        clock: Callable[[], SteadyClock] = SteadyClock,
    ) -> None:
        """status: gets each batch of the query. may_rest: False if read_until_ms must advance without records too.
        sessions: by group id, session timeouts of consumer groups that the user gave, ms; those of the cluster come
        first. clock: made with each start of the query.

        Raises ClusterError, HomeError (see check_cluster).
        """
        self.home = self.home_of_ends = home
        self.config = config
        self.cluster = KafkaCluster(spark, dict(config.kafka_options))
        check_cluster(home, self.cluster.cluster_id(), has_commits=has_commits)
        self.cluster.check_topic(TOPIC)
        self.kafka_version = _version_of(self.cluster)
        self._spark, self._status, self._has_commits, self._may_rest = spark, status, has_commits, may_rest
        self._counted, self._counted_to, self._written_to = Counted(), -1, -1
        asked, self._says = ask_sessions(dict(config.kafka_options))
        self._sessions = {**(sessions or {}), **asked}
        self._make_clock = clock
        self._is_away = False
        self.query = self._start()

    @property
    def shown(self) -> str:
        taken_for = "" if self.kafka_version is None else f", taken for Kafka {self.kafka_version},"
        return f"{TOPIC} of {SCHEME}{dict(self.config.kafka_options)['kafka.bootstrap.servers']}{taken_for}"

    def goes_on(self) -> bool:
        """A query that failed because no broker answers is started again: its next batch waits for one a minute."""
        if self.query.isActive:
            return True
        if not is_away(str(self.query.exception())):
            return False
        if not self._is_away:
            tell("the cluster does not answer; the shadow continues when it does", is_error=True)
        self._is_away = True
        self.count()
        self.query = self._start()
        return True

    def not_known(self) -> tuple[str, ...]:
        return (self._says,) if self._says else ()

    def upkeeps(self) -> list[Beside]:
        """The sampler of log ends reads facts of groups in `home_of_ends`, and writes there."""
        sampler = maybe_sampler(self.home_of_ends, self.config)
        upkeep = Upkeep(self.home, self.config, lambda: None)
        return [upkeep] if sampler is None else [sampler, upkeep]

    def step(self) -> bool:
        """The query reads by itself."""
        self.count()
        self.maybe_start_again()
        return False

    def finish(self, is_urgent: Callable[[], bool]) -> None:
        """Nothing is in hand but the running batch."""
        if self.query.isActive:
            stop_after_batch(self.query, is_urgent)

    def failure(self) -> Failure | None:
        reason = failure_of(self.query)
        return None if reason is None else Failure(reason, str(self.query.exception()))

    def closing_lines(self) -> tuple[str, ...]:
        return ()

    def count(self) -> None:
        """Adds up what batches have read since the last look. Only after new batches, since asking Spark is slow."""
        if self._counted_to >= self._written_to:
            return
        for progress in self.query.recentProgress:
            if progress.batchId <= self._counted_to:
                continue
            self._counted_to = progress.batchId
            # A batch without records has no counts.
            if (counts := progress.observedMetrics.get(COUNTS)) is not None:
                observed: Mapping[str, int] = counts.asDict()
                self._counted = Counted(*(old + observed[name] for name, old in self._counted._asdict().items()))

    @property
    def counts(self) -> str:
        self.count()
        read, commits, unknown = self._counted
        return f"{read} records read, {commits} of them commits, {unknown} of a type that nobody knows"

    def read_until_ms(self) -> int | None:
        """All records before this time are read and written, except those of open requests; None: not known yet."""
        progress = self.query.lastProgress
        if progress is None:
            return None
        topic = next(source for source in progress.sources if "Kafka" in source.description)
        if json.loads(topic.endOffset or "{}") != json.loads(topic.latestOffset or "{}"):
            return None
        return round(datetime.fromisoformat(progress.timestamp).timestamp() * 1000)

    def maybe_start_again(self) -> None:
        """Restarts the query if the machine's clock was set back: its trigger would wait for the clock to catch up."""
        if not self.query.isActive or self._clock.wall_is_behind_ms() < BACK_MS:
            return
        stop_after_batch(self.query)
        self.count()
        self.query = self._start()

    def _start(self) -> StreamingQuery:
        names = TopicNames(self.cluster.names)
        writer = DriverWriter(self.home, self.config, SOURCE, names.named)

        def write(batch: DataFrame, batch_id: int) -> None:
            done = writer.write(batch, batch_id)
            self._status.batch_done(*done[:3])
            self._written_to, self._is_away = batch_id, False

        checkpoint = self.home.checkpoint if self._may_rest else ""
        records = load_offsets_topic(self._spark, self.config, has_commits=self._has_commits, checkpoint=checkpoint)
        texts = tell_histories(records, self.config.quarantine_raw_max_bytes, HOLD_MS, self._sessions)
        stream = texts.writeStream.queryName(SOURCE).outputMode("append").foreachBatch(write)
        interval_ms = self.config.trigger_interval_ms or TRIGGER_INTERVAL_MS
        stream = stream.trigger(processingTime=f"{interval_ms} milliseconds")
        started_at_ms = int(time.time() * 1000)
        self._clock = self._make_clock()
        query = stream.option("checkpointLocation", self.home.checkpoint).start()
        writer.query_id.set_result(query.id)
        self._status.running(query.id, started_at_ms)
        return query


def _version_of(cluster: KafkaCluster) -> KafkaVersion | None:
    """The version by whose rules a cluster answers; None: it does not say."""
    level = cluster.metadata_version()
    if level is None:
        return None
    return version_reached(level, lambda version: DIFFERENCES[version].last_metadata_version)


def is_away(failure: str) -> bool:
    """Whether a query failed because no broker of the cluster answered in time."""
    return _NO_ANSWER.search(failure) is not None


def maybe_sampler(home: Home, config: JobConfig) -> LogEndsSampler | None:
    """The sampler of the cluster's log ends; None: it is off, or the settings are for the Java client only."""
    if not config.lag_interval_ms:
        return None
    try:
        settings = client_settings(dict(config.kafka_options))
    except ConfigError as error:
        tell(f"{error}; where logs end cannot be asked", is_error=True)
        return None
    return LogEndsSampler(home, ListedOffsets(settings), config.lag_interval_ms)


def kafka_session(home: Home, stop: StopSignal) -> SparkSession:
    """A session that reads from Kafka for a home. Raises Missing, HomeError."""
    spark = home_session(home, "rollcall shadow", {"spark.jars": ",".join(make_kafka_ready())})
    listen_in_jvm(stop, spark)
    return spark


def check_cluster(home: Home, cluster_id: str, *, has_commits: bool) -> None:
    """Notes the cluster of a new home. Raises HomeError: the home follows another cluster, or with other commits."""
    home.check_kind(TOPIC_SHADOW, "driver")
    note = home.read_note()
    if note.setdefault("cluster_id", cluster_id) != cluster_id:
        raise HomeError(
            f"{home.shown} follows the cluster {note['cluster_id']}, and this is {cluster_id}: name another home."
        )
    if note.setdefault("has_commits", has_commits) is not has_commits:
        was = "with" if note["has_commits"] else "without"
        raise HomeError(f"{home.shown} was begun {was} commits: keep OFFSETS=, or name another home.")
    home.write_note(note)
