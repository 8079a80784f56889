"""The gateway's settings: every key read, and whatever is unfit refused by its name and value."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol.config import KEYS as GROUP_KEYS
from rollcall.jobs.config import JobConfig
from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import read_file
from rollcall.serve.gateway.settings import KEYS, Settings
from rollcall.serve.listeners.addresses import Address, parse_address

FIT = {
    "gateway.listen": ("0.0.0.0:19092", Address("0.0.0.0", 19092)),
    "gateway.advertised": ("kafka.example:9092", Address("kafka.example", 9092)),
    "gateway.allow.anonymous.beyond.loopback": ("true", True),
    "gateway.heartbeats.answered.early": ("false", False),
    "gateway.early.commits": ("false", False),
    "gateway.demo.records.per.second": ("t1:5", {"t1": 5}),
    "topics": ("t1:4, t2:1", {"t1": 4, "t2": 1}),
    "gateway.upstream": ("[::1]:9092", Address("::1", 9092)),
    "gateway.metrics.listen": ("", None),
    "gateway.allow.metrics.beyond.loopback": ("true", True),
    "gateway.upstream.security.protocol": ("SASL_SSL", "SASL_SSL"),
    "gateway.upstream.ssl.ca": ("/ca.pem", Path("/ca.pem")),
    "gateway.upstream.ssl.certificate": ("/c.pem", Path("/c.pem")),
    "gateway.upstream.ssl.key": ("/k.pem", Path("/k.pem")),
    "gateway.upstream.sasl.mechanism": ("SCRAM-SHA-256", "SCRAM-SHA-256"),
    "gateway.upstream.sasl.username": ("rollcall", "rollcall"),
    "gateway.upstream.sasl.password.file": ("/password", Path("/password")),
    "gateway.upstream.topics.interval.ms": ("250", 250),
    "gateway.ssl.certificate": ("/c.pem", Path("/c.pem")),
    "gateway.ssl.key": ("/k.pem", Path("/k.pem")),
    "gateway.ssl.client.ca": ("/ca.pem", Path("/ca.pem")),
    "gateway.sasl.mechanisms": ("PLAIN, SCRAM-SHA-512", ("PLAIN", "SCRAM-SHA-512")),
    "gateway.users": ("/users", Path("/users")),
    "gateway.rules": ("", None),
    "rollcall.metrics.hosts": ("a.example, b.example", ("a.example", "b.example")),
}
_TLS = {"gateway.upstream": "kafka:9092", "gateway.upstream.security.protocol": "SSL"}
_SASL = {
    "gateway.upstream": "kafka:9092",
    "gateway.upstream.security.protocol": "SASL_SSL",
    "gateway.upstream.sasl.username": "u",
    "gateway.upstream.sasl.password.file": "/p",
}
BESIDE = {
    "gateway.upstream.security.protocol": _SASL,
    "gateway.upstream.ssl.ca": _TLS,
    "gateway.upstream.ssl.certificate": _TLS,
    "gateway.upstream.ssl.key": _TLS | {"gateway.upstream.ssl.certificate": "/c.pem"},
    "gateway.upstream.sasl.username": _SASL,
    "gateway.upstream.sasl.password.file": _SASL,
    "gateway.listen": {"gateway.allow.anonymous.beyond.loopback": "true"},
    "gateway.ssl.key": {"gateway.ssl.certificate": "/c.pem"},
    "gateway.ssl.client.ca": {"gateway.ssl.certificate": "/c.pem"},
}
"""Settings that some others need."""


@pytest.mark.parametrize("name", KEYS)
def test_every_key_is_read(name: str) -> None:
    key = KEYS[name].name
    text, value = FIT.get(key, ("5000", 5000))
    assert getattr(Settings.from_pairs({**BESIDE.get(key, {}), key: text}), name) == value
    assert getattr(Settings(), name) != value or name == "rules"


def test_every_setting_says_what_it_means() -> None:
    assert KEYS.keys() == {field.name for field in fields(Settings)} - {"group"}
    assert all(key.means for key in KEYS.values())


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ({"gateway.lisen": "x"}, r"gateway.lisen: is not a setting; did you mean gateway.listen\?"),
        (
            {"gateway.heartbeats.at.the.door": "false"},
            "gateway.heartbeats.at.the.door: is called gateway.heartbeats.answered.early now$",
        ),
        ({"gateway.listen": "9092"}, "gateway.listen=9092: is not of the form host:port"),
        ({"gateway.listen": "localhost:70000"}, "gateway.listen=localhost:70000: is not of the form host:port"),
        ({"gateway.listen": "::1:9092"}, r"gateway.listen=::1:9092: an IPv6 address stands in brackets, \[::1\]:9092"),
        ({"gateway.max.connections": "0"}, "gateway.max.connections=0: must be at least 1"),
        ({"gateway.sasl.mechanisms": "PLAIN,GSSAPI"}, "'GSSAPI' is not one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"gateway.sasl.mechanisms": " ,"}, "gateway.sasl.mechanisms=: must name at least one of PLAIN, SCRAM-SHA-256"),
        ({"gateway.ssl.key": "/k.pem"}, "gateway.ssl.key: needs gateway.ssl.certificate"),
        ({"gateway.ssl.client.ca": "/c.pem"}, "gateway.ssl.client.ca: needs gateway.ssl.certificate"),
        ({"gateway.upstream": "kafka:9092", "topics": "t1:4"}, "topics: the upstream has the topics"),
    ],
)
def test_an_unfit_setting_is_refused_by_its_name(pairs: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Settings.from_pairs(pairs)


@pytest.mark.parametrize("listen", ["0.0.0.0:9092", ":9092", "192.168.0.7:9092", "[::]:9092", "gateway.example:9092"])
def test_beyond_this_machine_somebody_has_to_say_that_anybody_may_come(listen: str) -> None:
    with pytest.raises(ConfigError, match="others reach it and nobody has to authenticate"):
        Settings.from_pairs({"gateway.listen": listen})
    for pairs in (
        {"gateway.users": "/users"},
        {"gateway.ssl.certificate": "/c.pem", "gateway.ssl.client.ca": "/ca.pem"},
        {"gateway.allow.anonymous.beyond.loopback": "true"},
    ):
        Settings.from_pairs({"gateway.listen": listen, **pairs})


@pytest.mark.parametrize("listen", ["127.0.0.1:9092", "localhost:9092", "[::1]:9092", "127.0.0.9:0"])
def test_this_machine_alone_needs_no_leave(listen: str) -> None:
    assert Settings.from_pairs({"gateway.listen": listen}).listen == parse_address("x", listen)


def test_metrics_are_served_beyond_this_machine_only_when_that_is_asked_for() -> None:
    with pytest.raises(ConfigError, match="others reach it and nobody has to"):
        Settings.from_pairs({"gateway.metrics.listen": "0.0.0.0:9464"})
    Settings.from_pairs({"gateway.metrics.listen": "0.0.0.0:9464", "gateway.allow.metrics.beyond.loopback": "true"})


@pytest.mark.parametrize(
    ("pairs", "offers_plain"),
    [
        ({}, True),
        ({"gateway.listen": "0.0.0.0:9092"}, False),
        ({"gateway.listen": "0.0.0.0:9092", "gateway.ssl.certificate": "/c.pem"}, True),
        ({"gateway.listen": "0.0.0.0:9092", "gateway.sasl.mechanisms": "PLAIN"}, True),
    ],
)
def test_plain_is_offered_where_passwords_can_be_read_only_when_it_is_named(
    pairs: dict[str, str], offers_plain: bool
) -> None:
    settings = Settings.from_pairs({"gateway.users": "/users", **pairs})
    assert ("PLAIN" in settings.offered_mechanisms) == offers_plain
    assert "SCRAM-SHA-512" in settings.offered_mechanisms or settings.sasl_mechanisms


def test_the_coordinators_own_keys_are_passed_over() -> None:
    others = ["spark.coordinator.clock", "spark.coordinator.upkeep.interval.ms", "kafka.bootstrap.servers"]
    assert Settings.from_pairs(dict.fromkeys(others, "1")) == Settings()


@pytest.mark.parametrize("name", sorted({*GROUP_KEYS} - {"topics", "group_min_session_timeout_ms"}))
def test_a_setting_of_groups_is_the_gateways_as_it_is_the_coordinators(name: str) -> None:
    text = "4.3" if name == "kafka_version" else "7000"
    groups = [of.from_pairs({GROUP_KEYS[name]: text}).group for of in (Settings, JobConfig)]
    assert [str(getattr(group, name)) for group in groups] == [text, text]


def test_limits_of_requests_are_the_gateways_as_they_are_the_coordinators() -> None:
    pairs = {"spark.coordinator.group.id.max.bytes": "9", "spark.coordinator.request.max.bytes": "99"}
    gateway, job = Settings.from_pairs(pairs), JobConfig.from_pairs(pairs)
    assert (gateway.group_id_max_bytes, gateway.request_max_bytes) == (9, 99)
    assert (job.group_id_max_bytes, job.request_max_bytes) == (9, 99)


def test_an_address_reads_as_it_is_written() -> None:
    for text in ("localhost:1", "[::1]:9092", "10.0.0.1:65535"):
        assert str(parse_address("x", text)) == text


def test_a_file_of_settings_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "conf"
    path.write_text("# a comment\n\n gateway.listen = localhost:1 \ntopics=t1:4\n")
    assert read_file(path) == {"gateway.listen": "localhost:1", "topics": "t1:4"}


@pytest.mark.parametrize(
    ("text", "why"),
    [("listen", "line 1: 'listen' is not of the form key=value"), ("a=1\na=2", "line 2: a is given twice")],
)
def test_an_unfit_line_is_named(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "conf").write_text(text)
    with pytest.raises(ConfigError, match=why):
        read_file(tmp_path / "conf")
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_file(tmp_path / "nowhere")


def test_the_file_of_all_keys_names_every_one_at_its_default() -> None:
    text = (Path(__file__).parents[2] / "conf" / "coordinator.conf").read_text()
    shown = dict(re.findall(r"^#(gateway\.[a-z.]+)=(.*)$", text, re.MULTILINE))
    assert shown.keys() == {key.name for key in KEYS.values() if key.name.startswith("gateway.")}
    assert Settings.from_pairs(shown) == Settings()
    for key in KEYS.values():
        assert not key.name.startswith("gateway.") or f"{key.means[1:]}.\n#{key.name}=" in text
