"""The views as of a moment: what the state was then, for random histories."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from coordinator_udfs.protocol.group import Group
from jobs.rollcall.__main__ import main
from jobs.sql import register_views
from programs.timestamps import MomentError
from tests.protocol.invariants_play import Call
from tests.views.histories import two_members
from tests.views.random_homes import History, random_plays, told
from tests.views.state_facts import next_deadline_ms, partitions_of, settled_leader, waits_for
from tests.views.story import write_effects
from tests.views.view_rows import rows_of

PLAYS = 60
# Where in the order of all requests of all groups the views are held against the state.
CUTS = (0.1, 0.35, 0.6, 0.85)


class Past:
    """Random histories of many groups in one home, and the state of each at any moment."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.plays = random_plays(PLAYS)
        self.moments = sorted({call.at_ms for _, calls in self.plays.values() for call in calls})
        # Time passes for every group until the last request of any.
        end = Call(self.moments[-1], None)
        facts = {name: told(config, [*calls, end]).rows for name, (config, calls) in self.plays.items()}
        write_effects(home, facts)

    def groups(self, at_ms: int) -> dict[str, Group]:
        """The groups that were known at the end of a millisecond, by what was asked until then alone."""
        found: dict[str, Group] = {}
        for name, (config, calls) in self.plays.items():
            then: History = told(config, [*(call for call in calls if call.at_ms <= at_ms), Call(at_ms, None)])
            if then.group is not None:
                found[name] = then.group
        return found


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    return Past(tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("cut", CUTS)
def test_groups_and_members_are_what_the_state_was(past: Past, cut: float) -> None:
    at_ms = past.moments[int(cut * len(past.moments))]
    groups = past.groups(at_ms)
    assert {
        row["group_id"]: (
            *(row["state"], row["generation_id"], row["protocol_name"], row["leader_id"], row["member_count"]),
            *(row["pending_member_count"], row["next_deadline_at"]),
        )
        for row in rows_of(past.home, "groups", at_ms)
    } == {
        name: (
            *(group.state, group.generation_id, group.protocol_name, settled_leader(group), len(group.members)),
            *(len(group.pending), next_deadline_ms(group)),
        )
        for name, group in groups.items()
    }
    assert {
        (row["group_id"], row["member_id"]): (
            *(row["client_id"], row["joined_at"], row["last_seen_at"], row["waits_for"], row["session_deadline_at"]),
            row["assigned_partitions"] if groups[row["group_id"]].state == "Stable" else None,
        )
        for row in rows_of(past.home, "members", at_ms)
    } == {
        (name, member.member_id): (
            *(member.client_id, member.joined_at_ms, member.last_seen_at_ms, waits_for(member)),
            None if waits_for(member) else member.session_deadline_ms,
            partitions_of(group, member) if group.state == "Stable" else None,
        )
        for name, group in groups.items()
        for member in group.members.values()
    }


def test_a_moment_is_exact_to_the_millisecond(tmp_path: Path) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    states = {}
    for at_ms in (999, 1000, 1100, 2999, 3000, 3100, 3200):
        states[at_ms] = [(row.state, row.member_count) for row in rows_of(tmp_path, "groups", at_ms)]
    assert states == {
        999: [],
        1000: [("CompletingRebalance", 1)],
        1100: [("Stable", 1)],
        2999: [("Stable", 1)],
        3000: [("PreparingRebalance", 2)],
        3100: [("CompletingRebalance", 2)],
        3200: [("Stable", 2)],
    }
    assert [(row.cause, row.outcome) for row in rows_of(tmp_path, "rebalances", 3150)] == [
        ("member_joined", "completed"),
        ("member_joined", None),
    ]


def test_a_table_says_as_of_when_it_is_and_what_is_no_moment_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    arguments = ["--home", str(tmp_path), "select count(*) n from members"]
    assert main(["sql", *arguments, "--at", "1970-01-01T05:30:02.500+05:30"]) == 0
    assert capsys.readouterr().out.endswith("1 row, times in UTC\nas it was at 1970-01-01 00:00:02.500 UTC\n")
    assert main(["sql", *arguments, "--at", "noon"]) == 2
    assert capsys.readouterr().err.startswith("rollcall: AT=noon: is no moment; ")
    with pytest.raises(MomentError, match=r"^AT=noon: is no moment"):
        register_views(spark, tmp_path, at="noon")
