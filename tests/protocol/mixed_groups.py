"""Where tests of groups of both protocols begin: a Stable classic member, and a consumer that has joined it."""

from __future__ import annotations

from rollcall.schemas.consumer_protocol import Assignment, TopicPartition, encode_assignment
from tests.protocol.consumer_bench import ConsumerBench


def classic(bench: ConsumerBench, *, user_data: bytes | None = None, protocol_type: str = "consumer") -> str:
    """One Stable classic member with all of t1, at generation 1; its member id."""
    member_id: str = bench.join_classic("c1", "t1", member_id="", v=3, protocol_type=protocol_type).response.member_id
    owned = Assignment(tuple(TopicPartition("t1", p) for p in range(4)), user_data)
    plan = {member_id: encode_assignment(owned)}
    bench.sync("c1", member_id=member_id, generation_id=1, protocol_type=protocol_type, assigned=plan)
    return member_id


def mixed(session_timeout_ms: int = 45_000) -> tuple[ConsumerBench, str]:
    """A group upgraded by m1, which waits for its half; the id of its classic member."""
    bench = ConsumerBench(topics={"t1": 4}, session_timeout_ms=session_timeout_ms)
    member_id = classic(bench)
    bench.join("m1", "t1")
    return bench, member_id
