"""A broker's own log against the truth of recorded incidents: who and why, and nothing wrong reported as certain."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import Any

import pytest

from rollcall.inputs.printed.dialects.catalog import BROKERS
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance
from rollcall.inputs.printed.reading import FileRead, merged, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.wording import cause_sentence
from tests.printed.recorded import KAFKA_4_4, NAMES, groups_of, read_of, truth_of
from tests.request_log.recordings import INCIDENTS


def rebalances_of(name: str, group_id: str) -> list[LoggedRebalance]:
    """What the log says of a group; a capture may have groups without a line."""
    group = groups_of(name).get(group_id)
    return [] if group is None else group.rebalances


def classic(name: str) -> list[tuple[dict[str, Any], LoggedRebalance]]:
    """Each classic rebalance of a capture, beside what the log says of it."""
    found = []
    for group_id, truth in truth_of(name).items():
        by_time = {one.began_at_ms: one for one in rebalances_of(name, group_id)}
        found += [(true, by_time[true["t_prepare_ms"]]) for true in truth["rebalances"]]
    return found


def bumps(name: str, *kinds: str) -> list[tuple[dict[str, Any], LoggedRebalance]]:
    """Each bump of an epoch of groups of these kinds, beside what the log says of it."""
    found = []
    for group_id, truth in truth_of(name).items():
        epochs = [epoch for kind in kinds for epoch in (truth.get(kind) or {}).get("epochs", [])]
        by_epoch = {one.generation_id: one for one in rebalances_of(name, group_id)} if epochs else {}
        found += [(true, by_epoch[true["epoch"]]) for true in epochs]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_rebalance_is_found_once_with_its_culprit(name: str) -> None:
    pairs = classic(name)
    assert len({id(one) for _, one in pairs}) == len(pairs)
    assert [one.cause.member_id for _, one in pairs] == [
        (true["trigger"] or {}).get("member_id", "") for true, _ in pairs
    ]


@pytest.mark.parametrize("name", NAMES)
def test_no_cause_is_reported_as_certain_and_wrong(name: str) -> None:
    for true, one in (*classic(name), *bumps(name, "consumer")):
        assert one.cause.kind == true["cause"] or one.cause.is_inferred, (name, true)
        if one.cause.kind != true["cause"]:
            assert true["cause"] in {candidate.kind for candidate in one.cause.candidates}, (name, true)


def test_nine_causes_of_ten_are_exact_and_the_others_are_open() -> None:
    classics = [pair for name in NAMES for pair in classic(name)]
    exact = sum(one.cause.kind == true["cause"] for true, one in classics)
    assert len(classics) >= 340
    assert exact / len(classics) >= 0.9
    epochs = [pair for name in NAMES for pair in bumps(name, "consumer")]
    assert len(epochs) == 62
    assert sum(one.cause.kind == true["cause"] for true, one in epochs) / len(epochs) >= 0.85


@pytest.mark.parametrize(("name", "kind"), [("v-share", "share"), ("w-streams", "streams")])
def test_epochs_of_share_and_streams_groups_are_counted_and_have_the_causes_that_lines_prove(
    name: str, kind: str
) -> None:
    pairs = bumps(name, kind)
    assert len(pairs) >= 20
    for true, one in pairs:
        assert (one.cause.member_id or None) == (true["trigger"] or {}).get("member_id")
        assert one.cause.kind in (true["cause"], "unknown") or one.cause.is_inferred
    assert sum(one.cause.kind == true["cause"] for true, one in pairs) / len(pairs) > 0.75


@pytest.mark.parametrize("name", NAMES)
def test_the_times_of_a_rebalance_are_those_of_its_lines(name: str) -> None:
    for true, one in classic(name):
        if true.get("t_join_complete_ms") and one.outcome == "completed":
            assert one.joined_at_ms == true["t_join_complete_ms"]
            assert one.generation_id == true["to_generation"]
            assert one.members == true["members"]


def test_every_line_about_a_group_is_understood() -> None:
    for name in NAMES:
        assert Counter(fact.dialect for fact in read_of(name).facts)[BROKERS.name] > 0
        assert all(fact.is_certain for fact in read_of(name).facts)


def test_a_member_that_gave_up_too_late_held_the_epoch_before() -> None:
    held = next(one for one in groups_of("q-consumer-slow")["tiles-cache"].rebalances if one.generation_id == 3)
    assert held.held_by is not None
    assert (held.held_by.member_id, held.held_by.length_ms) == ("gShbX_hnTVeROryvkVbCqA", 10_000)
    assert not held.held_by.is_inferred


def test_a_rebalance_in_words() -> None:
    killed = next(one for one in groups_of("d-kill")["clicks-agg"].rebalances if one.generation_id == 2)
    assert killed.moment(killed.began_at_ms) == "2026-11-21T05:38:59.065"
    assert cause_sentence(killed) == "clicks-agg-1 sent no heartbeat within its session timeout and was removed."


# ---------------------------------------------------------------- a broker 4.4.0
# With GroupMetadataManager at DEBUG. The truth is that of the request log's incidents with the same names.

OF_4_4 = ["k44-classic", "k44-mixed", "k44-newer"]
OF_NO_GROUP = {
    "Starting up",
    "Startup complete",
    "Ignored unloading metadata for ... in epoch OptionalInt... since ...",
}


def read(name: str, *, is_debug: bool) -> FileRead:
    lines = gzip.decompress((KAFKA_4_4 / f"{name}.log.gz").read_bytes()).decode().splitlines()
    return read_lines(name, [line for line in lines if is_debug or " DEBUG " not in line])


@pytest.mark.parametrize("name", OF_4_4)
def test_no_line_about_a_group_is_unread(name: str) -> None:
    (unread,) = read(name, is_debug=False).unread
    assert {wording for wording, _ in unread.wordings} <= OF_NO_GROUP
    assert unread.others == 0


@pytest.mark.parametrize("is_debug", [False, True])
@pytest.mark.parametrize("name", OF_4_4)
def test_every_rebalance_has_its_cause_and_its_culprit(name: str, is_debug: bool) -> None:
    true = json.loads((INCIDENTS / f"{name}.json").read_text())
    groups = {group.group_id: group.rebalances for group in groups_in(merged([read(name, is_debug=is_debug)]))}
    assert groups.keys() == true.keys()
    for group, rows in true.items():
        for one, (from_id, kind, member_id) in zip(groups[group], rows, strict=True):
            assert one.generation_id == from_id + 1
            if kind != "subscription_changed":
                assert (one.cause.kind, one.cause.member_id) == (kind, member_id)
            elif one.cause.member_id:
                assert (one.cause.kind, one.cause.member_id, is_debug) == (kind, member_id, True)
            else:
                # Only a line of DEBUG names who subscribes, and none says who votes for another assignor.
                assert one.cause.kind == kind or kind in {other.kind for other in one.cause.candidates}
                assert one.cause.kind == "unknown" or one.cause.is_inferred


def test_a_classic_member_of_a_consumer_group_that_is_given_an_id_is_no_sign_of_forgery() -> None:
    says = (
        "Dynamic member with unknown member id joins the consumer group. Created a new member id {} and requesting "
        "the member to rejoin with this id.",
        "Member {} joins the consumer group using the classic protocol.",
        "Bumped group epoch to 3 with metadata hash -27.",
    )
    program = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0]"
    head = f"[2026-11-29 02:34:33,11{{}}] INFO {program} [GroupId g] {{}} ({{}})"
    logger = "org.apache.kafka.coordinator.group.GroupMetadataManager"
    lines = [head.format(n, each.format("W1QMlpyhTDSnXxfE8PlNSg"), logger) for n, each in enumerate(says)]
    found = read_lines("server.log", lines)
    (group,) = groups_in(merged([found]))
    assert found.unread == ()
    assert [(one.cause.kind, one.cause.is_inferred) for one in group.rebalances] == [("member_joined", False)]
    assert group.findings == []
