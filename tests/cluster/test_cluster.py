"""Elsewhere: the spark-submit of docs/cluster.md, on a cluster of one executor, with Spark writing the effects."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import write_deltalake

from rollcall.jobs.package import pack
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.request_table import request_rows
from tests.cluster.cluster_command import PARTITIONS, command_here
from tests.requests import heartbeat, join
from tests.source_tree import ROOT
from tests.streaming.live import now_ms, read_rows
from tests.waiting import until


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return pack(tmp_path / "rollcall.zip")


@pytest.fixture
def submitted(tmp_path: Path, package: Path) -> Iterator[tuple[subprocess.Popen[bytes], Home]]:
    """The job as submitted, on a home of its own, with requests from a Delta table."""
    home = Home(tmp_path / "home")
    open_requests(home)
    settings = tmp_path / "cluster.conf"
    settings.write_text("group.initial.rebalance.delay.ms=0\n")
    environ = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = command_here(home.path, settings, package)
    with (
        (tmp_path / "job.log").open("w") as log,
        subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log, start_new_session=True) as process,
    ):
        yield process, home
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.nightly
def test_the_readmes_command_runs_the_job_on_a_cluster(
    submitted: tuple[subprocess.Popen[bytes], Home], tmp_path: Path
) -> None:
    process, home = submitted
    log = tmp_path / "job.log"

    def replies() -> list[str] | None:
        assert process.poll() is None, log.read_text()
        found = [row["request_id"] for row in read_rows(home.effects) if row["effect"] == "reply"]
        return found or None

    first, unknown = join("a", now_ms()), heartbeat("m", 1, now_ms(), "payments")
    write_deltalake(home.requests, request_rows([first, unknown]), mode="append")
    found = until(replies, "replies", within_s=240)
    assert sorted(found) == sorted([first.request_id, unknown.request_id])
    process.terminate()
    assert process.wait(120) == 0, log.read_text()
    assert "rollcall: the coordinator has stopped." in log.read_text()

    commits = list((home.path / "effects" / "_delta_log").glob("*.json"))
    assert any('"txn"' in commit.read_text() for commit in commits)
    assert home.read_note()["writer"] == "cluster"
    assert home.read_note()["made_with"]["shuffle_partitions"] == PARTITIONS


def test_the_package_holds_all_that_the_job_imports(package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        names = archive.namelist()
    inside = {name.removeprefix("rollcall/") for name in names}
    assert {"jobs/coordinator.py", "coordinator_udfs/group_udf.py", "schemas/tables.py"} <= inside
    assert not [name for name in names if not name.startswith("rollcall/") or not name.endswith((".py", ".toml"))]
    program = (
        "import rollcall.jobs.coordinator, rollcall.jobs.maintain, rollcall.cli.sql; "
        "print(rollcall.jobs.coordinator.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == f"{package}/rollcall/jobs/coordinator.py", done.stderr


def test_the_package_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    assert pack(tmp_path / "a.zip").read_bytes() == pack(tmp_path / "b.zip").read_bytes()
