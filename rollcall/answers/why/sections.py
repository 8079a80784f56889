"""An explanation as a list of sections: what terminal, page, JSON and DataFrame show, each in its own form.

A section has a title, and rows under columns or sentences. Each row has its lines: the same as data, in one shape, for
programs. A renderer of sections must not know what is in them. Must not know Spark, a terminal or a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from rollcall.answers.why.cost import Cost
from rollcall.answers.why.explanation import Explanation
from rollcall.answers.why.moves import Move
from rollcall.answers.why.telling import (
    awaited,
    cost_in_a_sentence,
    following,
    headline,
    held,
    owned,
    remarks,
    since_beginning,
    stopped,
    timeline,
    title,
    trigger,
)
from rollcall.history.holdings import Partition
from rollcall.history.kinds import Moment, Part
from rollcall.history.words import at_most, clock, count, duration, ended, partitions, some
from rollcall.schemas.causes import name_of

NO_LAG = "not known: commits or ends of logs may be missing from before it until the group had caught up"
NO_EVIDENCE = "no line, record or request of it is known"
SLACK = "How close the others were to expiring"
SHOWN_MEMBERS, SHOWN_MOVES, SHOWN_SLACK = 20, 30, 5
"""How many rows a form with little room shows."""


class At(NamedTuple):
    """A cell that is a moment, ms since the epoch."""

    ms: int


class Named(NamedTuple):
    """A cell with a text for something that also has a key, such as a cause."""

    words: str
    key: str


Cell = str | At | Named


class Line(NamedTuple):
    """One line for programs: the part that it belongs to, what it is about; what does not apply is null."""

    part: Literal["what", "who", "timeline", "member", "held", "moved", "stopped", "cost", "slack", "evidence", "next"]
    about: str
    text: str
    at_ms: int | None = None
    client: str | None = None
    member_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    duration_ms: int | None = None


@dataclass(frozen=True)
class Row:
    """A row, or a sentence where its section has no columns."""

    cells: tuple[Cell, ...]
    lines: tuple[Line, ...] = ()
    member_id: str = ""
    """The member it is about, if it is only one."""


@dataclass(frozen=True)
class Section:
    """A part of an explanation."""

    key: str
    title: str
    rows: list[Row]
    columns: tuple[str, ...] = ()
    """The heads, empty where they need none; without columns each row is a sentence."""
    hint: str = ""
    if_none: str = ""
    sentences: tuple[str, ...] = ()
    """The sentences below the rows."""
    shown: int = 0
    """How many rows are shown if there is little room, 0: all; `rest` mentions the others."""
    rest: str = ""
    is_folded: bool = False
    """Whether its rows are out of sight until they are asked for, in a form that can do so."""


@dataclass(frozen=True)
class Account:
    """A whole explanation: its title, what happened in a sentence, remarks on that, its sections, what came next."""

    title: str
    headline: str
    remarks: list[str]
    sections: list[Section]
    following: str | None
    opening: tuple[Line, ...]
    """The lines of all but the sections and what came next."""

    @property
    def lines(self) -> list[Line]:
        """All of it, in the order in which a person on call would want it."""
        rows = (line for section in self.sections for row in section.rows for line in row.lines)
        after = [Line("next", "next", self.following)] if self.following is not None else []
        return [*self.opening, *rows, *after]


def account_of(e: Explanation, *, shows_evidence: bool = False) -> Account:
    """The explanation; what cannot be known is left out. shows_evidence: with what shows it."""
    sections = [_who(e), _timeline(e), _members(e)]
    if e.are_requests_known or held(e):
        sections.append(_held(e))
    sections += [_moved(e), _stopped(e)]
    if e.cost is not None:
        sections.append(_cost(e, e.cost))
    elif e.is_cost_unknown:
        sections.append(Section("cost", "What it cost", [], if_none=NO_LAG))
    if e.are_requests_known or e.unknown_slack:
        sections.append(_slack(e) if e.are_requests_known else _unknown_slack(e))
    sections += [_evidence(e)] if shows_evidence else []
    return Account(title(e), headline(e), remarks(e), sections, following(e), tuple(_what(e)))


def lines_of(e: Explanation, *, shows_evidence: bool = False) -> list[Line]:
    """The explanation for programs."""
    return account_of(e, shows_evidence=shows_evidence).lines


def _what(e: Explanation) -> Iterable[Line]:
    rebalance = e.rebalance
    end_ms = e.known_until_ms if rebalance.ended_at_ms is None else rebalance.ended_at_ms
    took_ms = end_ms - rebalance.started_at_ms
    yield Line("what", "rebalance", title(e), rebalance.started_at_ms, duration_ms=took_ms)
    yield Line("what", "sentence", headline(e), rebalance.started_at_ms)
    if e.note is not None:
        yield Line("what", "note", e.note)
    for text in e.kind.unread(e):
        yield Line("what", "unread", text)
    for name in awaited(e):
        yield Line("what", "awaited", f"{name} has not come yet", client=name)


def _who(e: Explanation) -> Section:
    cause = e.rebalance.cause.kind
    rows = [
        Row((about, Named(name_of(cause), cause) if about == "cause" else text), (Line("who", about, text),))
        for about, text in trigger(e)
    ]
    return Section("who", "Who and why", rows, ("", ""))


def _timeline(e: Explanation) -> Section:
    rows = [
        Row((At(at_ms), since_beginning(e, at_ms), text), (Line("timeline", "moment", text, at_ms),))
        for at_ms, text in timeline(e)
    ]
    return Section("timeline", "Timeline", rows, ("At (UTC)", "After the beginning", "What"))


# ---------------------------------------------------------------- members


def _members(e: Explanation) -> Section:
    """If no requests are known, only columns with something known."""
    slowest_first = sorted(e.parts, key=lambda part: -e.kind.slowness(part))
    known = [
        m for m in e.kind.moments if e.are_requests_known or any(_after_ms(e, one, m) is not None for one in e.parts)
    ]
    has_held, has_gone = e.are_requests_known, any(part.end_cause for part in e.parts)
    hidden = slowest_first[SHOWN_MEMBERS:]
    came = [part.moments[e.kind.came] - e.rebalance.started_at_ms for part in hidden if e.kind.came in part.moments]
    within = f", all in within {duration(max(came))}" if len(came) == len(hidden) and came else ""
    return Section(
        key="members",
        title="Members",
        rows=[_member(e, part, known, has_held, has_gone) for part in slowest_first],
        columns=(
            *("Member", "Host", *(moment.head for moment in known)),
            *(["Held the others"] if has_held else []),
            *(["Went"] if has_gone else []),
        ),
        hint=e.kind.hint if known else "",
        if_none="nobody was a member",
        shown=SHOWN_MEMBERS,
        rest=f"and {len(hidden)} more{within}; JSON output lists each",
    )


def _member(e: Explanation, part: Part, known: Sequence[Moment], has_held: bool, has_gone: bool) -> Row:
    cells: list[Cell] = [f"{part.name} (new)" if part.is_new else part.name, part.host]
    cells += [_after(e, part, moment) for moment in known]
    if has_held:
        cells.append(duration(part.held_others_ms) if part.held_others_ms else "-")
    if has_gone:
        end = part.end_cause and Named(ended(part.end_cause, part.is_end_inferred), part.end_cause)
        cells.append(end or "-")
    lines = [line for moment in known for line in _step(e, part, moment)]
    if part.end_cause is not None:
        text = f"{part.name} was no longer a member: {ended(part.end_cause, part.is_end_inferred)}"
        lines.append(Line("member", "ended", text, client=part.name, member_id=part.member_id))
    return Row(tuple(cells), tuple(lines), part.member_id)


def _after_ms(e: Explanation, part: Part, moment: Moment) -> int | None:
    """How long after what it is measured from; None: it has not come, or is not known."""
    since_ms = e.join_phase_ended_ms if moment.is_after_joins else e.rebalance.started_at_ms
    at_ms = part.moments.get(moment.key)
    return None if at_ms is None or since_ms is None or not e.rebalance.is_start_known else at_ms - since_ms


def _after(e: Explanation, part: Part, moment: Moment) -> str:
    took_ms = _after_ms(e, part, moment)
    if took_ms is not None:
        return duration(took_ms)
    is_awaited = moment.key == e.kind.came and part.end_cause is None
    return "-" if not is_awaited else "not yet" if e.rebalance.ended_at_ms is None else "not by its end"


def _step(e: Explanation, part: Part, moment: Moment) -> Iterable[Line]:
    took_ms = _after_ms(e, part, moment)
    if took_ms is not None:
        verb = moment.verb_of_new if part.is_new and moment.verb_of_new else moment.verb
        since = "the end of the join phase" if moment.is_after_joins else "the beginning"
        text = f"{part.name} {verb} {duration(took_ms)} after {since}"
        at_ms = part.moments[moment.key]
        yield Line("member", moment.key, text, at_ms, part.name, part.member_id, duration_ms=took_ms)


def _held(e: Explanation) -> Section:
    rows = []
    for name, held_ms, why in held(e):
        text = f"{name} kept the others waiting for {duration(held_ms)}; {why}"
        line = Line("held", "held_others", text, client=name, duration_ms=held_ms)
        rows.append(Row((f"{name}: {duration(held_ms)}; {why}",), (line,)))
    return Section("held", "Who kept the others waiting", rows, if_none="nobody")


# ---------------------------------------------------------------- partitions


def _moved(e: Explanation) -> Section:
    ordered = sorted((_way(move, e.kind.step), move.partition, move) for move in e.moves)
    rows = []
    for way, group in groupby(ordered, key=lambda one: one[0]):
        same = [move for _, _, move in group]
        those = partitions(move.partition for move in same)
        rows.append(Row((f"{those}: {way}",), tuple(_line_of_move(move, way) for move in same)))
    below = []
    if e.moves:
        changes = (f"{name} +{got} -{lost}" for name, (got, lost) in sorted(_gained_and_lost(e).items()))
        below.append(f"gained and lost: {some(changes, SHOWN_MEMBERS)}")
    if e.kept_count:
        below.append(f"{e.kind.count(e.kept_count)} stayed where {'it was' if e.kept_count == 1 else 'they were'}")
    return Section(
        key="moved",
        title="What moved",
        rows=rows,
        if_none="nothing" if e.holdings and e.are_owners_known else "unknown",
        sentences=tuple(below),
        shown=SHOWN_MOVES,
        rest=f"and {len(rows) - SHOWN_MOVES} more lines; JSON output lists each partition",
    )


def _line_of_move(move: Move, way: str) -> Line:
    partition = move.partition
    return Line(
        "moved",
        "moved_back" if move.back_at_ms is not None else "moved",
        f"{_named(partition)}: {way}",
        move.back_at_ms,
        move.after,
        topic=partition.topic,
        partition=partition.number,
        duration_ms=move.unheld_ms,
    )


def _named(partition: Partition) -> str:
    return partitions([partition]) if partition.number < 0 else f"{partition.topic}-{partition.number}"


def _way(move: Move, step: str) -> str:
    """`a -> b, back in generation 3`; `nobody` for no owner."""
    text = f"{move.before or 'nobody'} -> {move.after or 'nobody'}"
    if move.later is not None:
        text += f", later {move.later}"
    if move.back_at_ms is not None and move.later != move.before:
        text += f", back to {move.before} in {step} {move.back_generation_id}"
    return text


def _gained_and_lost(e: Explanation) -> dict[str, tuple[int, int]]:
    """By member's name: how many partitions it gained, and how many it lost."""
    found: dict[str, tuple[int, int]] = {}
    for move in e.moves:
        for name, got, lost in ((move.after, 1, 0), (move.before, 0, 1)):
            if name is not None:
                had = found.get(name, (0, 0))
                found[name] = (had[0] + got, had[1] + lost)
    return found


