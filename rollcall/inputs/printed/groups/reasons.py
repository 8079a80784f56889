"""Why a classic group's rebalance began, as the reason says that its coordinator prints.

The reason names who set it off; a client's own words (KIP-800) say why it left or joined again. What neither says stays
open: all causes that fit are candidates. Knows the wordings of Kafka 2.1 to 4.3, and those of clients.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import candidate, client_id_of
from rollcall.inputs.printed.templates import Template, Templates
from rollcall.schemas.causes import (
    LEFT_WITHOUT_A_WORD,
    Cause,
    CauseKind,
    EndCause,
    cause_of_end,
    why_left,
    why_rejoined,
)

NOT_PROVIDED = "not provided"
"""What a broker prints where a client gave no reason."""
DOWNGRADED = "from consumer to classic for member leaving"
"""The end of a reason that names nobody: the line before it does."""
_CAPACITY = re.compile(
    r"(?:GroupConfig\(\d{1,9},\d{1,9},|\(size (?P<members>\d{1,9})\) is over capacity )(?P<limit>\d{1,9})"
)
"""Kafka 2 and 3 print all settings of groups; group.max.size is the third."""


class Reason(NamedTuple):
    """What a reason says. Empty where it does not say it."""

    kind: CauseKind
    member_id: str = ""
    member_ids: tuple[str, ...] = ()
    instance_id: str = ""
    client_reason: str = ""
    candidates: tuple[CauseKind, ...] = ()
    """Where it does not say more than the culprit: every cause that fits."""


ENDS = {
    FactKind.MEMBER_EXPIRED: EndCause.SESSION_EXPIRED,
    FactKind.MEMBER_EXPIRED_EPOCH: EndCause.SESSION_EXPIRED,
    FactKind.MEMBER_TOO_SLOW_EPOCH: EndCause.REBALANCE_TIMEOUT,
    FactKind.MEMBER_NOT_SYNCED_EPOCH: EndCause.SYNC_TIMEOUT,
}
"""Why a member went, by its coordinator's line that it removed it."""
_REJOINED_WITHOUT_A_WORD = (CauseKind.METADATA_CHANGED, CauseKind.COOPERATIVE_FOLLOWUP, CauseKind.MEMBER_REJOINED)
_JOINED = "joined"
_LEFT = "left"
_REJOINED = "rejoined"


def _worded(since: str, *texts: str) -> tuple[tuple[str, str], ...]:
    """Texts behind which a client's own words stand since 3.2, where it gives some."""
    words = "; client reason: {client_reason}"
    return (*((f"{text}{words}", "3.2") for text in texts), *((text, since) for text in texts))


_REASONS_BY_RULE: Mapping[str, Sequence[tuple[str, str]]] = {
    _JOINED: (
        *_worded("2.7", "Adding new member {member_id} with group instance id {instance_id}"),
        ("Adding new member {member_id} with group instanceid {instance_id}", "2.3"),
        ("Adding new member {member_id}", "2.1"),
    ),
    CauseKind.SESSION_EXPIRED: (("removing member {member_id} on heartbeat expiration", "2.1"),),
    _LEFT: (
        ("explicit `LeaveGroup` request for ({member_ids}) members", "4.0"),
        *_worded("3.0", "Removing member {member_id} on LeaveGroup"),
        ("removing member {member_id} on LeaveGroup", "2.1"),
    ),
    _REJOINED: (
        ("Leader {member_id} re-joining group during Stable; client reason: {client_reason}", "4.0"),
        *_worded("2.7", "leader {member_id} re-joining group during Stable"),
        *_worded(
            "2.7",
            "Updating metadata for member {member_id} during Stable",
            "Updating metadata for member {member_id} during CompletingRebalance",
        ),
        ("Updating metadata for member {member_id}", "2.1"),
    ),
    CauseKind.SYNC_TIMEOUT: (
        ("Removing [{member_ids}] on pending sync request expiration", "4.0"),
        ("Removing Set({member_ids}) on pending sync request expiration", "2.8"),
    ),
    CauseKind.STATIC_MEMBER_REPLACED: (
        *_worded(
            "2.7",
            "Group's selectedProtocol will change because static member {member_id} with instance id {instance_id} "
            "joined with change of protocol",
        ),
        *_worded("2.7", "Updating metadata for static member {member_id} with instance id {instance_id}"),
    ),
    CauseKind.ASSIGNMENT_NOT_STORED: (
        ("Error {error} when storing group assignmentduring SyncGroup (member: {member_id})", "3.7"),
        ("Error {error} when storing group assignment during SyncGroup (member: {member_id})", "2.4"),
        ("error when storing group assignment during SyncGroup (member: {member_id})", "2.1"),
    ),
    CauseKind.GROUP_OVER_CAPACITY: (
        ("Freshly-loaded group {} is over capacity {}", "3.7"),
        ("Freshly-loaded group is over capacity {}", "2.2"),
    ),
    CauseKind.UNKNOWN: (
        ("Downgrade group {} " + DOWNGRADED, "4.2"),
        ("Downgrade group {} from consumer to classic with stale assignment", "4.2"),
    ),
}
_REASONS = Templates(
    tuple(
        Template(FactKind.REBALANCE_BEGAN, text, since=since, rule=rule)
        for rule, texts in _REASONS_BY_RULE.items()
        for text, since in texts
    )
)


