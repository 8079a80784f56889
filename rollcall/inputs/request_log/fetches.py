"""Lines of Fetch, ListOffsets and DeleteRecords: where logs ended, and what each client fetched.

A Fetch's offsets hold as of the request's arrival, those of its answer as of when it was sent. In a fetch session
(KIP-227) a request names new or moved partitions, and an answer changed ones. A partition that an answer leaves out is
unchanged. A replica's fetch reports log ends like a consumer's, but no fetched offset. From version 13 on topics are
named by id, and so are they here. Knows the layout of these lines; must not know groups, names of ids, or which of
these facts are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.tables.lag.rows import Fetched, LogEnd

_EARLIEST, _LATEST = -2, -1
_KEY = b'"requestApiKey":'
KEYS = {b"1": "FETCH", b"21": "DELETE_RECORDS", b"2": "LIST_OFFSETS"}
"""The APIs' numbers and names in a line."""
_READ_COMMITTED = 1
_SESSIONS_KEPT = 100_000
_CLOSES = -1


class UnchangedPartition(NamedTuple):
    """A partition that is unchanged since it was last reported, as of this moment."""

    topic: str
    partition: int
    at_ms: int


Reported = LogEnd | Fetched | UnchangedPartition


class _Shape(msgspec.Struct, rename="camel", gc=False):
    """Its fields are those of all versions; what a version does not carry has its default."""


class _AskedPartition(_Shape):
    partition: int
    fetch_offset: int


class _AskedTopic(_Shape):
    partitions: list[_AskedPartition]
    topic: str = ""
    topic_id: str = ""


class _ForgottenTopic(_Shape):
    partitions: list[int]
    topic: str = ""
    topic_id: str = ""


class _Replica(_Shape):
    replica_id: int = -1


class _FetchRequest(_Shape):
    topics: list[_AskedTopic]
    forgotten_topics_data: list[_ForgottenTopic] = []
    replica_id: int = -1
    replica_state: _Replica | None = None
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = _CLOSES


class _FetchedPartition(_Shape):
    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int = -1
    log_start_offset: int = -1


class _FetchedTopic(_Shape):
    partitions: list[_FetchedPartition]
    topic: str = ""
    topic_id: str = ""


class _FetchResponse(_Shape):
    responses: list[_FetchedTopic]
    error_code: int = 0
    session_id: int = 0


class _ListedPartition(_Shape):
    partition_index: int
    timestamp: int = 0
    error_code: int = 0
    offset: int = -1


class _ListedTopic(_Shape):
    name: str
    partitions: list[_ListedPartition]


class _ListOffsetsRequest(_Shape):
    topics: list[_ListedTopic]
    isolation_level: int = 0


class _ListOffsetsResponse(_Shape):
    topics: list[_ListedTopic]


class _DeletedPartition(_Shape):
    partition_index: int
    low_watermark: int
    error_code: int


class _DeletedTopic(_Shape):
    name: str
    partitions: list[_DeletedPartition]


class _DeleteRecordsResponse(_Shape):
    topics: list[_DeletedTopic]


class _Header(_Shape):
    client_id: str | None = None


class _RequestLine(_Shape, kw_only=True):
    request_header: _Header
    connection: str = ""
    total_time_ms: float = 0.0


class _FetchLine(_RequestLine):
    request: _FetchRequest
    response: _FetchResponse


class _ListOffsetsLine(_RequestLine):
    request: _ListOffsetsRequest
    response: _ListOffsetsResponse


class _DeleteRecordsLine(_RequestLine):
    response: _DeleteRecordsResponse


_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "FETCH": msgspec.json.Decoder(_FetchLine),
    "LIST_OFFSETS": msgspec.json.Decoder(_ListOffsetsLine),
    "DELETE_RECORDS": msgspec.json.Decoder(_DeleteRecordsLine),
}


def key_of(text: bytes) -> bytes | None:
    """The number of a line's API, None: it names none."""
    at = text.find(_KEY)
    return None if at < 0 else text[at + len(_KEY) : text.find(b",", at)]


