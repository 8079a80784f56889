"""One story of a group from its coordinator's lines and from its members' own.

What was done is the broker's to say; why, and who came last, are the clients'. Without a broker's lines the clients'
rebalances are put together by their generation. Clocks of two machines differ: a client's line is laid beside a
broker's by the member that both name, and by time only where that leaves one choice. Knows rebalances of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rollcall.inputs.printed.groups.between_clients import rebalances_between
from rollcall.inputs.printed.groups.own_epochs import OwnHistory
from rollcall.inputs.printed.groups.own_part import LEFT
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.logged_rebalances import Holder, LoggedRebalance, client_id_of, configured_id
from rollcall.inputs.tolerances import BACK_AT_HEARTBEAT_MS, CLOCKS_WITHIN_MS, is_near
from rollcall.schemas.causes import Cause, CauseKind


def combined(of_broker: Sequence[LoggedRebalance], clients: Sequence[OwnHistory]) -> list[LoggedRebalance]:
    """The rebalances of a group, in order. clients: what each one's lines say."""
    if not of_broker:
        return rebalances_between(clients)
    own = [one for client in clients for one in client.rebalances]
    for one in own:
        _say_why(of_broker, one)
    for rebalance in of_broker:
        _say_who_came_last(rebalance, own)
    _name_clients(of_broker, clients)
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
    # That its leave set the rebalance off is the broker's to say: what is left to doubt is why it left.
    is_inferred = bool(one.cause.candidates) if one.outcome == LEFT else one.cause.is_inferred
    closest.cause = replace(one.cause, **ids, is_inferred=is_inferred)
    closest.facts = [*closest.facts, *one.facts]


def _is_near(of_broker: LoggedRebalance, of_client: LoggedRebalance) -> bool:
    """Within what clocks differ by; where the client's lines have no time, the member id that both have is enough."""
    if of_client.began_at_ms is None:
        return bool(of_client.cause.member_id) and of_client.cause.member_id == of_broker.cause.member_id
    began_ms = of_broker.began_at_ms
    return began_ms is not None and is_near(began_ms, of_client.began_at_ms, within_ms=CLOCKS_WITHIN_MS)


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
    if alone_ms >= BACK_AT_HEARTBEAT_MS / 2:
        why = "its own log has its join, the last of all members'"
        rebalance.held_by = Holder(min(alone_ms, held.length_ms), last, True, why)
        rebalance.facts = [*rebalance.facts, asked[last]]


def _name_clients(rebalances: Sequence[LoggedRebalance], clients: Sequence[OwnHistory]) -> None:
    """A broker's lines have only the id of some members: the client that prints such an id as its own has it."""
    names: dict[str, set[str]] = {}
    for own in clients:
        for fact in own.facts:
            if fact.client_id and fact.member_id:
                names.setdefault(fact.member_id, set()).add(configured_id(fact.client_id))
    for one in rebalances:
        named = names.get(one.cause.member_id, set())
        if len(named) == 1 and not one.cause.client_id:
            one.cause.client_id = min(named)
