"""The pages of a home that is known from the offsets topic alone: what nobody knows is left out in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from rollcall.answers.sql.engine import ask
from rollcall.answers.why.telling import NO_REQUESTS
from rollcall.inputs.offsets_topic import record_in
from rollcall.schemas.causes import name_of
from tests.offsets_topic.folded import CLASSIC, CONSUMER
from tests.offsets_topic.homes import home_of
from tests.page.asking import asked, page

Reported = tuple[Path, TestClient]


@pytest.fixture(scope="module", params=[CLASSIC, CONSUMER[1]])
def reported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reported]:
    home = home_of(tmp_path_factory.mktemp("home"), request.param)
    with asked(home) as client:
        yield home, client


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ask(home, query).rows]


def test_a_group_lists_its_rebalances_and_says_what_fits_where_a_cause_is_open(reported: Reported) -> None:
    home, client = reported
    groups = rows(home, "select distinct group_id from rebalances")
    assert len(groups) > 3
    for (group_id,) in groups:
        listed = page(client, f"/group?group={quote(group_id)}").tables["rebalances"][1:]
        own = f"where group_id = '{group_id}' order by known_from desc"
        found = rows(home, f"select cause, cause_candidates, started_at is null as is_open from rebalances {own}")
        for row, (cause, candidates, is_start_unknown) in zip(listed, found, strict=True):
            assert row[1].startswith(name_of(cause))
            assert all(name_of(kind) in row[1] for kind in candidates)
            assert ("or before" in row[0]) is is_start_unknown


def test_a_rebalance_is_reported_without_the_waits_and_the_slack_that_nobody_knows(reported: Reported) -> None:
    home, client = reported
    rebalances = rows(home, "select group_id, to_generation_id from rebalances order by 1, 2")
    assert len(rebalances) > 10
    for group_id, generation_id in rebalances[::4]:
        shown = page(client, f"/rebalance?group={quote(group_id)}&generation={generation_id}")
        assert NO_REQUESTS in shown.text
        assert {"held", "slack"}.isdisjoint(shown.tables)
        assert not {"Rejoined", "Synced", "Held the others"} & set(shown.tables["members"][0])
        assert shown.tables["evidence"][1:]
        assert all(record_in(row[2]) == row[2] for row in shown.tables["evidence"][1:])
        assert f"Show all {len(shown.tables['evidence']) - 1}" in shown.text
        assert client.get("/rebalance.svg", params={"group": group_id, "generation": generation_id}).status_code == 200
