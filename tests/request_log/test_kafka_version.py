"""The version of Kafka that a log is from: by its API_VERSIONS lines, else by an answer that one version gives."""

from __future__ import annotations

import gzip
import pickle
import re
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.line import LineReader
from rollcall.inputs.request_log.survey import settings_shown
from rollcall.inputs.request_log.topic_metadata import SKIPPED_VERSIONS, TopicMetadata
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import DeleteGroupsRequest
from tests.request_log.broker import START_MS, line, passed_over, versions_line
from tests.request_log.imported import imported
from tests.request_log.recordings import INCIDENTS
from tests.request_log.truth import FOLDER as CAPTURES

V4_3, V4_4 = KafkaVersion
_EMPTY = re.compile(rb'("groupState":"Empty","groupEpoch":(\d+),"assignmentEpoch":)\d+')


@pytest.mark.parametrize(("last", "version"), [(3, V4_3), (4, V4_3), (5, V4_4), (6, V4_4)])
def test_a_line_of_api_versions_shows_it(last: int, version: KafkaVersion) -> None:
    reader = LineReader()
    assert reader.read(LogLine("f", 1, START_MS, versions_line(last))) == SKIPPED_VERSIONS
    assert reader.topics.kafka_version == version


def test_the_first_line_counts_also_where_sections_are_read_apart() -> None:
    whole, early, late = TopicMetadata(), TopicMetadata(), TopicMetadata()
    early.read_versions(b"cut off")
    early.read_versions(versions_line(4))
    late.read_versions(versions_line(5))
    for section in (early, late):
        whole.add(pickle.loads(pickle.dumps(section)))
    assert whole.kafka_version == V4_3


def test_a_whole_log_shows_it() -> None:
    path = CAPTURES / "raw-sample" / "requests-unfiltered.log.gz"
    assert settings_shown(path, ZoneInfo("UTC")).shown()["kafka.version"] == V4_3


@pytest.mark.parametrize("name", ["storm-13", "storm-41"])
def test_an_empty_group_that_is_described_shows_it(name: str, tmp_path: Path) -> None:
    path = INCIDENTS / "storms" / f"{name}.log.gz"
    found = imported(path)
    assert (found.config.kafka_version, found.parity.share) == (V4_3, 1.0)
    as_new, count = _EMPTY.subn(rb"\1\2", gzip.decompress(path.read_bytes()))
    assert count
    (tmp_path / "kafka-request.log").write_bytes(as_new)
    found = imported(tmp_path)
    assert (found.config.kafka_version, found.parity.share) == (V4_4, 1.0)


@pytest.mark.parametrize("name", ["k44-classic", "k44-mixed", "k44-newer"])
def test_a_recorded_kafka_4_4_shows_it(name: str) -> None:
    assert settings_shown(INCIDENTS / f"{name}.log.gz", ZoneInfo("UTC")).kafka_version == V4_4


def test_a_recorded_kafka_4_4_is_followed_as_4_4_alone() -> None:
    """Its Empty group was described twice, and a vote raised an epoch; what a user says counts more."""
    path = INCIDENTS / "k44-newer.log.gz"
    as_older = imported(path, settings={"kafka.version": "4.3"})
    assert [one.api for one in as_older.parity.first] == ["ConsumerGroupDescribe"] * 2
    changed = [str(kind) for _, kind, _ in as_older.rebalances("orders-newer")].count("subscription_changed")
    assert changed < [kind for _, kind, _ in imported(path).rebalances("orders-newer")].count("subscription_changed")


def test_a_group_deleted_as_in_kafka_4_4_is_deleted() -> None:
    """Its answer has a text more."""
    deleted = {"groupsNames": ["g", "h"]}
    results = [{"groupId": group, "errorCode": 0, "errorMessage": None} for group in "gh"]
    logged = line(START_MS, "DeleteGroups", 3, deleted, {"throttleTimeMs": 0, "results": results})
    found = LineReader().read(LogLine("f", 1, START_MS, logged.encode()))
    assert not isinstance(found, str)
    asked = [(one.group_id, type(one.request), one.recorded.error) for one in found]
    assert asked == [(group, DeleteGroupsRequest, Error.NONE) for group in "gh"]


def test_offsets_that_a_transaction_of_kafka_4_4_commits_are_passed_over_as_before() -> None:
    logged = passed_over(28, "TXN_OFFSET_COMMIT", 6, {}, {})
    assert LineReader().read(LogLine("f", 1, START_MS, logged.encode())) == "another API: TXN_OFFSET_COMMIT"
