"""Messages between bytes, kio's entities and our shapes: every version of every API, random and malformed ones."""

from __future__ import annotations

import contextlib
import struct
from dataclasses import fields
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.schemas.limits import STRING_MAX_BYTES
from rollcall.schemas.messages import APIS, HeartbeatResponse, Shape
from rollcall.schemas.wire_fields import carried, carried_names
from rollcall.serve.gateway.wire.codec import MAX_ELEMENTS, Codec, WireError, codec, read_head
from rollcall.serve.gateway.wire.shaping import entity_of, values_of
from tests.examples import examples
from tests.gateway.messages import answered_codecs, entities, group_codecs, name_of

ALL = answered_codecs()
GROUPS = list(group_codecs())
ENDING_IN_TAGS = [
    spoken
    for spoken in ALL
    if spoken.request_type.__flexible__  # type: ignore[attr-defined]
    and not any("tag" in field.metadata for field in fields(spoken.request_type))
]
"""Versions whose requests end in a count of tagged fields, none of which is known."""


@examples(100, 800)
@given(st.sampled_from(ALL), st.data())
def test_a_request_is_read_as_it_was_written(spoken: Codec, data: st.DataObject) -> None:
    message = data.draw(entities(spoken.request_type))
    frame = spoken.write_request(7, "me", message)
    assert struct.unpack_from(">ihhi", frame) == (len(frame) - 4, *read_head(frame[4:]))
    assert spoken.read_request(frame[4:]) == ("me", message)


@examples(100, 800)
@given(st.sampled_from(ALL), st.data(), st.integers(-(2**31), 2**31 - 1))
def test_a_response_is_read_as_it_was_written(spoken: Codec, data: st.DataObject, correlation_id: int) -> None:
    message = data.draw(entities(spoken.response_type))
    first, again = (spoken.write_response(correlation_id, message) for _ in range(2))
    assert first == again
    assert spoken.read_response(first[4:]) == (correlation_id, message)


@pytest.mark.parametrize("spoken", GROUPS, ids=name_of)
def test_every_field_that_a_version_carries_has_its_like_on_the_wire(spoken: Codec) -> None:
    api = APIS[spoken.api]
    assert_same_names(api.request, spoken.request_type)
    assert_same_names(api.response, spoken.response_type)


def assert_same_names(shape: Any, entity_type: Any) -> None:
    on_the_wire = {_without_unit(field.name) for field in fields(entity_type)}
    ours = carried_names(shape, entity_type.__version__)
    assert {_without_unit(name) for name, _ in ours} == on_the_wire
    for field in fields(entity_type):
        inner = _inner(field.type)
        if hasattr(inner, "__version__"):
            own = next(name for name, is_nested in ours if is_nested and _without_unit(name) == field.name)
            assert_same_names(_inner(get_type_hints(shape)[own]), inner)


def _without_unit(name: str) -> str:
    return name.removesuffix("_ms")


def _inner(declared: Any) -> Any:
    arguments = [part for part in getattr(declared, "__args__", ()) if part is not Ellipsis and part is not type(None)]
    return _inner(arguments[0]) if arguments else declared


@examples(100, 600)
@given(st.sampled_from(GROUPS), st.data())
def test_a_request_is_the_same_as_shape_and_as_entity(spoken: Codec, data: st.DataObject) -> None:
    message = data.draw(entities(spoken.request_type))
    shape: Any = APIS[spoken.api].request
    asked = shape(request_id="r", api_version=spoken.version, **values_of(message, shape))
    assert entity_of(spoken.request_type, asked) == message
    assert entity_of(spoken.request_type, carried(asked, spoken.version)) == message


@examples(100, 600)
@given(st.sampled_from(GROUPS), st.data())
def test_a_response_is_the_same_as_shape_and_as_entity(spoken: Codec, data: st.DataObject) -> None:
    message = data.draw(entities(spoken.response_type))
    shape: Any = APIS[spoken.api].response
    response: Shape = shape(**values_of(message, shape))
    assert entity_of(spoken.response_type, response) == message


def test_what_a_response_does_not_set_has_kafkas_default() -> None:
    message = entity_of(codec("JoinGroup", 0).response_type, {"member_id": "m"})
    assert (message.member_id, message.generation_id, message.protocol_name, message.members) == ("m", -1, "", ())
    assert entity_of(codec("JoinGroup", 9).response_type, {}).protocol_name is None
    assert entity_of(codec("Heartbeat", 4).response_type, HeartbeatResponse()).throttle_time.total_seconds() == 0


# ---------------------------------------------------------------- malformed


def request(spoken: Codec, client_id: str = "", **values: Any) -> bytes:
    return spoken.write_request(1, client_id, entity_of(spoken.request_type, values))[4:]


@examples(300, 2000)
@given(st.sampled_from(ALL), st.data())
def test_random_bytes_are_a_request_or_refused_and_nothing_else(spoken: Codec, data: st.DataObject) -> None:
    tail = data.draw(
        st.binary(max_size=80) | st.lists(st.sampled_from([0, 1, 2, 127, 128, 255]), max_size=60).map(bytes)
    )
    head = struct.pack(">hhih", spoken.request_type.__api_key__, spoken.version, 1, 0)  # type: ignore[attr-defined]
    with contextlib.suppress(WireError):
        spoken.read_request(head + tail)


