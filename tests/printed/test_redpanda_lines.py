"""What a Redpanda broker prints of a group at TRACE, worded as its sources have it, is a classic group's story."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import CauseKind

A = "orders-1-6c1d0b29-57f7-4e52-9ffb-38d5ad112b51"
B = "orders-2-6c1d0b29-57f7-4e52-9ffb-38d5ad112b52"


def line(at: str, state: str, generation_id: int, message: str, shard: str = "shard 0:main") -> str:
    head = f"TRACE 2026-03-01 03:12:{at} [{shard}] kafka - group.cc:278 - "
    return f"{head}[N:orders S:{state} G:{generation_id}] {message}"


def moves(at: str, state: str, generation_id: int, to_state: str) -> str:
    return line(at, state, generation_id, f"Changing state from {state} to {to_state}")


def adds(at: str, state: str, generation_id: int, member_id: str) -> str:
    group = "id=orders state=Empty gen=0 proto_type={consumer} proto={nullopt} leader={nullopt} empty=false"
    member = f"id={member_id} group=orders group_inst={{nullopt}} proto_type=consumer assignment_len=0 timeouts=10/300"
    return line(at, state, generation_id, f"Added member {member} with join timeout 300000 ms to group {group}")


def formed(at: str, generation_id: int) -> list[str]:
    return [
        moves(f"{at},000", "PreparingRebalance", generation_id, "CompletingRebalance"),
        moves(f"{at},010", "CompletingRebalance", generation_id, "Stable"),
    ]


BEGINS = [
    adds("00,417", "Empty", 0, A),
    moves("00,417", "Empty", 0, "PreparingRebalance"),
    *formed("03", 1),
]


def told(*lines: str) -> LoggedGroup:
    (group,) = groups_in(merged([read_lines("redpanda.log", [*BEGINS, *lines])]))
    assert (group.group_id, group.group_type) == ("orders", "classic")
    return group


def test_a_group_s_states_are_its_rebalances() -> None:
    (one,) = told().rebalances
    assert (one.from_generation_id, one.generation_id, one.outcome) == (0, 1, "completed")
    assert (one.cause.kind, one.cause.member_id, one.cause.is_inferred) == (CauseKind.MEMBER_JOINED, A, True)
    moments = [one.moment(ms) for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms)]
    assert moments == [f"2026-03-01T03:12:{at}" for at in ("00.417", "03.000", "03.010")]


@pytest.mark.parametrize(
    ("before", "kind", "who"),
    [
        (adds("10,000", "Stable", 1, B), CauseKind.MEMBER_JOINED, B),
        (line("10,000", "Stable", 1, f"Heartbeat expired for keep_alive=false member {A}"), "session_expired", A),
        (line("10,000", "Stable", 1, f"Heartbeat expired for keep_alive=true member {A}"), "unknown", ""),
        (line("09,000", "Stable", 1, f"Heartbeat expired for keep_alive=false member {B}"), "unknown", ""),
        (line("10,000", "Stable", 1, f"Removing member {A}"), "unknown", ""),
    ],
)
def test_who_came_or_expired_just_before_set_a_rebalance_off(before: str, kind: CauseKind, who: str) -> None:
    *_, one = told(before, moves("10,001", "Stable", 1, "PreparingRebalance"), *formed("12", 2)).rebalances
    assert (one.generation_id, one.cause.kind, one.cause.member_id) == (2, kind, who)


def test_a_group_without_members_is_empty() -> None:
    expired = line("10,000", "Stable", 1, f"Heartbeat expired for keep_alive=false member {A}", "shard  1")
    begins = moves("10,000", "Stable", 1, "PreparingRebalance")
    *_, one = told(expired, begins, moves("10,001", "PreparingRebalance", 2, "Empty")).rebalances
    assert (one.generation_id, one.outcome, one.members) == (2, "empty", 0)


@pytest.mark.parametrize(
    "group_id",
    ["orders S:Stable G:5] Changing state from Stable to Empty", "orders S:Stable G:5] Removing unjoined member x"],
)
def test_a_group_id_that_reads_like_a_line_names_no_other_group(group_id: str) -> None:
    printed = moves("10,000", "Stable", 1, "PreparingRebalance").replace("N:orders", f"N:{group_id}")
    assert not [fact for fact in read_lines("redpanda.log", [printed]).facts if fact.group_id == "orders"]
