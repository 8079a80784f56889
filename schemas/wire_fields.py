"""Which fields a message's version carries: shapes a response for its version, checks a request against its own.

Reads the marks of `rollcall.schemas.messages`; knows no rule of the protocol and no wire bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from rollcall.schemas.limits import unfit_value
from rollcall.schemas.messages import APIS, ENVELOPE_FIELDS, REPLAY_APIS, AnyRequest, Request, Shape, Versions

REPLAY_FIELDS = frozenset(
    {
        "recorded_member_id",
        "recorded_leader_id",
        "inferred_cause",
        "cluster_topics",
        "topic_ids",
        "resolved_patterns",
        "is_acknowledged",
    }
)
"""Fields that no client sends: a recording says them, or who passes a request on."""
PASSER_FIELDS = frozenset({"cluster_topics", "is_acknowledged"})
"""Those of them that whoever passes a client's request on may set as well."""


class RequestError(ValueError):
    """A request that cannot be understood; the text names the field and the value."""


class _Field(msgspec.Struct):
    name: str
    versions: Versions
    nested: type[Shape] | None
    """The shape inside the field, alone or in a list."""


@cache
def _fields(shape: type[Shape]) -> tuple[_Field, ...]:
    hints = get_type_hints(shape, include_extras=True)
    return tuple(
        _Field(name, _versions(hints[name]), _nested_shape(hints[name]))
        for name in shape.__struct_fields__
        if name not in REPLAY_FIELDS
    )


def _versions(hint: Any) -> Versions:
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Versions)), Versions(0))


def _nested_shape(hint: Any) -> type[Shape] | None:
    if get_origin(hint) is None:
        return hint if isinstance(hint, type) and issubclass(hint, Shape) else None
    return next(filter(None, map(_nested_shape, get_args(hint))), None)


@cache
def versions_of(shape: type[Shape], field: str) -> Versions:
    """The versions of a message that carry a field of it, or of a shape inside it. Raises KeyError: no such field."""
    return {each.name: each.versions for each in _fields(shape)}[field]


def first_version(shape: type[Shape], field: str) -> int:
    """The first version that carries a field: `first_version(JoinGroupRequest, "reason")` is 8."""
    return versions_of(shape, field).first


def carries(shape: type[Shape], field: str, version: int) -> bool:
    """Whether a version carries a field."""
    return versions_of(shape, field).has(version)


@cache
def carried_names(shape: type[Shape], version: int) -> tuple[tuple[str, bool], ...]:
    """(name, holds shapes) of every field that `version` of the message carries, envelope left out."""
    envelope = ENVELOPE_FIELDS if issubclass(shape, Request) else frozenset()
    return tuple(
        (f.name, f.nested is not None) for f in _fields(shape) if f.versions.has(version) and f.name not in envelope
    )


@cache
def _names_in_tables(shape: type[Shape], version: int) -> tuple[tuple[str, bool], ...]:
    """The same, and those that stand in a home's tables beside them."""
    beside = ((f.name, f.nested is not None) for f in _fields(shape) if f.versions.is_passed_on)
    return tuple(dict.fromkeys((*carried_names(shape, version), *beside)))


def carried(message: Shape, version: int, *, in_tables: bool = False) -> dict[str, Any]:
    """The message's fields that `version` carries, by name, nested shapes as dicts.

    in_tables: as it stands in a home's tables, where it may have fields beside those.
    """
    names = (_names_in_tables if in_tables else carried_names)(type(message), version)
    fields = {name: getattr(message, name) for name, _ in names}
    for name, nested in names:
        if nested and (value := fields[name]) is not None:
            ones = value if isinstance(value, list) else [value]
            inner = [carried(one, version, in_tables=in_tables) for one in ones]
            fields[name] = inner if isinstance(value, list) else inner[0]
    return fields


def parse_request(fields: dict[str, Any], *, is_replay: bool = False) -> AnyRequest:
    """A request from its fields by name (bytes as base64). is_replay: what only a recording says is taken too.

    Raises RequestError, in this order: unknown api; a version not answered; a field missing, of the wrong type or
    unknown; a field, nested ones too, that this version does not carry; a string that is too long; topics that no
    cluster has.
    """
    api = fields.get("api")
    known = APIS | (REPLAY_APIS if is_replay else {})
    if not isinstance(api, str) or api not in known:
        raise RequestError(f"api: {api!r} is not one of {', '.join(sorted(known))}")
    version = fields.get("api_version")
    versions = known[api].versions
    if not isinstance(version, int) or isinstance(version, bool) or not versions.has(version):
        raise RequestError(f"api_version: {version!r} of {api}: {versions.first} to {versions.last} are answered")
    try:
        request = msgspec.convert(fields, known[api].request)
    except msgspec.ValidationError as error:
        raise RequestError(f"{api} v{version}: {error}") from None
    _refuse_what_is_not_carried(fields, type(request), version, f"{api} v{version}")
    if unfit := unfit_value(request):
        raise RequestError(unfit)
    return request  # type: ignore[return-value]


def _refuse_what_is_not_carried(
    fields: dict[str, Any], shape: type[Shape], version: int, message: str, path: str = ""
) -> None:
    takes = _taken(shape, version)
    for name, value in fields.items():
        if name not in takes:
            raise RequestError(f"{path}{name}: {message} does not carry this field")
        nested = takes[name]
        if nested is not None and isinstance(value, list):
            for place, item in enumerate(value):
                _refuse_what_is_not_carried(item, nested, version, message, f"{path}{name}[{place}].")


@cache
def _taken(shape: type[Shape], version: int) -> dict[str, type[Shape] | None]:
    """Every field that may stand in a request of this version, with the shape it holds."""
    beside = {*REPLAY_FIELDS, "api", *ENVELOPE_FIELDS} if issubclass(shape, Request) else REPLAY_FIELDS
    carried = {f.name: f.nested for f in _fields(shape) if f.versions.has(version) or f.versions.is_passed_on}
    return dict.fromkeys(beside) | carried
