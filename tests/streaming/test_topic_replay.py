"""A dump of __consumer_offsets through the stream: the history that its records tell, in every view and explained."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession
from rich.console import Console

from jobs.home import Home
from jobs.replay.command import replay, replay_config
from jobs.replay.topic import TopicReplay
from jobs.rollcall.__main__ import main
from jobs.sql import register_views
from jobs.why import answer
from tests.offsets_topic.folded import CAPTURES, CLASSIC, CONSUMER, capture, truth
from tests.readme.shown import block_with
from tests.source_tree import ROOT

SLOW = CONSUMER[1]


def replayed(spark: SparkSession, path: Path, home: Path) -> TopicReplay:
    work = TopicReplay(Home(home), replay_config({}), path)
    work.run(spark, Console(quiet=True))
    register_views(spark, work.home)
    return work


def dump_of(name: str, file: str = "offsets-topic") -> Path:
    return CAPTURES / name / f"{file}.jsonl.gz"


def rows(spark: SparkSession, query: str) -> list[Row]:
    return spark.sql(query).collect()


@pytest.mark.parametrize("name", [CLASSIC, SLOW])
def test_the_stream_and_the_pure_fold_tell_the_same_story(spark: SparkSession, tmp_path: Path, name: str) -> None:
    work = replayed(spark, dump_of(name), tmp_path)
    folded = capture(name)
    assert work.records == len(folded.records)
    assert work.names == folded.names
    told = "group_id, from_generation_id, to_generation_id, cause, is_inferred, cause_candidates"
    found = rows(spark, f"select {told} from rebalances order by group_id, from_generation_id")
    ours = [
        (group, start, end, cause.kind, cause.is_inferred, [one.kind for one in cause.candidates])
        for group in sorted(folded.told)
        for start, end, cause in folded.causes(group)
    ]
    assert [(*row[:5], sorted(row[5])) for row in found] == [(*one[:5], sorted(set(one[5]))) for one in ours]
    assert rows(spark, "select * from quarantine") == []


def test_unfit_lines_and_records_are_kept_with_their_place(spark: SparkSession, tmp_path: Path) -> None:
    lines = gzip.decompress(dump_of(CLASSIC).read_bytes()).splitlines(keepends=True)
    unknown = b'{"partition":9,"offset":0,"timestamp_ms":5,"key":"AAIAAWc=","value":"AAk="}\n'
    skipped = b'{"partition":9,"offset":1,"timestamp_ms":5,"key":"AGM=","value":null}\n'
    spoilt = b'{"partition":9,"offset":"x","timestamp_ms":5,"key":null,"value":null}\n'
    dump = tmp_path / "dump.jsonl"
    dump.write_bytes(b"".join([*lines, unknown, skipped, spoilt]))
    work = replayed(spark, dump, tmp_path / "home")
    kept = rows(spark, "select source, group_id, reason from quarantine order by reason")
    assert [(row.source, row.group_id) for row in kept] == [("dump.jsonl line 319", None), ("offsets-topic", "g")]
    assert "partition 9 offset 0: GroupMetadata value: version 9 is not known" in kept[1].reason
    assert work.skipped["unknown key type 99"] == 1
    assert len(rows(spark, "select * from groups")) == 4


def test_the_readmes_command_takes_a_dump_in_the_place_of_a_request_log(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, page = block_with("sh", "offsets-topic.jsonl.gz"), block_with("text", "when it began is not known")
    path, group, generation = re.findall(r" (?:LOG|GROUP|GENERATION)=(\S+)", shown)
    replay(Home(tmp_path), ROOT / path, {}, "UTC", Console(width=200))
    told = capsys.readouterr().out
    assert "316 records of 5 groups read" in told
    assert "session_expired by rates-feed-1 on 127.0.1.15, generation 1 -> 2, 3 -> 2 members, completed" in told
    assert "of 19 causes the topic proves" in told
    answer(Home(tmp_path), group, generation, "", "text")
    assert capsys.readouterr().out.startswith(page)


def test_half_a_request_log_and_a_dump_make_the_whole_history_of_both(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = gzip.decompress((CAPTURES / CLASSIC / "requests.log.gz").read_bytes()).splitlines(keepends=True)
    (tmp_path / "requests.log").write_bytes(b"".join(lines[len(lines) // 2 :]))
    home = Home(tmp_path / "home")
    assert main(["replay", "--home", home.location, f"{tmp_path}/requests.log {dump_of(CLASSIC)}"]) == 0
    told = capsys.readouterr().out
    assert "answers are equal" in told
    assert "316 records of 5 groups read" in told
    assert "they never disagree" in told
    register_views(spark, home)
    found = rows(spark, "select group_id, to_generation_id, started_at from rebalances order by 1, 2")
    whole = truth(CLASSIC)["groups"]
    assert [(row[0], row[1]) for row in found] == [
        (group, one["generation"]) for group in sorted(whole) for one in whole[group]["generations"]
    ]
    # When a classic rebalance began, the log alone tells.
    assert 0 < sum(row.started_at is not None for row in found) < len(found)
    answers = rows(spark, "select group_id from replies")
    assert len(answers) > 100
