"""What kafka-python and aiokafka print, in Python's layouts, alone, beside their broker, and against recorded truth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from rollcall.inputs.printed.lines.wrappings import entry_of
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.logged_partitions import partitions_in
from rollcall.inputs.printed.logged_rebalances import GROUP_NOT_NAMED, Finding, LoggedGroup, LoggedRebalance
from rollcall.inputs.printed.reading import FileRead, merged, read_files, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import CauseKind
from tests.printed.recorded import BROKERS, groups_of_case, truth_of
from tests.source_tree import ROOT

CLIENTS = ROOT / "tests" / "printed" / "clients"
MEMBERS = sorted(path.name.removesuffix(".log.gz") for path in CLIENTS.glob("*.log.gz"))
MEMBER = "aiokafka-0.7.2-4e2062f9-89de-44e1-adea-806035fe05f0"
OTHER = "aiokafka-0.7.2-6b43b721-ad35-4aac-b7b0-7c24a10e0749"
TEXT = "(Re-)joining group orders"
AT_MS = 1_678_060_800_417
LAYOUTS = {
    "logger, level": "2023-03-06 00:00:00,417 - kafka.coordinator - INFO - {}",
    "level, logger": "2023-03-06 00:00:00,417 INFO kafka.coordinator {}",
    "brackets": "[2023-03-06 00:00:00,417] INFO [kafka.coordinator] {}",
    "no level": "[2023-03-06 00:00:00,417] [kafka.coordinator]: {}",
    "level first": "[INFO] 2023-03-06 00:00:00,417 kafka.coordinator:746 - INFO - {}",
    "basicConfig with a thread": "2023-03-06 00:00:00.417 [T:MainThread] INFO:kafka.coordinator: {}",
    "thread and process": "2023-03-06 00:00:00,417 - 4711 - MainThread - kafka.coordinator - INFO - {}",
    "loguru": "2023-03-06 00:00:00.417 | INFO     | kafka.coordinator:_send_join_group_request:512 - {}",
    "shipped": "2023 Mar  6 00:00:02  | 2023-03-06 00:00:00,417 - kafka.coordinator - INFO - {}",
}


def printed(at: str, text: str, logger: str = "kafka.coordinator") -> str:
    return f"2023-03-06 00:{at} - {logger} - INFO - {text}"


def aiokafka(at: str, text: str) -> str:
    return printed(at, text, "aiokafka.consumer.group_coordinator")


def by_broker(at: str, text: str) -> str:
    return f"[2023-03-06 00:{at}] INFO [GroupCoordinator 1]: {text} (kafka.coordinator.group.GroupCoordinator)"


def expired(at: str, member_id: str, group_id: str = "ticks") -> str:
    return by_broker(at, f"Member {member_id} in group {group_id} has failed, removing it from the group")


def groups_from(*files: Sequence[str]) -> dict[str, LoggedGroup]:
    reads = [read_lines(f"{place}.log", lines) for place, lines in enumerate(files)]
    return {group.group_id: group for group in groups_in(merged(reads))}


def last_of(*lines: str) -> LoggedRebalance:
    (group,) = groups_from(lines).values()
    return group.rebalances[-1]


def found(group: LoggedGroup, name: str) -> list[Finding]:
    return [one for one in group.findings if one.finding == name]


# ---------------------------------------------------------------- layouts


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_a_layout_of_python_is_taken_off(layout: str) -> None:
    entry = entry_of("app.log", 1, layout.replace("{}", TEXT))
    assert (entry.text, entry.logger, entry.at_ms) == (TEXT, "kafka.coordinator", AT_MS)


def test_a_line_of_json_has_its_logger_by_name() -> None:
    line = {"asctime": "2023-03-06 00:00:00,417", "levelname": "INFO", "name": "kafka.coordinator", "message": TEXT}
    (fact,) = read_lines("app.log", [json.dumps(line)]).facts
    assert (fact.kind, fact.group_id, fact.at_ms) == (FactKind.JOIN_SENT, "orders", AT_MS)


@pytest.mark.parametrize(
    "logger", ["kafka.coordinator.group.GroupCoordinator", "my.app", "o.a.k.c.c.internals.Consumer"]
)
def test_another_logger_s_line_is_not_kafka_python_s(logger: str) -> None:
    assert read_lines("app.log", [printed("00:00,417", TEXT, logger)]).facts == []


def test_without_a_logger_words_of_both_libraries_count_beside_words_of_one() -> None:
    lines = (
        "2024-07-30 11:06:58,309 - WARNING - Heartbeat poll expired, leaving group",
        "2024-07-30 11:06:58,310 - INFO - Leaving consumer group (orders).",
        "2024-07-30 11:07:20,310 - INFO - (Re-)joining group orders",
        "[2024-07-30 11:08:00,310: WARNING/MainProcess] Heartbeat session expired, marking coordinator dead",
        "2024-07-30 11:09:20,310 - WARNING - Heartbeat failed for group orders because it is rebalancing",
    )
    kinds = [fact.kind for fact in read_lines("app.log", lines).facts]
    own = [FactKind.POLL_TIMEOUT, FactKind.LEAVE_SENT, FactKind.HEARTBEATS_UNANSWERED]
    assert kinds == [*own[:2], FactKind.JOIN_SENT, own[2], FactKind.GROUP_IS_REBALANCING]
    assert read_lines("app.log", [lines[2], lines[4]]).facts == []
    aiokafka_s = "2024-07-30 11:09:21,310 - INFO - LeaveGroup request succeeded"
    kinds = [fact.kind for fact in read_lines("app.log", [*lines, aiokafka_s]).facts]
    assert kinds == [*own, FactKind.LEAVE_SENT]
    one = last_of(*lines[:3])
    assert (one.group_id, one.cause.kind, one.cause.is_inferred) == ("orders", CauseKind.POLL_TIMEOUT, False)


def test_lines_without_a_time_are_not_glued_to_the_line_before() -> None:
    lines = ("2023-03-06 00:00:00,417 max_poll_interval_ms is 300000", f"INFO:kafka.coordinator:{TEXT}")
    (fact,) = read_lines("app.log", lines).facts
    assert (fact.kind, fact.line_number) == (FactKind.JOIN_SENT, 2)


# ---------------------------------------------------------------- one client


def test_a_member_that_joins_one_generation_twice_went_through_one_rebalance() -> None:
    generation = f"<Generation 1 (member_id: {MEMBER}, protocol: range)>"
    one = last_of(
        printed("00:01,000", TEXT),
        printed("00:02,000", f"Successfully joined group orders {generation}"),
        printed("00:02,050", TEXT),
        printed("00:02,060", f"Successfully joined group orders {generation}"),
        printed(
            "00:02,070", "Setting newly assigned partitions {TopicPartition(topic='a', partition=0)} for group orders"
        ),
    )
    times = [one.moment(ms) for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms)]
    assert [moment and moment[-6:] for moment in times] == ["01.000", "02.000", "02.070"]
    assert (one.generation_id, one.outcome) == (1, "completed")


def test_generations_that_a_client_was_not_in_are_missing_and_its_own_timer_is_no_expiry() -> None:
    (group,) = groups_of_case("f38").values()
    (missing,) = found(group, "generations_missing")
    assert missing.sentence == "Generations 221 to 222 are not in these lines."
    assert not found(group, "client_session_timer")[0].is_inferred
    assert found(group, "expired_at_coordinator")[0].is_inferred
    assert found(group, "coordinator_lost_by_client")[0].sentence.endswith("9 ms later: it did not move.")


LEFT = (
    aiokafka("00:01,000", f"Joined group 'orders' (generation 4) with member_id {MEMBER}"),
    aiokafka("00:01,010", "Successfully synced group orders with generation 4"),
    aiokafka("05:00,000", "LeaveGroup request succeeded"),
)
HELD = "Revoking previously assigned partitions frozenset({TopicPartition(topic='a', partition=0)}) for group orders"
HELD_NONE = "Revoking previously assigned partitions set() for group orders"


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ((), CauseKind.UNKNOWN),
        ((HELD, TEXT), CauseKind.POLL_TIMEOUT),
        ((HELD_NONE, TEXT), CauseKind.UNKNOWN),
        (("Discovered coordinator 1 for group orders", HELD, TEXT), CauseKind.UNKNOWN),
        (("Heartbeat failed for group orders because it is rebalancing", HELD, TEXT), CauseKind.UNKNOWN),
    ],
    ids=["gone", "still held partitions", "held none", "started anew", "another client of the file"],
)
def test_a_leave_without_words_is_a_close_or_a_poll_timeout(more: tuple[str, ...], kind: CauseKind) -> None:
    group = groups_from((*LEFT, *(aiokafka("05:01,000", text) for text in more)))["orders"]
    one = next(one for one in group.rebalances if one.outcome == "left")
    assert (one.cause.kind, one.cause.member_id, one.cause.is_inferred) == (kind, MEMBER, True)
    assert {each.kind for each in one.cause.candidates} == {CauseKind.MEMBER_LEFT, CauseKind.POLL_TIMEOUT}


def test_another_client_s_join_is_not_the_return_of_the_one_that_left() -> None:
    lines = (
        printed("05:00,000", "Heartbeat poll expired, leaving group"),
        printed("05:00,001", "Leaving consumer group (orders)."),
        printed("05:02,000", "Heartbeat failed for group orders because it is rebalancing"),
        printed("05:02,010", TEXT),
    )
    (group,) = groups_from(lines).values()
    assert found(group, "polled_again") == []


def test_a_refused_commit_is_reported_and_a_fatal_refusal_is_not_tried_again() -> None:
    lines = (
        printed("00:01,000", TEXT),
        printed("00:01,010", "Attempt to join group orders failed due to fatal error: GroupAuthorizationFailedError"),
        printed("00:02,000", "OffsetCommit for group orders failed: [Error 25] UnknownMemberIdError"),
    )
    (group,) = groups_from(lines).values()
    assert found(group, "commit_refused")
    assert not found(group, "join_refused")[0].sentence.endswith("It tries again.")


def test_lines_of_clients_that_cannot_be_distinguished_are_only_those_of_named_members() -> None:
    joined = "Successfully joined group orders <Generation {} (member_id: {}, protocol: range)>"
    lines = (
        printed("00:01,000", joined.format(4, MEMBER)),
        printed("00:01,001", joined.format(4, OTHER)),
        printed("00:05,000", TEXT),
        printed("00:06,000", joined.format(5, MEMBER)),
        printed("00:06,001", joined.format(5, OTHER)),
        printed("05:00,000", "Heartbeat poll expired, leaving group"),
        printed("05:00,001", f"Leaving consumer group orders (member {OTHER})."),
    )
    one = last_of(*lines)
    assert (one.cause.member_id, one.cause.kind) == (OTHER, CauseKind.UNKNOWN)
    assert [each.generation_id for each in groups_from(lines)["orders"].rebalances] == [4, 5, 6]


# ---------------------------------------------------------------- beside the broker

LOST = aiokafka("00:31,507", "Heartbeat failed: local member_id was not recognized; resetting and re-joining group")


def test_a_member_learns_late_that_it_was_removed_while_its_process_was_alive() -> None:
    group = groups_of_case("f40")["ticks"]
    assert found(group, "client_learned_of_it")[0].sentence.endswith(f"is that of {MEMBER}, 22.608 s before.")
    for name in ("process_was_alive", "same_client_new_member_id"):
        (one,) = found(group, name)
        assert one.is_inferred
        assert len(one.candidates) > 1


@pytest.mark.parametrize(
    "removals",
    [
        (expired("00:08,000", "orders-1-6c1d0b29-57f7-4e52-9ffb-38d5ad112b53"),),
        (expired("00:08,000", MEMBER), expired("00:09,000", OTHER, "orders")),
        (),
    ],
    ids=["of another library, maybe", "two that fit", "none"],
)
def test_a_removed_client_s_group_is_named_only_if_one_removal_fits(removals: tuple[str, ...]) -> None:
    assert groups_from(removals, (LOST,))[GROUP_NOT_NAMED].findings[0].facts[-1].file == "1.log"


def test_a_member_that_expired_after_its_line_was_not_what_the_line_is_about() -> None:
    joined = aiokafka("00:01,000", f"Joined group 'ticks' (generation 4) with member_id {MEMBER}")
    group = groups_from((expired("09:00,000", MEMBER),), (joined, LOST))["ticks"]
    assert found(group, "process_was_alive") == []
    assert "after it had been removed" not in found(group, "client_learned_of_it")[0].sentence


# ---------------------------------------------------------------- recorded members


def clients_of(group_id: str) -> list[FileRead]:
    return read_files([str(CLIENTS / f"{name}.log.gz") for name in MEMBERS if name.startswith(group_id)])


def causes(group_id: str, reads: list[FileRead]) -> list[tuple[dict[str, Any], LoggedRebalance]]:
    """Each rebalance that was played, beside what the lines say of it."""
    groups = {group.group_id: group for group in groups_in(merged(reads))}
    true = truth_of("ca-mixed")[group_id]["rebalances"]
    return list(zip(true, groups[group_id].rebalances, strict=True))


@pytest.mark.parametrize("group_id", ["mails-send", "scores-calc"])
def test_members_lines_alone_have_every_rebalance_and_no_wrong_cause(group_id: str) -> None:
    for true, one in causes(group_id, clients_of(group_id)):
        assert one.generation_id == true["to_generation"]
        known = one.cause.kind is not CauseKind.UNKNOWN
        assert not known or (one.cause.kind, one.cause.member_id) == (true["cause"], true["trigger"]["member_id"])


@pytest.mark.parametrize(("group_id", "is_said"), [("mails-send", True), ("scores-calc", False)])
def test_a_poll_timeout_is_distinguished_from_a_close_as_far_as_lines_allow(group_id: str, is_said: bool) -> None:
    by_cause = {true["cause"]: one for true, one in causes(group_id, clients_of(group_id))}
    late, closed = by_cause["poll_timeout"].cause, by_cause["member_left"].cause
    assert (late.kind, late.is_inferred) == (CauseKind.POLL_TIMEOUT, not is_said)
    assert (closed.kind, closed.is_inferred) == (CauseKind.MEMBER_LEFT if is_said else CauseKind.UNKNOWN, not is_said)


@pytest.mark.parametrize("group_id", ["mails-send", "scores-calc"])
def test_with_the_broker_s_log_each_cause_is_the_true_one(group_id: str) -> None:
    broker = read_files([str(BROKERS / "ca-mixed.log.gz")])
    for true, one in causes(group_id, broker + clients_of(group_id)):
        assert (one.cause.kind, one.cause.member_id) == (true["cause"], true["trigger"]["member_id"])
        assert one.cause.is_inferred == (group_id == "scores-calc" and true["cause"] in ("poll_timeout", "member_left"))


def test_from_all_members_lines_a_join_and_a_silence_are_inferred() -> None:
    for true, one in causes("mails-send", clients_of("mails-send")):
        assert one.cause.kind == true["cause"]
        assert one.cause.client_id == true["trigger"]["client_id"]
        assert one.cause.is_inferred == (true["cause"] in ("member_joined", "session_expired"))
    (read,) = [read for read in clients_of("mails-send") if "send-1" in read.file]
    alone = {one.generation_id: one.cause.kind for _, one in causes("mails-send", [read])}
    assert alone[4] == CauseKind.UNKNOWN


def test_a_logger_s_name_is_enough_in_a_layout_that_nobody_knows() -> None:
    line = "2021-09-01 08:00:11,300 worker-1 INFO aiokafka.consumer.group_coordinator (Re-)joining group ticks"
    (fact,) = read_lines("app.log", [line]).facts
    assert (fact.kind, fact.dialect, fact.group_id) == (FactKind.JOIN_SENT, "aiokafka", "ticks")
    (fact,) = read_lines("app.log", [line.replace("aiokafka.consumer.group_coordinator", "kafka.coordinator")]).facts
    assert fact.dialect == "kafka-python"
    assert read_lines("app.log", [line.replace("aiokafka.consumer.group_coordinator", "some.other")]).facts == []


def test_processes_that_print_into_one_file_are_distinguished_by_the_word_before_the_level() -> None:
    logger = "aiokafka.consumer.group_coordinator"
    member_id = "aiokafka-0.7.2-4e2062f9-89de-44e1-adea-806035fe05f0"
    groups = groups_from(
        [
            f"2021-09-01 08:00:11,300 worker-1 INFO {logger} Joined group 'ticks' (generation 7) with member_id "
            f"{member_id}",
            f"2021-09-01 08:00:12,311 worker-3 ERROR {logger} Heartbeat failed: local member_id was not recognized; "
            "resetting and re-joining group",
        ]
    )
    assert all(member_id not in one.sentence for group in groups.values() for one in group.findings)


FUNCTION_BEHIND = "2026-03-01 03:12:0{},417 MainThread INFO {}, base-_handle_join_response-346"
BRACKETS = "[2026-03-01 03:12:0{},417] [INFO] [Thread-13] {}"


@pytest.mark.parametrize("layout", [FUNCTION_BEHIND, BRACKETS])
def test_a_member_id_with_the_library_s_name_shows_whose_lines_they_are(layout: str) -> None:
    member_id = f"kafka-python-1.3.3-{MEMBER[-36:]}"
    texts = (
        "(Re-)joining group orders",
        f"Joined group 'orders' (generation 44) with member_id {member_id}",
        "Successfully joined group orders with generation 44",
        "Setting newly assigned partitions set([TopicPartition(topic=u'ticks', partition=2)]) for group orders",
    )
    lines = [layout.format(second, text) for second, text in enumerate(texts)]
    facts = read_lines("app.log", lines).facts
    assert {fact.dialect for fact in facts} == {"kafka-python"}
    assert partitions_in(facts[-1]) == {("ticks", 2)}
    one = last_of(*lines)
    assert (one.generation_id, one.outcome, facts[1].member_id) == (44, "completed", member_id)


def test_a_generation_that_was_reset_is_none() -> None:
    line = "February 25th 2026, 12:19:40.770 Successfully synced group orders with generation -1"
    (fact,) = read_lines("app.log", [line]).facts
    assert (fact.dialect, fact.kind, fact.generation_id) == ("aiokafka", FactKind.CLIENT_STATE, None)
    assert fact.at_ms is not None


def test_older_pythons_say_what_they_do_under_their_loggers() -> None:
    unknown = "UnknownMemberIdError - 25 - Returned from group requests"
    lines = [
        "- kafka.coordinator.consumer - ERROR - OffsetCommit failed for group orders due to group error "
        f"({unknown}), will rejoin",
        f"- kafka.coordinator.consumer - WARNING - Auto offset commit failed: {unknown}",
        "- aiokafka.group_coordinator - WARNING - Marking the coordinator dead (node 0)for group orders.",
    ]
    facts = read_lines("app.log", [f"2016-02-27 09:11:34,636 {line}" for line in lines]).facts
    kinds = [FactKind.COMMIT_REFUSED, FactKind.COMMIT_REFUSED, FactKind.COORDINATOR_LOST]
    assert [fact.kind for fact in facts] == kinds
    assert [fact.dialect for fact in facts] == ["kafka-python", "kafka-python", "aiokafka"]


@pytest.mark.parametrize("behind", ["[_handle_join_success]", "[run:91]", ", coordinator-run-91"])
def test_a_function_s_name_behind_the_message_is_no_part_of_it(behind: str) -> None:
    lines = [
        f"2023-03-06 00:00:0{second},417 INFO {text}{'' if behind[0] == ',' else ' '}{behind}"
        for second, text in enumerate(("(Re-)joining group ticks", "Heartbeat poll expired, leaving group"))
    ]
    joined, left = read_lines("app.log", lines).facts
    assert (joined.dialect, joined.kind, joined.group_id) == ("kafka-python", FactKind.JOIN_SENT, "ticks")
    assert left.kind is FactKind.POLL_TIMEOUT


def test_a_client_that_leaves_a_rebalance_of_others_says_that_it_polled_too_late() -> None:
    (group,) = groups_from(
        (
            printed("00:01,000", "Successfully joined group ticks with generation 4"),
            printed("00:09,000", "Heartbeat failed for group ticks because it is rebalancing"),
            printed("00:10,000", "Heartbeat poll expired, leaving group"),
        )
    ).values()
    assert found(group, "left_others_rebalance")
    assert not found(group, "polled_again")
