"""Who answers which API in which version, and which APIs a client may use before it is authenticated.

Knows the endpoints; knows no group, no connection and no bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rollcall.schemas.errors import Error
from rollcall.serve.gateway.exchange import Answer, Ask, Caller, Endpoint
from rollcall.serve.gateway.wire.codec import RequestHeader, WireError, codec

API_VERSIONS_KEY = 18
_FIRST_APIS = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
"""The APIs that a client may use before it is authenticated."""
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class Routing:
    """The endpoints by API key; ApiVersions, which lists them, is its own."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        versions = Endpoint("ApiVersions", API_VERSIONS_KEY, 0, 4, self._api_versions)
        self._unsupported = Endpoint("ApiVersions", API_VERSIONS_KEY, 0, 0, self._unsupported_api_versions)
        self._endpoints = {endpoint.key: endpoint for endpoint in [*endpoints, versions]}

    def endpoint(self, head: RequestHeader, caller: Caller) -> tuple[Endpoint, int]:
        """Who answers a request, and the version to read it in. Raises WireError: as with Kafka, the connection ends.

        In the order checked: an unknown API; an API that needs authentication first; an unknown version. ApiVersions in
        an unknown version is answered in v0, which lists the known ones.
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

    def _api_versions(self, ask: Ask) -> Answer:
        message = ask.message
        if hasattr(message, "client_software_name") and not (
            _SOFTWARE.fullmatch(message.client_software_name) and _SOFTWARE.fullmatch(message.client_software_version)
        ):
            return {"error_code": Error.INVALID_REQUEST}
        return {"api_keys": [_range(known) for known in self.endpoints]}

    def _unsupported_api_versions(self, ask: Ask) -> Answer:
        own = _range(self._endpoints[API_VERSIONS_KEY])
        return {"error_code": Error.UNSUPPORTED_VERSION, "api_keys": [own]}


def _range(endpoint: Endpoint) -> dict[str, int]:
    return {"api_key": endpoint.key, "min_version": endpoint.first, "max_version": endpoint.last}
