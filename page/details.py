"""One group, one rebalance, and who owned a partition at a moment.

Knows the views and the explanation of a rebalance. Must not know a template or an address.
"""

from __future__ import annotations

from typing import Any

from page.history import History, quoted, timestamp
from why.explanation import Explanation, explain
from why.rebalances import NoSuchRebalance, Span
from why.rows import gained_and_lost, moves_together
from why.telling import following, headline, held, remarks, since_beginning, stopped, timeline, title, trigger
from why.words import duration, some

SHOWN_REBALANCES = 100
SHOWN_SESSIONS = 100
_GROUP = {
    "groups": "SELECT * FROM groups",
    "members": "SELECT * FROM members ORDER BY client_id, member_id",
    "rebalances": f"SELECT * FROM rebalances ORDER BY known_from DESC LIMIT {SHOWN_REBALANCES}",
    "heartbeat_slack": "SELECT member_id, slack_ms FROM heartbeat_slack WHERE ended_at IS NULL",
    "sessions": f"SELECT * FROM sessions WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT {SHOWN_SESSIONS}",
    "offsets": "SELECT * FROM offsets ORDER BY topic, partition",
}


def group(history: History, group_id: str, until_ms: int | None) -> dict[str, Any] | None:
    """Everything about one group, as it was at until_ms; None: it was not known then.

    `group` is its row, `members`, `rebalances` (the latest first), `sessions` that are over, `offsets`; each member has
    the `slack_ms` of its longest silence.
    """
    found = history.of_group(group_id, _GROUP, until_ms)
    if not found["groups"] and not found["rebalances"]:
        return None
    slack = {row["member_id"]: row["slack_ms"] for row in found["heartbeat_slack"]}
    for member in found["members"]:
        member["slack_ms"] = slack.get(member["member_id"])
    return {
        "group": found["groups"][0] if found["groups"] else None,
        "members": found["members"],
        "rebalances": found["rebalances"],
        "sessions": found["sessions"],
        "offsets": found["offsets"],
    }


def owners(history: History, group_id: str, topic: str, partition: int, at_ms: int) -> list[dict[str, Any]]:
    """Who owned a partition at a moment: the intervals of `assignments` that hold it."""
    moment = timestamp(at_ms)
    sql = (
        f"SELECT * FROM assignments WHERE topic = {quoted(topic)} AND partition = {partition:d} "
        f"AND from_at <= {moment} AND (to_at IS NULL OR to_at > {moment}) ORDER BY from_at"
    )
    return history.of_group(group_id, {"assignments": sql})["assignments"]


def rebalance(
    history: History, group_id: str, generation_id: int | None, at: Span | None, until_ms: int | None
) -> dict[str, Any] | None:
    """A rebalance explained, as `make why` explains it; None: there is none that the question means."""
    try:
        e = explain(group_id, history.reader(group_id, until_ms), generation_id, at)
    except NoSuchRebalance:
        return None
    return {"explanation": e, **told(e)}


def told(e: Explanation) -> dict[str, Any]:
    """An explanation's parts in words and numbers, in the order in which somebody on call wants them."""
    began_ms = e.rebalance.started_at_ms
    slowest_first = sorted(e.parts, key=lambda part: -(part.joined_at_ms or 2**53))
    return {
        "title": title(e),
        "headline": headline(e),
        "remarks": remarks(e),
        "trigger": trigger(e),
        "timeline": [(at_ms, since_beginning(e, at_ms), text) for at_ms, text in timeline(e)],
        "parts": [
            {
                "part": part,
                "told": _after(part.told_at_ms, began_ms),
                "rejoined": _after(part.joined_at_ms, began_ms) or part.end_cause or "not yet",
                "synced": _after(part.synced_at_ms, e.join_phase_ended_ms),
                "back": _after(part.back_at_ms, began_ms),
                "held": duration(part.held_others_ms) if part.held_others_ms else "",
            }
            for part in slowest_first
        ],
        "held": [(name, duration(ms), why) for name, ms, why in held(e)],
        "moves": moves_together(e.moves),
        "gained": sorted((name, len(got), len(lost)) for name, (got, lost) in gained_and_lost(e).items()),
        "kept": e.terms.count(e.kept_count) if e.kept_count else "",
        "stopped": stopped(e),
        "slack": [
            (one.name, duration(max(one.left_ms, 0)), duration(one.session_timeout_ms), duration(one.silent_ms))
            for one in e.slack
        ],
        "unknown_slack": some(e.unknown_slack) if e.unknown_slack else "",
        "following": following(e),
    }


def neighbours(history: History, e: Explanation, until_ms: int | None) -> dict[str, Any]:
    """The rebalances before and after this one: their rows, None where there is none."""
    began = timestamp(e.rebalance.started_at_ms)
    queries = {
        "before": f"SELECT * FROM rebalances WHERE known_from < {began} ORDER BY known_from DESC LIMIT 1",
        "after": f"SELECT * FROM rebalances WHERE known_from > {began} ORDER BY known_from LIMIT 1",
    }
    found = {
        name: history.of_group(e.group_id, {"rebalances": sql}, until_ms)["rebalances"] for name, sql in queries.items()
    }
    return {name: rows[0] if rows else None for name, rows in found.items()}


def _after(at_ms: int | None, since_ms: int | None) -> str:
    return "" if at_ms is None or since_ms is None else duration(at_ms - since_ms)
