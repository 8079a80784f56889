"""Exceptions of Java's clients, which an application prints with no logger of Kafka's before them.

Only consumers throw a failed commit, so it is read wherever it stands. The answers of coordinators reach other clients
and brokers too. Such an answer is read where a stack trace begins with it, unless a broker's code threw it.
"""

from __future__ import annotations

import re

from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.logged_facts import FATAL
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template

_ANSWERS = (
    *(("RebalanceInProgress", "REBALANCE_IN_PROGRESS"), ("UnknownMemberId", "UNKNOWN_MEMBER_ID")),
    *(("IllegalGeneration", "ILLEGAL_GENERATION"), ("NotCoordinator", "NOT_COORDINATOR")),
    *(("CoordinatorNotAvailable", "COORDINATOR_NOT_AVAILABLE"), ("FencedMemberEpoch", "FENCED_MEMBER_EPOCH")),
    *(("CoordinatorLoadInProgress", "COORDINATOR_LOAD_IN_PROGRESS"), ("StaleMemberEpoch", "STALE_MEMBER_EPOCH")),
    *(("NotCoordinatorForConsumer", "NOT_COORDINATOR"), ("GroupLoadInProgress", "COORDINATOR_LOAD_IN_PROGRESS")),
    ("GroupCoordinatorNotAvailable", "COORDINATOR_NOT_AVAILABLE"),
)
"""Exceptions that may answer any request of a member, and Kafka's names of them."""
_OF_JOINS = (
    *(("GroupMaxSizeReached", "GROUP_MAX_SIZE_REACHED"), ("UnreleasedInstanceId", "UNRELEASED_INSTANCE_ID")),
    *(
        ("InconsistentGroupProtocol", "INCONSISTENT_GROUP_PROTOCOL"),
        ("InvalidSessionTimeout", "INVALID_SESSION_TIMEOUT"),
    ),
    ("UnsupportedAssignor", "UNSUPPORTED_ASSIGNOR"),
)
"""Exceptions that answer a request to join."""
_NOT_COMMITTED = ("CommitFailedException", "RetriableCommitFailedException")
_COMMIT = re.compile(
    rf"org\.apache\.kafka\.clients\.consumer\.(?P<name>{'|'.join(_NOT_COMMITTED)})(?:: (?P<words>.*))?\Z"
)
_BEGINS = (
    r"(?:Caused by: |Wrapped by: |Suppressed: |Exception in thread \"[^\"]{1,200}\" "
    r"|[a-z][\w$]{0,60}(?:\.[\w$]{1,80}){1,12}: ){0,4}"
)
_ANSWER = re.compile(
    rf"{_BEGINS}org\.apache\.kafka\.common\.errors\."
    rf"(?P<name>(?:{'|'.join(name for name, _ in (*_ANSWERS, *_OF_JOINS))})Exception)(?:: (?P<words>.*))?\Z"
)
_BY_A_BROKER = ("at kafka.", "at org.apache.kafka.coordinator.", "at org.apache.kafka.server.")


def thrown_in(entry: Entry) -> str | None:
    """Return an exception without its package, and its words; None: the entry has none, or a broker threw it.

    What has no words has its name once more.
    """
    causes = (line.strip() for line in entry.tail if line.lstrip().startswith("Caused by: "))
    for line in (entry.printed.partition("\n")[0].rstrip(". "), *causes):
        found = _COMMIT.search(line) or _ANSWER.match(line)
        if found is not None:
            is_of_broker = any(frame.lstrip().startswith(_BY_A_BROKER) for frame in entry.tail)
            return None if is_of_broker else f"{found['name']}: {found['words'] or found['name']}".rstrip(". ")
    return None


OF_EXCEPTIONS = (
    *(Template(F.COMMIT_REFUSED, f"{name}: {{error}}", since="0.9") for name in _NOT_COMMITTED),
    Template(
        F.COMMIT_REFUSED,
        "RebalanceInProgressException: Offset commit cannot be completed since {}",
        since="2.6",
        error="REBALANCE_IN_PROGRESS",
    ),
    *(
        Template(kind, f"{exception}Exception: {{}}", since="0.9", error=error, state=state)
        for kind, state, thrown in ((F.REQUEST_REFUSED, "", _ANSWERS), (F.JOIN_REFUSED, FATAL, _OF_JOINS))
        for exception, error in thrown
    ),
)
