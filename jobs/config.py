"""The job's configuration: Kafka's group settings under Kafka's keys, the stream's under `spark.coordinator.*`.

One frozen dataclass; each key is declared once, with its default and what it means. Values come from a file, then from
spark-submit's `--conf spark.coordinator.*` (which takes Kafka's keys with that prefix too), then from `--set`. An
unknown key, an unfit value and a contradiction are refused by name. Knows no Spark and opens nothing but that file.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from coordinator_udfs.protocol import config as group_config
from coordinator_udfs.protocol.config import ConfigError, GroupConfig
from coordinator_udfs.settings import Clock, StreamSettings

PREFIX = "spark.coordinator."
KAFKA_PREFIX = "kafka."
GATEWAY_PREFIX = "gateway."
"""Such keys are the gateway's, which reads the same file and refuses those it does not know."""
SOURCES = ("delta", "kafka", "request-log")
WRITERS = ("driver", "cluster")


@dataclass(frozen=True, slots=True)
class Key:
    """How a setting is spelt, what it means, and the least value where it is a number."""

    name: str
    means: str
    least: int = 0


def _key(name: str, default: Any, means: str, least: int = 0) -> Any:
    return field(default=default, metadata={"key": Key(PREFIX + name, means, least)})


@dataclass(frozen=True, slots=True)
class JobConfig:
    """Everything a run of the job is told but its home. Times in ms unless the name says otherwise."""

    group: GroupConfig = field(default_factory=GroupConfig)
    clock: Clock = field(
        default=Clock.PROCESSING,
        metadata={"key": Key(PREFIX + "clock", "processing: time is the batches' own; event: time is the requests'")},
    )
    source: str = _key("source", "delta", "where requests come from: delta, kafka or request-log")
    source_tick_ms: int = _key(
        "source.tick.ms", 1000, "an idle query runs one batch a tick, which fires what is due; 0: none (event clock)"
    )
    source_max_requests: int = _key(
        "source.max.requests.per.batch", 200_000, "a batch takes whole commits up to about so many requests", 1
    )
    kafka_topic: str = _key("kafka.topic", "", "source kafka: the topic of JSON request rows")
    kafka_starting_offsets: str = _key(
        "kafka.starting.offsets", "earliest", "source kafka, first run: earliest or latest"
    )
    trigger_interval_ms: int = _key("trigger.interval.ms", 0, "the least time between two batches' beginnings")
    effects_writer: str = _key(
        "effects.writer", "driver", "driver: delta-rs on the driver, on one machine; cluster: Spark's Delta writer"
    )
    effects_max_rows: int = _key(
        "effects.max.rows.per.batch", 2_000_000, "writer driver: a batch with more effects is refused with advice", 1
    )
    stall_ms: int = _key(
        "stall.ms", 3000, "a deadline noticed that much too late: the coordinator slept, members get their time back", 1
    )
    watermark_delay_ms: int = _key("watermark.delay.ms", 0, "event clock: how far out of order requests may come")
    remembered_request_ids: int = _key(
        "remembered.request.ids", 16, "a group's latest request ids kept, to tell a request that comes twice", 1
    )
    group_id_max_bytes: int = _key("group.id.max.bytes", 32_767, "a longer group id goes to quarantine", 1)
    request_max_bytes: int = _key("request.max.bytes", 4_194_304, "a longer request goes to quarantine", 1)
    quarantine_raw_max_bytes: int = _key(
        "quarantine.raw.max.bytes", 1_048_576, "what is kept of a request in quarantine", 1
    )
    upkeep_interval_ms: int = _key(
        "upkeep.interval.ms", 60_000, "writer driver: how often small files are put together, beside batches; 0: never"
    )
    versions_retention_minutes: int = _key(
        "versions.retention.minutes", 60, "how long a table's old versions, and files put together since, are kept", 1
    )
    requests_retention_hours: int = _key(
        "requests.retention.hours", 168, "requests older than that are removed from the request table; 0: never"
    )
    effects_retention_hours: int = _key(
        "effects.retention.hours", 0, "effects (whole days) and quarantine older than that are removed; 0: never"
    )
    kafka_options: tuple[tuple[str, str], ...] = ()
    """kafka.* of the file, for the connector as they are."""

    def __post_init__(self) -> None:
        for name, key in KEYS.items():
            value = getattr(self, name)
            if isinstance(value, int) and value < key.least:
                raise ConfigError(f"{key.name}={value}: must be at least {key.least}")
        _check_one_of("source", self.source, SOURCES)
        _check_one_of("effects.writer", self.effects_writer, WRITERS)
        self._check_kafka()
        if self.clock is Clock.PROCESSING and self.source_tick_ms == 0:
            raise ConfigError(f"{PREFIX}source.tick.ms=0: on the processing clock nothing would ever expire")
        if self.clock is Clock.PROCESSING and self.watermark_delay_ms:
            raise ConfigError(f"{PREFIX}watermark.delay.ms={self.watermark_delay_ms}: only with {PREFIX}clock=event")

    def _check_kafka(self) -> None:
        if self.source == "kafka":
            if not self.kafka_topic:
                raise ConfigError(f"{PREFIX}source=kafka: needs {PREFIX}kafka.topic")
            if not dict(self.kafka_options).get("kafka.bootstrap.servers"):
                raise ConfigError(f"{PREFIX}source=kafka: needs kafka.bootstrap.servers")
            if self.kafka_starting_offsets not in ("earliest", "latest"):
                raise ConfigError(
                    f"{PREFIX}kafka.starting.offsets={self.kafka_starting_offsets}: is neither earliest nor latest"
                )
            return
        given = [f"{PREFIX}kafka.topic"] if self.kafka_topic else [key for key, _ in self.kafka_options]
        if given:
            raise ConfigError(f"{given[0]}: only with {PREFIX}source=kafka, which is {self.source}")

    def stream_settings(self, started_at_ms: int) -> StreamSettings:
        """What the stream's function is told."""
        return StreamSettings(
            group=self.group,
            clock=self.clock,
            source=self.source,
            started_at_ms=started_at_ms,
            stall_ms=self.stall_ms,
            remembered_request_ids=self.remembered_request_ids,
            watermark_delay_ms=self.watermark_delay_ms,
            group_id_max_bytes=self.group_id_max_bytes,
            request_max_bytes=self.request_max_bytes,
            quarantine_raw_max_bytes=self.quarantine_raw_max_bytes,
        )

    @classmethod
    def from_pairs(cls, pairs: Mapping[str, str]) -> JobConfig:
        """A configuration from keys and texts. Raises ConfigError: unknown key, unfit value, contradiction."""
        named = {key.name: name for name, key in KEYS.items()}
        group: dict[str, str] = {}
        kafka: list[tuple[str, str]] = []
        values: dict[str, Any] = {}
        for key, text in pairs.items():
            if key.startswith(GATEWAY_PREFIX):
                continue
            group_key = key.removeprefix(PREFIX)
            if key in named:
                values[named[key]] = _PARSERS[named[key]](key, text.strip())
            elif group_key in _GROUP_KEYS:
                group[group_key] = text
            elif key.startswith(KAFKA_PREFIX):
                kafka.append((key, text.strip()))
            else:
                raise ConfigError(f"{key}: is no setting{_nearest(key, [*named, *_GROUP_KEYS])}")
        return cls(group=GroupConfig.from_pairs(group), kafka_options=tuple(kafka), **values)


