"""Lines of Fetch, ListOffsets and DeleteRecords: what each line says, with literal numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from rollcall.inputs.request_log.fetches import FetchReader, UnchangedPartition
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.log_ends import LagNews
from rollcall.tables.lag.rows import Fetched, LogEnd

CONNECTION = "10.0.0.9:9092-10.0.0.1:4000-2-8"
ID, OTHER = "_x61ovasS5u52uE8qrL_oQ", "1g35ai7FQR67NUJXlGVawA"


def line(key: int, request: dict[str, Any], response: dict[str, Any], at_ms: int = 5000, **more: Any) -> LogLine:
    header = {"requestApiKey": key, "requestApiVersion": more.pop("version", 16), "correlationId": 1, "clientId": "c"}
    body = {
        "requestHeader": {**header, "requestApiKeyName": "X"},
        "request": request,
        "response": response,
        "connection": CONNECTION,
        "totalTimeMs": 400.0,
        **more,
    }
    text = f"[2026-11-23 08:10:17,099] DEBUG Completed request:{json.dumps(body)} (kafka.request.logger)"
    return LogLine("requests.log", 1, at_ms, text.replace(": ", ":").replace(", ", ",").encode())


def fetch(
    asked: dict[int, int],
    reported: dict[int, tuple[int, int, int]],
    at_ms: int = 5000,
    topic: str = "t",
    **request: Any,
) -> LogLine:
    """asked: fetch offsets; reported: high watermark, last stable offset, log start."""
    name = "topicId" if len(topic) == 22 else "topic"
    session_id = request.pop("answered", 0)
    partitions = [{"partition": number, "fetchOffset": offset} for number, offset in asked.items()]
    answered = [
        {"partitionIndex": n, "errorCode": 0, "highWatermark": hw, "lastStableOffset": lso, "logStartOffset": start}
        for n, (hw, lso, start) in reported.items()
    ]
    sent = {"topics": [{name: topic, "partitions": partitions}] if asked else [], "forgottenTopicsData": [], **request}
    responses = [{name: topic, "partitions": answered}] if reported else []
    return line(1, sent, {"errorCode": 0, "sessionId": session_id, "responses": responses}, at_ms)


def test_a_fetch_has_the_offset_as_it_arrived_and_the_ends_as_it_was_answered() -> None:
    reported = FetchReader().read(fetch({0: 7}, {0: (20, 18, 3)}, isolationLevel=1))
    assert reported == [
        Fetched("c", "/10.0.0.1", "t", 0, 4600, 7, "read_committed"),
        LogEnd("t", 0, 5000, 3, 20, 18, "fetch"),
    ]


def test_an_incremental_answer_leaves_out_what_stands_where_it_was_reported() -> None:
    reader = FetchReader()
    reader.read(fetch({0: 7, 1: 9}, {0: (20, 20, 0), 1: (9, 9, 0)}, sessionId=0, sessionEpoch=0, answered=77))
    reported = reader.read(fetch({0: 20}, {0: (25, 25, 0)}, 6000, sessionId=77, sessionEpoch=1, answered=77))
    assert reported[1:] == [LogEnd("t", 0, 6000, 0, 25, 25, "fetch"), UnchangedPartition("t", 1, 6000)]
    forgotten = [{"topic": "t", "partitions": [1]}]
    again = fetch({}, {}, 7000, sessionId=77, sessionEpoch=2, answered=77, forgottenTopicsData=forgotten)
    assert reader.read(again) == [UnchangedPartition("t", 0, 7000)]
    assert reader.read(fetch({}, {}, 8000, sessionId=77, sessionEpoch=-1)) == []
    assert reader.read(fetch({}, {}, 9000, sessionId=77, sessionEpoch=3, answered=77)) == []


def test_sessions_of_two_brokers_are_two() -> None:
    reader = FetchReader()
    reader.read(fetch({0: 7}, {0: (20, 20, 0)}, sessionId=0, sessionEpoch=0, answered=77))
    other = fetch({}, {}, 6000, sessionId=77, sessionEpoch=1, answered=77)
    assert reader.read(other._replace(text=other.text.replace(b"10.0.0.9", b"10.0.0.8"))) == []


def test_a_replicas_fetch_has_ends_and_counts_as_no_fetch() -> None:
    reported = FetchReader().read(fetch({0: 7}, {0: (20, 18, 3)}, replicaState={"replicaId": 2, "replicaEpoch": 1}))
    assert reported == [LogEnd("t", 0, 5000, 3, 20, 18, "fetch")]
    assert FetchReader().read(fetch({0: 7}, {0: (20, 18, 3)}, replicaId=2)) == reported


def test_an_error_has_no_end() -> None:
    bad = fetch({0: 7}, {0: (-1, -1, -1)})
    assert FetchReader().read(bad)[1:] == []


def test_list_offsets_has_a_start_or_an_end_and_for_read_committed_no_end() -> None:
    def listed(timestamp: int, isolation: int) -> LogLine:
        part = {"partitionIndex": 2, "timestamp": timestamp}
        answer = {"partitionIndex": 2, "errorCode": 0, "timestamp": -1, "offset": 40}
        request = {"replicaId": -1, "isolationLevel": isolation, "topics": [{"name": "t", "partitions": [part]}]}
        return line(2, request, {"topics": [{"name": "t", "partitions": [answer]}]})

    assert FetchReader().read(listed(-2, 1)) == [LogEnd("t", 2, 5000, 40, None, None, "list_offsets")]
    assert FetchReader().read(listed(-1, 0)) == [LogEnd("t", 2, 5000, None, 40, None, "list_offsets")]
    assert FetchReader().read(listed(-1, 1)) == []
    assert FetchReader().read(listed(1_795_421_411_000, 0)) == []


def test_deleted_records_move_the_log_start() -> None:
    parts = [
        {"partitionIndex": 0, "lowWatermark": 3706, "errorCode": 0},
        {"partitionIndex": 1, "lowWatermark": -1, "errorCode": 3},
    ]
    reported = FetchReader().read(line(21, {}, {"topics": [{"name": "t", "partitions": parts}]}))
    assert reported == [LogEnd("t", 0, 5000, 3706, None, None, "delete_records")]


def news_of(*lines: LogLine, names: Mapping[str, str]) -> LagNews:
    news = LagNews(names)
    for one in lines:
        news.take_in(one)
    return news


def test_a_fetch_by_id_tells_of_which_topic_the_end_is_and_one_by_name_does_not() -> None:
    first, again = fetch({0: 7}, {0: (20, 20, 0)}, topic=ID), fetch({0: 2}, {0: (30, 30, 0)}, 6000, topic=OTHER)
    by_name = fetch({0: 2}, {0: (40, 40, 0)}, 12_000, topic="clicks")
    rows = news_of(first, again, by_name, names={ID: "clicks", OTHER: "clicks"}).rest()
    assert [(row.topic, row.end_offset, row.topic_id) for row in rows.ends] == [
        ("clicks", 20, ID),
        ("clicks", 30, OTHER),
        ("clicks", 40, None),
    ]
    assert {row.topic for row in rows.fetches} == {"clicks"}


def test_a_name_may_come_after_the_fetches() -> None:
    names: dict[str, str] = {}
    news = news_of(fetch({0: 7}, {0: (20, 20, 0)}, topic=ID), names=names)
    assert news.take().ends == []
    names[ID] = "clicks"
    news.take_in(fetch({0: 7}, {0: (30, 30, 0)}, 6000, topic=ID))
    assert [(row.topic, row.end_offset) for row in news.take().ends] == [("clicks", 20), ("clicks", 30)]


def test_an_id_that_nothing_names_stands_for_itself() -> None:
    rows = news_of(fetch({0: 7}, {0: (20, 20, 0)}, topic=ID), names={OTHER: "clicks"}).rest()
    assert [row.topic for row in rows.ends] == [ID]


def test_a_line_that_cannot_be_read_says_which_field_is_wrong() -> None:
    bad = fetch({0: 7}, {0: (20, 20, 0)})
    bad = bad._replace(text=bad.text.replace(b'"fetchOffset":7', b'"fetchOffset":"x"'))
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int`, got `str`.*fetchOffset"):
        FetchReader().read(bad)
