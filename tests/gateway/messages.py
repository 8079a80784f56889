"""Random messages of any API and version, as kio's entities, from kio's own declarations. Knows no meaning."""

from __future__ import annotations

import datetime
import os
import types
import uuid
from collections.abc import Iterator
from dataclasses import Field, fields
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import APIS
from rollcall.serve.gateway.assembly import stand_alone
from rollcall.serve.gateway.sasl import Sasl
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.wire.codec import Codec, codec
from rollcall.serve.listeners.credentials import Users
from tests.gateway.core_backend import CoreBackend
from tests.gateway.running import GROUPS

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
_ERRORS = [ErrorCode(error.code) for error in Error]


def _milliseconds(bits: int) -> st.SearchStrategy[datetime.timedelta]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1).map(lambda ms: datetime.timedelta(milliseconds=ms))


_PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "int8": st.integers(-(1 << 7), (1 << 7) - 1),
    "int16": st.integers(-(1 << 15), (1 << 15) - 1),
    "int32": st.integers(-(1 << 31), (1 << 31) - 1),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "bool": st.booleans(),
    "string": _text,
    "bytes": st.binary(max_size=40),
    "records": st.binary(max_size=40),
    "uuid": st.uuids(),
    "error_code": st.sampled_from(_ERRORS),
    "timedelta_i32": _milliseconds(32),
    "timedelta_i64": _milliseconds(40),
    "datetime_i64": st.integers(0, 1 << 40).map(lambda ms: _EPOCH + datetime.timedelta(milliseconds=ms)),
}


@cache
def entities(entity_type: Any) -> st.SearchStrategy[Any]:
    """Any message of a type."""
    return st.builds(entity_type, **{field.name: _values(field, field.type) for field in fields(entity_type)})


def _values(field: Field[Any], declared: Any) -> st.SearchStrategy[Any]:
    if isinstance(declared, types.UnionType):
        inner = next(part for part in get_args(declared) if part is not types.NoneType)
        if inner is uuid.UUID:
            return _PRIMITIVES["uuid"]
        return st.none() | _values(field, inner)
    if get_origin(declared) is tuple:
        return st.lists(_values(field, get_args(declared)[0]), max_size=3).map(tuple)
    kafka_type = field.metadata.get("kafka_type")
    return entities(declared) if kafka_type is None else _PRIMITIVES[kafka_type]


def group_codecs() -> Iterator[Codec]:
    """Every version of every group API."""
    for name, api in APIS.items():
        for version in range(api.versions.first, api.versions.last + 1):
            yield codec(name, version)


def answered_codecs() -> list[Codec]:
    """Every version of every API that a gateway answers."""
    routing = stand_alone(Settings(), CoreBackend(GROUPS)).routing
    sasl = Sasl(Users(Path(os.devnull)), ())
    endpoints = [*routing.endpoints, *sasl.endpoints()]
    return [
        codec(endpoint.api, version) for endpoint in endpoints for version in range(endpoint.first, endpoint.last + 1)
    ]


def name_of(spoken: Codec) -> str:
    return f"{spoken.api}-v{spoken.version}"