KEYS: dict[str, Key] = {f.name: f.metadata["key"] for f in fields(JobConfig) if "key" in f.metadata}
_GROUP_KEYS = frozenset(group_config.KEYS.values())


def _check_one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{PREFIX}{name}={value}: is none of {', '.join(known)}")


def _parse_int(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{key}={text}: is not a whole number") from None


def _parse_clock(key: str, text: str) -> Clock:
    try:
        return Clock(text)
    except ValueError:
        raise ConfigError(f"{key}={text}: is neither {' nor '.join(Clock)}") from None


def _parse_text(key: str, text: str) -> str:
    return text


_PARSERS: dict[str, Callable[[str, str], Any]] = {
    f.name: {"int": _parse_int, "Clock": _parse_clock, "str": _parse_text}[str(f.type)]
    for f in fields(JobConfig)
    if f.name in KEYS
}


def _nearest(key: str, known: list[str]) -> str:
    found = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    return f"; did you mean {found[0]}?" if found else "; conf/coordinator.conf names them all"


def read_file(path: Path) -> dict[str, str]:
    """The `key=value` lines of a settings file; # begins a comment line. Raises ConfigError, naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, equals, value = line.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(f"{path} line {number}: {line.strip()!r} is not of the form key=value")
        if key in pairs:
            raise ConfigError(f"{path} line {number}: {key} is given twice")
        pairs[key] = value.strip()
    return pairs


def load_config(path: Path | None, *more: Mapping[str, str]) -> JobConfig:
    """The configuration of a file, if one is given, and of what overrides it, the last one strongest."""
    pairs = {} if path is None else read_file(path)
    for override in more:
        pairs.update(override)
    return JobConfig.from_pairs(pairs)
