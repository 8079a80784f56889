"""TLS of a listener, from PEM files. Knows certificates; knows no socket."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rollcall.programs.errors import ConfigError
from rollcall.serve.listeners.settings import KEYS, ListenerSecurity


def tls_context(settings: ListenerSecurity) -> ssl.SSLContext | None:
    """TLS 1.2 or newer, None if the settings name no certificate. Raises ConfigError."""
    if settings.ssl_certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with naming_setting(KEYS["ssl_certificate"].name, settings.ssl_certificate):
        context.load_cert_chain(settings.ssl_certificate, settings.ssl_key)
    if settings.ssl_client_ca is not None:
        with naming_setting(KEYS["ssl_client_ca"].name, settings.ssl_client_ca):
            context.load_verify_locations(settings.ssl_client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@contextmanager
def naming_setting(key: str, path: Path | None) -> Iterator[None]:
    """An error of a file becomes a ConfigError that names its setting; an SSLError is an OSError."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{key}={path}: {error.strerror or error}") from None
