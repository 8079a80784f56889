"""What tests of the stream's function on the live clock begin with: settings, a moment, a Stable group, the replies.

Knows the stream and the requests; must not know what is right.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from tests.requests import join, sync
from tests.udf.stream import Effect, Stream, arrived

T = 1_700_000_000_000
CONFIG = GroupConfig(group_initial_rebalance_delay_ms=0)
SETTINGS = StreamSettings(group=CONFIG)


def stable(stream: Stream, at_ms: int = T, group: str = "orders") -> str:
    """A group of one member, Stable in generation 1; the member's id. In a replay, the member joins just before."""
    is_live = stream.settings.clock is Clock.PROCESSING
    joined = stream.batch(at_ms, arrived(join("a", at_ms if is_live else at_ms - 1, group)))
    member_id = str(next(e for e in joined if e["effect"] == "member_joined")["member_id"])
    synced = stream.batch(at_ms, arrived(sync(member_id, 1, at_ms, group, assigned=[member_id])))
    assert [e["error_code"] for e in replies(synced) if e["api"] == "SyncGroup"] == ["NONE"]
    return member_id


def stream_with_member() -> tuple[Stream, str]:
    """A stream with such a group, and the member's id."""
    stream = Stream(SETTINGS)
    return stream, stable(stream)


def removed(effects: list[Effect]) -> list[tuple[str, int]]:
    return [(e["cause"], e["at_ms"]) for e in effects if e["effect"] == "member_removed"]


def replies(effects: list[Effect]) -> list[Effect]:
    return [e for e in effects if e["effect"] == "reply"]
