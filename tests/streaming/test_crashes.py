"""What survives while the coordinator is away, and what becomes of a home whose job is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rollcall.coordinator_udfs.protocol.join_group import new_member_id
from tests.requests import heartbeat, join
from tests.source_tree import ROOT
from tests.streaming.live import Live, now_ms, read_rows
from tests.waiting import until

Lives = Callable[..., Live]
SESSION_MS = 3000


def joined_and_drained(running: Live) -> str:
    """A member that the coordinator took, which then stopped before any deadline; its id."""
    joined = join("a", now_ms(), session_timeout_ms=SESSION_MS)
    running.stop()
    running.send(joined)
    running.drain()
    return new_member_id(joined)


@pytest.mark.nightly
def test_members_that_keep_sending_survive_a_coordinator_that_is_away_for_several_sessions(live: Lives) -> None:
    running = live()
    member = joined_and_drained(running)
    last_ms = now_ms()

    def beat_and_look() -> bool | None:
        running.send(heartbeat(member, 1, now_ms()))
        return True if now_ms() > last_ms + 2 * SESSION_MS else None

    until(beat_and_look, "two sessions", every_s=0.2)
    running.drain()
    replies = running.effects(effect="reply")
    assert {reply["error_code"] for reply in replies} == {"NONE"}
    assert running.effects(effect="member_removed") == []
    assert {reply["request_id"] for reply in replies} == {row["request_id"] for row in read_rows(running.home.requests)}


def test_an_overdue_deadline_fires_after_a_restart_without_any_traffic(live: Lives) -> None:
    running = live()
    member = joined_and_drained(running)
    stopped_ms = now_ms()
    until(lambda: now_ms() > stopped_ms + SESSION_MS, "the deadline")
    assert running.effects(effect="member_removed") == []
    running.go_on()
    assert running.coordinator is not None
    gone = running.effect("member_removed")
    assert (gone["member_id"], gone["cause"]) == (member, "session_expired")
    assert gone["at_ms"] >= running.coordinator.started_at_ms + SESSION_MS


def test_a_home_is_freed_when_its_job_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal\nfrom rollcall.tables.home import Home\n"
        f"with Home({str(tmp_path)!r}).locked('the coordinator'): os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, env={**os.environ})
    assert killed.returncode == -9
    from rollcall.tables.home import Home

    with Home(tmp_path).locked("the next one"):
        assert (tmp_path / "lock").read_text().startswith("the next one")
