"""A growing log followed by a program that is killed on the way: its history is the finished log's, with no gap."""

from __future__ import annotations

import gzip
from pathlib import Path

from deltalake import DeltaTable
from rich.console import Console

from rollcall.cli.shadow import command
from rollcall.cli.shadow.command import FollowedInputs, ShadowProgram
from rollcall.jobs.config import JobConfig
from rollcall.tables.home import Home
from rollcall.tables.properties import request_properties
from tests.shadow.finished_log import expected
from tests.shadow.shadow_program import PATIENCE_S, Shadow
from tests.source_tree import ROOT
from tests.waiting import until

LOG = ROOT / "tests/captures/d-kill/requests.log.gz"
OTHER_SETTINGS = ROOT / "tests/request_log/incidents/full-group.log.gz"
"""Of a broker with group.max.size=3 and an initial delay of 1 s."""


def test_a_shadow_that_is_killed_twice_has_the_finished_logs_history(tmp_path: Path) -> None:
    answers, facts = expected(LOG)
    lines = gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)
    thirds = lines[:162], lines[162:324], lines[324:]
    shadow = Shadow(tmp_path)
    try:
        shadow.write(thirds[0])
        first = shadow.await_effects(lambda count: count > 0, "the first third")
        shadow.kill()
        shadow.write(thirds[1])
        shadow.rotate()
        shadow.start_again()
        shadow.await_effects(lambda count: count > first, "the second third")
        shadow.kill()
        shadow.write(thirds[2])
        shadow.start_again()
        shadow.await_effects(lambda count: count >= facts, "all of it")
        out = shadow.stop()
    finally:
        shadow.end()
    assert "485 lines read, 463 used, 0 in quarantine" in out
    assert (shadow.answers(), len(shadow.effects())) == (answers, facts)
    expiries = [e for e in shadow.effects() if (e["effect"], e["cause"]) == ("rebalance_ended", "session_expired")]
    assert sorted(str(e["group_id"]) for e in expiries) == ["audit-trail", "clicks-agg", "views-agg"]


def test_settings_that_the_log_gives_away_are_learnt_by_the_running_shadow(tmp_path: Path) -> None:
    answers, facts = expected(OTHER_SETTINGS)
    shadow = Shadow(tmp_path)
    try:
        until(shadow.is_running, "the shadow", PATIENCE_S)
        shadow.write(gzip.decompress(OTHER_SETTINGS.read_bytes()).splitlines(keepends=True))
        shadow.await_effects(lambda count: count >= facts, "all of it")
        out = shadow.stop()
    finally:
        shadow.end()
    assert "the broker has group.initial.rebalance.delay.ms=1000 group.max.size=3, as the log shows" in out
    assert (shadow.answers(), len(shadow.effects())) == (answers, facts)


def test_the_request_table_keeps_its_versions_as_long_as_the_settings_say(tmp_path: Path) -> None:
    home, console = Home(tmp_path / "home"), Console(quiet=True)
    config = JobConfig.from_pairs({"spark.coordinator.versions.retention.minutes": "7"})
    log = tmp_path / "requests.log"
    log.write_bytes(gzip.decompress(LOG.read_bytes()))
    home.path.mkdir()
    opened = command._open(home, None, FollowedInputs(log=str(log)), console)
    command._source(home, *opened, ShadowProgram(home, console), config)
    assert DeltaTable(str(home.requests)).metadata().configuration == request_properties(7)
