"""What a Java member of the newer protocol (KIP-848) prints: the epochs that it shows, and what only fits."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.lines.entries import Clock, Entry
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, LoggedRebalance
from rollcall.inputs.printed.reading import fact_of
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.effects import MemberRemoved

MEMBER, OTHER = "Oa2K6xbZQFO6QwBe3Ty5Vg", "xBVB57i5T7671gg1Tq0JGw"
LATE = "Consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than"
HEADING = "[Consumer clientId={}, groupId=orders] "
JOINS = "0 UNSUBSCRIBED JOINING"
REJOINS = "0 STALE JOINING"
LEAVES = ("5 STABLE PREPARE_LEAVING", "-1 PREPARE_LEAVING LEAVING")


def facts_of(
    *printed: tuple[int, str], client_id: str = "orders-1", member_id: str = MEMBER, heading: str = HEADING
) -> list[LoggedFact]:
    """A member's lines: (ms, a message, or a change of its state as `epoch before after`)."""
    entries = [
        Entry(f"{client_id}.log", number, heading.format(client_id) + _message(text, member_id), ms, Clock.LOCAL)
        for number, (ms, text) in enumerate(printed, 1)
    ]
    return [fact for fact in map(fact_of, entries) if fact is not None]


def _message(text: str, member_id: str) -> str:
    words = text.split()
    if len(words) != 3:
        return text
    return f"Member {member_id} with epoch {words[0]} transitioned from {words[1]} to {words[2]}."


def group_of(*facts: LoggedFact) -> LoggedGroup:
    (group,) = groups_in(sorted(facts, key=lambda fact: fact.at_ms or 0))
    return group


def causes_of(rebalances: list[LoggedRebalance]) -> list[tuple[int | None, str, bool]]:
    """Each one's epoch and cause, and whether that is inferred."""
    return [(one.generation_id, str(one.cause.kind), one.cause.is_inferred) for one in rebalances]


def test_each_change_of_state_is_a_fact_of_the_member() -> None:
    found = facts_of((0, JOINS), (1, "5 JOINING RECONCILING"), (2, LEAVES[0]), (3, LEAVES[1]))
    assert [fact.kind for fact in found] == [
        FactKind.JOIN_SENT,
        FactKind.MEMBER_PROGRESSED,
        FactKind.MEMBER_PROGRESSED,
        FactKind.LEAVE_SENT,
    ]
    one = found[1]
    assert (one.member_id, one.client_id, one.generation_id) == (MEMBER, "orders-1", 5)
    assert (one.state, one.to_state) == ("JOINING", "RECONCILING")


def test_an_epoch_that_a_member_reached_was_there_and_when_it_began_is_open() -> None:
    group = group_of(*facts_of((100, "7 STABLE RECONCILING"), (200, "7 ACKNOWLEDGING STABLE")))
    (one,) = group.rebalances
    assert group.group_type == "consumer"
    assert (one.from_generation_id, one.generation_id) == (6, 7)
    assert (one.began_at_ms, one.joined_at_ms, one.ended_at_ms, one.outcome) == (None, 100, None, "")
    assert one.cause.kind is CauseKind.UNKNOWN


def test_the_local_epoch_of_an_assignment_is_none_of_the_group() -> None:
    owned = "Assigned partitions: [] Current owned partitions: []"
    (fact,) = facts_of((0, f"Reconciling assignment with local epoch 9 Member: {MEMBER} {owned}"))
    assert (fact.kind, fact.generation_id, fact.partitions) == (FactKind.RECONCILING, None, "[]")


def test_a_member_that_joined_fits_as_the_cause_of_its_first_epoch() -> None:
    (one,) = group_of(*facts_of((0, JOINS), (400, "5 JOINING RECONCILING"))).rebalances
    assert causes_of([one]) == [(5, "member_joined", True)]
    assert (one.cause.member_id, one.cause.client_id, one.began_at_ms) == (MEMBER, "orders-1", None)


