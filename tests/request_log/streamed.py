"""A log's requests through the stream's own function, commit by commit on the event clock, for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.messages import StreamRequest
from tests.udf.stream import Stream, arrived


def streamed(
    requests: Sequence[StreamRequest], config: GroupConfig, end_ms: int, requests_a_commit: int
) -> dict[str, list[EffectRow]]:
    """Facts by group that the stream reports of a log's requests, which are in order of time."""
    stream = Stream(StreamSettings(clock=Clock.EVENT, group=config.of_a_recording()))
    starts = range(0, len(requests), requests_a_commit)
    stream.events(arrived(*requests[start : start + requests_a_commit]) for start in starts)
    stream.watermark_ms = max(stream.watermark_ms, end_ms + 1)
    stream.batch(0)
    facts: dict[str, list[EffectRow]] = defaultdict(list)
    for effect in stream.effects:
        facts[effect["group_id"]].append(msgspec.convert(effect, EffectRow))
    return facts
