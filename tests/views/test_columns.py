"""The views' columns and their types."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rollcall.answers.views.catalog import NAMES, VIEWS, names_in, with_foundations
from rollcall.cli.sql import register_views
from rollcall.jobs.spark.views import definition_of
from rollcall.schemas.tables import TABLES
from tests.views.histories import two_members
from tests.views.story import write_effects

# What users build on: these columns stay, whatever is added. A release writes down what it adds.
PROMISED = {
    "groups": "group_id state generation_id protocol_type protocol_name leader_id member_count next_deadline_at "
    "updated_at",
    "members": "group_id member_id client_id client_host group_instance_id session_timeout_ms rebalance_timeout_ms "
    "last_seen_at session_deadline_at topics assigned_partitions",
    "rebalances": "group_id from_generation_id to_generation_id started_at ended_at duration_ms cause cause_member_id "
    "cause_client_id cause_client_host cause_group_instance_id client_reason members_before members_after joined left "
    "expired slowest_client_id slowest_wait_ms outcome",
    "join_waits": "group_id to_generation_id member_id client_id joined_at synced_at held_others_ms",
    "assignments": "group_id topic partition member_id client_id from_at to_at generation_id",
    "sessions": "group_id member_id client_id group_instance_id joined_at ended_at end_cause",
    "heartbeat_slack": "group_id member_id client_id session_timeout_ms longest_gap_ms slack_ms",
    "offsets": "group_id topic partition committed_offset metadata committed_at",
    "replies": "group_id request_id api error_code received_at replied_at parked_ms",
    "standstills": "group_id from_at to_at duration_ms",
    "storms": "group_id from_at to_at rebalances most_in_an_hour cause cause_client_id",
    "flapping_members": "group_id client_id from_at to_at memberships period_ms matching matching_setting "
    "matching_multiple is_ambiguous",
    "leader_only_loops": "group_id member_id client_id from_at to_at rebalances period_ms client_reason",
    "near_misses": "group_id member_id client_id from_at to_at gap_ms session_timeout_ms slack_ms",
    "deploys": "group_id from_at to_at clients rebalances stopped_ms partitions_moved partitions_moved_back",
    "double_owners": "group_id topic partition old_client_id new_client_id given_at last_acted_at overlap_ms",
}


@pytest.fixture(scope="module")
def registered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    home = tmp_path_factory.mktemp("home")
    write_effects(home, {"two": two_members().rows})
    register_views(spark, home)
    return spark


@pytest.mark.parametrize("name", NAMES)
def test_a_view_has_the_columns_it_declares_in_their_order_and_types(registered: SparkSession, name: str) -> None:
    declared = {view.name: view.columns for view in VIEWS} | {table.name: table.shown_columns for table in TABLES}
    assert registered.table(name).dtypes == [(column.name, column.type) for column in declared[name]]


@pytest.mark.parametrize("name", PROMISED)
def test_a_promised_column_is_there(name: str) -> None:
    declared = {column.name: column.type for view in VIEWS if view.name == name for column in view.columns}
    assert set(PROMISED[name].split()) <= declared.keys()
    assert all(
        type_ == "timestamp" for column, type_ in declared.items() if column.endswith(("_at", "_from", "_since"))
    )
    assert all(type_ == "bigint" for column, type_ in declared.items() if column.endswith("_ms"))


def test_describe_says_what_a_column_holds(registered: SparkSession) -> None:
    reported = {row.col_name: row.comment for row in registered.sql("DESCRIBE groups").collect()}
    assert reported["member_count"] == "how many members"
    assert all(reported.values())


def test_a_definition_survives_quotes_and_backslashes_in_its_comment() -> None:
    assert "assignor\\'s name" in definition_of(next(view for view in VIEWS if view.name == "groups"))


def test_a_query_is_given_the_views_it_names_and_what_they_stand_on() -> None:
    assert names_in("SELECT * FROM Members m JOIN nothing") == {"members"}
    assert names_in("SELECT lag (state) OVER (ORDER BY at) FROM groups") == {"groups"}
    assert with_foundations(["members"]) == ("effects", "assignments", "sessions", "members")
    assert with_foundations(["replies"]) == ("effects", "replies")
    assert sorted(with_foundations(NAMES)) == sorted(NAMES)
