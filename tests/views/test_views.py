"""Each view against small histories with literal times; see `histories` for what happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.answers.why.slack import Slack, gaps_of, slack_of
from rollcall.history.facts import effects_in
from rollcall.history.members import Names, memberships_of
from tests.views.histories import replaced_static_members, stories
from tests.views.story import one_member, write_effects
from tests.views.view_rows import Views
from tests.why.reading import all_facts


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Views:
    home: Path = tmp_path_factory.mktemp("home")
    write_effects(home, {story.group_id: story.rows for story in (*stories(), *replaced_static_members())})
    return Views(home)


# ---------------------------------------------------------------- groups

GROUP = ("state", "generation_id", "protocol_name", "member_count", "pending_member_count", "next_deadline_at")


def test_a_group_shows_its_state_and_when_the_next_session_may_end(ask: Views) -> None:
    assert ask("groups", "two", *GROUP) == [("Stable", 2, "range", 2, 0, 13_100)]
    assert ask("groups", "two", "state_since", "created_at", "updated_at") == [(3200, 1000, 3300)]
    assert ask("groups", "two", "protocol_type") == [("consumer",)]


def test_the_leader_is_named_once_it_is_settled(ask: Views) -> None:
    leader = [(member_id,) for client_id, member_id in ask("members", "two", "client_id", "member_id")][:1]
    assert ask("groups", "two", "leader_id") == leader
    assert ask("groups", "rebalancing", "leader_id") == [(None,)]


def test_a_static_leader_leads_on_under_its_new_id(ask: Views) -> None:
    assert ask("groups", "static", "leader_id", "generation_id") == [(*ask("members", "static", "member_id")[0], 1)]


def test_a_group_without_members_is_empty(ask: Views) -> None:
    assert ask("groups", "no members", *GROUP) == [("Empty", 0, None, 0, 0, None)]


def test_a_deleted_group_is_not_there_and_begins_anew_at_generation_one(ask: Views) -> None:
    assert ask("groups", "deleted", *GROUP) == []
    assert ask("groups", "recreated", *GROUP) == [("Stable", 1, "range", 1, 0, 13_100)]
    assert ask("groups", "recreated", "created_at") == [(3000,)]


def test_while_members_are_awaited_the_sessions_of_those_that_wait_do_not_end(ask: Views) -> None:
    assert ask("groups", "rebalancing", *GROUP) == [("PreparingRebalance", 2, "range", 3, 0, 13_200)]


def test_the_first_delay_is_a_deadline_and_so_is_its_extension(ask: Views) -> None:
    assert ask("groups", "delayed", *GROUP) == [("PreparingRebalance", 0, None, 2, 0, 7000)]


def test_the_wait_for_the_leaders_sync_is_a_deadline(ask: Views) -> None:
    assert ask("groups", "syncing", *GROUP) == [("CompletingRebalance", 2, "range", 2, 0, 6100)]


def test_the_sync_of_a_static_member_replaced_in_the_join_phase_is_awaited(ask: Views) -> None:
    assert ask("groups", "static joining", *GROUP) == [("Stable", 3, "range", 3, 0, 7100)]


def test_after_the_join_phase_the_sync_of_the_replaced_id_is_awaited_and_not_of_the_new_one(ask: Views) -> None:
    assert ask("groups", "static unsynced", *GROUP) == [("Stable", 2, "range", 2, 0, 6100)]
    assert ask("groups", "static synced", *GROUP) == [("Stable", 2, "range", 2, 0, 12_200)]


def test_an_id_given_out_is_counted_and_timed(ask: Views) -> None:
    assert ask("groups", "id given", *GROUP) == [("Stable", 1, "range", 1, 1, 10_000)]


# ---------------------------------------------------------------- members

MEMBER = ("client_id", "joined_at", "last_seen_at", "session_deadline_at", "waits_for", "assigned_partitions")


def test_a_member_shows_when_it_was_seen_and_until_when_it_may_be_silent(ask: Views) -> None:
    assert ask("members", "two", *MEMBER) == [
        ("a", 1000, 3200, 13_200, None, ["t-0"]),
        ("b", 3000, 3300, 13_100, None, ["t-1"]),
    ]
    assert ask("members", "two", "client_id", "client_host", "topics", "synced_generation_id") == [
        ("a", "/10.0.0.1", ["t"], 2),
        ("b", "/10.0.0.1", ["t"], 2),
    ]


def test_an_eager_member_holds_nothing_while_it_waits_and_one_not_yet_back_holds_on(ask: Views) -> None:
    assert ask("members", "rebalancing", *MEMBER) == [
        ("a", 1000, 3200, 13_200, None, ["t-0"]),
        ("b", 3000, 5100, None, "JoinGroup", []),
        ("c", 5000, 5000, None, "JoinGroup", []),
    ]


def test_a_member_whose_sync_is_parked_waits(ask: Views) -> None:
    assert ask("members", "syncing", "client_id", "waits_for", "synced_generation_id") == [
        ("a", None, 1),
        ("b", "SyncGroup", 2),
    ]


def test_a_static_member_is_there_once_under_its_new_id(ask: Views) -> None:
    assert ask("members", "static", "group_instance_id", *MEMBER) == [
        ("i-1", "a", 3000, 3050, 13_000, None, ["t-0", "t-1"])
    ]


def test_a_member_shows_what_its_latest_join_said(ask: Views) -> None:
    assert ask("members", "changed", "session_timeout_ms", "rebalance_timeout_ms", "topics") == [
        (20_000, 60_000, ["t", "u"])
    ]
    assert ask("members", "changed", "session_deadline_at", "assigned_partitions") == [(22_100, ["t-0", "u-9", "u-10"])]


# ---------------------------------------------------------------- sessions


def test_a_session_ends_with_its_cause_and_the_clients_own_words(ask: Views) -> None:
    columns = ("client_id", "joined_at", "ended_at", "end_cause", "client_reason")
    assert ask("sessions", "left", *columns) == [
        ("a", 1000, None, None, None),
        ("b", 3000, 4000, "member_left", "shutting down"),
    ]
    assert ask("sessions", "expired", *columns)[1:] == [("b", 3000, 13_100, "session_expired", None)]


def test_a_static_member_that_returns_has_a_session_an_id(ask: Views) -> None:
    (_, old), (_, new) = ask("sessions", "static", "joined_at", "member_id")
    assert ask("sessions", "static", "joined_at", "ended_at", "end_cause", "replaced_by_member_id") == [
        (1000, 3000, "static_member_replaced", new),
        (3000, None, None, None),
    ]
    assert ask("sessions", "static", "joined_at", "replaces_member_id") == [(1000, None), (3000, old)]


# ---------------------------------------------------------------- assignments

HELD = ("topic", "partition", "from_at", "to_at", "client_id", "generation_id")


def test_an_eager_member_gives_everything_up_when_it_joins_again(ask: Views) -> None:
    assert ask("assignments", "two", *HELD) == [
        ("t", 0, 1100, 3100, "a", 1),
        ("t", 0, 3200, None, "a", 2),
        ("t", 1, 1100, 3100, "a", 1),
        ("t", 1, 3200, None, "b", 2),
    ]


def test_a_cooperative_member_keeps_what_it_claims_through_every_generation(ask: Views) -> None:
    assert ask("assignments", "cooperative", *HELD) == [
        ("t", 0, 1100, None, "a", 1),
        ("t", 1, 1100, 2200, "a", 1),
        ("t", 1, 2500, None, "b", 3),
    ]


def test_ownership_ends_with_membership(ask: Views) -> None:
    assert ask("assignments", "left", *HELD)[-2:] == [("t", 1, 3200, 4000, "b", 2), ("t", 1, 4200, None, "a", 3)]
    assert ("t", 1, 3200, 13_100, "b", 2) in ask("assignments", "expired", *HELD)
    assert ask("assignments", "recreated", *HELD) == [("t", 0, 1100, 2000, "a", 1), ("t", 0, 3100, None, "b", 1)]


def test_a_static_members_partitions_go_over_to_its_new_id_at_once(ask: Views) -> None:
    assert ask("assignments", "static", *HELD) == [
        ("t", 0, 1100, 3000, "a", 1),
        ("t", 0, 3000, None, "a", 1),
        ("t", 1, 1100, 3000, "a", 1),
        ("t", 1, 3000, None, "a", 1),
    ]


def test_a_generation_that_was_superseded_owned_nothing(ask: Views) -> None:
    assert {generation for *_, generation in ask("assignments", "superseded", *HELD)} == {1, 3}


# ---------------------------------------------------------------- rebalances

REBALANCE = (
    *("started_at", "from_generation_id", "to_generation_id", "ended_at", "duration_ms", "cause", "cause_client_id"),
    *("outcome", "members_before", "members_after"),
)
WHO = ("started_at", "joined", "left", "expired", "slowest_client_id", "slowest_wait_ms")


def test_a_rebalance_names_its_cause_its_culprit_and_who_came_and_went(ask: Views) -> None:
    assert ask("rebalances", "left", *REBALANCE) == [
        (1000, 0, 1, 1100, 100, "member_joined", "a", "completed", 0, 1),
        (3000, 1, 2, 3200, 200, "member_joined", "b", "completed", 1, 2),
        (4000, 2, 3, 4200, 200, "member_left", "b", "completed", 2, 1),
    ]
    assert ask("rebalances", "left", *WHO) == [
        (1000, ["a"], [], [], None, None),
        (3000, ["b"], [], [], "a", 200),
        (4000, [], ["b"], [], None, None),
    ]
    assert ask("rebalances", "left", "started_at", "client_reason")[-1] == (4000, "shutting down")


def test_an_expiry_is_a_cause_and_its_member_is_expired(ask: Views) -> None:
    assert ask("rebalances", "expired", *REBALANCE)[-1] == (
        *(13_100, 2, 3, 14_100, 1000, "session_expired", "b", "completed", 2, 1),
    )
    assert ask("rebalances", "expired", *WHO)[-1] == (13_100, [], [], ["b"], None, None)


def test_a_cooperative_follow_up_is_distinguished(ask: Views) -> None:
    assert [cause for _, cause in ask("rebalances", "cooperative", "started_at", "cause")] == [
        *("member_joined", "member_joined", "cooperative_followup"),
    ]


def test_a_rebalance_that_another_one_overtook_is_superseded(ask: Views) -> None:
    assert ask("rebalances", "superseded", *REBALANCE)[1:] == [
        (2000, 1, 2, 2200, 200, "member_joined", "b", "superseded", 1, 2),
        (2200, 2, 3, 2500, 300, "member_joined", "c", "completed", 2, 3),
    ]


def test_a_rebalance_that_nobody_is_left_of_ends_empty(ask: Views) -> None:
    assert ask("rebalances", "deleted", *REBALANCE)[-1] == (2000, 1, 2, 2000, 0, "member_left", "a", "empty", 1, 0)


def test_a_running_rebalance_shows_what_is_known_of_it(ask: Views) -> None:
    assert ask("rebalances", "rebalancing", *REBALANCE)[-1] == (
        *(5000, 2, None, None, None, "member_joined", "c", None, 2, None),
    )
    assert ask("rebalances", "rebalancing", *WHO)[-1] == (5000, None, None, None, None, None)


def test_a_static_culprit_is_named_by_its_instance_id_too(ask: Views) -> None:
    assert ask("rebalances", "static", "cause_client_id", "cause_group_instance_id", "cause_client_host") == [
        ("a", "i-1", "/10.0.0.1")
    ]


# ---------------------------------------------------------------- join_waits

PART = ("started_at", "client_id", "joined_at", "synced_at", "held_others_ms", "outcome", "to_generation_id")


def test_a_members_part_says_when_it_came_and_how_long_it_held_the_others(ask: Views) -> None:
    assert ask("join_waits", "two", *PART) == [
        (1000, "a", 1000, 1100, 0, "completed", 1),
        (3000, "a", 3100, 3200, 200, "completed", 2),
        (3000, "b", 3000, None, 0, "completed", 2),
    ]


def test_while_it_runs_everybody_who_is_awaited_is_shown(ask: Views) -> None:
    assert ask("join_waits", "rebalancing", *PART)[3:] == [
        (5000, "a", None, None, None, None, None),
        (5000, "b", 5100, None, None, None, None),
        (5000, "c", 5000, None, None, None, None),
    ]
    assert ask("join_waits", "syncing", *PART)[1:] == [
        (2000, "a", 2100, None, None, None, None),
        (2000, "b", 2000, 2200, None, None, None),
    ]


# ---------------------------------------------------------------- heartbeat_slack

SLACK = ("client_id", "session_timeout_ms", "longest_gap_ms", "slack_ms", "longest_gap_from", "ended_at", "end_cause")


def test_the_slack_is_what_was_left_of_the_session_at_its_longest_gap(ask: Views) -> None:
    assert ask("heartbeat_slack", "expired", *SLACK) == [
        ("a", 10_000, 3000, 7000, 9000, None, None),
        ("b", 10_000, 10_000, 0, 3100, 13_100, "session_expired"),
    ]


def test_the_time_an_answer_is_owed_is_no_gap(ask: Views) -> None:
    assert ask("heartbeat_slack", "rebalancing", *SLACK)[0] == ("a", 10_000, 1100, 8900, 2000, None, None)
    assert ask("heartbeat_slack", "static", *SLACK)[1] == ("a", 10_000, 100, 9900, 1000, 3000, "static_member_replaced")


def test_the_gap_that_counts_is_the_one_that_left_least_of_a_session_that_became_shorter(tmp_path: Path) -> None:
    story = one_member(session_timeout_ms=20_000)
    story.heartbeat(11_000, "a")
    story.join(12_000, "a", session_timeout_ms=6000)
    story.sync(12_100, "a", {"a": ["t-0"]})
    story.let_time_pass(18_100)
    write_effects(tmp_path, {"orders": story.rows})
    expired = (6000, 6000, 0, 12_100, 18_100, "session_expired")
    assert Views(tmp_path)("heartbeat_slack", "orders", *SLACK[1:]) == [expired]
    members = memberships_of(effects_in(all_facts(story)))
    assert slack_of(all_facts(story), members, Names(members)) == ([Slack("a", 12_100, 6000, 6000)], [])


def test_who_asks_again_while_its_answer_is_owed_was_not_silent(tmp_path: Path) -> None:
    """Its session does not end meanwhile, though it is silent for longer; a heartbeat changes nothing."""
    story, topics = one_member(session_timeout_ms=30_000), ("t", "u")
    story.join(3000, "b", session_timeout_ms=6000)
    story.join(3100, "a", session_timeout_ms=30_000)
    story.sync(3200, "a", {"a": ["t-0"]})
    story.sync(3300, "b")
    story.join(8000, "b", session_timeout_ms=6000, topics=topics)
    story.heartbeat(9500, "b")
    story.join(19_000, "b", session_timeout_ms=6000, topics=topics)
    story.join(20_000, "a", session_timeout_ms=30_000)
    story.sync(20_100, "a", {"a": ["t-0"]})
    write_effects(tmp_path, {"orders": story.rows})
    views = Views(tmp_path)
    assert [row.ended_at for row in views.rows("sessions")] == [None, None]
    assert [row.client_id for row in views.rows("near_misses")] == ["b"], "from 3100 ms to 8000 ms"
    assert {row.client_id: row.longest_gap_ms for row in views.rows("heartbeat_slack")} == {"a": 16_800, "b": 4900}
    own = [gap.length_ms for gap in gaps_of(all_facts(story)) if gap.member_id == story.member_ids["b"]]
    assert max(own) == 4900


# ---------------------------------------------------------------- offsets

OFFSET = ("topic", "partition", "committed_offset", "metadata", "committed_at", "leader_epoch", "member_id")


def test_an_offset_is_the_latest_commit_unless_it_was_removed(ask: Views) -> None:
    assert ask("offsets", "no members", *OFFSET) == [("t", 0, 9, "by cron", 2000, -1, None)]
    assert ask("offsets", "deleted", *OFFSET) == []


# ---------------------------------------------------------------- replies


def test_a_reply_says_how_long_its_request_was_parked(ask: Views) -> None:
    columns = ("received_at", "replied_at", "parked_ms", "api", "error_code", "client_id")
    assert ask("replies", "two", *columns)[3:7] == [
        (2000, 2000, 0, "Heartbeat", "NONE", "a"),
        (3000, 3000, 0, "JoinGroup", "MEMBER_ID_REQUIRED", "b"),
        (3000, 3100, 100, "JoinGroup", "NONE", "b"),
        (3100, 3100, 0, "JoinGroup", "NONE", "a"),
    ]
    responses = ask("replies", "two", "received_at", "api", "error_code", "generation_id", "response")
    assert responses[3] == (2000, "Heartbeat", "NONE", 1, None)
    assert '"generation_id":2' in responses[5][4]
