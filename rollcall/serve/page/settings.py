"""Where the page is served, and who may look.

On loopback everybody on this machine may look. Elsewhere the same users file and TLS are asked for as by the gateway.
Knows settings; must not know a server or a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import from_texts
from rollcall.serve.listeners.addresses import Address, parse_address
from rollcall.serve.listeners.settings import KEYS, ListenerSecurity

DEFAULT_ADDRESS = Address("127.0.0.1", 8080)
DEFAULT_PLACE = str(DEFAULT_ADDRESS)
_SHARED = ("users", "ssl_certificate", "ssl_key")
"""Settings of the gateway that are the page's too. A browser is not asked for a certificate."""


@dataclass(frozen=True)
class PageSettings(ListenerSecurity):
    """Where the page is served, and who may look; without users no login is needed."""

    listen: Address = DEFAULT_ADDRESS

    def __post_init__(self) -> None:
        if self.listen.is_loopback:
            return
        if self.users is None or self.ssl_certificate is None:
            needs = "others reach it, so it needs gateway.users and gateway.ssl.certificate in the file of --conf."
            raise ConfigError(needs, "--page", self.listen)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names by which it may be asked for; empty, any, where it listens on every address and users log in."""
        return () if self.listen.is_wildcard else (self.listen.host,)

    def address(self, port: int) -> str:
        """As a person opens it. port: the one that the system chose where none was named."""
        scheme = "http" if self.ssl_certificate is None else "https"
        return f"{scheme}://{self.listen._replace(port=port)}/"


def settings_of(listen: str, pairs: Mapping[str, str]) -> PageSettings:
    """The page's settings: where it listens; of the settings file, the gateway's users and TLS. Raises ConfigError."""
    shared = {KEYS[name].name for name in _SHARED}
    texts = {key: text for key, text in pairs.items() if key in shared}
    return from_texts(PageSettings, texts, listen=parse_address("--page", listen))
