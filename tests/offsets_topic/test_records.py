"""Every record type of the topic in every version: read as Kafka wrote it, written as Kafka writes it, no trust."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.inputs.offsets_topic.records.decoding import (
    Record,
    Skipped,
    decode,
    encode_key,
    encode_value,
    group_id_of,
)
from rollcall.inputs.offsets_topic.records.shapes import (
    RECORD_TYPES,
    ClassicMember,
    GroupKey,
    GroupMetadataValue,
    RecordKey,
)
from rollcall.schemas.layout import LayoutError, LayoutShape, Tag, read_shape, write_shape
from rollcall.schemas.shapes import Versions

COVERED = {number: known for number, known in RECORD_TYPES.items() if known.value is not None}
CASES = [
    (number, version)
    for number, known in COVERED.items()
    for version in range(known.versions.first, known.versions.last + 1)
]

EXAMPLES_A_CASE = 8

# Keys and values made with Kafka's own serializer.
WRITTEN_BY_KAFKA = {
    "a member of the newer protocol": (
        "000500016700026d31",
        "0000 00 00 0263 032f68 02037431 01 00001388 00 01000100",
    ),
    "a member of the older protocol in a consumer group": (
        "000500016700026d31",
        "0000 00 00 0263 032f68 02037431 01 00001388 00 01000d 01 00001f40 02 0272 030102 00 00",
    ),
    "an epoch without a metadata hash": ("0003000167", "0000 00000002 00"),
    "an epoch with one": ("0003000167", "0000 00000002 01 00 08 0000000000000001"),
    "a target's epoch": ("0006000167", "0000 00000002 01 00 08 00000000000003e8"),
    "a target": ("000700016700026d31", "0000 02 0102030405060708090a0b0c0d0e0f10 03 00000000 00000001 00 00"),
    "what a member holds": (
        "000800016700026d31",
        "0000 00000002 00000000 00 02 0102030405060708090a0b0c0d0e0f10 03 00000000 00000001 "
        "01 00 09 03 00000002 00000002 01 00",
    ),
    "a pattern": ("00100001670003742e2a", "0000 02 037431 0000000000000005 00000000000003e8 00"),
    "a commit": (
        "00010001670002743100000003",
        "0004 000000000000002a 00000007 0278 00000000000003e8 01 00 10 0102030405060708090a0b0c0d0e0f10",
    ),
}


def whole(record: Record | Skipped) -> Record:
    assert isinstance(record, Record)
    return record


@pytest.mark.parametrize("name", WRITTEN_BY_KAFKA)
def test_what_kafka_wrote_is_read_and_written_the_same(name: str) -> None:
    key, value = (bytes.fromhex(text) for text in WRITTEN_BY_KAFKA[name])
    record = whole(decode(0, 0, 0, key, value))
    assert record.value is not None
    assert encode_key(record.type, record.key) == key
    assert encode_value(struct.unpack_from(">h", value)[0], record.value) == value
    assert record.group_id == group_id_of(key) == "g"


def shapes(shape: type[LayoutShape], version: int) -> st.SearchStrategy[LayoutShape]:
    """Any value of a shape as one version carries it."""
    hints = get_type_hints(shape, include_extras=True)
    chosen = {}
    for field in msgspec.structs.fields(shape):
        marks = getattr(hints[field.name], "__metadata__", ())
        versions = next((mark for mark in marks if isinstance(mark, Versions)), Versions(0))
        is_tagged = any(isinstance(mark, Tag) for mark in marks)
        if versions.has(version) and not (is_tagged and version < shape.FLEXIBLE_SINCE):
            chosen[field.name] = values(hints[field.name], version)
    return st.builds(shape, **chosen)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
UUID = st.one_of(st.none(), st.just("AQIDBAUGBwgJCgsMDQ4PEA"))


def values(hint: Any, version: int) -> st.SearchStrategy[Any]:
    marks = getattr(hint, "__metadata__", ())
    if "uuid" in marks:
        return UUID
    form = next((mark for mark in marks if isinstance(mark, struct.Struct)), None)
    if form is not None:
        half = 2 ** (8 * form.size - 1)
        return st.integers(-half, half - 1)
    declared = get_args(hint)[0] if get_origin(hint) is Annotated or marks else hint
    parts = get_args(declared)
    if type(None) in parts:
        inner = next(part for part in parts if part is not type(None))
        return st.one_of(st.none(), values(inner, version))
    if declared is str:
        return TEXT
    if declared is bytes:
        return st.binary(max_size=8)
    if get_origin(declared) is list:
        return st.lists(values(parts[0], version), max_size=3)
    return shapes(declared, version)


@pytest.mark.parametrize(("number", "version"), CASES)
@settings(max_examples=EXAMPLES_A_CASE, deadline=None)
@given(data=st.data())
def test_a_record_is_read_as_it_was_written(number: int, version: int, data: st.DataObject) -> None:
    known = COVERED[number]
    assert known.value is not None
    key, value = data.draw(shapes(known.key, 0)), data.draw(shapes(known.value, version))
    assert isinstance(key, RecordKey)
    record = whole(decode(1, 2, 3, encode_key(number, key), encode_value(version, value)))
    assert (record.key, record.value) == (key, value)
    assert (record.partition, record.offset, record.timestamp_ms, record.type) == (1, 2, 3, number)


@pytest.mark.parametrize(("number", "version"), CASES)
@settings(max_examples=EXAMPLES_A_CASE, deadline=None)
@given(data=st.data())
def test_bytes_that_are_cut_or_changed_are_refused_or_read_and_nothing_else(
    number: int, version: int, data: st.DataObject
) -> None:
    known = COVERED[number]
    assert known.value is not None
    key = encode_key(number, data.draw(shapes(known.key, 0)))  # type: ignore[arg-type]
    value = encode_value(version, data.draw(shapes(known.value, version)))
    spoilt = bytearray(value)
    place = data.draw(st.integers(0, len(spoilt) - 1))
    spoilt[place] = data.draw(st.integers(0, 255))
    cut = value[: data.draw(st.integers(0, len(value)))]
    for tried in (bytes(spoilt), cut, cut + data.draw(st.binary(max_size=20))):
        for tried_key in (key, key[: data.draw(st.integers(0, len(key)))]):
            with suppress(LayoutError):
                decode(0, 0, 0, tried_key, tried)


@given(st.one_of(st.none(), st.binary(max_size=60)), st.one_of(st.none(), st.binary(max_size=60)))
def test_any_bytes_are_a_record_or_refused(key: bytes | None, value: bytes | None) -> None:
    with suppress(LayoutError):
        decode(0, 0, 0, key, value)
    group_id_of(key)


def test_a_count_that_the_bytes_cannot_hold_is_refused_before_anything_is_made() -> None:
    value = bytes.fromhex("0000 00 00 0263 032f68 ffffffff0f 01 00001388 00 00")
    with pytest.raises(LayoutError, match="subscribed_topic_names: count at byte 9: 4294967294 items cannot be in"):
        decode(0, 0, 0, bytes.fromhex("000500016700026d31"), value)


def test_a_key_type_that_nobody_knows_is_skipped() -> None:
    assert decode(0, 0, 0, struct.pack(">h", 99) + b"whatever", b"\0\0") == Skipped("unknown key type 99")
    assert group_id_of(struct.pack(">h", 99)) is None


def test_a_value_version_that_nobody_knows_is_refused() -> None:
    with pytest.raises(LayoutError, match="GroupMetadata value: version 5 is not known, 0 to 4 are"):
        decode(0, 0, 0, encode_key(2, GroupKey(group="g")), struct.pack(">h", 5))


@pytest.mark.parametrize("key", [None, b"", b"\0"])
def test_a_key_without_a_type_is_refused(key: bytes | None) -> None:
    with pytest.raises(LayoutError, match="key"):
        decode(0, 0, 0, key, b"\0\0")


@pytest.mark.parametrize("number", [10, 11, 15, 17, 20, 23])
def test_a_record_of_a_share_or_streams_group_names_its_group_and_is_not_covered(number: int) -> None:
    key = struct.pack(">hh", number, 5) + b"group" + b"\0\2m1"
    record = whole(decode(0, 0, 0, key, b"\0\0 anything"))
    assert (record.group_id, record.is_covered, record.value) == ("group", False, None)


def test_a_tombstone_has_no_value() -> None:
    record = whole(decode(0, 0, 0, encode_key(2, GroupKey(group="g")), None))
    assert (record.value, record.is_covered) == (None, True)


def test_a_tagged_field_that_nobody_knows_is_passed_over() -> None:
    known = bytes.fromhex("0000 00000002 01 00 08 0000000000000001")
    unknown = bytes.fromhex("0000 00000002 02 00 08 0000000000000001 07 03 616263")
    key = encode_key(3, GroupKey(group="g"))
    assert whole(decode(0, 0, 0, key, unknown)).value == whole(decode(0, 0, 0, key, known)).value


def test_text_that_is_no_utf_8_is_refused_with_its_field() -> None:
    with pytest.raises(LayoutError, match="group: text"):
        decode(0, 0, 0, b"\0\2\0\1\xff", None)


def test_what_does_not_fit_its_field_cannot_be_written() -> None:
    member = ClassicMember(
        member_id="m", client_id="c", client_host="/h", session_timeout=2**31, subscription=b"", assignment=b""
    )
    value = GroupMetadataValue(protocol_type="", generation=0, protocol=None, leader=None, members=[member])
    with pytest.raises(LayoutError, match="session_timeout"):
        write_shape(value, 3)


@pytest.mark.parametrize(
    ("version", "missing"),
    [
        (0, {"group_instance_id", "rebalance_timeout"}),
        (1, {"group_instance_id"}),
        (2, {"group_instance_id"}),
        (3, set()),
        (4, set()),
    ],
)
def test_an_older_version_of_a_generation_says_less(version: int, missing: set[str]) -> None:
    member = ClassicMember(
        member_id="m",
        group_instance_id="i",
        client_id="c",
        client_host="/h",
        rebalance_timeout=7,
        session_timeout=9,
        subscription=b"s",
        assignment=b"a",
    )
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="m",
        current_state_timestamp=11,
        members=[member],
    )
    read = read_shape(GroupMetadataValue, version, write_shape(value, version))
    assert read.current_state_timestamp == (11 if version >= 2 else -1)
    gone = {name: -1 if name == "rebalance_timeout" else None for name in missing}
    assert read.members == [msgspec.structs.replace(member, **gone)]
