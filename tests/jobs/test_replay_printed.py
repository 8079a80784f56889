"""Logs that brokers print, replayed into a home: alone, and beside a dump of the offsets topic."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from rollcall.__main__ import main
from rollcall.answers.sql.engine import ask
from rollcall.cli.check import broken_rules
from rollcall.cli.replay import make_history
from rollcall.inputs.printed.groups.logged_members import Members
from rollcall.inputs.replay.inputs import input_of
from rollcall.tables.home import Home
from tests.offsets_topic.folded import CAPTURES, NAMES
from tests.printed.recorded import BROKERS, truth_of
from tests.request_log.broker import versions_line

KILLED = BROKERS / "d-kill.log.gz"
QUERY = """
    select group_id, to_generation_id, cause, cause_client_id, cause_client_host, unix_millis(started_at) started_ms
    from rebalances order by started_at, group_id
"""


def rows_of(home: Path, query: str = QUERY) -> list[dict[str, Any]]:
    return ask(home, query).rows_by_column()


def replayed(home: Path, *paths: Path) -> int:
    return main(["replay", " ".join(map(str, paths)), "--home", str(home), "--processes", "1"])


def rebalances_in(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The classic rebalances of a capture, as its driver knows them."""
    return ((group_id, one) for group_id, truth in truth_of(name).items() for one in truth["rebalances"])


def assert_same(row: dict[str, Any], true: dict[str, Any]) -> None:
    """A rebalance has the true cause, client and host, and none where nobody is to blame.

    The driver does not know the client ids that libraries make up.
    """
    who = true["trigger"] or {}
    host = f"/{who['host']}" if who.get("host") else None
    found = row["cause"], row["cause_client_id"], row["cause_client_host"]
    client_id = (who.get("client_id") or row["cause_client_id"]) if who else None
    assert found == (true["cause"], client_id, host), true


def test_a_brokers_log_becomes_a_home_with_the_true_causes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    assert replayed(home, KILLED) == 0
    printed = capsys.readouterr().out
    assert "d-kill.log.gz: a broker's log, 56 lines, 56 about groups" in printed
    assert "clicks-agg: rebalance, generation 1 -> 2: session expired, by clicks-agg-1; completed in 2.009 s" in printed
    found = {(row["group_id"], row["started_ms"]): row for row in rows_of(home)}
    assert found.keys() == {(group_id, one["t_prepare_ms"]) for group_id, one in rebalances_in("d-kill")}
    for group_id, one in rebalances_in("d-kill"):
        row = found[group_id, one["t_prepare_ms"]]
        assert (row["cause"], row["cause_client_id"]) == (one["cause"], (one["trigger"] or {}).get("client_id"))
    assert main(["why", "clicks-agg", "--generation", "2", "--home", str(home)]) == 0
    explained = capsys.readouterr().out
    assert "clicks-agg: generation 1 -> 2, 2026-11-21 05:38:59.065 UTC, completed in 2.009 s" in explained
    assert "who held what is unknown" in explained


def test_the_report_counts_lines_that_are_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "server.log"
    unread = "[2026-11-21 05:38:57,000] INFO [GroupCoordinator 1]: Something new happened (kafka.coordinator.group.G)\n"
    log.write_bytes(gzip.decompress(KILLED.read_bytes()) + unread.encode() * 2)
    assert replayed(tmp_path / "home", log) == 0
    assert "    2 lines of a broker's log are not read: `Something new happened` 2\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_beside_the_topic_causes_are_the_lines_and_names_the_topics(name: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert replayed(home, BROKERS / f"{name}.log.gz", CAPTURES / name / "offsets-topic.jsonl.gz") == 0
    rows = rows_of(home)
    epochs = {(row["group_id"], row["to_generation_id"]): row for row in rows}
    for group_id, truth in truth_of(name).items():
        for one in (truth.get("consumer") or {}).get("epochs", []):
            assert_same(epochs[group_id, one["epoch"]], one)
    by_time = {(row["group_id"], row["started_ms"]): row for row in rows}
    for group_id, one in rebalances_in(name):
        assert_same(by_time[group_id, one["t_prepare_ms"]], one)
    assert {rule.name: rows for rule, rows in broken_rules(Home(home))} == {}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--set", "group.max.size=3"], "--set group.max.size: is said of a request log or a dump"),
        ([], ""),
    ],
)
def test_settings_of_a_broker_are_said_of_requests(
    more: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(KILLED), "--home", str(tmp_path / "home"), *more]) == (2 if more else 0)
    assert sentence in capsys.readouterr().err


