"""The vote for a protocol: candidates, votes, and ties by the order of Java's hash table."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.java_maps import hash_code, hash_map_order
from rollcall.coordinator_udfs.protocol.offset_commit import utf16_length
from rollcall.coordinator_udfs.protocol.rebalance import select_protocol
from tests.protocol.rules import rule


@rule("Vote: there must be a member to vote", origin="testSelectProtocolRaisesIfNoMembers")
def test_without_members_there_is_no_vote() -> None:
    with pytest.raises(ValueError, match="empty"):
        select_protocol(Group("g"))


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
