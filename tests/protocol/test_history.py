"""What a group reports of its rebalances: the cause, the culprit, who came and went, who kept the others waiting."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller

import pytest

from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effects import JoinReceived, MemberRemoved, RebalanceEnded, RebalanceStarted, TopicPartitions
from rollcall.schemas.messages import LeaveGroupRequest
from tests.protocol.bench import HOST, Bench
from tests.protocol.rules import rule
from tests.requests import assignment, subscription

# ---------------------------------------------------------------- causes and culprits

T1_0, T1_1 = TopicPartition("t1", 0), TopicPartition("t1", 1)


def _id_leaves(bench: Bench) -> None:
    bench.join("m9")
    bench.leave("m9")


CAUSES: dict[str, tuple[Callable[[Bench], object], CauseKind, str]] = {
    "a newcomer": (lambda b: b.enter("m9"), CauseKind.MEMBER_JOINED, "m9"),
    "a static newcomer": (lambda b: b.join("m9", instance_id="i9"), CauseKind.MEMBER_JOINED, "m9"),
    "a member leaves": (lambda b: b.leave("m2"), CauseKind.MEMBER_LEFT, "m2"),
    "… with an old version": (lambda b: b.leave("m2", v=1), CauseKind.MEMBER_LEFT, "m2"),
    "… by instance id alone": (lambda b: b.leave(("", "i3")), CauseKind.ADMIN_REMOVED, "m3"),
    "an id given out leaves": (_id_leaves, CauseKind.MEMBER_LEFT, "m9"),
    "a session expires, the first to be started": (lambda b: b.tick(200_000), CauseKind.SESSION_EXPIRED, "m2"),
    "a follower changes": (
        lambda b: b.join("m2", protocols={"range": subscription("t2")}),
        CauseKind.MEMBER_REJOINED,
        "m2",
    ),
    "the leader rejoins": (lambda b: b.join("m1"), CauseKind.MEMBER_REJOINED, "m1"),
    "a static member returns with another protocol": (
        lambda b: b.join("m3b", instance_id="i3", protocols=["sticky"]),
        CauseKind.STATIC_MEMBER_REPLACED,
        "m3",
    ),
    "a replay knows better": (
        lambda b: b.join("m1", inferred_cause="metadata_changed"),
        CauseKind.METADATA_CHANGED,
        "m1",
    ),
    **{
        reason: (methodcaller(verb, culprit, reason=reason), kind, culprit)
        for verb, culprit, reason, kind in (
            ("leave", "m2", "consumer poll timeout has expired.", CauseKind.POLL_TIMEOUT),
            ("leave", "m2", "member was removed by an admin", CauseKind.ADMIN_REMOVED),
            ("join", "m1", "cached metadata has changed from (version 3: {}) at the", CauseKind.METADATA_CHANGED),
            ("join", "m1", "subscription has changed from [t1] to [t2]", CauseKind.METADATA_CHANGED),
            ("join", "m1", "need to revoke partitions and re-join", CauseKind.COOPERATIVE_FOLLOWUP),
            (
                "join",
                "m1",
                "cooperative rejoin after revoking what we lost from a rebalance",
                CauseKind.COOPERATIVE_FOLLOWUP,
            ),
        )
    },
}


@rule("History: every rebalance knows its cause and its culprit")
@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_of_a_rebalance(cause: str) -> None:
    act, kind, culprit = CAUSES[cause]
    bench = Bench()
    bench.client("m3", instance_id="i3")
    for client in ("m1", "m2", "m3"):
        bench.client(client, rebalance_ms=30_000, session_ms=200_000, protocols=["range", "sticky"])
    bench.stable("m1", "m2", "m3")
    act(bench)
    reported = bench.last(RebalanceStarted).cause
    assert (reported.kind, reported.client_id) == (kind, culprit)


@rule("History: what a replay inferred from later lines is said to be inferred")
@pytest.mark.parametrize("inferred", [None, "poll_timeout"])
def test_an_inferred_cause_says_so(inferred: str | None) -> None:
    bench = Bench().patient("m1", "m2")
    bench.send(LeaveGroupRequest, 1, "m2", group_id="g", member_id=bench.id_of("m2"), inferred_cause=inferred)
    cause = bench.last(RebalanceStarted).cause
    assert (cause.kind, cause.is_inferred) == (inferred or CauseKind.MEMBER_LEFT, inferred is not None)
    assert bench.last(MemberRemoved).is_inferred == cause.is_inferred


@rule("History: a consumer whose last assignment took partitions that it owned comes back to let them go on")
def test_a_cooperative_consumer_comes_back_without_a_word() -> None:
    def owning(*partitions: TopicPartition) -> dict[str, bytes]:
        return {"range": subscription("t1", owned=partitions)}

    bench = Bench().patient("m1", "m2")
    bench.join("m2", protocols=owning(T1_0, T1_1))
    bench.join("m1")
    bench.sync("m1", plan={"m2": assignment([T1_0])})
    bench.sync("m2")
    bench.join("m2", protocols=owning(T1_0))
    assert bench.last(RebalanceStarted).cause.kind is CauseKind.COOPERATIVE_FOLLOWUP
    assert bench.last(JoinReceived).owned_partitions == [TopicPartitions(topic="t1", partitions=[0])]


@rule("History: the culprit is named with member id, host, instance id and its own words")
def test_the_culprit_is_named_in_full() -> None:
    bench = Bench().static("m2").stable("m1", "m2")
    bench.leave(("m2", "i2"), by="m2", reason="the consumer is being closed")
    cause = bench.last(RebalanceStarted).cause
    assert (cause.member_id, cause.client_id, cause.client_host) == (bench.id_of("m2"), "m2", HOST)
    assert (cause.group_instance_id, cause.client_reason) == ("i2", "the consumer is being closed")
    removed = bench.last(MemberRemoved)
    assert (removed.end_cause, removed.client_reason) == (EndCause.MEMBER_LEFT, "the consumer is being closed")


@rule("History: SyncGroups that never came are a cause, and the first of the late its culprit")
def test_a_sync_timeout_is_a_cause() -> None:
    bench = Bench().patient("m1")
    bench.client("m2", rebalance_ms=30_000, session_ms=200_000)
    bench.enter("m2")
    bench.join("m1")
    bench.sync("m1", plan=["m1", "m2"])
    bench.tick(30_000)
    cause = bench.last(RebalanceStarted).cause
    assert (cause.kind, cause.client_id) == (CauseKind.SYNC_TIMEOUT, "m2")


@rule("History: of a batch the first who went is the culprit")
def test_the_first_of_a_batch_is_the_culprit() -> None:
    bench = Bench().patient("m1", "m2", "m3")
    bench.leave("m3", "m2")
    assert bench.last(RebalanceStarted).cause.client_id == "m3"


@rule("History: the start of a rebalance has its generation, the number of members and how long it may last")
def test_the_start_of_a_rebalance_is_reported() -> None:
    bench = Bench().patient("m1", "m2", "m3")
    bench.at(1_000)
    bench.leave("m3")
    started = bench.last(RebalanceStarted)
    assert (started.at_ms, started.from_generation_id, started.from_state) == (1_000, 2, "Stable")
    assert (started.members_before, started.join_timeout_ms) == (3, 30_000)


# ---------------------------------------------------------------- who came and went


@rule("History: the end of a rebalance has who joined, left and expired, and how many members there are")
def test_who_came_and_went() -> None:
    bench = Bench().patient("m1", "m2", "m3", "m4")
    bench.at(1_000)
    bench.enter("m5", rebalance_ms=30_000, session_ms=200_000)
    bench.leave("m2")
    bench.join("m1")
    bench.join("m3")
    bench.tick(31_000)
    bench.sync("m1", plan=["m1", "m3", "m5"])
    ended = bench.last(RebalanceEnded)
    assert (ended.joined, ended.left, ended.expired) == (["m5"], ["m2"], ["m4"])
    assert (ended.members_before, ended.members_after, ended.outcome) == (4, 3, "completed")
    assert (ended.from_generation_id, ended.to_generation_id) == (2, 3)
    assert (ended.started_at_ms, ended.at_ms, ended.cause.client_id) == (1_000, 31_000, "m5")


@rule("History: a rebalance that another overtakes is superseded, one that nobody survives is empty")
def test_how_a_rebalance_may_end() -> None:
    bench = Bench().patient("m1", "m2")
    bench.join("m1")
    bench.join("m2")
    bench.leave("m2")
    assert (bench.last(RebalanceEnded).outcome, bench.last(RebalanceEnded).members_after) == ("superseded", 2)
    bench.leave("m1")
    assert (bench.last(RebalanceEnded).outcome, bench.last(RebalanceEnded).members_after) == ("empty", 0)
    assert len(bench.of(RebalanceStarted)) == len(bench.of(RebalanceEnded))


# ---------------------------------------------------------------- waits


WAITS: dict[str, tuple[str, str, str, int, list[int]]] = {
    "who joins last, since the one before it": (
        *("m1 m2 m3", "1000 join m1, 1200 join m2, 6200 join m3, 6200 sync m1", "m3", 5_000, [0, 0, 5_000]),
    ),
    "nobody alone by joining last, where another joins in the same millisecond": (
        *("m1 m2 m3", "1000 leave m3, 5000 join m1, 5000 join m2, 5700 sync m1", "m1", 700, [700, 0]),
    ),
    "who never joins, to the end of the join phase": (
        *("m1 m2", "1000 join m1, 31000 tick -, 31000 sync m1", "m2", 30_000, [0, 30_000]),
    ),
    "not who left before it ended": (
        *("m1 m2 m3", "0 join m1, 1000 leave m2, 30000 tick -, 30000 sync m1", "m3", 30_000, [0, 0, 30_000]),
    ),
    "the leader, from the end of the join phase to its assignment": (
        *("m1 m2", "0 join m1, 1000 join m2, 1100 sync m2, 5000 sync m1", "m1", 4_000, [4_000, 1_000]),
    ),
}


@rule("History: who kept the others waiting, and for how long")
@pytest.mark.parametrize("who", WAITS)
def test_who_kept_the_others_waiting(who: str) -> None:
    members, story, slowest, slowest_ms, held_ms = WAITS[who]
    bench = Bench().patient(*members.split())
    moments: dict[tuple[str, str], int] = {}
    for at_ms, verb, client in (each.split() for each in story.split(", ")):
        moments[verb, client] = int(at_ms)
        if verb == "tick":
            bench.tick(int(at_ms))
        else:
            getattr(bench.at(int(at_ms)), verb)(client, **({"plan": [client]} if verb == "sync" else {}))
    ended = bench.last(RebalanceEnded)
    assert (ended.slowest_client_id, ended.slowest_wait_ms) == (slowest, slowest_ms)
    assert [wait.held_others_ms for wait in ended.waits] == held_ms
    for wait in ended.waits:
        client = wait.client_id
        assert (wait.joined_at_ms, wait.synced_at_ms) == (moments.get(("join", client)), moments.get(("sync", client)))


@rule("History: … a session that expires first ends the wait there")
def test_who_expired_kept_the_others_waiting_until_then() -> None:
    bench = Bench().patient("m1")
    bench.client("m2", session_ms=4_000, rebalance_ms=30_000)
    bench.enter("m2")
    bench.join("m1")
    bench.sync("m1", plan=["m1", "m2"])
    bench.sync("m2")
    bench.at(1_000)
    bench.join("m1")
    bench.tick(4_000)
    bench.sync("m1", plan=["m1"])
    ended = bench.last(RebalanceEnded)
    assert (ended.slowest_client_id, ended.slowest_wait_ms, ended.expired) == ("m2", 3_000, ["m2"])


@rule("History: an id given out that never came back is the one that was waited for")
@pytest.mark.parametrize(("session_ms", "waited_ms"), [(90_000, 30_000), (8_000, 7_500)])
def test_an_id_given_out_kept_the_others_waiting(session_ms: int, waited_ms: int) -> None:
    bench = Bench().patient("m1")
    bench.at(500)
    bench.join("m2", session_ms=session_ms)
    bench.at(1_000)
    bench.join("m1")
    bench.tick(31_000)
    bench.sync("m1", plan=["m1"])
    ended = bench.last(RebalanceEnded)
    assert (ended.slowest_client_id, ended.slowest_wait_ms) == ("m2", waited_ms)


@rule("History: an absent static member is the one that was waited for, though it stays")
def test_an_absent_static_member_kept_the_others_waiting() -> None:
    bench = Bench().static("m2").patient("m1", "m2")
    bench.join("m1")
    bench.tick(30_000)
    bench.sync("m1", plan=["m1"])
    ended = bench.last(RebalanceEnded)
    assert (ended.slowest_client_id, ended.slowest_wait_ms, ended.expired) == ("m2", 30_000, [])


@rule("History: nobody is slow where nobody waited, and nobody for the initial delay")
def test_the_initial_delay_is_nobodys_fault() -> None:
    bench = Bench(group_initial_rebalance_delay_ms=3_000)
    bench.enter("m1")
    bench.join("m2")
    bench.at(1_000)
    bench.enter("m3")
    bench.tick(6_000)
    bench.sync("m1", plan=["m1"])
    ended = bench.last(RebalanceEnded)
    assert (ended.slowest_member_id, ended.slowest_client_id, ended.slowest_wait_ms) == (None, None, None)
    assert [w.client_id for w in ended.waits] == ["m1", "m3"]
