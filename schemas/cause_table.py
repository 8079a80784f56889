"""Every cause, once: what it is called, the sentence that tells of it, its colour, and what it does to a membership.

A row a word of `CauseKind` and `EndCause`; tests hold the README, the page and the pictures to these rows. Knows words
alone: which one holds is decided where it happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ends(StrEnum):
    """How a membership ends by a cause, for its mark on a timeline."""

    LEFT = "left"
    EXPIRED = "expired"


class Input(StrEnum):
    """A recording that a cause may be concluded from, where neither a request nor a timer says it."""

    REQUEST_LOG = "request log"
    OFFSETS_TOPIC = "offsets topic"


@dataclass(frozen=True)
class CauseRow:
    """One cause. sentence: a clause with {who}, {session}, {poll}, {partitions} and {why_again} in it."""

    key: str
    name: str
    sentence: str
    colour: str = ""
    """Of its rebalances on the page; empty: it sets no rebalance off."""
    ends: Ends | None = None
    concluded_from: tuple[Input, ...] = ()
    of_nobody: str = ""
    """The clause where no member is to blame, if that may be."""

    @property
    def sentence_of_anybody(self) -> str:
        """The sentence without a name or a number."""
        return self.sentence.format(
            who="a member", session="its own", poll="its own", partitions="partitions", why_again=""
        )

    @property
    def starts_rebalances(self) -> bool:
        return bool(self.colour)


LOG, TOPIC = Input.REQUEST_LOG, Input.OFFSETS_TOPIC
CAUSES = {
    row.key: row
    for row in (
        CauseRow("member_joined", "joined", "{who} joined the group", "#e69f00", concluded_from=(TOPIC,)),
        CauseRow("member_left", "left", "{who} left the group", "#009e73", Ends.LEFT, (TOPIC,)),
        CauseRow(
            "poll_timeout",
            "polled too late",
            "{who} did not poll within its max.poll.interval.ms ({poll}), so its client left the group",
            "#cc79a7",
            Ends.LEFT,
            (LOG, TOPIC),
        ),
        CauseRow(
            "session_expired",
            "session expired",
            "{who} was silent for its whole session timeout ({session}) and was removed",
            "#0072b2",
            Ends.EXPIRED,
            (TOPIC,),
        ),
        CauseRow(
            "sync_timeout",
            "synced too late",
            "{who} joined but sent no SyncGroup in time and was removed",
            "#f0e442",
            Ends.EXPIRED,
            (TOPIC,),
        ),
        CauseRow(
            "metadata_changed",
            "topics changed",
            "{who} joined again, for its topics or their partitions had changed",
            "#56b4e9",
            concluded_from=(LOG, TOPIC),
            of_nobody="the topics that members subscribe to, or their partitions, had changed",
        ),
        CauseRow(
            "cooperative_followup",
            "cooperative second round",
            "{who} joined again, having given {partitions} up (the second round of a cooperative rebalance)",
            "#332288",
            concluded_from=(TOPIC,),
        ),
        CauseRow(
            "member_rejoined",
            "joined again",
            "{who}, a member already, joined again{why_again}",
            "#d55e00",
            concluded_from=(TOPIC,),
        ),
        CauseRow(
            "static_member_replaced",
            "static member came back",
            "{who} came back as a static member with another subscription",
            "#88ccee",
            Ends.LEFT,
            (TOPIC,),
        ),
        CauseRow(
            "group_loaded",
            "coordinator changed",
            "the group was taken over by a coordinator, and its members had to rejoin",
            "#882255",
        ),
        CauseRow(
            "admin_removed",
            "removed by an administrator",
            "an administrator removed {who}",
            "#44aa99",
            Ends.LEFT,
            (TOPIC,),
        ),
        CauseRow("subscription_changed", "subscription changed", "{who} subscribed to something else", "#aa4499"),
        CauseRow(
            "pattern_resolved",
            "pattern resolved anew",
            "a pattern that members subscribe to stood for other topics",
            "#117733",
            concluded_from=(LOG,),
        ),
        CauseRow(
            "rebalance_timeout",
            "gave up too late",
            "{who} did not give partitions up within its rebalance timeout ({poll}) and was removed",
            "#661100",
            Ends.EXPIRED,
            (TOPIC,),
        ),
        CauseRow(
            "unknown",
            "unknown",
            "it is unknown what set the rebalance off",
            "#999933",
            Ends.LEFT,
            (LOG, TOPIC),
        ),
        CauseRow("group_max_size_reached", "group was full", "{who} went, for the group was full", "", Ends.LEFT),
        CauseRow("group_unloaded", "coordinator changed", "the id given to {who} went with its coordinator"),
        CauseRow("group_converted", "group converted", "the id given to {who} went when the group was converted"),
    )
}
"""By key. Colours are apart for people with colour blindness as far as fifteen can be (after Okabe, Ito and Tol)."""


def name_of(cause: str | None) -> str:
    """What a cause is called; one that a later version wrote is called by its key, none is unknown."""
    row = CAUSES.get(cause or "unknown")
    return (cause or "").replace("_", " ") if row is None else row.name


def colour_of(cause: str) -> str:
    return (CAUSES.get(cause) or CAUSES["unknown"]).colour


def listed() -> tuple[str, ...]:
    """The keys of all causes of rebalances, in the order in which they are listed and drawn."""
    return tuple(row.key for row in CAUSES.values() if row.starts_rebalances)
