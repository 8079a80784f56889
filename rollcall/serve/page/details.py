"""One group, one rebalance, and who owned a partition at a moment.

Knows the views and the explanation of a rebalance. Must not know a template or an address.
"""

from __future__ import annotations

from typing import Any

from rollcall.answers.views.records_lost import lost_in_all, with_all_lost
from rollcall.answers.why.cost import literal
from rollcall.answers.why.explanation import Explanation, explain, with_cost
from rollcall.history.kinds import CLASSIC, GroupKind, kind_of
from rollcall.history.rebalances import NoSuchRebalance, Span
from rollcall.history.words import amount, count, duration, ms_of
from rollcall.serve.page.history import History
from rollcall.tables.duck_database import quoted

SHOWN_REBALANCES = 100
SHOWN_SESSIONS = 100
SHOWN_MEMBERS = SHOWN_OFFSETS = 1000
_GROUP = {
    "groups": "SELECT * FROM groups",
    "members": f"SELECT * FROM members ORDER BY client_id, member_id LIMIT {SHOWN_MEMBERS}",
    "rebalances": f"SELECT * FROM rebalances ORDER BY known_from DESC LIMIT {SHOWN_REBALANCES}",
    "heartbeat_slack": "SELECT member_id, slack_ms FROM heartbeat_slack WHERE ended_at IS NULL",
    "sessions": f"SELECT * FROM sessions WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT {SHOWN_SESSIONS}",
    "offsets": f"SELECT * FROM offsets ORDER BY topic, partition LIMIT {SHOWN_OFFSETS}",
    "lag": "SELECT * FROM lag ORDER BY topic, partition",
    "rebalance_costs": "SELECT started_at, from_generation_id, records_delayed FROM rebalance_costs",
}
_OF_LAG = ("end_offset", "end_known_at", "lag_records", "lag_ms", "records_lost", "is_upper_bound", "client_id")


def group(history: History, group_id: str, until_ms: int | None) -> dict[str, Any] | None:
    """Everything about one group, as it was at until_ms; None: it was not known then.

    `group` is its row, `members`, `rebalances` (the latest first), ended `sessions`, `offsets`; each member has the
    `slack_ms` of its longest silence, each rebalance the `records_delayed` by it, if that is known, each offset the
    lag of its partition and who owns it. `lag` is that of all; a partition that is owned and was never committed is
    among `offsets` too, with `committed_offset` None.
    """
    found = history.of_group(group_id, _GROUP, until_ms)
    if not found["groups"] and not found["rebalances"]:
        return None
    slack = {row["member_id"]: row["slack_ms"] for row in found["heartbeat_slack"]}
    for member in found["members"]:
        member["slack_ms"] = slack.get(member["member_id"])
    delayed = {
        (row["started_at"], row["from_generation_id"]): row["records_delayed"] for row in found["rebalance_costs"]
    }
    for one in found["rebalances"]:
        one["records_delayed"] = delayed.get((one["started_at"], one["from_generation_id"]))
    offsets = {(row["topic"], row["partition"]): row for row in found["offsets"]}
    lag = {(row["topic"], row["partition"]): row for row in found["lag"]}
    for place, row in lag.items():
        if row["committed_offset"] is None:
            offsets.setdefault(place, {**row, "metadata": ""})
    for place, offset in offsets.items():
        of_partition = lag.get(place, {})
        offset |= {name: of_partition.get(name) for name in _OF_LAG}
    lost = lost_in_all("all_records_lost", f"group_id = '{quoted(group_id)}'")
    with_all_lost(offsets.values(), history.in_lists(group_id, {"records_lost": lost}, until_ms)["records_lost"])
    owners = {text: member["client_id"] for member in found["members"] for text in member["assigned_partitions"] or ()}
    for (topic, partition), offset in offsets.items():
        offset["client_id"] = offset["client_id"] or owners.get(f"{topic}-{partition}")
    found["offsets"] = [offset for _, offset in sorted(offsets.items())][:SHOWN_OFFSETS]
    return {"group": found["groups"][0] if found["groups"] else None, **found}


def rebalance_of(trouble: dict[str, Any], rebalances: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Which of a group's rebalances, the latest first, belongs to one of `lists.troubles_of`; None: none does."""
    from_ms, until_ms = trouble["at_ms"], trouble["until_ms"]
    if trouble["kind"].rebalance is None or from_ms is None:
        return None
    ran = [
        row
        for row in rebalances
        if ms_of(row["known_from"]) <= until_ms and (row["ended_at"] is None or ms_of(row["ended_at"]) >= from_ms)
    ]
    return (ran[0] if trouble["kind"].rebalance == "latest" else ran[-1]) if ran else None


def cost_of(rebalance: dict[str, Any]) -> str:
    """Return what a rebalance cost, as the end of a sentence that begins with it: `took 2 s for 3 members`."""
    took_ms, members, records = (rebalance[name] for name in ("duration_ms", "members_after", "records_delayed"))
    for_members = f" for {count(members, 'member')}" if members else ""
    parts = ([] if took_ms is None else [f"took {duration(took_ms)}{for_members}"]) + (
        [f"delayed {amount(records, 'record')}"] if records else []
    )
    return " and ".join(parts)


def kind_of_group(row: dict[str, Any] | None) -> GroupKind:
    """The kind of a row of `groups`; None: the group was removed."""
    return CLASSIC if row is None else kind_of(row["group_type"], row["protocol_type"])


def owners(history: History, group_id: str, topic: str, partition: int, at_ms: int) -> list[dict[str, Any]]:
    """Who owned a partition at a moment: the intervals of `assignments` that hold it."""
    moment = literal(at_ms)
    sql = (
        f"SELECT * FROM assignments WHERE topic = '{quoted(topic)}' AND partition = {partition:d} "
        f"AND from_at <= {moment} AND (to_at IS NULL OR to_at > {moment}) ORDER BY from_at"
    )
    return history.of_group(group_id, {"assignments": sql})["assignments"]


def rebalance(
    history: History, group_id: str, generation_id: int | None, at: Span | None, until_ms: int | None
) -> Explanation | None:
    """A rebalance explained, as `make why` explains it; None: there is none that the question means."""
    try:
        e = explain(group_id, history.reader(group_id, until_ms), generation_id, at)
    except NoSuchRebalance:
        return None
    return with_cost(e, history.asked(group_id, until_ms))


def neighbours(history: History, e: Explanation, until_ms: int | None) -> dict[str, Any]:
    """The rebalances before and after this one: their rows, None if there is none."""
    began = literal(e.rebalance.started_at_ms)
    sql = (
        f"(SELECT 'before' AS side, * FROM rebalances WHERE known_from < {began} ORDER BY known_from DESC LIMIT 1) "
        f"UNION ALL (SELECT 'after', * FROM rebalances WHERE known_from > {began} ORDER BY known_from LIMIT 1)"
    )
    rows = history.of_group(e.group_id, {"rebalances": sql}, until_ms)["rebalances"]
    return {"before": None, "after": None} | {row["side"]: row for row in rows}
