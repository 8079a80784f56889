"""A home that grows in virtual time, watched for alarms as it does. Must not know which alarms are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from rollcall.schemas.effect_rows import EffectRow
from rollcall.serve.alerts.alarm import Alarm, read_kept
from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.alerts.watching import Alarms
from rollcall.serve.page.history import History
from tests.alerts.homes import works
from tests.views.story import write_effects

STEP_MS = 60_000


def alarms_in(
    home: Path, facts: Mapping[str, Sequence[EffectRow]], *, afterwards_ms: int = 0, step_ms: int = STEP_MS
) -> list[Alarm]:
    """The alarms that are opened if the home is looked at every step_ms, until afterwards_ms after the last fact."""
    times = [row.at_ms or 0 for rows in facts.values() for row in rows]
    from_ms, last_ms = min(times), max(times)
    write_effects(home, {})
    history = History(home)
    with closing(history), closing(Alarms(home, AlertSettings(), [], history)) as alarms:
        opened: dict[str, Alarm] = {}
        for now_ms in range(from_ms + step_ms, last_ms + afterwards_ms + step_ms, step_ms):
            new = {
                group_id: [row for row in rows if now_ms - step_ms <= (row.at_ms or 0) < now_ms]
                for group_id, rows in facts.items()
            }
            write_effects(home, {group_id: rows for group_id, rows in new.items() if rows})
            works(home, now_ms)
            for kept in history._kept:
                kept.rests_until = 0.0
            history.refresh()
            if not history.is_ready:
                history.make_lists()
            alarms.look(now_ms)
            opened |= {alarm.id: alarm for alarm in read_kept(home).open.values()}
    return list(opened.values())
