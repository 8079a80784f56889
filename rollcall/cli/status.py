"""`rollcall status`: the homes of a folder, who works in each, when its latest fact was, which groups are in trouble.

Knows how it is asked and printed. Must not know what a trouble is (`rollcall.serve.page.lists`) or when a job is alive
(`rollcall.serve.page.live`).
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from rollcall.history.words import duration, moment
from rollcall.programs.visible import visible, visible_json
from rollcall.schemas.tables import EFFECTS
from rollcall.serve.page.history import History
from rollcall.serve.page.lists import in_trouble, overview
from rollcall.serve.page.live import liveness_of
from rollcall.tables.home import NOTE, Home, HomeError
from rollcall.tables.versions import is_table


def homes_in(folder: Path) -> list[Home]:
    """Return the homes in a folder by name, hidden ones included."""
    return [home for note in sorted(folder.glob(f"*/{NOTE}")) if "kind" in (home := Home(note.parent)).read_note()]


def status_of(home: Home) -> dict[str, Any]:
    """home, kind, worker (null: nobody), batch_at_ms, seen_at_ms and reason of its job, fact_at_ms, groups, in_trouble,
    troubles.

    Times are ms since the epoch; null: it is not known. Raises HomeError: there is no home, or it cannot be read.
    """
    note = home.read_note()
    if not note:
        raise HomeError(f"{home.shown} is not a home: it has no {NOTE}.")
    found: dict[str, Any] = {"home": home.shown, "kind": note.get("kind"), "worker": home.worker() or None}
    history = History(home.path)
    try:
        liveness = liveness_of(history)
        job = liveness.job
        found |= {"batch_at_ms": job.batch_at_ms or job.started_at_ms, "seen_at_ms": liveness.last_at_ms}
        found |= {"reason": job.reason, "fact_at_ms": None, "groups": 0}
        if not is_table(home.path / EFFECTS.name):
            return {**found, "in_trouble": [], "troubles": "It has no facts yet."}
        history.refresh()
        history.make_lists()
        span = history.span_ms()
        now_ms = int(time.time() * 1000) if found["worker"] or span is None else span[1]
        rows = overview(history, now_ms, None, None)
        found |= {"fact_at_ms": None if span is None else span[1], "groups": len(rows)}
        harmed = [row["group_id"] for row in rows if row["harm"]]
        return {**found, "in_trouble": harmed, "troubles": in_trouble(history, rows, is_live=bool(found["worker"]))}
    finally:
        history.close()


def answer_status(homes: list[Home], form: str) -> None:
    """Print a paragraph or a line of JSON for each home. Raises HomeError."""
    if not homes and form != "json":
        print("rollcall: no home was found here; `rollcall status FOLDER` looks elsewhere.")
    for home in homes:
        found = status_of(home)
        print(visible_json(json.dumps(found)) if form == "json" else "\n".join(map(visible, _lines(found))))


def _lines(found: dict[str, Any]) -> list[str]:
    now_ms = int(time.time() * 1000)
    if found["worker"] is None:
        work = "no job is running"
    elif found["seen_at_ms"] is None:
        work = f"{found['worker']} is running"
    else:
        work = f"{found['worker']} is running; last seen {duration(now_ms - found['seen_at_ms'])} ago"
    lines = [f"{found['home']}: {found['kind']} history, {work}"]
    if found["reason"]:
        lines.append(f"  its job failed: {found['reason']}")
    if found["fact_at_ms"] is not None:
        lines.append(f"  latest fact: {moment(found['fact_at_ms'])} UTC")
    return [*lines, f"  {found['troubles']}"]