@examples(100, 600)
@given(st.sampled_from(ALL), st.data())
def test_a_request_cut_short_is_refused(spoken: Codec, data: st.DataObject) -> None:
    frame = spoken.write_request(7, "me", data.draw(entities(spoken.request_type)))[4:]
    short = frame[: data.draw(st.integers(8, len(frame) - 1))]
    with pytest.raises(WireError):
        spoken.read_request(short)


@pytest.mark.parametrize(
    ("version", "array"),
    [
        (0, struct.pack(">i", 2**31 - 1)),
        (0, struct.pack(">i", MAX_ELEMENTS + 1) + bytes(2 * MAX_ELEMENTS)),
        (5, b"\xff\xff\xff\xff\x0f"),
    ],
    ids=["all an int holds", "one too many", "all a varint holds"],
)
def test_an_array_that_claims_more_than_the_frame_holds_costs_nothing(version: int, array: bytes) -> None:
    spoken = codec("DescribeGroups", version)
    head = request(spoken)[: 11 if version >= 5 else 10]
    with pytest.raises(WireError, match="an array of"):
        spoken.read_request(head + array + bytes(1000))


@settings(max_examples=200)
@given(st.sampled_from(ENDING_IN_TAGS), st.data())
def test_tagged_fields_that_are_not_known_are_passed_over(spoken: Codec, data: st.DataObject) -> None:
    message = data.draw(entities(spoken.request_type))
    frame = spoken.write_request(7, "me", message)[4:]
    value = data.draw(st.binary(max_size=100))
    unknown = b"\1\x63" + bytes([len(value)]) + value
    assert frame[-1] == frame[12] == 0
    assert spoken.read_request(frame[:-1] + unknown) == ("me", message)
    assert spoken.read_request(frame[:12] + unknown + frame[13:]) == ("me", message)


@pytest.mark.parametrize(
    ("api", "version", "values", "where"),
    [
        ("Produce", 3, {}, "topic_data: null in ProduceRequest"),
        ("Fetch", 4, {}, "topics: null in FetchRequest"),
        ("ListOffsets", 1, {}, "topics: null in ListOffsetsRequest"),
        ("ListOffsets", 1, {"topics": [{"name": "t", "partitions": []}]}, "partitions: null in ListOffsetsTopic"),
        ("OffsetCommit", 2, {}, "topics: null in OffsetCommitRequest"),
        ("JoinGroup", 0, {}, "protocols: null in JoinGroupRequest"),
    ],
)
def test_null_where_there_must_be_a_list_is_refused_by_its_name(
    api: str, version: int, values: dict[str, Any], where: str
) -> None:
    spoken = codec(api, version)
    frame = request(spoken, **values)
    assert frame[-4:] == bytes(4)
    with pytest.raises(WireError, match=where):
        spoken.read_request(frame[:-4] + b"\xff\xff\xff\xff")


def test_null_where_it_means_all_is_taken() -> None:
    spoken = codec("OffsetFetch", 5)
    assert spoken.read_request(request(spoken, group_id="g", topics=None))[1].topics is None


@pytest.mark.parametrize("api", ["Heartbeat", "JoinGroup"])
@pytest.mark.parametrize("field", ["group_id", "member_id", "group_instance_id"])
def test_a_string_that_older_versions_cannot_carry_is_refused_on_reading(api: str, field: str) -> None:
    spoken = codec(api, {"Heartbeat": 4, "JoinGroup": 9}[api])
    longest, too_long = (request(spoken, **{field: "x" * (STRING_MAX_BYTES + more)}) for more in (0, 1))
    assert len(getattr(spoken.read_request(longest)[1], field)) == STRING_MAX_BYTES
    with pytest.raises(WireError, match="a string of 32768 bytes, 32767 at most"):
        spoken.read_request(too_long)


def test_bytes_may_be_longer_than_strings() -> None:
    spoken = codec("JoinGroup", 9)
    frame = request(spoken, protocols=[{"name": "range", "metadata": bytes(100_000)}])
    assert len(spoken.read_request(frame)[1].protocols[0].metadata) == 100_000


def test_all_lists_of_a_message_together_have_no_more_elements_than_are_asked_for() -> None:
    spoken = codec("OffsetFetch", 9)
    groups = [{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [1, 2, 3]}] * 2}] * 2
    frame = request(spoken, groups=groups)
    elements = 2 + 2 * 2 + 4 * 3
    assert len(spoken.read_request(frame, elements)[1].groups) == 2
    with pytest.raises(WireError, match=f"{elements - 1} in a message at most"):
        spoken.read_request(frame, elements - 1)


def test_a_head_with_more_tags_than_any_client_sends_is_refused() -> None:
    spoken = codec("Heartbeat", 4)
    frame = request(spoken, "me")
    assert frame[12] == 0
    most, too_many = (
        frame[:12] + bytes([tags]) + b"".join(bytes([20 + tag, 0]) for tag in range(tags)) + frame[13:]
        for tags in (100, 101)
    )
    assert spoken.read_request(most)[0] == "me"
    with pytest.raises(WireError, match="101 tagged fields, 100 at most"):
        spoken.read_request(too_many)


@pytest.mark.parametrize("frame", [b"", b"\0", bytes(7)])
def test_a_frame_too_short_for_a_head_is_refused(frame: bytes) -> None:
    with pytest.raises(WireError, match=f"a request of {len(frame)} bytes has no head"):
        read_head(frame)
