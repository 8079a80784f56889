"""A broker in virtual time that writes a request log: the core's groups behind the delays that real logs show.

A request arrives, waits in a queue, is worked on, and its line is written when its answer has been sent, in whole
milliseconds of UTC; timers fire late. What the lines hide (which request the group saw first, when a timer fired, a
client that died) is kept in `effects` for comparison. Knows the core and the layout of a line; knows no importer.
"""

from __future__ import annotations

import heapq
import json
import random
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.schemas.effects import Effect, Reply
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import (
    APIS,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    GroupObservedRequest,
    GroupRequest,
    HeartbeatRequest,
    Response,
)
from rollcall.schemas.wire_fields import carried, parse_request

START_MS = 1_772_359_200_000
"""2026-03-01 10:00 UTC."""
_LOG_NAMES = {
    "JoinGroup": "JOIN_GROUP",
    "SyncGroup": "SYNC_GROUP",
    "Heartbeat": "HEARTBEAT",
    "LeaveGroup": "LEAVE_GROUP",
    "OffsetCommit": "OFFSET_COMMIT",
    "OffsetFetch": "OFFSET_FETCH",
    "DescribeGroups": "DESCRIBE_GROUPS",
    "ConsumerGroupHeartbeat": "CONSUMER_GROUP_HEARTBEAT",
}

Answered = Callable[[Response], None]


def stamp(at_ms: float) -> str:
    """log4j's `%d`."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(at_ms))
    return at.strftime("%Y-%m-%d %H:%M:%S,") + f"{int(at_ms) % 1000:03}"


def id_of(topic: str) -> str:
    """The id of a topic, by which alone messages of the newer protocol name it."""
    return urlsafe_b64encode(topic.encode().rjust(16, b"-")).decode().rstrip("=")


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def wire(value: Any) -> Any:
    """A message's fields as the log shows them: camelCase, errors by number, bytes as base64."""
    if isinstance(value, dict):
        return {camel(name): wire(item) for name, item in value.items()}
    if isinstance(value, list):
        return [wire(item) for item in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value.code if isinstance(value, Error) else value


def line(
    at_ms: float,
    api: str,
    version: int,
    request: dict[str, Any],
    response: dict[str, Any],
    *,
    client_id: str | None = "client",
    connection: str = "10.0.0.1:9092-10.0.1.7:40001-0-1",
    total_ms: float = 0.5,
    queue_ms: float = 0.0,
    local_ms: float = 0.1,
    remote_ms: float = 0.0,
    **header: Any,
) -> str:
    """One line of the log, sent at at_ms; request and response by the names of `schemas`."""
    message = {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKey": APIS[api].key,
            "requestApiVersion": version,
            "correlationId": 1,
            "clientId": client_id,
            "requestApiKeyName": _LOG_NAMES.get(api, api.upper()),
            **header,
        },
        "request": wire(request),
        "response": wire(response),
        "connection": connection,
        "totalTimeMs": round(total_ms, 3),
        "requestQueueTimeMs": round(queue_ms, 3),
        "localTimeMs": round(local_ms, 3),
        "remoteTimeMs": round(remote_ms, 3),
        "principal": "User:ANONYMOUS",
    }
    text = json.dumps(message, separators=(",", ":"))
    return f"[{stamp(at_ms)}] DEBUG Completed request:{text} (kafka.request.logger)"


def logged(at_ms: float, api: str, request: GroupRequest, response: Response, **more: Any) -> str:
    """The line of a request and of its answer, as far as its version carries them."""
    version, more = request.api_version, {"client_id": request.client_id, **more}
    return line(at_ms, api, version, carried(request, version), carried(response, version), **more)


def passed_over(key: int, name: str, version: int, request: Any, response: Any, at_ms: float = START_MS) -> str:
    """The line of an API that is none of a group's."""
    header: dict[str, Any] = {"requestApiKey": key, "requestApiKeyName": name}
    return line(at_ms, "Heartbeat", version, request, response, **header)


@dataclass(slots=True)
class _Sent:
    request: GroupRequest
    arrived_ms: float
    began_ms: float
    worked_ms: float
    connection: str
    answered: Answered
    again: Callable[[], None]
    """Sends it once more."""


