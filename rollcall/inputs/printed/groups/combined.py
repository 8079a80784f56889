"""One story of a group from its coordinator's lines and from its members' own.

What was done is the broker's to say; why, and who came last, are the clients'. Without a broker's lines the clients'
rebalances are put together by their generation. Clocks of two machines differ: a client's line is laid beside a
broker's by the member that both name, and by time only where that leaves one choice. Knows rebalances of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rollcall.inputs.printed.groups.between_clients import (
    name_the_absent,
    name_who_came,
    name_who_came_or_went,
    name_who_is_silent,
)
from rollcall.inputs.printed.groups.holders import BACK_WITHIN_MS
from rollcall.inputs.printed.groups.leaders import say_what_leaders_show
from rollcall.inputs.printed.groups.member_epochs import laid_together, name_clients
from rollcall.inputs.printed.groups.own_part import NOT_BACK
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import (
    Holder,
    LoggedRebalance,
    client_id_of,
    configured_id,
    is_open,
)
from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind

CLOCKS_MS = 5_000
"""How far apart a broker's and a client's line about one thing may be: their machines' clocks differ."""


def combined(
    of_broker: Sequence[LoggedRebalance],
    clients: Sequence[Sequence[LoggedRebalance]],
    by_client: Sequence[Sequence[LoggedFact]],
) -> list[LoggedRebalance]:
    """The rebalances of a group, in order. clients: those of each. by_client: each one's lines."""
    own = [one for rebalances in clients for one in rebalances]
    if not of_broker:
        of_clients = _in_order(laid_together(_by_generation(clients)))
        name_the_absent(of_clients)
        if len(clients) > 1:
            for rebalance in of_clients:
                name_who_came(rebalance)
                name_who_is_silent(rebalance, by_client)
        name_who_came_or_went(of_clients)
        say_what_leaders_show(of_clients)
        return of_clients
    for one in own:
        _say_why(of_broker, one)
    for rebalance in of_broker:
        _say_who_came_last(rebalance, own)
    name_clients(of_broker, by_client)
    return [*of_broker]


def _say_why(of_broker: Sequence[LoggedRebalance], one: LoggedRebalance) -> None:
    """A client's own reason, laid beside the broker's line about the same member."""
    if one.cause.kind is CauseKind.UNKNOWN:
        return
    near = [
        rebalance
        for rebalance in of_broker
        if rebalance.cause.is_inferred
        and _is_near(rebalance, one)
        and _is_same(rebalance.cause, one.cause)
        and one.cause.kind in {each.kind for each in rebalance.cause.candidates}
    ]
    if not near:
        return
    closest = min(near, key=lambda rebalance: abs((rebalance.began_at_ms or 0) - (one.began_at_ms or 0)))
    seen, client_id = closest.cause, closest.cause.client_id or one.cause.client_id
    ids = {"member_id": seen.member_id, "client_id": client_id, "group_instance_id": seen.group_instance_id}
    closest.cause = replace(one.cause, **ids)
    closest.facts = [*closest.facts, *one.facts]


def _is_near(of_broker: LoggedRebalance, of_client: LoggedRebalance) -> bool:
    """Within what clocks differ by; where the client's lines have no time, the member id that both have is enough."""
    if of_client.began_at_ms is None:
        return bool(of_client.cause.member_id) and of_client.cause.member_id == of_broker.cause.member_id
    return of_broker.began_at_ms is not None and abs(of_broker.began_at_ms - of_client.began_at_ms) <= CLOCKS_MS


def _is_same(of_broker: Cause, of_client: Cause) -> bool:
    if of_client.member_id and of_broker.member_id:
        return of_client.member_id == of_broker.member_id
    return bool(of_client.client_id) and configured_id(of_client.client_id) == (
        of_broker.client_id or client_id_of(of_broker.member_id)
    )


