"""The job's configuration: defaults, files, overrides, and every refusal by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol import config as group_config
from rollcall.coordinator_udfs.protocol.config import ExpressionLimits, GroupConfig
from rollcall.coordinator_udfs.settings import Clock
from rollcall.jobs.config import KEYS, JobConfig, load_config
from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import keys_of, read_file
from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.exporter.settings import ExportSettings
from tests.source_tree import ROOT

KAFKA = {
    "spark.coordinator.source": "kafka",
    "spark.coordinator.kafka.topic": "requests",
    "kafka.bootstrap.servers": "localhost:9092",
}


def test_the_file_of_all_keys_says_nothing_and_names_every_key_at_its_default() -> None:
    path = ROOT / "conf" / "coordinator.conf"
    assert load_config(path) == JobConfig()
    shown = dict(re.findall(r"^#([a-z][a-z.]+)=(.*)$", path.read_text(), re.MULTILINE))
    group, job = GroupConfig(), JobConfig()
    defaults = {key: getattr(group, name) for name, key in group_config.KEYS.items()}
    defaults |= {key: getattr(group.consumer, name) for name, key in group_config.CONSUMER_KEYS.items()}
    defaults |= {key.name: getattr(job, name) for name, key in KEYS.items()}
    defaults |= {key.name: getattr(AlertSettings(), name) for name, key in keys_of(AlertSettings).items()}
    defaults |= {key.name: getattr(job.export, name) for name, key in keys_of(ExportSettings).items()}
    is_of_others = re.compile(r"kafka\.(?!version)|gateway\.").match
    assert {key: value for key, value in shown.items() if not is_of_others(key)} == {
        key: as_text(value) for key, value in defaults.items()
    }


def as_text(value: object) -> str:
    """A default as the file has it."""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def test_each_default_of_the_file_can_be_set_as_it_stands() -> None:
    lines = (ROOT / "conf" / "coordinator.conf").read_text().splitlines()
    pairs = dict(line[1:].split("=", 1) for line in lines if re.match(r"#(?!kafka\.)[a-z][a-z.]+=.", line))
    assert JobConfig.from_pairs(pairs) == JobConfig()


def test_a_live_group_has_room_for_so_many_offsets_and_a_recorded_one_for_all() -> None:
    live = JobConfig.from_pairs({"spark.coordinator.group.offsets.max.bytes": "5000"})
    recorded = JobConfig.from_pairs({"spark.coordinator.clock": "event"})
    assert live.stream_settings(0).group.offsets_max_bytes == 5000
    assert live.stream_settings(0).group.expressions == ExpressionLimits()
    assert recorded.stream_settings(0).group == GroupConfig()


def test_the_gateways_keys_are_the_gateways_to_check() -> None:
    assert JobConfig.from_pairs({"gateway.listen": "anywhere", "gateway.no.such": "x"}) == JobConfig()


def test_kafkas_keys_and_the_streams_are_distinguished_also_where_spark_asks_for_a_prefix() -> None:
    config = JobConfig.from_pairs({"group.max.size": "3", "spark.coordinator.clock": "event", "topics": "t1:4"})
    assert (config.group.group_max_size, config.group.topics, config.clock) == (3, {"t1": 4}, Clock.EVENT)
    assert JobConfig.from_pairs({"spark.coordinator.group.max.size": "3"}).group.group_max_size == 3


def test_what_overrides_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "my.conf"
    path.write_text("# mine\n\n group.max.size = 3 \nspark.coordinator.stall.ms=9\n")
    config = load_config(path, {"group.max.size": "4"}, {"group.max.size": "5"})
    assert (config.group.group_max_size, config.stall_ms) == (5, 9)


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ({"group.max.siz": "3"}, "group.max.siz: is not a setting; did you mean group.max.size?"),
        ({"spark.coordinator.tick": "3"}, "spark.coordinator.tick: is not a setting"),
        ({"spark.sql.shuffle.partitions": "3"}, "spark.sql.shuffle.partitions: is not a setting"),
        (
            {"spark.coordinator.metrics.listen": "9465"},
            "spark.coordinator.metrics.listen=9465: is not of the form host:port",
        ),
        (
            {"spark.coordinator.metrics.listen": "0.0.0.0:9465"},
            "spark.coordinator.metrics.listen=0.0.0.0:9465: others reach it and nobody has to authenticate",
        ),
        ({"rollcall.export.groups": "(b"}, "rollcall.export.groups=(b: is not a regular expression: missing ): (b"),
        ({"rollcall.export.groups.max": "-1"}, "rollcall.export.groups.max=-1: must be at least 0"),
        ({"group.max.size": "many"}, "group.max.size=many: is not a whole number"),
        ({"group.max.size": "0"}, "group.max.size=0: must be at least 1"),
        ({"spark.coordinator.stall.ms": "x"}, "spark.coordinator.stall.ms=x: is not a whole number"),
        ({"spark.coordinator.stall.ms": "0"}, "spark.coordinator.stall.ms=0: must be at least 1"),
        ({"spark.coordinator.clock": "wall"}, "spark.coordinator.clock=wall: is neither processing nor event"),
        ({"spark.coordinator.source": "files"}, "spark.coordinator.source=files: is not one of delta, kafka"),
        ({"spark.coordinator.effects.writer": "both"}, "effects.writer=both: is neither driver nor cluster"),
        ({"spark.coordinator.source.tick.ms": "0"}, "on the processing clock nothing would ever expire"),
        (
            {"spark.coordinator.watermark.delay.ms": "5"},
            "watermark.delay.ms=5: only with spark.coordinator.clock=event",
        ),
        ({"kafka.bootstrap.servers": "h:1"}, "kafka.bootstrap.servers: only with spark.coordinator.source=kafka"),
        (
            {"spark.coordinator.kafka.topic": "t"},
            "kafka.topic: only with spark.coordinator.source=kafka, which is delta",
        ),
        ({"spark.coordinator.source": "kafka"}, "source=kafka: needs spark.coordinator.kafka.topic"),
        ({**KAFKA, "kafka.bootstrap.servers": ""}, "source=kafka: needs kafka.bootstrap.servers"),
        ({**KAFKA, "spark.coordinator.kafka.starting.offsets": "5"}, "offsets=5: is neither earliest nor latest"),
        (
            {"group.min.session.timeout.ms": "9", "group.max.session.timeout.ms": "8"},
            "group.min.session.timeout.ms=9: is above group.max.session.timeout.ms=8",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(pairs: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        JobConfig.from_pairs(pairs)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("group.max.size\n", "line 1: 'group.max.size' is not of the form key=value"),
        ("\n=3\n", "line 2: '=3' is not of the form"),
        ("group.max.size=3\ngroup.max.size=3\n", "line 2: group.max.size is given twice"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_its_line(tmp_path: Path, text: str | bytes, says: str) -> None:
    path = tmp_path / "my.conf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=re.escape(says)):
        read_file(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"my\.conf: cannot be read: No such file"):
        load_config(tmp_path / "my.conf")


def test_kafkas_options_are_passed_on_as_they_are() -> None:
    config = JobConfig.from_pairs({**KAFKA, "kafka.sasl.jaas.config": 'X required username="u";'})
    assert dict(config.kafka_options)["kafka.sasl.jaas.config"] == 'X required username="u";'


def test_the_stream_is_given_what_concerns_it() -> None:
    config = JobConfig.from_pairs({"group.max.size": "3", "spark.coordinator.request.max.bytes": "77"})
    settings = config.stream_settings(started_at_ms=5)
    assert (settings.group.group_max_size, settings.request_max_bytes, settings.started_at_ms) == (3, 77, 5)
