"""A broker's lines about groups of the newer protocols: which epochs they prove, who set them off, who owned what."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest

from rollcall.cli.explain import Asked, explain
from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedGroup
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.wording import left_open
from rollcall.programs.terminal import Terminal
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.effects import GroupFound, MemberJoined, MemberRemoved, RebalanceEnded, RebalanceStarted

HEADING = "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=4] "
TOPIC = "8l8rBsX6TMqbHE6QgWshde"
A, B, C = "hjWzAEmmRlOfypB2_GB_8R", "7nc1qt8rSeyTwBh__vZELR", "s0XcN8mETuGqvH1s3XwK4w"


def group_of(*printed: str, gap_s: int = 1, at_s: Sequence[int] = ()) -> LoggedGroup:
    """Group g by lines that come some seconds apart, from 00:00:00 on, or at the given seconds."""
    return groups_of(*printed, gap_s=gap_s, at_s=at_s)[0]


def groups_of(*printed: str, gap_s: int = 1, at_s: Sequence[int] = ()) -> list[LoggedGroup]:
    times = [divmod(second, 60) for second in at_s or range(0, len(printed) * gap_s, gap_s)]
    lines = [
        f"[2026-03-01 00:{minute:02}:{second:02},000] {HEADING}{text}"
        for (minute, second), text in zip(times, printed, strict=True)
    ]
    return groups_in(merged([read_lines("server.log", lines)]))


def assigned_to(*member_ids: str) -> str:
    """A target assignment as a broker prints it."""
    return "{" + ", ".join(f"{one}=MemberAssignment(partitions={{{TOPIC}=[0, 1]}})" for one in member_ids) + "}"


def target(epoch: int, *member_ids: str, wording: str = "in 1ms: ") -> str:
    assigned = assigned_to(*member_ids) if member_ids else ""
    between = " " if wording.startswith("in") else ""
    return (
        f"[GroupId g] Computed a new target assignment for epoch {epoch} with 'uniform' assignor{between}"
        f"{wording if member_ids else wording.removesuffix(': ')}{assigned}."
    )


def state(
    member_id: str, epoch: int, partitions: str = f"{TOPIC}-0", *, share: bool = False, is_in: str = "STABLE"
) -> str:
    revoked = "" if share else " and revokedPartitions=[]"
    return (
        f"[GroupId g] Member {member_id} new assignment state: epoch={epoch}, previousEpoch={epoch - 1}, "
        f"state={is_in}, assignedPartitions=[{partitions}]{revoked}."
    )


def bumped(epoch: int, hash_of: str = " with metadata hash 7") -> str:
    return f"[GroupId g] Bumped group epoch to {epoch}{hash_of}."


def joins(member_id: str) -> str:
    return f"[GroupId g] Member {member_id} joins the consumer group using the consumer protocol."


def fenced(member_id: str) -> str:
    return f"[GroupId g] Member {member_id} fenced from the group because the member session expired."


def epochs_of(group: LoggedGroup) -> list[tuple[int | None, str, str, bool]]:
    """Each rebalance's epoch, cause and culprit, and whether that is inferred."""
    causes = [(one.generation_id, one.cause) for one in group.rebalances]
    return [(epoch, str(cause.kind), cause.member_id, cause.is_inferred) for epoch, cause in causes]


def found(group: LoggedGroup, key: str) -> list[Finding]:
    return [one for one in group.findings if one.finding == key]


def said(groups: Sequence[LoggedGroup]) -> str:
    return "\n".join(left_open([*groups]))


# ---------------------------------------------------------------- streams groups

TASKS = "(active={{0=[{}], 1=[0, 1]}}, standby={{1=[2]}}, warmup={{}})"


def target_of_tasks(epoch: int, *member_ids: str) -> str:
    tasks = ", ".join(f"{one}={TASKS.format(place)}" for place, one in enumerate(member_ids))
    return f"[GroupId g] Computed a new target assignment for epoch {epoch} with 'sticky' assignor in 2ms: {{{tasks}}}."


def test_targets_of_tasks_show_who_came_and_went_in_a_streams_group() -> None:
    group = group_of(target_of_tasks(4, A, B), target_of_tasks(5, A), target_of_tasks(6, A, C))
    assert group.group_type == "streams"
    assert [one[1:3] for one in epochs_of(group)] == [("unknown", ""), ("member_left", B), ("member_joined", C)]


# ---------------------------------------------------------------- targets


