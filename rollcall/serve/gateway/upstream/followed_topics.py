"""Follows the upstream's topics as they change: consumer groups are assigned their partitions by topic id.

Partitions that are added, topics that are made and topics that are deleted reach a group with the next heartbeat of one
of its members. While the upstream cannot be asked, the topics stay as they were last seen.

Knows the upstream and `TopicIds`; knows no group.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid

from rollcall.schemas.limits import PARTITIONS_MAX, is_believable
from rollcall.serve.gateway.fair_threads import FairThreads
from rollcall.serve.gateway.topic_ids import TopicIds
from rollcall.serve.gateway.upstream.apis import METADATA
from rollcall.serve.gateway.upstream.brokers import Brokers
from rollcall.serve.gateway.upstream.upstream_client import (
    Send,
    UpstreamLogin,
    asked,
    connected_to,
    first_connected_to,
    request_of,
)
from rollcall.serve.gateway.wire.codec import WireError, codec
from rollcall.serve.listeners.addresses import Address

log = logging.getLogger("gateway")

TOPICS_VERSION = 12
"""The first version whose answers have names and ids of topics."""
_ELEMENTS_MAX = 16 * PARTITIONS_MAX
"""The most elements of an answer: partitions, and the brokers with replicas of each."""
_GONE_FOR_S = 15.0
"""A topic that was deleted and made again is gone for this long, the longest heartbeat interval that Kafka allows. So
groups revoke its old partitions before they assign the new ones.
"""
_REST = 20
"""After an answer that took long to read, the next request waits this many times as long."""


def topics_in(frame: bytes) -> dict[str, tuple[uuid.UUID, int]]:
    """The id and the partition count of each topic that has no error, of a whole Metadata answer. Raises WireError."""
    _, message = codec("Metadata", TOPICS_VERSION).read_response(frame, _ELEMENTS_MAX)
    return {
        topic.name: (topic.topic_id, len(topic.partitions))
        for topic in message.topics
        if topic.name and topic.topic_id and not topic.error_code
    }


class FollowedTopics:
    """Keeps `topic_ids` equal to the upstream's topics. interval_ms: how often it is asked."""

    def __init__(
        self,
        bootstrap: Address,
        brokers: Brokers,
        login: UpstreamLogin,
        topic_ids: TopicIds,
        threads: FairThreads,
        interval_ms: int,
    ) -> None:
        self._bootstrap = bootstrap
        self._brokers = brokers
        self._login = login
        self._topic_ids = topic_ids
        self._threads = threads
        self._interval_s = interval_ms / 1000
        self._digest = b""
        self._there: dict[str, tuple[uuid.UUID, int]] = {}
        self._gone_until: dict[str, float] = {}
        """Until when a topic that was made again is gone, by the loop's clock."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Knows the topics when it returns, unless the upstream is too old to name them by id. Raises UpstreamError."""
        async with first_connected_to(self._bootstrap, self._login) as send:
            offered = await asked(send, "ApiVersions", 0, {})
            last = next((known.max_version for known in offered.api_keys if known.api_key == METADATA), 0)
            if last < TOPICS_VERSION:
                log.warning("upstream: Metadata ends with v%d, so consumer groups (KIP-848) are not offered", last)
                return
            await self._look(send)
        self._task = asyncio.create_task(self._follow())

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _follow(self) -> None:
        """Asks one broker until it fails, then the next."""
        number = 0
        while True:
            places = [self._bootstrap, *self._brokers.addresses()]
            place = places[number % len(places)]
            try:
                async with connected_to(place, self._login) as send:
                    while True:
                        await asyncio.sleep(await self._look(send))
            except (OSError, EOFError, WireError, ValueError) as error:
                log.warning("upstream: %s does not list its topics: %s", place, str(error) or type(error).__name__)
            except Exception:
                log.exception("upstream: the topics that %s lists cannot be read", place)
            number += 1
            await asyncio.sleep(self._interval_s)

    async def _look(self, send: Send) -> float:
        """Learns the topics as they are now; how long to wait before the next look, in seconds."""
        loop = asyncio.get_running_loop()
        # None: all of them.
        frame = await send(request_of("Metadata", TOPICS_VERSION, {"topics": None}))
        began = loop.time()
        digest = hashlib.blake2b(frame).digest()
        if digest != self._digest:
            found = await self._threads.run(str(self._bootstrap), lambda: topics_in(frame))
            made_again = {name for name in found.keys() & self._there.keys() if found[name][0] != self._there[name][0]}
            self._gone_until |= dict.fromkeys(made_again, began + _GONE_FOR_S)
            self._there, self._digest = found, digest
        self._learn(began)
        return max(self._interval_s, _REST * (loop.time() - began))

    def _learn(self, now: float) -> None:
        self._gone_until = {name: until for name, until in self._gone_until.items() if until > now}
        sizes = {name: count for name, (_, count) in self._there.items() if name not in self._gone_until}
        if not is_believable(sizes):
            raise WireError(f"more than {PARTITIONS_MAX} partitions, which consumer groups cannot share out")
        self._topic_ids.learn(sizes, {name: topic_id for name, (topic_id, _) in self._there.items()})
