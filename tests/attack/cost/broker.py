"""What one request costs a gateway and the coordinator's core: in time, in memory, in bytes written.

Both run in this process, without sockets or tables; their times are measured apart. Knows the gateway's parts, the core
and how memory is measured; must not know how requests are searched for.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec
import pyarrow as pa

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest, GroupRequest
from rollcall.serve.gateway.assembly import stand_alone
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.wire.codec import Codec, codec
from tests.attack.gateways import ROUND, Gateway, Loop
from tests.gateway.core_backend import CoreBackend
from tests.protocol.bench import Bench
from tests.protocol.consumer_bench import ConsumerBench

LARGE, NEWER, OFFSETS = "large", "newer", "offsets"
"""Groups that hold much: members with long metadata, members with expressions, offsets."""
_MEMBERS = 100
_METADATA = 30_000
_SESSION_MS = 900_000
_OFFSETS = 40_000
_TOPICS = {"t1": 4, "orders": _OFFSETS, **{f"topic-{number}": 3 for number in range(1_000)}}
_ROUNDS = 4_000
_CLEAR_PEAK = "5"


@dataclass(frozen=True)
class Cost:
    """What came of a request."""

    sent_bytes: int
    gateway_s: float
    """Processor time of the gateway, all its threads together."""
    round_s: float
    """Of the longest round of its loop, in which nobody else is answered; what other threads do is not in it."""
    core_s: float
    """Processor time of the core, all turns of the request together."""
    answer_bytes: int
    written_bytes: int
    """The request and its effects, compressed as the tables' files are."""
    memory_bytes: int
    """The highest resident memory meanwhile."""

    @property
    def total_s(self) -> float:
        return self.gateway_s + self.core_s

    @property
    def written_per_byte(self) -> float:
        return self.written_bytes / self.sent_bytes


class Broker:
    """A gateway over the core, with groups that are as large as they may be."""

    def __init__(self) -> None:
        config = GroupConfig(topics=_TOPICS, group_initial_rebalance_delay_ms=0)
        topics = ",".join(f"{name}:{count}" for name, count in _TOPICS.items())
        settings = {"gateway.listen": "127.0.0.1:0", "gateway.metrics.listen": "", "topics": topics}
        self._loop = Loop()
        self._core = _MeasuredCore(config)
        self._loop.run_until_complete(self._core.start())
        server = stand_alone(Settings.from_pairs(settings), self._core)
        self.most_bytes = Settings.from_pairs(settings).request_max_bytes
        self._gateway = Gateway(self._loop, server, server.answering)
        self._groups = _groups()
        self.members = ("", next(iter(self._groups[0].members)), "m1")
        self.renew()
        self.memory_bytes = memory_bytes("VmRSS")
        """At rest."""

    @property
    def codecs(self) -> dict[str, list[Codec]]:
        """The APIs that are answered, each in its versions."""
        found = self._gateway.server.routing.endpoints
        return {one.api: [codec(one.api, version) for version in range(one.first, one.last + 1)] for one in found}

    def renew(self) -> None:
        """Groups as they are before a request."""
        self._core.end_timers()
        self._core.by_id = {group.group_id: group.copy() for group in self._groups}

    def close(self) -> None:
        self._gateway.close()
        self._loop.close()

    def cost_of(self, frame: bytes) -> Cost:
        """Sends a request, and waits until it is answered, or until it is clear that it will not be now."""
        return self._loop.run_until_complete(self._cost_of(frame))

    async def _cost_of(self, frame: bytes) -> Cost:
        peer, connection = await self._gateway.connected("10.0.0.2")
        core, longest_s = self._core, 0.0
        core.core_s, core.apart_s = 0.0, 0.0
        Path("/proc/self/clear_refs").write_text(_CLEAR_PEAK)
        began_s, last_s = time.process_time(), time.thread_time()
        self._loop.call_soon(connection.data_received, frame)
        for _ in range(_ROUNDS):
            await ROUND
            now_s = time.thread_time() - core.apart_s
            longest_s, last_s = max(longest_s, now_s - last_s), now_s
            if peer.is_over or (peer.written and not len(connection.answers)):
                break
            if len(connection.answers):
                await self._gateway.server.threads.run("settle", _nothing)
        gateway_s, memory = time.process_time() - began_s - core.apart_s, memory_bytes("VmHWM")
        peer.close()
        await ROUND
        return Cost(
            len(frame),
            gateway_s,
            longest_s,
            core.core_s,
            len(peer.written),
            core.written_bytes(),
            memory,
        )


def _nothing() -> None:
    return None


class _MeasuredCore(CoreBackend):
    """Counts what the core takes and what is written."""

    core_s = apart_s = 0.0
    """Its processor time, and that which is not the gateway's: its own and that of counting."""

    def __init__(self, config: GroupConfig) -> None:
        super().__init__(config)
        self._written: list[bytes] = []

    def written_bytes(self) -> int:
        """Of the requests and effects since the last look, compressed as the tables' files are."""
        found = b"".join(self._written)
        self._written.clear()
        return len(pa.compress(found, codec="snappy", asbytes=True)) if found else 0

    def end_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._waiting.clear()
        self.asked.clear()

    def _apply(self, request: GroupRequest) -> None:
        began_s, known = time.thread_time(), len(self.effects)
        super()._apply(request)
        self.core_s += time.thread_time() - began_s
        self._written.append(msgspec.json.encode(request))
        self._written += [msgspec.json.encode(row_of(effect, 0)) for _, effect in self.effects[known:]]
        del self.effects[known:], self.asked[:]
        self.apart_s += time.thread_time() - began_s


def _groups() -> tuple[Group, ...]:
    """The large ones."""
    at_ms = time.time_ns() // 1_000_000
    classic, consumers = Bench(LARGE).at(at_ms), ConsumerBench(_TOPICS, session_timeout_ms=_SESSION_MS).at(at_ms)
    consumers.group.group_id = NEWER
    members, random = [f"m{number}" for number in range(_MEMBERS)], Random(0)
    for name in members:
        classic.client(
            name, protocols={"range": random.randbytes(_METADATA)}, session_ms=_SESSION_MS, rebalance_ms=_SESSION_MS
        )
    classic.stable(*members)
    for number, name in enumerate(members):
        said = {"rebalance_timeout_ms": _SESSION_MS, "subscribed_topic_regex": f"topic-{number % 50}.*"}
        consumers.send(
            ConsumerGroupHeartbeatRequest,
            1,
            name,
            group_id=NEWER,
            member_id=name,
            member_epoch=0,
            topic_partitions=[],
            **said,
        )
    offsets = Bench(OFFSETS).at(at_ms)
    offsets.set(topics=_TOPICS)
    offsets.commit(offsets={("orders", number): number for number in range(_OFFSETS)})
    return classic.group, consumers.group, offsets.group


def memory_bytes(name: str) -> int:
    """This process's memory by a name of the system's."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])