@pytest.mark.parametrize("wording", ["in 1ms: ", ": "], ids=["3.8", "3.7"])
def test_targets_show_epochs_and_who_came_and_went(wording: str) -> None:
    group = group_of(target(4, A, B, wording=wording), target(5, A, wording=wording), target(6, A, C, wording=wording))
    assert (group.group_type, found(group, "generations_missing")) == ("consumer", [])
    assert epochs_of(group) == [
        (4, "unknown", "", False),
        (5, "member_left", B, True),
        (6, "member_joined", C, True),
    ]
    assert {one.kind for one in group.rebalances[1].cause.candidates} >= {
        CauseKind.MEMBER_LEFT,
        CauseKind.SESSION_EXPIRED,
    }
    assert [one.moment(one.began_at_ms) for one in group.rebalances][:1] == ["2026-03-01T00:00:00.000"]


def test_a_target_without_its_map_shows_an_epoch_and_not_when_it_began() -> None:
    group = group_of(target(4), target(5))
    assert group.group_type == "consumer"
    assert epochs_of(group) == [(4, "unknown", "", False), (5, "unknown", "", False)]
    assert [one.began_at_ms for one in group.rebalances] == [None, None]


def test_the_target_of_a_bumped_epoch_is_no_second_rebalance() -> None:
    group = group_of(joins(A), bumped(2), target(2, A), joins(B), bumped(3), target(3, A, B))
    assert epochs_of(group) == [(2, "member_joined", A, False), (3, "member_joined", B, False)]


@pytest.mark.parametrize(
    "lines",
    [
        (target(4, A, B), target(5, A, C)),
        (target(4, A), target(6, A, B)),
        (target(4, A, B), target(5, A), state(B, 5)),
    ],
    ids=["two differ", "an epoch between", "still there"],
)
def test_who_changed_a_target_is_open_where_more_fits(lines: Sequence[str]) -> None:
    assert epochs_of(group_of(*lines))[1][1:] == ("unknown", "", False)


def test_an_epoch_ends_when_all_members_of_its_target_are_stable() -> None:
    lines = [target(4, A, B), state(A, 4), state(B, 4, is_in="UNRELEASED_PARTITIONS"), state(B, 4)]
    (one,) = group_of(*lines).rebalances
    assert (one.moment(one.ended_at_ms), one.outcome) == ("2026-03-01T00:00:03.000", "completed")
    (one,) = group_of(*lines[:3]).rebalances
    assert (one.ended_at_ms, one.outcome) == (None, "")


def test_a_target_of_another_epoch_ends_none() -> None:
    group = group_of(bumped(4), target(4, A, B), state(A, 4), bumped(5), state(B, 5))
    assert [one.outcome for one in group.rebalances] == ["", ""]


def test_a_new_group_has_an_epoch_without_a_rebalance() -> None:
    group = group_of(joins(A), state(A, 1), bumped(2), joins(B), bumped(3))
    (begun, _) = (one for one in effects_of(group) if isinstance(one, RebalanceStarted))
    assert [one[0] for one in epochs_of(group)] == [2, 3]
    assert (begun.from_state, begun.members_before) == ("Stable", 1)


# ---------------------------------------------------------------- how many members

COUNTED = (joins(A), bumped(2), joins(B), bumped(3))


@pytest.mark.parametrize(
    ("lines", "members"),
    [
        (COUNTED, [1, 2]),
        ((*COUNTED, target(3, A, B), target(4, A, B)), [1, 2, None]),
        ((*COUNTED, target(3, A)), [1, None]),
        ((*COUNTED, state(C, 3), bumped(4)), [1, 2, None]),
        (COUNTED[2:], [None]),
        (tuple(line.replace("consumer", "share") for line in COUNTED), [None, None]),
    ],
    ids=["all", "a target alone", "another target", "one who never came", "not from the beginning", "share"],
)
def test_members_are_counted_where_every_line_is_there(lines: Sequence[str], members: Sequence[int | None]) -> None:
    assert [one.members for one in group_of(*lines).rebalances] == members


def test_a_target_and_a_state_show_who_is_a_member_and_who_no_longer() -> None:
    effects = effects_of(group_of(state(C, 3), target(4, A, B), target(5, A)))
    joined = [(one.member_id, one.at_ms, one.is_inferred) for one in effects if isinstance(one, MemberJoined)]
    removed = [(one.member_id, one.end_cause) for one in effects if isinstance(one, MemberRemoved)]
    began_ms = joined[0][1]
    assert joined == [(C, began_ms, True), (B, began_ms + 1_000, True), (A, began_ms + 1_000, True)]
    assert removed == [(C, "unknown"), (B, "unknown")]
    assert [one.gone for one in effects if isinstance(one, RebalanceEnded)] == [(), (C,), (B,)]


