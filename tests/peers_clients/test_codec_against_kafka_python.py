"""Our bytes are those of another implementation of the protocol: every version of the group APIs it has."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol.api_message import ApiMessage

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import APIS, Shape
from rollcall.schemas.wire_fields import carried
from rollcall.serve.gateway.wire.codec import Codec
from rollcall.serve.gateway.wire.shaping import entity_of, values_of
from tests.gateway.messages import entities, group_codecs

MODULES = ("kafka.protocol.consumer", "kafka.protocol.admin", "kafka.protocol.metadata")


NOT_THEIRS = {"ConsumerGroupHeartbeat", "ConsumerGroupDescribe"}
"""The newer protocol, which kafka-python does not speak: the Java client and librdkafka read and write those bytes."""


def theirs(name: str) -> type[ApiMessage]:
    """kafka-python's class of a message."""
    return next(
        found for module in MODULES if (found := getattr(importlib.import_module(module), name, None)) is not None
    )


NEWEST = {
    api: min(theirs(f"{api}{kind}").max_version for kind in ("Request", "Response"))
    for api in APIS
    if api not in NOT_THEIRS
}
SPOKEN = [spoken for spoken in group_codecs() if spoken.version <= NEWEST.get(spoken.api, -1)]


BIT_FIELDS = {"authorized_operations"}


def bits(value: int) -> set[int]:
    """The places of the ones, as kafka-python takes a bit field."""
    return {place for place in range(32) if value >> place & 1}


def plain(value: Any) -> Any:
    """As kafka-python takes it: errors by number, what is nested by its attributes."""
    match value:
        case Error():
            return value.code
        case dict():
            return SimpleNamespace(
                **{name: bits(inner) if name in BIT_FIELDS else plain(inner) for name, inner in value.items()}
            )
        case list():
            return [plain(inner) for inner in value]
        case _:
            return value


def fields_of(values: dict[str, Any]) -> dict[str, Any]:
    return vars(plain(values))


@settings(max_examples=500)
@given(st.sampled_from(SPOKEN), st.data())
def test_a_request_is_the_same_bytes(spoken: Codec, data: st.DataObject) -> None:
    shape: Any = APIS[spoken.api].request
    message = data.draw(entities(spoken.request_type))
    values = carried(shape(request_id="", api_version=spoken.version, **values_of(message, shape)), spoken.version)
    other = theirs(f"{spoken.api}Request")(version=spoken.version, **fields_of(values))
    other.with_header(correlation_id=7, client_id="me")
    assert spoken.write_request(7, "me", message) == bytes(other.encode(header=True, framed=True))


@settings(max_examples=500)
@given(st.sampled_from(SPOKEN), st.data())
def test_a_response_is_the_same_bytes(spoken: Codec, data: st.DataObject) -> None:
    shape: Any = APIS[spoken.api].response
    message = data.draw(entities(spoken.response_type))
    response: Shape = shape(**values_of(message, shape))
    other = theirs(f"{spoken.api}Response")(version=spoken.version, **fields_of(carried(response, spoken.version)))
    other.with_header(correlation_id=7)
    assert spoken.write_response(7, entity_of(spoken.response_type, response)) == bytes(
        other.encode(header=True, framed=True)
    )


@pytest.mark.parametrize("api", NEWEST)
def test_hardly_a_version_goes_uncompared(api: str) -> None:
    assert NEWEST[api] >= APIS[api].versions.last - 1
