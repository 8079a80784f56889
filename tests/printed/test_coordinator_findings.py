"""What a coordinator's lines show beside rebalances: an empty group's delay, moves, limits, ids, and silent members."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from rollcall.inputs.printed.logged_rebalances import Finding
from rollcall.inputs.printed.reading import read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.wording import holder_sentence
from tests.printed.coordinator import failed
from tests.printed.printed import MEMBER, OTHER, broker, found, group_of, java

JOINS = "Preparing to rebalance group orders in state PreparingRebalance with old generation {} (__consumer_offsets-7) "
JOINS += f"(reason: Adding new member {MEMBER} with group instance id None; client reason: not provided)"
EXPIRES = "Preparing to rebalance group orders in state PreparingRebalance with old generation {} "
EXPIRES += "(__consumer_offsets-7) (reason: removing member {} on heartbeat expiration)"
FORMED = "Stabilized group orders generation {} (__consumer_offsets-7) with {} members"
GIVEN = "Assignment received from leader {} for group orders for generation {}. The group has {} members, 0 of which "
GIVEN += "are static."
ASKED = "Dynamic member with unknown member id joins group orders in {} state. Created a new member id {} and request "
ASKED += "the member to rejoin with this id."
ADDED = "Dynamic Member with unknown member id joins group orders in {} state. Created a new member id {} for this "
ADDED += "member and add to the group."
LOADED = "Loading group metadata for orders with generation {}"
UNLOADED = "Unloading group metadata for orders with generation {}"
LOADS = "Loaded member MemberMetadata(memberId={}, groupInstanceId=None, clientId=orders-1, clientHost=/10.0.0.7, "
LOADS += "sessionTimeoutMs=10000, rebalanceTimeoutMs=300000, supportedProtocols=List(range)) in group orders with "
LOADS += "generation 1."
OVER = "Preparing to rebalance group orders in state PreparingRebalance with old generation 1 (__consumer_offsets-7) "
OVER += "(reason: Freshly-loaded group {})"


# ---------------------------------------------------------------- the delay of an empty group


@pytest.mark.parametrize("asked", [ADDED, ASKED])
@pytest.mark.parametrize("seconds", [3, 6])
def test_the_state_that_a_member_found_shows_that_the_group_was_empty(asked: str, seconds: float) -> None:
    def lines(state: str) -> list[str]:
        began = [broker(0, asked.format(state, MEMBER)), broker(0, JOINS.format(4))]
        return [*began, broker(seconds, FORMED.format(5, 1))]

    (delay,) = found("initial_delay", *lines("Empty"))
    assert "because the group was empty" in delay.sentence
    assert group_of(*lines("Empty")).rebalances[0].held_by is None
    assert not [one for one in found("initial_delay", *lines("Stable")) if "because" in one.sentence]


def test_a_join_phase_as_long_as_the_delay_only_suggests_that_the_group_was_empty() -> None:
    (delay,) = found("initial_delay", broker(0, JOINS.format(4)), broker(3.007, FORMED.format(5, 1)))
    assert delay.is_inferred
    assert len(delay.candidates) == 2
    assert not found("initial_delay", broker(0, JOINS.format(4)), broker(3.4, FORMED.format(5, 1)))
    formed = broker(0, FORMED.format(4, 2))
    assert not found("initial_delay", formed, broker(1, JOINS.format(4)), broker(4.007, FORMED.format(5, 1)))


def test_a_member_that_is_alone_when_the_rebalance_timeout_is_over_shows_that_all_others_are_out() -> None:
    def why(members: int) -> str:
        group = group_of(broker(0, JOINS.format(4)), broker(300.001, FORMED.format(5, members)))
        (rebalance,) = group.rebalances
        assert rebalance.held_by is not None
        return holder_sentence(rebalance.held_by)

    assert "a usual rebalance timeout" in why(1)
    assert "only the member that had come was in it" in why(1)
    assert "only the member" not in why(2)


# ---------------------------------------------------------------- another broker


def moves(*brokers: int) -> list[str]:
    lines = (broker(each, FORMED.format(each, 1), broker_id) for each, broker_id in enumerate(brokers, 1))
    return [one.sentence for one in found("coordinator_moved", *lines)]


def test_a_broker_whose_first_line_follows_the_last_of_another_has_the_group() -> None:
    (moved,) = moves(1, 1, 2)
    assert "Broker 1 coordinated the group up to this line, and broker 2" in moved
    assert len(moves(1, 2, 3)) == 2
    assert not moves(1, 1)
    assert not moves(1, 2, 1), "the clocks of two brokers differ, or the lines are mixed"


def test_a_move_that_a_line_tells_of_is_said_once() -> None:
    before, after = broker(1, FORMED.format(4, 1)), broker(9, FORMED.format(5, 1), 2)
    loaded = broker(3, LOADED.format(4), 2)
    assert [one.sentence for one in found("coordinator_moved", before, loaded, after)] == [
        "Broker 2 became the group's coordinator and loaded it with generation 4."
    ]
    assert len(found("coordinator_moved", before, loaded, broker(4, UNLOADED.format(4)), after)) == 2


# ---------------------------------------------------------------- more members than the limit


@pytest.mark.parametrize(
    ("reason", "loaded", "sentence"),
    [
        ("is over capacity (GroupConfig(10,10000,4,10).groupMaxSize). Rebalacing", 6, "4, and the group has 6 members"),
        ("orders (size 5) is over capacity 3. Rebalancing", 0, "3, and the group has 5 members"),
        ("is over capacity (GroupConfig(10,10000,4,10).groupMaxSize). Rebalacing", 0, ""),
        ("is over capacity (GroupConfig(10,10000,4,10).groupMaxSize). Rebalacing", 3, ""),
    ],
)
def test_the_limit_and_the_members_that_were_loaded_are_said(reason: str, loaded: int, sentence: str) -> None:
    ids = [f"orders-1-{number:08x}-57f7-4e52-9ffb-38d5ad112b53" for number in range(loaded)]

    def lines(second: int) -> list[str]:
        members = [broker(second, LOADS.format(each)) for each in ids]
        return [*members, broker(second, LOADED.format(1)), broker(second, OVER.format(reason))]

    over = found("over_capacity", *lines(1))
    assert [f"group.max.size is {sentence}: at least 2 of them cannot stay."] * bool(sentence) == [
        one.sentence for one in over
    ]
    twice = found("over_capacity", *lines(1), *lines(5))
    assert all(one.sentence.endswith(over[0].sentence) for one in twice), "no member is counted twice"


# ---------------------------------------------------------------- ids without a join


def test_an_id_with_which_nobody_joins_is_said() -> None:
    asked = broker(1, ASKED.format("Stable", OTHER))
    (given,) = found("id_without_a_join", broker(0, FORMED.format(4, 1)), asked)
    assert OTHER in given.sentence
    assert not given.is_inferred
    joins = "Pending dynamic member with id {} joins group orders in {} state. Adding to the group now."
    assert not found("id_without_a_join", asked, broker(1.1, joins.format(OTHER, "Stable")))
    assert not found("id_without_a_join", asked, broker(2, JOINS.format(4))), "it may have joined that rebalance"
    dropped = "Pending member {} in group orders has been removed after session timeout expiration."
    assert not found("id_without_a_join", asked, broker(46, dropped.format(OTHER)))


def test_an_id_that_was_given_out_in_a_join_phase_may_hold_it_up() -> None:
    asked = broker(1, ASKED.format("PreparingRebalance", OTHER))
    (given,) = found("id_without_a_join", broker(0, JOINS.format(4)), asked)
    assert given.is_inferred
    assert "the join phase waits for it" in given.candidates


# ---------------------------------------------------------------- silent since its assignment


def silent(after: float, *, leader: str = MEMBER, members: int = 1, generation: int = 5) -> list[Finding]:
    gone = f"Member {MEMBER} in group orders has failed, removing it from the group"
    texts = [FORMED.format(5, members), GIVEN.format(leader, 5, members), gone, EXPIRES.format(generation, MEMBER)]
    times = (0, 0.1, 0.1 + after, 0.1 + after)
    return found("silent_since_assigned", *(broker(*each) for each in zip(times, texts, strict=True)))


@pytest.mark.parametrize(
    ("after", "leader", "members", "is_said"),
    [
        (45.007, MEMBER, 1, True),
        (13, MEMBER, 1, True),
        (13, MEMBER, 3, True),
        (13, OTHER, 3, False),
        (90, MEMBER, 1, False),
    ],
)
def test_a_member_may_be_silent_since_it_sent_the_assignment(
    after: float, leader: str, members: int, is_said: bool
) -> None:
    said = silent(after, leader=leader, members=members)
    assert [one.is_inferred for one in said] == [True] * is_said
    assert not silent(after, leader=leader, members=members, generation=8), "lines are missing between the two"


# ---------------------------------------------------------------- clients that lose it, and one that it refuses

LOST = "Group coordinator b:9092 (id: {} rack: null) is unavailable or invalid due to cause: {}. isDisconnected: true. "
LOST += "Rediscovery will be attempted."
DEAD = "Marking the coordinator b:9092 (id: {} rack: null) dead"
DISCOVERED = "Discovered group coordinator b:9092 (id: {} rack: null)"
BROKER_1, BROKER_2 = 2_147_483_646, 2_147_483_645
REFUSED = "error response NOT_COORDINATOR"


@pytest.mark.parametrize(
    ("text", "broker_id", "second", "is_common"),
    [
        (DEAD, BROKER_1, 1.2, True),
        (LOST.format("{}", "null"), BROKER_1, 1.2, True),
        (LOST.format("{}", "session timed out without receiving a heartbeat response"), BROKER_1, 1.2, True),
        (LOST.format("{}", REFUSED), BROKER_1, 1.2, False),
        (LOST.format("{}", "error response COORDINATOR_NOT_AVAILABLE"), BROKER_1, 1.2, False),
        (DEAD, BROKER_2, 1.2, False),
        (DEAD, BROKER_1, 9.0, False),
    ],
)
def test_clients_that_lose_one_broker_at_once_have_a_cause_in_common(
    text: str, broker_id: int, second: float, is_common: bool
) -> None:
    lines = [java(1, text.format(BROKER_1)), java(second, text.format(broker_id), "orders-2")]
    causes = found("common_cause", *lines)
    assert ["2 clients lost broker 1 within 200 ms" in one.sentence for one in causes] == [True] * is_common
    assert not found("common_cause", lines[0], java(1.2, text.format(BROKER_1))), "it is one client"


def test_a_broker_that_others_follow_was_not_lost_and_one_that_says_not_why_may_have_answered() -> None:
    ids = ("orders-1", "orders-2")
    lost = [java(place, DEAD.format(BROKER_1), each) for place, each in enumerate(ids, 1)]
    again = [java(3 + place, text.format(BROKER_1), ids[0]) for place, text in enumerate((DISCOVERED, DEAD))]
    (cause,) = found("common_cause", *lost, *again)
    assert "2 clients lost broker 1 within 1 s" in cause.sentence, "each one's first line counts"
    assert any("does not coordinate" in one for one in cause.candidates)
    silent = [java(place, LOST.format(BROKER_1, "null"), each) for place, each in enumerate(ids, 1)]
    (cause,) = found("common_cause", *silent)
    assert not any("does not coordinate" in one for one in cause.candidates)
    assert not found("common_cause", *lost, *(java(5, DISCOVERED.format(BROKER_2), each) for each in ids))


@pytest.mark.parametrize(
    ("broker_id", "reason", "second", "denies"),
    [
        (BROKER_1, REFUSED, 1.2, True),
        (BROKER_1, "null", 1.2, False),
        (BROKER_2, REFUSED, 1.2, False),
        (BROKER_1, REFUSED, 40, False),
    ],
)
def test_a_broker_that_was_just_named_as_coordinator_may_deny_it(
    broker_id: int, reason: str, second: float, denies: bool
) -> None:
    asked = java(1, DISCOVERED.format(BROKER_1)), java(1.1, "(Re-)joining group")
    lost = java(second, LOST.format(broker_id, reason))
    assert bool(found("coordinator_named_but_denies", *asked, lost)) == denies
    joined = java(1.15, "Successfully joined group with generation 5")
    assert not found("coordinator_named_but_denies", *asked, joined, lost)


# ---------------------------------------------------------------- members that are removed at once

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