def test_who_subscribes_without_a_join_may_have_joined() -> None:
    subscribes = f"[GroupId g] Member {B} updated its subscribed topics to: [a]."
    group = group_of(joins(A), bumped(2), subscribes, bumped(3), state(B, 3), subscribes, bumped(4))
    assert [one[1:] for one in epochs_of(group)[1:]] == [("unknown", B, True), ("subscription_changed", B, False)]


def test_a_group_whose_last_member_goes_is_empty() -> None:
    (*_, last) = group_of(joins(A), bumped(2), fenced(A), bumped(3)).rebalances
    assert (last.outcome, last.members, last.moment(last.ended_at_ms)) == ("empty", 0, "2026-03-01T00:00:03.000")


# ---------------------------------------------------------------- what is missing


@pytest.mark.parametrize(
    "lines",
    [(state(A, 4), state(A, 6)), (target(4, A), target(7, A)), (state(A, 4), bumped(7)), (bumped(4), state(A, 7))],
)
def test_epochs_without_a_bump_line_prove_no_missing_lines(lines: Sequence[str]) -> None:
    group = group_of(*lines)
    assert len(group.rebalances) == 2
    assert found(group, "generations_missing") == []


def test_bumps_prove_that_the_lines_of_epochs_between_are_missing() -> None:
    (one,) = found(group_of(joins(A), bumped(4), joins(B), bumped(7)), "generations_missing")
    assert one.sentence == "Epochs 5 to 6 are not in these lines."


def test_a_line_with_a_time_is_never_shown_without_one(tmp_path: Path) -> None:
    log, written = tmp_path / "server.log", StringIO()
    log.write_text("".join(f"[2026-03-01 00:00:00,000] {HEADING}{text}\n" for text in (state(A, 4), target(5))))
    explain([str(log)], Asked(), "text", Terminal(file=written, highlight=False))
    assert "no time" not in written.getvalue()
    assert written.getvalue().count("by 2026-03-01 00:00:00.000") == 2


# ---------------------------------------------------------------- removals


@pytest.mark.parametrize(
    ("because", "kind"),
    [
        ("fenced from the group because the member session expired", "session_expired"),
        ("fenced from the group because it failed to transition from epoch 3 within 300000ms", "rebalance_timeout"),
        ("left the consumer group", "member_left"),
    ],
)
def test_a_removal_without_its_bump_is_told_and_its_epoch_is_open(because: str, kind: str) -> None:
    group = group_of(f"[GroupId g] Member {A} {because}.")
    (one,) = group.rebalances
    assert group.group_type == "consumer"
    assert (one.generation_id, str(one.cause.kind), one.cause.member_id) == (None, kind, A)
    assert one.began_at_ms is not None


def test_a_removal_long_before_a_bump_did_not_bring_it() -> None:
    group = group_of(joins(A), bumped(4), fenced(A), joins(B), bumped(6), at_s=(0, 0, 30, 60, 60))
    assert epochs_of(group) == [
        (4, "member_joined", A, False),
        (None, "session_expired", A, False),
        (6, "member_joined", B, False),
    ]
    assert epochs_of(group_of(bumped(4), fenced(A), bumped(6), gap_s=30))[1:][0][:3] == (None, "session_expired", A)


def test_who_joins_again_under_its_id_had_polled_too_late() -> None:
    left = f"[GroupId g] Member {A} left the consumer group."
    group = group_of(bumped(4), left, bumped(5), joins(A), bumped(6), gap_s=30)
    assert epochs_of(group)[1] == (None, "poll_timeout", A, True)


def test_a_later_epoch_of_a_member_ends_what_may_bring_the_next() -> None:
    group = group_of(bumped(4), fenced(A), state(B, 5), bumped(6))
    assert [one[:2] for one in epochs_of(group)] == [
        (4, "unknown"),
        (None, "session_expired"),
        (5, "unknown"),
        (6, "subscription_changed"),
    ]


def test_brokers_before_4_1_print_no_bump_for_a_removal() -> None:
    lines = joins(A), bumped(2, ""), joins(B), bumped(3, ""), fenced(A), joins(A), bumped(5, "")
    group = group_of(*lines, at_s=(0, 0, 30, 30, 60, 90, 90))
    assert epochs_of(group) == [
        (2, "member_joined", A, False),
        (3, "member_joined", B, False),
        (4, "session_expired", A, False),
        (5, "member_joined", A, False),
    ]
    assert found(group, "generations_missing") == []


def test_the_target_after_a_removal_has_its_epoch() -> None:
    group = group_of(fenced(A), target(8, B), gap_s=3)
    assert epochs_of(group) == [(8, "session_expired", A, True)]


