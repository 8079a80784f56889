"""Every cause, once: its shape, what it is called, its sentence, its colour, and what it does to a membership.

Tests hold docs/views.md, the page and the pictures to these rows. Knows only words: which cause holds is decided where
it happens.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from rollcall.schemas.shapes import Shape


class CauseKind(StrEnum):
    """What set a rebalance off. The last three are only of consumer groups; only the coordinator brings about the two
    before.
    """

    MEMBER_JOINED = "member_joined"
    MEMBER_LEFT = "member_left"
    POLL_TIMEOUT = "poll_timeout"
    SESSION_EXPIRED = "session_expired"
    SYNC_TIMEOUT = "sync_timeout"
    METADATA_CHANGED = "metadata_changed"
    COOPERATIVE_FOLLOWUP = "cooperative_followup"
    MEMBER_REJOINED = "member_rejoined"
    STATIC_MEMBER_REPLACED = "static_member_replaced"
    GROUP_LOADED = "group_loaded"
    ADMIN_REMOVED = "admin_removed"
    UNKNOWN = "unknown"
    ASSIGNMENT_NOT_STORED = "assignment_not_stored"
    GROUP_OVER_CAPACITY = "group_over_capacity"
    SUBSCRIPTION_CHANGED = "subscription_changed"
    PATTERN_RESOLVED = "pattern_resolved"
    REBALANCE_TIMEOUT = "rebalance_timeout"


class EndCause(StrEnum):
    """Why a member was removed: the causes of rebalances that remove a member, and causes that start no rebalance."""

    MEMBER_LEFT = "member_left"
    POLL_TIMEOUT = "poll_timeout"
    ADMIN_REMOVED = "admin_removed"
    SESSION_EXPIRED = "session_expired"
    SYNC_TIMEOUT = "sync_timeout"
    STATIC_MEMBER_REPLACED = "static_member_replaced"
    REBALANCE_TIMEOUT = "rebalance_timeout"
    GROUP_MAX_SIZE_REACHED = "group_max_size_reached"
    GROUP_UNLOADED = "group_unloaded"
    UNKNOWN = "unknown"
    GROUP_CONVERTED = "group_converted"


class CauseCandidate(Shape, kw_only=True):
    """One of several causes that fit."""

    kind: CauseKind
    member_id: str = ""
    """The clients that may have caused it; empty if that is open too."""
    client_id: str = ""


class Cause(Shape, kw_only=True):
    """The cause of a rebalance and its culprit; the culprit's ids are empty or null if there is none."""

    kind: CauseKind
    member_id: str = ""
    client_id: str = ""
    client_host: str = ""
    group_instance_id: str | None = None
    client_reason: str | None = None
    is_inferred: bool = False
    """Whether the cause was inferred from other facts of a recording, since no request and no timer shows it."""
    candidates: tuple[CauseCandidate, ...] = ()
    """Where more than one cause or culprit fits, all that do; the kind is unknown where the causes differ."""

    @property
    def is_open(self) -> bool:
        """Whether nothing is known of it, not even what fits."""
        return self.kind is CauseKind.UNKNOWN and not self.candidates


class Row(NamedTuple):
    """One cause."""

    colour: str
    """Of its rebalances on the page; empty: it sets no rebalance off."""
    ends: str
    """How a membership that it ends is marked, `left` or `expired`; empty: it ends none."""
    inferred_from: str
    """The recordings that it may be inferred from, where neither a request nor a timer says it: `log`, `topic`."""
    name: str
    sentence: str
    """A clause with {who}, {session_ms}, {poll_ms}, {partitions} and {why_again} in it; a part in brackets is left out
    where its number is not known.
    """
    of_nobody: str = ""
    """The clause where no member is to blame, if that may be."""
    is_trouble: bool = False
    """Whether nobody wants it."""
    is_silent: bool = False
    """Whether the coordinator removed a member that sent nothing in time."""
    is_expiry: bool = False
    """Whether what it did not send in time were heartbeats: its session was over."""
    said: tuple[str, ...] = ()
    """In lower case, words of a member's own reason that show it."""