@dataclass
class Broker:
    """seed: what the delays are drawn from. `at` plans a call, `run` lets time pass, `lines` is the log.

    worked: when which group's requests were worked on, but for heartbeats: what a log does not have to the millisecond.
    """

    config: GroupConfig = field(default_factory=GroupConfig)
    seed: int = 0
    late_ms: float = 5.0
    slow_ms: float = 2.0
    address: str = "10.0.0.1:9092"
    lines: list[tuple[float, str]] = field(default_factory=list)
    effects: list[tuple[str, Effect]] = field(default_factory=list)
    groups: dict[str, Group] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    worked: list[tuple[str, float]] = field(default_factory=list)
    now_ms: float = float(START_MS)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._plan: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0
        self._open: dict[str, _Sent] = {}
        self._due: dict[str, float] = {}
        self._busy: set[str] = set()
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        self._down_until_ms = 0.0

    def at(self, at_ms: float, call: Callable[[], object]) -> None:
        """Plans a call, ms since the epoch."""
        self._count += 1
        heapq.heappush(self._plan, (at_ms, self._count, call))

    def send(
        self,
        api: str,
        version: int,
        answered: Answered,
        *,
        client_id: str,
        host: str,
        connection: str,
        **fields: Any,
    ) -> None:
        """A request arrives now, or when the one before it on its connection is answered, as in a broker.

        Its answer is given back when it has been sent, unless its client died.
        """
        ends: dict[str, Any] = {"client_id": client_id, "host": host, "connection": connection}
        again = partial(self.send, api, version, answered, **ends, **fields)
        if self.now_ms < self._down_until_ms:
            self._ask_again(again)
            return
        if connection in self._busy:
            self._waiting.setdefault(connection, []).append(again)
            return
        self._busy.add(connection)
        self._count += 1
        envelope = {"request_id": f"b{self._count}", "client_id": client_id, "client_host": f"/{host}"}
        request = parse_request({"api": api, "api_version": version, **envelope, **fields})
        if isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_epoch == JOIN:
            request.cluster_topics = dict(self.config.topics or {})
            request.topic_ids = {topic: id_of(topic) for topic in request.cluster_topics}
        queued_ms = self._random.random() * self.slow_ms
        worked_ms = self.now_ms + queued_ms + self._random.random() * self.slow_ms
        sent = _Sent(request, self.now_ms, self.now_ms + queued_ms, worked_ms, connection, answered, again)  # type: ignore[arg-type]
        self._open[request.request_id] = sent
        self.at(worked_ms, lambda: self._work(sent))

    def answer_topics(self, names: Iterable[str]) -> None:
        """Answers a client's Metadata request for topics: each with its id and its partitions."""
        there = self.config.topics or {}
        described = [
            {
                "error_code": 0 if name in there else Error.UNKNOWN_TOPIC_OR_PARTITION.code,
                "name": name,
                "topic_id": id_of(name) if name in there else "A" * 22,
                "partitions": [{"error_code": 0, "partition_index": number} for number in range(there.get(name, 0))],
            }
            for name in names
        ]
        said = {"topics": [{"topic_id": "A" * 22, "name": one["name"]} for one in described]}
        answer = {"throttle_time_ms": 0, "topics": described}
        self.lines.append((self.now_ms, passed_over(3, "METADATA", 13, said, answer, self.now_ms)))

    def crash(self, down_ms: float) -> None:
        """Goes down hard: what it was asked is lost and asked again when it is back, and its groups are loaded then."""
        self._down_until_ms = back_ms = self.now_ms + down_ms
        lost = [sent for sent in self._open.values() if sent.connection not in self.dead]
        self._open.clear()
        self._busy.clear()
        self._waiting.clear()
        self._observe_all(is_away=True)
        self.at(back_ms, lambda: self._observe_all(is_away=False))
        for sent in lost:
            self._ask_again(sent.again)

    def _ask_again(self, ask: Callable[[], None]) -> None:
        """Clients reconnect within a second."""
        self.at(self._down_until_ms + self._random.random() * 1000, ask)

    def _observe_all(self, *, is_away: bool) -> None:
        for group_id, group in self.groups.items():
            self._count += 1
            seen = GroupObservedRequest(
                request_id=f"b{self._count}",
                api_version=0,
                group_id=group_id,
                why="the broker of the test",
                is_away=is_away,
                is_loaded=not is_away,
            )
            self._tell(group_id, step(group, seen, round(self.now_ms), self.config))

    def move(self, away_ms: float) -> None:
        """Another broker takes its groups over, and loads them."""
        self.crash(away_ms)
        self.at(self._down_until_ms, lambda: setattr(self, "address", f"10.0.0.{self._random.randint(2, 9)}:9092"))

    def kill(self, connection: str) -> None:
        """A client dies: what it is owed leaves no line."""
        self.dead.add(connection)

    def run(self, until_ms: float) -> None:
        """Lets time pass."""
        while self._plan and self._plan[0][0] <= until_ms:
            self.now_ms, _, call = heapq.heappop(self._plan)
            call()
        self.now_ms = until_ms

    def log(self) -> list[str]:
        """The lines in the order they were written."""
        return [text for _, text in sorted(self.lines, key=lambda entry: entry[0])]

    def write(self, path: Path) -> Path:
        """The log as a file."""
        path.write_text("".join(f"{text}\n" for text in self.log()))
        return path

    def _work(self, sent: _Sent) -> None:
        if self._open.get(sent.request.request_id) is not sent:
            return
        group_id = group_id_of(sent.request)
        group = self.groups.setdefault(group_id, Group(group_id))
        if not isinstance(sent.request, HeartbeatRequest):
            self.worked.append((group_id, self.now_ms))
        self._tell(group_id, step(group, sent.request, round(self.now_ms), self.config))

    def _tell(self, group_id: str, effects: list[Effect]) -> None:
        for effect in effects:
            self.effects.append((group_id, effect))
            if isinstance(effect, Reply):
                self._answer(effect)
        due_ms = self.groups[group_id].next_due_ms
        if due_ms is not None and self._due.get(group_id, float("inf")) > due_ms:
            self._wake(group_id, due_ms)

    def _wake(self, group_id: str, due_ms: int) -> None:
        self._due[group_id] = due_ms
        self.at(max(due_ms, self.now_ms) + self._random.random() * self.late_ms, lambda: self._fire(group_id))

    def _fire(self, group_id: str) -> None:
        self._due.pop(group_id, None)
        self._tell(group_id, expire_due(self.groups[group_id], int(self.now_ms), self.config))

    def _answer(self, reply: Reply) -> None:
        sent = self._open.pop(reply.request_id)
        if sent.connection in self.dead:
            return
        sent_ms = self.now_ms + self._random.random() * self.slow_ms / 4
        if isinstance(reply.response, ConsumerGroupHeartbeatResponse) and reply.response.assignment is not None:
            for one in reply.response.assignment.topic_partitions:
                one.topic_id = id_of(one.topic_name)
        text = logged(
            sent_ms,
            reply.api,
            sent.request,
            reply.response,
            connection=f"{self.address}-{sent.request.client_host[1:]}:{sent.connection}-0-{sent.connection}",
            total_ms=sent_ms - sent.arrived_ms,
            queue_ms=sent.began_ms - sent.arrived_ms,
            local_ms=sent.worked_ms - sent.began_ms,
            remote_ms=max(self.now_ms - sent.worked_ms, 0.0),
        )
        self.lines.append((sent_ms, text))
        self.at(sent_ms, lambda: self._done(sent, reply.response))

    def _done(self, sent: _Sent, response: Response) -> None:
        self._busy.discard(sent.connection)
        sent.answered(response)
        waiting = self._waiting.get(sent.connection)
        if waiting and sent.connection not in self._busy:
            waiting.pop(0)()


def versions_line(last: int) -> bytes:
    """A line of API_VERSIONS of a broker that answers this API up to this version."""
    keys = [{"apiKey": 3, "minVersion": 0, "maxVersion": 13}, {"apiKey": 18, "minVersion": 0, "maxVersion": last}]
    return passed_over(18, "API_VERSIONS", 3, {}, {"errorCode": 0, "apiKeys": keys}).encode()
