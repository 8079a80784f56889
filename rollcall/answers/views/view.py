"""What a view is made of, and the pieces of SQL that several of them share.

Knows the columns of the effects table (`rollcall.schemas.tables.EFFECTS`) and what a fact's `detail` holds as JSON (the
shapes of `rollcall.schemas.effects`). Must not know Spark's session, a path, or how a result is shown.

Every view is one SELECT over `effects` and over other views. Facts of one group are in order of (at_ms, seq). Only rows
of the effects it needs are read, by `effect`, and JSON is opened last. A block of SQL begins with --sql, by which
editors recognise it. A query of one group reads only that group's files, as long as a filter on group_id reaches them:
through GROUP BY, window and join by group_id, `explode` in a SELECT, and a table of a WITH that is read once; not
through LATERAL VIEW, LEFT SEMI JOIN, or tables of a WITH that are read twice by one that is read twice itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from rollcall.answers.views.details import facts, opened
from rollcall.schemas.consumer_effects import TAKES_MEMBERS_OVER, GroupTypeChanged, MemberSubscribed
from rollcall.schemas.effects import (
    GroupCreated,
    GroupFound,
    GroupObserved,
    GroupRemoved,
    HeartbeatsTaken,
    JoinPhaseEnded,
    MemberJoined,
    MemberUpdated,
    StateChanged,
)
from rollcall.schemas.tables import Column

__all__ = ["Column", "Detector", "Severity", "View", "rank"]

Severity = Literal["info", "warning", "critical"]
"""How bad a kind of trouble is; info: it only explains what happened, and alarms are sent if asked for."""


def rank(severity: Severity) -> int:
    """The higher, the worse."""
    return get_args(Severity).index(severity)


@dataclass(frozen=True)
class Detector:
    """What the page needs to show what a view found as trouble."""

    name: str
    """One of them; `plural` more than one."""
    plural: str
    sentence: str
    """One row as a sentence. `{gap_ms}` is that column, as a duration for a name that ends in _ms, as its name for a
    cause; `{restarts:restart}` counts; `{is_upper_bound:at most }` says so where it is true; a part in brackets is left
    out where a column in it is null, and in `[part|other]` the other takes its place.
    """
    more_expected: str = ""
    """How further rows, `{n}` of them, are counted whose `expected_at` says that they are yet to come."""
    since: str = "from_at"
    """The column that says when it began."""
    until: str = "to_at"
    """The column that says when it ended; the page shows the group as it was then."""
    link: tuple[str, ...] = ()
    """Further columns that the address of the group takes."""
    worth_telling: str = "true"
    """The condition for a row worth showing; `worth_said` is its text."""
    worth_said: str = ""
    severity: Severity = "warning"
    worth_an_alarm: str = "true"
    """The condition, in DuckDB's SQL, for a row worth an alarm; an open trouble lasts until now."""
    is_news: str = "true"
    """The condition for a row that puts its group in trouble; without it an alarm is opened no more, but stays open."""
    rebalance: Literal["first", "latest"] | None = None
    """Which rebalance belongs to it: the one that ran when it began, or the latest of many; None: none need be."""


@dataclass(frozen=True)
class View:
    """A view: its name, what one row is, the rule it is made by, its columns in order, and its SELECT."""

    name: str
    row: str
    rule: str
    columns: tuple[Column, ...]
    sql: str
    of_consumers: str = ""
    """What a row means for a consumer group (KIP-848); empty: the same."""
    detector: Detector | None = None
    """Of a view that looks for trouble."""
    does_with_recent_commits: bool = False
    """Whether of all commits those suffice that `rollcall.tables.recent_commits` keeps."""
    does_without_ends: bool = False
    """Whether it has rows also where the ends of logs are not known, though it reads them."""
    is_joined_as_written: bool = False
    """Whether each join keeps its right side in memory, which DuckDB's estimates would not choose reliably."""


GROUP_ID = Column("group_id", "string", "the group")
OF_PARTITION = (GROUP_ID, Column("topic", "string", "the topic"), Column("partition", "int", "the partition"))
AT_DATE = Column("at_date", "date", "the day of the fact, UTC; the table's files are parted by it, so filter by it")


