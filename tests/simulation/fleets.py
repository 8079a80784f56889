"""Random fleets of consumers: their protocols and schedules, and what the network loses meanwhile.

All trouble ends by TROUBLE_ENDS_MS. What is lost before that is noticed at the latest after the longest JoinGroup wait,
and then takes a rebalance or two: by QUIET_MS the group must have settled.
"""

from __future__ import annotations

from hypothesis import strategies as st

from rollcall.answers.clients.config import ApiVersions, ConsumerConfig
from rollcall.answers.simulation.plan import ConsumerPlan, Schedule, Span, TopicChange, WorldPlan
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from tests.simulation.checks import GROUP
from tests.simulation.lossy import LossyPlan

TROUBLE_ENDS_MS = 50_000
LONGEST_STALL_MS = 30_000
QUIET_MS = 220_000

JAVA = ApiVersions()
LIBRDKAFKA = ApiVersions(5, 3, 3, 1, 9)
KAFKA_PYTHON = ApiVersions(7, 5, 4, 5, 8)
AIOKAFKA = ApiVersions(5, 3, 1, 1, 3)
ONE_STEP = ApiVersions(3, 2, 2, 2, 4)
OLDEST = ApiVersions(0, 0, 0, 0, 2)

# What the members of one group list; each takes one. All lists of a fleet share a protocol.
COOPERATIVE_FLEETS = (
    (("cooperative-sticky",),),
    (("cooperative-sticky",), ("cooperative-sticky", "range")),
)
EAGER_FLEETS = (
    (("range",),),
    (("sticky",),),
    (("roundrobin", "range"), ("range",)),
    (("range", "cooperative-sticky"), ("range",)),
)


def spans(longest_ms: int) -> st.SearchStrategy[tuple[Span, ...]]:
    span = st.builds(Span, st.integers(0, TROUBLE_ENDS_MS), st.integers(100, longest_ms))
    return st.one_of(st.just(()), st.just(()), st.tuples(span), st.tuples(span, span))


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    start_ms = draw(st.integers(0, 25_000))
    end_ms = draw(st.one_of(st.none(), st.none(), st.integers(start_ms, TROUBLE_ENDS_MS)))
    is_killed = draw(st.booleans())
    return Schedule(
        start_ms=start_ms,
        close_ms=None if is_killed else end_ms,
        kill_ms=end_ms if is_killed else None,
        pauses=draw(spans(LONGEST_STALL_MS)),
        slow=draw(spans(LONGEST_STALL_MS)),
        restart_after_ms=1000,
    )


@st.composite
def consumers(draw: st.DrawFn, number: int, fleet: tuple[tuple[str, ...], ...], *, may_be_static: bool) -> ConsumerPlan:
    versions = draw(st.sampled_from([JAVA, JAVA, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA, ONE_STEP, OLDEST]))
    is_static = may_be_static and versions.join_group >= 5 and draw(st.booleans())
    config = ConsumerConfig(
        group_id=GROUP,
        client_id=f"app-{number % 2}",
        group_instance_id=f"pod-{number}" if is_static else None,
        session_timeout_ms=draw(st.sampled_from([6000, 10_000])),
        heartbeat_interval_ms=draw(st.sampled_from([1000, 3000])),
        max_poll_interval_ms=draw(st.sampled_from([10_000, 25_000])),
        partition_assignment_strategy=draw(st.sampled_from(fleet)),
        enable_auto_commit=draw(st.booleans()),
        request_timeout_ms=draw(st.sampled_from([4000, 15_000])),
        api_versions=versions,
        consumer_protocol_version=draw(st.sampled_from([1, 2, 3, 3])),
    )
    return ConsumerPlan(
        name=f"c{number}",
        config=config,
        topics=draw(st.sampled_from([("t", "u"), ("t", "u"), ("t",)])),
        schedule=draw(schedules()),
    )


@st.composite
def networks(draw: st.DrawFn) -> LossyPlan:
    share = st.sampled_from([0.0, 0.0, 0.02, 0.1])
    return LossyPlan(
        latency_ms=(0, draw(st.sampled_from([0, 5, 50, 400]))),
        request_loss=draw(share),
        answer_loss=draw(share),
        noticed=draw(st.sampled_from([0.0, 0.5, 1.0])),
        loss_until_ms=TROUBLE_ENDS_MS,
        outages=draw(st.sampled_from([(), (), (Span(20_000, 8000),)])),
    )


@st.composite
def worlds(draw: st.DrawFn, fleets: tuple[tuple[tuple[str, ...], ...], ...]) -> WorldPlan:
    """Topics change only where nobody is static: a static leader that comes back does not see what it missed."""
    fleet = draw(st.sampled_from(fleets))
    has_static = draw(st.booleans())
    size = draw(st.sampled_from([1, 2, 3, 3, 5, 8, 13]))
    members = tuple(draw(consumers(number, fleet, may_be_static=has_static)) for number in range(size))
    grown = TopicChange(draw(st.integers(0, TROUBLE_ENDS_MS)), draw(st.sampled_from("tu")), 9)
    return WorldPlan(
        consumers=members,
        topics={"t": draw(st.sampled_from([1, 4, 7])), "u": draw(st.sampled_from([1, 6]))},
        group_config=GroupConfig(group_initial_rebalance_delay_ms=draw(st.sampled_from([0, 3000]))),
        network=draw(networks()),
        topic_changes=() if has_static else draw(st.sampled_from([(), (grown,)])),
        seed=draw(st.integers(0, 2**31)),
    )
