"""A job and a shadow serve the groups of their home where their settings say."""

from __future__ import annotations

import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from rollcall.jobs.config import JobConfig
from rollcall.jobs.job_monitor import JobMonitor, Served, ShadowMetrics, serve_metrics
from rollcall.tables.home import Home
from tests.exporter.scraped import scraped
from tests.views.histories import two_members
from tests.views.story import write_effects
from tests.waiting import until


@pytest.mark.parametrize("who", ["job", "shadow"])
def test_groups_stand_beside_the_jobs_own_figures(who: str, tmp_path: Path) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    home, config = Home(str(tmp_path)), JobConfig.from_pairs({"spark.coordinator.metrics.listen": "127.0.0.1:0"})
    serving: JobMonitor | Served
    serving = JobMonitor(home, config) if who == "job" else serve_metrics(home, config, ShadowMetrics())
    with closing(serving):

        def asked() -> bytes:
            with urllib.request.urlopen(f"{serving.shown}/metrics") as answer:
                return bytes(answer.read())

        until(lambda: b"kafka_consumergroup_members" in asked(), "the groups are there")
        found = scraped(asked())
        assert found["kafka_consumergroup_members"] == {("two",): 2}
        assert ("rollcall_job_batch_seconds_count" in found) == (who == "job")


def test_nothing_is_served_where_no_address_is_given_and_no_groups_where_none_are_wanted(tmp_path: Path) -> None:
    home = Home(str(tmp_path))
    assert serve_metrics(home, JobConfig(), ShadowMetrics()).shown == ""
    pairs = {"spark.coordinator.metrics.listen": "127.0.0.1:0", "rollcall.export.groups.max": "0"}
    with closing(JobMonitor(home, JobConfig.from_pairs(pairs))) as monitor:
        with urllib.request.urlopen(f"{monitor.shown}/metrics") as answer:
            found = scraped(answer.read())
        assert "rollcall_job_batch_seconds_count" in found
        assert not any(name.startswith("rollcall_export") for name in found)
