"""What one client's text can write into a broker's log, for tests: ways to do it, and the lines around them.

Must not know what is right of it.
"""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in

UUID = "6c1d0b29-57f7-4e52-9ffb-38d5ad112b5{}"
VICTIM, LEADER, FAKE = (f"{name}-{UUID.format(end)}" for name, end in (("victim", 1), ("leader", 2), ("victim", 7)))
END = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
JOINS = "Dynamic member with unknown member id joins group {} in Empty state. Created a new member id "
REJOIN = " and requesting the member to rejoin with this id."
ADDS = "Dynamic member with unknown member id joins group {} in state Empty. Created a new member id "
ADDED = " and added the member to the group."
PREPARES = "Preparing to rebalance group {} in state PreparingRebalance with old generation {} (reason: "
LEAVES = "[Group {}] Member {} has left group through explicit `LeaveGroup` request; client reason: "


def at(ms: int, message: str) -> str:
    return f"[2026-03-01 03:12:{ms // 1000:02},{ms % 1000:03}] INFO [GroupCoordinator id=1] {message}"


def line(ms: int, message: str) -> str:
    return at(ms, message) + END


def joined(ms: int, group: str, member_id: str, generation_id: int = 0) -> list[str]:
    return [
        line(ms, JOINS.format(group) + member_id + REJOIN),
        line(
            ms + 1,
            f"Pending dynamic member with id {member_id} joins group {group} in Empty state. Adding to the group now.",
        ),
        line(
            ms + 2,
            PREPARES.format(group, generation_id)
            + f"Adding new member {member_id} with group instance id null; client reason: not provided).",
        ),
    ]


def formed(ms: int, group: str, generation_id: int, leader: str, members: int) -> list[str]:
    led = f"Assignment received from leader {leader} for group {group} for generation {generation_id}. "
    return [
        line(ms, f"Stabilized group {group} generation {generation_id} with {members} members."),
        line(ms + 5, f"{led}The group has {members} members, 0 of which are static."),
    ]


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
    expired = f"removing member {victim} on heartbeat expiration.)."
    forged = [
        line(5_010, f"Member {victim} in group orders has failed, removing it from the group."),
        line(5_011, PREPARES.format("orders", 1) + expired),
        *formed(5_020, "orders", 2, LEADER, 1),
    ]
    return "\n".join(forged)


def perfect(victim: str) -> str:
    """The id closes its own line and opens one that the broker's rest closes."""
    text = f"evil-{UUID.format(8)}{REJOIN}{END}\n{story(victim)}\n{at(5_030, JOINS.format('g'))}x"
    return line(5_000, JOINS.format("g") + f"{text}-{UUID.format(9)}{REJOIN}")


def confirmed(victim: str) -> str:
    """The same, and a forged line lets the first id join."""
    evil = f"evil-{UUID.format(8)}"
    text = f"{evil}{REJOIN}{END}\n{joined(5_001, 'g', evil)[1]}\n{story(victim)}\n{at(5_030, JOINS.format('g'))}x"
    return line(5_000, JOINS.format("g") + f"{text}-{UUID.format(9)}{REJOIN}")


def in_group(victim: str) -> str:
    """The group id does so."""
    first = f"a in Empty state. Created a new member id evil-{UUID.format(8)}{REJOIN}{END}"
    group = f"{first}\n{story(victim)}\n{at(5_030, 'Dynamic member with unknown member id joins group b')}"
    return line(5_000, JOINS.format(group) + f"evil-{UUID.format(9)}{REJOIN}")


def added(victim: str) -> str:
    """The client is of an old version, which joins at once."""
    text = f"evil-{UUID.format(8)}{ADDED}{END}\n{story(victim)}\n{at(5_030, ADDS.format('g'))}x"
    return line(5_000, ADDS.format("g") + f"{text}-{UUID.format(9)}{ADDED}")


def two(victim: str) -> str:
    """The rest of the broker's line ends a line that says nothing else."""
    text = f"evil-{UUID.format(8)}{REJOIN}{END}\n{story(victim)}\n{at(5_030, 'x')}"
    return line(5_000, JOINS.format("g") + f"{text}-{UUID.format(9)}{REJOIN}")


def opened(victim: str) -> str:
    """The first line stays open."""
    text = f"evil\n{story(victim)}\n{at(5_030, JOINS.format('g'))}x"
    return line(5_000, JOINS.format("g") + f"{text}-{UUID.format(9)}{REJOIN}")


def wrong_end(victim: str) -> str:
    """The first line ends as no such line does."""
    text = f"evil{END}\n{story(victim)}\n{at(5_030, JOINS.format('g'))}x"
    return line(5_000, JOINS.format("g") + f"{text}-{UUID.format(9)}{REJOIN}")


def printed_again(victim: str) -> str:
    """The member joins, so that its id is printed a second time."""
    member_id = perfect(victim).split("new member id ", 1)[1].removesuffix(f"{REJOIN}{END}")
    return "\n".join((perfect(victim), *joined(5_100, "g", member_id)[1:]))


def chained(victim: str) -> str:
    """A second id names the id that the first one ends with."""
    second = f"evil-{UUID.format(6)}{REJOIN}{END}\n{joined(5_051, 'g', f'x-{UUID.format(9)}')[1]}\n"
    second += f"{at(5_060, JOINS.format('g'))}y"
    return "\n".join((perfect(victim), line(5_050, JOINS.format("g") + f"{second}-{UUID.format(4)}{REJOIN}")))


def blank_lines(victim: str) -> str:
    """Thousands of empty lines lie between the first line and the last."""
    return perfect(victim).replace(f"\n{at(5_030, '')}", "\n" * 20_000 + at(5_030, ""))


def left_with_reason(victim: str) -> str:
    """The reason of a leave ends its line, and a line of the story its own rest."""
    return line(5_000, LEAVES.format("g", "m") + f"bye{END}\n{story(victim).removesuffix(END)}")


def joined_with_reason(victim: str) -> str:
    """The reason of a join does so."""
    adding = "Adding new member {} with group instance id null; client reason: x"
    head = at(5_030, PREPARES.format("h", 0) + adding.format(f"n-{UUID.format(8)}"))
    text = f"{PREPARES.format('g', 0)}{adding.format(f'm-{UUID.format(9)}')}).{END}\n{story(victim)}\n{head}"
    return line(5_000, text + ").")


BY_ID = (perfect, confirmed, in_group, added, two, opened, wrong_end, printed_again, chained, blank_lines)
BY_REASON = (left_with_reason, joined_with_reason)
ATTACKS = [
    *(
        pytest.param(attack, victim, id=f"{attack.__name__}-{kind}")
        for attack in BY_ID
        for kind, victim in (("known", VICTIM), ("fake", FAKE))
    ),
    *(pytest.param(attack, FAKE, id=attack.__name__) for attack in BY_REASON),
]
"""A reason that names a member of the group, by its whole id, is in docs/limits.md."""


def groups_of(lines: list[str]) -> dict[str, LoggedGroup]:
    return {group.group_id: group for group in groups_in(merged([read_lines("server.log", lines)]))}
