"""Stack traces of Java's clients alone: the error is read, and no more is said than stands in the lines."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.logged_rebalances import Finding
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in

COMMON, CONSUMER = "org.apache.kafka.common.errors.", "org.apache.kafka.clients.consumer."
FRAME = "\tat org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.poll(ConsumerCoordinator.java:1109)"
BEFORE = [
    "",
    "Caused by: ",
    "\tSuppressed: ",
    'Exception in thread "main" ',
    "java.util.concurrent.ExecutionException: ",
    "2026-03-01 03:12:00,417 ERROR [main] com.example.Orders - stopped\nCaused by: ",
    "> ",
]
"""What stands before an exception."""
COMMITS = [
    (f"{CONSUMER}CommitFailedException", "CommitFailedException"),
    (f"{CONSUMER}CommitFailedException: Commit cannot be completed due to group rebalance", "CommitFailedException"),
    (f"{CONSUMER}CommitFailedException: Failed to commit offsets", "Failed to commit offsets"),
    (
        f"{CONSUMER}RetriableCommitFailedException: The underlying error was: The coordinator is loading",
        "COORDINATOR_LOAD_IN_PROGRESS",
    ),
    (
        f"{COMMON}RebalanceInProgressException: Offset commit cannot be completed since the consumer member's "
        "generation is already stale, meaning it has already participated another rebalance",
        "REBALANCE_IN_PROGRESS",
    ),
]
ANSWERS = [
    ("RebalanceInProgressException: The group is rebalancing, so a rejoin is needed.", "REBALANCE_IN_PROGRESS"),
    ("UnknownMemberIdException: The coordinator is not aware of this member.", "UNKNOWN_MEMBER_ID"),
    ("IllegalGenerationException", "ILLEGAL_GENERATION"),
    ("NotCoordinatorForConsumerException: This is not the correct coordinator.", "NOT_COORDINATOR"),
    ("FencedMemberEpochException: The member epoch is fenced by the group coordinator.", "FENCED_MEMBER_EPOCH"),
]
OF_BROKERS = [
    f"[KafkaApi-1] Unexpected error handling request {COMMON}NotCoordinatorException: This is not the correct one.",
    f"{COMMON}UnknownMemberIdException\n\tat kafka.server.KafkaApis.handleJoinGroupRequest(KafkaApis.scala:1)",
    f"{COMMON}UnknownMemberIdException\n\tat org.apache.kafka.coordinator.group.GroupCoordinatorService.join(G.java:1)",
    f"java.lang.IllegalStateException: cannot process '{CONSUMER}CommitFailedException's; no record is available",
]


def findings_in(printed: str) -> list[Finding]:
    """What the lines of an application say."""
    groups = groups_in(merged([read_lines("app.log", [*printed.split("\n"), FRAME])]))
    return [finding for group in groups for finding in group.findings]


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(("thrown", "error"), COMMITS)
def test_a_commit_that_failed_is_read_without_a_logger(before: str, thrown: str, error: str) -> None:
    (finding,) = findings_in(before + thrown)
    assert finding.finding == "commit_refused"
    assert f"1 line of the client says that a commit failed: {error}" in finding.sentence


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(("thrown", "error"), ANSWERS)
def test_an_answer_has_its_own_name_and_each_request_that_may_get_it(before: str, thrown: str, error: str) -> None:
    (finding,) = findings_in(f"{before}{COMMON}{thrown}")
    assert finding.finding == "request_refused"
    assert error in finding.sentence
    assert finding.candidates[:2] == ("a commit", "a heartbeat")


def test_an_answer_to_a_join_alone_is_said_of_the_join() -> None:
    (finding,) = findings_in(f"Caused by: {COMMON}GroupMaxSizeReachedException: The group has reached its max size.")
    assert (finding.finding, finding.candidates) == ("join_refused", ())
    assert "GROUP_MAX_SIZE_REACHED" in finding.sentence


def test_an_exception_of_which_only_the_cause_is_known_is_read() -> None:
    (finding,) = findings_in(
        "org.apache.kafka.streams.errors.TaskMigratedException: Consumer committing offsets failed\n"
        f"\tat com.example.Orders.run(Orders.java:1)\nCaused by: {CONSUMER}CommitFailedException"
    )
    assert finding.finding == "commit_refused"


@pytest.mark.parametrize("printed", OF_BROKERS)
def test_what_a_broker_threw_and_what_only_names_an_exception_says_nothing(printed: str) -> None:
    kinds = {fact.kind for fact in read_lines("app.log", printed.split("\n")).facts}
    assert not kinds & {FactKind.COMMIT_REFUSED, FactKind.REQUEST_REFUSED}


@pytest.mark.parametrize(
    "thrown",
    [f"{COMMON}NotCoordinatorException: This is not the correct coordinator.", f"{CONSUMER}CommitFailedException"],
)
@pytest.mark.parametrize("time", ["", "2026-03-01 03:12:00,417 "])
def test_the_exception_of_a_line_that_says_what_failed_adds_nothing(thrown: str, time: str) -> None:
    line = f"{time}ERROR [Consumer clientId=orders-1, groupId=orders] Offset commit failed on partition orders-0 at "
    (finding,) = findings_in(f"{line}offset 4: This is not the correct coordinator.\n{thrown}")
    assert finding.finding == "commit_refused"
    assert finding.sentence.startswith("1 line of orders-1 says that a commit failed: NOT_COORDINATOR")


# ---------------------------------------------------------------- errors in lines of other clients

PYTHON_S = (
    "CommitFailedError: Commit cannot be completed since the group has already rebalanced and assigned the partitions "
    "to another member: see max_poll_interval_ms"
)
JAVA_S = "Offset commit failed with a retriable exception. The underlying error was: null"
AUTO_COMMIT = "Auto offset commit failed for group orders: "
COMMIT_REFUSED, JOIN_REFUSED = FactKind.COMMIT_REFUSED, FactKind.JOIN_REFUSED
ERRORS = [
    (f"WARNING:kafka.coordinator.consumer:{AUTO_COMMIT}", PYTHON_S, COMMIT_REFUSED),
    (f"2026-03-01 03:12:00,417 - kafka.coordinator.consumer - WARNING - {AUTO_COMMIT}", PYTHON_S, COMMIT_REFUSED),
    (
        "WARNING:kafka.coordinator.consumer:OffsetCommit for group orders failed: ",
        "[Error 25] UnknownMemberIdError: failed: the id is unknown",
        COMMIT_REFUSED,
    ),
    (
        "ERROR:aiokafka.consumer.group_coordinator:OffsetCommit failed for group orders - ",
        "[Error 25] UnknownMemberIdError - dropped - twice",
        COMMIT_REFUSED,
    ),
    (f"WARN [2026-03-01 03:12:00,417] o.a.k.c.c.i.ConsumerCoordinator: {AUTO_COMMIT}", JAVA_S, COMMIT_REFUSED),
    (
        "2026-03-01 03:12:00,417 ERROR ConsumerCoordinator - Error ",
        "X (see: occurred while committing offsets for group other)",
        COMMIT_REFUSED,
    ),
    ("2026/03/01 03:12:00 Failed to join group orders: ", "unexpected EOF: after 3 bytes: [27]", JOIN_REFUSED),
]
BEHIND = {"Error ": " occurred while committing offsets for group orders"}
"""What stands behind an error that does not end its line."""


@pytest.mark.parametrize(("before", "error", "kind"), ERRORS)
def test_a_client_s_own_error_makes_no_line_doubtful(before: str, error: str, kind: FactKind) -> None:
    behind = next((text for end, text in BEHIND.items() if before.endswith(end)), "")
    read = read_lines("app.log", [f"{before}{error}{behind}"])
    assert [(fact.kind, fact.group_id, fact.error) for fact in read.facts] == [(kind, "orders", error)]
    assert read.notes == ()


def test_a_broker_s_line_with_two_groups_stays_doubtful() -> None:
    reason = "b in state Stable with old generation 9 (reason: c"
    line = (
        "[2026-03-01 03:12:00,417] INFO [GroupCoordinator 1]: Preparing to rebalance group a in state Stable with old "
        f"generation 7 (reason: {reason}) (__consumer_offsets-7) (kafka.coordinator.group.GroupCoordinator)"
    )
    assert [fact.group_id for fact in read_lines("server.log", [line]).facts] == []
