"""The detector `rebalance_goes_on`: when a group did not come out of its rebalance."""

from __future__ import annotations

from rollcall.answers.views.view import GROUP_ID, STATE_TIMES, Column, Detector, View

REBALANCING_MS = 360_000
"""Kafka's clients may take the default max.poll.interval.ms of five minutes to come back."""

REBALANCE_GOES_ON = View(
    name="rebalance_goes_on",
    row="a time in which a group was rebalancing",
    rule=(
        "The time from the state PreparingRebalance, or CompletingRebalance, until the group is Stable or Empty. If "
        "another rebalance follows at once, that is one time."
    ),
    columns=(
        GROUP_ID,
        Column("state", "string", "the latest state in it"),
        Column("generation_id", "int", "the generation of that state"),
        Column("from_at", "timestamp", "when the group began to rebalance"),
        Column("to_at", "timestamp", "when it was in a state of another kind; null: ongoing"),
        Column("duration_ms", "bigint", "the time between, ms; null while ongoing"),
    ),
    sql=f"""--sql
SELECT group_id, state, generation_id, from_at, to_at, duration_ms
FROM ({STATE_TIMES})
WHERE state NOT IN ('Empty', 'Stable', 'Dead')
""",
    detector=Detector(
        "endless rebalance",
        "endless rebalances",
        "rebalancing for {duration_ms} ({state})",
        worth_telling=f"duration_ms >= {REBALANCING_MS}",
        worth_said=f"Listed as trouble are those of at least {REBALANCING_MS // 60_000} min.",
        severity="critical",
        rebalance="first",
    ),
    of_consumers="The time in one of the states Assigning and Reconciling.",
)
