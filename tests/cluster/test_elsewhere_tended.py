"""A home in an object store whose job has stopped: it is tended, and read as before."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.conftest import HOME, Running
from tests.cluster.object_store import connector_jars


def test_a_home_in_a_store_is_tended_while_its_job_is_stopped(running: Running, tmp_path: Path) -> None:
    running.driver.stop()
    facts = running.parts.rows(HOME)
    settings = {**running.parts.store.spark_settings(), "spark.jars": ",".join(connector_jars())}
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    done = running.parts.rollcall("maintain", "--home", HOME, environ={"SPARK_CONF_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "effects: " in done.stdout
    assert sorted(map(str, running.parts.rows(HOME))) == sorted(map(str, facts))
    told = running.parts.rollcall("sql", "--home", HOME, "--format", "csv", "select count(*) from effects")
    assert told.stdout.split() == ["count(1)", str(len(facts))], told.stderr
