"""The views that look for trouble, each against small histories with literal times: what they find and what not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from coordinator_udfs.protocol.config import GroupConfig
from jobs.sql import register_views
from tests.views.histories import cooperative, one_expires, stories
from tests.views.story import Story, write_effects

Rows = list[tuple[Any, ...]]
Ask = Callable[..., Rows]
MINUTE_MS = 60_000
PATIENT: dict[str, Any] = {"session_timeout_ms": 240 * MINUTE_MS}
AT_ONCE = GroupConfig(group_initial_rebalance_delay_ms=0, group_max_session_timeout_ms=240 * MINUTE_MS)


def with_members(name: str, *whos: str, at_ms: int = 1000, **terms: Any) -> Story:
    """Everybody is in the latest generation; each holds the partition of its place."""
    story = Story(name, AT_ONCE)
    for who in whos:
        story.join(at_ms, who, **terms)
    gather(story, at_ms + 100, *whos, **terms)
    return story


def gather(story: Story, at_ms: int, *whos: str, **terms: Any) -> None:
    """Everybody joins again where the group waits for that, and then has the partition of its place."""
    if story.state is not None and story.state.state == "PreparingRebalance":
        for who in whos:
            story.join(at_ms, who, **terms)
    story.sync(at_ms + 10, whos[0], {who: [f"t-{place}"] for place, who in enumerate(whos)})
    for who in whos[1:]:
        story.sync(at_ms + 10, who)


def goes_and_comes(story: Story, at_ms: int, who: str, *others: str, away_ms: int = 1000, **terms: Any) -> None:
    """One member leaves, the others settle; it comes back, and all settle."""
    story.leave(at_ms, who)
    gather(story, at_ms + 100, *others, **terms)
    story.join(at_ms + away_ms, who, again_as="", **terms)
    gather(story, at_ms + away_ms + 100, *others, who, **terms)


def storm(name: str, every_ms: int, times: int) -> Story:
    story = with_members(name, "a", "b", **PATIENT)
    for turn in range(times):
        goes_and_comes(story, (turn + 1) * every_ms, "b", "a", **PATIENT)
    return story


def two_storms() -> Story:
    """The second begins two hours after the first, in which c takes b's place."""
    story = storm("two storms", 5 * MINUTE_MS, 3)
    later_ms = 140 * MINUTE_MS
    story.leave(later_ms, "b", reason="stop")
    gather(story, later_ms + 100, "a", **PATIENT)
    story.join(later_ms + 1000, "c", **PATIENT)
    gather(story, later_ms + 1100, "a", "c", **PATIENT)
    for turn in range(1, 4):
        goes_and_comes(story, later_ms + turn * MINUTE_MS, "c", "a", **PATIENT)
    return story


def silent() -> Story:
    """b joins and is not heard of again until its session of 10 s is over; each time it comes back a second later."""
    story = with_members("silent", "a", "b")
    at_ms = 1110
    for _ in range(3):
        for beat_ms in range(at_ms + 3000, at_ms + 12_000, 3000):
            story.heartbeat(beat_ms, "a")
        story.let_time_pass(at_ms + 10_990)
        gather(story, at_ms + 11_000, "a")
        story.join(at_ms + 12_000, "b", again_as="")
        gather(story, at_ms + 12_100, "a", "b")
        at_ms += 12_110
    return story


def twins() -> Story:
    """b and c are restarted in turn, and both call themselves b."""
    story = deploy("twins", "b", "c", "b")
    for row in story.rows:
        row.client_id = "b" if row.client_id == "c" else row.client_id
        row.detail = row.detail and row.detail.replace('"client_id":"c"', '"client_id":"b"')
    return story


def leader_loop(name: str, times: int, every_ms: int = 5000) -> Story:
    """a, alone and leader, joins again and again."""
    story = with_members(name, "a", **PATIENT)
    for turn in range(1, times + 1):
        story.join(1000 + turn * every_ms, "a", **PATIENT, reason="the partitions differ")
        story.sync(1100 + turn * every_ms, "a", {"a": ["t-0"]})
    return story


def slow_heart() -> Story:
    """a is heard of after 7.4 s, after 7.5 s, after 9 s, and then not any more; its session is 10 s."""
    story = with_members("slow heart", "a")
    for at_ms in (8510, 16_010, 25_010):
        story.heartbeat(at_ms, "a")
    story.let_time_pass(40_000)
    return story


