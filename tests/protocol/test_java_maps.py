"""The orders of Java's and Kafka's tables that assignments depend on, as a JVM with Kafka's own classes gave them."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.java_maps import topic_set_order, uuid_of
from tests.protocol.rules import rule

IN_ONE_SLOT = {"clicks": "UCGqk9eReITd3ahcrzRkxA", "payments": "lsaX-7JYMGl5FN0tlzKV8Q"}


@rule("Java sets: topics come in the order of their ids' hashes")
@pytest.mark.parametrize(
    ("ids", "walked"),
    [
        (
            "5CDTTpP5GA_FwmnkjVY0hQ OE71Lud9Pok4Yh0IsbGnpA",
            "OE71Lud9Pok4Yh0IsbGnpA 5CDTTpP5GA_FwmnkjVY0hQ",
        ),
        (
            "CQ-IOx3pzETe0ykTdwDW1w WkqOnIfH2x_Yb4-M0jeOPA p0F_H_2A2fo9CIlzrHaOXw",
            "WkqOnIfH2x_Yb4-M0jeOPA p0F_H_2A2fo9CIlzrHaOXw CQ-IOx3pzETe0ykTdwDW1w",
        ),
        (
            "9mnBL6RXhyHkpUORMxs_5g JUPJZMsOXswpsYH5Rw4MzQ kivuzMe_UEv9_OpAFHyI9w wx7pWqtQWH3eOfHHoBGwVA "
            "quw4RX7rt2Unj2kIru9eYw",
            "wx7pWqtQWH3eOfHHoBGwVA kivuzMe_UEv9_OpAFHyI9w 9mnBL6RXhyHkpUORMxs_5g quw4RX7rt2Unj2kIru9eYw "
            "JUPJZMsOXswpsYH5Rw4MzQ",
        ),
        (
            "Q1cbVlVyCVZSb_-MbuF3gg I-RjTNiMAOaRP6N6vBminQ gCPqeduAuAKhSBQ-rvgsHw 5W836Ua4O_GmG6BC0HzIZw "
            "W1gsGtBo1T99n_BbwOY6KQ f6DZPvlMzeOKp70clX3_KQ r9wqoBNr9aNp4gVpdeuFRg Hy0PXrrOiLfobZpH6BcruQ "
            "O8EcYR0lXKy4-RP962WUng L_7ZidfNd4vCRIRZKZgKtA Fi8uKcFTdTopW3pLFSb_YA 1eygtvb9XyHwMyq3Brfk9w "
            "wBpdvTYn2hC_wdKPDZ_pPA",
            "L_7ZidfNd4vCRIRZKZgKtA 1eygtvb9XyHwMyq3Brfk9w I-RjTNiMAOaRP6N6vBminQ Q1cbVlVyCVZSb_-MbuF3gg "
            "gCPqeduAuAKhSBQ-rvgsHw 5W836Ua4O_GmG6BC0HzIZw Hy0PXrrOiLfobZpH6BcruQ r9wqoBNr9aNp4gVpdeuFRg "
            "O8EcYR0lXKy4-RP962WUng Fi8uKcFTdTopW3pLFSb_YA wBpdvTYn2hC_wdKPDZ_pPA W1gsGtBo1T99n_BbwOY6KQ "
            "f6DZPvlMzeOKp70clX3_KQ",
        ),
    ],
)
def test_topics_come_in_the_order_of_a_hash_set_of_their_ids(ids: str, walked: str) -> None:
    """`new HashSet<>(ids)` of 2, 3, 5 and 13 random ids."""
    named = {f"t{number}": topic_id for number, topic_id in enumerate(ids.split())}
    assert [named[topic] for topic in topic_set_order(named, named)] == walked.split()


@rule("Java sets: topics of one slot come in the order in which they were put in")
def test_ids_in_one_slot_come_in_the_order_of_the_set_of_names() -> None:
    """`new HashSet<>(...)` of the ids of `new HashSet<>(List.of("clicks", "payments"))`."""
    assert topic_set_order(IN_ONE_SLOT, IN_ONE_SLOT) == ["payments", "clicks"]


@rule("Java sets: topic ids compare as signed numbers, as in Java")
def test_ids_compare_as_signed_numbers() -> None:
    """`Collections.sort` of Kafka's Uuids: an id that begins with a high bit is less than all that do not."""
    in_order = "kivuzMe_UEv9_OpAFHyI9w quw4RX7rt2Unj2kIru9eYw wx7pWqtQWH3eOfHHoBGwVA 9mnBL6RXhyHkpUORMxs_5g"
    ids = [*in_order.split(), "JUPJZMsOXswpsYH5Rw4MzQ"]
    assert sorted(sorted(ids), key=uuid_of) == ids