_TURNS = facts(
    "to_state generation_id", StateChanged, GroupCreated, GroupRemoved, columns="group_id, at_ms, seq, effect"
)
STATE_TIMES = f"""--sql
  SELECT group_id, max_by(to_state, struct(at_ms, seq)) AS state,
    max_by(generation_id, struct(at_ms, seq)) AS generation_id, timestamp_millis(min(at_ms)) AS from_at,
    CASE WHEN count(next_ms) = count(*) THEN timestamp_millis(max(next_ms)) END AS to_at,
    CASE WHEN count(next_ms) = count(*) THEN max(next_ms) - min(at_ms) END AS duration_ms
  FROM (
    SELECT *, count_if(earlier IS NULL OR earlier <> phase) OVER (
        PARTITION BY group_id ORDER BY at_ms, seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) AS place
    FROM (
      SELECT *, lag(phase) OVER so_far AS earlier, lead(at_ms) OVER so_far AS next_ms
      FROM (
        SELECT group_id, at_ms, seq, said.to_state, said.generation_id, CASE
            WHEN effect <> 'state_changed' THEN effect
            WHEN said.to_state = 'CompletingRebalance' THEN 'PreparingRebalance'
            ELSE said.to_state
          END AS phase
        FROM {_TURNS}
      )
      WINDOW so_far AS (PARTITION BY group_id ORDER BY at_ms, seq)
    )
  )
  WHERE to_state IS NOT NULL
  GROUP BY group_id, place
"""
"""One row is a time in which a group was in one state, both states of a classic rebalance as one; its state and
generation are the latest."""


IS_SIGN_OF_LIFE = """--sql
      effect = 'member_joined'
      OR (effect = 'reply' AND api = 'Heartbeat' AND error_code IN ('NONE', 'REBALANCE_IN_PROGRESS'))
      OR (effect = 'reply' AND api = 'ConsumerGroupHeartbeat' AND error_code = 'NONE' AND generation_id >= 0)
      OR (effect = 'offsets_committed' AND generation_id >= 0 AND length(member_id) > 36)
      OR (effect = 'reply' AND api = 'OffsetCommit' AND error_code = 'OFFSET_METADATA_TOO_LARGE' AND generation_id >= 0)
"""
"""Whether a fact shows a request that restarted its member's session timer at this moment.

A commit does so only for members of the classic protocol. Their ids end in a UUID of 36 characters after a name; those
of the newer protocol are shorter.
"""

IS_EXPIRY = "(effect = 'member_removed' AND cause = 'session_expired')"
"""Whether a member's session ended."""
IS_ANSWER = """
      effect = 'reply' AND api IN ('JoinGroup', 'SyncGroup') AND error_code IN ('NONE', 'REBALANCE_IN_PROGRESS')"""
"""Whether a fact is the answer to an accepted JoinGroup or SyncGroup, parked before or not."""

FORMED_MEMBERS = f"explode({opened('member_ids', JoinPhaseEnded)}.member_ids) AS member_id"
"""Who is in a generation, of the detail of its join_phase_ended: Kafka restarts the session of each of them then, also
of a static member that it awaited no longer and answers nothing."""

BEATS = f"""--sql
  SELECT group_id, at_ms, seq, generation_id, run_id, place, one.member_id, one.client_id, one.api_version, from_ms,
    explode(one.beats) AS beat
  FROM (
    SELECT group_id, at_ms, seq, generation_id, request_id AS run_id, said.from_ms,
      posexplode(said.taken) AS (place, one)
    FROM {facts("from_ms taken", HeartbeatsTaken, columns="group_id, at_ms, seq, generation_id, request_id")}
  )
"""
"""One row is a heartbeat that was taken in a run, from_ms + beat the moment when it arrived. Its seq is the run's."""

BEGUN_ANEW = f"""--sql
  SELECT group_id, members.member_id, at_ms, CASE WHEN said.is_loaded THEN 'loaded' ELSE 'anew' END AS effect
  FROM {facts("is_loaded member_ids why", GroupObserved, GroupTypeChanged, columns="group_id, at_ms, effect")}
  JOIN (
    SELECT DISTINCT group_id, member_id FROM effects WHERE effect = 'member_joined'
  ) AS members USING (group_id)
  WHERE coalesce(said.is_loaded, false) OR array_contains(said.member_ids, members.member_id)
    OR (effect = 'group_type_changed' AND said.why IN {TAKES_MEMBERS_OVER})
"""
"""One row is a session that begins anew without a request of its member, or of one that was not yet or no longer a
member: a coordinator has loaded the group, the group is of the other type now, or a recording shows that the member
lives though by what is known its session had ended."""

AT_ONCE = f"""--sql
  SELECT group_id, member_id, at_ms, seq, effect
  FROM (
    SELECT group_id, member_id, at_ms, seq, effect
    FROM effects
    WHERE {IS_ANSWER} AND error_code = 'NONE' AND at_ms = received_at_ms
  )
  JOIN (
    SELECT group_id, at_ms AS from_ms, coalesce(said.to_type, said.group_type) AS group_type,
      lead(at_ms) OVER (PARTITION BY group_id ORDER BY at_ms, seq) AS until_ms
    FROM {facts("to_type group_type", GroupTypeChanged, GroupFound)}
  ) AS eras USING (group_id)
  WHERE group_type = 'consumer' AND at_ms >= from_ms AND (until_ms IS NULL OR at_ms < until_ms)
"""
"""One row is a JoinGroup or SyncGroup of a classic member that a consumer group took: it parks none, and each restarts
the session."""

