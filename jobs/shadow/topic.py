"""Follows a cluster's __consumer_offsets on a home: what a home notes about its cluster, and what follows its topic.

Must not know a record, nor how a program starts and ends.
"""

from __future__ import annotations

import shutil
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rollcall.inputs.following.group_sessions import ask_sessions
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.jobs.config import PREFIX, JobConfig, load_config
from rollcall.jobs.shadow.cluster_url import SCHEME, servers_of
from rollcall.jobs.shadow.earlier_topic import take_over
from rollcall.jobs.shadow.followed_cluster import FollowedCluster
from rollcall.jobs.shadow.following import Following
from rollcall.jobs.shadow.kinds import TOPIC_SHADOW
from rollcall.jobs.shadow.listed_offsets import ANSWER_WITHIN_S, quiet
from rollcall.jobs.shadow.log_ends_sampler import LogEndsSampler
from rollcall.jobs.shadow.program import Beside, Failure
from rollcall.jobs.shadow.topic_source import TopicKept, TopicSource, find_topic
from rollcall.jobs.shadow.topic_tail import Places, TopicLost, TopicTail, consumer_of
from rollcall.programs.errors import ConfigError
from rollcall.programs.kafka_options import client_settings
from rollcall.tables.home import Home, HomeError
from rollcall.tables.job_status import StatusWriter

WRITER = "driver"


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
            f"{PREFIX}effects.writer": WRITER,
            "kafka.bootstrap.servers": servers,
        },
    )


class FollowedTopic:
    """A cluster that has answered, and what its home holds of its topic.

    Raises ConfigError: the settings are for Java's client alone; ClusterError; HomeError (see check_cluster).
    """

    def __init__(self, home: Home, config: JobConfig, *, has_commits: bool) -> None:
        self.home, self.config, self.has_commits = home, config, has_commits
        options = dict(config.kafka_options)
        servers = options["kafka.bootstrap.servers"]
        self.settings = client_settings(options)
        self.cluster = FollowedCluster(self.settings, f"FROM={SCHEME}{servers}")
        check_cluster(home, self.cluster.open(), has_commits=has_commits)
        self.kafka_version = self.cluster.kafka_version()
        taken_for = "" if self.kafka_version is None else f", taken for Kafka {self.kafka_version},"
        self.shown = f"{TOPIC} of {SCHEME}{servers}{taken_for}"

    def following(
        self, status: StatusWriter, home_of_ends: Home, sessions: Mapping[str, int] | None = None
    ) -> TopicFollowing:
        """Begins to follow it. status: gets each commit. home_of_ends: where the sampler of log ends reads the groups'
        facts, and writes. sessions: by group id, session timeouts of consumer groups that the user gave, ms; those of
        the cluster come first.
        """
        take_over(self.home)
        kept = find_topic(self.home)
        if kept is None:
            kept = TopicKept(self._ends() if self.config.kafka_starting_offsets == "latest" else {})
        asked, says = ask_sessions(dict(self.config.kafka_options))
        make_consumer = partial(consumer_of, self.settings, logger=quiet)
        tail = TopicTail(make_consumer, self.cluster, kept.places)
        source = TopicSource(
            self.home,
            self.config,
            kept,
            names=self.cluster.names,
            read_until_ms=tail.read_until_ms,
            has_commits=self.has_commits,
            sessions={**(sessions or {}), **asked},
            shown=self.shown,
            not_known=(says,) if says else (),
        )
        interval_ms = self.config.lag_interval_ms
        sampler = LogEndsSampler(home_of_ends, self.cluster, interval_ms) if interval_ms else None
        following = TopicFollowing(self.home, source, tail, self.config, status, sampler=sampler)
        # An earlier version's, which nobody reads from now on.
        shutil.rmtree(self.home.checkpoint, ignore_errors=True)
        return following

    def _ends(self) -> Places:
        partitions = [(TOPIC, one) for one in self.cluster.partition_ids(ANSWER_WITHIN_S)]
        return {number: end for (_, number), end in self.cluster.stable_ends(partitions).offsets.items()}


class TopicFollowing(Following[LogRecord, Places]):
    """Follows a topic; ends when records are lost or rights are gone. sampler: of the cluster's log ends."""

    def __init__(
        self,
        home: Home,
        source: TopicSource,
        tail: TopicTail,
        config: JobConfig,
        status: StatusWriter,
        clock: Callable[[], float] = time.monotonic,
        sampler: LogEndsSampler | None = None,
    ) -> None:
        super().__init__(home, source, tail, config, status, clock)
        self._topic, self._sampler = source, sampler
        self._failure: Failure | None = None

    def goes_on(self) -> bool:
        return self._failure is None

    def failure(self) -> Failure | None:
        return self._failure

    def upkeeps(self) -> list[Beside]:
        return [*([self._sampler] if self._sampler else []), *super().upkeeps()]

    def step(self) -> bool:
        read = self._topic.records_read
        try:
            super().step()
        except TopicLost as error:
            self._failure = Failure(str(error), traceback.format_exc())
        return self._topic.records_read > read

    def close(self) -> None:
        self._tail.close()


def check_cluster(home: Home, cluster_id: str, *, has_commits: bool) -> None:
    """Notes the cluster of a new home. Raises HomeError: the home follows another cluster, or with other commits."""
    home.check_kind(TOPIC_SHADOW, WRITER)
    note = home.read_note()
    if note.setdefault("cluster_id", cluster_id) != cluster_id:
        raise HomeError(
            f"{home.shown} follows the cluster {note['cluster_id']}, and this is {cluster_id}: name another home."
        )
    if note.setdefault("has_commits", has_commits) is not has_commits:
        was = "with" if note["has_commits"] else "without"
        raise HomeError(f"{home.shown} was begun {was} commits: keep OFFSETS=, or name another home.")
    home.write_note(note)
