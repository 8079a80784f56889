"""The same calls with their heartbeats packed into runs, and groups to compare, for tests that hold a run equal to its
heartbeats.

Knows which heartbeats stand together; must not know a rule of the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.state_codec import encode
from rollcall.schemas.heartbeat_runs import RunPacker
from rollcall.schemas.messages import HeartbeatRequest
from tests.protocol.play import Call


def in_runs(calls: Iterable[Call], most: int = 1000) -> list[Call]:
    """Calls in which every row of heartbeats is a run, of at most `most` heartbeats.

    What is due between two heartbeats is left to the run, so calls that let time pass up to the millisecond before a
    request go with it.
    """
    return list(_packed(list(calls), most))


def _packed(calls: list[Call], most: int) -> Iterator[Call]:
    packer: RunPacker | None = None
    count = 0
    for place, call in enumerate(calls):
        request = call.request
        if request is None and place + 1 < len(calls):
            following = calls[place + 1]
            if isinstance(following.request, HeartbeatRequest) and following.at_ms == call.at_ms + 1:
                continue
        if isinstance(request, HeartbeatRequest):
            request = msgspec.structs.replace(request, received_at_ms=call.at_ms)
            if packer is not None and packer.takes(request) and packer.count < most:
                packer.add(request)
                continue
            if packer is not None:
                yield Call(packer.last_ms, packer.run(f"run {count}"), calls[0].config)
            packer, count = RunPacker(request), count + 1
            continue
        if packer is not None:
            yield Call(packer.last_ms, packer.run(f"run {count}"), calls[0].config)
            packer = None
        yield call
    if packer is not None:
        yield Call(packer.last_ms, packer.run(f"run {count}"), calls[0].config)


def state_of(group: Group) -> dict[str, Any]:
    """The group as it is stored, with the order of its session timers in place of their numbers."""
    if not group.is_known:
        return {}
    document: dict[str, Any] = json.loads(encode(group.copy()).document)
    started: list[int] = sorted(_starts(document))
    return {name: _ranked(value, started) for name, value in document.items() if name != "session_starts"}


def _starts(value: Any) -> Iterable[int]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "session_start":
                yield inner
            yield from _starts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _starts(inner)


def _ranked(value: Any, started: list[int]) -> Any:
    if isinstance(value, dict):
        return {
            name: started.index(inner) if name == "session_start" else _ranked(inner, started)
            for name, inner in value.items()
        }
    return [_ranked(inner, started) for inner in value] if isinstance(value, list) else value