# Colours are apart for people with colour blindness as far as fifteen can be (after Okabe, Ito and Tol).
CAUSES: dict[str, Row] = {
    CauseKind.MEMBER_JOINED: Row("#e69f00", "", "log, topic", "joined", "{who} joined the group"),
    CauseKind.MEMBER_LEFT: Row("#009e73", "left", "topic", "left", "{who} left the group"),
    CauseKind.POLL_TIMEOUT: Row(
        *("#cc79a7", "left", "log, topic", "polled too late"),
        "{who} did not poll within its max.poll.interval.ms[ ({poll_ms})], so its client left the group",
        is_trouble=True,
        said=("poll timeout", "max.poll.interval"),
    ),
    CauseKind.SESSION_EXPIRED: Row(
        *("#0072b2", "expired", "log, topic", "session expired"),
        "{who} sent no heartbeat within its session timeout[ ({session_ms})] and was removed",
        is_trouble=True,
        is_silent=True,
        is_expiry=True,
    ),
    CauseKind.SYNC_TIMEOUT: Row(
        *("#f0e442", "expired", "topic", "synced too late"),
        "{who} joined but sent no SyncGroup in time and was removed",
        is_trouble=True,
        is_silent=True,
    ),
    CauseKind.METADATA_CHANGED: Row(
        *("#56b4e9", "", "log, topic", "topics changed"),
        "{who} joined again because its cached metadata of its topics had changed",
        "the topics that members subscribe to, or their partitions, had changed",
        said=(
            *("metadata has changed", "subscribed topic(s) has changed", "subscription has changed"),
            *("partitions were added to", "topics have new", "partitions on topics", "topic interests changed"),
            "updated from metadata change",
        ),
    ),
    CauseKind.COOPERATIVE_FOLLOWUP: Row(
        *("#332288", "", "topic", "cooperative second round"),
        "{who} joined again, having given {partitions} up (the second round of a cooperative rebalance)",
        said=(
            *("revoke partitions", "after revoking", "redistribute previously owned partitions"),
            "cooperative move",
        ),
    ),
    CauseKind.MEMBER_REJOINED: Row(
        *("#d55e00", "", "topic", "joined again"),
        "{who}, a member already, joined again{why_again}",
    ),
    CauseKind.STATIC_MEMBER_REPLACED: Row(
        *("#88ccee", "left", "topic", "static member came back"),
        "{who} came back as a static member with another subscription",
    ),
    CauseKind.GROUP_LOADED: Row(
        *("#882255", "", "", "coordinator changed"),
        "the group was taken over by a coordinator, and its members had to rejoin",
    ),
    CauseKind.ADMIN_REMOVED: Row(
        *("#44aa99", "left", "topic", "removed by an administrator"),
        "an administrator removed {who}",
        said=("removed by an admin",),
    ),
    CauseKind.ASSIGNMENT_NOT_STORED: Row(
        *("#a0522d", "", "", "assignment not stored"),
        "the coordinator could not store the assignment that the leader had sent, so it began anew",
        is_trouble=True,
    ),
    CauseKind.GROUP_OVER_CAPACITY: Row(
        *("#483d8b", "", "", "group over capacity"),
        "the coordinator loaded a group with more members than group.max.size allows, so all had to rejoin",
        is_trouble=True,
    ),
    CauseKind.SUBSCRIPTION_CHANGED: Row(
        *("#aa4499", "", "", "subscription changed"),
        "{who} changed its subscription or its assignor",
    ),
    CauseKind.PATTERN_RESOLVED: Row(
        *("#117733", "", "log", "pattern resolved anew"),
        "a pattern that members subscribe to stood for other topics",
    ),
    CauseKind.REBALANCE_TIMEOUT: Row(
        *("#661100", "expired", "topic", "gave up too late"),
        "{who} did not give partitions up within its rebalance timeout[ ({poll_ms})] and was removed",
        is_trouble=True,
    ),
    CauseKind.UNKNOWN: Row("#999933", "left", "log, topic", "unknown", "it is unknown what set the rebalance off"),
    EndCause.GROUP_MAX_SIZE_REACHED: Row("", "left", "", "group was full", "{who} went, for the group was full"),
    EndCause.GROUP_UNLOADED: Row("", "", "", "coordinator changed", "the id given to {who} went with its coordinator"),
    EndCause.GROUP_CONVERTED: Row("", "", "", "group converted", "the id given to {who} went with a conversion"),
}

LEFT = (EndCause.MEMBER_LEFT, EndCause.POLL_TIMEOUT, EndCause.ADMIN_REMOVED)
"""How those ended that a rebalance counts as left."""
EXPIRED = tuple(EndCause(key) for key, row in CAUSES.items() if row.ends == "expired")
"""Likewise as expired."""
REMOVING = tuple(CauseKind(key) for key, row in CAUSES.items() if row.is_trouble and row.ends)
"""Causes of rebalances by which a member went that did not want to."""