def _stopped(e: Explanation) -> Section:
    rows = []
    for place, text in enumerate(stopped(e)):
        line = Line("stopped", "nobody" if place == 0 else "partitions", text)
        if place == 0 and e.standstill is not None and e.rebalance.is_start_known:
            from_ms, to_ms = e.standstill
            line = line._replace(at_ms=from_ms, duration_ms=None if to_ms is None else to_ms - from_ms)
        rows.append(Row((text,), (line,)))
    return Section("stopped", f"How long {e.kind.nobody}", rows)


def _cost(e: Explanation, cost: Cost) -> Section:
    """What it cost, in one sentence, and the partitions that were furthest behind."""
    text = cost_in_a_sentence(e, cost)
    line = Line("cost", "group", text, cost.peak_ms, duration_ms=cost.caught_up_after_ms)
    rows = [Row((text,), (line,))]
    for peak in cost.peaks:
        behind = at_most(count(peak.records, "record"), peak.is_upper_bound)
        sentence = f"{peak.name} was {behind} behind at its peak"
        if peak.is_upper_bound:
            sentence += ", since later commits of it may be missing"
        if owners := owned(e, peak):
            sentence += f"; its owner: {owners}"
        line = Line("cost", "partition", sentence, topic=peak.topic, partition=peak.partition)
        rows.append(Row((sentence,), (line,)))
    return Section("cost", "What it cost", rows)


