"""Searches for the request of an API that costs most within its limits.

Knows shapes and costs; must not know what an API does.
"""

from __future__ import annotations

import itertools
import time
from random import Random

import msgspec
from kio.serial.errors import SerialError

from rollcall.serve.gateway.wire.codec import Codec
from tests.attack.cost.broker import LARGE, NEWER, OFFSETS, Broker, Cost
from tests.attack.cost.shapes import Shape, entity_in, neighbour, shapes

_SEED = 23
_CLIMBS = 0.6
"""That part of the tries varies the dearest that is known."""


class Found(msgspec.Struct):
    """What a search found."""

    tries: int
    version: int
    shape: Shape
    """Of the request that takes longest."""
    slowest: Cost
    longest_round_s: float
    longest_core_s: float
    most_memory: float
    """As a multiple of the memory at rest."""
    most_written_per_byte: float
    most_written_bytes: int
    """For one request."""


def search(api: str, seconds: float) -> Found:
    """Tries requests of an API, those of each kind first, and varies the dearest. seconds: how long."""
    broker, random = Broker(), Random(_SEED)
    spoken = broker.codecs[api]
    versions = range(len(spoken))
    groups = (LARGE, NEWER, OFFSETS)
    # Short ones about groups that hold much come first: chance seldom makes them.
    short = [
        Shape(versions[-1], (1, 1), 1, 0, group, member_id, True, is_null)
        for group, member_id, is_null in itertools.product(groups, broker.members, (False, True))
    ]
    of_all_kinds = itertools.chain(short, shapes(random, versions, groups, broker.members))
    dearest: list[tuple[Cost, Shape]] = []
    tried: list[Cost] = []
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at or not dearest:
        is_climb = len(tried) > len(short) and random.random() < _CLIMBS
        shape = neighbour(random, random.choice(dearest)[1], versions) if is_climb else next(of_all_kinds)
        cost = cost_of(broker, spoken[shape.version], shape)
        if cost is None:
            continue
        tried.append(cost)
        dearest = sorted([*dearest, (cost, shape)], key=lambda one: -one[0].total_s)[:4]
    broker.close()
    slowest, shape = dearest[0]
    return Found(
        len(tried),
        spoken[shape.version].version,
        shape,
        slowest,
        max(cost.round_s for cost in tried),
        max(cost.core_s for cost in tried),
        max(cost.memory_bytes for cost in tried) / broker.memory_bytes,
        max(cost.written_per_byte for cost in tried),
        max(cost.written_bytes for cost in tried),
    )


def cost_of(broker: Broker, spoken: Codec, shape: Shape) -> Cost | None:
    """What a shape's request costs; None: there is no such request, or it is longer than any may be."""
    try:
        frame = spoken.write_request(1, "c", entity_in(shape, spoken.request_type, broker.most_bytes))
    except (ValueError, TypeError, OverflowError, SerialError):
        return None
    if len(frame) > broker.most_bytes:
        return None
    broker.renew()
    return broker.cost_of(frame)
