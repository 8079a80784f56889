"""Every view of a home that is known from the offsets topic alone: what it says is true, what nobody knows is null."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rollcall.answers.sql.engine import ask
from rollcall.schemas.causes import Cause
from tests.offsets_topic.folded import CLASSIC, CONSUMER, NAMES, capture, truth
from tests.offsets_topic.homes import home_of

SLOW = CONSUMER[1]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("homes")
    found = {name: home_of(folder / name, name) for name in NAMES}
    found["compacted"] = home_of(folder / "compacted", CLASSIC, "offsets-topic-compacted")
    return found


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ask(home, query).rows]


def distinct(home: Path, query: str) -> list[Sequence[Any]]:
    return sorted(set(rows(home, query)), key=str)


def kinds_of(cause: Cause) -> list[str]:
    return list(dict.fromkeys(one.kind.value for one in cause.candidates))


@pytest.mark.parametrize("name", NAMES)
def test_the_rebalances_are_those_of_the_fold_with_what_was_found_later(homes: dict[str, Path], name: str) -> None:
    reported = "group_id, from_generation_id, to_generation_id, cause, is_inferred, cause_candidates"
    found = rows(homes[name], f"select {reported} from rebalances order by group_id, from_generation_id")
    ours = [
        (
            group,
            start,
            end,
            str(cause.kind),
            cause.is_inferred,
            list(dict.fromkeys(str(c.kind) for c in cause.candidates)),
        )
        for group in sorted(capture(name).reported)
        for start, end, cause in capture(name).causes(group)
    ]
    assert found == ours


@pytest.mark.parametrize("name", NAMES)
def test_members_and_what_they_own_are_the_truth(homes: dict[str, Path], name: str) -> None:
    theirs = {
        (group, one["member_id"]): sorted(one["assignment"])
        for group, what in truth(name)["groups"].items()
        for one in what["final"].get("members") or ()
    }
    found = rows(homes[name], "select group_id, member_id, assigned_partitions from members")
    assert {(group, member_id): sorted(held) for group, member_id, held in found} == theirs


@pytest.mark.parametrize("name", NAMES)
def test_what_the_topic_cannot_say_is_null(homes: dict[str, Path], name: str) -> None:
    home = homes[name]
    assert distinct(home, "select slowest_client_id, slowest_wait_ms, client_reason from rebalances") == [(None,) * 3]
    assert distinct(home, "select last_seen_at, session_deadline_at from members") == [(None, None)]
    assert distinct(home, "select next_deadline_at, found_at from groups") == [(None, None)]
    assert distinct(home, "select longest_gap_ms, slack_ms from heartbeat_slack") == [(None, None)]
    for view in ("near_misses", "double_owners", "replies", "join_waits"):
        assert rows(home, f"select * from {view}") == []


def test_a_classic_rebalance_has_no_beginning_but_a_moment_at_which_it_surely_ran(homes: dict[str, Path]) -> None:
    assert distinct(homes[CLASSIC], "select started_at, duration_ms from rebalances") == [(None, None)]
    assert rows(homes[CLASSIC], "select * from rebalances where known_from is null or known_from > ended_at") == []


def test_an_epoch_has_its_beginning(homes: dict[str, Path]) -> None:
    assert rows(homes[SLOW], "select * from rebalances where started_at is null or started_at <> known_from") == []


def test_a_member_of_the_newer_protocol_has_the_one_timeout_that_the_topic_holds(homes: dict[str, Path]) -> None:
    query = "select session_timeout_ms, rebalance_timeout_ms from sessions where group_id = 'csv-make'"
    assert distinct(homes[SLOW], query) == [(None, 10_000)]


def test_how_a_membership_ended_says_what_was_found_later(homes: dict[str, Path]) -> None:
    query = "select end_cause, end_candidates from sessions where group_id = 'pdf-make' and ended_at is not null"
    assert rows(homes[SLOW], query) == [("poll_timeout", [])] * 2


def test_a_storm_is_found_where_beginnings_are_not_known(homes: dict[str, Path]) -> None:
    assert rows(homes[CLASSIC], "select group_id, rebalances from storms") == [("parcels-track", 7)]


def test_a_compacted_topic_shows_groups_as_found(homes: dict[str, Path]) -> None:
    query = "select group_id, generation_id, state, created_at, found_at = state_since from groups order by group_id"
    assert rows(homes["compacted"], query) == [
        ("basket-svc", 4, "Stable", None, True),
        ("parcels-track", 7, "Stable", None, True),
        ("rates-feed", 3, "Stable", None, True),
        ("stock-level", 1, "Stable", None, True),
    ]
    assert rows(homes["compacted"], "select * from rebalances") == []