LIVES = f"""--sql
  SELECT group_id, member_id, last_fact_ms, id_given, waits_for, synced_generation_id,
    formed_ms IS NOT NULL AS is_in_generation,
    CASE WHEN is_heard THEN greatest(beat_ms, asked_ms) END AS last_seen_ms,
    CASE WHEN is_heard THEN greatest(beat_ms, released_ms, formed_ms) END AS session_from_ms
  FROM (
    SELECT group_id, member_id, max(last_fact_ms) AS last_fact_ms, max(beat_ms) AS beat_ms, max(is_heard) AS is_heard
    FROM (
      SELECT group_id, member_id, max(at_ms) AS last_fact_ms, max(at_ms) FILTER (WHERE {IS_SIGN_OF_LIFE}) AS beat_ms,
        count_if(effect IN ('reply', 'request_parked')) > 0 AS is_heard
      FROM effects
      GROUP BY group_id, member_id
      UNION ALL
      SELECT group_id, member_id, max(from_ms + beat) AS last_fact_ms, max(from_ms + beat) AS beat_ms, true AS is_heard
      FROM ({BEATS})
      GROUP BY group_id, member_id
    )
    GROUP BY group_id, member_id
  )
  LEFT JOIN (
    SELECT group_id, member_id,
      max(api) FILTER (WHERE is_waiting) AS waits_for,
      max(coalesce(parked_ms, answered_ms)) AS asked_ms,
      max(answered_ms) FILTER (WHERE parked_ms IS NOT NULL) AS released_ms,
      max(synced_generation_id) AS synced_generation_id,
      max(id_given) AS id_given
    FROM (
      SELECT group_id, member_id, max(api) AS api,
        min(at_ms) FILTER (WHERE effect = 'request_parked') AS parked_ms,
        max(at_ms) FILTER (WHERE {IS_ANSWER}) AS answered_ms,
        count_if(effect = 'request_parked') > 0 AND count_if(effect IN ('reply', 'request_dropped')) = 0 AS is_waiting,
        max(generation_id) FILTER (WHERE effect = 'sync_received') AS synced_generation_id,
        max(struct(at_ms, seq, effect, detail)) FILTER (
          WHERE effect IN ('member_id_given', 'pending_member_removed', 'member_joined')
        ) AS id_given
      FROM effects
      WHERE effect IN ('request_parked', 'request_dropped', 'sync_received')
        OR effect IN ('member_id_given', 'pending_member_removed', 'member_joined')
        OR (effect = 'reply' AND api IN ('JoinGroup', 'SyncGroup'))
      GROUP BY group_id, member_id, request_id
    )
    GROUP BY group_id, member_id
  ) USING (group_id, member_id)
  LEFT JOIN (
    SELECT group_id, formed_ms, {FORMED_MEMBERS}
    FROM (
      SELECT group_id, max(at_ms) AS formed_ms, max_by(detail, struct(at_ms, seq)) AS detail
      FROM effects
      WHERE effect = 'join_phase_ended'
      GROUP BY group_id
    )
  ) USING (group_id, member_id)
"""
"""One row per member id in the facts of a group, and one with null for facts without one: the latest fact, the last
accepted request, the start of the running session (restarted by every accepted Heartbeat and OffsetCommit, by the
answer to a parked request, and by every generation with the member), what it waits for, the latest generation that it
sent a SyncGroup for, whether the latest generation was formed with it, and the outcome of an id that it was given. If
no request of it is known, as from the offsets topic alone, the times of requests are null."""

_EARLIER_SESSIONS = f"""--sql
  SELECT group_id, member_id, CASE WHEN effect = 'member_joined' THEN said_ms - 1 ELSE said_ms END AS after_ms,
    until_ms,
    CASE WHEN said.session_timeout_ms >= 0 THEN said.session_timeout_ms END AS session_timeout_ms
  FROM (
    SELECT group_id, member_id, effect, at_ms AS said_ms,
      {opened("session_timeout_ms", MemberJoined, MemberUpdated)} AS said,
      lead(at_ms) OVER member AS until_ms, lead(effect) OVER member AS effect_after
    FROM effects
    WHERE effect IN ('member_joined', 'member_updated')
    WINDOW member AS (PARTITION BY group_id, member_id ORDER BY at_ms, seq)
  )
  WHERE effect_after = 'member_updated' AND until_ms > said_ms
"""
"""One row is a session timeout that a member had after after_ms and changed at until_ms, null: not known.
A silence that ended after after_ms and not later than until_ms was held to it: a request that changes it ends a silence
itself, and a change within a silence corrects what was inferred."""

IN_ORDER = "started_at, from_generation_id, ended_at NULLS LAST, cause, cause_member_id"
"""The order of a group's rebalances, those of one millisecond included: nothing is left to chance."""

