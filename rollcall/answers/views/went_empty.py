"""The detector `went_empty`: when a group that had members had none."""

from __future__ import annotations

from rollcall.answers.views.view import GROUP_ID, STATE_TIMES, Column, Detector, View

EMPTY_MS = 300_000
"""A restart may leave a group without members for so long."""
NEWS_MS = 24 * 3_600_000
"""A group that has been empty for longer when it is first looked at has been given up."""

WENT_EMPTY = View(
    name="went_empty",
    row="a time in which a group that had members had none",
    rule=(
        "The time in which the group's state is Empty, after its first generation. How its members went does not "
        "matter: they may have been killed, or have left as they were closed."
    ),
    columns=(
        GROUP_ID,
        Column("generation_id", "int", "the generation in which the group was empty"),
        Column("from_at", "timestamp", "when the last member went"),
        Column("to_at", "timestamp", "when a member came, or the group was removed; null: ongoing"),
        Column("duration_ms", "bigint", "the time between, ms; null while ongoing"),
    ),
    sql=f"""--sql
SELECT group_id, generation_id, from_at, to_at, duration_ms
FROM ({STATE_TIMES})
WHERE state = 'Empty' AND generation_id > 0
""",
    detector=Detector(
        "empty group",
        "empty groups",
        "no member for {duration_ms}",
        worth_telling=f"duration_ms >= {EMPTY_MS}",
        worth_said=f"Listed as trouble are those of at least {EMPTY_MS // 60_000} min, which no restart takes.",
        severity="critical",
        is_news=f"duration_ms < {NEWS_MS}",
        rebalance="first",
    ),
)
