"""What a member does about each error of each API, as tables, and the Java client's names of the errors, which its
reasons use. The tables have what a coordinator that has the group answers: played brokers neither fail nor move groups.

Change a table together with the handler of its API (`joining`, `heartbeats`, `committing`). Knows no state. Source: the
response handlers of AbstractCoordinator and ConsumerCoordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from rollcall.schemas.errors import Error

REASON_MAX_CHARS = 255


class Reaction(StrEnum):
    """RETRY: the same again after a backoff. REJOIN: join again
    at once. RESET_GENERATION: forget the generation, keep the member id, join again. RESET_MEMBER: forget both.
    TAKE_MEMBER_ID: join again with the id just given. FENCED: somebody has this instance id. FATAL: tell the
    application. UNEXPECTED: the same, as an error that this API should not give.
    """

    RETRY = "retry"
    REJOIN = "rejoin"
    RESET_GENERATION = "reset_generation"
    RESET_MEMBER = "reset_member"
    TAKE_MEMBER_ID = "take_member_id"
    FENCED = "fenced"
    FATAL = "fatal"
    UNEXPECTED = "unexpected"


JOIN_GROUP: Mapping[Error, Reaction] = {
    Error.UNKNOWN_MEMBER_ID: Reaction.RESET_MEMBER,
    Error.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    Error.MEMBER_ID_REQUIRED: Reaction.TAKE_MEMBER_ID,
    Error.FENCED_INSTANCE_ID: Reaction.FATAL,
    Error.INCONSISTENT_GROUP_PROTOCOL: Reaction.FATAL,
    Error.INVALID_SESSION_TIMEOUT: Reaction.FATAL,
    Error.GROUP_MAX_SIZE_REACHED: Reaction.FATAL,
}
"""Any other error: UNEXPECTED."""

SYNC_GROUP: Mapping[Error, Reaction] = {
    Error.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    Error.ILLEGAL_GENERATION: Reaction.RESET_GENERATION,
    Error.UNKNOWN_MEMBER_ID: Reaction.RESET_MEMBER,
    Error.FENCED_INSTANCE_ID: Reaction.FATAL,
}
"""Any other error: UNEXPECTED."""

HEARTBEAT: Mapping[Error, Reaction] = {
    Error.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    Error.ILLEGAL_GENERATION: Reaction.RESET_GENERATION,
    Error.UNKNOWN_MEMBER_ID: Reaction.RESET_MEMBER,
    Error.FENCED_INSTANCE_ID: Reaction.FENCED,
}
"""Any other error: RETRY."""

OFFSET_COMMIT: Mapping[Error, Reaction] = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Reaction.RETRY,
    Error.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    Error.ILLEGAL_GENERATION: Reaction.RESET_GENERATION,
    Error.UNKNOWN_MEMBER_ID: Reaction.RESET_MEMBER,
    Error.FENCED_INSTANCE_ID: Reaction.FENCED,
}
"""Any other error: FATAL, for the one who wanted the commit."""


_JAVA_NAMES = {
    Error.ILLEGAL_GENERATION: "IllegalGenerationException",
    Error.INCONSISTENT_GROUP_PROTOCOL: "InconsistentGroupProtocolException",
    Error.UNKNOWN_MEMBER_ID: "UnknownMemberIdException",
    Error.INVALID_SESSION_TIMEOUT: "InvalidSessionTimeoutException",
    Error.REBALANCE_IN_PROGRESS: "RebalanceInProgressException",
    Error.MEMBER_ID_REQUIRED: "MemberIdRequiredException",
    Error.GROUP_MAX_SIZE_REACHED: "GroupMaxSizeReachedException",
    Error.FENCED_INSTANCE_ID: "FencedInstanceIdException",
}
DISCONNECT = "DisconnectException"
UNJOINED_GROUP = "UnjoinedGroupException"
UNEXPECTED = "KafkaException"
ILLEGAL_STATE = "IllegalStateException"


def java_name(error: Error, reaction: Reaction) -> str:
    """The simple name of the Java client's exception for an error."""
    return UNEXPECTED if reaction is Reaction.UNEXPECTED else _JAVA_NAMES[error]


SUBSCRIPTION_CHANGED = "subscription has changed"
METADATA_CHANGED = "cached metadata has changed"
ALREADY_REBALANCING = "group is already rebalancing"
COMMIT_DURING_REBALANCE = "offset commit failed since group is already rebalancing"
NEED_TO_REVOKE = "need to revoke partitions and re-join"
ASSIGNMENT_MISMATCH = "received assignment does not match the current subscription"
LEAVING = "consumer pro-actively leaving the group"

LEAVE_UNPOLLED = "consumer poll timeout has expired."
LEAVE_ON_CLOSE = "the consumer is being closed"
LEAVE_ON_UNSUBSCRIBE = "the consumer unsubscribed from all topics"


def member_id_given(member_id: str) -> str:
    return f"need to re-join with the given member-id: {member_id}"


def rebalance_failed(exception: str) -> str:
    return f"rebalance failed due to {exception}"


def encountered(error: Error, api: str) -> str:
    """The reason after an error. api: Kafka's name in capitals, for example HEARTBEAT."""
    return f"encountered {error} from {api} response"


def cut(reason: str) -> str:
    """A reason cut to the length that may be sent. Source: JoinGroupRequest.maybeTruncateReason."""
    return reason[:REASON_MAX_CHARS]


def fenced(group_instance_id: str | None) -> str:
    """The error for the application when another member has its instance id."""
    return f"group.instance.id={group_instance_id} is fenced: another consumer joined with it"
