"""A gateway before an upstream: a port for each of its brokers. Knows ports and brokers; knows no message."""

from __future__ import annotations

import ssl

from rollcall.serve.gateway.answering import Client
from rollcall.serve.gateway.backend import Backend
from rollcall.serve.gateway.exchange import Caller
from rollcall.serve.gateway.group_apis import Node
from rollcall.serve.gateway.metrics import Metrics
from rollcall.serve.gateway.routing import Routing
from rollcall.serve.gateway.server import Server
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.topic_ids import TopicIds
from rollcall.serve.gateway.upstream.brokers import Broker, Brokers
from rollcall.serve.gateway.upstream.followed_topics import FollowedTopics
from rollcall.serve.gateway.upstream.rewriting import Rewriting
from rollcall.serve.gateway.upstream.upstream_client import login_of
from rollcall.serve.gateway.upstream.upstream_proxy import UpstreamProxy
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
