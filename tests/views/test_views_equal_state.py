"""What the views say from facts alone is what the state holds, for random histories; and what must hold of history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import terms_of
from rollcall.coordinator_udfs.protocol.states import GroupState
from tests.views.random_homes import History, random_histories
from tests.views.state_facts import next_deadline_ms, partitions_of, settled_leader, waits_for
from tests.views.story import write_effects
from tests.views.view_rows import Views

PLAYS, FLEETS = 150, 25
Facts = dict[str, Any]


class Reported:
    """The random histories, and what the views make of them."""

    def __init__(self, home: Path) -> None:
        self.histories = random_histories(PLAYS, FLEETS)
        write_effects(home, {name: history.rows for name, history in self.histories.items()})
        self.rows = Views(home).rows

    def groups(self) -> Iterator[tuple[str, Group]]:
        """Every group that is known in the end, by its name in the home."""
        return ((name, history.group) for name, history in self.histories.items() if history.group is not None)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    return Reported(tmp_path_factory.mktemp("home"))


def test_groups_are_those_of_the_state(reported: Reported) -> None:
    shown = {
        row["group_id"]: (
            *(row["state"], row["generation_id"], row["protocol_type"], row["protocol_name"]),
            *(row["leader_id"], row["member_count"], row["pending_member_count"], row["state_since"]),
        )
        for row in reported.rows("groups")
    }
    assert shown == {
        name: (
            *(group.state, group.generation_id, group.protocol_type, group.protocol_name),
            *(settled_leader(group), len(group.members), len(group.pending), group.state_timestamp_ms),
        )
        for name, group in reported.groups()
    }


def test_the_next_deadline_is_that_of_the_state(reported: Reported) -> None:
    shown = {row["group_id"]: row["next_deadline_at"] for row in reported.rows("groups")}
    assert shown == {name: next_deadline_ms(group) for name, group in reported.groups()}


def test_a_group_was_updated_by_its_latest_fact(reported: Reported) -> None:
    shown = {row["group_id"]: row["updated_at"] for row in reported.rows("groups")}
    assert shown == {name: reported.histories[name].rows[-1].at_ms for name, _ in reported.groups()}


def test_members_are_those_of_the_state(reported: Reported) -> None:
    shown = {
        (row["group_id"], row["member_id"]): (
            *(row["client_id"], row["client_host"], row["group_instance_id"], row["joined_at"], row["last_seen_at"]),
            *(row["session_timeout_ms"], row["rebalance_timeout_ms"], row["topics"], row["waits_for"]),
            row["session_deadline_at"],
        )
        for row in reported.rows("members")
    }
    assert shown == {
        (name, member.member_id): (
            *(member.client_id, member.client_host, member.group_instance_id, member.joined_at_ms),
            *(member.last_seen_at_ms, *terms_of(group, member), waits_for(member)),
            None if waits_for(member) else member.session_deadline_ms,
        )
        for name, group in reported.groups()
        for member in group.members.values()
    }


def test_in_a_stable_group_everybody_holds_what_the_state_says(reported: Reported) -> None:
    shown = {(row["group_id"], row["member_id"]): row["assigned_partitions"] for row in reported.rows("members")}
    stable = [(name, group) for name, group in reported.groups() if group.state is GroupState.STABLE]
    assert stable
    for name, group in stable:
        for member in group.members.values():
            assert shown[name, member.member_id] == partitions_of(group, member)


def test_offsets_are_those_of_the_state(reported: Reported) -> None:
    shown = {
        (row["group_id"], row["topic"], row["partition"]): (
            row["committed_offset"],
            row["metadata"],
            row["committed_at"],
        )
        for row in reported.rows("offsets")
    }
    assert shown == {
        (name, *key): (offset.committed_offset, offset.metadata, offset.commit_timestamp_ms)
        for name, group in reported.groups()
        for key, offset in group.offsets.items()
    }


def test_nobody_holds_a_partition_while_another_does(reported: Reported) -> None:
    def partition(row: Facts) -> tuple[Any, ...]:
        return row["group_id"], row["topic"], row["partition"]

    sane = {name for name, history in reported.histories.items() if gives_each_partition_once(history)}
    rows = [row for row in reported.rows("assignments") if row["group_id"] in sane]
    rows.sort(key=lambda row: (*partition(row), row["from_at"], row["generation_id"]))
    assert len(rows) > 200
    for key, intervals in groupby(rows, key=partition):
        for earlier, later in pairwise(intervals):
            assert earlier["to_at"] is not None, key
            assert earlier["to_at"] <= later["from_at"], key


def test_a_member_holds_partitions_only_while_it_is_a_member(reported: Reported) -> None:
    sessions = {(row["group_id"], row["member_id"]): row for row in reported.rows("sessions")}
    rows = reported.rows("assignments")
    assert len(rows) > 200
    for row in rows:
        session = sessions[row["group_id"], row["member_id"]]
        assert session["joined_at"] <= row["from_at"]
        assert session["ended_at"] is None or row["to_at"] <= session["ended_at"]


def test_there_are_as_many_rebalances_as_began_and_those_without_an_end_run(reported: Reported) -> None:
    began = sum(row.effect == "rebalance_started" for history in reported.histories.values() for row in history.rows)
    rebalances = reported.rows("rebalances")
    running = {row["group_id"] for row in rebalances if row["outcome"] is None}
    assert len(rebalances) == began
    assert running == {name for name, group in reported.groups() if group.rebalance is not None}


def test_a_group_has_one_rebalance_at_a_time(reported: Reported) -> None:
    rows = sorted(reported.rows("rebalances"), key=lambda row: (row["group_id"], row["started_at"]))
    assert len(rows) > 100
    for _, rebalances in groupby(rows, key=lambda row: row["group_id"]):
        ordered = sorted(
            rebalances, key=lambda row: (row["started_at"], 10**15 if row["ended_at"] is None else row["ended_at"])
        )
        for earlier, later in pairwise(ordered):
            assert earlier["ended_at"] is not None
            assert earlier["ended_at"] <= later["started_at"]


def test_an_expired_session_had_no_slack_left(reported: Reported) -> None:
    rows = reported.rows("heartbeat_slack")
    expired = [row for row in rows if row["end_cause"] == "session_expired" and row["longest_gap_ms"] is not None]
    assert expired
    assert all(row["slack_ms"] is None or row["slack_ms"] <= 0 for row in expired)


def gives_each_partition_once(history: History) -> bool:
    """No leader gave one partition to two members."""
    given: dict[int, list[tuple[str, int]]] = {}
    for row in history.rows:
        if row.effect == "assigned":
            for topic in json.loads(row.detail or "{}")["partitions"] or ():
                held = given.setdefault(row.at_ms or 0, [])
                held += [(topic["topic"], partition) for partition in set(topic["partitions"])]
    return all(len(held) == len(set(held)) for held in given.values())
