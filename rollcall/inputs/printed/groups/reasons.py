"""Why a classic group's rebalance began, from the reason that its coordinator prints, and from the lines around it.

The reason names who set it off; a client's own words (KIP-800) say why it left or joined again. What neither says stays
open: all causes that fit are candidates. Knows the wordings of Kafka 2.1 to 4.3, and those of clients.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from rollcall.inputs.printed.groups.holders import TOGETHER_MS
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance, client_id_of, concluded
from rollcall.inputs.printed.templates import Template, Templates
from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind

NOT_PROVIDED = "not provided"
"""What a broker prints where a client gave no reason."""
DOWNGRADED = "from consumer to classic for member leaving"
"""The end of a reason that names nobody: the line before it does."""
BACK_WITHIN_MS = 5_000
"""A client that polled too late comes back, as a rule within seconds. One that did not for this long has closed."""
_COMES_BACK = (FactKind.MEMBER_ID_GIVEN, FactKind.MEMBER_ADDED, FactKind.STATIC_MEMBER_REPLACED)
_BROUGHT_BY = {
    FactKind.MEMBER_ADDED: CauseKind.MEMBER_JOINED,
    FactKind.MEMBER_EXPIRED: CauseKind.SESSION_EXPIRED,
}
_CAPACITY = re.compile(
    r"(?:GroupConfig\(\d{1,9},\d{1,9},|\(size (?P<members>\d{1,9})\) is over capacity )(?P<limit>\d{1,9})"
)
"""Kafka 2 and 3 print all settings of groups, of which group.max.size is the third."""


class Reason(NamedTuple):
    """What a reason says. Empty where it does not say it."""

    kind: CauseKind
    member_id: str = ""
    member_ids: tuple[str, ...] = ()
    instance_id: str = ""
    client_reason: str = ""
    candidates: tuple[CauseKind, ...] = ()
    """Where it does not say more than the culprit: every cause that fits."""


_LEFT_WITHOUT_A_WORD = (CauseKind.MEMBER_LEFT, CauseKind.POLL_TIMEOUT)
_REJOINED_WITHOUT_A_WORD = (CauseKind.METADATA_CHANGED, CauseKind.COOPERATIVE_FOLLOWUP, CauseKind.MEMBER_REJOINED)
_JOINED = "joined"
_LEFT = "left"
_REJOINED = "rejoined"


def _reason(rule: str, text: str, since: str) -> Template:
    return Template(FactKind.REBALANCE_BEGAN, text, since=since, rule=rule)


_REASONS = Templates(
    (
        _reason(
            _JOINED,
            "Adding new member {member_id} with group instance id {instance_id}; client reason: {client_reason}",
            "3.2",
        ),
        _reason(_JOINED, "Adding new member {member_id} with group instance id {instance_id}", "2.7"),
        _reason(_JOINED, "Adding new member {member_id} with group instanceid {instance_id}", "2.3"),
        _reason(_JOINED, "Adding new member {member_id}", "2.1"),
        _reason(CauseKind.SESSION_EXPIRED, "removing member {member_id} on heartbeat expiration", "2.1"),
        _reason(_LEFT, "explicit `LeaveGroup` request for ({member_ids}) members", "4.0"),
        _reason(_LEFT, "Removing member {member_id} on LeaveGroup; client reason: {client_reason}", "3.2"),
        _reason(_LEFT, "Removing member {member_id} on LeaveGroup", "3.0"),
        _reason(_LEFT, "removing member {member_id} on LeaveGroup", "2.1"),
        _reason(_REJOINED, "Leader {member_id} re-joining group during Stable; client reason: {client_reason}", "4.0"),
        _reason(_REJOINED, "leader {member_id} re-joining group during Stable; client reason: {client_reason}", "3.2"),
        _reason(_REJOINED, "leader {member_id} re-joining group during Stable", "2.7"),
        _reason(
            _REJOINED, "Updating metadata for member {member_id} during Stable; client reason: {client_reason}", "3.2"
        ),
        _reason(
            _REJOINED,
            "Updating metadata for member {member_id} during CompletingRebalance; client reason: {client_reason}",
            "3.2",
        ),
        _reason(_REJOINED, "Updating metadata for member {member_id} during Stable", "2.7"),
        _reason(_REJOINED, "Updating metadata for member {member_id} during CompletingRebalance", "2.7"),
        _reason(_REJOINED, "Updating metadata for member {member_id}", "2.1"),
        _reason(CauseKind.SYNC_TIMEOUT, "Removing [{member_ids}] on pending sync request expiration", "4.0"),
        _reason(CauseKind.SYNC_TIMEOUT, "Removing Set({member_ids}) on pending sync request expiration", "2.8"),
        _reason(
            CauseKind.STATIC_MEMBER_REPLACED,
            "Group's selectedProtocol will change because static member {member_id} with instance id {instance_id} "
            "joined with change of protocol; client reason: {client_reason}",
            "3.2",
        ),
        _reason(
            CauseKind.STATIC_MEMBER_REPLACED,
            "Group's selectedProtocol will change because static member {member_id} with instance id {instance_id} "
            "joined with change of protocol",
            "2.7",
        ),
        _reason(
            CauseKind.STATIC_MEMBER_REPLACED,
            "Updating metadata for static member {member_id} with instance id {instance_id}; "
            "client reason: {client_reason}",
            "3.2",
        ),
        _reason(
            CauseKind.STATIC_MEMBER_REPLACED,
            "Updating metadata for static member {member_id} with instance id {instance_id}",
            "2.7",
        ),
        _reason(
            CauseKind.ASSIGNMENT_NOT_STORED,
            "Error {error} when storing group assignmentduring SyncGroup (member: {member_id})",
            "3.7",
        ),
        _reason(
            CauseKind.ASSIGNMENT_NOT_STORED,
            "Error {error} when storing group assignment during SyncGroup (member: {member_id})",
            "2.4",
        ),
        _reason(
            CauseKind.ASSIGNMENT_NOT_STORED,
            "error when storing group assignment during SyncGroup (member: {member_id})",
            "2.1",
        ),
        _reason(CauseKind.GROUP_OVER_CAPACITY, "Freshly-loaded group {} is over capacity {}", "3.7"),
        _reason(CauseKind.GROUP_OVER_CAPACITY, "Freshly-loaded group is over capacity {}", "2.2"),
        _reason(CauseKind.UNKNOWN, "Downgrade group {} " + DOWNGRADED, "4.2"),
        _reason(CauseKind.UNKNOWN, "Downgrade group {} from consumer to classic with stale assignment", "4.2"),
    )
)


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
    words = fields.pop("client_reason", "")
    named = Reason(CauseKind.UNKNOWN, client_reason="" if words == NOT_PROVIDED else words, **fields)
    if rule == _JOINED:
        return named._replace(kind=CauseKind.MEMBER_JOINED)
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
    found = _CAPACITY.search(text)
    if found is None:
        return None, None
    return None if found["members"] is None else int(found["members"]), int(found["limit"])


def left(named: Reason) -> Reason:
    """Why a member left, by its own words; without words it closed, or polled too late."""
    words = named.client_reason.lower()
    if "poll timeout" in words or "max.poll.interval" in words:
        return named._replace(kind=CauseKind.POLL_TIMEOUT)
    if "removed by an admin" in words:
        return named._replace(kind=CauseKind.ADMIN_REMOVED)
    if words:
        return named._replace(kind=CauseKind.MEMBER_LEFT)
    return named._replace(candidates=_LEFT_WITHOUT_A_WORD)


def left_by(line: LoggedFact) -> Reason:
    """Who left by a line, and why."""
    words = "" if line.client_reason == NOT_PROVIDED else line.client_reason
    return left(Reason(CauseKind.UNKNOWN, member_id=line.member_id, instance_id=line.instance_id, client_reason=words))


def cause_in_words(client_reason: str) -> CauseKind | None:
    """What a client's own words for joining again or leaving say of the cause; None: they say that others began."""
    words = client_reason.lower()
    own = any(each in words for each in (*_TOPICS_CHANGED, *_GAVE_UP, *_SCHEDULED))
    if not own and (not words or any(each in words for each in _OTHERS_BEGAN)):
        return None
    if "poll timeout" in words or "max.poll.interval" in words or "unsubscribe" in words or "closed" in words:
        return left(Reason(CauseKind.UNKNOWN, client_reason=client_reason)).kind
    return _rejoined(Reason(CauseKind.UNKNOWN, client_reason=client_reason)).kind


