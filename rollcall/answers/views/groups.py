"""The view `groups`: every group that is known now, its state, its generation, and when something may fall due."""

from __future__ import annotations

from rollcall.answers.views.details import opened
from rollcall.answers.views.view import GROUP_ID, LIVES, Column, View
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import GroupFound, MemberIdGiven, StateChanged, TimerArmed

_MOVE = opened(
    "to_state generation_id protocol_type protocol_name leader_id",
    StateChanged,
    of="last.detail",
)

GROUPS = View(
    name="groups",
    row="a group now",
    rule=(
        "A group is known from group_created until group_removed; its state, generation, protocol and leader are those "
        "of its latest state_changed fact (none yet: Empty, generation 0). A leader that returned as a static member "
        "leads under its new id. A SyncGroup is awaited from every id that a generation was formed with, also from one "
        "whose place a static member took since."
    ),
    columns=(
        GROUP_ID,
        Column("group_type", "string", "classic or consumer (KIP-848)"),
        Column(
            "state",
            "string",
            "Empty, PreparingRebalance, CompletingRebalance, Stable or Dead; of a consumer group Empty, Assigning, "
            "Reconciling or Stable",
        ),
        Column("generation_id", "int", "the generation, 0 before the first"),
        Column("protocol_type", "string", "consumer, connect, ...; null before the first member"),
        Column("protocol_name", "string", "the protocol selected for this generation, such as an assignor's name"),
        Column("leader_id", "string", "the leader's member id, null while members are awaited or none is there"),
        Column("member_count", "bigint", "how many members"),
        Column("pending_member_count", "int", "how many ids were given out whose client has not come back yet"),
        Column(
            "next_deadline_at",
            "timestamp",
            "the earliest moment at which a session, an id given out, the join phase or the wait for SyncGroups may "
            "time out; the sweep of old offsets is not counted",
        ),
        Column("state_since", "timestamp", "when it came into this state"),
        Column("created_at", "timestamp", "when it became known"),
        Column(
            "found_at", "timestamp", "when the recording first showed this existing group; null: its creation is known"
        ),
        Column("updated_at", "timestamp", "when the latest fact about it happened"),
    ),
    sql=f"""--sql
WITH turns AS (
  SELECT group_id, effect, at_ms, struct(at_ms, seq, effect, detail) AS turn
  FROM effects
  WHERE effect IN ('group_created', 'group_found', 'group_removed', 'state_changed', 'timer_armed')
    OR effect = 'group_type_changed'
), moves AS (
  SELECT group_id,
    max(turn) FILTER (WHERE effect NOT IN ('timer_armed', 'group_found', 'group_type_changed')) AS last,
    max(turn) FILTER (WHERE effect IN ('group_found', 'group_type_changed')) AS kind,
    max(turn) FILTER (WHERE effect = 'timer_armed') AS timer,
    max(turn) FILTER (WHERE effect = 'group_created') AS created,
    max(at_ms) FILTER (WHERE effect = 'group_found') AS found_at_ms
  FROM turns
  GROUP BY group_id
), states AS (
  SELECT group_id, created.at_ms AS created_at_ms, created.seq AS created_seq, found_at_ms,
    last.at_ms AS state_since_ms,
    CASE WHEN created IS NULL OR kind > created THEN
      {opened("group_type to_type", GroupFound, GroupTypeChanged, of="kind.detail")}
    END AS type,
    {_MOVE} AS move,
    timer.at_ms + {opened("length_ms", TimerArmed, of="timer.detail")}.length_ms AS timer_due_ms
  FROM moves
  WHERE last.effect <> 'group_removed'
), lives AS ({LIVES}
), clients AS (
  SELECT group_id,
    max(last_fact_ms) AS updated_at_ms,
    count_if(is_member) AS member_count,
    min(CASE WHEN is_member AND waits_for IS NULL THEN session_from_ms + session_timeout_ms END) AS session_due_ms,
    min(coalesce(synced_generation_id, 0)) FILTER (
      WHERE is_in_generation AND (is_member OR replaced_by_member_id IS NOT NULL)
    ) AS synced_generation_id,
    collect_list(struct(member_id, group_instance_id, is_member)) FILTER (WHERE group_instance_id IS NOT NULL)
      AS statics,
    collect_list(struct(id_given.at_ms, id_given.seq, id_given.detail)) FILTER (
      WHERE id_given.effect = 'member_id_given'
    ) AS ids
  FROM (
    SELECT *, joined_at IS NOT NULL AND ended_at IS NULL AS is_member
    FROM lives
    LEFT JOIN sessions USING (group_id, member_id)
  )
  GROUP BY group_id
), known AS (
  SELECT *,
    coalesce(move.to_state, 'Empty') AS state,
    coalesce(move.generation_id, 0) AS generation_id,
    coalesce(type.to_type, type.group_type, 'classic') AS group_type,
    coalesce(synced_generation_id < move.generation_id, false)
      AND move.to_state IN ('CompletingRebalance', 'Stable') AS are_syncs_awaited,
    get(filter(statics, s -> s.member_id = move.leader_id), 0).group_instance_id AS leader_instance_id,
    transform(
      filter(ids, i -> created_at_ms IS NULL OR i.at_ms > created_at_ms
        OR (i.at_ms = created_at_ms AND i.seq > created_seq)),
      i -> i.at_ms + {opened("session_timeout_ms", MemberIdGiven, of="i.detail")}.session_timeout_ms
    ) AS pending_due_ms
  FROM states
  LEFT JOIN clients USING (group_id)
)
SELECT group_id, group_type, state, generation_id, move.protocol_type, move.protocol_name,
  CASE WHEN state IN ('CompletingRebalance', 'Stable') THEN coalesce(
    get(filter(statics, s -> s.is_member AND s.group_instance_id = leader_instance_id), 0).member_id,
    move.leader_id
  ) END AS leader_id,
  coalesce(member_count, 0) AS member_count,
  coalesce(array_size(pending_due_ms), 0) AS pending_member_count,
  timestamp_millis(least(
    session_due_ms,
    array_min(pending_due_ms),
    CASE WHEN state = 'PreparingRebalance' OR (are_syncs_awaited AND group_type = 'classic') THEN timer_due_ms END
  )) AS next_deadline_at,
  timestamp_millis(state_since_ms) AS state_since,
  timestamp_millis(created_at_ms) AS created_at,
  timestamp_millis(found_at_ms) AS found_at,
  timestamp_millis(updated_at_ms) AS updated_at
FROM known
""",
    of_consumers=(
        "`generation_id` is the group's epoch; there is no leader, no selected protocol and no id given out. The "
        "next deadline is the earliest session's end; a member that has partitions to give up may be fenced "
        "before. A group is of the type that it was created as or converted to last."
    ),
)
