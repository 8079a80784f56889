"""Who owned which partition, by what recorded members and brokers printed, against the truth: right or open, not wrong.

Of groups with the range assignor the truth follows from who was a member. Of the cooperative one, Java's members print
all that they are assigned, in lines that nothing else reads.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest

from rollcall.history.holdings import holdings_of
from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.logged_rebalances import UUID_LENGTH
from rollcall.inputs.printed.reading import align, merged, read_files, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.effects import Assigned, Effect, JoinPhaseEnded, MemberJoined
from tests.printed.recorded import INCIDENTS, LOGS, truth_of_incident
from tests.source_tree import ROOT

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


# ---------------------------------------------------------------- members of the newer protocol

MEMBERS = {"parcels-1": "oVbPzHxkTzCKFmEyCFWcKQ", "parcels-2": "Oa2K6xbZQFO6QwBe3Ty5Vg"}


def changes_to(epoch: int, before: str, after: str) -> str:
    return f"Member {{member}} with epoch {epoch} transitioned from {before} to {after}."


def reconciling(assigned: str, owned: str, added: str, revoked: str) -> str:
    return (
        "Reconciling assignment with local epoch 3\n\tMember:                                    {member}\n"
        f"\tAssigned partitions:                       [{assigned}]\n"
        f"\tCurrent owned partitions:                  [{owned}]\n"
        f"\tAdded partitions (assigned - owned):       [{added}]\n"
        f"\tRevoked partitions (owned - assigned):     [{revoked}]\n"
    )


def of_members(*printed: tuple[int, str, str]) -> list[tuple[int, str, set[int] | None]]:
    """(second, client id, what is said to be owned) by what clients print: (second, client id, message)."""
    lines: dict[str, list[str]] = {}
    for second, client_id, message in printed:
        heading = f"2026-03-01 03:12:{second:02},000 INFO [Consumer clientId={client_id}, groupId=parcels] "
        lines.setdefault(client_id, []).extend((heading + message.format(member=MEMBERS[client_id])).split("\n"))
    (group,) = groups_in(merged([read_lines(f"{client_id}.log", own) for client_id, own in lines.items()]))
    found = [one for one in effects_of(group) if isinstance(one, Assigned)]
    numbers = [
        None if one.partitions is None else {number for each in one.partitions for number in each.partitions}
        for one in found
    ]
    return [(one.at_ms // 1000 % 60, one.client_id, owned) for one, owned in zip(found, numbers, strict=True)]


RECONCILED = ROOT / "tests" / "printed" / "reconciled"
OF_TOPICS = [*(("parcels", number) for number in range(8)), *(("notes", number) for number in range(3))]
JOINED = [
    (1, "parcels-1", changes_to(0, "UNSUBSCRIBED", "JOINING")),
    (2, "parcels-1", changes_to(4, "JOINING", "RECONCILING")),
]


def test_a_member_owns_what_it_reconciles_once_it_acknowledges() -> None:
    assert of_members(
        *JOINED,
        (3, "parcels-1", reconciling("parcels-0, parcels-1", "", "parcels-0, parcels-1", "")),
        (5, "parcels-1", changes_to(4, "RECONCILING", "ACKNOWLEDGING")),
        (7, "parcels-1", changes_to(5, "STABLE", "RECONCILING")),
        (8, "parcels-1", reconciling("parcels-1, parcels-2", "parcels-0, parcels-1", "parcels-2", "parcels-0")),
        (9, "parcels-1", "Revoking previously assigned partitions [parcels-0]"),
        (11, "parcels-1", changes_to(5, "RECONCILING", "ACKNOWLEDGING")),
    ) == [(5, "parcels-1", {0, 1}), (9, "parcels-1", {1}), (11, "parcels-1", {1, 2})]


@pytest.mark.parametrize(
    "between",
    [
        [changes_to(4, "RECONCILING", "FENCED"), changes_to(0, "FENCED", "JOINING")],
        [changes_to(-1, "RECONCILING", "STALE"), changes_to(0, "STALE", "JOINING")],
    ],
)
def test_what_a_member_did_not_acknowledge_before_it_was_out_it_never_owned(between: list[str]) -> None:
    assert (
        of_members(
            *JOINED,
            (3, "parcels-1", reconciling("parcels-0", "", "parcels-0", "")),
            *((4, "parcels-1", message) for message in between),
            (6, "parcels-1", changes_to(7, "JOINING", "RECONCILING")),
            (7, "parcels-1", changes_to(7, "RECONCILING", "ACKNOWLEDGING")),
        )
        == []
    )


def test_a_partition_that_went_to_another_member_is_owned_by_one_of_them() -> None:
    assert of_members(
        *JOINED,
        (3, "parcels-1", reconciling("parcels-0, parcels-1", "", "parcels-0, parcels-1", "")),
        (4, "parcels-1", changes_to(4, "RECONCILING", "ACKNOWLEDGING")),
        (6, "parcels-2", changes_to(0, "UNSUBSCRIBED", "JOINING")),
        (7, "parcels-2", changes_to(5, "JOINING", "RECONCILING")),
        (8, "parcels-2", reconciling("parcels-1", "", "parcels-1", "")),
        (9, "parcels-2", changes_to(5, "RECONCILING", "ACKNOWLEDGING")),
        (10, "parcels-1", changes_to(5, "RECONCILING", "ACKNOWLEDGING")),
    )[-1] == (9, "parcels-2", {1})


def test_a_block_whose_lines_are_cut_says_nothing_of_partitions() -> None:
    block = reconciling("parcels-0", "", "parcels-0", "").split("\n")[0]
    assert (
        of_members(*JOINED, (3, "parcels-1", block), (4, "parcels-1", changes_to(4, "RECONCILING", "ACKNOWLEDGING")))
        == []
    )


def test_owners_of_a_consumer_group_are_those_that_its_coordinator_wrote() -> None:
    """Six Java members of one recorded group, of which one is killed, by what the offsets topic has."""
    reads = read_files([str(path) for path in sorted(RECONCILED.glob("*.log.gz"))])
    (group,) = groups_in(merged(reads))
    effects = effects_of(group)
    names = {one.member_id: one.client_id for one in effects if isinstance(one, MemberJoined)}
    owned = [(names[one.member_id], one.partition.topic, one.partition.number, one) for one in holdings_of(effects)]
    written = json.loads((RECONCILED / "owners.json").read_text())
    right = asked = 0
    for at_ms in range(1_795_732_910_000, 1_795_732_997_000, 500):
        near = {
            (topic, number): {
                one for ms in (at_ms - 1_000, at_ms, at_ms + 1_000) for one in writers(written, topic, number, ms)
            }
            for topic, number in OF_TOPICS
        }
        for client_id, topic, number, held in owned:
            if held.is_held_at(at_ms):
                assert client_id in near[topic, number], (at_ms, topic, number)
                right += 1
        asked += sum(len(writers(written, topic, number, at_ms)) for topic, number in OF_TOPICS)
    assert right / asked > 0.8, (right, asked)


def writers(written: Sequence[dict[str, Any]], topic: str, number: int, at_ms: int) -> set[str]:
    """To which client the coordinator has given a partition by then."""
    return {
        one["client_id"]
        for one in written
        if one["topic"] == topic
        and number in one["partitions"]
        and one["from_ms"] <= at_ms
        and (one["to_ms"] is None or at_ms < one["to_ms"])
    }
