"""How members end in the history that clients' lines make: as `explain` reads the same lines, and no other way."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.groups.logged_effects import effects_of, place_of, shown_effects_of
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import merged, read_files, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import EndCause
from rollcall.schemas.effects import UNKNOWN_END, MemberJoined, MemberRemoved, RebalanceEnded
from tests.printed.printed import MEMBER, OTHER
from tests.printed.recorded import INCIDENTS, NAMES, groups_of

HEADING = "2026-03-01 03:{:02}:{:02},000 INFO [Consumer clientId=orders-1, groupId=orders] {}"
OF = "Generation{{generationId={}, memberId='{}', protocol='range'}}"
JOINED = "Successfully joined group with generation " + OF.format(7, MEMBER)
TOO_LATE = "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer"
LEAVES = f"Member {MEMBER} sending LeaveGroup request to coordinator b:9092 (id: 2147483646 rack: null) due to {{}}"
REFUSED = f"LeaveGroup request with {OF.format(7, MEMBER)} failed with error: "
ASKS = "(Re-)joining group"
BACK = "Successfully joined group with generation " + OF.format(9, OTHER)
NOT_AWARE = "The coordinator is not aware of this member."
LOST = "Attempt to heartbeat with " + OF.format(7, MEMBER) + " failed due to UNKNOWN_MEMBER_ID, resetting generation"
COMMIT = f"Offset commit failed on partition orders-0 at offset 4: {NOT_AWARE}"


def ends(*lines: tuple[int, str]) -> list[tuple[int, EndCause, str | None]]:
    """By these lines, each with its second: how members ended, and at which second after 03:00."""
    printed = [HEADING.format(*divmod(second, 60), text) for second, text in lines]
    (group,) = groups_in(read_lines("app.log", printed).facts)
    removed = [one for one in effects_of(group) if isinstance(one, MemberRemoved)]
    return [(one.at_ms // 1000 % 3600, one.end_cause, one.client_reason) for one in removed]


def test_a_leave_that_was_carried_out_ends_the_member() -> None:
    assert ends((1, JOINED), (300, TOO_LATE), (300, LEAVES.format("consumer poll timeout has expired."))) == [
        (300, EndCause.POLL_TIMEOUT, None)
    ]


def test_a_leave_of_which_the_coordinator_knew_no_member_is_not_how_it_ended() -> None:
    lines = ((1, JOINED), (300, TOO_LATE), (300, LEAVES.format("consumer poll timeout has expired.")))
    assert ends(*lines, (301, REFUSED + NOT_AWARE), (370, ASKS)) == [(301, EndCause.UNKNOWN, None)]


def test_a_leave_that_reached_no_coordinator_left_it_a_member_until_another_id_shows_that_it_was_removed() -> None:
    refused = (301, REFUSED + "This is not the correct coordinator.")
    lines = ((1, JOINED), (300, TOO_LATE), (300, LEAVES.format("consumer poll timeout has expired.")), refused)
    assert ends(*lines) == []
    assert ends(*lines, (370, ASKS), (371, BACK)) == [(371, EndCause.UNKNOWN, None)]


@pytest.mark.parametrize(
    ("later_s", "end"), [(1, (EndCause.UNKNOWN, None)), (60, (EndCause.MEMBER_LEFT, "the consumer is being closed"))]
)
def test_a_client_that_knew_that_it_was_out_did_not_end_by_leaving(
    later_s: int, end: tuple[EndCause, str | None]
) -> None:
    leaves = LEAVES.format("the consumer is being closed")
    assert ends((1, JOINED), (100, COMMIT), (100 + later_s, leaves)) == [(100 + later_s, *end)]


def test_a_member_that_missed_a_generation_is_still_one() -> None:
    missed = "Attempt to heartbeat with " + OF.format(7, MEMBER) + " failed due to ILLEGAL_GENERATION, "
    again = "Successfully joined group with generation " + OF.format(9, MEMBER)
    assert ends((1, JOINED), (100, missed + "resetting generation"), (100, ASKS), (103, again)) == []
    unknown = missed.replace("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID")
    assert ends((1, JOINED), (100, unknown + "resetting generation"), (101, ASKS), (103, BACK)) == [
        (100, EndCause.UNKNOWN, None)
    ]


def test_a_leave_that_names_a_member_shows_it_though_its_join_is_not_in_the_lines() -> None:
    left = LEAVES.format("the consumer is being closed")
    assert ends((100, left)) == [(100, EndCause.MEMBER_LEFT, "the consumer is being closed")]
    assert ends((100, COMMIT), (101, left)) == []


def test_a_leave_right_after_the_poll_timeout_is_for_that() -> None:
    old = LEAVES.removesuffix(" due to {}")
    assert ends((300, TOO_LATE), (300, old)) == [(300, EndCause.POLL_TIMEOUT, None)]
    assert ends((1, JOINED), (300, old)) == [(300, EndCause.UNKNOWN, None)]


def test_a_static_member_that_polls_too_late_stays_a_member_until_its_coordinator_says_otherwise() -> None:
    lines = [HEADING.format(*divmod(second, 60), text) for second, text in ((1, JOINED), (300, TOO_LATE), (400, LOST))]
    printed = [line.replace("clientId=", "instanceId=pod-1, clientId=") for line in lines]
    (group,) = groups_in(read_lines("app.log", printed[:2]).facts)
    assert [one.outcome for one in group.rebalances] == [""]
    assert not [one for one in effects_of(group) if isinstance(one, MemberRemoved)]
    (group,) = groups_in(read_lines("app.log", printed).facts)
    (removed,) = [one for one in effects_of(group) if isinstance(one, MemberRemoved)]
    assert (removed.at_ms // 1000 % 3600, removed.end_cause) == (400, EndCause.UNKNOWN)


def test_a_rebalance_that_one_client_prints_without_a_date_has_the_times_of_the_other() -> None:
    first, second = (
        [line.format(*at, text) for at, text in (((0, 1), ASKS), ((0, 3), JOINED))]
        for line in (HEADING.removeprefix("2026-03-01 "), HEADING.replace("orders-1", "orders-2"))
    )
    facts = [*read_lines("a.log", first).facts, *read_lines("b.log", second).facts]
    (group,) = groups_in(facts)
    (one,) = group.rebalances
    assert one.moment(one.joined_at_ms) == "2026-03-01T03:00:03.000"
    assert [each.at_ms for each in effects_of(group) if isinstance(each, RebalanceEnded)] == [one.joined_at_ms]


# ---------------------------------------------------------------- the line that shows an effect

CLIENTS = sorted(folder.name for folder in INCIDENTS.iterdir() if [*folder.glob("clients/*.gz")])[:3]


@pytest.mark.parametrize("name", NAMES)
def test_each_effect_of_a_broker_log_has_a_line_of_its_moment(name: str) -> None:
    assert sum(_shown(group, is_of_clocks=False) for group in groups_of(name).values())


@pytest.mark.parametrize("name", CLIENTS)
def test_each_effect_of_client_logs_has_a_line(name: str) -> None:
    groups = groups_in(merged(read_files(sorted(map(str, (INCIDENTS / name).glob("clients/*.gz"))))))
    assert sum(_shown(group, is_of_clocks=True) for group in groups)


def _shown(group: LoggedGroup, *, is_of_clocks: bool) -> int:
    """Check the lines of a group's effects; returns how many there are. is_of_clocks: each client has its own."""
    lines = {place_of(line): line for line in group.facts}
    shown = shown_effects_of(group)
    for effect, shown_by in shown:
        line = lines[shown_by]
        is_at_its_line = not isinstance(effect, MemberJoined) or not effect.is_inferred
        is_at_its_line &= not isinstance(effect, RebalanceEnded) or effect.outcome != UNKNOWN_END
        assert is_of_clocks or not is_at_its_line or effect.at_ms == line.at_ms
    return len(shown)
