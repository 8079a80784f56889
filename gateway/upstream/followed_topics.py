"""The upstream's topics, followed as they change: consumer groups share out their partitions by their ids.

Partitions that are added, topics that are made and topics that are deleted reach a group with the next heartbeat of one
of its members. While the upstream cannot be asked, the topics stay as they were last seen.

Knows the upstream and `TopicIds`; knows no group.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable

from gateway.fair_threads import FairThreads
from gateway.settings import Address
from gateway.topic_ids import TopicIds
from gateway.upstream.apis import METADATA
from gateway.upstream.entrance import Entrance
from gateway.upstream.line import Line, first_line_to, line_to
from gateway.upstream.metadata_topics import TOPICS_VERSION, TopicThere, topics_in
from gateway.wire.codec import WireError, codec
from schemas.cluster_sizes import PARTITIONS_MAX, is_believable

log = logging.getLogger("gateway")

_ASK = {"topics": None}
"""All of them."""
_GONE_FOR_S = 15.0
"""A topic that was made again under its name is gone for as long as the longest heartbeat interval Kafka allows, so
that groups take its old partitions away before they give the new ones.
"""
_REST = 20
"""After an answer that took long to read, the next question waits this many times as long."""


class FollowedTopics:
    """Keeps `topic_ids` as the upstream has its topics. interval_ms: how often it is asked."""

    def __init__(
        self,
        bootstrap: Address,
        brokers: Callable[[], list[Address]],
        entrance: Entrance,
        topic_ids: TopicIds,
        threads: FairThreads,
        interval_ms: int,
    ) -> None:
        self._bootstrap = bootstrap
        self._brokers = brokers
        self._entrance = entrance
        self._topic_ids = topic_ids
        self._threads = threads
        self._interval_s = interval_ms / 1000
        self._digest = b""
        self._there: dict[str, TopicThere] = {}
        self._gone_until: dict[str, float] = {}
        """Until when a topic that was made again is gone, by the loop's clock."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Knows the topics when it returns, unless the upstream is too old to tell their ids. Raises UpstreamError."""
        async with first_line_to(self._bootstrap, self._entrance) as line:
            versions = codec("ApiVersions", 0)
            _, told = versions.read_response(await line.ask("ApiVersions", 0, {}))
            last = next((known.max_version for known in told.api_keys if known.api_key == METADATA), 0)
            if last < TOPICS_VERSION:
                log.warning("upstream: Metadata ends with v%d, so consumer groups (KIP-848) are not offered", last)
                return
            await self._look(line)
        self._task = asyncio.create_task(self._follow())

    def close(self) -> None:
        """Asks no more."""
        if self._task is not None:
            self._task.cancel()

    async def _follow(self) -> None:
        """Asks one broker until it fails, then the next."""
        number = 0
        while True:
            places = [self._bootstrap, *self._brokers()]
            place = places[number % len(places)]
            try:
                async with line_to(place, self._entrance) as line:
                    while True:
                        await asyncio.sleep(await self._look(line))
            except (OSError, EOFError, WireError, ValueError) as error:
                log.warning("upstream: %s does not tell of its topics: %s", place, str(error) or type(error).__name__)
            except Exception:
                log.exception("upstream: what %s tells of its topics cannot be read", place)
            number += 1
            await asyncio.sleep(self._interval_s)

    async def _look(self, line: Line) -> float:
        """Learns the topics as they are now; how long to wait before the next look, in seconds."""
        loop = asyncio.get_running_loop()
        frame = await line.ask("Metadata", TOPICS_VERSION, _ASK)
        began = loop.time()
        digest = hashlib.blake2b(frame).digest()
        if digest != self._digest:
            self._see(await self._threads.run(str(self._bootstrap), lambda: topics_in(frame)), began)
            self._digest = digest
        self._learn(began)
        return max(self._interval_s, _REST * (loop.time() - began))

    def _see(self, found: dict[str, TopicThere], now: float) -> None:
        for name, topic in found.items():
            before = self._there.get(name)
            if before is not None and before.topic_id != topic.topic_id:
                self._gone_until[name] = now + _GONE_FOR_S
        self._there = found

    def _learn(self, now: float) -> None:
        self._gone_until = {name: until for name, until in self._gone_until.items() if until > now}
        sizes = {name: topic.partitions for name, topic in self._there.items() if name not in self._gone_until}
        if not is_believable(sizes):
            raise WireError(f"more than {PARTITIONS_MAX} partitions, which consumer groups cannot share out")
        self._topic_ids.learn(sizes, {name: topic.topic_id for name, topic in self._there.items()})
