"""The names of the errors that a coordinator answers, as Kafka has them, whichever library words them.

Knows how brokers and clients word errors. Must not know the lines that they stand in.
"""

from __future__ import annotations

UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
NOT_COORDINATOR = "NOT_COORDINATOR"
ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
CONFIG_MISMATCH = "CONFIG_MISMATCH"
"""A leader of Connect's workers hands it out instead of an assignment."""
COMMIT_FAILED = "CommitFailedException"
"""Not a coordinator's answer: clients of Java and Python raise it when they are not members."""
_OF_PYTHON = "CommitFailedError"
"""The same as Python's clients call it."""
_WORDED: dict[str, tuple[str, ...]] = {
    UNKNOWN_MEMBER_ID: (
        "unknownmember",
        "unknown member",
        "not aware of this member",
        "member is not known in the current generation",
    ),
    ILLEGAL_GENERATION: ("illegalgeneration", "illegal generation", "generation id is not"),
    NOT_COORDINATOR: (
        "notcoordinator",
        "not coordinator",
        "not the correct coordinator",
        "not coordinated by this broker",
    ),
    "COORDINATOR_NOT_AVAILABLE": (
        "coordinatornotavailable",
        "coordinator not available",
        "coordinator is not available",
    ),
    "COORDINATOR_LOAD_IN_PROGRESS": (
        "loadinprogress",
        "coordinator load in progress",
        "coordinator is loading",
        "loading the group",
    ),
    "REBALANCE_IN_PROGRESS": (
        "rebalanceinprogress",
        "rebalance in progress",
        "undergoing a rebalance",
        "a rejoin is needed",
        "began another rebalance",
        "rebalance for the group is in progress",
    ),
    COMMIT_FAILED: (
        "commitfailed",
        "already rebalanced",
        "completed due to group rebalance",
        "no longer part of",
        "not part of an active group",
        "membership out of date",
    ),
}
OF_COORDINATORS = (NOT_COORDINATOR, "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS")
"""Errors that say of a broker that it does not coordinate the group, or not yet. They do not concern a member."""
OF_NO_MEMBER = (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, COMMIT_FAILED)
"""Errors that say that the member, or its generation, is not the group's."""
_LONGEST = 120
"""Characters of an error that has no known name."""


def error_name(text: str) -> str:
    """Return Kafka's name of an error, as `NOT_COORDINATOR`; empty: it has none that is known."""
    words = text.lower().replace("_", " ")
    return next((name for name, worded in _WORDED.items() if any(each in words for each in worded)), "")


def error_said(text: str) -> str:
    """Return an error as a sentence has it: its name, with its words where they say more; or its first sentence."""
    name = _OF_PYTHON if _OF_PYTHON in text else error_name(text)
    words = text.partition(". ")[0].rstrip(". ")
    if not name:
        return words[:_LONGEST]
    letters = "".join(filter(str.isalpha, words.lower()))
    is_named = name in (COMMIT_FAILED, _OF_PYTHON) or name.lower().replace("_", "") in letters
    return name if is_named or len(words) > _LONGEST else f"{name} ({words})"
