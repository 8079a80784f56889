"""An explanation in sentences: what happened, and who set it off and why.

Knows what each cause means to a person on call. Must not know a table or a terminal.
"""

from __future__ import annotations

from collections.abc import Callable

from rollcall.answers.why.cost import Cost, Peak
from rollcall.answers.why.explanation import Explanation
from rollcall.answers.why.slack import Seen
from rollcall.history.holdings import Partition
from rollcall.history.kinds import GroupKind
from rollcall.history.parts import terms_of
from rollcall.history.rebalances import Rebalance
from rollcall.history.sentences import cause_clause, fitting, members_changed, outcome_words, with_host
from rollcall.history.words import at_most, clock, count, duration, ended, moment, partitions, some
from rollcall.schemas.causes import CauseKind, name_of, row_of

NO_REQUESTS = "no request of this group is recorded around it, so what its members did in between is left out"
NOT_RENEWED = "{who} sent nothing that renews its session for its session timeout[ ({session_ms})] and was removed"


def title(e: Explanation) -> str:
    """Which rebalance it is, when it began and how it ended; its times are UTC."""
    rebalance = e.rebalance
    to = "?" if rebalance.to_generation_id is None else rebalance.to_generation_id
    step = f"{e.group_id}: {e.kind.step} {rebalance.from_generation_id} -> {to}"
    began = f"{step}, {moment(rebalance.started_at_ms)} UTC"
    if not rebalance.is_start_known and rebalance.ended_at_ms is not None:
        return f"{step}, over at {moment(rebalance.ended_at_ms)} UTC; when it began is not known"
    if not rebalance.is_end_known:
        return f"{began}; when it ended is not known"
    if rebalance.ended_at_ms is None:
        return f"{began}, still running {duration(e.known_until_ms - rebalance.started_at_ms)} later"
    return f"{began}, {outcome_words(rebalance.outcome or '', rebalance.ended_at_ms - rebalance.started_at_ms)}"


def headline(e: Explanation) -> str:
    """What happened, in one sentence."""
    rebalance = e.rebalance
    parts = []
    if rebalance.members_after is not None:
        parts.append(_members(e))
    elif rebalance.members_before is not None:
        parts.append(f"{count(rebalance.members_before, 'member')} before")
    if e.moves:
        parts.append(f"{e.kind.count(len(e.moves))} moved")
    parts.append(_stopped(e))
    longest_ms = max(e.unheld_ms.values(), default=0)
    if not (rebalance.is_start_known and e.are_owners_known):
        longest_ms = 0
    if e.standstill is None or e.standstill[1] is None or longest_ms > 2 * (e.standstill[1] - e.standstill[0]):
        parts += [f"some {e.kind.many} had no owner for up to {duration(longest_ms)}"] if longest_ms else []
    return f"{_clause(e)}: {', '.join(parts)}."


def _clause(e: Explanation) -> str:
    """What set it off."""
    cause = e.rebalance.cause
    is_unrenewed = row_of(cause.kind).is_expiry and e.last_seen is not None and not e.last_seen.does_renew
    sentence = NOT_RENEWED if is_unrenewed else ""
    # Nobody is named by lines that another client may have written.
    who = cause.group_instance_id or _name(e)(cause.member_id, cause.client_id)
    terms = terms_of(e.culprit, e.kind, who)
    # A home does not say whether the culprit of an open cause was seen: a topic only shows who is gone.
    return cause_clause(cause, terms, fitting(cause, _name(e)), sentence, doubt="inferred; ")


def trigger(e: Explanation) -> list[tuple[str, str]]:
    """Who set it off and why, point by point."""
    cause = e.rebalance.cause
    points: list[tuple[str, str]] = [("cause", cause.kind)]
    if cause.member_id or cause.client_id or cause.group_instance_id:
        instance = f", group.instance.id {cause.group_instance_id}" if cause.group_instance_id else ""
        points.append(("client", f"{with_host(e.culprit_name, cause.client_host)}{instance}"))
        points.append(("member id", cause.member_id or "unknown"))
        if e.are_requests_known or cause.client_reason:
            points.append(("reason given", f'"{cause.client_reason}"' if cause.client_reason else "none"))
    elif "{who}" in row_of(cause.kind).sentence or cause.kind == "unknown":
        points.append(("client", "unknown"))
    if e.last_seen is not None:
        points += _seen_points(e, e.last_seen)
    if cause.candidates:
        points.append(("what fits", " or ".join(fitting(cause, _name(e)))))
    if cause.is_inferred and e.are_requests_known:
        points.append(("how we know", "inferred from what followed in the recording; no request says it"))
    if not e.are_requests_known:
        points.append(("not known", NO_REQUESTS))
    return points


def _seen_points(e: Explanation, seen: Seen) -> list[tuple[str, str]]:
    """When the culprit was last seen, and, if that did not renew its session, what did."""

    def ago(at_ms: int) -> str:
        return f"{moment(at_ms)} UTC, {duration(e.rebalance.started_at_ms - at_ms)} before"

    if seen.renewed_ms is None or seen.does_renew:
        return [("last seen", ago(seen.at_ms))]
    by = f"{ago(seen.at_ms)}, by a {seen.api}, which does not renew a session"
    return [("session renewed", ago(seen.renewed_ms)), ("last seen", by)]


