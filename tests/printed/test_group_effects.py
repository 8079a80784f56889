"""A broker's lines as the facts of a home: what they prove is there, what they do not is null or inferred."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import pytest

from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import (
    Effect,
    GroupNotCovered,
    GroupObserved,
    GroupRemoved,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
    RebalanceStarted,
    StateChanged,
)
from tests.printed import coordinator
from tests.printed.coordinator import added, expired, failed, joining, preparing
from tests.printed.recorded import groups_of

E = TypeVar("E", bound=Effect)
A, B, C = (f"{name}-6c1d0b29-57f7-4e52-9ffb-38d5ad112b53" for name in ("a", "b", "c"))
EMPTY = "Group g with generation {} is now empty."


def printed(
    *messages: str,
    heading: str = "[GroupCoordinator id=1 topic=__consumer_offsets partition=4] ",
    gap_ms: int = 1_000,
) -> list[Effect]:
    """The facts of group g by lines that come a second apart, from 00:00:01 on."""
    times = (divmod(1_000 + place * gap_ms, 1_000) for place in range(len(messages)))
    lines = [
        f"[2026-03-01 00:00:{second:02},{ms:03}] INFO {heading}{text}"
        for (second, ms), text in zip(times, messages, strict=True)
    ]
    return effects_of(next(group for group in groups_in(merged([read_lines("server.log", lines)]))))


def of(kind: type[E], effects: Iterable[Effect]) -> list[E]:
    return [effect for effect in effects if isinstance(effect, kind)]


def formed(generation_id: int, members: int) -> tuple[str, str]:
    return coordinator.formed(generation_id, members, A)


def joins_epoch(member_id: str) -> str:
    return f"[GroupId g] Member {member_id} joins the consumer group using the consumer protocol."


def bumped(epoch: int) -> str:
    return f"[GroupId g] Bumped group epoch to {epoch} with metadata hash 7."


def test_a_rebalance_whose_end_is_not_in_the_lines_has_an_unknown_one() -> None:
    effects = printed(preparing(3, joining(A)), preparing(8, joining(B)), *formed(9, 2))
    first, second = of(RebalanceEnded, effects)
    assert (first.outcome, first.is_end_known, first.at_ms) == ("unknown", False, first.started_at_ms)
    assert (second.outcome, second.members_before) == ("completed", None)


def test_one_whose_beginning_is_not_is_known_from_its_first_line() -> None:
    effects = printed(*formed(5, 2), failed(B), preparing(5, expired(B)))
    (ended,) = of(RebalanceEnded, effects)
    assert (ended.started_at_ms, ended.at_ms - (ended.known_from_ms or 0)) == (None, 1_000)
    (begun,) = of(RebalanceStarted, effects)
    assert (begun.from_generation_id, begun.members_before) == (5, 2)


def test_a_leave_without_a_word_is_open_or_inferred_as_its_rebalance_is() -> None:
    left = f"[Group g] Member {B} has left group through explicit `LeaveGroup` request; client reason: "
    spoken = printed(*formed(5, 2), left + "the consumer is being closed.")
    (removed,) = of(MemberRemoved, spoken)
    assert (removed.end_cause, removed.client_reason, removed.is_inferred) == (
        *(EndCause.MEMBER_LEFT, "the consumer is being closed"),
        False,
    )
    silent = printed(
        *formed(5, 2), left + "not provided.", preparing(5, f"explicit `LeaveGroup` request for ({B}) members")
    )
    (removed,) = of(MemberRemoved, silent)
    assert (removed.end_cause, removed.candidates) == (
        *(EndCause.UNKNOWN,),
        (EndCause.MEMBER_LEFT, EndCause.POLL_TIMEOUT),
    )


def test_a_static_member_that_came_back_goes_on_under_its_new_id() -> None:
    effects = printed(
        *formed(5, 1),
        f"Static member pod-1 of group g with unknown member id rejoins, assigning new member id {B}, while old member "
        f"id {A} will be removed.",
    )
    (removed,) = of(MemberRemoved, effects)
    assert (removed.end_cause, removed.replaced_by_member_id) == (EndCause.STATIC_MEMBER_REPLACED, B)
    assert [(one.member_id, one.replaces_member_id) for one in of(MemberJoined, effects)] == [(A, None), (B, A)]


def test_who_held_the_others_up_is_there_where_a_line_names_it() -> None:
    (ended,) = [
        one
        for group in groups_of("j-busy-1").values()
        for one in of(RebalanceEnded, effects_of(group))
        if one.slowest_wait_ms == 24_535
    ]
    assert ended.slowest_client_id == "grp-06-m0"
    assert [wait.held_others_ms for wait in ended.waits] == [24_535]


def test_an_emptied_group_and_one_that_died_have_no_members() -> None:
    effects = printed(
        *formed(5, 1),
        failed(A),
        preparing(5, expired(A)),
        EMPTY.format(6),
        "Group g transitioned to Dead in generation 6.",
    )
    assert [one.outcome for one in of(RebalanceEnded, effects)] == ["completed", "empty"]
    assert [one.to_state for one in of(StateChanged, effects)][-1] == "Empty"
    assert [one.why for one in of(GroupRemoved, effects)] == ["unknown"]


def test_a_join_phase_that_nobody_came_back_to_is_not_over() -> None:
    effects = printed(
        *formed(5, 1), preparing(5, "a reason"), "Group g could not complete rebalance because no members rejoined"
    )
    assert [one.to_generation_id for one in of(RebalanceEnded, effects)] == [5]
    assert [one.to_state for one in of(StateChanged, effects)][-1] == "PreparingRebalance"


def test_a_rebalance_that_runs_at_the_end_is_known_if_its_beginning_is_not() -> None:
    (ended,) = of(RebalanceEnded, printed(formed(5, 1)[0]))
    assert (ended.to_generation_id, ended.outcome, ended.started_at_ms) == (5, "unknown", None)
    assert of(RebalanceEnded, printed(preparing(5, "a reason"))) == []


def test_a_coordinator_that_moves_is_seen() -> None:
    effects = printed(
        *formed(5, 1),
        "[GroupId=g] Unloading group metadata for generation 5.",
        "Loaded classic group g with 1 members.",
    )
    assert [(one.is_away, one.is_loaded) for one in of(GroupObserved, effects)] == [(True, False), (False, True)]


def test_of_an_epoch_only_its_beginning_is_known() -> None:
    effects = printed(joins_epoch("m1"), bumped(2), joins_epoch("m2"), bumped(3))
    assert [(one.to_type, one.why) for one in of(GroupTypeChanged, effects)] == [("consumer", "created")]
    assert [(one.outcome, one.members_before, one.members_after) for one in of(RebalanceEnded, effects)] == [
        ("unknown", 0, 1),
        ("unknown", 1, 2),
    ]
    assert [one.joined for one in of(RebalanceEnded, effects)] == [["m1"], ["m2"]]
    assert {one.to_state for one in of(StateChanged, effects)} == {"Unknown"}


def test_a_consumer_group_whose_members_all_left_is_empty() -> None:
    effects = printed(joins_epoch("m1"), bumped(2), "[GroupId g] Member m1 left the consumer group.", bumped(3))
    assert [one.outcome for one in of(RebalanceEnded, effects)] == ["unknown", "empty"]
    assert [one.to_state for one in of(StateChanged, effects)][-1] == "Empty"


def test_share_and_streams_groups_are_named_and_not_covered() -> None:
    assert [of(GroupNotCovered, effects_of(group))[0].why for group in groups_of("v-share").values()][:1] == ["share"]


def test_lines_without_a_date_are_no_history() -> None:
    group = groups_in(merged([read_lines("x", [preparing(3, joining(A)), *formed(4, 1)])]))[0]
    assert effects_of(group) == []


def test_who_is_a_member_already_brings_no_epoch_by_joining() -> None:
    joins, of_other_topics = joins_epoch("x"), bumped(3).replace("hash 7", "hash 8")
    effects = printed(joins, bumped(2), joins, bumped(2), joins, of_other_topics)
    kinds = [(one.from_generation_id, one.cause.kind, one.cause.is_inferred) for one in of(RebalanceEnded, effects)]
    assert kinds == [(1, CauseKind.MEMBER_JOINED, False), (2, CauseKind.UNKNOWN, True)]


def test_an_epoch_that_comes_again_was_not_stored_before() -> None:
    repeated = (joins_epoch("x"), bumped(2))
    effects = printed(*repeated, *repeated, joins_epoch("y"), bumped(3), joins_epoch("z"), bumped(3))
    assert [one.at_ms % 60_000 for one in of(MemberJoined, effects)] == [3_000, 7_000]
    assert [(one.to_generation_id, one.members_before, one.joined) for one in of(RebalanceEnded, effects)] == [
        (2, 0, ["x"]),
        (3, 1, ["z"]),
    ]


def test_a_group_that_begins_anew_has_the_first_epoch_again() -> None:
    emptied = (joins_epoch("x"), bumped(2), "[GroupId g] Member x left the consumer group.", bumped(3))
    anew = (
        "[GroupId g] Converted the empty consumer group to a classic group.",
        *(added(A), preparing(0, joining(A)), failed(A), preparing(0, expired(A)), EMPTY.format(1)),
        "[GroupId g] Converted the empty classic group to a consumer group.",
    )
    effects = printed(*emptied, *anew, joins_epoch("y"), bumped(2))
    assert [one.why for one in of(GroupTypeChanged, effects)] == ["created", "replaced", "replaced"]
    last = of(RebalanceEnded, effects)[-1]
    assert (last.to_generation_id, last.members_before, last.joined) == (2, 0, ["y"])


GONE = "[GroupId g] Member x "
FENCED = GONE + "fenced from the group because "


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ([FENCED + "the member session expired."], ("session_expired", "x", False)),
        ([FENCED + "its session expired."], ("session_expired", "x", False)),
        ([FENCED + "the member failed to sync within timeout."], ("sync_timeout", "x", False)),
        (
            [FENCED + "the classic member failed to join within the rebalance timeout."],
            ("rebalance_timeout", "x", False),
        ),
        ([FENCED + "it failed to transition from epoch 2 within 9ms."], ("rebalance_timeout", "x", False)),
        ([GONE + "left the consumer group."], ("member_left", "x", True)),
        ([GONE + "left the consumer group.", bumped(4)], ("unknown", "", False)),
    ],
)
def test_who_made_a_group_classic_stands_in_the_line_before(lines: list[str], cause: tuple[str, str, bool]) -> None:
    effects = printed(
        *(joins_epoch("x"), bumped(2), joins_epoch("y"), bumped(3), *lines),
        preparing(3, "Downgrade group g from consumer to classic for member leaving."),
        *("[GroupId g] Converted the consumer group to a classic group.", *formed(4, 1)),
    )
    found = of(RebalanceStarted, effects)[-1].cause
    assert (found.kind, found.member_id, found.is_inferred) == cause


def test_a_downgrade_that_an_upgrade_interrupts_has_no_epochs_of_it() -> None:
    to_classic = "Downgrade group g from consumer to classic for member leaving"
    effects = printed(
        *(joins_epoch("x"), bumped(2), joins_epoch("y"), bumped(3), "[GroupId g] Member x left the consumer group."),
        *(preparing(3, to_classic), "[GroupId g] Converted the consumer group to a classic group."),
        *("[GroupId g] Converted the classic group to a consumer group.", joins_epoch("z"), bumped(4)),
        *(joins_epoch("w"), bumped(5)),
    )
    ended = of(RebalanceEnded, effects)
    assert [(one.to_generation_id, one.cause.kind) for one in ended[2:]] == [
        *((4, CauseKind.MEMBER_LEFT), (4, CauseKind.MEMBER_JOINED), (5, CauseKind.MEMBER_JOINED)),
    ]
    assert [one.joined for one in ended[3:]] == [["z"], ["w"]]


def test_a_coordinator_that_loads_a_group_has_the_members_that_were_stored() -> None:
    effects = printed(
        *(added(A), preparing(0, joining(A)), *formed(1, 1), added(B), preparing(1, joining(B)), failed(A)),
        *("Stabilized group g generation 2 with 1 members.", "Loaded classic group g with 1 members."),
        *(added(C), preparing(1, joining(C)), failed(A)),
        *(text.replace(A, C) for text in formed(2, 1)),
    )
    lost, last = of(RebalanceEnded, effects)[-2:]
    assert (lost.outcome, last.outcome) == ("unknown", "completed")
    assert (last.members_before, last.joined, last.expired, last.gone) == (1, ["c"], ["a"], ())
    assert of(RebalanceStarted, effects)[-1].from_state == "Stable"
    assert [(one.member_id, one.is_inferred) for one in of(MemberJoined, effects)] == [
        *((A, False), (B, False), (A, True), (C, False)),
    ]


def test_a_static_member_that_comes_back_brings_an_epoch_only_by_other_topics() -> None:
    subscribes = "[GroupId g] Member {} updated its subscribed topics to: [a]."
    back = (
        "[GroupId g] Static member with instance id pod-1 re-joins the consumer group using the consumer protocol. "
        "Created a new member {} to replace the existing member {}."
    )
    joins = "[GroupId g] Static member {} with instance id pod-1 joins the consumer group using the consumer protocol."
    expires = "[GroupId g] Member {} fenced from the group because the member session expired."
    effects = printed(
        *(joins_epoch("x"), bumped(2), joins.format("y1"), bumped(3)),
        *(back.format("y2", "y1"), subscribes.format("x"), bumped(4)),
        *(back.format("y3", "y2"), subscribes.format("y3"), bumped(5)),
        *(back.format("y4", "y3"), back.format("y1", "y4"), bumped(6)),
        *(expires.format("y1"), bumped(7), joins.format("y1"), subscribes.format("y1"), bumped(8)),
        gap_ms=100,
    )
    assert [(one.cause.kind, one.cause.member_id, one.members_after) for one in of(RebalanceEnded, effects)[2:]] == [
        (CauseKind.SUBSCRIPTION_CHANGED, "x", 2),
        (CauseKind.STATIC_MEMBER_REPLACED, "y3", 2),
        (CauseKind.UNKNOWN, "", 2),
        (CauseKind.SESSION_EXPIRED, "y1", 1),
        (CauseKind.MEMBER_JOINED, "y1", 2),
    ]
