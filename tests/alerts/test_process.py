"""`rollcall alerts` tries receivers, sends a home's alarms to them, and lists what it sent."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rollcall.serve.alerts.__main__ import main
from tests.alerts.homes import ongoing_trouble, works
from tests.alerts.misbehaving import receiving
from tests.source_tree import ROOT
from tests.views.story import write_effects
from tests.waiting import until

KINDS = "rollcall.alerts.kinds=standstills"


def test_it_tries_sends_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    write_effects(home, {"orders": ongoing_trouble()})
    works(home, 1 << 50)
    with receiving() as server:
        conf = tmp_path / "mine.conf"
        conf.write_text(f"rollcall.alerts.webhook={server.address}/hook\ngroup.max.size=3\n")
        assert main(["test", "--home", str(home), "--conf", str(conf)]) == 0
        assert capsys.readouterr().out == "webhook: taken, answered 200 ok\n"
        assert [json.loads(body)["event"] for *_, body in server.taken] == ["opened", "closed"]
        server.behaves = "403"
        assert main(["test", "--home", str(home), "--conf", str(conf)]) == 1
        assert capsys.readouterr().out == "webhook: answered 403 who are you?\n"

        server.behaves = "takes"
        server.taken.clear()
        words = ["--home", str(home), "--conf", str(conf), "--set", "rollcall.alerts.interval.ms=200", "--set", KINDS]
        with subprocess.Popen(
            [sys.executable, "-m", "rollcall.serve.alerts", *words], cwd=ROOT, stdout=subprocess.PIPE
        ) as process:
            until(lambda: server.taken, "an alarm is sent")
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        reported = json.loads(server.taken[0][2])
        assert (server.taken[0][0], reported["event"], reported["group"]) == ("/hook", "opened", "orders")
    assert main(["history", "--home", str(home)]) == 0
    assert f"webhook opened {reported['id']} orders: nobody held a partition" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--home", "/no/such/home"], "/no/such/home does not exist"),
        (
            ["--home", "s3a://bucket/home"],
            "s3a://bucket/home: a home in an object store has no alarms of its own: `rollcall export` serves it to",
        ),
        (
            ["--home", "HOME"],
            "no receiver: set rollcall.alerts.webhook, webhook.file, slack.file, teams.file, alertmanager,",
        ),
        (["--home", "HOME", "--set", "rollcall.alerts.kind=x"], "rollcall.alerts.kind: is not a setting; did you mean"),
    ],
)
def test_what_it_cannot_do_it_says(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path) if word == "HOME" else word for word in words]) == 2
    assert says in capsys.readouterr().err
