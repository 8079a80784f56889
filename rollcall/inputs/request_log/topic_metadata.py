"""What lines of no group show: METADATA which topic id has which name, and how many partitions, since when;
API_VERSIONS which version of Kafka the broker has.

A broker's log has many such lines, and most repeat an answer: those are told apart by their bytes, before any JSON is
decoded. A line that cannot be read is passed over: groups do not need it. Knows the layout of these lines; knows no
group.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from typing import NamedTuple

import msgspec

from rollcall.coordinator_udfs.protocol.kafka_versions import DIFFERENCES, KafkaVersion, version_reached
from rollcall.schemas.limits import is_topic_id

KEY, VERSIONS_KEY = b"3", b"18"
"""The APIs' numbers."""
SKIPPED = "names topics: METADATA"
"""Why such a line is skipped: it is read for the names of topics only."""
SKIPPED_VERSIONS = "another API: API_VERSIONS"
_LAST_API_VERSIONS = re.compile(rb'"apiKey":18,"minVersion":0,"maxVersion":([0-9]{1,3})[,}]')
_RESPONSE, _AFTER = b'"response":{', b',"connection":"'
_ANSWERS_KEPT = 10_000
_TOPICS_KEPT = 100_000
_NONE = 0


class _Partition(msgspec.Struct, rename="camel", gc=False):
    partition_index: int


class _Topic(msgspec.Struct, rename="camel", gc=False):
    error_code: int
    partitions: list[_Partition]
    name: str | None = None
    topic_id: str = ""


class _Response(msgspec.Struct, rename="camel", gc=False):
    topics: list[_Topic]


class _MetadataLine(msgspec.Struct, gc=False):
    response: _Response


class Shown(NamedTuple):
    """A topic as answers showed it first at this time."""

    at_ms: int
    partitions: int
    topic_id: str


class TopicMetadata:
    """All that was shown of topics so far; in which order lines are read does not matter."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        """By topic id."""
        self.shown: dict[str, list[Shown]] = {}
        """By name, what is new since when, the earlier first. A topic that is made again has another id."""
        self.kafka_version: KafkaVersion | None = None
        """None before the first line of API_VERSIONS; an earlier version of Kafka counts as the first that is known."""
        self._answers: set[int] = set()
        self._decoder = msgspec.json.Decoder(_MetadataLine)

    def __getstate__(self) -> tuple[dict[str, str], dict[str, list[Shown]], KafkaVersion | None]:
        return self.names, self.shown, self.kafka_version

    def __setstate__(self, state: tuple[dict[str, str], dict[str, list[Shown]], KafkaVersion | None]) -> None:
        self.__init__()  # type: ignore[misc]
        self.names, self.shown, self.kafka_version = state

    def read_versions(self, text: bytes) -> None:
        """Takes in a line of API_VERSIONS; the first one that shows the broker's version counts."""
        found = _LAST_API_VERSIONS.search(text) if self.kafka_version is None else None
        if found is not None:
            last = int(found[1])
            self.kafka_version = version_reached(last, lambda version: DIFFERENCES[version].last_api_versions)

    def read(self, text: bytes, at_ms: int | None) -> None:
        """Takes in a line of METADATA."""
        if at_ms is None or self._is_known(text):
            return
        try:
            topics = self._decoder.decode(text[text.find(b"{") : text.rfind(b"}") + 1]).response.topics
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        for topic in topics:
            if topic.error_code == _NONE and topic.name and topic.partitions and is_topic_id(topic.topic_id):
                self.note(topic.name, Shown(at_ms, len(topic.partitions), topic.topic_id))

    def note(self, name: str, shown: Shown) -> None:
        """Takes in what was shown of a topic. Brokers learn of a change at different times: the first counts."""
        known = self.shown.get(name)
        if known is None:
            if len(self.shown) >= _TOPICS_KEPT:
                return
            known = self.shown[name] = []
        self.names.setdefault(shown.topic_id, name)
        same = next((one for one in known if one[1:] == shown[1:]), None)
        if same is None or shown.at_ms < same.at_ms:
            if same is not None:
                known.remove(same)
            insort(known, shown)

    def add(self, other: TopicMetadata) -> None:
        """Adds what other, later lines showed."""
        self.kafka_version = self.kafka_version or other.kafka_version
        for name, known in other.shown.items():
            for shown in known:
                self.note(name, shown)

    def at(self, name: str, at_ms: float) -> Shown | None:
        """A topic as it was last shown by this time, or as it was shown first; None if no line shows it."""
        known = self.shown.get(name)
        if known is None:
            return None
        return known[max(bisect_right(known, at_ms, key=lambda shown: shown.at_ms) - 1, 0)]

    def after(self, name: str, at_ms: float) -> Shown | None:
        """A topic as it is shown next after this time, or as it was last shown; None if no line shows it."""
        known = self.shown.get(name)
        if known is None:
            return None
        return known[min(bisect_right(known, at_ms, key=lambda shown: shown.at_ms), len(known) - 1)]

    def _is_known(self, text: bytes) -> bool:
        start = text.find(_RESPONSE)
        answer = hash(text[start : text.rfind(_AFTER)])
        if start < 0 or answer in self._answers:
            return True
        if len(self._answers) >= _ANSWERS_KEPT:
            self._answers.clear()
        self._answers.add(answer)
        return False