def _say_who_came_last(rebalance: LoggedRebalance, own: Sequence[LoggedRebalance]) -> None:
    """The member that asked to join last, if the logs of all members that came are here."""
    held = rebalance.held_by
    if (
        held is None
        or held.member_id
        or held.length_ms is None
        or rebalance.joined_at_ms is None
        or rebalance.members is None
    ):
        return
    asked = {}
    for one in own:
        if one.generation_id != rebalance.generation_id or one.joined_at_ms is None:
            continue
        first = next((fact for fact in one.facts if fact.kind is FactKind.JOIN_SENT and fact.at_ms is not None), None)
        joined = next((fact for fact in one.facts if fact.kind is FactKind.JOINED), None)
        if first is not None and joined is not None:
            asked[joined.member_id or joined.client_id] = first
    if len(asked) < rebalance.members:
        return
    order = sorted(asked, key=lambda member_id: asked[member_id].at_ms or 0)
    last, before = order[-1], order[-2] if len(order) > 1 else None
    alone_ms = held.length_ms if before is None else (asked[last].at_ms or 0) - (asked[before].at_ms or 0)
    if alone_ms >= BACK_WITHIN_MS / 2:
        why = "its own log has its join, the last of all members'"
        rebalance.held_by = Holder(min(alone_ms, held.length_ms), last, True, why)
        rebalance.facts = [*rebalance.facts, asked[last]]


def _by_generation(clients: Sequence[Sequence[LoggedRebalance]]) -> list[LoggedRebalance]:
    """The clients' rebalances as the group's: those to one generation are one."""
    found: list[LoggedRebalance] = []
    by_generation: dict[int, LoggedRebalance] = {}
    for rebalances in clients:
        for one in rebalances:
            same = None if one.generation_id is None else by_generation.get(one.generation_id)
            if same is not None:
                _join(same, one)
                continue
            found.append(one)
            if one.generation_id is not None:
                by_generation[one.generation_id] = one
    return found


def _in_order(found: list[LoggedRebalance]) -> list[LoggedRebalance]:
    """By generation; one that has no number comes after the one that it follows."""
    numbers = [(one.generation_id, one.from_generation_id) for one in found]
    if all(number is not None or before is not None for number, before in numbers):
        return sorted(found, key=lambda one: one.generation_id or (one.from_generation_id or 0) + 0.5)
    return sorted(found, key=_began) if all(_times(one) for one in found) else found


def _join(kept: LoggedRebalance, other: LoggedRebalance) -> None:
    """Lays what another client says of a rebalance beside what is known."""
    kept.began_at_ms = min(_known(kept.began_at_ms, other.began_at_ms), default=None)
    kept.joined_at_ms = min(_known(kept.joined_at_ms, other.joined_at_ms), default=None)
    kept.ended_at_ms = max(_known(kept.ended_at_ms, other.ended_at_ms), default=None)
    kept.cause = _of_both(kept.cause, other.cause)
    if other.outcome == "completed":
        kept.outcome = other.outcome
    if other.held_by is not None and (kept.held_by is None or other.held_by.why == NOT_BACK):
        kept.held_by = other.held_by
    kept.facts = [*kept.facts, *other.facts]
    kept.came += other.came


def _of_both(one: Cause, other: Cause) -> Cause:
    """Where two clients each say that they set it off, the first of them did: which one, their clocks do not show."""
    if is_open(one):
        return other
    if is_open(other):
        return one
    if (one.member_id or one.client_id) == (other.member_id or other.client_id):
        return other if one.kind is CauseKind.UNKNOWN else one
    fits = (*_that_fit(one), *_that_fit(other))
    kinds = {each.kind for each in fits}
    return Cause(kind=kinds.pop() if len(kinds) == 1 else CauseKind.UNKNOWN, is_inferred=True, candidates=fits)


def _that_fit(cause: Cause) -> tuple[CauseCandidate, ...]:
    alone = CauseCandidate(kind=cause.kind, member_id=cause.member_id, client_id=cause.client_id)
    return cause.candidates or (alone,)


def _times(one: LoggedRebalance) -> list[int]:
    return _known(one.began_at_ms, one.joined_at_ms, one.ended_at_ms)


def _known(*times_ms: int | None) -> list[int]:
    return [ms for ms in times_ms if ms is not None]


def _began(one: LoggedRebalance) -> int:
    return min(_times(one))
