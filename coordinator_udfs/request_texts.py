"""A request's text -> a request of this group, or the reason why it cannot be one.

Knows the shapes, their versions and the limits of an envelope; knows no group and no rule of the protocol.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from rollcall.coordinator_udfs.settings import LATEST_MS, REQUEST_ID_MAX_CHARACTERS
from rollcall.schemas.fan_out import groups_named
from rollcall.schemas.limits import unfit_value
from rollcall.schemas.membership_messages import LONGEST_RUN_MS
from rollcall.schemas.messages import (
    APIS,
    ENVELOPE_FIELDS,
    REPLAY_APIS,
    RUN_APIS,
    ConsumerGroupHeartbeatRequest,
    HeartbeatRequest,
    HeartbeatRunRequest,
    Request,
    StreamRequest,
    Versions,
)
from rollcall.schemas.wire_fields import PASSER_FIELDS, REPLAY_FIELDS, RequestError, carried_names

_decoder = msgspec.json.Decoder(StreamRequest)
_APIS = APIS | RUN_APIS | REPLAY_APIS
_API_OF: dict[type[Request], str] = {api.request: name for name, api in _APIS.items()}
_VERSIONS: dict[type[Request], Versions] = {api.request: api.versions for api in _APIS.values()}
_BEATS = (HeartbeatRequest, ConsumerGroupHeartbeatRequest)
_OF_A_REPLAY = tuple(api.request for api in REPLAY_APIS.values())


class _Arrival(msgspec.Struct):
    received_at_ms: int | None = None


_arrival_decoder = msgspec.json.Decoder(_Arrival)


def read_request(text: str | bytes, group_id: str, *, is_replay: bool = False) -> StreamRequest:
    """The request in a text, for the group that its row names. is_replay: also accepts fields that only a recording
    has.

    Raises RequestError, in this order: no JSON, an unknown API, a field missing, unknown or of the wrong type; a
    version not answered; a field that its version does not carry; an unfit request id or time of arrival; another
    group, or not exactly one; a string that is too long; topics that no cluster has; a run of heartbeats whose moments
    do not fit.
    """
    try:
        request: StreamRequest = _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise RequestError(f"request: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise RequestError(f"request: is not JSON: {error}") from None
    kind: type[Request] = type(request)
    if not is_replay and kind in _OF_A_REPLAY:
        raise RequestError(f"api: {_API_OF[kind]!r} is for a replay alone")
    version = request.api_version
    versions = _VERSIONS[kind]
    if not versions.first <= version <= versions.last:
        raise RequestError(
            f"api_version: {version} of {_API_OF[kind]}: {versions.first} to {versions.last} are answered"
        )
    for name, default in _not_carried(kind, version, is_replay):
        if getattr(request, name) != default:
            raise RequestError(f"{name}: {_API_OF[kind]} v{version} does not carry this field")
    _check_envelope(request)
    names = [request.group_id] if isinstance(request, _BEATS) else groups_named(request)
    if len(names) != 1:
        raise RequestError(f"group_id: the request names {len(names)} groups, a row is for exactly one")
    if names[0] != group_id:
        raise RequestError(f"group_id: the row says {_short(group_id)}, the request {_short(names[0])}")
    if unfit := unfit_value(request, text):
        raise RequestError(unfit)
    if isinstance(request, HeartbeatRunRequest):
        _check_run(request)
    return request


def arrival_of(text: str | bytes) -> int | None:
    """The arrival time that an unusable request names, if any."""
    try:
        at_ms = _arrival_decoder.decode(text).received_at_ms
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return at_ms if at_ms is not None and 0 <= at_ms <= LATEST_MS else None


def _check_envelope(request: Request) -> None:
    if not 0 < len(request.request_id) <= REQUEST_ID_MAX_CHARACTERS:
        raise RequestError(
            f"request_id: has {len(request.request_id)} characters, 1 to {REQUEST_ID_MAX_CHARACTERS} are taken"
        )
    if not 0 <= request.received_at_ms <= LATEST_MS:
        raise RequestError(f"received_at_ms: {request.received_at_ms} lies outside the years 1970 to 9999")


def _check_run(run: HeartbeatRunRequest) -> None:
    versions = APIS["Heartbeat"].versions
    for place, one in enumerate(run.members):
        where = f"members[{place}]"
        if not versions.has(one.api_version):
            raise RequestError(
                f"{where}.api_version: {one.api_version} of Heartbeat: {versions.first} to {versions.last} are answered"
            )
        if not one.beats or one.beats != sorted(set(one.beats)):
            raise RequestError(f"{where}.beats: {_short(str(one.beats))}: each must be later than the one before it")
        if one.beats[0] < 0 or one.beats[-1] > LONGEST_RUN_MS:
            raise RequestError(f"{where}.beats: {_short(str(one.beats))}: 0 to {LONGEST_RUN_MS} ms are taken")
    last_ms = run.from_ms + max((one.beats[-1] for one in run.members), default=0)
    if run.received_at_ms != last_ms or not run.members:
        raise RequestError(f"received_at_ms: {run.received_at_ms} is not when the run's last heartbeat arrived")
    if run.from_ms < 0 or (run.handed_on_ms is not None and not last_ms <= run.handed_on_ms <= LATEST_MS):
        raise RequestError(f"handed_on_ms: {run.handed_on_ms} is not after the run's last heartbeat, {last_ms}")


@cache
def _not_carried(kind: type[Request], version: int, is_replay: bool) -> tuple[tuple[str, Any], ...]:
    """Every field, with its default, that this version does not carry."""
    beside = ENVELOPE_FIELDS | (REPLAY_FIELDS if is_replay else PASSER_FIELDS)
    carried = {name for name, _ in carried_names(kind, version)} | beside
    return tuple(
        (f.name, f.default if f.default is not msgspec.NODEFAULT else f.default_factory())
        for f in msgspec.structs.fields(kind)
        if f.name not in carried
    )


def _short(text: str) -> str:
    return repr(text if len(text) <= 200 else text[:200] + "...")
