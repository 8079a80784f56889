"""The views that look for trouble, each against small histories with literal times: what they find and what not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.views.histories import cooperative, stories
from tests.views.story import write_effects
from tests.views.troubles import PATIENT, gather, stuck, troubles, with_members
from tests.views.view_rows import Views


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Views:
    home: Path = tmp_path_factory.mktemp("home")
    write_effects(home, {story.group_id: story.rows for story in (*troubles(), *stories())})
    return Views(home)


# ---------------------------------------------------------------- storms

STORM = ("from_at", "rebalances", "most_in_an_hour", "cause", "cause_rebalances", "cause_client_id")


def test_six_rebalances_in_an_hour_are_a_storm_with_the_cause_that_dominates(ask: Views) -> None:
    assert ask("storms", "storm", *STORM) == [(1000, 8, 8, "member_left", 3, "b")]
    columns = ("to_at", "rebalancing_ms", "cause_client_host", "cause_client_rebalances")
    assert ask("storms", "storm", *columns) == [(1_801_110, 770, "/10.0.0.1", 3)]


def test_the_same_number_over_several_hours_is_none(ask: Views) -> None:
    assert ask("storms", "breeze", *STORM) == []


def test_storms_far_apart_are_two(ask: Views) -> None:
    assert [(row[0], row[1], row[3], row[5]) for row in ask("storms", "two storms", *STORM)] == [
        (1000, 8, "member_left", "b"),
        (8_400_000, 8, "member_left", "c"),
    ]


def test_healthy_groups_have_none(ask: Views) -> None:
    assert ask.groups_in("storms") == {*("storm", "two storms", "silent", "deploy", "drift", "flapper", "twins")}


# ---------------------------------------------------------------- flapping_members

FLAP = ("client_id", "memberships", "end_cause", "period_ms", "lasted_ms", "matching", "matching_multiple")


def test_a_client_that_comes_and_goes_is_reported_with_its_period(ask: Views) -> None:
    (row,) = ask("flapping_members", "storm", *FLAP, "shortest_period_ms", "longest_period_ms", "is_ambiguous")
    assert row[:4] == ("b", 4, "member_left", 600_000)
    assert row[-3:] == (600_000, 600_000, False)


def test_one_whose_memberships_last_a_session_timeout_matches_it(ask: Views) -> None:
    (row,) = ask("flapping_members", "silent", *FLAP, "matching_setting", "session_timeout_ms")
    assert row == ("b", 4, "session_expired", 12_110, 10_100, "lasted_ms", 1, "session.timeout.ms", 10_000)


def test_clients_of_one_name_that_are_there_at_one_time_are_ambiguous(ask: Views) -> None:
    assert ask("flapping_members", "twins", "client_id", "memberships", "is_ambiguous") == [("b", 5, True)]


def test_coming_back_twice_in_days_is_no_flapping(ask: Views) -> None:
    assert ask.groups_in("flapping_members") == {"storm", "breeze", "two storms", "silent", "twins", "flapper"}


# ---------------------------------------------------------------- leader_only_loops


def test_a_leader_that_rejoins_again_and_again_is_a_loop(ask: Views) -> None:
    columns = ("client_id", "from_at", "to_at", "rebalances", "from_generation_id", "to_generation_id", "period_ms")
    assert ask("leader_only_loops", "loop", *columns) == [("a", 6000, 21_000, 4, 1, 5, 5000)]
    reported = ask("leader_only_loops", "loop", "rebalancing_ms", "client_reason", "members")
    assert reported == [(400, "the partitions differ", 1)]


def test_twice_is_none_nor_is_once_an_hour_nor_a_second_cooperative_round(ask: Views) -> None:
    assert cooperative().rows
    assert ask.groups_in("leader_only_loops") == {"loop"}


# ---------------------------------------------------------------- near_misses


def test_a_silence_of_three_quarters_of_the_session_that_it_survived_is_a_near_miss(ask: Views) -> None:
    columns = ("from_at", "to_at", "gap_ms", "session_timeout_ms", "slack_ms")
    assert ask("near_misses", "slow heart", *columns) == [
        (8510, 16_010, 7500, 10_000, 2500),
        (16_010, 25_010, 9000, 10_000, 1000),
    ]


def test_an_expiry_is_no_near_miss(ask: Views) -> None:
    assert ask("near_misses", "expired", "client_id", "gap_ms") == []


# ---------------------------------------------------------------- deploys and standstills

DEPLOY = ("from_at", "to_at", "restarts", "clients", "rebalances", "partitions_moved", "partitions_moved_back")


def test_clients_restarted_one_after_the_other_are_a_deploy_with_what_it_cost(ask: Views) -> None:
    assert ask("deploys", "deploy", *DEPLOY) == [(4000, 9110, 2, ["b", "c"], 4, 2, 2)]
    assert ask("deploys", "drift", *DEPLOY) == [(4000, 9110, 2, ["b", "c"], 4, 2, 0)]
    stops = ask("standstills", "deploy", "from_at", "to_at", "duration_ms")
    stopped_ms = sum(duration_ms for from_at, _, duration_ms in stops if from_at >= 4000)
    assert ask("deploys", "deploy", "duration_ms", "rebalancing_ms", "stopped_ms") == [(5110, 440, stopped_ms)]


def test_one_client_alone_is_no_deploy_however_often(ask: Views) -> None:
    assert ask.groups_in("deploys") == {"deploy", "drift", "twins", "static restart"}


def test_static_members_restarted_without_any_rebalance_are_a_deploy(ask: Views) -> None:
    assert ask("deploys", "static restart", *DEPLOY) == [(5000, 7000, 2, ["i-a", "i-b"], 0, 0, 0)]
    assert ask("deploys", "static restart", "rebalancing_ms", "stopped_ms") == [(0, 0)]
    assert len(ask("rebalances", "static restart", "started_at")) > 0


def test_where_clients_share_a_name_what_moved_is_unknown(ask: Views) -> None:
    assert ask("deploys", "twins", "restarts", "clients", *DEPLOY[-2:]) == [(3, ["b"], None, None)]


def test_nobody_holds_anything_between_the_last_join_and_the_assignment(ask: Views) -> None:
    assert ask("standstills", "two", "from_at", "to_at", "duration_ms") == [(3100, 3200, 100)]
    assert ask("standstills", "cooperative", "from_at") == []


def test_a_standstill_that_goes_on_has_no_end_yet_while_there_are_members(tmp_path: Path) -> None:
    emptied = with_members("emptied", "a")
    emptied.leave(5000, "a")
    write_effects(tmp_path, {story.group_id: story.rows for story in (stuck(), emptied, with_members("calm", "a"))})
    ask = Views(tmp_path)
    assert ask("standstills", "stuck", "from_at", "to_at", "duration_ms") == [(6000, None, None)]
    assert ask.groups_in("standstills") == {"stuck"}
    went_on = stuck()
    gather(went_on, 9000, "a", "b")
    write_effects(tmp_path / "later", {"stuck": went_on.rows})
    assert Views(tmp_path / "later")("standstills", "stuck", "from_at", "duration_ms") == [(6000, 3010)]


# ---------------------------------------------------------------- double_owners


def test_an_old_owner_that_acts_after_the_new_one_has_the_partition_is_found(ask: Views) -> None:
    columns = ("topic", "partition", "old_client_id", "new_client_id", "lost_at", "given_at", "last_acted_at")
    assert ask("double_owners", "zombie", *columns) == [("t", 1, "b", "a", 13_100, 14_100, 15_500)]
    reported = ask("double_owners", "zombie", "overlap_ms", "heartbeats", "commits", "error_code")
    assert reported == [(1400, 1, 1, "UNKNOWN_MEMBER_ID")]


def test_members_that_learn_in_time_are_no_double_owners(ask: Views) -> None:
    assert ask.groups_in("double_owners") == {"zombie"}


def test_a_partition_handed_over_in_order_had_one_owner_whatever_its_old_owner_is_refused_later(ask: Views) -> None:
    owners = ask("assignments", "orderly", "partition", "client_id", "from_at", "to_at")
    assert (0, "a", 1110, 4100) in owners
    assert (0, "b", 4110, None) in owners
    refused = [row for row in ask.about("replies", "orderly") if row.error_code == "UNKNOWN_MEMBER_ID"]
    assert [(row.client_id, row.api) for row in refused] == [("a", "Heartbeat")]
    assert ask("double_owners", "orderly", "partition") == []


# ---------------------------------------------------------------- went_empty, rebalance_goes_on

EMPTY = ("from_at", "to_at", "duration_ms", "generation_id")
REBALANCING = (*EMPTY, "state")


def test_a_group_is_empty_from_its_last_member_s_going_until_somebody_comes(tmp_path: Path) -> None:
    emptied, killed, twice = (with_members(name, "a") for name in ("emptied", "killed", "twice"))
    emptied.leave(5000, "a")
    killed.let_time_pass(60_000)
    twice.leave(5000, "a")
    twice.join(9000, "b")
    gather(twice, 9100, "b")
    twice.leave(12_000, "b")
    stories = (emptied, killed, twice, with_members("calm", "a"))
    write_effects(tmp_path, {story.group_id: story.rows for story in stories})
    ask = Views(tmp_path)
    assert ask("went_empty", "emptied", *EMPTY) == [(5000, None, None, 2)]
    assert ask("went_empty", "killed", *EMPTY) == [(11_110, None, None, 2)]
    assert ask("went_empty", "twice", *EMPTY) == [(5000, 9000, 4000, 2), (12_000, None, None, 4)]
    assert ask.groups_in("went_empty") == {"emptied", "killed", "twice"}


def test_a_rebalance_that_another_follows_at_once_is_one_time(tmp_path: Path) -> None:
    hangs = with_members("hangs", "a", "b", **PATIENT)
    hangs.join(5000, "b", **PATIENT, topics=("t", "u"))
    hangs.join(6000, "a", **PATIENT)
    hangs.join(7000, "c", **PATIENT)
    settles = stuck()
    gather(settles, 9000, "a", "b")
    write_effects(tmp_path, {"hangs": hangs.rows, "settles": settles.rows, "stuck": stuck().rows})
    ask = Views(tmp_path)
    assert ask("rebalance_goes_on", "hangs", *REBALANCING)[-1] == (5000, None, None, 3, "PreparingRebalance")
    assert ask("rebalance_goes_on", "stuck", *REBALANCING)[-1] == (5000, None, None, 3, "CompletingRebalance")
    assert ask("rebalance_goes_on", "settles", "from_at", "to_at", "duration_ms")[-1] == (5000, 9010, 4010)
