"""Replaces the upstream's addresses and versions by the gateway's, in the answers that name them.

Knows the four messages; knows no connection. Everything else passes as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from kio.schema.errors import ErrorCode

from rollcall.schemas.messages import FindCoordinatorResponse
from rollcall.schemas.wire_fields import first_version
from rollcall.serve.gateway.answering import LONG_FRAME_BYTES
from rollcall.serve.gateway.exchange import MAX_PARTITIONS, Caller, Endpoint
from rollcall.serve.gateway.fair_threads import FairThreads
from rollcall.serve.gateway.topic_ids import TopicIds
from rollcall.serve.gateway.upstream.apis import (
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    FEATURES_LEFT_OUT,
    FIND_COORDINATOR,
    METADATA,
    offered,
)
from rollcall.serve.gateway.upstream.brokers import Brokers, joined, split
from rollcall.serve.gateway.wire.codec import LENGTH_BYTES, RequestHeader, codec
from rollcall.serve.listeners.addresses import Address

_BROKERS = 1
_MANY_KEYS_SINCE = first_version(FindCoordinatorResponse, "coordinators")
_ERROR_CODE = slice(4, 6)
"""Of an answer to ApiVersions, behind the correlation id."""


class Rewriting:
    """Rewrites the answers of all brokers. own: what is answered here. threads: for long answers."""

    def __init__(self, brokers: Brokers, own: Iterable[Endpoint], topic_ids: TopicIds, threads: FairThreads) -> None:
        self._brokers = brokers
        self._own = own
        self._threads = threads
        self._topic_ids = topic_ids
        self._apis: dict[int, tuple[str, Callable[[Any, int, str], Awaitable[Any]]]] = {
            API_VERSIONS: ("ApiVersions", self._api_versions),
            FIND_COORDINATOR: ("FindCoordinator", self._find_coordinator),
            DESCRIBE_CLUSTER: ("DescribeCluster", self._describe_cluster),
        }

    def is_for(self, head: RequestHeader) -> bool:
        return head.api_key == METADATA or head.api_key in self._apis

    async def rewritten(self, head: RequestHeader, frame: bytes, host: str, caller: Caller) -> bytes:
        """The answer to a request, from the upstream's without its length. Raises WireError and OSError.

        host: where the caller finds the gateway.
        """
        if head.api_key == METADATA:
            return await self._metadata(head.api_version, frame, host, caller)
        error_code = int.from_bytes(frame[_ERROR_CODE], "big", signed=True)
        if head.api_key == API_VERSIONS and error_code == ErrorCode.unsupported_version.value:
            # A broker that does not know the version answers in v0, which names the versions it knows.
            return len(frame).to_bytes(LENGTH_BYTES, "big") + frame
        api, rewrite = self._apis[head.api_key]
        spoken = codec(api, head.api_version)
        work = partial(self._worked, caller, len(frame))
        correlation_id, message = await work(partial(spoken.read_response, frame, MAX_PARTITIONS))
        ours = await rewrite(message, head.api_version, host)
        return await work(partial(spoken.write_response, correlation_id, ours))

    async def _worked(self, caller: Caller, length: int, work: Callable[[], Any]) -> Any:
        """What work on an answer of this length gives; on a long one it is done in a thread."""
        return work() if length <= LONG_FRAME_BYTES else await self._threads.run(caller.host, work)

    async def _metadata(self, version: int, frame: bytes, host: str, caller: Caller) -> bytes:
        parts = await self._worked(caller, len(frame), partial(split, version, frame))
        self._brokers.named({broker.node_id for broker in parts.brokers})
        ours = parts._replace(brokers=await self._ours(parts.brokers, "node_id", host))
        return joined(version, ours)

    async def _api_versions(self, message: Any, version: int, host: str) -> Any:
        if message.error_code != ErrorCode.none or not message.api_keys:
            return message
        versions = offered(
            {known.api_key: (known.min_version, known.max_version) for known in message.api_keys},
            self._own,
            self._topic_ids.are_known,
        )
        range_type = type(message.api_keys[0])
        ranges = [
            range_type(api_key=key, min_version=first, max_version=last)
            for key, (first, last) in sorted(versions.items())
        ]
        changes: dict[str, Any] = {"api_keys": tuple(ranges)}
        for name in ("supported_features", "finalized_features"):
            if hasattr(message, name):
                features = getattr(message, name)
                changes[name] = tuple(feature for feature in features if feature.name not in FEATURES_LEFT_OUT)
        return replace(message, **changes)

    async def _describe_cluster(self, message: Any, version: int, host: str) -> Any:
        if getattr(message, "endpoint_type", _BROKERS) != _BROKERS:
            return message
        self._brokers.named({broker.broker_id for broker in message.brokers})
        return replace(message, brokers=await self._ours(message.brokers, "broker_id", host))

    async def _find_coordinator(self, message: Any, version: int, host: str) -> Any:
        if version >= _MANY_KEYS_SINCE:
            return replace(message, coordinators=await self._ours(message.coordinators, "node_id", host))
        (ours,) = await self._ours((message,), "node_id", host)
        return ours

    async def _ours(self, brokers: tuple[Any, ...], id_name: str, host: str) -> tuple[Any, ...]:
        ours = []
        for broker in brokers:
            node_id = getattr(broker, id_name)
            if node_id >= 0:
                port = await self._brokers.port_of(node_id, Address(broker.host, broker.port))
                broker = replace(broker, host=host, port=port)
            ours.append(broker)
        return tuple(ours)