_OTHERS_BEGAN = (
    "rebalanc",
    "need to re-join with the given member-id",
    "illegal_generation",
    "unknown_member_id",
    "pro-actively leaving",
)
_TOPICS_CHANGED = (
    "metadata has changed",
    "subscribed topic(s) has changed",
    "subscription has changed",
    "partitions were added to",
    "topics have new",
    "partitions on topics",
    "topic interests changed",
    "updated from metadata change",
)
_GAVE_UP = ("revoke partitions", "after revoking", "redistribute previously owned partitions", "cooperative move")
_SCHEDULED = ("followup rebalance", "probing rebalance")
"""Kafka Streams asks for these by itself: to move tasks on, or to see whether a standby has caught up."""


def _rejoined(named: Reason) -> Reason:
    words = named.client_reason.lower()
    if any(each in words for each in _TOPICS_CHANGED):
        return named._replace(kind=CauseKind.METADATA_CHANGED)
    if any(each in words for each in _GAVE_UP):
        return named._replace(kind=CauseKind.COOPERATIVE_FOLLOWUP)
    if words:
        return named._replace(kind=CauseKind.MEMBER_REJOINED)
    return named._replace(kind=CauseKind.MEMBER_REJOINED, candidates=_REJOINED_WITHOUT_A_WORD)


