"""Where the page is served, and who may look.

On loopback everybody on this machine may look. Elsewhere the same users file and TLS are asked for as by the gateway.
Knows settings; must not know a server or a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.settings import Address, Settings, parse_address
from programs.errors import ConfigError

DEFAULT_PLACE = "127.0.0.1:8080"
_SHARED = ("gateway.users", "gateway.ssl.certificate", "gateway.ssl.key")
"""Settings of the gateway that are the page's too."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class PageSettings:
    """Where the page is served, and who may look."""

    listen: Address
    certificate: Path | None = None
    """PEM file of the server's certificate chain."""
    key: Path | None = None
    """PEM file of its private key, where that is a file of its own."""
    users: Path | None = None
    """The gateway's file of users; None: nobody has to say who they are."""

    def __post_init__(self) -> None:
        if self.listen.is_loopback:
            return
        if self.users is None or self.certificate is None:
            raise ConfigError(
                f"PAGE={self.listen}: others reach it, so it needs gateway.users and gateway.ssl.certificate in CONF=."
            )

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names by which it may be asked for; empty, any, where it listens on every address and users log in."""
        if self.listen.is_loopback:
            return (*LOOPBACK_NAMES, self.listen.host)
        return () if self.listen.is_wildcard else (self.listen.host,)

    def address(self, port: int) -> str:
        """As a person opens it. port: the one that the system chose where none was named."""
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{self.listen._replace(port=port)}/"


def settings_of(listen: str, pairs: Mapping[str, str]) -> PageSettings:
    """The page's settings: where it listens; of the settings file, the gateway's users and TLS. Raises ConfigError."""
    gateway = Settings.from_pairs({key: text for key, text in pairs.items() if key in _SHARED})
    return PageSettings(
        listen=parse_address("PAGE", listen),
        certificate=gateway.ssl_certificate,
        key=gateway.ssl_key,
        users=gateway.users,
    )