def test_an_epoch_that_was_there_before_a_member_asked_to_join_is_not_its_doing() -> None:
    early = facts_of((0, "5 STABLE RECONCILING"))
    late = facts_of((60_000, JOINS), (60_400, "5 JOINING RECONCILING"), client_id="orders-2", member_id=OTHER)
    assert causes_of(group_of(*early, *late).rebalances) == [(5, "unknown", False)]


@pytest.mark.parametrize(
    "lines",
    [
        facts_of((0, "0 FENCED JOINING"), (9, "5 JOINING RECONCILING")),
        facts_of(
            (0, JOINS), (9, "5 JOINING RECONCILING"), heading=HEADING.replace("[Consumer", "[Consumer instanceId=i,")
        ),
    ],
)
def test_a_member_that_may_have_come_back_without_a_new_epoch_is_not_said_to_have_brought_it(
    lines: list[LoggedFact],
) -> None:
    assert causes_of(group_of(*lines).rebalances) == [(5, "unknown", False)]


@pytest.mark.parametrize(
    ("last", "kind"),
    [("-1 LEAVING STALE", "poll_timeout"), ("-1 LEAVING UNSUBSCRIBED", "member_left"), ("", "unknown")],
)
def test_what_a_member_does_after_it_has_left_says_why(last: str, kind: str) -> None:
    (reached, left) = group_of(*facts_of((0, LEAVES[0]), (1, LEAVES[1]), (2, last))).rebalances
    assert (reached.generation_id, reached.cause.kind) == (5, CauseKind.UNKNOWN)
    assert (left.from_generation_id, left.generation_id, left.began_at_ms) == (5, None, 1)
    assert (str(left.cause.kind), left.cause.member_id, left.cause.is_inferred) == (kind, MEMBER, not last)
    if not last:
        assert {one.kind for one in left.cause.candidates} == {CauseKind.MEMBER_LEFT, CauseKind.POLL_TIMEOUT}


def test_the_next_epoch_that_another_member_reached_fits_the_leave() -> None:
    left = facts_of((990, LATE), (1_000, LEAVES[0]), (1_001, LEAVES[1]), (1_002, "-1 LEAVING STALE"))
    other = facts_of((1_500, "6 STABLE RECONCILING"), client_id="orders-2", member_id=OTHER)
    assert causes_of(group_of(*left, *other).rebalances) == [(5, "unknown", False), (6, "poll_timeout", True)]


def test_an_epoch_that_was_there_long_before_a_leave_is_not_its_doing() -> None:
    left = facts_of((60_000, LEAVES[0]), (60_001, LEAVES[1]), (60_002, "-1 LEAVING UNSUBSCRIBED"))
    other = facts_of((0, "6 STABLE RECONCILING"), client_id="orders-2", member_id=OTHER)
    shown = causes_of(group_of(*left, *other).rebalances)
    assert shown == [(5, "unknown", False), (None, "member_left", False), (6, "unknown", False)]


@pytest.mark.parametrize(("back", "number"), [(7, 6), (8, None)])
def test_a_member_s_own_next_join_leaves_one_epoch_for_its_leave_or_more(back: int, number: int | None) -> None:
    lines = [(0, LATE), (1, LEAVES[0]), (2, LEAVES[1]), (3, "-1 LEAVING STALE")]
    group = group_of(*facts_of(*lines, (6_000, REJOINS), (6_100, f"{back} JOINING RECONCILING")))
    left = group.rebalances[1]
    assert (left.generation_id, str(left.cause.kind), left.cause.is_inferred) == (number, "poll_timeout", bool(number))
    assert "polled_again" in {one.finding for one in group.findings}


def test_a_static_member_that_leaves_for_a_while_brings_no_epoch() -> None:
    static = HEADING.replace("[Consumer", "[Consumer instanceId=pod-1,")
    lines = facts_of((0, LEAVES[0]), (1, "-2 PREPARE_LEAVING LEAVING"), (2, "-2 LEAVING UNSUBSCRIBED"), heading=static)
    assert causes_of(group_of(*lines).rebalances) == [(5, "unknown", False)]


