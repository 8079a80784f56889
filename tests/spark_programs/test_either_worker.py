"""The stream with pyspark's own workers and with the lean ones: the same tables come of the same log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark_programs.doomed import doomed
from tests.streaming.live import read_rows
from tests.streaming.logs import EVENT, facts_of, home_with, recorded


@pytest.mark.nightly
def test_pysparks_own_workers_give_the_same_effects(tmp_path: Path) -> None:
    """The lean workers' effects are compared with the same expectation in `test_event_clock`."""
    world = recorded(120, seed=5)
    home = home_with(tmp_path / "home", world.log, 6)
    settings = {**EVENT, "spark.coordinator.source.max.requests.per.batch": "1"}
    done = doomed(home.location, "never", **settings, **{"spark.python.daemon.module": "pyspark.daemon"})
    assert (done.returncode, done.stdout.strip()) == (0, "drained"), done.stdout + done.stderr
    assert facts_of(read_rows(home.effects)) == facts_of(world.effects())
