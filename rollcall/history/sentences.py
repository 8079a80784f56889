"""The cause and the outcome of a rebalance in clauses: the same in `explain`, `why`, on the page and in alarms.

Knows causes and outcomes. Must not know where a cause is known from, nor which name a member has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rollcall.history.words import SHOWN, duration, filled, some
from rollcall.schemas.causes import Cause, CauseKind, name_of, row_of

OUTCOMES = {"completed": "completed in", "superseded": "superseded after", "empty": "left without members after"}


class Terms(NamedTuple):
    """What a cause's sentence has in braces; None: not known, and left out."""

    who: str = ""
    """Empty: nobody is named."""
    session_ms: int | None = None
    poll_ms: int | None = None
    partitions: str = "partitions"
    why_again: str = ""
    """Why members of this kind of group join again without being asked to."""


NOTHING_KNOWN = Terms()


def fitting(cause: Cause, name: Callable[[str, str], str]) -> list[str]:
    """Return the causes that fit, or the culprits if the cause is the same; each cause by its culprit if both differ.

    name: of a member id and a client id; empty if both are.
    """
    pairs = dict.fromkeys((name_of(one.kind), name(one.member_id, one.client_id)) for one in cause.candidates)
    kinds, names = (dict.fromkeys(part) for part in zip(*pairs, strict=True)) if pairs else ({}, {})
    if len(kinds) < 2:
        return [*filter(None, names)]
    if len(names) < 2:
        return [*kinds]
    return [f"{kind} by {who}" if who else kind for kind, who in pairs]


def cause_clause(cause: Cause, terms: Terms, fits: Sequence[str], sentence: str = "", doubt: str = "") -> str:
    """Return what set a rebalance off. fits: what `fitting` returns.

    sentence: instead of the cause's own. doubt: ahead of causes that fit, if who set it off is inferred too.
    """
    who = with_host(terms.who, cause.client_host)
    if cause.kind == CauseKind.UNKNOWN and fits:
        return f"{who} set it off ({doubt}{one_of(fits)})" if who else f"it was set off ({one_of(fits)})"
    row = row_of(cause.kind)
    sentence = sentence or (row.of_nobody if row.of_nobody and not who else row.sentence)
    clause = filled(sentence, terms._replace(who=who or "a member")._asdict())
    if not cause.is_inferred or cause.kind == CauseKind.UNKNOWN:
        return clause
    # A client may have written the lines by which it alone fits.
    possible = f"possible: {one_of(fits)}" if len(fits) > 1 else ""
    doubt = doubt if cause.kind == CauseKind.MEMBER_REJOINED and possible else "inferred; "
    return f"{clause} ({(doubt + possible).removesuffix('; ')})"


def with_host(name: str, client_host: str | None) -> str:
    """`a-1 on 10.0.0.7`, also of `a-1@10.0.0.7`; the name if the host is not known or within it."""
    host = (client_host or "").lstrip("/")
    name = name.removesuffix(f"@{host}") if host else name
    return f"{name} on {host}" if name and host and host not in name else name


def members_changed(before: int | None, after: int | None) -> str:
    """`3 -> 2 members`; `?` where a recording does not show how many."""
    numbers = ("?" if each is None else each for each in (before, after))
    return f"{' -> '.join(map(str, numbers))} members"


def outcome_words(outcome: str, took_ms: int | None) -> str:
    """`completed in 2 s`; without the time if that is not known."""
    words = OUTCOMES.get(outcome, "over after")
    return words.rpartition(" ")[0] if took_ms is None else f"{words} {duration(took_ms)}"


def awaited_clause(came: str, held_ms: int, assignment_ms: int) -> str:
    """Why the others waited for a member that came: for its coming, for its assignment as the leader, or for both.

    assignment_ms: of held_ms; 0 for a member that does not lead.
    """
    if assignment_ms and assignment_ms == held_ms:
        return "it leads, and its assignment was awaited"
    return f"{came}; {duration(assignment_ms)} of it for its assignment, since it leads" if assignment_ms else came


def one_of(fits: Sequence[str]) -> str:
    """Return causes or names that fit: `left, polled too late or session expired`."""
    *first, last = fits
    return f"{', '.join(first)} or {last}" if 0 < len(first) < SHOWN else some(fits)
