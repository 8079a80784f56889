"""The same calls with their heartbeats packed into runs, for tests that hold a run equal to its heartbeats.

Knows which heartbeats stand together; must not know a rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from schemas.heartbeat_runs import RunPacker
from schemas.messages import HeartbeatRequest
from tests.protocol.invariants_play import Call


def in_runs(calls: Iterable[Call], most: int = 1000) -> list[Call]:
    """Calls in which every row of heartbeats is a run, of at most so many.

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
                yield Call(packer.last_ms, packer.run(f"run {count}"))
            packer, count = RunPacker(request), count + 1
            continue
        if packer is not None:
            yield Call(packer.last_ms, packer.run(f"run {count}"))
            packer = None
        yield call
    if packer is not None:
        yield Call(packer.last_ms, packer.run(f"run {count}"))
