"""A home in an object store is tended and moved to other partitions while its job is stopped, and refused beside it."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.conftest import HOME, Running
from tests.cluster.elsewhere import PARTITIONS
from tests.cluster.object_store import connector_jars
from tests.peers_clients.fleet import AS_SHIPPED, Fleet
from tests.peers_job.reported import assert_reported_once, await_heartbeats, story

GROUP = "tended"
PATIENCE_S = 240.0


@pytest.mark.nightly
def test_a_home_in_a_store_is_tended_and_moved_and_its_members_stay(running: Running, tmp_path: Path) -> None:
    parts = running.parts
    settings = {**parts.store.spark_settings(), "spark.jars": ",".join(connector_jars())}
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))

    def spark_command(*words: str) -> subprocess.CompletedProcess[str]:
        return parts.rollcall(*words, "--home", HOME, environ={"SPARK_CONF_DIR": str(tmp_path)})

    def facts() -> Counter[str]:
        return Counter(map(str, parts.rows(HOME)))

    with Fleet(running.coordinator.bootstrap, GROUP, "work", **AS_SHIPPED) as fleet:
        fleet.patience_s = PATIENCE_S
        for kind in ("confluent", "java"):
            fleet.start(kind)
        fleet.await_shares(fleet.workers, 12)
        reported, members = parts.reported(HOME), running.coordinator.member_ids(GROUP)
        before = story(reported, GROUP)

        refused = spark_command("maintain")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{HOME} is in use by the coordinator" in refused.stderr

        running.driver.stop()
        known = facts()
        tended = spark_command("maintain")
        assert "effects: " in tended.stdout, tended.stderr
        assert facts() == known
        counted = parts.rollcall("sql", "--home", HOME, "--format", "csv", "select count(*) from effects")
        assert counted.stdout.split() == ["count(1)", str(known.total())], counted.stderr

        wider = PARTITIONS + 2
        moved = spark_command("repartition", "--partitions", str(wider))
        assert moved.stdout == f"rollcall: {HOME} has {wider} shuffle partitions now.\n", moved.stderr
        assert facts() == known
        running.driver = parts.submit(HOME)
        await_heartbeats(reported, members, PATIENCE_S)
        assert running.coordinator.member_ids(GROUP) == members
        assert story(reported, GROUP) == before
        assert_reported_once(reported)
