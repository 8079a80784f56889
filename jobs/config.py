"""The job's configuration: Kafka's group settings under Kafka's keys, the stream's under `spark.coordinator.*`.

One frozen dataclass; each key is declared once, with its default and what it means. Values come from a file, then from
spark-submit's `--conf spark.coordinator.*` (which takes Kafka's keys with that prefix too), then from `--set`. An
unknown key, a wrong value and a contradiction are refused by name. Knows no Spark, and opens only that file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from rollcall.coordinator_udfs.protocol.config import ExpressionLimits, GroupConfig
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.programs.errors import ConfigError
from rollcall.programs.kafka_options import KAFKA_PREFIX
from rollcall.programs.log_lines import Form
from rollcall.programs.request_limits import RequestLimits
from rollcall.programs.settings import from_texts, keys_of, names_of, read_file, setting, unknown_key
from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.exporter.settings import ExportSettings
from rollcall.serve.listeners.addresses import Address
from rollcall.serve.listeners.settings import MetricsHosts
from rollcall.tables.properties import VERSIONS_RETENTION_MINUTES

PREFIX = "spark.coordinator."
GATEWAY_PREFIX = "gateway."
"""Keys that begin so belong to the gateway, which reads the same file and refuses those that it does not know."""

Source = Literal["delta", "kafka", "request-log"]
Writer = Literal["driver", "cluster"]
Offsets = Literal["earliest", "latest"]


@dataclass(frozen=True, slots=True)
class JobConfig(MetricsHosts, RequestLimits):
    """All settings of a run of the job, without its home. Times in ms unless the name says otherwise.

    Raises ConfigError: two settings that contradict each other.
    """

    group: GroupConfig = field(default_factory=GroupConfig)
    clock: Clock = setting(
        PREFIX + "clock", Clock.PROCESSING, "processing: time is the batches' own; event: time is the requests'"
    )
    source: Source = setting(PREFIX + "source", "delta", "where requests come from: delta, kafka or request-log")
    source_tick_ms: int = setting(
        PREFIX + "source.tick.ms",
        1000,
        "how often an idle query runs a batch if its earliest deadline is not known; 0: never (event clock)",
    )
    source_max_requests: int = setting(
        PREFIX + "source.max.requests.per.batch",
        200_000,
        "a batch takes whole commits up to about this many requests",
        least=1,
    )
    kafka_topic: str = setting(PREFIX + "kafka.topic", "", "source kafka: the topic of JSON request rows")
    kafka_starting_offsets: Offsets = setting(
        PREFIX + "kafka.starting.offsets", "earliest", "source kafka, first run: earliest or latest"
    )
    log_hold_ms: int = setting(
        PREFIX + "log.hold.ms",
        30_000,
        "shadow of a log and a cluster: how long facts of the topic wait for a log without lines of the group",
        least=5_000,
    )
    trigger_interval_ms: int = setting(
        PREFIX + "trigger.interval.ms", 0, "the least time between two batches' beginnings"
    )
    effects_writer: Writer = setting(
        PREFIX + "effects.writer",
        "driver",
        "driver: delta-rs on the driver, on one machine; cluster: Spark's Delta writer",
    )
    effects_max_rows: int = setting(
        PREFIX + "effects.max.rows.per.batch",
        2_000_000,
        "writer driver: a batch with more effects is refused with advice",
        least=1,
    )
    stall_ms: int = setting(
        PREFIX + "stall.ms",
        3000,
        "a deadline noticed that much too late: the coordinator slept, members get their time back",
        least=1,
    )
    watermark_delay_ms: int = setting(
        PREFIX + "watermark.delay.ms", 0, "event clock: how far out of order requests may come"
    )
    remembered_request_ids: int = setting(
        PREFIX + "remembered.request.ids",
        16,
        "a group's latest request ids kept, to tell a request that comes twice",
        least=1,
    )
    offsets_max_bytes: int = setting(
        PREFIX + "group.offsets.max.bytes",
        4_194_304,
        "clock processing: most bytes of offsets per group, 100 and the texts per offset; then commits are refused",
        least=1,
    )
    members_max_bytes: int = setting(
        PREFIX + "group.members.max.bytes",
        8_388_608,
        "clock processing: most bytes of members per group, an eighth of it per member; then joins are refused",
        least=1,
    )
    turn_max_work: int = setting(
        PREFIX + "turn.max.work",
        1_000_000,
        "clock processing: what a group's turn costs, about in microseconds, before the rest is put off; 0: any amount",
    )
    lag_interval_ms: int = setting(
        "rollcall.lag.interval.ms",
        10_000,
        "how often a cluster that is followed, or is behind a gateway, is asked where logs end; 0: never",
    )
    lag_full_minutes: int = setting(
        "rollcall.lag.full.minutes", 60, "how long every sample of where logs end is kept, minutes"
    )
    lag_thinned_interval_ms: int = setting(
        "rollcall.lag.thinned.interval.ms",
        300_000,
        "of older ones the last in each such interval is kept",
        least=1,
    )
    quarantine_raw_max_bytes: int = setting(
        PREFIX + "quarantine.raw.max.bytes", 1_048_576, "what is kept of a request in quarantine", least=1
    )
    upkeep_interval_ms: int = setting(
        PREFIX + "upkeep.interval.ms",
        60_000,
        "writer driver: how often small files are put together, beside batches; 0: never",
    )
    versions_retention_minutes: int = setting(
        PREFIX + "versions.retention.minutes",
        VERSIONS_RETENTION_MINUTES,
        "how long a table's old versions, and files put together since, are kept",
        least=1,
    )
    requests_retention_hours: int = setting(
        PREFIX + "requests.retention.hours",
        168,
        "requests older than that are removed from the request table; 0: never",
    )
    effects_retention_hours: int = setting(
        PREFIX + "effects.retention.hours",
        0,
        "effects (whole days) and quarantine older than that are removed; 0: never",
    )
    metrics_listen: Address | None = setting(
        PREFIX + "metrics.listen", None, "where the job serves /metrics and /health, host:port; none: nowhere"
    )
    allow_metrics: bool = setting(
        PREFIX + "allow.metrics.beyond.loopback",
        False,
        "true: others reach the job's /metrics and /health though nobody authenticates there",
    )
    log_format: Form = setting(PREFIX + "log.format", "text", "the job's log lines: text for people, json for programs")
    export: ExportSettings = field(default_factory=ExportSettings)
    """Which groups /metrics has."""
    alerts: AlertSettings = field(default_factory=AlertSettings)
    """Who gets alarms, and for which troubles."""
    kafka_options: tuple[tuple[str, str], ...] = ()
    """The keys `kafka.*` of the file, which go to Spark's connector as they are."""

    def __post_init__(self) -> None:
        self._check_kafka()
        if self.clock is Clock.PROCESSING and self.source_tick_ms == 0:
            raise ConfigError(f"{PREFIX}source.tick.ms=0: on the processing clock nothing would ever expire")
        if self.clock is Clock.PROCESSING and self.watermark_delay_ms:
            raise ConfigError(f"{PREFIX}watermark.delay.ms={self.watermark_delay_ms}: only with {PREFIX}clock=event")

        if self.metrics_listen is not None and not (self.metrics_listen.is_loopback or self.allow_metrics):
            raise ConfigError(
                f"{PREFIX}metrics.listen={self.metrics_listen}: others reach it and nobody has to authenticate: give "
                f"{PREFIX}allow.metrics.beyond.loopback=true, or an address of this machine only"
            )

    def _check_kafka(self) -> None:
        if self.source == "kafka":
            if not self.kafka_topic:
                raise ConfigError(f"{PREFIX}source=kafka: needs {PREFIX}kafka.topic")
            if not dict(self.kafka_options).get("kafka.bootstrap.servers"):
                raise ConfigError(f"{PREFIX}source=kafka: needs kafka.bootstrap.servers")
            return
        given = [f"{PREFIX}kafka.topic"] if self.kafka_topic else [key for key, _ in self.kafka_options]
        if given:
            raise ConfigError(f"{given[0]}: only with {PREFIX}source=kafka, which is {self.source}")

    @property
    def may_rest(self) -> bool:
        """Whether the driver knows the deadlines of a home on this machine, so that no batch runs before the first."""
        return self.clock is Clock.PROCESSING and self.effects_writer == "driver"

    def stream_settings(self, started_at_ms: int, *, rests: bool = False) -> StreamSettings:
        """The settings that the stream's function needs. Our own limits do not apply to a broker's recording.

        rests: the workers say until when groups wait.
        """
        group = self.group
        if self.clock is Clock.PROCESSING:
            group = replace(
                group,
                offsets_max_bytes=self.offsets_max_bytes,
                members_max_bytes=self.members_max_bytes,
                expressions=ExpressionLimits(),
            )
        elif self.source == "request-log":
            group = group.of_a_recording()
        return StreamSettings(
            group=group,
            clock=self.clock,
            source=self.source,
            started_at_ms=started_at_ms,
            stall_ms=self.stall_ms,
            remembered_request_ids=self.remembered_request_ids,
            watermark_delay_ms=self.watermark_delay_ms,
            group_id_max_bytes=self.group_id_max_bytes,
            request_max_bytes=self.request_max_bytes,
            quarantine_raw_max_bytes=self.quarantine_raw_max_bytes,
            turn_max_work=self.turn_max_work if self.clock is Clock.PROCESSING else 0,
            says_waits=rests,
        )

    @classmethod
    def from_pairs(cls, pairs: Mapping[str, str]) -> JobConfig:
        """A configuration from keys and texts. Raises ConfigError: unknown key, wrong value, contradiction."""
        known = names_of(JobConfig)
        kafka: list[tuple[str, str]] = []
        texts: dict[str, str] = {}
        for key, text in pairs.items():
            # Kafka's keys are known with the stream's prefix as well.
            name = key if key in known else key.removeprefix(PREFIX)
            if key.startswith(GATEWAY_PREFIX):
                continue
            if name in known:
                texts[name] = text
            elif key.startswith(KAFKA_PREFIX):
                kafka.append((key, text.strip()))
            else:
                raise unknown_key(key, known, "conf/coordinator.conf names them all", (PREFIX,))
        return from_texts(cls, texts, kafka_options=tuple(kafka))


KEYS = keys_of(JobConfig)


def load_config(path: Path | None, *more: Mapping[str, str]) -> JobConfig:
    """The configuration of a file, if there is one. more: pairs that override it, later ones the earlier ones."""
    pairs = {} if path is None else read_file(path)
    for override in more:
        pairs.update(override)
    return JobConfig.from_pairs(pairs)
