"""Rows that cannot be, whatever happened: a history that holds one is wrong somewhere.

Each rule is a sentence and a query over the views, in Spark's SQL, whose rows break it. `rollcall check` asks them.
Must not know how a view is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState
from rollcall.coordinator_udfs.protocol.states import VALID_PREVIOUS
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.tables import AFTER_THE_LOGS

CLASSIC = "group_id IN (SELECT group_id FROM groups WHERE group_type = 'classic')"
ONE_TYPE = "group_id NOT IN (SELECT group_id FROM effects WHERE effect = 'group_type_changed')"
BEGUN = (
    "(SELECT group_id, min(at) AS begun_at FROM effects WHERE effect IN ('group_created', 'group_found') "
    "GROUP BY group_id)"
)
"""From when on a group's members are known: those that joined earlier are not, once old effects are removed."""
LATEST = "(SELECT group_id, max(at) AS latest_at FROM effects GROUP BY group_id)"
CLASSIC_MOVES = frozenset(f"{before}>{after}" for after, befores in VALID_PREVIOUS.items() for before in befores)
"""Each move as `from>to`."""
CONSUMER_MOVES = frozenset(
    f"{before}>{after}" for before in ConsumerGroupState for after in (*ConsumerGroupState, "Dead") if before != after
)
"""A consumer group's state is derived: any other of the living may follow (ConsumerGroup.maybeUpdateGroupState)."""
TURNS = (
    EffectName.GROUP_CREATED,
    EffectName.GROUP_REMOVED,
    EffectName.GROUP_FOUND,
    EffectName.GROUP_OBSERVED,
    EffectName.GROUP_TYPE_CHANGED,
    EffectName.STATE_CHANGED,
)
"""The facts after which a group may be in another state than before."""


class RowRule(NamedTuple):
    """What must hold of the rows of views."""

    name: str
    says: str
    """As a sentence; its query's rows break it."""
    query: str


def _overlaps(view: str, whose: str, begins: str, ends: str, who: str, more: str = "") -> str:
    """Rows that begin before the row before them has ended, which is another's. whose: the columns of one thing.

    Of those that begin in one millisecond the one that ends first was first.
    """
    order = f"OVER (PARTITION BY {whose} ORDER BY {begins}, {ends} NULLS LAST, {who})"
    return f"""--sql
SELECT * FROM (
  SELECT {whose}, {who}, {begins}, {ends}{more}, lag({who}) {order} AS before_it,
    lag({begins}) {order} AS before_from, lag(coalesce({ends}, timestamp'9999-12-31')) {order} AS before_to
  FROM {view}
)
WHERE before_to > {begins} AND before_from IS NOT NULL
"""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))


_OF_KNOWN_END = "(SELECT * FROM rebalances WHERE outcome IS NULL OR outcome <> 'unknown')"
_IN_ORDER = "OVER (PARTITION BY group_id ORDER BY at, seq)"