class FetchReader:
    """Reads such lines one by one, in the order of the log; remembers the fetch sessions of each broker."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        """Every topic id that a line named."""
        self._sessions: dict[tuple[str, int], set[tuple[str, int]]] = {}

    def read(self, line: LogLine) -> list[Reported]:
        """The log ends and fetched offsets in a line. Raises msgspec.DecodeError, UnicodeDecodeError: it cannot be
        read."""
        key = KEYS.get(key_of(line.text) or b"")
        if key is None or line.at_ms is None:
            return []
        text = line.text
        read = _DECODERS[key].decode(text[text.find(b"{") : text.rfind(b"}") + 1])
        match read:
            case _FetchLine():
                return list(self._fetch(read, line.at_ms))
            case _ListOffsetsLine():
                return list(_listed(read, line.at_ms))
            case _:
                return list(_deleted(read, line.at_ms))

    def _fetch(self, line: _FetchLine, at_ms: int) -> Iterator[Reported]:
        request, response = line.request, line.response
        broker, host = ends_of(line.connection)
        self.ids.update(t.topic_id for t in request.topics if not t.topic)
        self.ids.update(t.topic_id for t in response.responses if not t.topic)
        if request.replica_id < 0 and (request.replica_state is None or request.replica_state.replica_id < 0):
            client_id = line.request_header.client_id or ""
            level = "read_committed" if request.isolation_level == _READ_COMMITTED else "read_uncommitted"
            arrived_ms = round(at_ms - line.total_time_ms)
            for asked in request.topics:
                topic = asked.topic or asked.topic_id
                for one in asked.partitions:
                    if one.fetch_offset >= 0:
                        yield Fetched(client_id, host, topic, one.partition, arrived_ms, one.fetch_offset, level)
        if response.error_code:
            return
        in_answer = set[tuple[str, int]]()
        for answered in response.responses:
            topic = answered.topic or answered.topic_id
            for part in answered.partitions:
                in_answer.add((topic, part.partition_index))
                if not part.error_code and part.high_watermark >= 0:
                    start, stable = _or_none(part.log_start_offset), _or_none(part.last_stable_offset)
                    yield LogEnd(topic, part.partition_index, at_ms, start, part.high_watermark, stable, "fetch")
        for topic, partition in self._in_session(broker, request, response) - in_answer:
            yield UnchangedPartition(topic, partition, at_ms)

    def _in_session(self, broker: str, request: _FetchRequest, response: _FetchResponse) -> set[tuple[str, int]]:
        """The partitions of an answer's fetch session; none for a fetch without one."""
        asked = {(t.topic or t.topic_id, one.partition) for t in request.topics for one in t.partitions}
        key = (broker, response.session_id)
        if request.session_epoch <= 0:
            self._sessions.pop((broker, request.session_id), None)
            if request.session_epoch == 0 and response.session_id:
                if len(self._sessions) >= _SESSIONS_KEPT:
                    self._sessions.clear()
                self._sessions[key] = asked
            return set()
        held = self._sessions.get(key)
        if held is None:
            # It was opened before the log began: only what it names from now on is known.
            held = self._sessions[key] = set()
        held -= {(t.topic or t.topic_id, number) for t in request.forgotten_topics_data for number in t.partitions}
        held |= asked
        return held


def _listed(line: _ListOffsetsLine, at_ms: int) -> Iterator[LogEnd]:
    """Starts and ends of logs; for read_committed the answer has the last stable offset, which is not a log end."""
    asked = {(t.name, one.partition_index): one.timestamp for t in line.request.topics for one in t.partitions}
    is_stable = line.request.isolation_level == _READ_COMMITTED
    for topic in line.response.topics:
        for one in topic.partitions:
            timestamp = asked.get((topic.name, one.partition_index))
            if one.error_code or one.offset < 0:
                continue
            if timestamp == _EARLIEST:
                yield LogEnd(topic.name, one.partition_index, at_ms, one.offset, None, None, "list_offsets")
            elif timestamp == _LATEST and not is_stable:
                yield LogEnd(topic.name, one.partition_index, at_ms, None, one.offset, None, "list_offsets")


def _deleted(line: _DeleteRecordsLine, at_ms: int) -> Iterator[LogEnd]:
    for topic in line.response.topics:
        for one in topic.partitions:
            if not one.error_code and one.low_watermark >= 0:
                yield LogEnd(topic.name, one.partition_index, at_ms, one.low_watermark, None, None, "delete_records")


def ends_of(connection: str) -> tuple[str, str]:
    """The broker's end of `broker:port-client:port-...`, and the client's address as Kafka shows it."""
    broker, _, rest = connection.partition("-")
    host = rest.partition("-")[0].rpartition(":")[0]
    return broker, f"/{host}" if host else ""


def _or_none(offset: int) -> int | None:
    return None if offset < 0 else offset
