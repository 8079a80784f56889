"""Follows a cluster's __consumer_offsets on a home: what a home notes about its cluster, and what follows its topic.

Must not know a record, nor how a program starts and ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from rollcall.answers.sql.named_partitions import named_partitions
from rollcall.inputs.following.followed_cluster import FollowedCluster, ask_sessions
from rollcall.inputs.following.listed_offsets import ANSWER_WITHIN_S, quiet
from rollcall.inputs.following.log_ends_sampler import LogEndsSampler
from rollcall.inputs.following.topic_source import TopicKept, TopicSource
from rollcall.inputs.following.topic_tail import Places, TopicTail, consumer_of
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.jobs.config import PREFIX, JobConfig, load_config
from rollcall.jobs.log_config import WRITER
from rollcall.programs.errors import ConfigError
from rollcall.programs.kafka_options import client_settings
from rollcall.serve.gateway.upstream.upstream_client import answered_version
from rollcall.serve.listeners.addresses import CLUSTER_SCHEME, servers_of
from rollcall.tables.home import Home, HomeError
from rollcall.tables.home_tables import open_quarantine


def topic_config(source: str, conf: Path | None) -> JobConfig:
    """The job's configuration for a cluster: settings of a file, TLS and SASL among them. Raises ConfigError."""
    try:
        servers = ",".join(servers_of(source))
    except ValueError:
        form = f"is not of the form {CLUSTER_SCHEME}host:port or {CLUSTER_SCHEME}host:port,host:port"
        raise ConfigError(form, source) from None
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
        self.cluster = FollowedCluster(self.settings, f"{CLUSTER_SCHEME}{servers}")
        check_cluster(home, self.cluster.open(), has_commits=has_commits)
        self.kafka_version = answered_version(self.settings)
        taken_for = "" if self.kafka_version is None else f", taken for Kafka {self.kafka_version},"
        self.shown = f"{TOPIC} of {CLUSTER_SCHEME}{servers}{taken_for}"

    def source(self, kept: TopicKept | None, sessions: Mapping[str, int] | None = None) -> TopicSource:
        """Begins to follow it. kept: what the home holds of it; None: nothing yet. sessions: by group id, session
        timeouts of consumer groups that the user gave, ms; those of the cluster come first.
        """
        if kept is None:
            kept = TopicKept(self._ends() if self.config.kafka_starting_offsets == "latest" else {})
        asked, says = ask_sessions(dict(self.config.kafka_options))
        make_consumer = partial(consumer_of, self.settings, logger=quiet)
        return TopicSource(
            self.home,
            open_quarantine(self.home, self.config.versions_retention_minutes),
            kept,
            TopicTail(make_consumer, self.cluster, kept.places),
            names=self.cluster.names,
            raw_max_bytes=self.config.quarantine_raw_max_bytes,
            has_commits=self.has_commits,
            sessions={**(sessions or {}), **asked},
            shown=self.shown,
            not_known=(says,) if says else (),
        )

    def samplers(self) -> list[LogEndsSampler]:
        """What samples the cluster's log ends beside it."""
        interval_ms = self.config.lag_interval_ms
        return [LogEndsSampler(self.home, self.cluster, named_partitions, interval_ms)] if interval_ms else []

    def _ends(self) -> Places:
        partitions = [(TOPIC, one) for one in self.cluster.partition_ids(ANSWER_WITHIN_S)]
        return {number: end for (_, number), end in self.cluster.stable_ends(partitions).offsets.items()}


def check_cluster(home: Home, cluster_id: str, *, has_commits: bool) -> None:
    """Notes the cluster of a new home. Raises HomeError: the home follows another cluster, or with other commits."""
    # An earlier version noted it in a home inside, if a log was followed too.
    note = {**home.of_topic.read_note(), **home.read_note()}
    if note.setdefault("cluster_id", cluster_id) != cluster_id:
        raise HomeError(
            f"{home.shown} follows the cluster {note['cluster_id']}, and this is {cluster_id}: name another home."
        )
    if note.setdefault("has_commits", has_commits) is not has_commits:
        was, option = ("with", "--offsets") if note["has_commits"] else ("without", "--no-offsets")
        raise HomeError(f"{home.shown} was begun {was} commits: keep {option}, or name another home.")
    home.write_note(note)
