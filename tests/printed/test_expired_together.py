"""Members that one broker's lines remove at once: that they have one cause is inferred, and which one is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from rollcall.inputs.printed.logged_rebalances import Finding
from rollcall.inputs.printed.reading import read_lines
from rollcall.inputs.printed.story import groups_in
from tests.printed.coordinator import failed

HEADING = "[2026-03-01 03:12:{:06.3f}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition={}] {} (x.Y)"
GROUPS = ("orders", "billing", "audit")
UUID = "6c1d0b29-57f7-4e52-9ffb-38d5ad11200"


def line(second: float, group_id: str, text: str) -> str:
    return HEADING.format(second, GROUPS.index(group_id), text)


def expires(second: float, group_id: str, member: int) -> str:
    member_id = f"app-{member}-{UUID}{member}"
    return line(second, group_id, failed(member_id, group_id))


def fenced(second: float, group_id: str, member: int) -> str:
    text = f"[GroupId {group_id}] Member {UUID}{member} fenced from the group because the member session expired."
    return line(second, group_id, text)


def together(lines: Sequence[str]) -> dict[str, list[Finding]]:
    """By group, the findings that members expired at once."""
    found = groups_in(read_lines("server.log", lines).facts)
    return {each.group_id: [one for one in each.findings if one.finding == "common_cause"] for each in found}


@pytest.mark.parametrize("removes", [expires, fenced])
def test_members_of_several_groups_that_expire_at_once_have_one_cause_and_which_is_open(
    removes: Callable[[float, str, int], str],
) -> None:
    found = together([removes(1.0, "orders", 1), removes(1.002, "billing", 2), removes(1.12, "audit", 3)])
    assert {group_id: len(findings) for group_id, findings in found.items()} == dict.fromkeys(GROUPS, 1)
    (one,) = found["billing"]
    assert "3 members of 3 groups (orders, billing, audit) expired within 120 ms on broker 1" in one.sentence
    assert one.is_inferred
    assert len(one.facts) == len(one.candidates) == 3


@pytest.mark.parametrize(
    "lines",
    [
        [expires(1.0, "orders", 1), expires(1.01, "billing", 2)],
        [expires(1.0, "orders", 1), expires(11.0, "billing", 2), expires(21.0, "audit", 3)],
        [expires(1.0 + 0.9 * place, GROUPS[place % 3], place) for place in range(9)],
        [
            *(expires(1.0 + place / 100, group_id, place) for place, group_id in enumerate(GROUPS)),
            *(expires(20.0 + 5 * place, "orders", 5 + place) for place in range(2)),
        ],
        [expires(1.0 + place / 100, "orders", place) for place in range(4)],
        [
            *(line(0.5, group_id, f"Loaded classic group {group_id} with 3 members.") for group_id in GROUPS),
            *(expires(10.5 + place / 100, group_id, place) for place, group_id in enumerate(GROUPS)),
        ],
    ],
    ids=[
        "two may be one process",
        "one after the other",
        "a stream of them",
        "others expire too",
        "one group",
        "unheard since the group was loaded",
    ],
)
def test_others_are_not_said_to_have_one_cause(lines: list[str]) -> None:
    assert not any(together(lines).values())
