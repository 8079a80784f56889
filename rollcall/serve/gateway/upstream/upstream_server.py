"""A gateway before an upstream: a port for each of its brokers, and who takes the requests of its connections.

Requests of the group APIs are answered here. The others go unchanged to the broker that the client believes it is
connected to; `broker_connection` brings the answers. Knows ports, brokers, and APIs by their keys.
"""

from __future__ import annotations

import ssl
from collections.abc import Coroutine
from typing import Any

from kio.serial.errors import SerialError
from kio.serial.readers import read_compact_string_nullable, read_int16, read_nullable_legacy_string

from rollcall.schemas.messages import APIS, GROUP_RESOURCE
from rollcall.serve.gateway.answering import Answering, Client
from rollcall.serve.gateway.backend import Backend
from rollcall.serve.gateway.exchange import Caller
from rollcall.serve.gateway.fair_threads import FairThreads
from rollcall.serve.gateway.group_apis import GROUP_KEY_TYPE, Node
from rollcall.serve.gateway.metrics import Metrics
from rollcall.serve.gateway.routing import Routing
from rollcall.serve.gateway.server import Server
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.topic_ids import TopicIds
from rollcall.serve.gateway.upstream.apis import API_VERSIONS, FIND_COORDINATOR, PRODUCE, is_passed_on
from rollcall.serve.gateway.upstream.broker_connection import BrokerConnection, Passed
from rollcall.serve.gateway.upstream.brokers import Broker, Brokers
from rollcall.serve.gateway.upstream.followed_topics import FollowedTopics
from rollcall.serve.gateway.upstream.rewriting import Rewriting
from rollcall.serve.gateway.upstream.upstream_client import UpstreamLogin, login_of
from rollcall.serve.gateway.wire.codec import Elements, RequestHeader, WireError, codec, read_head, reader
from rollcall.serve.listeners.addresses import Address


class UpstreamServer(Server):
    """Listens for every broker of the upstream. Clients of each port get that port as the coordinator of every group.

    Raises ConfigError: a file that cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        upstream: Address,
        routing: Routing,
        backend: Backend,
        metrics: Metrics,
        topic_ids: TopicIds,
        tls: ssl.SSLContext | None,
    ) -> None:
        super().__init__(settings, routing, backend, metrics, tls)
        self._login = login_of(settings)
        self._upstream = upstream
        self._brokers = Brokers(settings.listen.port, self._listen_for, self.close_port)
        self._rewriting = Rewriting(self._brokers, routing.endpoints, topic_ids, self.threads)
        interval_ms = settings.upstream_topics_interval_ms
        self._topics = FollowedTopics(upstream, self._brokers, self._login, topic_ids, self.threads, interval_ms)

    async def open(self) -> None:
        """Opens the ports once the topics are known. Raises OSError."""
        await self._topics.start()
        await self._brokers.start(self._upstream, self._login)

    async def close(self) -> None:
        self._topics.close()
        await super().close()

    async def _listen_for(self, broker: Broker, wished_port: int) -> int:
        def taker_for(client: Client) -> UpstreamProxy:
            own = (client, self.routing, self.threads, self._settings)
            return UpstreamProxy(*own, broker, self._login, self._rewriting)

        return await self.listen(taker_for, wished_port)

    def node(self, caller: Caller) -> Node:
        """Where a caller is sent about its group."""
        host, port = caller.reached_at
        return self._brokers.behind(port).node_id, self._settings.host_for(host), port


_OURS = frozenset(api.key for api in APIS.values())
_READ_HERE = frozenset({API_VERSIONS, FIND_COORDINATOR})
_NAMES_KINDS = {api.key: name for name, api in APIS.items() if name == "FindCoordinator" or "Config" in name}
"""The gateway's APIs whose requests may be for the upstream."""
_PASSED_ON = "(upstream)"
"""What such requests are counted as."""


