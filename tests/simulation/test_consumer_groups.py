"""Fleets of members of the newer protocol, with deaths, stalls, late polls and losses: never two owners, and at rest
again each partition has one.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.simulation.plan import (
    ConsumerPlan,
    GroupProtocol,
    Schedule,
    Span,
    Subscribed,
    TopicChange,
    WorldPlan,
)
from rollcall.coordinator_udfs.protocol.config import ConsumerConfig as BrokerConfig
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.schemas.consumer_protocol import TopicPartition
from tests.examples import examples
from tests.simulation.lossy import LossyPlan
from tests.simulation.watched import WatchedWorld

TROUBLE_MS, REST_MS = 90_000, 120_000
BROKER = GroupConfig(consumer=BrokerConfig(session_timeout_ms=10_000, heartbeat_interval_ms=2_000))
TOPICS = st.sampled_from([("t",), ("t", "u")])
SPANS = st.builds(Span, st.integers(1_000, 60_000), st.integers(500, 25_000))


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    start_ms = draw(st.integers(0, 40_000))
    end_ms = draw(st.none() | st.integers(start_ms + 1, TROUBLE_MS))
    is_killed = draw(st.booleans())
    return Schedule(
        start_ms=start_ms,
        close_ms=None if is_killed else end_ms,
        kill_ms=end_ms if is_killed else None,
        pauses=tuple(draw(st.lists(SPANS, max_size=1))),
        slow=tuple(draw(st.lists(SPANS, max_size=1))),
        subscribed=tuple(draw(st.lists(st.builds(Subscribed, st.integers(0, 60_000), TOPICS), max_size=1))),
    )


@st.composite
def plans(draw: st.DrawFn) -> WorldPlan:
    consumers = [
        ConsumerPlan(
            f"c{number}",
            ConsumerConfig(
                group_id="g",
                client_id=f"c{number}",
                group_instance_id=f"i{number}" if draw(st.booleans()) else None,
                max_poll_interval_ms=12_000,
                request_timeout_ms=4_000,
            ),
            draw(TOPICS),
            schedule,
            pattern=draw(st.sampled_from(["", "", "u.*"])),
            protocol=GroupProtocol.CONSUMER,
        )
        for number, schedule in enumerate(draw(st.lists(schedules(), min_size=1, max_size=5)))
    ]
    losses = LossyPlan(
        latency_ms=(1, 20),
        request_loss=draw(st.sampled_from([0.0, 0.1])),
        answer_loss=draw(st.sampled_from([0.0, 0.1])),
        loss_until_ms=TROUBLE_MS,
    )
    grown = (TopicChange(draw(st.integers(1, TROUBLE_MS)), "t", 7),) if draw(st.booleans()) else ()
    return WorldPlan(tuple(consumers), {"t": 4, "u": 3}, BROKER, losses, grown, seed=draw(st.integers(0, 99)))


@examples(30, 200)
@given(plan=plans())
def test_no_partition_has_two_owners_and_at_rest_each_has_one_that_lives(plan: WorldPlan) -> None:
    world = WatchedWorld(plan)
    world.run_until(TROUBLE_MS + REST_MS)
    assert world.double_ownerships == []
    present = [each for each in world.consumers.values() if each.is_present and each.member is not None]
    owned = sorted(partition for each in present for partition in each.owned_partitions)
    wanted = {topic for each in present for topic in _topics_at_rest(each.plan)}
    counts = [(topic, count) for topic, count in world.topics.items() if topic in wanted]
    assert owned == sorted(TopicPartition(topic, number) for topic, count in counts for number in range(count))
    consumer = world.group("g").consumer
    if present:
        assert consumer is not None
        members = {each.member.member_id for each in present if each.member is not None}
        assert members == set(consumer.members)


def _topics_at_rest(plan: ConsumerPlan) -> tuple[str, ...]:
    """What it subscribes to in the end: a change before its start is none."""
    changed = [each.topics for each in plan.schedule.subscribed if each.at_ms >= plan.schedule.start_ms]
    return changed[-1] if changed else (*plan.topics, *(["u"] if plan.pattern else []))