SILENT = tuple(CauseKind(key) for key, row in CAUSES.items() if row.is_silent)

# The causes that fit where nothing says what happened, in the order in which they are shown.

LEFT_WITHOUT_A_WORD = (CauseKind.MEMBER_LEFT, CauseKind.POLL_TIMEOUT)
"""A member left and gave no reason."""
REMOVED_FROM_AN_EPOCH = (CauseKind.SESSION_EXPIRED, CauseKind.REBALANCE_TIMEOUT)
"""Its coordinator removed a member of the newer protocols, and the member got no answer that says so."""
GONE_FROM_AN_EPOCH = (*LEFT_WITHOUT_A_WORD, *REMOVED_FROM_AN_EPOCH)
"""A member of an epoch is not in a later one."""
GONE_FROM_A_GENERATION = (*LEFT_WITHOUT_A_WORD, *SILENT, CauseKind.ADMIN_REMOVED)
"""A member of a classic generation is not in the next one."""
OF_AN_UNSEEN_GENERATION = (
    *(CauseKind.MEMBER_JOINED, *LEFT_WITHOUT_A_WORD, *SILENT, CauseKind.METADATA_CHANGED),
    *(CauseKind.COOPERATIVE_FOLLOWUP, CauseKind.MEMBER_REJOINED),
)
"""A classic group formed a generation, and only its number is known."""


def left_without_a_word(*, is_back: bool) -> CauseKind:
    """Why a member left that gave no reason: who closes a consumer does not come back with it."""
    return CauseKind.POLL_TIMEOUT if is_back else CauseKind.MEMBER_LEFT


def why_left(reason: str) -> CauseKind | None:
    """Why a member left, where its reason shows more than that; a person's words follow those of an admin's tool."""
    return _said(reason, CauseKind.ADMIN_REMOVED, CauseKind.POLL_TIMEOUT)


def why_rejoined(reason: str) -> CauseKind | None:
    """Why a member joined again, likewise."""
    return _said(reason, CauseKind.METADATA_CHANGED, CauseKind.COOPERATIVE_FOLLOWUP)


def _said(reason: str, *kinds: CauseKind) -> CauseKind | None:
    words = reason.lower()
    return next((kind for kind in kinds if any(each in words for each in CAUSES[kind].said)), None)


def cause_of_end(end: EndCause) -> CauseKind:
    """The cause of the rebalance that a member's end causes; unknown for an end that causes none."""
    return CauseKind(end) if CAUSES[end].colour else CauseKind.UNKNOWN


def row_of(cause: str | None) -> Row:
    """The row of a cause; of one that a later version wrote, that of an unknown one."""
    return CAUSES.get(cause or "unknown", CAUSES["unknown"])


def name_of(cause: str | None) -> str:
    """What a cause is called; one that a later version wrote is called by its key."""
    return row_of(cause).name if (cause or "unknown") in CAUSES else str(cause).replace("_", " ")


def listed() -> tuple[str, ...]:
    """The keys of all causes of rebalances, in the order in which they are listed and drawn."""
    return tuple(str(key) for key, row in CAUSES.items() if row.colour)


def cause_of_leaving(
    reason: str | None, inferred: str | None, *, by_instance_id_only: bool, by_another: bool
) -> CauseKind:
    """Distinguishes a clean leave, a poll timeout and an administrator's removal by the LeaveGroup's fields.

    An administrator's tool names a static member only by its instance id, gives its own reason, or is at least
    another client on another host than the member (by_another). Without a reason a poll timeout looks like a clean
    leave: MEMBER_LEFT, unless a replay inferred more.
    """
    if inferred:
        return CauseKind(inferred)
    if by_instance_id_only or by_another:
        return CauseKind.ADMIN_REMOVED
    return why_left(reason or "") or CauseKind.MEMBER_LEFT


def cause_of_rejoining(reason: str | None, inferred: str | None, *, gave_partitions_up: bool) -> CauseKind:
    """Why a member of the current generation joined again: by its own reason, otherwise by the partitions it gave up.

    gave_partitions_up: the last assignment took partitions away that the member said it owned; a cooperative member
    must then join again so that others can get them.
    """
    if inferred:
        return CauseKind(inferred)
    unsaid = CauseKind.COOPERATIVE_FOLLOWUP if gave_partitions_up else CauseKind.MEMBER_REJOINED
    return why_rejoined(reason or "") or unsaid
