"""A coordinator and a shadow send the alarms of their home where their settings name receivers."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from urllib.request import urlopen

import pytest

from rollcall.jobs import job_monitor
from rollcall.jobs.config import JobConfig
from rollcall.jobs.job_monitor import ShadowMetrics, alarms_sent, receivers_for, serve_metrics
from rollcall.programs.errors import ConfigError
from rollcall.serve.alerts import sending
from rollcall.tables.home import Home
from tests.alerts.homes import ongoing_trouble, works
from tests.alerts.misbehaving import receiving
from tests.views.story import write_effects
from tests.waiting import until


@pytest.mark.parametrize("has_metrics", [True, False], ids=["with metrics", "alone"])
def test_a_trouble_of_the_home_is_sent_while_the_job_runs(tmp_path: Path, has_metrics: bool) -> None:
    write_effects(tmp_path, {"orders": ongoing_trouble()})
    works(tmp_path, 1 << 50)
    with receiving() as server:
        pairs = {"rollcall.alerts.webhook": f"{server.address}/hook", "rollcall.alerts.kinds": "standstills"}
        pairs["rollcall.alerts.interval.ms"] = "300"
        pairs |= {"spark.coordinator.metrics.listen": "127.0.0.1:0"} if has_metrics else {}
        with closing(serve_metrics(Home(str(tmp_path)), JobConfig.from_pairs(pairs), ShadowMetrics())) as served:
            assert bool(served.shown) == has_metrics
            until(lambda: server.taken, "an alarm is sent")
            if has_metrics:
                with urlopen(f"{served.shown}/metrics") as answer:
                    assert b'rollcall_alerts_refused_total{receiver="webhook"} 0.0' in answer.read()
        reported = json.loads(server.taken[0][2])
        assert (reported["event"], reported["group"], reported["kind"]) == ("opened", "orders", "standstills")


def test_a_receiver_that_hangs_holds_up_neither_the_job_nor_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever waited for the receiver would wait for an hour.
    monkeypatch.setattr(sending, "DEADLINE_S", 3600.0)
    monkeypatch.setattr(job_monitor, "STOP_WITHIN_S", 0.1)
    write_effects(tmp_path, {"orders": ongoing_trouble()})
    works(tmp_path, 1 << 50)
    with receiving() as server:
        server.behaves = "hangs"
        config = JobConfig.from_pairs({"rollcall.alerts.webhook": f"{server.address}/hook"})
        with closing(serve_metrics(Home(str(tmp_path)), config, ShadowMetrics())):
            until(lambda: (tmp_path / "alerts.json").exists(), "it is to be sent")


def test_whose_alarms_another_sends_goes_on_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home, config = Home(str(tmp_path)), JobConfig.from_pairs({"rollcall.alerts.webhook": "http://127.0.0.1:1/"})
    receivers = receivers_for(home, config.alerts)
    with alarms_sent(home, config.alerts, receivers), alarms_sent(home, config.alerts, receivers):
        assert "no alarms are sent" in capsys.readouterr().err


def test_a_secret_that_cannot_be_read_and_a_home_in_a_store_are_refused(tmp_path: Path) -> None:
    config = JobConfig.from_pairs({"rollcall.alerts.slack.file": str(tmp_path / "none")})
    with pytest.raises(ConfigError, match=r"rollcall\.alerts\.slack\.file=.*cannot be read"):
        serve_metrics(Home(str(tmp_path)), config, ShadowMetrics())
    config = JobConfig.from_pairs({"rollcall.alerts.webhook": "http://127.0.0.1:1/"})
    with pytest.raises(ConfigError, match="a home in an object store has no alarms of its own"):
        receivers_for(Home("s3a://bucket/home"), config.alerts)
    with pytest.raises(ConfigError, match=r"rollcall\.alerts\.kinds=storm: is not a trouble"):
        JobConfig.from_pairs({"rollcall.alerts.kinds": "storm"})
