"""When a group was recorded at all, for the detectors that infer something from what did not happen.

Knows only the effects table. Must not know what is inferred.
"""

from __future__ import annotations

from rollcall.answers.views.details import opened
from rollcall.answers.views.view import IS_EXPIRY
from rollcall.schemas.effects import HeartbeatsTaken, MemberJoined

UNRECORDED_MS = 10_000
FOREVER_MS = 253_402_300_799_000
"""The last second of the year 9999."""

RULE = (
    "A time does not count in which nothing of a group with members was recorded, though their heartbeats are: more "
    f"than half of their longest session, and more than {UNRECORDED_MS // 1000} s."
)

_IS_BEAT = "(effect = 'heartbeats_taken' OR (effect = 'reply' AND api IN ('Heartbeat', 'ConsumerGroupHeartbeat')))"
_MOMENTS = """--sql
      CASE WHEN run IS NULL THEN array(at_ms)
        ELSE flatten(array(array(at_ms), flatten(transform(run.taken, one -> transform(one.beats,
          beat -> run.from_ms + beat))))) END"""
"""When something of a group was recorded by a fact: a run of heartbeats tells of each of them."""


def _recorded(effects: str) -> str:
    """Tables of a WITH; the last, `recorded`, has the times in which a group was recorded.

    Its columns: group_id, recorded_from_ms, recorded_to_ms, is_latest, expires_next (a session's expiry is what is
    known next). Between them a request was due, and none is known. Facts of one UNRECORDED_MS are taken together, since
    no such time is that short.
    """
    return f"""--sql
facts AS (
  SELECT group_id, min(at_ms) AS first_ms, max(at_ms) AS last_ms, sum(change) AS change, max(is_beat) AS is_beat,
    min(CASE WHEN is_expiry THEN at_ms END) AS expiry_ms, max(session_ms) AS session_ms
  FROM (
    SELECT group_id, explode({_MOMENTS}) AS at_ms,
      CASE effect WHEN 'member_joined' THEN 1 WHEN 'member_removed' THEN -1 ELSE 0 END AS change,
      {_IS_BEAT} AS is_beat,
      {IS_EXPIRY} AS is_expiry,
      CASE WHEN effect IN ('member_joined', 'member_updated')
        THEN {opened("session_timeout_ms", MemberJoined)}.session_timeout_ms END AS session_ms
    FROM (
      SELECT *, CASE WHEN effect = 'heartbeats_taken'
        THEN {opened("from_ms taken(beats)", HeartbeatsTaken)} END AS run
      FROM {effects}
    )
  )
  GROUP BY group_id, at_ms div {UNRECORDED_MS}
), expected AS (
  SELECT group_id, first_ms, last_ms, lead(first_ms) OVER in_order AS next_ms,
    lead(expiry_ms = first_ms) OVER in_order AS expires_next,
    CASE WHEN max(is_beat) OVER (PARTITION BY group_id)
      AND sum(change) OVER in_order > 0
      AND max(session_ms) OVER (PARTITION BY group_id) > 0
      THEN greatest(max(session_ms) OVER (PARTITION BY group_id) div 2, {UNRECORDED_MS}) END AS within_ms
  FROM facts
  WINDOW in_order AS (PARTITION BY group_id ORDER BY first_ms)
), pieces AS (
  SELECT *, count_if(is_first) OVER (PARTITION BY group_id ORDER BY first_ms) AS piece
  FROM (
    SELECT *,
      coalesce(lag(next_ms - last_ms > within_ms) OVER (PARTITION BY group_id ORDER BY first_ms), false) AS is_first
    FROM expected
  )
), recorded AS (
  SELECT group_id, CASE WHEN piece = 0 THEN 0 ELSE min(first_ms) END AS recorded_from_ms,
    CASE WHEN count(next_ms) = count(*) THEN max(last_ms)
      ELSE coalesce(max(last_ms) + max_by(within_ms, last_ms), {FOREVER_MS}) END AS recorded_to_ms,
    count(next_ms) < count(*) AS is_latest,
    coalesce(max(struct(last_ms, expires_next)).expires_next, false) AS expires_next
  FROM pieces
  GROUP BY group_id, piece
)"""


RECORDED = _recorded("effects")

COMMITS_RULE = (
    "Commits may be missing where nothing of a group with members was recorded, though their heartbeats are: for more "
    f"than half of their longest session, and more than {UNRECORDED_MS // 1000} s. It is no such time if a session "
    "expired at its end: then the members were silent."
)


def _unrecorded(effects: str) -> str:
    """Tables of a WITH; the last, `unrecorded`, has the moments from which on commits of a group may be missing.

    Its columns: group_id, unrecorded (a list).
    """
    return f"""--sql
{_recorded(effects)}, unrecorded AS (
  SELECT group_id, collect_list(recorded_to_ms + 1) AS unrecorded
  FROM recorded
  WHERE recorded_to_ms < {FOREVER_MS} AND NOT expires_next
  GROUP BY group_id
)"""


UNRECORDED = _unrecorded("effects")


def unrecorded_between(asked: str) -> str:
    """As UNRECORDED, but only at the moments that matter, without the history of all heartbeats.

    asked: a table with group_id, from_ms and until_ms, where from_ms is the moment of a fact. Moments up to from_ms are
    other ones, or missing. Heartbeats are read only of groups without a fact for so long that one may be missing.
    The WITH has a table `members_said` with group_id and session_timeout_ms: each that a member ever had.
    """
    return f"""--sql
silent AS (
  SELECT group_id, from_ms
  FROM (
    SELECT group_id, from_ms,
      coalesce(lead(at_ms) OVER (PARTITION BY group_id ORDER BY at_ms), until_ms) - at_ms AS silent_ms
    FROM (SELECT group_id, at_ms FROM effects)
    JOIN ({asked}) USING (group_id)
    WHERE at_ms >= from_ms
  )
  JOIN (
    SELECT group_id, max(session_timeout_ms) AS session_ms
    FROM members_said
    GROUP BY group_id
  ) USING (group_id)
  WHERE silent_ms > greatest(session_ms div 2, {UNRECORDED_MS})
  GROUP BY group_id, from_ms
), beaten AS (
  SELECT group_id, from_ms, max(at_ms) AS beat_ms
  FROM (
    SELECT group_id, at_ms
    FROM effects
    WHERE {_IS_BEAT}
  )
  JOIN silent USING (group_id)
  GROUP BY group_id, from_ms
), of_silent AS (
  SELECT effects.*
  FROM effects
  JOIN beaten ON effects.group_id = beaten.group_id
  WHERE effects.at_ms >= from_ms OR effects.at_ms = beat_ms
    OR effect IN ('member_joined', 'member_updated', 'member_removed')
), {_unrecorded("of_silent")}"""
