"""The real Alertmanager takes alarms, shows them as active, and reports that they are over once they are closed.

So it does, too, where every other receiver misbehaves meanwhile.
"""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from rollcall.answers.sql.engine import ask
from rollcall.serve.alerts.alarm import Alarm, read_kept
from rollcall.serve.alerts.receivers import receivers_of
from rollcall.serve.alerts.settings import AlertSettings
from tests.alerts.misbehaving import Server, receiving
from tests.monitoring.killed_member import GROUP, Home
from tests.monitoring.running import rollcall, serving
from tests.waiting import until

SECRET = "s3cret"
MISBEHAVE = {
    "webhook": "hangs",
    "slack.file": "redirects",
    "teams.file": "answers_a_gigabyte",
    "pagerduty.file": "refuses",
}
TAKEN = [(name, event) for name in ("alertmanager", "teams") for event in ("closed", "opened")]
"""Teams has taken an alarm before it answers at such a length."""
MOST_MEMORY_KB = 600_000


@pytest.fixture
def hook() -> Iterator[Server]:
    """The receiver to which Alertmanager sends."""
    with receiving() as server:
        yield server


@pytest.fixture
def address(hook: Server, tmp_path: Path) -> Iterator[str]:
    reported = {"url": hook.address, "send_resolved": True}
    route = {"receiver": "hook", "group_wait": "0s", "group_interval": "1s", "group_by": ["..."]}
    conf = {"route": route, "receivers": [{"name": "hook", "webhook_configs": [reported]}]}
    (tmp_path / "conf.yml").write_text(yaml.safe_dump(conf))
    words = (f"--config.file={tmp_path}/conf.yml", f"--storage.path={tmp_path}/data", "--cluster.listen-address=")
    with serving("alertmanager", tmp_path, *words) as found:
        yield found


def active(address: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{address}/api/v2/alerts?active=true", timeout=10) as answer:
        found: list[dict[str, Any]] = json.load(answer)
        return found


def taken(home: Path) -> list[tuple[str, str]]:
    """The messages that receivers have taken."""
    return sorted((one.receiver, one.event) for one in read_kept(home).sent)


def reported_of(hook: Server) -> list[tuple[str, str]]:
    """What Alertmanager has sent of alarms, in order: their id and how they are."""
    alerts = [alert for *_, body in hook.taken for alert in json.loads(body)["alerts"]]
    return [(alert["labels"]["rollcall_id"], alert["status"]) for alert in alerts]


def test_an_alarm_is_active_until_it_is_closed(address: str, hook: Server) -> None:
    (receiver,) = receivers_of(AlertSettings(alertmanager=address))
    now_ms = int(time.time() * 1000)
    alarm = Alarm("0123", 'a "group"', "standstills", now_ms - 5_000, now_ms, "nobody held a partition", "http://p/x")
    receiver.send("opened", alarm, now_ms)
    (shown,) = until(lambda: active(address), "the alarm is active")
    assert shown["labels"] == {
        "alertname": "RollcallTrouble",
        "group": 'a "group"',
        "kind": "standstills",
        "severity": "warning",
        "rollcall_id": "0123",
    }
    assert shown["annotations"]["summary"] == 'a "group": nobody held a partition'
    receiver.send("goes_on", alarm, now_ms)
    assert len(active(address)) == 1
    until(lambda: reported_of(hook), "it is reported")
    receiver.send("closed", msgspec.structs.replace(alarm, closed_ms=now_ms), now_ms)
    until(lambda: not active(address), "the alarm is over")
    until(lambda: reported_of(hook) == [("0123", "firing"), ("0123", "resolved")], lambda: str(reported_of(hook)))


def test_a_killed_members_alarm_arrives_while_every_other_receiver_misbehaves(
    address: str, hook: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path / "home")
    given = {"alertmanager": address, "interval.ms": "200"}
    with ExitStack() as ends:
        servers = {name: ends.enter_context(receiving()) for name in MISBEHAVE}
        for name, behaves in MISBEHAVE.items():
            servers[name].behaves = behaves
            hooked = f"{servers[name].address}/{SECRET}"
            if name.endswith(".file"):
                (tmp_path / name).write_text(SECRET if name == "pagerduty.file" else hooked)
            given[name] = str(tmp_path / name) if name.endswith(".file") else hooked
        given["pagerduty.address"] = servers["pagerduty.file"].address
        settings = [word for name, text in given.items() for word in ("--set", f"rollcall.alerts.{name}={text}")]
        with rollcall("alerts", "--home", str(home.path), *settings, says="troubles of .* are sent to") as (process, _):
            home.kill()
            (shown,) = until(lambda: active(address), "the alarm is active")
            assert (shown["labels"]["group"], shown["labels"]["kind"]) == (GROUP, "members_removed")
            assert "sent no heartbeat within its session timeout" in shown["annotations"]["description"]
            home.go_on()
            until(lambda: not active(address), "the alarm is over")
            until(lambda: taken(home.path) == TAKEN, lambda: str(taken(home.path)))
            memory = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
            assert memory
            assert int(memory[1]) < MOST_MEMORY_KB
    alarm_id = shown["labels"]["rollcall_id"]
    until(lambda: reported_of(hook) == [(alarm_id, "firing"), (alarm_id, "resolved")], lambda: str(reported_of(hook)))
    kept = read_kept(home.path)
    assert {due.receiver for due in kept.due} == {"webhook", "slack", "pagerduty"}, "they are asked again"
    assert taken(home.path) == TAKEN
    shown_of = [str(ask(home.path, "SELECT * FROM alerts").rows), (home.path / "alerts.json").read_text()]
    assert not any(SECRET in text for text in (*shown_of, *capfd.readouterr()))