# ---------------------------------------------------------------- the lines around a reason


class Causes:
    """The causes of one group's rebalances. log_ends_ms: the time up to which all lines are read."""

    def __init__(self, lines: Sequence[LoggedFact], log_ends_ms: float | None) -> None:
        self._lines, self._log_ends_ms = lines, log_ends_ms
        self._came: dict[str, list[tuple[int, str]]] = {}
        """By client id: where it came, and under which member id."""
        self._silent: list[tuple[int, LoggedRebalance]] = []
        """Rebalances by a member that left without a word, and where each begins."""

    def take(self, place: int, line: LoggedFact) -> None:
        """Take a line, which may show who came."""
        if line.kind in _COMES_BACK:
            self._come(place, line.member_id)

    def _come(self, place: int, member_id: str) -> None:
        if member_id:
            self._came.setdefault(client_id_of(member_id), []).append((place, member_id))

    def of(self, place: int, reason: Reason | None, one: LoggedRebalance, removed: Sequence[LoggedFact]) -> Cause:
        """Return that of a rebalance which begins at a place. removed: who went since the one before began."""
        if reason is None:
            return self._of_the_line_before(place)
        before = self._lines[place - 1].member_id if place else ""
        if reason.member_id and before.startswith(reason.member_id):
            reason = reason._replace(member_id=before)  # Where a line is cut within the id, the one before it has it.
        if reason.kind is CauseKind.MEMBER_JOINED:
            self._come(place, reason.member_id)
        elif reason.kind is CauseKind.SYNC_TIMEOUT and reason.member_ids:
            reason = reason._replace(member_id=reason.member_ids[0])
        elif reason.candidates == _LEFT_WITHOUT_A_WORD:
            reason = _leave(reason, removed)
            if reason.candidates:
                self._silent.append((place, one))
        return cause_of(reason)

    def _of_the_line_before(self, place: int) -> Cause:
        """Who came or expired just before a line that gives no reason, as those of Redpanda and Kafka 2.0 do not."""
        before, line = self._lines[max(place - 1, 0)], self._lines[place]
        after_ms = between_ms(before, line)
        is_it = not line.reason and before.kind in _BROUGHT_BY and after_ms is not None and 0 <= after_ms <= TOGETHER_MS
        return concluded(_BROUGHT_BY[before.kind], before.member_id) if is_it else Cause(kind=CauseKind.UNKNOWN)

    def settle(self) -> None:
        """Take the end of the lines: who left without a word and did not come back has closed."""
        for place, one in self._silent:
            if not self._is_back(place, one.cause.member_id):
                one.cause.kind = CauseKind.MEMBER_LEFT

    def _is_back(self, place: int, member_id: str) -> bool:
        """Whether its client id joined again, or the lines end too soon to say that it did not."""
        client_id = client_id_of(member_id)
        began_ms = self._lines[place].at_ms
        if not client_id or began_ms is None or self._log_ends_ms is None:
            return True
        if self._log_ends_ms - began_ms < BACK_WITHIN_MS or not self._came:
            return True  # Before Kafka 3.0 a broker prints at DEBUG alone who joins while a rebalance runs.
        later = takewhile(lambda one: one[0] >= place, reversed(self._came.get(client_id, [])))
        return any(other != member_id for _, other in later)


def _leave(reason: Reason, removed: Sequence[LoggedFact]) -> Reason:
    """A leave whose words stand in the lines before it, as Kafka 4 prints them; they also name who left."""
    named = {*reason.member_ids, reason.member_id} - {""}
    leaves = [one for one in removed if one.kind is FactKind.MEMBER_LEFT and (not named or one.member_id in named)]
    if leaves:
        return left_by(leaves[0])
    return reason._replace(member_id=reason.member_id or next(iter(reason.member_ids), ""))


def cause_of_going(line: LoggedFact) -> Cause:
    """Why a rebalance began whose beginning has no line, by the line of who went."""
    is_expiry = line.kind is FactKind.MEMBER_EXPIRED
    return cause_of(Reason(CauseKind.SESSION_EXPIRED, member_id=line.member_id) if is_expiry else left_by(line))


def cause_of(reason: Reason) -> Cause:
    """Return what a reason says as a cause."""
    client_id = client_id_of(reason.member_id)
    return Cause(
        kind=reason.kind,
        member_id=reason.member_id,
        client_id="" if reason.instance_id else client_id,
        group_instance_id=reason.instance_id or None,
        client_reason=reason.client_reason or None,
        is_inferred=bool(reason.candidates),
        candidates=tuple(
            CauseCandidate(kind=kind, member_id=reason.member_id, client_id=client_id) for kind in reason.candidates
        ),
    )
