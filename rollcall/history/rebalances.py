"""The rebalances of a group, from its facts, and the one that a question means.

Knows what rebalance_started and rebalance_ended hold. Must not know what a member did in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rollcall.schemas.causes import Cause
from rollcall.schemas.effects import CauseFound, Effect, GroupRemoved, MemberWait, RebalanceEnded, RebalanceStarted

SHORTEST_WAIT_SHOWN_MS = 50
"""Who kept the others waiting for less is not named in a line about a rebalance."""


class NoSuchRebalance(Exception):
    """No rebalance fits the question; the text is the sentence to show."""


@dataclass(frozen=True)
class Rebalance:
    """One rebalance. ended_at_ms, to_generation_id and outcome are None while it runs; members where not known."""

    from_generation_id: int
    started_at_ms: int
    cause: Cause
    members_before: int | None
    to_generation_id: int | None = None
    ended_at_ms: int | None = None
    outcome: str | None = None
    members_after: int | None = None
    is_start_known: bool = True
    """False: started_at_ms is the first moment at which it certainly ran."""
    is_end_known: bool = True
    """False: ended_at_ms is the last moment at which it certainly ran."""
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    waits: tuple[MemberWait, ...] = field(default=(), repr=False)
    effects: tuple[Effect, ...] = field(default=(), repr=False, compare=False)
    """The effects that begin and end it, as far as there are such."""

    @property
    def leads_to(self) -> int:
        """The generation that it led to, or would lead to while it runs."""
        return self.from_generation_id + 1 if self.to_generation_id is None else self.to_generation_id

    @property
    def slowest(self) -> MemberWait | None:
        """Who kept the others waiting longest; None: nobody for long enough to be named in a line."""
        found = max(self.waits, key=lambda wait: wait.held_others_ms, default=None)
        return None if found is None or found.held_others_ms < SHORTEST_WAIT_SHOWN_MS else found


class Span(NamedTuple):
    """A moment as a person names it, from its first millisecond to its last: a whole minute if no seconds are given."""

    from_ms: int
    to_ms: int
    text: str = ""


class Choice(NamedTuple):
    """The rebalance that a question means, a note on how it was found, and others that it might mean."""

    rebalance: Rebalance
    note: str | None
    others: list[Rebalance]


def rebalances_of(effects: Iterable[Effect]) -> list[Rebalance]:
    """Every rebalance, in order; the last may still run."""
    found: list[Rebalance] = []
    running: Rebalance | None = None
    for effect in effects:
        match effect:
            case RebalanceStarted():
                before = effect.members_before
                running = Rebalance(effect.from_generation_id, effect.at_ms, effect.cause, before, effects=(effect,))
            case RebalanceEnded():
                begun = running.effects if running and running.started_at_ms == effect.started_at_ms else ()
                found.append(ended(effect, begun))
                running = None
            case CauseFound(gone_at_ms=gone_at_ms, cause=cause):
                found = [replace(one, cause=cause) if one.started_at_ms == gone_at_ms else one for one in found]
                if running is not None and running.started_at_ms == gone_at_ms:
                    running = replace(running, cause=cause)
            case GroupRemoved():
                running = None
            case _:
                pass
    return found if running is None else [*found, running]


def choose(
    group_id: str, found: Sequence[Rebalance], generation_id: int | None = None, at: Span | None = None
) -> Choice:
    """The rebalance that led or would lead to a generation, or that began or ran at a moment, else the latest one.

    At a moment: the first that began in it, else the one that ran in it, else the one that began nearest to it.
    Raises NoSuchRebalance, in this order: the group had none at all; none led to that generation.
    """
    if not found:
        raise NoSuchRebalance(f"{group_id}: had no rebalance yet.")
    if generation_id is not None:
        return _of_generation(group_id, found, generation_id)
    return Choice(found[-1], None, []) if at is None else _of_moment(found, at)


def _of_generation(group_id: str, found: Sequence[Rebalance], generation_id: int) -> Choice:
    led = [rebalance for rebalance in found if rebalance.leads_to == generation_id]
    if not led:
        there = f"there are {found[0].from_generation_id + 1} to {found[-1].leads_to}"
        raise NoSuchRebalance(f"--generation {generation_id}: no rebalance of {group_id} led to it; {there}.")
    if len(led) == 1:
        return Choice(led[0], None, [])
    note = (
        f"{group_id} began anew after its removal, so {len(led)} rebalances led to {generation_id}; this is the latest."
    )
    return Choice(led[-1], note, led[:-1])


def _of_moment(found: Sequence[Rebalance], at: Span) -> Choice:
    began = [rebalance for rebalance in found if at.from_ms <= rebalance.started_at_ms <= at.to_ms]
    before = [rebalance for rebalance in found if rebalance.started_at_ms < at.from_ms]
    ran = [rebalance for rebalance in before if rebalance.ended_at_ms is None or rebalance.ended_at_ms >= at.from_ms]
    if began:
        note = f"{len(began)} rebalances began at {at.text}; this is the first." if began[1:] else None
        if ran:
            which = f"this is the first of {len(began)} that began" if began[1:] else "this one began"
            note = f"{len(began) + len(ran)} rebalances fit {at.text}: {which} then, and another was already running."
        return Choice(began[0], note, [*ran, *began[1:]])
    if ran:
        return Choice(ran[0], f"It was running at {at.text}.", ran[1:])
    if at.to_ms < found[0].started_at_ms:
        return Choice(
            found[0], f"{at.text} is before the group's first rebalance in this history, which is shown here.", []
        )
    if at.from_ms > found[-1].started_at_ms:
        return Choice(
            found[-1], f"{at.text} is after the group's last rebalance in this history, which is shown here.", []
        )
    nearest = min(found, key=lambda rebalance: min(abs(rebalance.started_at_ms - ms) for ms in (at.from_ms, at.to_ms)))
    return Choice(nearest, f"No rebalance began or ran at {at.text}; this is the nearest one.", [])


def ended(end: RebalanceEnded, begun: tuple[Effect, ...] = ()) -> Rebalance:
    """Return an ended rebalance. begun: what began it. Raises ValueError if its beginning or its length is unknown."""
    began_ms = end.known_from_ms if end.started_at_ms is None else end.started_at_ms
    if began_ms is None:
        raise ValueError(f"the rebalance that ended at {end.at_ms} ms has no beginning")
    return Rebalance(
        end.from_generation_id,
        began_ms,
        end.cause,
        end.members_before,
        to_generation_id=end.to_generation_id,
        ended_at_ms=end.at_ms,
        outcome=end.outcome,
        members_after=end.members_after,
        is_start_known=end.started_at_ms is not None,
        is_end_known=end.is_end_known,
        joined=tuple(end.joined),
        left=tuple(end.left),
        expired=tuple(end.expired),
        gone=end.gone,
        waits=tuple(end.waits),
        effects=(*begun, end),
    )
