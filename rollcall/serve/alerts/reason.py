"""What an alarm says beside what was found: the rebalance in the sentence of `why`, who set it off, what it cost.

Knows which rebalance a trouble is about. Must not know how one is explained, nor a receiver.
"""

from __future__ import annotations

from typing import NamedTuple

from rollcall.answers.why.cost import cost_of
from rollcall.answers.why.explanation import Explanation, explain
from rollcall.answers.why.telling import cost_in_a_sentence, headline
from rollcall.history.rebalances import NoSuchRebalance, Span
from rollcall.history.words import at_most, count, duration
from rollcall.serve.alerts.kinds import Found
from rollcall.serve.page.history import History


class Reason(NamedTuple):
    """The texts of an alarm, each empty where it is not known."""

    why: str = ""
    who: str = ""
    cost: str = ""


def reason_of(history: History, found: Found) -> Reason:
    """Raises duckdb.Error: the home cannot be read just now."""
    if not found.group_id:
        return Reason()
    e = _explained(history, found)
    if e is None:
        return Reason(who=found.who, cost=_lag(history, found.group_id))
    rebalance = e.rebalance
    cost = cost_of(history.asked(found.group_id), rebalance.started_at_ms, rebalance.from_generation_id)
    cost_text = _lag(history, found.group_id) if cost is None else cost_in_a_sentence(e, cost)
    culprit = e.culprit_name if rebalance.cause.member_id or rebalance.cause.client_id else ""
    return Reason(headline(e), found.who or culprit, cost_text)


def _explained(history: History, found: Found) -> Explanation | None:
    """The rebalance that is part of a trouble, else the first that began in it; None: there is none."""
    if found.rebalance is None:
        return None
    at_ms = found.since_ms if found.rebalance == "first" else found.until_ms
    for span in (Span(at_ms, at_ms), Span(found.since_ms, found.until_ms)):
        try:
            e = explain(found.group_id, history.reader(found.group_id), at=span)
        except NoSuchRebalance:
            return None
        ended_ms = e.rebalance.ended_at_ms
        if found.rebalance == "latest" and e.began_ms <= found.since_ms:
            # The only one is what it began with.
            return None
        if e.began_ms <= found.until_ms and (ended_ms is None or ended_ms >= found.since_ms):
            return e
    return None


def _lag(history: History, group_id: str) -> str:
    """How far the group is behind, where that is known."""
    row = history.all(
        "SELECT sum(lag_records)::BIGINT AS records, max(lag_ms) AS ms, bool_or(is_upper_bound) AS is_upper_bound, "
        "count_if(lag_records IS NULL) > 0 AS is_partial FROM all_lag WHERE group_id = ?",
        [group_id],
    )[0]
    if not row["records"]:
        return ""
    behind = f"the group is {at_most(count(row['records'], 'record'), row['is_upper_bound'])} behind"
    if row["is_upper_bound"]:
        return behind + " where its lag is known" * row["is_partial"]
    return behind if row["ms"] is None else f"{behind}, the oldest of them is {duration(row['ms'])} old"
