"""An explanation as a page on a terminal, in the order in which somebody on call needs it.

Knows the page alone. Must not know where the explanation came from.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from jobs.shown.terminal import say
from programs.visible import visible
from why.explanation import Explanation
from why.parts import Part
from why.rows import gained_and_lost, moves_together
from why.telling import following, headline, held, remarks, since_beginning, stopped, timeline, title, trigger
from why.words import clock, duration, some

SHOWN_MEMBERS = 20
SHOWN_SLACK = 5
SHOWN_MOVES = 30


def show_page(e: Explanation, console: Console) -> None:
    """Prints all of it."""
    say(console, title(e), style="bold")
    console.print()
    say(console, headline(e))
    for remark in remarks(e):
        say(console, remark)
    _section(console, "who and why")
    for about, text in trigger(e):
        say(console, f"  {about:<14}{text}")
    _section(console, "timeline (UTC)")
    for at_ms, text in timeline(e):
        say(console, f"  {clock(at_ms)}  {since_beginning(e, at_ms):>12}  {text}")
    if e.are_requests_known:
        _show_members(e, console)
        _section(console, "who kept the others waiting")
        _bullets(console, [f"{name}: {duration(ms)}; {why}" for name, ms, why in held(e)], "nobody")
    _show_moves(e, console)
    _section(console, f"how long {e.terms.nobody}")
    _bullets(console, stopped(e))
    if e.are_requests_known:
        _show_slack(e, console)
    next_one = following(e)
    if next_one is not None:
        console.print()
        say(console, next_one)


def _section(console: Console, name: str) -> None:
    console.print()
    say(console, name.upper(), style="bold")


def _bullets(console: Console, texts: Sequence[str], if_none: str = "") -> None:
    for text in texts or [if_none]:
        say(console, f"  {text}")


def _show_members(e: Explanation, console: Console) -> None:
    if e.is_consumer_group:
        return _show_consumers(e, console)
    _section(console, "members (told, rejoined, back at work: after the beginning; synced: after the join phase)")
    began_ms = e.rebalance.started_at_ms
    slowest_first = sorted(e.parts, key=lambda part: -_slowness(part))
    rows = [("member", "host", "told", "rejoined", "synced", "back at work", "held the others")]
    for part in slowest_first[:SHOWN_MEMBERS]:
        rejoined = _after(part.joined_at_ms, began_ms) if part.joined_at_ms else part.end_cause or "not yet"
        steps = (_after(part.told_at_ms, began_ms), rejoined, _after(part.synced_at_ms, e.join_phase_ended_ms))
        back, held_ms = _after(part.back_at_ms, began_ms), duration(part.held_others_ms) if part.held_others_ms else "-"
        rows.append((f"{part.name}{' (new)' if part.is_new else ''}", part.host, *steps, back, held_ms))
    _bullets(console, _aligned(rows))
    if len(e.parts) > SHOWN_MEMBERS:
        rest = slowest_first[SHOWN_MEMBERS:]
        latest_ms = max(part.joined_at_ms or began_ms for part in rest) - began_ms
        say(console, f"  and {len(rest)} more, all in within {duration(latest_ms)}; FORMAT=json tells of each")
    return None


def _show_consumers(e: Explanation, console: Console) -> None:
    _section(console, "members (had let go of what the epoch took, had all that it gives: after the beginning)")
    began_ms = e.rebalance.started_at_ms
    slowest_first = sorted(e.parts, key=lambda part: (part.synced_at_ms is not None, -(part.synced_at_ms or 0)))
    rows = [("member", "host", "let go", "settled", "held the others")]
    for part in slowest_first[:SHOWN_MEMBERS]:
        settled = _after(part.synced_at_ms, began_ms) if part.synced_at_ms else part.end_cause or "not by its end"
        held_ms = duration(part.held_others_ms) if part.held_others_ms else "-"
        name = f"{part.name}{' (new)' if part.is_new else ''}"
        rows.append((name, part.host, _after(part.joined_at_ms, began_ms), settled, held_ms))
    _bullets(console, _aligned(rows))
    if len(e.parts) > SHOWN_MEMBERS:
        say(console, f"  and {len(e.parts) - SHOWN_MEMBERS} more; FORMAT=json tells of each")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, their first two columns to the left and the others to the right, never cut."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "   ".join(cell.ljust(width) if place < 2 else cell.rjust(width) for place, (cell, width) in enumerate(cells))
        for cells in (list(zip(row, widths, strict=True)) for row in shown)
    ]


def _slowness(part: Part) -> float:
    """When it came; those that never did are the slowest."""
    return float("inf") if part.joined_at_ms is None else part.joined_at_ms


def _after(at_ms: int | None, since_ms: int | None) -> str:
    return "-" if at_ms is None or since_ms is None else duration(at_ms - since_ms)


def _show_moves(e: Explanation, console: Console) -> None:
    _section(console, "what moved")
    lines = [f"{those}: {text}" for those, text in moves_together(e.moves)]
    _bullets(console, lines[:SHOWN_MOVES], "nothing")
    if len(lines) > SHOWN_MOVES:
        say(console, f"  and {len(lines) - SHOWN_MOVES} more lines; FORMAT=json tells of each partition")
    if e.moves:
        told = (f"{name} +{len(got)} -{len(lost)}" for name, (got, lost) in sorted(gained_and_lost(e).items()))
        say(console, f"  gained and lost: {some(told, SHOWN_MEMBERS)}")
    if e.kept_count:
        where = "where it was" if e.kept_count == 1 else "where they were"
        say(console, f"  {e.terms.count(e.kept_count)} stayed {where}")


def _show_slack(e: Explanation, console: Console) -> None:
    _section(console, "how close the others were to expiring")
    told = [
        f"{one.name}: {duration(max(one.left_ms, 0))} left of {duration(one.session_timeout_ms)}, "
        f"silent for {duration(one.silent_ms)} from {clock(one.silent_from_ms)} on"
        for one in e.slack[:SHOWN_SLACK]
    ]
    if len(e.slack) > SHOWN_SLACK:
        told.append(f"the other {len(e.slack) - SHOWN_SLACK} had {duration(e.slack[SHOWN_SLACK].left_ms)} or more left")
    if e.unknown_slack:
        told.append(f"unknown, for nothing is told of their heartbeats: {some(e.unknown_slack)}")
    _bullets(console, told, "there were no others")
