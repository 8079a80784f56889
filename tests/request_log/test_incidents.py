"""Incidents of our own against a real broker 4.3.1, with what its server log says of each rebalance.

`clients`: static members that restart, processes that are stopped and go on, instance ids that clash, no protocol in
common, partitions added, slow applications, resubscribing, of three libraries. `java`: the same of the Java client.
`dying`, `unanswered`: members that die at every step of a rebalance. `failover`: the broker stopped and started, then
killed and started. `full-group`: group.max.size 3 and an initial delay of 1 s, which nobody tells the importer.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.request_log.imported import imported
from tests.request_log.recordings import INCIDENTS, incident

NAMES = sorted(path.name.partition(".")[0] for path in INCIDENTS.glob("*.json"))
INFERRED = {
    "dying": {"a join phase that ended without a member", "a member outlived its session"},
    "unanswered": {"a JoinGroup that left no line"},
    "failover": {
        "the coordinator is away",
        "a coordinator has loaded the group",
        "a join phase that ended without a member",
    },
}


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_is_the_recorded_one(name: str) -> None:
    found = incident(name)
    assert found.parity.first == []
    # A line that names two groups is two answers.
    assert found.parity.compared >= found.tally.used
    assert found.tally.unsettled == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_rebalance_its_cause_and_its_culprit_are_those_of_the_servers_own_log(name: str) -> None:
    expected = json.loads((INCIDENTS / f"{name}.json").read_text())
    assert {group: [list(told) for told in incident(name).rebalances(group)] for group in expected} == expected


@pytest.mark.parametrize("name", NAMES)
def test_only_what_left_no_line_is_inferred(name: str) -> None:
    assert set(incident(name).tally.inferred) == INFERRED.get(name, set())


def test_a_log_shows_the_settings_of_its_broker() -> None:
    """With Kafka's defaults instead the same log cannot be told."""
    path = INCIDENTS / "full-group.log.gz"
    defaults = {"group.initial.rebalance.delay.ms": "3000", "group.max.size": "2147483647"}
    assert imported(path, settings=defaults).parity.share < 0.95
    assert incident("full-group").parity.share == 1.0


def test_a_coordinator_that_was_away_lets_no_session_end_meanwhile() -> None:
    """The broker was down longer than the members' sessions; all of them came back as what they were."""
    found = incident("failover")
    away = {row.group_id for row in found.rows if getattr(row.request, "is_away", False)}
    loaded = {row.group_id for row in found.rows if getattr(row.request, "is_loaded", False)}
    assert away == loaded >= {"fo-a", "fo-k"}


def test_the_same_log_with_windows_line_ends_in_two_files_is_the_same(tmp_path: Path) -> None:
    lines = gzip.decompress((INCIDENTS / "java.log.gz").read_bytes()).splitlines()
    half = len(lines) // 2
    (tmp_path / "kafka-request.log").write_bytes(b"\r\n".join(lines[half:]) + b"\r\n")
    (tmp_path / "kafka-request.log.2026-11-21-09").write_bytes(gzip.compress(b"\r\n".join(lines[:half]) + b"\r\n"))
    found, whole = imported(tmp_path), incident("java")
    assert found.parity.equal == whole.parity.equal
    assert [row.request.received_at_ms for row in found.rows] == [row.request.received_at_ms for row in whole.rows]