@lru_cache(maxsize=1 << 14)  # It is read again where its group's lines are taken.
def read_reason(text: str) -> Reason | None:
    """What a coordinator's reason says; None: it is worded in a way that is not known."""
    found = _REASONS.match(text.rstrip("."))
    if found is None:
        return None
    template, values, is_certain = found
    fields = template.named(values)
    rule = fields.pop("rule")
    if not is_certain:
        fields = {}  # A client's words may look like the text behind its id: then neither is known.
    error = fields.pop("error", "")
    if fields.get("client_reason") == NOT_PROVIDED:
        del fields["client_reason"]
    if rule == _JOINED:
        return Reason(CauseKind.MEMBER_JOINED, **fields)
    named = Reason(CauseKind.UNKNOWN, **fields)
    if rule == _LEFT:
        return left(named)
    if rule == _REJOINED:
        return _rejoined(named)
    if rule == CauseKind.ASSIGNMENT_NOT_STORED:
        # The member is the leader whose SyncGroup was in hand: the broker's own log refused, so nobody is to blame.
        return Reason(CauseKind.ASSIGNMENT_NOT_STORED, client_reason=error)
    return named._replace(kind=CauseKind(rule))


def capacity_in(text: str) -> tuple[int | None, int | None]:
    """Return how many members a loaded group has and group.max.size, as far as a coordinator's reason has them."""
    found = _CAPACITY.search(text) if "apacity " in text or "GroupConfig(" in text else None
    if found is None:
        return None, None
    return None if found["members"] is None else int(found["members"]), int(found["limit"])


def left(named: Reason) -> Reason:
    """Why a member left, by its own words; without words it closed, or polled too late."""
    if named.client_reason:
        return named._replace(kind=why_left(named.client_reason) or CauseKind.MEMBER_LEFT)
    return named._replace(candidates=LEFT_WITHOUT_A_WORD)


def gone_by(line: LoggedFact) -> Reason:
    """Who went by a line, and why."""
    if line.kind in ENDS:
        return Reason(cause_of_end(ENDS[line.kind]), member_id=line.member_id, instance_id=line.instance_id)
    words = "" if line.client_reason == NOT_PROVIDED else line.client_reason
    return left(Reason(CauseKind.UNKNOWN, member_id=line.member_id, instance_id=line.instance_id, client_reason=words))


def cause_of(reason: Reason, client_id: str = "") -> Cause:
    """Return what a reason says as a cause. client_id: the culprit's, where its member id may not begin with it."""
    who, own = reason.member_id, "" if reason.instance_id else client_id or client_id_of(reason.member_id)
    return Cause(
        kind=reason.kind,
        member_id=who,
        client_id=own,
        group_instance_id=reason.instance_id or None,
        client_reason=reason.client_reason or None,
        is_inferred=bool(reason.candidates),
        candidates=tuple(candidate(kind, who, client_id) for kind in reason.candidates),
    )


def cause_in_words(client_reason: str) -> CauseKind | None:
    """What a client's own words for joining again or leaving say of the cause; None: they say that others began."""
    words = client_reason.lower()
    own = why_rejoined(words) or any(each in words for each in _SCHEDULED)
    if not own and (not words or any(each in words for each in _OTHERS_BEGAN)):
        return None
    if why_left(words) or "unsubscribe" in words or "closed" in words:
        return left(Reason(CauseKind.UNKNOWN, client_reason=client_reason)).kind
    return _rejoined(Reason(CauseKind.UNKNOWN, client_reason=client_reason)).kind


_OTHERS_BEGAN = (
    "rebalanc",
    "need to re-join with the given member-id",
    "illegal_generation",
    "unknown_member_id",
    "pro-actively leaving",
)
_SCHEDULED = ("followup rebalance", "probing rebalance")
"""Rebalances that Kafka Streams schedules: to move tasks, or to see whether a standby has caught up."""


def _rejoined(named: Reason) -> Reason:
    if named.client_reason:
        return named._replace(kind=why_rejoined(named.client_reason) or CauseKind.MEMBER_REJOINED)
    return named._replace(kind=CauseKind.MEMBER_REJOINED, candidates=_REJOINED_WITHOUT_A_WORD)