def test_a_request_log_a_topic_and_a_brokers_log_are_one_history_group_by_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = CAPTURES / "n-classic-mixed"
    recordings = capture / "requests.log.gz", capture / "offsets-topic.jsonl.gz"
    lines = BROKERS / "n-classic-mixed.log.gz"
    found = {}
    for home, paths in {"recorded": recordings, "lines": (KILLED,), "all": (*recordings, lines, KILLED)}.items():
        assert replayed(tmp_path / home, *paths) == 0
        printed = capsys.readouterr().out
        found[home] = rows_of(tmp_path / home)
    assert "groups only in these lines: audit-trail, clicks-agg, views-agg" in printed
    by_time = sorted((*found["recorded"], *found["lines"]), key=lambda row: (row["started_ms"], row["group_id"]))
    assert found["all"] == by_time
    assert {rule.name: rows for rule, rows in broken_rules(Home(tmp_path / "all"))} == {}


def test_beside_a_request_log_lines_tell_of_the_groups_that_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "kafka-request.log"
    with gzip.open(CAPTURES / "d-kill" / "requests.log.gz", "rt") as file:
        log.write_text("".join(line for line in file if "views-agg" not in line))
    for home, paths in {"both": (log, KILLED), "log": (log,), "lines": (KILLED,)}.items():
        assert replayed(tmp_path / home, *paths) == 0
        printed = capsys.readouterr().out
        assert ("groups only in these lines: views-agg" in printed) == (home == "both")
    both, by_log, by_lines = (rows_of(tmp_path / home) for home in ("both", "log", "lines"))
    assert {row["group_id"] for row in by_log} == {"clicks-agg", "audit-trail"}
    of_lines = [row for row in by_lines if row["group_id"] == "views-agg"]
    assert len(of_lines) == 3
    assert [row for row in both if row["group_id"] != "views-agg"] == by_log
    assert [row for row in both if row["group_id"] == "views-agg"] == of_lines
    assert {rule.name: rows for rule, rows in broken_rules(Home(tmp_path / "both"))} == {}


def started(version: str) -> str:
    """What a broker prints when it has started."""
    at = "[2026-10-25 06:00:00,000] INFO"
    return (
        f"{at} Kafka version: {version} (org.apache.kafka.common.utils.AppInfoParser)\n"
        f"{at} [KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)\n"
    )


@pytest.mark.parametrize(
    ("version", "is_shown", "is_older"),
    [
        ("4.3.1", False, True),
        ("3.9.2", False, True),
        ("4.4.0", False, False),
        ("4.3.1", True, False),
    ],
)
def test_a_brokers_log_says_which_kafka_wrote_the_request_log(
    version: str, is_shown: bool, is_older: bool, tmp_path: Path
) -> None:
    """Unless the request log shows it itself."""
    printed, log = tmp_path / "server.log", tmp_path / "kafka-request.log"
    printed.write_text(started(version) + gzip.decompress(KILLED.read_bytes()).decode())
    with gzip.open(CAPTURES / "d-kill" / "requests.log.gz", "rt") as file:
        lines = [line for line in file if "API_VERSIONS" not in line]
    if is_shown:
        lines[:0] = [versions_line(5).decode() + "\n"]
    log.write_text("".join(lines))
    read = input_of([log, printed], {}, ZoneInfo("UTC"))
    make_history(Home(tmp_path / "home"), read, Console(quiet=True), 1)
    written = io.StringIO()
    read.tell(Console(file=written, width=200), Home(tmp_path / "home"))
    assert ("kafka.version=4.3" in written.getvalue()) == is_older, written.getvalue()


