"""Who owned which partition, by what recorded members and brokers printed, against the truth: right or open, not wrong.

Of groups with the range assignor the truth follows from who was a member. Of the cooperative one, Java's members print
all that they are assigned, in lines that nothing else reads.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from app_logs.group_effects import effects_of
from app_logs.logged_rebalances import UUID_LENGTH
from app_logs.reading import align, merged, read_files
from app_logs.story import groups_in
from schemas.effects import Assigned, Effect, JoinPhaseEnded, MemberJoined
from tests.app_logs.recorded import INCIDENTS, LOGS, truth_of_incident
from why.holdings import holdings_of

PARTITIONS = {"rolling-restart": 6}
MOST_HAVE = 8
Owned = dict[str, set[int]]
_GENERATION = re.compile(r"Successfully joined group with generation Generation\{generationId=(\d+)")
_ASSIGNED = re.compile(r"^\tAssigned partitions: +\[(.*)\]")


def effects_in(name: str, whose: str) -> list[Effect]:
    """The effects of an incident's group by these logs of it."""
    files = [str(path) for pattern in LOGS[whose] for path in sorted((INCIDENTS / name).glob(pattern))]
    reads = read_files(files)
    align(reads)
    groups = {group.group_id: group for group in groups_in(merged(reads))}
    return effects_of(groups[truth_of_incident(name)["group_id"]])


def ranges(members: Sequence[str], partitions: int = MOST_HAVE) -> Owned:
    """What Kafka's range assignor gives members that stand in its order."""
    each, more = divmod(partitions, len(members)) if members else (0, 0)
    begins = [place * each + min(place, more) for place in range(len(members) + 1)]
    return {one: set(range(begins[place], begins[place + 1])) for place, one in enumerate(members)}


def begins(member_id: str) -> str:
    """Its client's or instance's id: a static member that comes back has the partitions of the one before."""
    return member_id[: -UUID_LENGTH - 1]


def is_static(member_id: str) -> bool:
    """Such members come first. A driver names them so."""
    return begins(member_id).endswith("-static")


def given_in(effects: Sequence[Effect]) -> Iterator[tuple[int, str, set[int]]]:
    """Generation, member and partitions of all that is said to be owned."""
    for one in effects:
        if isinstance(one, Assigned) and one.partitions:
            yield one.generation_id, one.member_id, {number for each in one.partitions for number in each.partitions}


@pytest.mark.parametrize(
    ("name", "whose", "least"),
    [
        ("killed", "all", 1.0),
        ("killed", "members", 0.3),
        ("coordinator-moves", "all", 1.0),
        ("coordinator-moves", "members", 0.9),
        ("coordinator-crashes", "all", 1.0),
        ("coordinator-crashes", "members", 0.7),
        ("late-polls", "all", 0.95),
        ("late-polls", "members", 0.75),
        ("stopped-processes", "all", 1.0),
        ("stopped-processes", "members", 0.8),
    ],
)
def test_an_owner_between_two_rebalances_is_the_true_one(name: str, whose: str, least: float) -> None:
    effects, truth = effects_in(name, whose), truth_of_incident(name)
    names = {one.member_id: one.client_id for one in effects if isinstance(one, MemberJoined)}
    holdings, members = holdings_of(effects), set[str]()
    right = asked = 0
    rebalances = [*truth["rebalances"], {"about_ms": truth["cut_ms"]}]
    for one, following in pairwise(rebalances):
        change = members.add if one["cause"] == "member_joined" else members.discard
        change(one["client_id"])
        if one["about_ms"] == following["about_ms"]:
            continue  # One thing that its driver did led to both.
        at_ms = following["about_ms"] - 100
        for client_id, partitions in ranges(sorted(members)).items():
            for partition in partitions:
                held = [each for each in holdings if each.partition.number == partition and each.is_held_at(at_ms)]
                owners = {names[each.member_id] for each in held}
                assert owners <= {client_id}, (one, partition)
                right, asked = right + len(owners), asked + 1
    assert right / asked >= least, (right, asked)


@pytest.mark.parametrize("whose", ["all", "members"])
@pytest.mark.parametrize(
    "name", [path.name for path in sorted(INCIDENTS.iterdir()) if path.name not in ("cooperative", "consumer-protocol")]
)
def test_no_generation_gives_a_member_what_the_assignor_does_not(name: str, whose: str) -> None:
    by_brokers = effects_in(name, "all")
    formed = {one.generation_id: one.member_ids for one in by_brokers if isinstance(one, JoinPhaseEnded)}
    asked = 0
    for generation_id, member_id, partitions in given_in(effects_in(name, whose)):
        if generation_id in formed:
            order = sorted(formed[generation_id], key=lambda one: (not is_static(one), one))
            true = ranges([*map(begins, order)], PARTITIONS.get(name, MOST_HAVE))
            assert partitions <= true[begins(member_id)], generation_id
            asked += 1
    assert asked > 5


@pytest.mark.parametrize("whose", ["all", "members"])
def test_cooperative_members_own_what_they_are_assigned(whose: str) -> None:
    true: dict[tuple[int, str], set[int]] = {}
    for path in sorted((INCIDENTS / "cooperative" / "clients").glob("cart-java*.gz")):
        generation_id = 0
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            joined, assigned = _GENERATION.search(line), _ASSIGNED.search(line)
            generation_id = int(joined[1]) if joined else generation_id
            if assigned:
                own = {int(one.rpartition("-")[2]) for one in assigned[1].split(", ") if one}
                true[generation_id, path.name.removesuffix(".log.gz")] = own
    found = [one for one in given_in(effects_in("cooperative", whose)) if "-conf-" not in one[1]]
    for generation_id, member_id, partitions in found:
        assert partitions == true[generation_id, begins(member_id)], generation_id
    assert len(found) > 10
