"""Settings of every program that listens: who may come in, TLS, and the hosts of /metrics.

Knows keys; opens no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rollcall.programs.settings import keys_of, setting


@dataclass(frozen=True)
class ListenerSecurity:
    """Users, and the files of TLS."""

    users: Path | None = setting(
        "gateway.users", None, "file of users and salted hashes, `python -m rollcall.serve.listeners.users`: SASL"
    )
    ssl_certificate: Path | None = setting(
        "gateway.ssl.certificate", None, "PEM file of the server's certificate chain: TLS"
    )
    ssl_key: Path | None = setting(
        "gateway.ssl.key", None, "PEM file of its private key, where that is a file of its own"
    )
    ssl_client_ca: Path | None = setting(
        "gateway.ssl.client.ca", None, "PEM file: clients must show a certificate of this authority"
    )


@dataclass(frozen=True)
class MetricsHosts:
    """Who may ask for /metrics and /health, of every program that serves them."""

    metrics_hosts: tuple[str, ...] = setting(
        "rollcall.metrics.hosts",
        (),
        "names by which /metrics and /health are served, besides IP addresses, localhost and the machine's own name",
    )


KEYS = keys_of(ListenerSecurity)
KEY_OF_HOSTS = keys_of(MetricsHosts)["metrics_hosts"].name
