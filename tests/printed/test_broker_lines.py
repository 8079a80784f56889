"""A broker's lines: what may stand before and behind a message, and what its reasons say; samples hold its wordings."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.dialects.catalog import BROKERS
from rollcall.inputs.printed.groups.reasons import read_reason
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.reading import fact_of
from rollcall.schemas.causes import CauseKind
from tests.printed.printed import MEMBER

BEGAN = "Preparing to rebalance group orders in state Stable with old generation 7 (reason: a reason)"


@pytest.mark.parametrize(
    ("heading", "broker_id", "partition"),
    [
        ("[GroupCoordinator 1]: ", "1", None),
        ("[GroupCoordinator id=1 topic=__consumer_offsets partition=7] ", "1", 7),
        ("", "", None),
    ],
)
def test_a_message_is_read_behind_each_heading_and_bare(heading: str, broker_id: str, partition: int | None) -> None:
    fact = fact_of(Entry("server.log", 3, f"{heading}{BEGAN}.", 1000))
    assert fact is not None
    assert (fact.kind, fact.group_id, fact.generation_id) == (FactKind.REBALANCE_BEGAN, "orders", 7)
    assert (fact.broker_id, fact.partition, fact.at_ms) == (broker_id, partition, 1000)


@pytest.mark.parametrize("length", range(1, len(" (kafka.coordinator.group.GroupCoordinator)")))
def test_a_line_that_is_cut_within_its_logger_has_its_whole_message(length: int) -> None:
    message = (
        f"Assignment received from leader {MEMBER} for group orders for generation 7. The group has 1 members, 0 of "
    )
    line = f"[GroupCoordinator 1]: {message}which are static. (kafka.coordinator.group.GroupCoordinator)"
    fact = fact_of(Entry("server.log", 1, line[:-length].rstrip()))
    assert fact is not None
    assert (fact.kind, fact.group_id, fact.members) == (FactKind.ASSIGNMENT_RECEIVED, "orders", 1)


def test_a_client_that_names_a_group_is_no_broker() -> None:
    text = "[Consumer clientId=a, groupId=orders] Member x in group orders has failed, removing it from the group"
    assert BROKERS.read(Entry("app.log", 1, text))[1] is None


@pytest.mark.parametrize(
    ("reason", "kind", "candidates"),
    [
        (f"Adding new member {MEMBER} with group instance id null; client reason: not provided", "member_joined", 0),
        (f"Adding new member {MEMBER} with group instanceid None", "member_joined", 0),
        (f"removing member {MEMBER} on heartbeat expiration.", "session_expired", 0),
        (
            f"Removing member {MEMBER} on LeaveGroup; client reason: consumer poll timeout has expired.",
            "poll_timeout",
            0,
        ),
        (f"Removing member {MEMBER} on LeaveGroup; client reason: member was removed by an admin", "admin_removed", 0),
        (
            f"Removing member {MEMBER} on LeaveGroup; client reason: member was removed by an admin: poll timeout",
            "admin_removed",
            0,
        ),
        (f"Removing member {MEMBER} on LeaveGroup; client reason: the consumer is being closed", "member_left", 0),
        (f"explicit `LeaveGroup` request for ({MEMBER}) members.", "unknown", 2),
        (
            f"Leader {MEMBER} re-joining group during Stable; client reason: cached metadata has changed",
            "metadata_changed",
            0,
        ),
        (
            f"Leader {MEMBER} re-joining group during Stable; client reason: need to revoke partitions and re-join",
            "cooperative_followup",
            0,
        ),
        (f"leader {MEMBER} re-joining group during Stable", "member_rejoined", 3),
        (f"Updating metadata for member {MEMBER} during Stable; client reason: a whim", "member_rejoined", 0),
        (f"Removing [{MEMBER}] on pending sync request expiration", "sync_timeout", 0),
        (
            "Error NOT_ENOUGH_REPLICAS when storing group assignmentduring SyncGroup (member: x).",
            "assignment_not_stored",
            0,
        ),
        (
            "Freshly-loaded group orders (size 5) is over capacity 4. Rebalancing in order to give a chance "
            "for consumers to commit offsets",
            "group_over_capacity",
            0,
        ),
    ],
)
def test_a_reason_says_no_more_than_it_says(reason: str, kind: str, candidates: int) -> None:
    found = read_reason(reason)
    assert found is not None
    assert (found.kind, len(found.candidates)) == (CauseKind(kind), candidates)


def test_a_reason_that_is_worded_otherwise_is_not_guessed() -> None:
    assert read_reason("something else") is None
