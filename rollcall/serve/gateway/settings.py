"""The gateway's settings: keys `gateway.*` of the settings file that the coordinator reads too, and `topics`.

One frozen dataclass; each key is declared once, with its default and what it means. Values come from a file, then
from the command line. An unknown `gateway.` key, an unfit value and a contradiction are refused by name; keys of other
programs are not checked. Knows no socket, and opens no file but that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.programs.errors import ConfigError
from rollcall.programs.request_limits import RequestLimits
from rollcall.programs.settings import from_texts, keys_of, names_of, setting, unknown_key
from rollcall.serve.listeners.addresses import Address
from rollcall.serve.listeners.settings import ListenerSecurity, MetricsHosts

PREFIX = "gateway."
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)


_NEEDED_BY = {
    "upstream_ssl_ca": "SSL",
    "upstream_ssl_certificate": "SSL",
    "upstream_ssl_key": "SSL",
    "upstream_sasl_username": "SASL",
    "upstream_sasl_password_file": "SASL",
}
"""What the security protocol's name must contain for a setting to have an effect."""
_RENAMED = {f"{PREFIX}heartbeats.at.the.door": f"{PREFIX}heartbeats.answered.early"}
"""Keys of earlier versions, with what they are called now."""


@dataclass(frozen=True, slots=True)
class Settings(ListenerSecurity, MetricsHosts, RequestLimits):
    """All settings of a gateway, without its home. Times in ms. Raises ConfigError: a contradiction."""

    listen: Address = setting(PREFIX + "listen", Address("127.0.0.1", 9092), "where Kafka's clients connect, host:port")
    advertised: Address | None = setting(
        PREFIX + "advertised",
        None,
        "where clients are sent, host:port, upstream: the host alone; none: gateway.listen, or where they came",
    )
    allow_anonymous: bool = setting(
        PREFIX + "allow.anonymous.beyond.loopback",
        False,
        "true: others reach the gateway though nobody has to authenticate",
    )
    topics: Mapping[str, int] = setting(
        "topics", means="stand-alone: the topics there are, t1:4,t2:4", default_factory=dict
    )
    demo_records_per_second: Mapping[str, int] = setting(
        PREFIX + "demo.records.per.second",
        means="stand-alone: how many records each partition of a topic grows by, t1:5; the other topics stay empty",
        default_factory=dict,
    )
    demo_since_ms: int = setting(PREFIX + "demo.since.ms", 0, "since when they grow, ms since the epoch", least=0)
    upstream: Address | None = setting(
        PREFIX + "upstream",
        None,
        "a broker of the Kafka cluster that has the data; ours are gateway.listen's port and the next ones",
    )
    upstream_security_protocol: Protocol = setting(
        PREFIX + "upstream.security.protocol",
        "PLAINTEXT",
        "how it is reached: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
    )
    upstream_ssl_ca: Path | None = setting(
        PREFIX + "upstream.ssl.ca", None, "PEM file of the authority its certificates are of; none: the system's"
    )
    upstream_ssl_certificate: Path | None = setting(
        PREFIX + "upstream.ssl.certificate", None, "PEM file of a certificate to show it"
    )
    upstream_ssl_key: Path | None = setting(
        PREFIX + "upstream.ssl.key", None, "PEM file of its private key, where that is a file of its own"
    )
    upstream_sasl_mechanism: Mechanism = setting(
        PREFIX + "upstream.sasl.mechanism", "PLAIN", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
    )
    upstream_sasl_username: str = setting(
        PREFIX + "upstream.sasl.username", "", "as whom the gateway passes on what clients ask"
    )
    upstream_sasl_password_file: Path | None = setting(
        PREFIX + "upstream.sasl.password.file", None, "file that holds that user's password and no more"
    )
    upstream_topics_interval_ms: int = setting(
        PREFIX + "upstream.topics.interval.ms",
        5000,
        "how often the upstream is asked for its topics, whose partitions consumer groups (KIP-848) share",
        least=100,
    )
    socket_request_max_bytes: int = setting(
        PREFIX + "socket.request.max.bytes", 2_097_152, "a longer request ends its connection", least=1024
    )
    upstream_request_max_bytes: int = setting(
        PREFIX + "upstream.request.max.bytes", 104_857_600, "the same for what is passed on to the upstream", least=1024
    )
    max_connections: int = setting(
        PREFIX + "max.connections", 10_000, "connections beyond that are closed at once", least=1
    )
    max_connections_per_ip: int = setting(
        PREFIX + "max.connections.per.ip", 10_000, "the same for one client address", least=1
    )
    max_idle_ms: int = setting(
        PREFIX + "connections.max.idle.ms", 600_000, "a connection that sends nothing for this long is closed", least=1
    )
    max_in_flight: int = setting(
        PREFIX + "max.in.flight.requests.per.connection",
        100,
        "when this many requests are unanswered, the client is read no further",
        least=1,
    )
    held_max_bytes: int = setting(
        PREFIX + "held.max.bytes",
        134_217_728,
        "when long requests and unread answers of all clients take more, the connections that use most are closed",
        least=1024,
    )
    max_in_flight_bytes: int = setting(
        PREFIX + "max.in.flight.bytes.per.connection",
        8_388_608,
        "when requests of this many bytes are unanswered, the client is read no further",
        least=1024,
    )
    send_timeout_ms: int = setting(
        PREFIX + "send.timeout.ms", 30_000, "a client that reads nothing for this long is cut off", least=1
    )
    send_max_bytes: int = setting(
        PREFIX + "send.max.bytes",
        33_554_432,
        "a client that leaves this many bytes unread is cut off at once",
        least=1024,
    )
    new_groups_max_bytes: int = setting(
        PREFIX + "new.groups.max.bytes",
        16_777_216,
        "when the groups that one user or address has made take more, each its id and 100 bytes, it makes no more",
        least=1024,
    )
    flush_interval_ms: int = setting(
        PREFIX + "flush.interval.ms", 30, "the time between appends to the request table under load"
    )
    poll_interval_ms: int = setting(
        PREFIX + "poll.interval.ms",
        10,
        "how often the effects table is asked for a new version; ten times less often with nothing under way",
        least=1,
    )
    early_heartbeats: bool = setting(
        PREFIX + "heartbeats.answered.early",
        True,
        "a member of a group at rest has its heartbeat answered at once; false: by the coordinator alone",
    )
    early_commits: bool = setting(
        PREFIX + "early.commits",
        True,
        "a member of a group at rest has its commit answered once that is in the request table; false: later",
    )
    group: GroupConfig = field(default_factory=GroupConfig)
    """The coordinator's settings of groups, by which a request may be answered early."""
    metrics_listen: Address | None = setting(
        PREFIX + "metrics.listen",
        Address("127.0.0.1", 9464),
        "where /metrics and /health are served, host:port; none: nowhere",
    )
    allow_metrics: bool = setting(
        PREFIX + "allow.metrics.beyond.loopback",
        False,
        "true: others reach /metrics and /health though nobody authenticates there",
    )
    sasl_mechanisms: tuple[Mechanism, ...] | None = setting(
        PREFIX + "sasl.mechanisms",
        None,
        "those offered where there are users; none: all, but PLAIN beyond this machine only with TLS",
    )
    rules: Path | None = setting(
        PREFIX + "rules", None, "file of who may do what with which group; none: everybody everything"
    )
    authentication_request_max_bytes: int = setting(
        PREFIX + "authentication.request.max.bytes",
        16_384,
        "a longer request ends its connection while its client has not authenticated",
        least=1024,
    )
    authentication_timeout_ms: int = setting(
        PREFIX + "authentication.timeout.ms",
        10_000,
        "a connection that has not authenticated by then is closed",
        least=1,
    )

    def __post_init__(self) -> None:
        if self.sasl_mechanisms == ():
            raise ConfigError(f"must name at least one of {', '.join(MECHANISMS)}", f"{PREFIX}sasl.mechanisms", "")
        if self.ssl_certificate is None and (self.ssl_key or self.ssl_client_ca):
            given = "ssl.key" if self.ssl_key else "ssl.client.ca"
            raise ConfigError(f"needs {PREFIX}ssl.certificate", f"{PREFIX}{given}")
        if self.upstream is not None and self.topics:
            raise ConfigError("the upstream has the topics; only without gateway.upstream", "topics")
        self._check_upstream()
        has_authentication = self.users is not None or self.ssl_client_ca is not None
        if not (self.listen.is_loopback or has_authentication or self.allow_anonymous):
            raise ConfigError(
                f"others reach it and nobody has to authenticate: give {PREFIX}users or {PREFIX}ssl.client.ca, or "
                f"{PREFIX}allow.anonymous.beyond.loopback=true",
                f"{PREFIX}listen",
                self.listen,
            )
        if self.metrics_listen is not None and not (self.metrics_listen.is_loopback or self.allow_metrics):
            raise ConfigError(
                "others reach it and nobody has to authenticate: give "
                f"{PREFIX}allow.metrics.beyond.loopback=true, or an address of this machine only",
                f"{PREFIX}metrics.listen",
                self.metrics_listen,
            )

    def _check_upstream(self) -> None:
        protocol = self.upstream_security_protocol
        if protocol != "PLAINTEXT" and self.upstream is None:
            raise ConfigError(f"needs {PREFIX}upstream", f"{PREFIX}upstream.security.protocol", protocol)
        for name, needs in _NEEDED_BY.items():
            if getattr(self, name) and needs not in protocol:
                needed = f"needs {PREFIX}upstream.security.protocol to be one with {needs}"
                raise ConfigError(needed, KEYS[name].name)
        if self.upstream_ssl_key and self.upstream_ssl_certificate is None:
            raise ConfigError(f"needs {PREFIX}upstream.ssl.certificate", f"{PREFIX}upstream.ssl.key")
        if "SASL" in protocol and not (self.upstream_sasl_username and self.upstream_sasl_password_file):
            needed = f"needs {PREFIX}upstream.sasl.username and {PREFIX}upstream.sasl.password.file"
            raise ConfigError(needed, f"{PREFIX}upstream.security.protocol", protocol)

    @property
    def offered_mechanisms(self) -> tuple[Mechanism, ...]:
        """The SASL mechanisms that clients may use. Without TLS the passwords of PLAIN can be read on the network."""
        if self.sasl_mechanisms:
            return self.sasl_mechanisms
        is_readable = self.ssl_certificate is None and not self.listen.is_loopback
        return tuple(name for name in MECHANISMS if not (is_readable and name == "PLAIN"))

    def host_for(self, reached_host: str) -> str:
        """The host at which a client that came to reached_host finds the gateway again."""
        if self.advertised is not None:
            return self.advertised.host
        return reached_host if self.listen.is_wildcard else self.listen.host

    @classmethod
    def from_pairs(cls, pairs: Mapping[str, str]) -> Settings:
        """Settings from keys and texts; skips keys of other programs. Raises ConfigError: see the class."""
        for key in pairs:
            if key in _RENAMED:
                raise ConfigError(f"is called {_RENAMED[key]} now", key)
            if key.startswith(PREFIX) and key not in NAMES:
                raise unknown_key(key, NAMES, prefixes=(PREFIX,))
        return from_texts(cls, {key: text for key, text in pairs.items() if key in NAMES})


KEYS = keys_of(Settings)
NAMES = names_of(Settings)
