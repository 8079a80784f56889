"""A cluster's topic is followed into a home: each fact once, wherever the program is killed; without a broker."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import groupby
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from rollcall.__main__ import main
from rollcall.cli.shadow.command import TOPIC_SHADOW
from rollcall.cli.shadow.topic import check_cluster, topic_config
from rollcall.inputs.following.following import Following
from rollcall.inputs.following.topic_source import HOLD_S
from rollcall.inputs.following.topic_tail import AWAY_EVERY_S, LOOK_EVERY_S
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.offsets_topic.records.decoding import encode_key, encode_value, group_id_of
from rollcall.inputs.offsets_topic.records.shapes import GroupKey, GroupMetadataValue
from rollcall.programs.errors import ConfigError
from rollcall.schemas.effect_rows import rows_of
from rollcall.tables.home import Home, HomeError
from rollcall.tables.job_status import read_status
from tests.offsets_topic.folded import CAPTURES, NAMES, Folded, capture, read_dump
from tests.shadow.deaths import Deaths, Killed
from tests.shadow.written_topic import Clock, WrittenTopic, source_of, started
from tests.streaming.live import read_rows

Row = tuple[int, str, int | None, str | None, str | None]
"""seq, effect, at_ms, detail and the record that shows it."""
STEP_S = 0.4
EMPTY = GroupMetadataValue(protocol_type="", generation=0, protocol=None, leader=None, members=[])
KEY = encode_key(2, GroupKey(group="g"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def topic() -> WrittenTopic:
    return WrittenTopic()


def requests_of(name: str) -> list[list[LogRecord]]:
    """The records of each request, which Kafka writes together."""
    records = read_dump(CAPTURES / name / "offsets-topic.jsonl.gz")
    return [list(each) for _, each in groupby(records, lambda one: (one.timestamp_ms, group_id_of(one.key)))]


def written(folder: Path) -> dict[str, list[Row]]:
    found = defaultdict(list)
    for row in read_rows(Home(folder).effects):
        found[row["group_id"]].append((row["seq"], row["effect"], row["at_ms"], row["detail"], row["request_id"]))
    return {group_id: sorted(rows) for group_id, rows in found.items()}


def expected(folded: Folded) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for group_id, shown in folded.shown.items():
        rows = rows_of(shown, 1)
        found[group_id] = [(row.seq, row.effect, row.at_ms, row.detail, row.request_id) for row in rows]
    return {group_id: rows for group_id, rows in found.items() if rows}


def read_to_the_end(following: Following, clock: Clock) -> None:
    while following.step():
        pass
    clock.at_s += HOLD_S
    following.step()
    following.finish()


def test_a_topic_that_gave_a_record_is_looked_at_again_at_once(
    tmp_path: Path, topic: WrittenTopic, clock: Clock
) -> None:
    topic.write([LogRecord(0, 0, 1, KEY, encode_value(3, EMPTY))])
    following = started(tmp_path, topic, clock)
    assert [following.step(), following.step()] == [True, False]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("every", [2, 3, 4])
def test_each_fact_is_in_the_home_once_wherever_the_program_is_killed(
    name: str, every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("rollcall.tables.appending.write_deltalake", Deaths(every))
    monkeypatch.setattr("rollcall.inputs.following.group_documents._MAY_BE_OLD_BYTES", 10_000)
    topic, dice, deaths = WrittenTopic(capture(name).names), random.Random(every), 0
    following, requests = started(tmp_path, topic, clock), requests_of(name)
    while requests:
        count = dice.randint(1, 60)
        topic.write([record for request in requests[:count] for record in request])
        del requests[:count]
        clock.at_s += STEP_S
        try:
            following.step()
        except Killed:
            deaths += 1
            following = started(tmp_path, topic, clock)
        if dice.random() < 0.1:
            following = started(tmp_path, topic, clock)
    assert deaths >= 1
    monkeypatch.undo()
    read_to_the_end(following, clock)
    assert written(tmp_path) == expected(capture(name))
    # Nothing is read again once the program was stopped.
    following = started(tmp_path, topic, clock)
    read_to_the_end(following, clock)
    assert following.source.counts.startswith("0 records read")
    assert len(list((tmp_path / "offsets-topic").glob("*.groups"))) == 1


def test_what_cannot_be_read_is_in_quarantine_once_and_the_group_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock, topic: WrittenTopic
) -> None:
    monkeypatch.setattr("rollcall.tables.appending.write_deltalake", Deaths(3))
    following, unread = started(tmp_path, topic, clock), KEY[:3]
    for offset in range(0, 40, 4):
        at_ms = 1_000 + offset
        topic.write(
            [
                LogRecord(3, offset, at_ms, KEY, b"\x00\x09unknown"),
                LogRecord(3, offset + 1, at_ms, unread, None),
                LogRecord(3, offset + 2, at_ms, b"\x00\x63\x00\x01g", b"x"),
                LogRecord(3, offset + 3, at_ms, KEY, encode_value(3, EMPTY)),
            ]
        )
        clock.at_s += STEP_S
        try:
            following.step()
        except Killed:
            following = started(tmp_path, topic, clock)
    monkeypatch.undo()
    read_to_the_end(following, clock)
    rows = read_rows(Home(tmp_path).quarantine)
    found = sorted((row["received_at_ms"], row["group_id"] or "", row["source"]) for row in rows)
    wanted = [(1_000 + at, group, "offsets-topic") for at in range(0, 40, 4) for group in ("", "g")]
    assert found == wanted
    assert [row[1] for row in written(tmp_path)["g"]] == ["group_created"]
    status = read_status(tmp_path)
    assert status is not None
    assert status.quarantined


def test_commits_are_left_out_where_asked(tmp_path: Path, clock: Clock, topic: WrittenTopic) -> None:
    records = read_dump(CAPTURES / NAMES[0] / "offsets-topic.jsonl.gz")
    topic.write(records)
    following = started(tmp_path, topic, clock, has_commits=False)
    read_to_the_end(following, clock)
    commits = sum((one.key or b"")[:2] in (b"\x00\x00", b"\x00\x01") for one in records)
    assert commits
    assert following.source.counts == (
        f"{len(records)} records read, {commits} of them commits, 0 of a type that nobody knows"
    )
    effects = {row["effect"] for row in read_rows(Home(tmp_path).effects)}
    assert effects.isdisjoint({"offsets_committed", "offsets_removed"})


def test_a_fact_that_waits_for_its_request_is_there_soon_and_after_a_kill_too(
    tmp_path: Path, clock: Clock, topic: WrittenTopic
) -> None:
    topic.write([LogRecord(0, 0, 5, KEY, encode_value(3, EMPTY)), LogRecord(0, 1, 90_000, KEY, None)])
    following = started(tmp_path, topic, clock)
    following.step()
    clock.at_s += HOLD_S / 2
    following.step()
    assert [row[1] for row in written(tmp_path)["g"]] == ["group_created"]
    following = started(tmp_path, topic, clock)
    clock.at_s += HOLD_S
    following.step()
    assert [row[1] for row in written(tmp_path)["g"]] == ["group_created", "group_removed"]


def test_records_that_are_gone_end_it_with_a_sentence_and_what_was_read_is_kept(
    tmp_path: Path, clock: Clock, topic: WrittenTopic
) -> None:
    topic.write([LogRecord(0, 0, 5, KEY, encode_value(3, EMPTY))])
    topic.errors.append((0, KafkaError._AUTO_OFFSET_RESET))
    following = started(tmp_path, topic, clock)
    while following.failure is None:
        following.step()
    following.finish()
    failure = following.failure
    assert failure is not None
    assert failure.reason.startswith("__consumer_offsets: records are gone from the topic that were not read yet")
    assert [row[1] for row in written(tmp_path)["g"]] == ["group_created"]


def test_an_absent_cluster_is_said_once_and_the_shadow_goes_on_when_it_is_back(
    tmp_path: Path, clock: Clock, topic: WrittenTopic, capsys: pytest.CaptureFixture[str]
) -> None:
    following = started(tmp_path, topic, clock)
    following.step()
    topic.is_away = True
    for _ in range(5):
        clock.at_s += AWAY_EVERY_S
        following.step()
    assert following.failure is None
    topic.is_away = False
    topic.write([LogRecord(0, 0, 5, KEY, encode_value(3, EMPTY))])
    following.step()
    following.finish()
    assert [row[1] for row in written(tmp_path)["g"]] == ["group_created"]
    said = "the cluster does not answer; the shadow continues when it does"
    assert capsys.readouterr().err.count(said) == 1


def test_a_partition_that_is_added_is_read_from_its_beginning(
    tmp_path: Path, clock: Clock, topic: WrittenTopic
) -> None:
    following = started(tmp_path, topic, clock)
    following.step()
    topic.write([LogRecord(7, 0, 5, KEY, encode_value(3, EMPTY))])
    following.step()
    assert following.source.counts.startswith("0 records read")
    clock.at_s += LOOK_EVERY_S
    following.step()
    assert following.source.counts.startswith("1 records read")


def test_all_before_a_time_is_read_once_each_partition_was_read_to_its_end_of_then(
    tmp_path: Path, clock: Clock, topic: WrittenTopic
) -> None:
    def until_ms() -> int:
        return source.known(0, 0).all_others_ms

    topic.write([LogRecord(0, 0, 5, KEY, encode_value(3, EMPTY)), LogRecord(1, 0, 5, KEY, None)])
    source = source_of(Home(tmp_path), None, topic, clock)
    assert until_ms() == -1
    source.step()
    asked_ms = clock.now_ms()
    assert until_ms() == -1
    clock.at_s += 1
    assert until_ms() == asked_ms
    topic.abort(1, 5)
    assert until_ms() == asked_ms + 1_000, "it was asked before"
    clock.at_s += 1
    assert until_ms() == asked_ms + 1_000
    source.step()
    assert until_ms() == asked_ms + 1_000
    assert until_ms() == asked_ms + 2_000, "of an aborted transaction nothing comes but the end"


# ---------------------------------------------------------------- what a shadow of a cluster is asked for


def test_a_file_gives_tls_and_sasl_and_the_address_gives_the_servers(tmp_path: Path) -> None:
    conf = tmp_path / "mine.conf"
    conf.write_text("kafka.security.protocol=SASL_SSL\nspark.coordinator.trigger.interval.ms=5000\n")
    config = topic_config("kafka://one:9092,two:9092", conf)
    assert dict(config.kafka_options) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.bootstrap.servers": "one:9092,two:9092",
    }
    assert (config.kafka_topic, config.trigger_interval_ms) == ("__consumer_offsets", 5000)


def test_an_address_without_a_server_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^kafka://: is not of the form kafka://host:port"):
        topic_config("kafka://", None)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["kafka://h:9092", "--set", "group.max.size=3"], "--zone and --set of a broker are said of a request log"),
        (["kafka://h:9092", "--zone", "Asia/Kolkata"], "--zone and --set of a broker are said of a request log"),
        (["kafka://h:9092", "--set", "groups.g.x=3"], "groups.g.x=3: is not of the form groups.GROUP.KEY"),
        (["requests.log", "--no-offsets"], "--conf and --offsets are said of a cluster"),
        (["kafka://h:9092/topic", "--no-offsets"], "kafka://h:9092/topic: is not of the form kafka://host:port"),
        (["one.log", "two.log"], "expected at most one log and one cluster, found 2 and 0"),
        (["kafka://h:9092", "kafka://i:9092"], "expected at most one log and one cluster, found 0 and 2"),
        (["one.log", "kafka://"], "kafka://: is not of the form kafka://host:port"),
    ],
)
def test_what_does_not_fit_what_is_followed_is_refused(
    words: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["shadow", "--home", str(tmp_path), *words]) == 2
    assert why in capsys.readouterr().err


def test_a_home_belongs_to_one_cluster_and_one_choice_of_commits(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.check_kind(TOPIC_SHADOW, "driver")
    check_cluster(home, "cluster-1", has_commits=True)
    check_cluster(home, "cluster-1", has_commits=True)
    with pytest.raises(HomeError, match="follows the cluster cluster-1, and this is cluster-2"):
        check_cluster(home, "cluster-2", has_commits=True)
    with pytest.raises(HomeError, match="was begun with commits: keep --offsets"):
        check_cluster(home, "cluster-1", has_commits=False)
    with pytest.raises(HomeError, match="holds a topic shadow history, not a live one"):
        home.check_kind("live", "driver")
