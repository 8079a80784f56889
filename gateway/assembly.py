"""Puts a gateway together from its settings and a backend. Knows every part by name, and what none of them does."""

from __future__ import annotations

from pathlib import Path

from gateway.access import Access, Everybody, read_rules
from gateway.backend import Backend
from gateway.exchange import Caller
from gateway.groups import GroupApis, Node
from gateway.metrics import Metrics
from gateway.server import Server
from gateway.service import Service
from gateway.settings import Settings
from gateway.standalone.cluster import Cluster
from gateway.standalone.log import EmptyLog
from gateway.tables.backend import TablesBackend
from gateway.topic_ids import TopicIds

NODE_ID = 0


def stand_alone(settings: Settings, backend: Backend) -> Server:
    """A gateway that answers for the data as well. Raises ConfigError: a file that cannot be read."""
    topic_ids = TopicIds(settings.topics)
    groups = GroupApis(backend, lambda caller: own_node(settings, caller), _access(settings), topic_ids)
    cluster = Cluster(settings.topics, topic_ids, lambda caller: [own_node(settings, caller)])
    log = EmptyLog(settings.topics, topic_ids, settings.end_offset)
    endpoints = [*groups.endpoints(), *cluster.endpoints(), *log.endpoints()]
    return Server(Service(settings, endpoints, Metrics()), backend)


def own_node(settings: Settings, caller: Caller) -> Node:
    """This gateway as a client should reach it: where the settings say, else where it came."""
    if settings.advertised is not None:
        return NODE_ID, *settings.advertised
    if settings.listen.is_wildcard or settings.listen.port == 0:
        return NODE_ID, *caller.reached_at
    return NODE_ID, *settings.listen


def _access(settings: Settings) -> Access:
    return Everybody() if settings.rules is None else read_rules(settings.rules)


def gateway_on(home: Path, settings: Settings) -> Server:
    """A gateway over the tables of a home. Raises ConfigError."""
    return stand_alone(settings, TablesBackend(home, settings))