ROW_RULES = (
    RowRule(
        "near_miss_within_session",
        "A near miss is shorter than its session timeout.",
        "SELECT * FROM near_misses WHERE slack_ms < 0 OR gap_ms > session_timeout_ms",
    ),
    RowRule(
        "slack_of_the_living",
        "A member that did not expire was never silent for longer than its session timeout.",
        "SELECT * FROM heartbeat_slack WHERE slack_ms < 0 AND (end_cause IS NULL OR end_cause NOT LIKE '%expired%')",
    ),
    RowRule(
        "rebalance_ends_after_it_begins",
        "A rebalance ends after it begins.",
        "SELECT * FROM rebalances WHERE ended_at < started_at OR duration_ms < 0",
    ),
    RowRule(
        "membership_ends_after_it_begins",
        "A membership ends after it begins.",
        "SELECT * FROM sessions WHERE ended_at < joined_at",
    ),
    RowRule(
        "ownership_ends_after_it_begins",
        "A partition is given up after it was given.",
        "SELECT * FROM assignments WHERE to_at < from_at",
    ),
    RowRule(
        "standstill_ends_after_it_begins",
        "A standstill ends after it begins.",
        "SELECT * FROM standstills WHERE to_at < from_at OR duration_ms < 0",
    ),
    RowRule(
        "one_membership_at_once",
        "A member has one membership of a group at a time.",
        _overlaps("sessions", "group_id, member_id", "joined_at", "ended_at", "client_id"),
    ),
    RowRule(
        "one_owner_at_once",
        "A partition has one owner at a time.",
        # One generation of a classic group is what its leader made of it: a leader may give a partition to two.
        f"""--sql
SELECT a.* FROM (
  {_overlaps("assignments", "group_id, topic, partition", "from_at", "to_at", "member_id", ", generation_id")}
) a
LEFT JOIN (
  SELECT DISTINCT e.group_id, e.member_id, e.generation_id
  FROM effects e
  JOIN effects f ON f.group_id = e.group_id AND f.generation_id = e.generation_id AND f.effect = 'join_phase_ended'
  WHERE e.effect = 'assigned'
) g ON g.group_id = a.group_id AND g.member_id = a.before_it AND g.generation_id = a.generation_id
WHERE a.before_it <> a.member_id AND g.member_id IS NULL
""",
    ),
    RowRule(
        "one_classic_rebalance_at_once",
        "A classic group has one rebalance at a time.",
        _overlaps(_OF_KNOWN_END, "group_id", "started_at", "ended_at", "from_generation_id")
        + f"AND {CLASSIC} AND {ONE_TYPE} AND started_at > before_from AND ended_at IS NOT NULL",
    ),
    RowRule(
        "conversion_ends_rebalances",
        "A rebalance ends when its group's type changes.",
        # A downgrade begins a rebalance itself, from its generation; another input's time of that may be earlier.
        """--sql
SELECT r.group_id, r.from_generation_id, r.to_generation_id, r.started_at, r.ended_at, e.at AS changed_at
FROM rebalances r JOIN effects e ON e.group_id = r.group_id
WHERE e.effect = 'group_type_changed' AND get_json_object(e.detail, '$.from_type') IS NOT NULL
  AND r.started_at < e.at AND (r.ended_at > e.at OR (r.ended_at IS NULL AND r.outcome IS NULL))
  AND NOT (get_json_object(e.detail, '$.to_type') = 'classic'
           AND r.from_generation_id >= CAST(get_json_object(e.detail, '$.generation_id') AS INT))
""",
    ),
    RowRule(
        "no_members_when_empty",
        "A group in Empty or Dead has no members.",
        "SELECT * FROM groups WHERE state IN ('Empty', 'Dead') AND member_count > 0",
    ),
    RowRule(
        "members_are_counted",
        "A group has as many members as it counts.",
        """--sql
SELECT g.group_id, g.member_count, count(m.member_id) AS found
FROM groups g LEFT JOIN members m ON m.group_id = g.group_id
GROUP BY g.group_id, g.member_count
HAVING g.member_count <> count(m.member_id)
""",
    ),
    RowRule(
        "members_have_a_membership",
        "A member of now has a membership that has not ended.",
        "SELECT group_id, member_id FROM members "
        "LEFT ANTI JOIN (SELECT * FROM sessions WHERE ended_at IS NULL) USING (group_id, member_id)",
    ),
    RowRule(
        "memberships_have_a_member",
        "A membership that has not ended is of a member of now.",
        "SELECT group_id, member_id, joined_at FROM sessions "
        "LEFT ANTI JOIN members USING (group_id, member_id) WHERE ended_at IS NULL",
    ),
    RowRule(
        "owners_are_members",
        "Who owns a partition is a member.",
        "SELECT group_id, topic, partition, member_id, from_at FROM assignments "
        f"JOIN {BEGUN} USING (group_id) LEFT ANTI JOIN members USING (group_id, member_id) "
        "WHERE to_at IS NULL AND from_at >= begun_at",
    ),
    RowRule(
        "one_row_an_epoch",
        "One rebalance leads to a generation or epoch, until the group is begun anew.",
        """--sql
SELECT r.* FROM (
  SELECT group_id, from_generation_id, to_generation_id, started_at, ended_at,
    lag(to_generation_id) OVER in_order AS before_it,
    lag(ended_at) OVER in_order AS before_at
  FROM rebalances
  WHERE outcome = 'completed' AND to_generation_id IS NOT NULL
  WINDOW in_order AS (PARTITION BY group_id ORDER BY coalesce(started_at, ended_at), to_generation_id)
) r
LEFT JOIN (
  SELECT DISTINCT group_id, at FROM effects WHERE effect IN ('group_created', 'group_removed')
    OR (effect = 'group_type_changed' AND get_json_object(detail, '$.why') = 'replaced')
) g
  ON g.group_id = r.group_id AND g.at >= r.before_at AND g.at <= coalesce(r.started_at, r.ended_at)
WHERE r.before_it = r.to_generation_id AND r.from_generation_id > 0 AND g.group_id IS NULL
""",
    ),
    RowRule(
        "rebalances_end",
        "A rebalance under way does not outlast twice the longest rebalance timeout.",
        # While no coordinator has the group its timers stand still, and begin anew when one has loaded it.
        f"""--sql
SELECT r.group_id, r.from_generation_id, r.started_at, s.timeout_ms, e.latest_at
FROM rebalances r
JOIN (SELECT group_id, max(rebalance_timeout_ms) AS timeout_ms FROM sessions GROUP BY group_id) s
  ON s.group_id = r.group_id
JOIN {LATEST} e ON e.group_id = r.group_id
LEFT JOIN (
  SELECT group_id, max(at) AS loaded_at
  FROM effects
  WHERE effect = 'group_observed' AND get_json_object(detail, '$.is_loaded') = 'true'
  GROUP BY group_id
) l ON l.group_id = r.group_id
WHERE r.ended_at IS NULL AND r.outcome IS NULL
  AND unix_millis(e.latest_at) - unix_millis(greatest(r.started_at, l.loaded_at)) > 2 * s.timeout_ms + 5000
""",
    ),
    RowRule(
        "holding_takes_time",
        "Nobody holds others up for less than nothing.",
        "SELECT * FROM join_waits WHERE held_others_ms < 0",
    ),
    RowRule(
        "certain_causes_are_one",
        "A cause that is certain is the only one.",
        "SELECT * FROM rebalances WHERE NOT is_inferred AND cause <> 'unknown' AND size(cause_candidates) > 1",
    ),
    RowRule(
        "generations_rise",
        "A completed rebalance leads to a later generation than it came from.",
        "SELECT * FROM rebalances WHERE outcome = 'completed' AND to_generation_id <= from_generation_id",
    ),
    RowRule(
        "owners_were_members",
        "A partition is given to a member, while it is one.",
        f"""--sql
SELECT a.group_id, a.topic, a.partition, a.member_id, a.from_at
FROM assignments a JOIN {BEGUN} b ON b.group_id = a.group_id LEFT JOIN (
    SELECT group_id, member_id, min(joined_at) AS since_at FROM sessions GROUP BY group_id, member_id
  ) s ON s.group_id = a.group_id AND s.member_id = a.member_id
WHERE a.from_at >= b.begun_at AND (s.since_at IS NULL OR (s.since_at > a.from_at AND a.{ONE_TYPE}))
""",
    ),
    RowRule(
        "members_add_up",
        "Members before, with those that joined and without those that went, are the members after.",
        f"""--sql
SELECT group_id, from_generation_id, to_generation_id, members_before, members_after, joined, left, expired, gone
FROM rebalances
WHERE outcome = 'completed' AND members_before IS NOT NULL AND members_after IS NOT NULL AND {CLASSIC} AND {ONE_TYPE}
  AND members_before + size(joined) - size(left) - size(expired) - size(gone) <> members_after
""",
    ),
    RowRule(
        "states_follow_kafka",
        "A group goes from the state that it was in to one that Kafka's table allows.",
        # A group that is converted comes out of a state of the other type; one that is observed, out of
        # any. A state that follows itself is the first that is known.
        # What is seen of a group, or found of it, may pass states over. So may the topic, which does not hold them all:
        # a group of the topic alone has no replies, and beside a log the topic's facts come after the log's.
        f"""--sql
SELECT group_id, at, group_type, known_state, from_state, to_state
FROM (
  SELECT *, concat(from_state, '>', to_state) AS move,
    from_state = to_state OR coalesce(before_it, '') IN ('group_type_changed', 'group_observed') AS may_be_any,
    max(of_type) OVER (PARTITION BY group_id, life) AS group_type,
    CASE
      WHEN seq >= {AFTER_THE_LOGS} OR seq_before >= {AFTER_THE_LOGS} THEN NULL
      WHEN group_id NOT IN (SELECT group_id FROM effects WHERE effect = 'reply') THEN NULL
      WHEN before_it = 'group_created' THEN 'Empty'
      WHEN before_it = 'state_changed' THEN state_before
    END AS known_state
  FROM (
    SELECT *, lag(effect) {_IN_ORDER} AS before_it, lag(to_state) {_IN_ORDER} AS state_before,
      lag(seq) {_IN_ORDER} AS seq_before,
      count(of_type) {_IN_ORDER} AS life
    FROM (
      SELECT group_id, at, seq, effect, get_json_object(detail, '$.from_state') AS from_state,
        get_json_object(detail, '$.to_state') AS to_state,
        CASE
          WHEN effect IN ('group_created', 'group_removed') THEN 'classic'
          ELSE coalesce(get_json_object(detail, '$.to_type'), get_json_object(detail, '$.group_type'))
        END AS of_type
      FROM effects
      WHERE effect IN ({_listed(TURNS)})
    )
  )
)
WHERE effect = 'state_changed' AND (
  from_state <> known_state
  OR (group_type = 'classic' AND NOT may_be_any AND move NOT IN ({_listed(CLASSIC_MOVES)}))
  OR (group_type = 'consumer' AND NOT may_be_any AND move NOT IN ({_listed(CONSUMER_MOVES)}))
)
""",
    ),
    RowRule(
        "committers_are_members",
        "Who commits in a generation is a member.",
        # Without a generation it is a simple consumer's or an administrator's. The topic does not say whose it is.
        f"""--sql
SELECT group_id, at, member_id, generation_id
FROM (
  SELECT *,
    count(CASE WHEN effect = 'member_joined' THEN 1 END) OVER (PARTITION BY group_id, member_id ORDER BY at, seq)
      - count(CASE WHEN effect = 'member_removed' THEN 1 END) OVER (PARTITION BY group_id, member_id ORDER BY at, seq)
      AS memberships
  FROM effects
  WHERE effect IN ('member_joined', 'member_removed', 'offsets_committed')
)
JOIN {BEGUN} USING (group_id)
WHERE at >= begun_at AND effect = 'offsets_committed' AND member_id <> '' AND generation_id >= 0 AND memberships < 1
  AND coalesce(get_json_object(detail, '$.is_inferred'), 'false') = 'false'
""",
    ),
)