# ---------------------------------------------------------------- sessions


def _slack(e: Explanation) -> Section:
    rows = []
    for one in e.slack:
        left, timeout = duration(max(one.left_ms, 0)), duration(one.session_timeout_ms)
        line = Line("slack", "slack", f"{one.name} had {left} left of {timeout}", one.silent_from_ms, one.name)
        cells = (one.name, left, timeout, duration(one.silent_ms), clock(one.silent_from_ms))
        rows.append(Row(cells, (line._replace(duration_ms=one.left_ms),)))
    rows += [Row((name, "unknown", "", "", ""), (_line_of_unknown(name),)) for name in e.unknown_slack]
    rest = len(rows) - SHOWN_SLACK
    least = (
        f"had {duration(e.slack[SHOWN_SLACK].left_ms)} or more left" if len(e.slack) > SHOWN_SLACK else "are unknown"
    )
    return Section(
        key="slack",
        title=SLACK,
        rows=rows,
        columns=("Member", "Left", "Of", "Silent for", "From (UTC)"),
        if_none="there were no others",
        hint="Unknown: nothing is known of its heartbeats." if e.unknown_slack else "",
        shown=SHOWN_SLACK,
        rest=f"the other {rest} {least}",
    )


def _unknown_slack(e: Explanation) -> Section:
    lines = tuple(_line_of_unknown(name) for name in e.unknown_slack)
    return Section(
        "slack", SLACK, [Row((f"unknown, for no heartbeats are known: {', '.join(e.unknown_slack)}",), lines)]
    )


def _line_of_unknown(name: str) -> Line:
    return Line("slack", "unknown", f"{name}: no gap between its signs of life is known", client=name)


# ---------------------------------------------------------------- evidence


def _evidence(e: Explanation) -> Section:
    """What shows each fact; those of one line in one row."""
    rows = []
    for (at_ms, shown_by), together in groupby(e.evidence, key=lambda one: (one.at_ms, one.shown_by)):
        lines = []
        for _, effect, member_id, client_id, _ in together:
            name = e.names.of(member_id, client_id) if member_id else None
            what = effect.replace("_", " ") + (f": {name}" if name else "")
            lines.append(Line("evidence", shown_by, what, at_ms, name, member_id or None))
        rows.append(Row((At(at_ms), "; ".join(line.text for line in lines), shown_by), tuple(lines)))
    columns = ("At (UTC)", "What", "Line, record or request")
    return Section("evidence", "Evidence", rows, columns, if_none=NO_EVIDENCE, is_folded=True)
