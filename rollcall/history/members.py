"""Who was a member from when to when, with timeouts and topics, and a unique short name for each.

Knows what member_joined, member_updated and member_removed hold. Must not know any rebalance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rollcall.schemas.effects import CauseFound, Effect, MemberJoined, MemberRemoved, MemberUpdated

UUID_LENGTH = 36
UUID_SHOWN = 8


@dataclass(frozen=True)
class Membership:
    """A client's membership, from its join to its end. A timeout is None if not known, ended_at_ms if it is still a
    member.
    """

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    joined_at_ms: int
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    ended_at_ms: int | None = None
    end_cause: str | None = None
    is_end_inferred: bool = False
    """Nobody said how it ended: that was inferred."""
    client_reason: str | None = None
    earlier_sessions: tuple[tuple[int, int | None], ...] = ()
    """The session timeouts that it had before, each with when it was changed."""

    @property
    def name(self) -> str:
        """Its name in the history of rebalances."""
        return self.client_id or self.group_instance_id or self.member_id

    def session_until(self, at_ms: int) -> int | None:
        """The session timeout of a silence that ended at this moment, ms; None: not known. A request that changes it
        ends a silence itself; a change within a silence corrects what was inferred.
        """
        return next((ms for until_ms, ms in self.earlier_sessions if at_ms <= until_ms), self.session_timeout_ms)

    def is_member_in(self, from_ms: int, to_ms: int) -> bool:
        """Whether it was one at any moment of a span."""
        return self.joined_at_ms <= to_ms and (self.ended_at_ms is None or self.ended_at_ms >= from_ms)


class Memberships:
    """Every membership, from effects that are taken one by one in their order."""

    def __init__(self) -> None:
        self._ended: list[Membership] = []
        self.current: dict[str, Membership] = {}
        """The open ones, by member id."""

    def take(self, effect: Effect) -> None:
        """Takes in an effect, if it is about membership."""
        match effect:
            case MemberJoined(member_id=member_id):
                joined = Membership(
                    *(member_id, effect.client_id, effect.client_host, effect.group_instance_id, effect.at_ms),
                    session_timeout_ms=None,
                    rebalance_timeout_ms=None,
                )
                self.current[member_id] = _with_terms(joined, effect)
            case MemberUpdated(member_id=member_id) if member_id in self.current:
                before = self.current[member_id]
                after = _with_terms(before, effect)
                if after.session_timeout_ms != before.session_timeout_ms:
                    earlier = (*before.earlier_sessions, (effect.at_ms, before.session_timeout_ms))
                    after = replace(after, earlier_sessions=earlier)
                self.current[member_id] = after
            case CauseFound():
                found = (effect.member_id, effect.gone_at_ms)
                self._ended = [
                    replace(one, end_cause=effect.cause.kind, is_end_inferred=effect.cause.is_inferred)
                    if (one.member_id, one.ended_at_ms) == found
                    else one
                    for one in self._ended
                ]
            case MemberRemoved(member_id=member_id, end_cause=cause, client_reason=reason) if member_id in self.current:
                one = self.current.pop(member_id)
                ended = replace(one, ended_at_ms=effect.at_ms, end_cause=cause, client_reason=reason)
                self._ended.append(replace(ended, is_end_inferred=effect.is_inferred))
            case _:
                pass

    @property
    def all(self) -> list[Membership]:
        """By when each began."""
        return sorted([*self._ended, *self.current.values()], key=lambda membership: membership.joined_at_ms)


def memberships_of(effects: Iterable[Effect]) -> list[Membership]:
    """Every membership, by when it began."""
    found = Memberships()
    for effect in effects:
        found.take(effect)
    return found.all


def _with_terms(membership: Membership, said: MemberJoined | MemberUpdated) -> Membership:
    """A timeout of -1 is one that a recording does not show."""
    session_ms, rebalance_ms = said.session_timeout_ms, said.rebalance_timeout_ms
    return replace(
        membership,
        session_timeout_ms=session_ms if session_ms >= 0 else None,
        rebalance_timeout_ms=rebalance_ms if max(session_ms, rebalance_ms) >= 0 else None,
    )


class Names:
    """A name for each member id: the client id, with its host where clients of several hosts share it.

    A client that came back under another member id keeps its name. Where two clients with one name were members at the
    same time, a part of the member id is added to each name, and is_unclear is True.
    """

    def __init__(self, memberships: Sequence[Membership]) -> None:
        hosts: dict[str, set[str]] = {}
        for one in memberships:
            hosts.setdefault(one.name, set()).add(one.client_host)
        named = {one.member_id: one.name for one in memberships}
        for one in memberships:
            if len(hosts[one.name]) > 1:
                named[one.member_id] = f"{one.name}@{host_of(one.client_host)}"
        shared = _names_at_once(memberships, named)
        self.is_unclear = bool(shared)
        self._names = {
            member_id: f"{name}#{member_id[-UUID_LENGTH:][:UUID_SHOWN]}" if name in shared else name
            for member_id, name in named.items()
        }

    def of(self, member_id: str, client_id: str = "") -> str:
        """The name of a member id. client_id: the name for a client that never became a member."""
        return self._names.get(member_id) or client_id or member_id or "an unknown member"


def host_of(client_host: str) -> str:
    """A host without the slash that Kafka puts before it."""
    return client_host.lstrip("/") or "unknown host"


def _names_at_once(memberships: Sequence[Membership], named: Mapping[str, str]) -> set[str]:
    """The names that two member ids had at the same time."""
    until: dict[str, float] = {}
    shared: set[str] = set()
    for one in sorted(memberships, key=lambda one: one.joined_at_ms):
        name = named[one.member_id]
        if one.joined_at_ms < until.get(name, -1):
            shared.add(name)
        ended = float("inf") if one.ended_at_ms is None else one.ended_at_ms
        until[name] = max(until.get(name, -1), ended)
    return shared
