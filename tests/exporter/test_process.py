"""`rollcall export` serves a home in both formats, says when it cannot, and ends when it is asked to."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from rollcall.serve.exporter.__main__ import main
from tests.exporter.processes import served
from tests.exporter.scraped import scraped
from tests.views.histories import two_members
from tests.views.story import write_effects
from tests.waiting import until

OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"}


def test_a_home_is_served_in_both_formats(tmp_path: Path) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    with served(tmp_path) as address:

        def asked(headers: dict[str, str]) -> tuple[str, bytes]:
            with urllib.request.urlopen(urllib.request.Request(f"{address}/metrics", headers=headers)) as answer:
                return answer.headers["Content-Type"], answer.read()

        until(lambda: b"kafka_consumergroup_members" in asked({})[1], "the groups are there")
        kind, text = asked({})
        assert kind.startswith("text/plain; version=0.0.4")
        plain = scraped(text)
        kind, text = asked(OPENMETRICS)
        assert kind.startswith("application/openmetrics-text; version=1.0.0")
        openmetrics = scraped(text, is_openmetrics=True)
        assert plain["kafka_consumergroup_members"] == openmetrics["kafka_consumergroup_members"] == {("two",): 2}
        assert plain["rollcall_export_failing"] == {(): 0}
        with urllib.request.urlopen(f"{address}/health") as answer:
            assert json.load(answer)["status"] == "ok"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--home", "/no/such/home"], "/no/such/home does not exist"),
        (["--listen", "0.0.0.0:9308"], "--listen 0.0.0.0:9308: others reach it and nobody has to authenticate"),
        (["--set", "rollcall.export.group=x"], "rollcall.export.group: is not a setting; did you mean"),
        (["--set", "rollcall.export.groups=("], "rollcall.export.groups=(: is not a regular expression"),
    ],
)
def test_what_it_cannot_do_it_says(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert says in capsys.readouterr().err
