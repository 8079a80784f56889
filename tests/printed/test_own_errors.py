"""What an error in a client's own log holds, as colons and brackets, makes no line doubtful."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.reading import read_lines

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
