"""The assignors: 200 members share 2,000 partitions, afresh and again after one of them has left."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure, at_most, bench, cpu_seconds
from clients.assignors import ASSIGNORS, Assignor, MemberSubscription
from schemas.consumer_protocol import Subscription, TopicPartition

MEMBERS = 200
PARTITIONS_BY_TOPIC = {f"topic-{n}": 100 for n in range(20)}
TOPICS = tuple(PARTITIONS_BY_TOPIC)


@bench
def assign() -> Iterator[Figure]:
    """Every assignor with members that all subscribe to the same topics."""
    for name, assignor in ASSIGNORS.items():
        title = name.replace("-", "_")
        fresh = _members(assignor, {f"m-{n:03}": None for n in range(MEMBERS)})
        plan = assignor.assign(PARTITIONS_BY_TOPIC, fresh)
        left = _members(assignor, {member_id: owned for member_id, owned in plan.items() if member_id != "m-000"})
        yield Figure(f"{title}_afresh", _milliseconds(assignor, fresh), "ms", at_most(500))
        yield Figure(f"{title}_one_left", _milliseconds(assignor, left), "ms", at_most(500))


def _members(assignor: Assignor, owned: dict[str, list[TopicPartition] | None]) -> dict[str, MemberSubscription]:
    return {
        member_id: MemberSubscription(
            member_id,
            None,
            Subscription(
                TOPICS,
                user_data=assignor.subscription_user_data(partitions, 1),
                owned_partitions=tuple(partitions or ()),
                generation_id=-1 if partitions is None else 1,
            ),
        )
        for member_id, partitions in owned.items()
    }


def _milliseconds(assignor: Assignor, members: dict[str, MemberSubscription]) -> float:
    return cpu_seconds(lambda: assignor.assign(PARTITIONS_BY_TOPIC, members)) * 1000