class UpstreamProxy(Answering):
    """Takes a connection's requests, with a connection to one broker."""

    def __init__(
        self,
        client: Client,
        routing: Routing,
        threads: FairThreads,
        settings: Settings,
        broker: Broker,
        login: UpstreamLogin,
        rewriting: Rewriting,
    ) -> None:
        super().__init__(client, routing, threads, settings)
        self._broker = broker
        self._login = login
        self._rewriting = rewriting
        self._connection: BrokerConnection | None = None
        client.answers.when_advanced = self.can_write

    # ------------------------------------------------------------ requests

    @property
    def request_max_bytes(self) -> int:
        # Nothing is passed on before authentication, so long requests need not be read before it.
        known = self._client.caller.is_known
        return self._settings.upstream_request_max_bytes if known else super().request_max_bytes

    @property
    def is_full(self) -> bool:
        return self._connection is not None and self._connection.is_full

    def take(self, frame: bytes) -> None:
        head = read_head(frame)
        if self._is_ours(head, frame):
            if len(frame) > super().request_max_bytes:
                raise WireError(f"a request of {len(frame)} bytes, {super().request_max_bytes} at most")
            super().take(frame)
        elif is_passed_on(head.api_key, head.api_version):
            self._pass_on(head, frame)
        else:
            raise WireError(f"API {head.api_key} v{head.api_version} is not passed on to the upstream")

    def _is_ours(self, head: RequestHeader, frame: bytes) -> bool:
        if head.api_key in _READ_HERE and not is_passed_on(head.api_key, head.api_version):
            # An unknown version: it is refused, or answered with the list of versions.
            return True
        if head.api_key == API_VERSIONS:
            return False
        if not self._client.caller.is_known:
            return True
        if head.api_key not in _OURS:
            return False
        return not is_passed_on(head.api_key, head.api_version) or not _is_about_the_upstream(head, frame)

    def _pass_on(self, head: RequestHeader, frame: bytes) -> None:
        if self._connection is None:
            self._connection = BrokerConnection(self._client, self._broker.address, self._login, self._rewritten)
        if _expects_no_answer(head, frame):
            self._connection.send(frame, None)
            return
        # The broker connection counts its bytes.
        slot = self._client.answers.line_up(_PASSED_ON, 0)
        self._connection.send(frame, Passed(slot, head, self._rewriting.is_for(head)))

    def _rewritten(self, head: RequestHeader, frame: bytes) -> Coroutine[None, None, bytes]:
        caller = self._client.caller
        return self._rewriting.rewritten(head, frame, self._settings.host_for(caller.reached_at[0]), caller)

    # ------------------------------------------------------------ the client's connection

    def can_write(self) -> None:
        if self._connection is not None:
            self._connection.work()

    def lost(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _is_about_the_upstream(head: RequestHeader, frame: bytes) -> bool:
    """Whether a request of one of our APIs is about no group: about a transaction, or configs of topics and brokers.

    Raises WireError.
    """
    api = _NAMES_KINDS.get(head.api_key)
    if api is None or not APIS[api].versions.has(head.api_version):
        return False
    _, asked = codec(api, head.api_version).read_request(frame, max_elements=len(frame))
    if api == "FindCoordinator":
        return getattr(asked, "key_type", GROUP_KEY_TYPE) != GROUP_KEY_TYPE
    if api == "ListConfigResources":
        return tuple(getattr(asked, "resource_types", ())) != (GROUP_RESOURCE,)
    return all(one.resource_type != GROUP_RESOURCE for one in asked.resources)


def _expects_no_answer(head: RequestHeader, frame: bytes) -> bool:
    """Whether it is a Produce with acks=0, the one request that Kafka never answers. Raises WireError."""
    if head.api_key != PRODUCE:
        return False
    spoken = codec("Produce", head.api_version)
    head_type: Any = spoken.request_type.__header_schema__  # type: ignore[attr-defined]
    try:
        _, at = reader(head_type)(frame, 0, Elements(0))
        read = read_compact_string_nullable if spoken.is_flexible else read_nullable_legacy_string
        _, size = read(frame, at)
        acks, _ = read_int16(frame, at + size)
    except (SerialError, ValueError, KeyError) as error:
        raise WireError(f"ProduceRequest v{head.api_version}: {error}") from None
    return acks == 0