def deploy(name: str, *restarted: str) -> Story:
    """a, b and c; some are restarted one after the other, 10 s apart."""
    story = with_members(name, "a", "b", "c")
    for turn, who in enumerate(restarted):
        others = [other for other in ("a", "b", "c") if other != who]
        goes_and_comes(story, 4000 + turn * 4000, who, *others)
    return story


def zombie() -> Story:
    """b is silent until its session is over, then sends a commit and a heartbeat to what is a's by now."""
    story = one_expires()
    story.group_id = "zombie"
    story.commit(15_000, "b", {"t-1": 7}, generation_id=2)
    story.heartbeat(15_500, "b")
    story.heartbeat(16_000, "a")
    return story


@pytest.fixture(scope="module")
def ask(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Columns of a view's rows for one group, by from_at where there is one; timestamps as ms since the epoch."""
    home: Path = tmp_path_factory.mktemp("home")
    told = [
        *(storm("storm", 10 * MINUTE_MS, 3), storm("breeze", 35 * MINUTE_MS, 6), two_storms(), silent(), twins()),
        *(leader_loop("loop", 4), leader_loop("twice", 2), leader_loop("rare", 4, 61 * MINUTE_MS), slow_heart()),
        *(
            deploy("deploy", "b", "c"),
            deploy("drift", "c", "b"),
            deploy("one restart", "c"),
            deploy("flapper", "c", "c", "c"),
            zombie(),
        ),
        *stories(),
    ]
    write_effects(home, {story.group_id: story.rows for story in told})
    register_views(spark, home)

    @cache
    def everything(view: str) -> list[Row]:
        found = spark.table(view)
        times = {name: F.unix_millis(name) for name, type_ in found.dtypes if type_ == "timestamp"}
        return found.withColumns(times).collect()

    def rows(view: str, group_id: str, *columns: str) -> Rows:
        chosen = [tuple(row[name] for name in columns) for row in everything(view) if row.group_id == group_id]
        return sorted(chosen, key=lambda row: [(value is not None, value) for value in row])

    return rows


def groups_in(spark: SparkSession, view: str) -> set[str]:
    return {row.group_id for row in spark.table(view).select("group_id").distinct().collect()}


# ---------------------------------------------------------------- storms

STORM = ("from_at", "rebalances", "most_in_an_hour", "cause", "cause_rebalances", "cause_client_id")


def test_six_rebalances_in_an_hour_are_a_storm_with_the_cause_that_dominates(ask: Ask) -> None:
    assert ask("storms", "storm", *STORM) == [(1000, 8, 8, "member_left", 3, "b")]
    columns = ("to_at", "rebalancing_ms", "cause_client_host", "cause_client_rebalances")
    assert ask("storms", "storm", *columns) == [(1_801_110, 770, "/10.0.0.1", 3)]


def test_the_same_number_over_several_hours_is_none(ask: Ask) -> None:
    assert ask("storms", "breeze", *STORM) == []


def test_storms_far_apart_are_two(ask: Ask) -> None:
    assert [(row[0], row[1], row[3], row[5]) for row in ask("storms", "two storms", *STORM)] == [
        (1000, 8, "member_left", "b"),
        (8_400_000, 8, "member_left", "c"),
    ]


def test_healthy_groups_have_none(ask: Ask, spark: SparkSession) -> None:
    assert groups_in(spark, "storms") == {*("storm", "two storms", "silent", "deploy", "drift", "flapper", "twins")}


# ---------------------------------------------------------------- flapping_members

FLAP = ("client_id", "memberships", "end_cause", "period_ms", "lasted_ms", "matching", "matching_multiple")


def test_a_client_that_comes_and_goes_is_told_with_its_period(ask: Ask) -> None:
    (row,) = ask("flapping_members", "storm", *FLAP, "shortest_period_ms", "longest_period_ms", "is_ambiguous")
    assert row[:4] == ("b", 4, "member_left", 600_000)
    assert row[-3:] == (600_000, 600_000, False)


def test_one_whose_memberships_last_a_session_timeout_matches_it(ask: Ask) -> None:
    (row,) = ask("flapping_members", "silent", *FLAP, "matching_setting", "session_timeout_ms")
    assert row == ("b", 4, "session_expired", 12_110, 10_100, "lasted_ms", 1, "session.timeout.ms", 10_000)


def test_clients_of_one_name_that_are_there_at_one_time_are_ambiguous(ask: Ask) -> None:
    assert ask("flapping_members", "twins", "client_id", "memberships", "is_ambiguous") == [("b", 5, True)]


def test_coming_back_twice_in_days_is_no_flapping(ask: Ask, spark: SparkSession) -> None:
    assert groups_in(spark, "flapping_members") == {"storm", "breeze", "two storms", "silent", "twins", "flapper"}


# ---------------------------------------------------------------- leader_only_loops


def test_a_leader_that_rejoins_again_and_again_is_a_loop(ask: Ask) -> None:
    columns = ("client_id", "from_at", "to_at", "rebalances", "from_generation_id", "to_generation_id", "period_ms")
    assert ask("leader_only_loops", "loop", *columns) == [("a", 6000, 21_000, 4, 1, 5, 5000)]
    told = ask("leader_only_loops", "loop", "rebalancing_ms", "client_reason", "members")
    assert told == [(400, "the partitions differ", 1)]


def test_twice_is_none_nor_is_once_an_hour_nor_a_second_cooperative_round(ask: Ask, spark: SparkSession) -> None:
    assert cooperative().rows
    assert groups_in(spark, "leader_only_loops") == {"loop"}


# ---------------------------------------------------------------- near_misses


def test_a_silence_of_three_quarters_of_the_session_that_it_survived_is_a_near_miss(ask: Ask) -> None:
    columns = ("from_at", "to_at", "gap_ms", "session_timeout_ms", "slack_ms")
    assert ask("near_misses", "slow heart", *columns) == [
        (8510, 16_010, 7500, 10_000, 2500),
        (16_010, 25_010, 9000, 10_000, 1000),
    ]


def test_an_expiry_is_no_near_miss(ask: Ask) -> None:
    assert ask("near_misses", "expired", "client_id", "gap_ms") == []


# ---------------------------------------------------------------- deploys and standstills

DEPLOY = ("from_at", "to_at", "restarts", "clients", "rebalances", "partitions_moved", "partitions_moved_back")


def test_clients_restarted_one_after_the_other_are_a_deploy_with_what_it_cost(ask: Ask) -> None:
    assert ask("deploys", "deploy", *DEPLOY) == [(4000, 9110, 2, ["b", "c"], 4, 2, 2)]
    assert ask("deploys", "drift", *DEPLOY) == [(4000, 9110, 2, ["b", "c"], 4, 2, 0)]
    stops = ask("standstills", "deploy", "from_at", "to_at", "duration_ms")
    stopped_ms = sum(duration_ms for from_at, _, duration_ms in stops if from_at >= 4000)
    assert ask("deploys", "deploy", "duration_ms", "rebalancing_ms", "stopped_ms") == [(5110, 440, stopped_ms)]


def test_one_client_alone_is_no_deploy_however_often(ask: Ask, spark: SparkSession) -> None:
    assert groups_in(spark, "deploys") == {"deploy", "drift", "twins"}


def test_where_clients_share_a_name_what_moved_is_unknown(ask: Ask) -> None:
    assert ask("deploys", "twins", "restarts", "clients", *DEPLOY[-2:]) == [(3, ["b"], None, None)]


def test_nobody_holds_anything_between_the_last_join_and_the_assignment(ask: Ask) -> None:
    assert ask("standstills", "two", "from_at", "to_at", "duration_ms") == [(3100, 3200, 100)]
    assert ask("standstills", "cooperative", "from_at") == []


# ---------------------------------------------------------------- double_owners


def test_an_old_owner_that_acts_after_the_new_one_has_the_partition_is_found(ask: Ask) -> None:
    columns = ("topic", "partition", "old_client_id", "new_client_id", "lost_at", "given_at", "last_acted_at")
    assert ask("double_owners", "zombie", *columns) == [("t", 1, "b", "a", 13_100, 14_100, 15_500)]
    told = ask("double_owners", "zombie", "overlap_ms", "heartbeats", "commits", "error_code")
    assert told == [(1400, 1, 1, "UNKNOWN_MEMBER_ID")]


def test_members_that_learn_in_time_are_no_double_owners(ask: Ask, spark: SparkSession) -> None:
    assert groups_in(spark, "double_owners") == {"zombie"}