@pytest.mark.parametrize("lines", [(fenced(A), bumped(8, "")), (bumped(7, ""), fenced(A), bumped(8, ""))])
def test_a_bump_that_follows_a_removal_at_once_is_no_second_rebalance(lines: Sequence[str]) -> None:
    assert epochs_of(group_of(*lines))[-1] == (8, "session_expired", A, False)
    assert len(group_of(*lines).rebalances) == len(lines) - 1


# ---------------------------------------------------------------- static members

OWNED = (
    "[GroupId g] Static member {} with instance id i cannot join the group because the instance id is owned by member "
    "{}."
)


@pytest.mark.parametrize("wording", [OWNED, OWNED.replace("id is owned", "id is is owned")])
def test_who_owns_an_instance_id_keeps_another_one_out(wording: str) -> None:
    group = group_of(wording.format(B, A), wording.format(B, A), fenced(A), bumped(8))
    (one,) = found(group, "instance_id_owned")
    assert group.group_type == "consumer"
    assert f"{B} could not join as i 2 times: {A} owned this group.instance.id" in one.sentence
    assert "2 s after the first attempt" in one.sentence
    assert not one.is_inferred
    assert [fact.line_number for fact in one.facts] == [1, 2, 3]


def test_who_is_kept_out_to_the_end_is_told_too() -> None:
    (one,) = found(group_of(OWNED.format(B, A)), "instance_id_owned")
    assert one.sentence.endswith("had not left.")


def test_a_static_member_that_leaves_for_a_while_brings_no_epoch() -> None:
    away = f"[GroupId g] Static member {A} with instance id i temporarily left the consumer group."
    group = group_of(joins(B), bumped(3), away, bumped(4), at_s=(0, 0, 1, 2))
    assert [one[2] for one in epochs_of(group)] == [B, ""]
    assert group_of(away).rebalances == []


def test_a_fenced_static_member_is_one_of_the_group_that_its_line_names() -> None:
    line = f"[GroupId g] Static member {A} with instance id i is fenced by existing member {B}."
    (one,) = found(group_of(line), "fenced")
    assert one.sentence == f"{A} was fenced: {B} is the member i now."


# ---------------------------------------------------------------- owners


@pytest.mark.parametrize("share", [True, False])
def test_what_members_have_by_the_coordinator_s_lines_is_told(share: bool) -> None:
    three = ", ".join(f"{TOPIC}-{number}" for number in range(3))
    group = group_of(
        state(A, 4, three, share=share), state(B, 4, f"{TOPIC}-3", share=share), state(B, 5, "", share=share)
    )
    (one,) = found(group, "owners")
    assert f"{A}: {TOPIC} 0-2" in one.sentence
    assert f"{B}: none" in one.sentence
    assert "owned which partition" not in said([group])


@pytest.mark.parametrize(
    "goes",
    [
        (fenced(A), state(B, 5)),
        (state(B, 5),),
        (target(5, B), state(B, 5, f"{TOPIC}-1")),
        (
            "[GroupId g] Static member with instance id i re-joins the consumer group using the consumer protocol. "
            f"Created a new member {B} to replace the existing member {A}.",
            state(B, 4),
        ),
    ],
    ids=["removed", "taken", "not in the target", "replaced"],
)
def test_what_a_member_has_no_longer_is_not_told(goes: Sequence[str]) -> None:
    (one,) = found(group_of(state(A, 4), *goes), "owners")
    assert B in one.sentence
    assert A not in one.sentence


def test_members_that_exchange_partitions_have_the_latest() -> None:
    (one,) = found(group_of(state(A, 4), state(A, 5, f"{TOPIC}-1"), state(B, 5)), "owners")
    assert f"{A}: {TOPIC} 1, {B}: {TOPIC} 0" in one.sentence


def test_members_of_a_share_group_have_one_partition_together() -> None:
    (one,) = found(group_of(state(A, 4, share=True), state(B, 4, share=True)), "owners")
    assert f"{A}: {TOPIC} 0, {B}: {TOPIC} 0" in one.sentence


def test_a_member_that_still_gives_partitions_up_owns_more() -> None:
    (one,) = found(group_of(state(A, 4, is_in="UNREVOKED_PARTITIONS")), "owners")
    assert f"{A}: at least {TOPIC} 0" in one.sentence