def timeline(e: Explanation) -> list[tuple[int, str]]:
    """The moments that matter, in order."""
    rebalance = e.rebalance
    found: list[tuple[int, str]] = []
    if e.silent_since_ms is not None:
        found.append((e.silent_since_ms, f"{e.culprit_name} was last seen"))
    if e.round_from_ms < rebalance.started_at_ms:
        found.append((e.round_from_ms, "the group began to rebalance; others began and were superseded since"))
    if rebalance.is_start_known:
        found.append(
            (rebalance.started_at_ms, f"the rebalance began: {name_of(rebalance.cause.kind)}, by {e.culprit_name}")
        )
    for change in e.conversions:
        by = f", by {change.client_id}" if change.client_id else ""
        found.append((change.at_ms, f"the {change.from_type} group became a {change.to_type} group{by}"))
    found += e.kind.timeline(e)
    if rebalance.ended_at_ms is not None and rebalance.is_end_known:
        found.append((rebalance.ended_at_ms, f"the rebalance ended: {rebalance.outcome}"))
    back = [part.moments[e.kind.back] for part in e.parts if e.kind.back in part.moments]
    if back and rebalance.outcome == "completed":
        found.append((max(back), "the last member had its assignment"))
    return sorted(found, key=lambda event: event[0])


def held(e: Explanation) -> list[tuple[str, int, str]]:
    """Who kept the others waiting, for how long, and why it took that long; the longest first."""
    found = [(part, part.held_others_ms) for part in e.parts if part.held_others_ms]
    return [(part.name, ms, e.kind.delay(e, part)) for part, ms in sorted(found, key=lambda item: -item[1])]


def awaited(e: Explanation) -> list[str]:
    """Who has not come yet, while it runs."""
    return [] if e.rebalance.ended_at_ms is not None else [part.name for part in e.kind.awaited(e)]


def remarks(e: Explanation) -> list[str]:
    """Remarks beside the headline: how it was found, which others it might be, who is awaited, what is unclear."""
    found = [] if e.note is None else [e.note]
    if e.others:
        others = (f"{moment(one.started_at_ms)} {name_of(one.cause.kind)}{_led_to(e, one)}" for one in e.others)
        found.append(f"{'The other' if len(e.others) == 1 else 'The others'}: {some(others, 5)}.")
    found += e.kind.unread(e)
    names = awaited(e)
    if names:
        found.append(f"Still awaited: {some(names)}.")
    if e.names.is_unclear:
        found.append(
            "Members that share client id and host are distinguished by the beginning of their member id's UUID; "
            "which of them came back under another id is unknown."
        )
    return found


def since_beginning(e: Explanation, at_ms: int) -> str:
    """How long after the beginning of the rebalance a moment is: `+2.004 s`, `-10 s`; empty if it is not known."""
    if not e.rebalance.is_start_known:
        return ""
    since_ms = at_ms - e.rebalance.started_at_ms
    return f"-{duration(-since_ms)}" if since_ms < 0 else f"+{duration(since_ms)}"


def stopped(e: Explanation) -> list[str]:
    """How long nobody consumed: the group as a whole, and the partitions that were longest without an owner."""
    found = [f"{_stopped(e)[0].upper()}{_stopped(e)[1:]}{_span(e)}."]
    if not (e.rebalance.is_start_known and e.are_owners_known):
        return found
    longest_ms = max(e.unheld_ms.values(), default=0)
    if longest_ms:
        those = partitions(partition for partition, ms in e.unheld_ms.items() if ms == longest_ms)
        found.append(f"Longest without an owner: {those}, {duration(longest_ms)}.")
    if e.silent_since_ms is not None:
        lost = [move for move in e.moves if move.before == e.culprit_name]
        if lost:
            silence = duration(e.rebalance.started_at_ms - e.silent_since_ms)
            those = partitions(move.partition for move in lost)
            silent = f"{e.culprit_name}, who had been silent for {silence} before"
            found.append(f"{those} belonged to {silent}: whether it still consumed is unknown.")
    return found


def cost_in_a_sentence(e: Explanation, cost: Cost) -> str:
    """How many records waited longer, how far behind the group was, where and whose, and when it had caught up."""
    before = f"the group was {at_most(count(cost.lag_before, 'record'), cost.is_upper_bound)} behind before"
    at_peak = f"{at_most(str(cost.lag_peak), cost.is_upper_bound)} at its peak"
    if not cost.records_delayed:
        so_far = " so far" if cost.caught_up_ms is None else ""
        return f"no record waited longer{so_far}: {before} and {at_peak} after that"
    furthest = "".join(f", furthest in {peak.name}{_in_brackets(owned(e, peak))}" for peak in cost.peaks[:1])
    since = "the member fell silent" if cost.is_from_silence else "the beginning"
    after = (
        "has not caught up, as far as the hour after it is known"
        if cost.caught_up_after_ms is None
        else f"had caught up {duration(cost.caught_up_after_ms)} after {since}"
    )
    delayed = count(cost.records_delayed, "record")
    return f"{delayed} waited longer: {before} and {at_peak}{furthest}, and {after}"


