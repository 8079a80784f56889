"""The vote for a protocol: candidates, votes, and ties by the order of Java's hash table."""

from __future__ import annotations

from itertools import permutations

import pytest

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.java_strings import hash_code, hash_map_order, utf16_length
from rollcall.coordinator_udfs.protocol.members import Member
from rollcall.coordinator_udfs.protocol.rebalance import select_protocol
from tests.protocol.rules import rule


def group_of(*ballots: tuple[str, ...]) -> Group:
    group = Group("g")
    for number, names in enumerate(ballots):
        member = Member(
            member_id=f"m{number}",
            client_id="",
            client_host="",
            session_timeout_ms=1,
            rebalance_timeout_ms=1,
            protocols=dict.fromkeys(names, b""),
            joined_at_ms=0,
        )
        group.add(member, "consumer")
    return group


@rule("Vote: most first choices win", origin="testSelectProtocol testSelectProtocolChoosesCompatibleProtocol")
@pytest.mark.parametrize(
    ("ballots", "selected"),
    [
        ((("range", "roundrobin"),), "range"),
        ((("range", "roundrobin"), ("roundrobin", "range"), ("range", "roundrobin")), "range"),
        ((("range", "roundrobin"), ("roundrobin", "range"), ("roundrobin", "range")), "roundrobin"),
        ((("range", "roundrobin"), ("roundrobin", "blah")), "roundrobin"),
        ((("a", "c", "b"), ("b", "c"), ("c", "b")), "c"),
    ],
)
def test_the_most_wanted_common_protocol_wins(ballots: tuple[tuple[str, ...], ...], selected: str) -> None:
    assert select_protocol(group_of(*ballots)) == selected


@rule("Vote: there must be a member to vote", origin="testSelectProtocolRaisesIfNoMembers")
def test_without_members_there_is_no_vote() -> None:
    with pytest.raises(ValueError, match="empty"):
        select_protocol(Group("g"))


@rule("Vote: a tie goes by the hash table of the names, whoever voted first")
@pytest.mark.parametrize(
    ("names", "selected"),
    [
        (("range", "sticky"), "sticky"),
        (("range", "roundrobin", "sticky", "cooperative-sticky"), "sticky"),
        (("c", "a", "b"), "a"),
        (("Z", "a", "0", "é"), "0"),
    ],
)
def test_a_tie_does_not_depend_on_the_order_of_votes(names: tuple[str, ...], selected: str) -> None:
    for order in permutations(names):
        rotated = [order[turn:] + order[:turn] for turn in range(len(order))]
        assert select_protocol(group_of(*rotated)) == selected


@rule("Vote: Java's hash code is signed, over UTF-16 units")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("Aa", 2112),
        ("BB", 2112),
        ("range", 108280125),
        ("polygenelubricants", -2147483648),
        ("😀", 1772899),
    ],
)
def test_the_hash_code_is_javas(text: str, code: int) -> None:
    assert hash_code(text) == code


@rule("Vote: the table of the names doubles above three quarters full")
def test_the_hash_table_grows() -> None:
    p_down_to_e = "ponmlkjihgfe"
    assert hash_map_order(p_down_to_e) == list("pefghijklmno")
    assert hash_map_order("q" + p_down_to_e) == list("efghijklmnopq")


@rule("Vote: of names in one bucket the one seen first comes first")
def test_names_of_equal_hash_keep_their_order() -> None:
    assert hash_map_order(["BB", "Aa", "BB"]) == ["BB", "Aa"]


@rule("Vote: Java counts UTF-16 units")
@pytest.mark.parametrize(("text", "length"), [("abc", 3), ("äöü", 3), ("😀", 2), ("a😀", 3)])
def test_the_length_is_javas(text: str, length: int) -> None:
    assert utf16_length(text) == length
