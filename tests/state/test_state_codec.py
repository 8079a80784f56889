"""The state document: what is stored comes back, old versions are read, what cannot be read is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rollcall.coordinator_udfs import state_codec
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.step import expire_due
from rollcall.coordinator_udfs.state_codec import StateError
from rollcall.schemas.effects import MemberRemoved

CONSUMER_DOCUMENT = Path(__file__).parent / "documents" / "consumer-v2.json"
DOCUMENTS = sorted((Path(__file__).parent / "documents").glob("v*.json"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_of_every_released_version_is_read(path: Path) -> None:
    group = state_codec.decode("orders", path.read_text())
    assert group.state == "PreparingRebalance"
    assert group.previous_state == "Stable"
    assert group.generation_id == 1
    assert [m.client_id for m in group.members.values()] == ["orders-0", "orders-1"]
    assert [p.client_id for p in group.pending.values()] == ["orders-2"]
    assert group.static_member_id("i-1") == list(group.members)[1]
    assert group.awaiting_join_count == 1
    assert not group.has_all_members_joined
    assert group.offsets["t1", 0].committed_offset == 7
    assert group.rebalance is not None
    assert group.rebalance.cause.client_id == "orders-1"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_deadlines_of_a_stored_group_still_fire(path: Path) -> None:
    group = state_codec.decode("orders", path.read_text())
    effects = expire_due(group, 61_400, GroupConfig())
    assert [e.at_ms for e in effects if type(e).__name__ == "MemberRemoved"] == [11_300, 21_500]
    assert [e.at_ms for e in effects if type(e).__name__ == "PendingMemberRemoved"] == [11_500]
    assert (group.state, group.generation_id) == ("Empty", 3)


def test_there_is_a_document_of_every_version_that_is_read() -> None:
    assert [path.stem for path in DOCUMENTS] == [f"v{state_codec.VERSION}"]


def test_the_scalar_columns_say_what_the_document_says() -> None:
    group = state_codec.decode("orders", DOCUMENTS[-1].read_text())
    row = state_codec.encode(group)
    document = json.loads(row.document)
    assert (row.state, row.generation_id, row.member_count) == ("PreparingRebalance", 1, 2)
    assert row.leader_id == document["leader_id"]
    assert row.next_deadline_ms == document["next_due_ms"]


def test_a_document_written_again_is_the_same() -> None:
    group = state_codec.decode("orders", DOCUMENTS[-1].read_text())
    first = state_codec.encode(group)
    assert state_codec.encode(state_codec.decode("orders", first.document)) == first


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("{", "not JSON"),
        ('{"v": 99}', "version 99"),
        ('{"v": 1}', "version 1, and 2 is read"),
        ('{"v": "one"}', r"Expected `int`, got `str` - at `\$.v`"),
        ('{"v": 2, "state": "Asleep"}', "Asleep"),
        ('{"v": 2}', "state"),
    ],
)
def test_a_document_that_cannot_be_read_is_named(document: str, says: str) -> None:
    with pytest.raises(StateError, match=says) as caught:
        state_codec.decode("orders", document)
    assert "orders" in str(caught.value)


def test_a_document_of_a_consumer_group_is_read_and_goes_on() -> None:
    group = state_codec.decode("orders", CONSUMER_DOCUMENT.read_text())
    consumer = group.consumer
    assert consumer is not None
    assert (group.group_type, group.shown_state, group.generation_id) == ("consumer", "Reconciling", 5)
    assert [(m.member_id, m.state, m.member_epoch) for m in consumer.members.values()] == [
        ("m1", "unrevoked", 2),
        ("m2", "unreleased", 3),
        ("c1", "unreleased", 5),
    ]
    assert consumer.static_member_id("i1") == "m1"
    assert consumer.owner_of("t1", 3) == "m1"
    assert consumer.patterns == {"t2": ("t2",)}
    assert group.offsets["t1", 0].committed_offset == 7
    effects = expire_due(group, 7_000, GroupConfig())
    assert [e.member_id for e in effects if isinstance(e, MemberRemoved)] == ["m1"]


def test_the_columns_of_a_consumer_group_say_what_its_document_says() -> None:
    group = state_codec.decode("orders", CONSUMER_DOCUMENT.read_text())
    row = state_codec.encode(group)
    assert (row.state, row.generation_id, row.protocol_type) == ("Reconciling", 5, "consumer")
    assert (row.leader_id, row.member_count, row.next_deadline_ms) == (None, 3, 7_000)
    assert state_codec.encode(state_codec.decode("orders", row.document)) == row


def test_a_consumer_group_whose_member_has_an_unknown_state_is_refused() -> None:
    document = CONSUMER_DOCUMENT.read_text().replace('"unrevoked"', '"asleep"')
    with pytest.raises(StateError, match="asleep"):
        state_codec.decode("orders", document)
