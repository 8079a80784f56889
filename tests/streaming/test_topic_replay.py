"""A dump of __consumer_offsets replayed: the history that its records give, in every view and explained."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rollcall.__main__ import main
from rollcall.answers.sql.engine import ask
from rollcall.cli.replay import replay
from rollcall.cli.why import answer
from rollcall.tables.home import Home
from tests.offsets_topic.folded import CAPTURES, CLASSIC, CONSUMER, OF_SESSIONS, capture, truth
from tests.readme.shown import block_with
from tests.replayed import replay_dump
from tests.source_tree import ROOT

SLOW = CONSUMER[1]
OF_FIX = "groups.fix.consumer.session.timeout.ms"


def dump_of(name: str, file: str = "offsets-topic") -> Path:
    return CAPTURES / name / f"{file}.jsonl.gz"


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ask(home, query).rows]


@pytest.mark.parametrize("name", [CLASSIC, SLOW])
def test_the_replay_and_the_pure_fold_tell_the_same_story(tmp_path: Path, name: str) -> None:
    work = replay_dump(Home(tmp_path), dump_of(name))
    folded = capture(name)
    assert work.records == len(folded.records)
    assert work.names == folded.names
    reported = "group_id, from_generation_id, to_generation_id, cause, is_inferred, cause_candidates"
    found = rows(tmp_path, f"select {reported} from rebalances order by group_id, from_generation_id")
    ours = [
        (group, start, end, cause.kind, cause.is_inferred, [one.kind for one in cause.candidates])
        for group in sorted(folded.reported)
        for start, end, cause in folded.causes(group)
    ]
    assert [(*row[:5], sorted(row[5])) for row in found] == [(*one[:5], sorted(set(one[5]))) for one in ours]
    assert rows(tmp_path, "select * from quarantine") == []


@pytest.mark.parametrize(("given", "cause"), [({}, "unknown"), ({OF_FIX: "10000"}, "session_expired")])
def test_what_is_said_of_a_groups_session_holds_for_its_dump(tmp_path: Path, given: dict[str, str], cause: str) -> None:
    replay(Home(tmp_path), [OF_SESSIONS / "sessions.dump.gz"], given, "UTC", Console(quiet=True))
    reported = ask(tmp_path, "select cause from rebalances where group_id = 'fix' and from_generation_id = 3")
    assert [row[0] for row in reported.rows] == [cause]


def test_unfit_lines_and_records_are_kept_with_their_place(tmp_path: Path) -> None:
    lines = gzip.decompress(dump_of(CLASSIC).read_bytes()).splitlines(keepends=True)
    unknown = b'{"partition":9,"offset":0,"timestamp_ms":5,"key":"AAIAAWc=","value":"AAk="}\n'
    skipped = b'{"partition":9,"offset":1,"timestamp_ms":5,"key":"AGM=","value":null}\n'
    spoilt = b'{"partition":9,"offset":"x","timestamp_ms":5,"key":null,"value":null}\n'
    dump = tmp_path / "dump.jsonl"
    dump.write_bytes(b"".join([*lines, unknown, skipped, spoilt]))
    home = tmp_path / "home"
    work = replay_dump(Home(home), dump)
    kept = rows(home, "select source, group_id, reason from quarantine order by reason")
    assert [row[:2] for row in kept] == [("dump.jsonl line 319", None), ("offsets-topic", "g")]
    assert "partition 9 offset 0: GroupMetadata value: version 9 is not known" in kept[1][2]
    assert work.skipped["unknown key type 99"] == 1
    assert len(rows(home, "select * from groups")) == 4


def test_the_readmes_command_takes_a_dump_in_the_place_of_a_request_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, page = block_with("sh", "offsets-topic.jsonl.gz"), block_with("text", "when it began is not known")
    path, group, generation = re.findall(r" (?:LOG|GROUP|GENERATION)=(\S+)", shown)
    replay(Home(tmp_path), [ROOT / path], {}, "UTC", Console(width=200))
    printed = capsys.readouterr().out
    assert "316 records of 5 groups read" in printed
    assert "rates-feed: rebalance, generation 1 -> 2: session expired, by rates-feed-1 on 127.0.1.15" in printed
    assert "of 19 causes of rebalances the topic proves" in printed
    answer(Home(tmp_path), group, generation, "", "text")
    assert capsys.readouterr().out.startswith(page)


def test_half_a_request_log_and_a_dump_make_the_whole_history_of_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = gzip.decompress((CAPTURES / CLASSIC / "requests.log.gz").read_bytes()).splitlines(keepends=True)
    (tmp_path / "requests.log").write_bytes(b"".join(lines[len(lines) // 2 :]))
    home = tmp_path / "home"
    assert main(["replay", "--home", str(home), f"{tmp_path}/requests.log {dump_of(CLASSIC)}"]) == 0
    printed = capsys.readouterr().out
    assert "recorded answers match" in printed
    assert "316 records of 5 groups read" in printed
    assert "they never disagree" in printed
    found = rows(home, "select group_id, to_generation_id, started_at from rebalances order by 1, 2")
    whole = truth(CLASSIC)["groups"]
    assert [(row[0], row[1]) for row in found] == [
        (group, one["generation"]) for group in sorted(whole) for one in whole[group]["generations"]
    ]
    # Only the log says when a classic rebalance began.
    assert 0 < sum(row[2] is not None for row in found) < len(found)
    assert len(rows(home, "select group_id from replies")) > 100
