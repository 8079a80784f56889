"""METADATA lines: what is taken of them, since when, and what is passed over."""

from __future__ import annotations

import pickle

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.topic_metadata import SKIPPED, Shown, TopicMetadata
from tests.request_log.broker import START_MS, passed_over
from tests.shadow.fed import Feed

FIRST, SECOND = "urzmpGetVtcfbz3DOZaGzA", "VRz9X6vTRFbZZQTCVCGTgw"


def metadata_line(name: str | None, topic_id: str, partitions: int, *, error: int = 0) -> bytes:
    """A METADATA line of one topic."""
    numbers = [{"error_code": 0, "partition_index": number} for number in range(partitions)]
    topic = {"error_code": error, "name": name, "topic_id": topic_id, "partitions": numbers}
    return passed_over(3, "METADATA", 13, {"topics": [{"name": name}]}, {"topics": [topic]}).encode()


def read(*lines: tuple[int, bytes]) -> TopicMetadata:
    topics = TopicMetadata()
    for at_ms, text in lines:
        topics.read(text, at_ms)
    return topics


def test_a_topic_that_grows_has_its_partitions_from_then_on() -> None:
    topics = read(
        (100, metadata_line("t", FIRST, 4)), (200, metadata_line("t", FIRST, 6)), (300, metadata_line("t", FIRST, 4))
    )
    assert [topics.at("t", at_ms) for at_ms in (50, 150, 250, 350)] == [
        Shown(100, 4, FIRST),
        Shown(100, 4, FIRST),
        Shown(200, 6, FIRST),
        Shown(200, 6, FIRST),
    ]
    assert topics.after("t", 150) == topics.after("t", 350) == Shown(200, 6, FIRST)
    assert topics.at("u", 150) is topics.after("u", 150) is None


def test_a_topic_that_is_made_again_has_two_ids_of_one_name() -> None:
    topics = read((100, metadata_line("t", FIRST, 4)), (200, metadata_line("t", SECOND, 2)))
    assert topics.names == {FIRST: "t", SECOND: "t"}
    assert [topics.at("t", at_ms) for at_ms in (150, 250)] == [Shown(100, 4, FIRST), Shown(200, 2, SECOND)]


def test_sections_add_up_in_any_order() -> None:
    early, late = (
        read((100, metadata_line("t", FIRST, 4))),
        read((150, metadata_line("t", FIRST, 4)), (200, metadata_line("t", FIRST, 6))),
    )
    for one, other in ((early, late), (late, early)):
        topics = pickle.loads(pickle.dumps(one))
        topics.add(other)
        assert topics.shown == {"t": [Shown(100, 4, FIRST), Shown(200, 6, FIRST)]}


@pytest.mark.parametrize(
    "text",
    [
        metadata_line("t", FIRST, 4, error=3),
        metadata_line("t", FIRST, 0),
        metadata_line(None, FIRST, 4),
        metadata_line("t", "A" * 22, 4),
        metadata_line("t", "no id", 4),
        metadata_line("t", FIRST, 4).replace(b'"partitionIndex":3', b'"partitionIndex":"x"'),
        metadata_line("t", FIRST, 4)[:-200],
        metadata_line("t", FIRST, 4).replace(b'"response":{', b'"answer":{'),
        b'[2026-03-01 10:00:00,000] DEBUG Completed request:{"requestHeader":{"requestApiKey":3,"requestApiVersion":1,',
    ],
)
def test_what_names_no_topic_or_cannot_be_read_is_passed_over(text: bytes) -> None:
    assert read((100, text)).shown == {}
    live = Feed(GroupConfig()).live
    live.read(LogLine("requests.log", 1, START_MS, text))
    assert live.tally.skipped == {SKIPPED: 1}


def test_a_log_that_is_followed_keeps_topics_over_a_restart() -> None:
    feed = Feed(GroupConfig())
    feed.live.read(LogLine("requests.log", 1, START_MS, metadata_line("t", FIRST, 4)))
    assert feed.live.names.names == {FIRST: "t"}
    feed.go_on(GroupConfig())
    assert feed.live.survey.topics.shown == {"t": [Shown(START_MS, 4, FIRST)]}
    assert feed.live.names.names == {FIRST: "t"}
