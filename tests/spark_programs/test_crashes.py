"""A program that is killed in the middle of a batch: every effect is there once in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark_programs.doomed import doomed
from tests.streaming.live import read_rows
from tests.streaming.logs import EVENT, facts_of, home_with, recorded


@pytest.mark.nightly
def test_kills_between_the_sinks_commit_and_the_checkpoints_leave_no_trace(tmp_path: Path) -> None:
    world = recorded(200, seed=3)
    home = home_with(tmp_path / "home", world.log, 8)
    settings = {**EVENT, "spark.coordinator.source.max.requests.per.batch": "1"}
    for batch in ("0", "4"):
        killed = doomed(home.location, batch, **settings)
        assert killed.returncode == -9, killed.stdout + killed.stderr
        assert 0 < len(read_rows(home.effects)) < len(world.effects())
        assert not (Path(home.checkpoint) / "commits" / batch).exists()
    done = doomed(home.location, "never", **settings)
    assert (done.returncode, done.stdout.strip()) == (0, "drained"), done.stdout + done.stderr
    assert facts_of(read_rows(home.effects)) == facts_of(world.effects())