def moved(before: str, after: str, to_state: str) -> str:
    """A member's move as Kafka 3.7 prints it: what it had and was to give up before, and what it has after."""
    ends = "partitionsPendingAssignment={})"
    return (
        f"[GroupId g] Member {A} transitioned from CurrentAssignment(memberEpoch=3, previousMemberEpoch=2, "
        f"targetMemberEpoch=4, state=revoking, assignedPartitions={{}}, partitionsPendingRevocation={before}, {ends} "
        f"to CurrentAssignment(memberEpoch=4, previousMemberEpoch=3, targetMemberEpoch=4, state={to_state}, "
        f"assignedPartitions={after}, partitionsPendingRevocation={{}}, {ends}."
    )


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (f"{{{TOPIC}=[0, 1, 2]}}", f"{{{TOPIC}=[1, 2, 3]}}", "2 partitions"),
        (f"{{{TOPIC}=[0]}}", f"{{{TOPIC}=[0]}}", "1 partition"),
        (f"{{{TOPIC}=[0]}}", f"{{{TOPIC}=[1]}}", ""),
        ("{}", f"{{{TOPIC}=[0]}}", ""),
    ],
)
def test_what_a_member_was_to_give_up_and_has_again_is_told(before: str, after: str, kept: str) -> None:
    findings = found(group_of(moved(before, after, "stable")), "revocation_never_confirmed")
    assert len(findings) == bool(kept)
    for one in findings:
        assert f"{A} was to give {kept} up" in one.sentence
        assert one.is_inferred
        assert len(one.candidates) == 2


@pytest.mark.parametrize(("to_state", "outcome"), [("stable", "completed"), ("revoking", "")])
def test_kafka_3_7_s_states_end_an_epoch_too(to_state: str, outcome: str) -> None:
    group = group_of(bumped(4), target(4, A), moved("{}", f"{{{TOPIC}=[0]}}", to_state))
    assert group.rebalances[-1].outcome == outcome
    (one,) = found(group, "owners")
    assert ("at least" in one.sentence) == (to_state == "revoking")


CLASSIC = "Preparing to rebalance group g in state PreparingRebalance with old generation 3 (reason: {})."


@pytest.mark.parametrize(
    "lines",
    [
        (joins(A), bumped(4)),
        (joins(A).replace("consumer group", "share group"), bumped(4)),
        (f"[GroupId g][MemberId {A}] Member joins the streams group.",),
        (target(4, A),),
    ],
)
def test_no_leader_is_asked_where_a_group_has_none(lines: Sequence[str]) -> None:
    assert "leader" not in said(groups_of(*lines))


def test_the_leader_of_a_classic_group_is_asked() -> None:
    classic = CLASSIC.format("removing member x on LeaveGroup")
    assert "leader's own log" in said(groups_of(classic))


# ---------------------------------------------------------------- the type of a group

UP = "[GroupId g] Converted the classic group to a consumer group."
DOWN = "[GroupId g] Converted the consumer group to a classic group."


@pytest.mark.parametrize(
    ("lines", "group_type"),
    [
        ((CLASSIC.format("x"), UP), "consumer"),
        ((CLASSIC.format("x"), UP, joins(A), bumped(5)), "consumer"),
        (
            (joins(A), bumped(4), fenced(A), CLASSIC.format("Downgrade group g from consumer to classic."), DOWN),
            "classic",
        ),
        ((DOWN, UP), "consumer"),
        ((UP, DOWN), "classic"),
        ((fenced(A),), "consumer"),
        ((state(A, 4),), "consumer"),
        ((state(A, 4, share=True), bumped(5)), "share"),
        (("[GroupId g] Streams member x fenced from the group because the member session expired..",), "streams"),
    ],
)
def test_a_group_is_one_and_its_type_is_that_of_the_latest_line_that_shows_one(
    lines: Sequence[str], group_type: str
) -> None:
    assert [one.group_type for one in groups_of(*lines)] == [group_type]


def test_targets_alone_are_the_history_of_a_consumer_group() -> None:
    effects = effects_of(group_of(target(4, A), target(5, A, B)))
    assert [one.group_type for one in effects if isinstance(one, GroupFound)] == ["consumer"]
    ended = [one for one in effects if isinstance(one, RebalanceEnded)]
    assert [(one.to_generation_id, one.cause.kind) for one in ended] == [(4, "unknown"), (5, "member_joined")]


def test_an_epoch_that_ended_is_told_once() -> None:
    lines = (joins(A), bumped(2), target(2, A), state(A, 2), state(A, 2, is_in="UNRELEASED_PARTITIONS"), state(A, 2))
    ended = [one for one in effects_of(group_of(*lines)) if isinstance(one, RebalanceEnded)]
    assert [(one.to_generation_id, one.outcome) for one in ended] == [(2, "completed")]