def test_a_member_that_leaves_before_it_was_in_brings_no_epoch() -> None:
    lines = [(0, JOINS), (1, "0 JOINING PREPARE_LEAVING"), (2, LEAVES[1]), (3, "-1 LEAVING UNSUBSCRIBED")]
    assert group_of(*facts_of(*lines)).rebalances == []


def test_a_client_that_went_over_to_the_newer_protocol_has_a_history_of_both() -> None:
    generation = f"Generation{{generationId=4, memberId='orders-1-{MEMBER}', protocol='range'}}"
    classic = [(0, "(Re-)joining group"), (9, f"Successfully joined group with generation {generation}")]
    group = group_of(*facts_of(*classic, (60_000, JOINS), (60_100, "5 JOINING RECONCILING")))
    assert [one.generation_id for one in group.rebalances] == [4, 5]


def test_a_share_consumer_s_group_is_a_share_group() -> None:
    assert (
        group_of(*facts_of((0, "7 STABLE RECONCILING"), heading=HEADING.replace("Con", "ShareCon"))).group_type
        == "share"
    )


UNKNOWN = f"ConsumerGroupHeartbeatRequest failed because member {MEMBER} is unknown. Will abandon all and rejoin."
FENCED = [(1_000, "5 STABLE FENCED"), (1_001, "0 FENCED JOINING")]


def test_a_member_that_its_coordinator_did_not_know_was_removed_and_its_join_brought_an_epoch() -> None:
    group = group_of(
        *facts_of((0, "5 ACKNOWLEDGING STABLE"), (999, UNKNOWN), *FENCED, (1_100, "7 JOINING RECONCILING"))
    )
    assert causes_of(group.rebalances) == [(5, "unknown", False), (6, "unknown", True), (7, "member_joined", True)]
    removed = group.rebalances[1].cause
    assert (removed.member_id, group.rebalances[1].began_at_ms) == (MEMBER, None)
    assert {one.kind for one in removed.candidates} == {CauseKind.SESSION_EXPIRED, CauseKind.REBALANCE_TIMEOUT}


@pytest.mark.parametrize(
    "lines",
    [
        facts_of((0, "5 ACKNOWLEDGING STABLE"), *FENCED, (1_100, "7 JOINING RECONCILING")),
        facts_of(
            (0, "5 ACKNOWLEDGING STABLE"),
            (999, f"ConsumerGroupHeartbeatRequest failed for member {MEMBER} because epoch 5 is fenced."),
            *FENCED,
            (1_100, "7 JOINING RECONCILING"),
        ),
        facts_of(
            (0, "5 ACKNOWLEDGING STABLE"),
            (999, UNKNOWN),
            *FENCED,
            (1_100, "7 JOINING RECONCILING"),
            heading=HEADING.replace("[Consumer", "[Consumer instanceId=i,"),
        ),
    ],
    ids=["no answer", "another epoch", "static"],
)
def test_a_member_that_may_have_been_one_still_is_not_said_to_have_been_removed(lines: list[LoggedFact]) -> None:
    assert causes_of(group_of(*lines).rebalances) == [(5, "unknown", False), (7, "unknown", False)]


def test_a_member_that_comes_back_under_its_id_leaves_a_second_time() -> None:
    away = "0 LEAVING UNSUBSCRIBED"
    once = ((0, JOINS), (1, "5 JOINING STABLE"), (2, LEAVES[1]), (3, away))
    again = ((10, JOINS), (11, "7 JOINING STABLE"), (12, LEAVES[1]), (13, away))
    gone = [one for one in effects_of(group_of(*facts_of(*once, *again))) if isinstance(one, MemberRemoved)]
    assert [(one.at_ms, one.end_cause) for one in gone] == [(2, EndCause.MEMBER_LEFT), (12, EndCause.MEMBER_LEFT)]
