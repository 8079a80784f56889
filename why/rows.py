"""An explanation as rows of one shape, for tables: a row for each fact, in words and in numbers.

Knows the parts of an explanation. Must not know Spark or a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from why.explanation import Explanation
from why.holdings import Partition
from why.moves import Move
from why.parts import Part
from why.telling import awaited, following, headline, held, stopped, timeline, title, trigger, unread
from why.words import duration, partitions

PARTS = ("what", "who", "timeline", "member", "held", "moved", "stopped", "slack", "next")


class Line(NamedTuple):
    """One line: part is one of PARTS; about is what the line is about; the others are null where they do not apply."""

    part: str
    about: str
    text: str
    at_ms: int | None = None
    client: str | None = None
    member_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    duration_ms: int | None = None


def lines_of(e: Explanation) -> list[Line]:
    """All of it, in the order in which a person on call would want it."""
    return [
        *_what(e),
        *(Line("who", about, text) for about, text in trigger(e)),
        *(Line("timeline", "moment", text, at_ms) for at_ms, text in timeline(e)),
        *(line for part in e.parts for line in _member(e, part)),
        *(_held(*one) for one in held(e)),
        *(_moved(move) for move in e.moves),
        *_stopped(e),
        *_slack(e),
        *(Line("next", "next", text) for text in [following(e)] if text is not None),
    ]


def _what(e: Explanation) -> Iterator[Line]:
    rebalance = e.rebalance
    end_ms = e.told_until_ms if rebalance.ended_at_ms is None else rebalance.ended_at_ms
    took_ms = end_ms - rebalance.started_at_ms
    yield Line("what", "rebalance", title(e), rebalance.started_at_ms, duration_ms=took_ms)
    yield Line("what", "sentence", headline(e), rebalance.started_at_ms)
    if e.note is not None:
        yield Line("what", "note", e.note)
    for text in unread(e):
        yield Line("what", "unread", text)
    for name in awaited(e):
        yield Line("what", "awaited", f"{name} has not come yet", client=name)


def _member(e: Explanation, part: Part) -> Iterator[Line]:
    """A line for each step: told, joined and back at work, measured from the beginning; synced, from the end of the
    join phase.
    """
    began_ms = e.rebalance.started_at_ms
    steps = (
        ("told", part.told_at_ms, began_ms, "was told of the rebalance"),
        ("rejoined", part.joined_at_ms, began_ms, "joined" if part.is_new else "rejoined"),
        ("synced", part.synced_at_ms, e.join_phase_ended_ms, "sent its SyncGroup"),
        ("back", part.back_at_ms, began_ms, "had its assignment"),
    )
    for about, at_ms, since_ms, verb in steps:
        if at_ms is not None and since_ms is not None:
            took_ms = at_ms - since_ms
            since = "the end of the join phase" if about == "synced" else "the beginning"
            text = f"{part.name} {verb} {duration(took_ms)} after {since}"
            yield Line("member", about, text, at_ms, part.name, part.member_id, duration_ms=took_ms)
    if part.end_cause is not None:
        text = f"{part.name} was a member no longer: {part.end_cause}"
        yield Line("member", "ended", text, client=part.name, member_id=part.member_id)


def _held(name: str, held_ms: int, why: str) -> Line:
    text = f"{name} kept the others waiting for {duration(held_ms)}; {why}"
    return Line("held", "held_others", text, client=name, duration_ms=held_ms)


def _moved(move: Move) -> Line:
    return Line(
        "moved",
        "moved_back" if move.back_at_ms is not None else "moved",
        f"{_named(move.partition)}: {move_text(move)}",
        move.back_at_ms,
        move.after,
        topic=move.partition.topic,
        partition=move.partition.number,
        duration_ms=move.unheld_ms,
    )


def _named(partition: Partition) -> str:
    return partitions([partition]) if partition.number < 0 else f"{partition.topic}-{partition.number}"


def moves_together(moves: Iterable[Move]) -> list[tuple[str, str]]:
    """Partitions and what became of them, one row for all that went the same way."""
    ordered = sorted(moves, key=lambda move: (move_text(move), move.partition))
    return [(partitions(move.partition for move in same), text) for text, same in groupby(ordered, key=move_text)]


def move_text(move: Move) -> str:
    """`a -> b, back in generation 3`; nobody stands for no owner."""
    text = f"{move.before or 'nobody'} -> {move.after or 'nobody'}"
    if move.later is not None:
        text += f", later {move.later}"
    if move.back_at_ms is not None and move.later != move.before:
        text += f", back to {move.before} in generation {move.back_generation_id}"
    return text


def gained_and_lost(e: Explanation) -> dict[str, tuple[list[Partition], list[Partition]]]:
    """By member's name: the partitions that it gained, and those that it lost."""
    found: dict[str, tuple[list[Partition], list[Partition]]] = {}
    for move in e.moves:
        for name, place in ((move.after, 0), (move.before, 1)):
            if name is not None:
                found.setdefault(name, ([], []))[place].append(move.partition)
    return found


def _stopped(e: Explanation) -> Iterator[Line]:
    span = e.standstill
    length_ms = None if span is None or span[1] is None else span[1] - span[0]
    for place, text in enumerate(stopped(e)):
        if place == 0 and span is not None:
            yield Line("stopped", "nobody", text, span[0], duration_ms=length_ms)
        else:
            yield Line("stopped", "nobody" if place == 0 else "partitions", text)


def _slack(e: Explanation) -> Iterator[Line]:
    for slack in e.slack:
        text = f"{slack.name} had {duration(max(slack.left_ms, 0))} left of {duration(slack.session_timeout_ms)}"
        yield Line("slack", "slack", text, slack.silent_from_ms, slack.name, duration_ms=slack.left_ms)
    for name in e.unknown_slack:
        yield Line("slack", "unknown", f"{name}: no gap between its signs of life is known", client=name)
