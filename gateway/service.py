"""What the connections of a gateway share: who answers which API, how many they are, and what is counted of them.

Knows the endpoints and the limits; knows no group and no bytes.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gateway.exchange import ANONYMOUS, Ask, Caller, Endpoint
from gateway.metrics import Metrics
from gateway.security.tls import principal_of
from gateway.settings import Settings
from gateway.wire.codec import Head, WireError, codec
from gateway.wire.shaping import entity_of
from schemas.errors import Error

if TYPE_CHECKING:
    from gateway.connection import Connection

API_VERSIONS_KEY = 18
_FIRST_APIS = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
"""What a client may ask before it has said who it is."""
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_CHECK_S = 1.0


class Service:
    """The endpoints by API key, and the connections there are."""

    def __init__(self, settings: Settings, endpoints: Iterable[Endpoint], metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        versions = Endpoint("ApiVersions", API_VERSIONS_KEY, 0, 4, self._api_versions)
        self._unsupported = Endpoint("ApiVersions", API_VERSIONS_KEY, 0, 0, self._unsupported_api_versions)
        self._endpoints = {endpoint.key: endpoint for endpoint in [*endpoints, versions]}
        self._connections: set[Connection] = set()
        self._by_host: Counter[str] = Counter()
        self._numbers = itertools.count(1)

    # ------------------------------------------------------------ requests

    def endpoint(self, head: Head, caller: Caller) -> tuple[Endpoint, int]:
        """Who answers a request, and the version to read it in. Raises WireError: as with Kafka, the connection ends.

        In the order checked: an API that is not answered, one that may not be asked before authentication, a version
        that is not answered; but for ApiVersions, whose answer then says in v0 which versions are.
        """
        endpoint = self._endpoints.get(head.api_key)
        if endpoint is None:
            raise WireError(f"API {head.api_key} is not answered")
        if not caller.is_known and endpoint.api not in _FIRST_APIS:
            raise WireError(f"{endpoint.api} before authentication")
        if endpoint.first <= head.api_version <= endpoint.last:
            return endpoint, head.api_version
        if head.api_key == API_VERSIONS_KEY:
            return self._unsupported, 0
        raise WireError(
            f"{endpoint.api} v{head.api_version} is not answered, v{endpoint.first} to v{endpoint.last} are"
        )

    @property
    def endpoints(self) -> list[Endpoint]:
        """All of them, by API key."""
        return [self._endpoints[key] for key in sorted(self._endpoints)]

    def load(self) -> None:
        """Loads every codec, so that no client waits for one."""
        for endpoint in self.endpoints:
            for version in range(endpoint.first, endpoint.last + 1):
                codec(endpoint.api, version)

    def _api_versions(self, ask: Ask) -> Any:
        message = ask.message
        if hasattr(message, "client_software_name") and not (
            _SOFTWARE.fullmatch(message.client_software_name) and _SOFTWARE.fullmatch(message.client_software_version)
        ):
            return entity_of(ask.codec.response_type, {"error_code": Error.INVALID_REQUEST})
        return entity_of(ask.codec.response_type, {"api_keys": [_range(known) for known in self.endpoints]})

    def _unsupported_api_versions(self, ask: Ask) -> Any:
        own = _range(self._endpoints[API_VERSIONS_KEY])
        return entity_of(ask.codec.response_type, {"error_code": Error.UNSUPPORTED_VERSION, "api_keys": [own]})

    def answered(self, api: str, seconds: float) -> None:
        """An answer was written so long after its request was read."""
        self.metrics.latencies.add(api, seconds)

    # ------------------------------------------------------------ connections

    def __len__(self) -> int:
        """How many connections there are."""
        return len(self._connections)

    def connection_id(self, remote: str) -> str:
        """A name for a connection, unlike any other of this gateway."""
        return f"{remote}-{next(self._numbers)}"

    def opened(self, connection: Connection) -> str:
        """Takes note of a connection; says why it is refused, "" if it is not."""
        self._connections.add(connection)
        self._by_host[connection.remote_host] += 1
        self.metrics.connections.set(len(self._connections))
        connection.caller.is_known = self.settings.users is None
        connection.caller.principal = principal_of(connection.certificate) or ANONYMOUS
        if len(self._connections) > self.settings.max_connections:
            return f"more than gateway.max.connections={self.settings.max_connections}"
        if self._by_host[connection.remote_host] > self.settings.max_connections_per_ip:
            return f"more than gateway.max.connections.per.ip={self.settings.max_connections_per_ip}"
        return ""

    def ended(self, reason: str) -> None:
        """The gateway ended a connection for one of the reasons of `gateway.connection`."""
        self.metrics.closed.labels(reason).inc()

    def closed(self, connection: Connection) -> None:
        """Forgets a connection."""
        self._connections.discard(connection)
        self._by_host[connection.remote_host] -= 1
        if not self._by_host[connection.remote_host]:
            del self._by_host[connection.remote_host]
        self.metrics.connections.set(len(self._connections))

    def is_overdue(self, connection: Connection, now: float) -> bool:
        """Whether a connection should have said long ago who it is."""
        waited_ms = (now - connection.opened_at) * 1000
        return not connection.caller.is_known and waited_ms >= self.settings.authentication_timeout_ms

    async def watch(self) -> None:
        """Ends connections that are idle, or whose clients read nothing, until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_CHECK_S)
            for connection in list(self._connections):
                connection.check(loop.time())

    def close_all(self) -> None:
        for connection in list(self._connections):
            connection.close()


def _range(endpoint: Endpoint) -> dict[str, int]:
    return {"api_key": endpoint.key, "min_version": endpoint.first, "max_version": endpoint.last}
