"""What one client's text can write into a broker's log, for tests: ways to do it, and the lines around them.

Must not know what is right of it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in
from tests.printed import coordinator
from tests.printed.coordinator import JOINS, PREPARES, REJOIN, added, expired, failed, given_an_id, joining, preparing

UUID = "6c1d0b29-57f7-4e52-9ffb-38d5ad112b5{}"
VICTIM, LEADER, FAKE = (f"{name}-{UUID.format(end)}" for name, end in (("victim", 1), ("leader", 2), ("victim", 7)))
END = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
ADDS = "Dynamic member with unknown member id joins group {} in state Empty. Created a new member id "
ADDED = " and added the member to the group."
LEAVES = "[Group {}] Member {} has left group through explicit `LeaveGroup` request; client reason: "


def at(ms: int, message: str) -> str:
    return f"[2026-03-01 03:12:{ms // 1000:02},{ms % 1000:03}] INFO [GroupCoordinator id=1] {message}"


def line(ms: int, message: str) -> str:
    return at(ms, message) + END


def joined(ms: int, group: str, member_id: str, generation_id: int = 0) -> list[str]:
    return [
        line(ms, given_an_id(member_id, group)),
        line(ms + 1, added(member_id, group)),
        line(ms + 2, preparing(generation_id, joining(member_id), group)),
    ]


def formed(ms: int, group: str, generation_id: int, leader: str, members: int) -> list[str]:
    stabilized, assigned = coordinator.formed(generation_id, members, leader, group)
    return [line(ms, stabilized), line(ms + 5, assigned)]


BEFORE = [
    *joined(1_000, "orders", LEADER),
    *joined(1_100, "orders", VICTIM)[:2],
    *formed(4_000, "orders", 1, LEADER, 2),
]
AFTER = [
    *joined(9_000, "payments", f"payer-{UUID.format(5)}"),
    *formed(12_000, "payments", 1, f"payer-{UUID.format(5)}", 1),
]


def story(victim: str) -> str:
    """What the client writes: an innocent one is to blame."""
    forged = [
        line(5_010, failed(victim, "orders")),
        line(5_011, preparing(1, expired(victim), "orders")),
        *formed(5_020, "orders", 2, LEADER, 1),
    ]
    return "\n".join(forged)


def written(first: str, last: str, heading: str = JOINS, end: str = REJOIN) -> Callable[[str], str]:
    """What an id writes that ends its line with a first text, and begins one that the broker's rest ends."""
    rest = f"-{UUID.format(9)}{end}"
    return lambda victim: line(5_000, f"{heading.format('g')}{first}\n{story(victim)}\n{at(5_030, last)}{rest}")


EVIL = f"evil-{UUID.format(8)}"
JOINS_G = f"{JOINS.format('g')}x"
perfect = written(f"{EVIL}{REJOIN}{END}", JOINS_G)


def in_group(victim: str) -> str:
    """The group id does so."""
    first = f"a in Empty state. Created a new member id evil-{UUID.format(8)}{REJOIN}{END}"
    group = f"{first}\n{story(victim)}\n{at(5_030, 'Dynamic member with unknown member id joins group b')}"
    return line(5_000, given_an_id(f"evil-{UUID.format(9)}", group))


def printed_again(victim: str) -> str:
    """The member joins, so that its id is printed a second time."""
    member_id = perfect(victim).split("new member id ", 1)[1].removesuffix(f"{REJOIN}{END}")
    return "\n".join((perfect(victim), *joined(5_100, "g", member_id)[1:]))


def chained(victim: str) -> str:
    """A second id names the id that the first one ends with."""
    second = f"evil-{UUID.format(6)}{REJOIN}{END}\n{joined(5_051, 'g', f'x-{UUID.format(9)}')[1]}\n"
    second += f"{at(5_060, JOINS.format('g'))}y"
    return "\n".join((perfect(victim), line(5_050, given_an_id(f"{second}-{UUID.format(4)}"))))


def blank_lines(victim: str) -> str:
    """Thousands of empty lines lie between the first line and the last."""
    return perfect(victim).replace(f"\n{at(5_030, '')}", "\n" * 20_000 + at(5_030, ""))


def left_with_reason(victim: str) -> str:
    """The reason of a leave ends its line, and a line of the story its own rest."""
    return line(5_000, LEAVES.format("g", "m") + f"bye{END}\n{story(victim).removesuffix(END)}")


def joined_with_reason(victim: str) -> str:
    """The reason of a join does so."""
    head = at(5_030, PREPARES.format("h", 0) + joining(f"n-{UUID.format(8)}", "x"))
    text = f"{preparing(0, joining(f'm-{UUID.format(9)}', 'x'))}{END}\n{story(victim)}\n{head}"
    return line(5_000, text + ").")


BY_ID = {
    "perfect": perfect,
    "a forged line lets the first id join": written(f"{EVIL}{REJOIN}{END}\n{joined(5_001, 'g', EVIL)[1]}", JOINS_G),
    "the group id does so": in_group,
    "an old version, which joins at once": written(f"{EVIL}{ADDED}{END}", f"{ADDS.format('g')}x", ADDS, ADDED),
    "the last line says nothing else": written(f"{EVIL}{REJOIN}{END}", "x"),
    "the first line stays open": written("evil", JOINS_G),
    "the first line ends as no such line does": written(f"evil{END}", JOINS_G),
    "printed again": printed_again,
    "chained": chained,
    "blank lines": blank_lines,
}
ATTACKS = [
    *(
        pytest.param(attack, victim, id=f"{name}-{kind}")
        for name, attack in BY_ID.items()
        for kind, victim in (("known", VICTIM), ("fake", FAKE))
    ),
    *(pytest.param(attack, FAKE, id=attack.__name__) for attack in (left_with_reason, joined_with_reason)),
]
"""A reason that names a member of the group, by its whole id, is in docs/limits.md."""


def groups_of(lines: list[str]) -> dict[str, LoggedGroup]:
    return {group.group_id: group for group in groups_in(merged([read_lines("server.log", lines)]))}
