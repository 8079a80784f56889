"""The gateway's settings: keys `gateway.*` of the settings file that the coordinator reads too, and `topics`.

One frozen dataclass; each key is declared once, with its default and what it means. Values come from a file, then
from the command line. An unknown `gateway.` key, an unfit value and a contradiction are refused by name; keys of others
are theirs to check. Knows no socket and opens nothing but that file.
"""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from coordinator_udfs.protocol.config import ConfigError, parse_topics

PREFIX = "gateway."
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MAX_PORT = 65_535


class Address(NamedTuple):
    """A host, which may be a name, and a port; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for every address of the machine, so that no client can be sent to it."""
        try:
            return ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return not self.host


_NEEDED_BY = {
    "upstream_ssl_ca": "SSL",
    "upstream_ssl_certificate": "SSL",
    "upstream_ssl_key": "SSL",
    "upstream_sasl_username": "SASL",
    "upstream_sasl_password_file": "SASL",
}
"""What a security protocol must have for a setting to make sense."""


@dataclass(frozen=True, slots=True)
class Key:
    """How a setting is spelt, what it means, and the least value where it is a number."""

    name: str
    means: str
    least: int = 0


def _key(name: str, means: str, least: int = 0) -> dict[str, Key]:
    return {"key": Key(PREFIX + name, means, least)}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a gateway is told but its home. Times in ms."""

    listen: Address = field(
        default=Address("127.0.0.1", 9092), metadata=_key("listen", "where Kafka's clients connect, host:port")
    )
    advertised: Address | None = field(
        default=None,
        metadata=_key(
            "advertised",
            "where clients are sent, host:port, upstream: the host alone; none: gateway.listen, or where they came",
        ),
    )
    allow_anonymous: bool = field(
        default=False,
        metadata=_key(
            "allow.anonymous.beyond.loopback", "true: others reach the gateway though nobody has to authenticate"
        ),
    )
    topics: Mapping[str, int] = field(
        default_factory=dict, metadata={"key": Key("topics", "stand-alone: the topics there are, t1:4,t2:4")}
    )
    end_offset: int = field(
        default=0, metadata=_key("end.offset", "stand-alone: the first and next offset of every, empty, partition")
    )
    upstream: Address | None = field(
        default=None,
        metadata=_key(
            "upstream",
            "a broker of the Kafka cluster that has the data; ours are gateway.listen's port and the next ones",
        ),
    )
    upstream_security_protocol: str = field(
        default="PLAINTEXT",
        metadata=_key("upstream.security.protocol", "how it is reached: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"),
    )
    upstream_ssl_ca: Path | None = field(
        default=None,
        metadata=_key("upstream.ssl.ca", "PEM file of the authority its certificates are of; none: the system's"),
    )
    upstream_ssl_certificate: Path | None = field(
        default=None, metadata=_key("upstream.ssl.certificate", "PEM file of a certificate to show it")
    )
    upstream_ssl_key: Path | None = field(
        default=None, metadata=_key("upstream.ssl.key", "PEM file of its private key, where that is a file of its own")
    )
    upstream_sasl_mechanism: str = field(
        default="PLAIN", metadata=_key("upstream.sasl.mechanism", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
    )
    upstream_sasl_username: str = field(
        default="", metadata=_key("upstream.sasl.username", "as whom the gateway passes on what clients ask")
    )
    upstream_sasl_password_file: Path | None = field(
        default=None, metadata=_key("upstream.sasl.password.file", "file that holds that user's password and no more")
    )
    request_max_bytes: int = field(
        default=2_097_152, metadata=_key("socket.request.max.bytes", "a longer request ends its connection", 1024)
    )
    upstream_request_max_bytes: int = field(
        default=104_857_600,
        metadata=_key("upstream.request.max.bytes", "the same for what is passed on to the upstream", 1024),
    )
    max_connections: int = field(
        default=10_000, metadata=_key("max.connections", "connections beyond that are closed at once", 1)
    )
    max_connections_per_ip: int = field(
        default=10_000, metadata=_key("max.connections.per.ip", "the same for one client address", 1)
    )
    max_idle_ms: int = field(
        default=600_000, metadata=_key("connections.max.idle.ms", "a connection silent for so long is closed", 1)
    )
    max_in_flight: int = field(
        default=100,
        metadata=_key("max.in.flight.requests.per.connection", "with so many unanswered none more is read", 1),
    )
    send_timeout_ms: int = field(
        default=30_000, metadata=_key("send.timeout.ms", "a client that reads nothing for so long is cut off", 1)
    )
    send_max_bytes: int = field(
        default=33_554_432,
        metadata=_key("send.max.bytes", "a client that leaves so many bytes unread is cut off at once", 1024),
    )
    flush_interval_ms: int = field(
        default=30, metadata=_key("flush.interval.ms", "the least time between two appends to the request table")
    )
    poll_interval_ms: int = field(
        default=10, metadata=_key("poll.interval.ms", "how often the effects table is asked for a new version", 1)
    )
    group_id_max_bytes: int = field(
        default=32_767,
        metadata={
            "key": Key("spark.coordinator.group.id.max.bytes", "the coordinator's: a longer group id is refused")
        },
    )
    packed_max_bytes: int = field(
        default=4_194_304,
        metadata={"key": Key("spark.coordinator.request.max.bytes", "the coordinator's: longer JSON is refused")},
    )
    metrics_listen: Address | None = field(
        default=Address("127.0.0.1", 9464),
        metadata=_key("metrics.listen", "where /metrics and /health are served, host:port; none: nowhere"),
    )
    ssl_certificate: Path | None = field(
        default=None, metadata=_key("ssl.certificate", "PEM file of the server's certificate chain: TLS")
    )
    ssl_key: Path | None = field(
        default=None, metadata=_key("ssl.key", "PEM file of its private key, where that is a file of its own")
    )
    ssl_client_ca: Path | None = field(
        default=None, metadata=_key("ssl.client.ca", "PEM file: clients must show a certificate of this authority")
    )
    sasl_mechanisms: tuple[str, ...] = field(
        default=MECHANISMS, metadata=_key("sasl.mechanisms", "those offered where there are users")
    )
    users: Path | None = field(
        default=None, metadata=_key("users", "file of users and salted hashes, `python -m gateway.users`: SASL")
    )
    rules: Path | None = field(
        default=None, metadata=_key("rules", "file of who may do what with which group; none: everybody everything")
    )
    authentication_timeout_ms: int = field(
        default=10_000,
        metadata=_key("authentication.timeout.ms", "a connection that has not authenticated by then is closed", 1),
    )

    def __post_init__(self) -> None:
        for name, key in KEYS.items():
            value = getattr(self, name)
            if isinstance(value, int) and value < key.least:
                raise ConfigError(f"{key.name}={value}: must be at least {key.least}")
        if self.ssl_certificate is None and (self.ssl_key or self.ssl_client_ca):
            given = "ssl.key" if self.ssl_key else "ssl.client.ca"
            raise ConfigError(f"{PREFIX}{given}: needs {PREFIX}ssl.certificate")
        if self.upstream is not None and self.topics:
            raise ConfigError("topics: the upstream has the topics; only without gateway.upstream")
        self._check_upstream()
        if not (self.listen.is_loopback or self.has_authentication or self.allow_anonymous):
            raise ConfigError(
                f"{PREFIX}listen={self.listen}: others reach it and nobody has to authenticate: give {PREFIX}users or "
                f"{PREFIX}ssl.client.ca, or {PREFIX}allow.anonymous.beyond.loopback=true"
            )

    def _check_upstream(self) -> None:
        protocol = self.upstream_security_protocol
        for name, known in (("upstream_security_protocol", PROTOCOLS), ("upstream_sasl_mechanism", MECHANISMS)):
            if getattr(self, name) not in known:
                raise ConfigError(f"{KEYS[name].name}={getattr(self, name)}: is none of {', '.join(known)}")
        if protocol != "PLAINTEXT" and self.upstream is None:
            raise ConfigError(f"{PREFIX}upstream.security.protocol={protocol}: needs {PREFIX}upstream")
        for name, needs in _NEEDED_BY.items():
            if getattr(self, name) and needs not in protocol:
                raise ConfigError(f"{KEYS[name].name}: needs {PREFIX}upstream.security.protocol to be one with {needs}")
        if self.upstream_ssl_key and self.upstream_ssl_certificate is None:
            raise ConfigError(f"{PREFIX}upstream.ssl.key: needs {PREFIX}upstream.ssl.certificate")
        if "SASL" in protocol and not (self.upstream_sasl_username and self.upstream_sasl_password_file):
            raise ConfigError(
                f"{PREFIX}upstream.security.protocol={protocol}: needs {PREFIX}upstream.sasl.username and "
                f"{PREFIX}upstream.sasl.password.file"
            )

    @property
    def has_authentication(self) -> bool:
        """Whether a client has to say who it is."""
        return self.users is not None or self.ssl_client_ca is not None

    def host_for(self, reached_host: str) -> str:
        """The host at which a client that came to reached_host finds the gateway again."""
        if self.advertised is not None:
            return self.advertised.host
        return reached_host if self.listen.is_wildcard else self.listen.host

    @classmethod
    def from_pairs(cls, pairs: Mapping[str, str]) -> Settings:
        """Settings from keys and texts, those of others passed over. Raises ConfigError: see the class."""
        named = {key.name: name for name, key in KEYS.items()}
        values: dict[str, Any] = {}
        for key, text in pairs.items():
            if key in named:
                values[named[key]] = _PARSERS[named[key]](key, text.strip())
            elif key.startswith(PREFIX):
                raise ConfigError(f"{key}: is no setting{_nearest(key, named)}")
        return cls(**values)


KEYS: dict[str, Key] = {f.name: f.metadata["key"] for f in fields(Settings)}


def _nearest(key: str, named: Iterable[str]) -> str:
    # Without the prefix, by which all of them would be much alike.
    short = {name.removeprefix(PREFIX): name for name in named}
    found = difflib.get_close_matches(key.removeprefix(PREFIX), short, n=1, cutoff=0.75)
    return f"; did you mean {short[found[0]]}?" if found else ""


def parse_address(key: str, text: str) -> Address:
    """`host:port`, `[::1]:port` or `:port` (every address). Raises ConfigError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > MAX_PORT:
        raise ConfigError(f"{key}={text}: is not of the form host:port")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ConfigError(f"{key}={text}: an IPv6 address stands in brackets, [::1]:9092")
    return Address(host, int(port))