GAPS = f"""--sql
signs AS (
  SELECT group_id, member_id, at_ms, seq, effect,
    NOT ({IS_ANSWER}) AND (effect <> 'member_removed' OR cause = 'session_expired') AS is_request,
    {IS_EXPIRY} AS is_expiry,
    effect = 'reply' OR (effect = 'offsets_committed' AND generation_id >= 0) AS is_action,
    CASE WHEN effect IN ('member_joined', 'member_removed') OR {IS_ANSWER} THEN false END AS is_owed
  FROM effects
  WHERE {IS_SIGN_OF_LIFE} OR ({IS_ANSWER} AND at_ms > received_at_ms) OR effect = 'member_removed'
  UNION ALL
  SELECT group_id, member_id, at_ms, seq, effect, true AS is_request, false AS is_expiry, true AS is_action,
    coalesce(answered_seq < seq, true) AS is_owed
  FROM (
    SELECT *,
      max(CASE WHEN {IS_ANSWER} THEN seq END) OVER (PARTITION BY group_id, member_id, api, at_ms) AS answered_seq
    FROM effects
    WHERE {IS_ANSWER} OR effect = 'request_parked'
  )
  WHERE effect = 'request_parked'
  UNION ALL
  SELECT group_id, {FORMED_MEMBERS}, at_ms, seq, effect, false AS is_request, false AS is_expiry, false AS is_action,
    false AS is_owed
  FROM effects
  WHERE effect = 'join_phase_ended'
  UNION ALL
  SELECT group_id, member_id, from_ms + beat AS at_ms, seq, 'heartbeats_taken' AS effect, true AS is_request,
    false AS is_expiry, true AS is_action, NULL AS is_owed
  FROM ({BEATS})
  UNION ALL
  SELECT group_id, member_id, at_ms, -1 AS seq, effect, false AS is_request, false AS is_expiry, false AS is_action,
    false AS is_owed
  FROM ({BEGUN_ANEW})
  UNION ALL
  SELECT group_id, member_id, at_ms, seq, effect, true AS is_request, false AS is_expiry, true AS is_action,
    NULL AS is_owed
  FROM ({AT_ONCE})
), silences AS (
  SELECT group_id, member_id, effect, is_request, is_expiry, at_ms AS to_ms,
    lag(at_ms) OVER in_order AS from_ms,
    lag(effect) OVER in_order AS effect_before,
    max(CASE WHEN effect = 'member_joined' THEN at_ms END) OVER in_order AS joined_ms,
    max(is_action) OVER (PARTITION BY group_id, member_id) AS is_heard,
    last_value(is_owed) IGNORE NULLS OVER (
      PARTITION BY group_id, member_id ORDER BY at_ms, seq, is_request, is_expiry
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS was_owed
  FROM signs
  WINDOW in_order AS (PARTITION BY group_id, member_id ORDER BY at_ms, seq, is_request, is_expiry)
), gaps AS (
  SELECT sessions.*, to_ms - from_ms AS gap_ms, from_ms, to_ms, is_expiry,
    CASE WHEN until_ms IS NULL THEN sessions.session_timeout_ms ELSE earlier.session_timeout_ms END AS then_ms
  FROM silences
  JOIN sessions ON sessions.group_id = silences.group_id AND sessions.member_id = silences.member_id
    AND joined_at = timestamp_millis(joined_ms)
  LEFT JOIN ({_EARLIER_SESSIONS}) AS earlier
    ON earlier.group_id = silences.group_id AND earlier.member_id = silences.member_id
      AND to_ms > after_ms AND to_ms <= until_ms
  LEFT JOIN (
    SELECT DISTINCT group_id, member_id, true AS is_classic
    FROM {facts("member_type", MemberSubscribed, columns="group_id, member_id")} WHERE said.member_type = 'classic'
  ) AS mixed ON mixed.group_id = silences.group_id AND mixed.member_id = silences.member_id
  WHERE is_request AND is_heard AND effect <> 'member_joined' AND effect_before <> 'member_removed'
    AND (is_expiry OR NOT coalesce(was_owed, false)) AND (effect_before <> 'loaded' OR is_classic IS NULL)
)"""
"""Three tables of a WITH: signs, silences and gaps. One row of silences is the time between two facts that restart,
hold or end a member's session timer, of the membership that began at joined_ms. It is a gap where the later one is a
request or the expiry, and requests of the member are known at all. A member's absence is none, nor is the time for
which it is owed an answer, whatever it asks meanwhile, unless its session ends in it: only that of a new member can.
Nor is what a classic member of a consumer group lets pass after its group was loaded: until its next request it has the
group's session timeout, not its own.
One row of gaps is a gap with its membership, as in sessions, and then_ms, the session timeout that it was held to."""