@pytest.mark.parametrize("part", ["first half", "second half", "all but the middle"])
@pytest.mark.parametrize("name", ["d-kill", "n-classic-mixed", "o-consumer-protocol"])
def test_lines_go_on_with_a_group_where_the_request_log_lacks_it(
    name: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = gzip.decompress((CAPTURES / name / "requests.log.gz").read_bytes()).splitlines(keepends=True)
    log, printed = tmp_path / "kafka-request.log", BROKERS / f"{name}.log.gz"
    middle, third = len(lines) // 2, len(lines) // 3
    parts = {"first half": lines[:middle], "second half": lines[middle:]}
    log.write_bytes(b"".join(parts.get(part, lines[:third] + lines[2 * third :])))
    found = {}
    for home, paths in {"both": (log, printed), "lines": (printed,)}.items():
        assert replayed(tmp_path / home, *paths) == 0
        found[home] = {(row["group_id"], row["to_generation_id"]) for row in rows_of(tmp_path / home)}
    assert "groups with rebalances that only these lines have: " in capsys.readouterr().out
    assert found["both"] == found["lines"]
    assert {rule.name: rows for rule, rows in broken_rules(Home(tmp_path / "both"))} == {}


@pytest.mark.parametrize("name", ["n-classic-mixed", "o-consumer-protocol", "q-consumer-slow"])
def test_lines_have_the_rebalances_that_compaction_removed_from_the_topic(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, printed = CAPTURES / name / "offsets-topic-compacted.jsonl.gz", BROKERS / f"{name}.log.gz"
    found = {}
    for home, paths in {"both": (topic, printed), "lines": (printed,)}.items():
        assert replayed(tmp_path / home, *paths) == 0
        found[home] = {(row["group_id"], row["to_generation_id"], row["cause"]) for row in rows_of(tmp_path / home)}
    assert found["both"] == found["lines"]
    other_names = """
        select * from rebalances r join members m on r.group_id = m.group_id and r.cause_member_id = m.member_id
        where not r.cause_client_id <=> m.client_id
    """
    assert rows_of(tmp_path / "both", other_names) == []
    assert "name their zone" not in capsys.readouterr().out
    assert {rule.name: rows for rule, rows in broken_rules(Home(tmp_path / "both"))} == {}


JOINED = (
    "2026-03-01 03:12:00,417 INFO [Consumer clientId=a-1, groupId=orders] Successfully joined group with generation "
    "Generation{generationId=7, memberId='a-1-x', protocol='range'} (org.apache.kafka.clients)\n"
    "2026-03-01 03:12:00,450 INFO [Consumer clientId=a-1, groupId=orders] Adding newly assigned partitions: orders-0, "
    "orders-1 (org.apache.kafka.clients)\n"
)


def test_clients_lines_alone_make_a_home_of_what_they_prove(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, home = tmp_path / "app.log", tmp_path / "home"
    log.write_text(JOINED)
    assert replayed(home, log) == 0
    assert "has nothing of them" not in capsys.readouterr().out
    owners = rows_of(home, "select partition, client_id, generation_id, to_at from assignments order by partition")
    assert [tuple(row.values()) for row in owners] == [(0, "a-1", 7, None), (1, "a-1", 7, None)]
    (one,) = rows_of(
        home, "select to_generation_id, outcome, started_at, members_before, members_after from rebalances"
    )
    assert tuple(one.values()) == (7, "completed", None, None, None)
    assert {rule.name: rows for rule, rows in broken_rules(Home(home))} == {}


def test_of_lines_without_a_date_nothing_is_in_the_home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "app.log"
    log.write_text(JOINED.replace("2026-03-01 03:12:00,417 ", "").replace("2026-03-01 03:12:00,450 ", ""))
    assert replayed(tmp_path / "home", log) == 0
    assert "orders: no line with a date names" in capsys.readouterr().out


def test_a_group_whose_lines_cannot_be_followed_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Members, "known", lambda *_: 1 // 0)
    assert replayed(tmp_path / "home", KILLED) == 0
    shown = capsys.readouterr().out
    assert "not known: views-agg: Rollcall failed to follow the lines of this group" in " ".join(shown.split())
    assert "no line with a date" not in shown


def test_of_a_member_whose_log_shows_no_partitions_nobody_is_said_to_have_consumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    assert replayed(home, BROKERS.parent / "incidents" / "killed") == 0
    assert main(["why", "payments", "--generation", "5", "--home", str(home)]) == 0
    assert (
        "5 partitions moved, whether at least one member consumed all the time is not known" in capsys.readouterr().out
    )


def test_a_file_of_none_of_them_says_what_was_looked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-03-01 03:12:00,417] INFO [BrokerServer id=1] Transition from STARTING to STARTED\n")
    assert replayed(tmp_path / "home", log) == 2
    said = capsys.readouterr()
    assert "no line of a broker's log, a client's log, a request log or a dump of __consumer_offsets" in said.err
    assert "parity" not in said.out


def test_why_says_nothing_of_owners_before_a_compacted_dump_shows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, dump = tmp_path / "home", CAPTURES / "n-classic-mixed" / "offsets-topic-compacted.jsonl.gz"
    assert replayed(home, dump, BROKERS / "n-classic-mixed.log.gz") == 0
    for generation_id in range(2, 8):
        capsys.readouterr()
        assert main(["why", "parcels-track", "--generation", str(generation_id), "--home", str(home)]) == 0
        shown = capsys.readouterr().out
        assert "nobody ->" not in shown
        assert "omebody consumed all the time." not in shown
        assert "whether at least one member consumed all the time is not known" in shown
        assert "WHAT MOVED\n  unknown" in shown
