"""That a line is not there proves something only where the log could have held it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from rollcall.inputs.printed.absence import could_stand
from rollcall.inputs.printed.lines.entries import Level, level_of
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.wording import cause_sentence, holder_sentence
from rollcall.schemas.causes import CauseKind
from tests.printed.printed import MEMBER, OTHER, group_of

KAFKA_PYTHON = "2026-03-01 03:{}:00,000 {} kafka.coordinator {}"
AIOKAFKA = "2026-03-01 03:{}:00,000 {} aiokafka.consumer.group_coordinator {}"
JAVA = "2026-03-01 03:{}:00,000 {} [Consumer clientId=orders-1, groupId=orders] {}"
GENERATION = f"Generation{{{{generationId={{}}, memberId='{MEMBER}', protocol='range'}}}}"
IS_REBALANCING = "Heartbeat failed for group orders because it is rebalancing"
IS_OUT = "Heartbeat failed: local member_id was not recognized; resetting and re-joining group"
LATE = (
    "Consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
    "configured max_poll_interval_ms, which typically implies"
)


def keys_of(group: LoggedGroup) -> set[str]:
    return {one.finding for one in group.findings}


def kafkajs(minute: int, level: str, message: str) -> str:
    fields = {"level": level, "timestamp": f"2026-03-01T03:{minute:02}:00.000Z", "groupId": "orders"}
    return json.dumps({**fields, "logger": "kafkajs", "message": message, "memberId": MEMBER})


BEAT = 'Group "orders" heartbeat error response in state up (join-state steady, 3 partition(s) assigned): Broker: '
LEARNT = {
    "kafka-python": [KAFKA_PYTHON.format(f"{minute:02}", "WARNING", IS_REBALANCING) for minute in (1, 2, 3)],
    "aiokafka": [AIOKAFKA.format(f"{minute:02}", "WARNING", IS_REBALANCING) for minute in (1, 2, 3)],
    "java": [
        JAVA.format(f"{minute:02}", "WARN", "Attempt to heartbeat failed since group is rebalancing")
        for minute in (1, 2, 3)
    ],
    "kafkajs": [kafkajs(minute, "ERROR", "[Runner] The group is rebalancing, re-joining") for minute in (1, 2, 3)],
}
SHOWS_INFO = {
    "kafka-python": KAFKA_PYTHON.format("00", "INFO", "Successfully joined group orders with generation 5"),
    "aiokafka": AIOKAFKA.format("00", "INFO", f"Joined group 'orders' (generation 5) with member_id {MEMBER}"),
    "java": JAVA.format("00", "INFO", "Successfully joined group with generation 5"),
}


@pytest.mark.parametrize("lines", LEARNT.values(), ids=LEARNT)
def test_a_log_of_warnings_does_not_show_that_a_client_did_not_join(lines: Sequence[str]) -> None:
    group = group_of(*lines)
    assert [one.held_by for one in group.rebalances] == [None]
    assert "application_does_not_poll" not in keys_of(group)


@pytest.mark.parametrize("name", SHOWS_INFO)
def test_a_log_that_shows_lines_of_joins_does(name: str) -> None:
    group = group_of(SHOWS_INFO[name], *LEARNT[name])
    assert group.rebalances[-1].held_by is not None
    assert "application_does_not_poll" in keys_of(group)


def test_a_level_that_a_log_shows_long_after_is_that_of_another_time() -> None:
    later = KAFKA_PYTHON.replace("03:{}", "05:{}").format("00", "INFO", "(Re-)joining group orders")
    assert [one.held_by for one in group_of(*LEARNT["kafka-python"], later).rebalances] == [None]


def test_what_another_library_or_file_shows_is_not_shown_by_this_one() -> None:
    files = [read_lines("a.log", LEARNT["kafka-python"]), read_lines("b.log", [SHOWS_INFO["kafka-python"]])]
    (group,) = groups_in(merged(files))
    assert all(one.held_by is None for one in group.rebalances)


def test_a_library_s_own_level_counts_and_not_that_at_which_an_application_prints_it() -> None:
    as_info = "2026-03-01 03:0{}:00,000 INFO kafka - [thrd:main]: {}"
    answer = f"{BEAT}Group rebalance in progress"
    (shown,) = group_of(*(as_info.format(minute, answer) for minute in (1, 2, 3))).rebalances
    assert shown.held_by is not None
    late = "Application maximum poll interval (300000ms) exceeded by 5ms (adjust max.poll.interval.ms): leaving group"
    (fact,) = read_lines("app.log", [f"2026-03-01 03:01:00,000 DEBUG kafka - [thrd:main]: {late}"]).facts or (None,)
    assert fact is None or not could_stand(fact, FactKind.JOIN_SENT)


def test_a_kind_of_line_that_a_library_does_not_have_is_never_there() -> None:
    (fact,) = read_lines("app.log", [kafkajs(1, "INFO", "[ConsumerGroup] Consumer has joined the group")]).facts
    assert could_stand(fact, FactKind.LEAVE_SENT)
    assert not could_stand(fact, FactKind.JOIN_SENT)


@pytest.mark.parametrize("printed", ["WARN", "warning", "WRN", "W"])
def test_levels_have_many_names(printed: str) -> None:
    assert level_of(printed) == (None if printed == "W" else Level.WARN)


# ---------------------------------------------------------------- what else an absence would say


def test_warnings_do_not_show_that_a_client_left_instead_of_joining() -> None:
    told, late = KAFKA_PYTHON.format("01", "WARNING", IS_REBALANCING), KAFKA_PYTHON.format("03", "WARNING", LATE)
    group = group_of(told, late)
    assert "left_others_rebalance" not in keys_of(group)
    assert [(one.cause.kind, one.cause.is_inferred) for one in group.rebalances] == [
        (CauseKind.UNKNOWN, False),
        (CauseKind.POLL_TIMEOUT, True),
    ]
    shown = group_of(SHOWS_INFO["kafka-python"], told, late)
    assert "left_others_rebalance" in keys_of(shown)
    assert CauseKind.POLL_TIMEOUT not in {one.cause.kind for one in shown.rebalances}


def test_nor_when_a_client_polled_again() -> None:
    late, out = KAFKA_PYTHON.format("01", "WARNING", LATE), KAFKA_PYTHON.format("59", "WARNING", IS_OUT)
    assert "polled_again" not in keys_of(group_of(late, out))
    asked = out.replace(IS_OUT, "(Re-)joining group orders").replace("WARNING", "INFO")
    assert "polled_again" in keys_of(group_of(late, asked))


def test_nor_that_a_client_found_no_coordinator() -> None:
    dead = KAFKA_PYTHON.format("01", "WARNING", "Marking the coordinator dead (node 2) for group orders: closed.")
    assert keys_of(group_of(dead)) == {"coordinator_lost_by_client"}
    assert keys_of(group_of(SHOWS_INFO["kafka-python"], dead)) == {"coordinator_not_found"}


def test_notices_days_apart_do_not_show_that_an_application_does_not_poll() -> None:
    lines = [LEARNT["java"][0].replace("2026-03-01", f"2026-03-0{day}").replace("WARN", "INFO") for day in (1, 3, 5)]
    assert "application_does_not_poll" not in keys_of(group_of(*lines))


JOINS = ("(Re-)joining group", f"Successfully joined group with generation {GENERATION.format(5)}")


@pytest.mark.parametrize(("before", "is_new"), [((), False), (("Discovered group coordinator b:9092 (id: 1 )",), True)])
def test_a_client_is_new_where_its_log_shows_its_beginning(before: tuple[str, ...], is_new: bool) -> None:
    own = [JAVA.format(f"0{minute}", "INFO", text) for minute, text in enumerate((*before, *JOINS), 1)]
    other = own[-1].replace("orders-1", "orders-2").replace(MEMBER, OTHER)
    (group,) = groups_in(merged([read_lines("a.log", own), read_lines("b.log", [other])]))
    assert [one.cause.kind is CauseKind.MEMBER_JOINED for one in group.rebalances] == [is_new]


def test_a_subscription_that_begins_a_log_may_be_that_of_a_member_that_joins() -> None:
    broker = "[2026-03-01 03:0{}:00,000] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] {} (o.G)"
    printed = (
        "[GroupId shares] Member m updated its subscribed topics to: [a].",
        "[GroupId shares] Bumped group epoch to 5 with metadata hash 7.",
        "[GroupId shares] Member m updated its subscribed topics to: [a, b].",
        "[GroupId shares] Bumped group epoch to 6 with metadata hash 8.",
    )
    first, then = group_of(*(broker.format(place // 2, text) for place, text in enumerate(printed, 2))).rebalances
    assert [each.kind for each in first.cause.candidates] == [CauseKind.MEMBER_JOINED, CauseKind.SUBSCRIPTION_CHANGED]
    assert (then.cause.kind, then.cause.is_inferred) == (CauseKind.SUBSCRIPTION_CHANGED, False)


# ---------------------------------------------------------------- generations that lines prove


@pytest.mark.parametrize(
    "texts",
    [
        ("(Re-)joining group", f"Successfully synced group in generation {GENERATION.format(18)}"),
        (f"Successfully synced group in generation {GENERATION.format(18)}",),
        ("(Re-)joining group", "Finished assignment for group at generation 18: {m=Assignment(partitions=[a-0])}"),
        ("Finished assignment for group at generation 18: {m=Assignment(partitions=[a-0])}",),
    ],
)
def test_a_line_of_a_generation_proves_the_rebalance_to_it(texts: tuple[str, ...]) -> None:
    lines = [JAVA.format(f"0{minute}", "INFO", text) for minute, text in enumerate(texts, 1)]
    (one,) = group_of(*lines).rebalances
    assert one.generation_id == 18
    assert (one.began_at_ms is not None) == (len(texts) > 1)


def test_partitions_that_a_client_is_given_prove_the_rebalance_that_it_asked_for() -> None:
    texts = ("(Re-)joining group", "Adding newly assigned partitions: a-0")
    (one,) = group_of(*(JAVA.format(f"0{minute}", "INFO", text) for minute, text in enumerate(texts, 1))).rebalances
    assert (one.outcome, one.generation_id) == ("completed", None)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (JAVA.format("0{}", "INFO", "{}"), "Finished assignment for group at generation {}: {{}}"),
        (JAVA.format("0{}", "INFO", "{}"), f"Successfully synced group in generation {GENERATION}"),
        ("%7|177233400{}.000|HEARTBEAT|a#consumer-1| [thrd:main]: {}", 'Heartbeat for group "orders" generation id {}'),
    ],
    ids=["leader", "java", "librdkafka"],
)
def test_generations_between_two_that_lines_name_are_said_to_be_missing(line: str, text: str) -> None:
    group = group_of(*(line.format(minute, text.format(generation)) for minute, generation in ((1, 18), (5, 21))))
    assert [one.generation_id for one in group.rebalances][-1] == 21
    if group.rebalances[0].generation_id == 18:
        assert "Generations 19 to 20 are not in these lines." in [one.sentence for one in group.findings]


# ---------------------------------------------------------------- what the lines contradict


BROKER = "[2026-03-01 03:{},{:03}] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"
PREPARING = "Preparing to rebalance group g in state PreparingRebalance with old generation {} (__consumer_offsets-1) "
ADDING = f"(reason: Adding new member {MEMBER} with group instance id None)"
LEAVING = f"(reason: removing member {MEMBER} on LeaveGroup)"
LEFT = f"Member[group.instance.id None, member.id {MEMBER}] in group g has left, removing it from the group"


def test_nobody_else_came_back_to_a_group_that_its_only_member_leaves_empty() -> None:
    lines = (
        BROKER.format("14:08", 0, PREPARING.format(63) + ADDING),
        BROKER.format("14:48", 0, "Stabilized group g generation 64 (__consumer_offsets-1)"),
        BROKER.format("14:48", 1, LEFT),
        BROKER.format("14:48", 1, PREPARING.format(64) + LEAVING),
        BROKER.format("14:48", 1, "Group g with generation 65 is now empty (__consumer_offsets-1)"),
    )
    first, _ = group_of(*lines).rebalances
    assert (first.members, first.held_by is not None) == (1, True)
    assert first.held_by is not None
    assert "only the member that had come was in it" in holder_sentence(first.held_by)


@pytest.mark.parametrize(
    ("reason", "members", "words"),
    [
        (ADDING, 1, "only the member that had come was in it"),
        (LEAVING, 1, "only one member was in it"),
        (LEAVING, 3, "the other members had to join again"),
        (ADDING, 3, "or the group was empty"),
    ],
)
def test_who_took_long_depends_on_how_many_members_there_are(reason: str, members: int, words: str) -> None:
    began = BROKER.format("14:08", 0, PREPARING.format(64) + reason)
    ended = f"Stabilized group g generation 65 (__consumer_offsets-1) with {members} members"
    (one,) = group_of(began, BROKER.format("14:28", 0, ended)).rebalances
    assert one.held_by is not None
    assert words in holder_sentence(one.held_by)


def test_a_group_that_had_members_was_not_empty() -> None:
    before = BROKER.format("14:00", 0, "Stabilized group g generation 64 (__consumer_offsets-1) with 2 members")
    began = BROKER.format("14:08", 0, PREPARING.format(64) + ADDING)
    ended = BROKER.format("14:28", 0, "Stabilized group g generation 65 (__consumer_offsets-1) with 3 members")
    held = group_of(before, began, ended).rebalances[-1].held_by
    assert held is not None
    assert "the other members had to join again" in holder_sentence(held)


def test_a_member_that_begins_the_next_rebalance_did_not_go_for_good() -> None:
    again = MEMBER[:-1] + "4"
    lines = (
        BROKER.format("14:00", 0, LEFT),
        BROKER.format("14:00", 1, PREPARING.format(64) + LEAVING),
        BROKER.format("14:03", 0, "Stabilized group g generation 65 (__consumer_offsets-1) with 2 members"),
        BROKER.format("15:03", 0, PREPARING.format(65) + ADDING.replace(MEMBER, again)),
        BROKER.format("15:06", 0, "Stabilized group g generation 66 (__consumer_offsets-1) with 3 members"),
    )
    first, _ = group_of(*lines).rebalances
    assert first.cause.kind is CauseKind.UNKNOWN
    assert {each.kind for each in first.cause.candidates} == {CauseKind.MEMBER_LEFT, CauseKind.POLL_TIMEOUT}


def test_a_log_of_warnings_does_not_show_whether_a_leave_began_its_rebalance() -> None:
    """Another member may have begun it before: that line is of level INFO."""
    late = JAVA.format("05", "WARN", "c" + LATE[1:])
    of_warnings, of_all = group_of(late).rebalances[-1].cause, group_of(SHOWS_INFO["java"], late).rebalances[-1].cause
    assert (of_warnings.kind, of_warnings.is_inferred) == (CauseKind.POLL_TIMEOUT, True)
    assert (of_all.kind, of_all.is_inferred) == (CauseKind.POLL_TIMEOUT, False)
    assert "Inferred: no other rebalance was running then." in cause_sentence(group_of(late).rebalances[-1])


def test_a_coordinator_shows_that_a_leave_began_its_rebalance() -> None:
    of_broker = BROKER.format("05:00", 20, PREPARING.replace(" g ", " orders ").format(5) + LEAVING)
    late = JAVA.format("05", "WARN", "c" + LATE[1:])
    files = [read_lines("server.log", [of_broker]), read_lines("a.log", [late])]
    (group,) = groups_in(merged(files))
    cause = group.rebalances[-1].cause
    assert (cause.kind, cause.is_inferred) == (CauseKind.POLL_TIMEOUT, False)
