"""The pages of a home that is known from a broker's own log alone: what no line says is not shown as known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollcall.__main__ import main
from tests.page.asking import asked, page
from tests.printed.recorded import BROKERS


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    home: Path = tmp_path_factory.mktemp("home") / "home"
    assert main(["replay", str(BROKERS / "q-consumer-slow.log.gz"), "--home", str(home), "--processes", "1"]) == 0
    with asked(home) as shown:
        yield shown


def test_nobody_is_said_to_have_consumed(client: TestClient) -> None:
    head, *rows = page(client, "/").tables["groups"]
    assert {row[head.index("Not consuming, 1 h")] for row in rows} == {""}


def test_members_are_there_under_their_ids_and_nothing_is_said_of_what_they_did(client: TestClient) -> None:
    shown = page(client, "/group?group=tiles-cache")
    assert shown.tables["members"][1][0] == shown.tables["members"][1][-1]
    drawn = client.get("/pictures/timeline.svg", params={"group": "tiles-cache"}).text
    assert "a member: what it did is not known" in drawn
    assert "waiting for" not in drawn
    owned = page(client, "/group?group=tiles-cache&topic=tiles&partition=0")
    assert "No owner of tiles-0 is recorded then." in owned.text


def test_an_epoch_whose_end_no_line_has_is_said_so(client: TestClient) -> None:
    listed = page(client, "/group?group=tiles-cache").tables["rebalances"]
    assert "unknown" in {row[-1] for row in listed[1:]}
    assert "when it ended is not known" in page(client, "/rebalance?group=tiles-cache&generation=3").text