def _parse_int(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{key}={text}: is not a whole number") from None


def _parse_bool(key: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise ConfigError(f"{key}={text}: is neither true nor false")
    return text == "true"


def _parse_mechanisms(key: str, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in MECHANISMS:
            raise ConfigError(f"{key}={text}: {name!r} is none of {', '.join(MECHANISMS)}")
    return names


def _parse_maybe_address(key: str, text: str) -> Address | None:
    return parse_address(key, text) if text else None


def _parse_maybe_path(key: str, text: str) -> Path | None:
    return Path(text).expanduser() if text else None


def _parse_topics(key: str, text: str) -> Mapping[str, int]:
    return parse_topics(text)


_PARSERS: dict[str, Callable[[str, str], Any]] = {
    f.name: {
        "int": _parse_int,
        "bool": _parse_bool,
        "str": lambda key, text: text,
        "Address": parse_address,
        "Address | None": _parse_maybe_address,
        "Path | None": _parse_maybe_path,
        "tuple[str, ...]": _parse_mechanisms,
        "Mapping[str, int]": _parse_topics,
    }[str(f.type)]
    for f in fields(Settings)
}
"""How each setting's text is read, by its declared type."""


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
        if not equals or not key.strip():
            raise ConfigError(f"{path} line {number}: {line.strip()!r} is not of the form key=value")
        if key.strip() in pairs:
            raise ConfigError(f"{path} line {number}: {key.strip()} is given twice")
        pairs[key.strip()] = value.strip()
    return pairs