def owned(e: Explanation, peak: Peak) -> str:
    """`a -> b`, whose the partition was before and after the rebalance; `a` if it stayed; empty: not known."""
    owners = e.owners.get(Partition(peak.topic, peak.partition)) if e.are_owners_known else None
    return "" if owners is None else " -> ".join(dict.fromkeys(name or "nobody" for name in owners))


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def following(e: Explanation) -> str | None:
    """What came next, if the group rebalanced again."""
    after = e.followed_by
    if after is None or e.rebalance.ended_at_ms is None:
        return None
    pause = duration(after.started_at_ms - e.rebalance.ended_at_ms)
    began = "began" if after.is_start_known else "was under way"
    by = f", by {e.names.of(after.cause.member_id, after.cause.client_id)}" if after.cause.member_id else ""
    return f"The next rebalance {began} {pause} later: {name_of(after.cause.kind)}{by}{_led_to(e, after)}."


def _led_to(e: Explanation, rebalance: Rebalance) -> str:
    """The generation by which `why` finds it, once it has ended."""
    return "" if rebalance.to_generation_id is None else f" ({e.kind.step} {rebalance.to_generation_id})"


def in_a_line(rebalance: Rebalance, kind: GroupKind) -> str:
    """A rebalance in one line, without the names of its group and its members."""
    cause = rebalance.cause
    culprit = with_host(cause.client_id or cause.group_instance_id or "", cause.client_host)
    by = f", by {culprit}" if culprit else ""
    reason = f' ("{cause.client_reason}")' if cause.client_reason else ""
    fits = ({name_of(one.kind): None for one in cause.candidates}) if cause.kind == CauseKind.UNKNOWN else {}
    why = f"{name_of(cause.kind)} ({' or '.join(fits)})" if fits else name_of(cause.kind)
    doubt = " (inferred)" if cause.is_inferred and not fits else ""
    to = "?" if rebalance.to_generation_id is None else rebalance.to_generation_id
    result = "still running"
    if rebalance.outcome is not None:
        is_timed = rebalance.is_start_known and rebalance.ended_at_ms is not None
        took_ms = (rebalance.ended_at_ms or 0) - rebalance.started_at_ms if is_timed else None
        result = outcome_words(rebalance.outcome, took_ms)
    members = members_changed(rebalance.members_before, rebalance.members_after)
    slowest, waited = rebalance.slowest, ""
    if slowest is not None and slowest.client_id:
        waited = f", waited {duration(slowest.held_others_ms)} for {slowest.client_id}"
    steps = f"{kind.step} {rebalance.from_generation_id} -> {to}"
    return f"rebalance, {steps}: {why}{by}{reason}{doubt}; {result}, {members}{waited}"


def _name(e: Explanation) -> Callable[[str, str], str]:
    """Names of member ids and client ids, empty if both are."""
    return lambda member_id, client_id: e.names.of(member_id, client_id) if member_id or client_id else ""


def _members(e: Explanation) -> str:
    """How many members before and after, and how many joined, left or expired in between."""
    rebalance = e.rebalance
    change = members_changed(rebalance.members_before, rebalance.members_after)
    others = [part for part in e.parts if part.member_id != rebalance.cause.member_id]
    joined = [part.name for part in others if part.is_new]
    gone = [
        f"{part.name} ({ended(part.end_cause, part.is_end_inferred)})" for part in others if part.end_cause is not None
    ]
    meanwhile = [f"{some(joined)} also joined"] if joined else []
    meanwhile += [f"{some(gone)} also went"] if gone else []
    return f"{change}, {'; '.join(meanwhile)}" if meanwhile else change


def _stopped(e: Explanation) -> str:
    if not e.holdings:
        return "who held what is unknown"
    if not e.are_owners_known:
        return f"whether {e.kind.somebody} all the time is not known"
    if not e.rebalance.is_start_known:
        return f"for how long {e.kind.nobody} is not known"
    if e.standstill is None:
        return f"{e.kind.somebody} all the time"
    from_ms, to_ms = e.standstill
    if to_ms is None:
        until_ms = e.known_until_ms if e.followed_by is None else max(e.known_until_ms, e.followed_by.started_at_ms)
        since = f"{e.kind.nobody} any more"
        return f"{e.kind.nobody} for {duration(until_ms - from_ms)} or more" if until_ms > from_ms else since
    return f"{e.kind.nobody} for {duration(to_ms - from_ms)}"


def _span(e: Explanation) -> str:
    if not e.holdings or e.standstill is None or not e.rebalance.is_start_known:
        return ""
    from_ms, to_ms = e.standstill
    return f", from {clock(from_ms)} UTC" + (" on" if to_ms is None else f" to {clock(to_ms)} UTC")
