"""Builds a gateway from its settings and a backend. Knows every part by name; must not know how a part works."""

from __future__ import annotations

import uuid
from pathlib import Path

from rollcall.schemas.tables import REQUESTS
from rollcall.serve.gateway.access import Access, read_rules
from rollcall.serve.gateway.backend import Backend
from rollcall.serve.gateway.exchange import Caller, Endpoint
from rollcall.serve.gateway.group_apis import GroupApis, Node
from rollcall.serve.gateway.metrics import Metrics
from rollcall.serve.gateway.registry import Registry
from rollcall.serve.gateway.routing import Routing
from rollcall.serve.gateway.sasl import Sasl
from rollcall.serve.gateway.server import Server
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.standalone import Cluster, Growth, TopicLogs
from rollcall.serve.gateway.tables.request_sink import RequestSink, Topic
from rollcall.serve.gateway.tables.tables_backend import TablesBackend
from rollcall.serve.gateway.topic_ids import TopicIds
from rollcall.serve.gateway.upstream.apis import LAST_OF_OURS
from rollcall.serve.gateway.upstream.upstream_server import UpstreamServer
from rollcall.serve.listeners.addresses import Address
from rollcall.serve.listeners.credentials import Users
from rollcall.serve.listeners.tls import tls_context
from rollcall.tables.request_table import RequestTable


def gateway_on(home: Path, settings: Settings, topic: Topic | None = None, slower: float = 1.0) -> Server:
    """A gateway over a home's tables, or over the copy of a store's; topic: where requests go. Raises ConfigError."""
    gateway_id = uuid.uuid4().hex[:12]
    backend = TablesBackend(home, settings, _requests(home, settings, topic, gateway_id), gateway_id, slower)
    if settings.upstream is not None:
        return before_upstream(settings, settings.upstream, backend)
    return stand_alone(settings, backend, Registry(home))


def _requests(home: Path, settings: Settings, topic: Topic | None, gateway_id: str) -> RequestSink:
    if topic is None:
        return RequestTable(home / REQUESTS.name, gateway_id)
    # Imported here: before a home's own table no Kafka client is needed.
    from rollcall.serve.gateway.tables.request_topic import RequestTopic

    return RequestTopic(topic, settings.request_max_bytes)


def stand_alone(settings: Settings, backend: Backend, registry: Registry | None = None) -> Server:
    """A gateway that answers for topics and records as well. Raises ConfigError: a file that cannot be used."""

    def own(caller: Caller) -> Node:
        number, advertised = 0 if registry is None else registry.number, settings.advertised
        host, port = caller.reached_at
        return number, settings.host_for(host), port if advertised is None else advertised.port

    def nodes(caller: Caller) -> list[Node]:
        others = [] if registry is None else registry.others()
        return [own(caller), *((number, *address) for number, address in others)]

    topic_ids, metrics = TopicIds(settings.topics), Metrics(backend.figures)
    growth = Growth(settings.demo_records_per_second, settings.demo_since_ms)
    endpoints = [
        *GroupApis(backend, own, _access(settings), topic_ids, settings.send_max_bytes, metrics).endpoints(),
        *Cluster(settings.topics, topic_ids, nodes).endpoints(),
        *TopicLogs(settings.topics, topic_ids, growth).endpoints(),
        *_sasl(settings),
    ]
    return Server(settings, Routing(endpoints), backend, metrics, tls_context(settings), registry)


def before_upstream(settings: Settings, upstream: Address, backend: Backend) -> Server:
    """A gateway that passes on all requests but those about groups. Raises ConfigError: a file that cannot be used."""
    access, topic_ids, metrics = _access(settings), TopicIds(), Metrics(backend.figures)
    # Late: the server knows the node, and it is made last.
    groups = GroupApis(backend, lambda caller: server.node(caller), access, topic_ids, settings.send_max_bytes, metrics)
    routing = Routing([*groups.endpoints(LAST_OF_OURS), *_sasl(settings)])
    server = UpstreamServer(settings, upstream, routing, backend, metrics, topic_ids, tls_context(settings))
    return server


def _access(settings: Settings) -> Access:
    return Access(None) if settings.rules is None else read_rules(settings.rules)


def _sasl(settings: Settings) -> list[Endpoint]:
    return [] if settings.users is None else Sasl(Users(settings.users), settings.offered_mechanisms).endpoints()
