"""Who is a member of a group, as its coordinator's lines have it: memberships as effects, and who came and went.

Knows one group's members. Must not know rebalances, but the one that a member's leave set off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import re2

from rollcall.inputs.printed.groups.logged_effects import Place, Written
from rollcall.inputs.printed.groups.reasons import ENDS, Reason, gone_by
from rollcall.inputs.printed.logged_facts import BROKER, LoggedFact
from rollcall.inputs.printed.logged_rebalances import client_id_of, configured_id
from rollcall.schemas import makers
from rollcall.schemas.causes import LEFT, Cause, CauseKind, EndCause
from rollcall.schemas.effects import MemberRemoved
from rollcall.schemas.makers import NO_TERMS

OF_TASKS = "=(active="
"""What the target of each member of a streams group begins with."""
_OF_A_MEMBER = re2.compile(r"(?:\A\{|, )(?P<member_id>[^{}=]+)=(?:(?:Member)?Assignment\(|\(active=)")


class Member(NamedTuple):
    """A member, as far as lines name it."""

    member_id: str
    client_id: str = ""
    client_host: str = ""
    group_instance_id: str | None = None


def _name_of(one: Member | MemberRemoved) -> str:
    return one.client_id or one.group_instance_id or one.member_id


def members_in(target: LoggedFact) -> frozenset[str]:
    """Return the members of a target assignment as a line has them; empty if it has none."""
    return frozenset(one["member_id"] for one in _OF_A_MEMBER.finditer(target.partitions))


def explain_departure(removed: MemberRemoved, cause: Cause) -> None:
    """Correct why a member left by the cause of the rebalance that its leave may have set off."""
    if cause.member_id != removed.member_id:
        return
    is_leave = cause.kind in (*LEFT, CauseKind.UNKNOWN)
    fits = cause.candidates if is_leave and len(cause.candidates) > 1 else ()
    removed.end_cause = EndCause(cause.kind.value) if is_leave else EndCause.MEMBER_LEFT
    removed.is_inferred = (is_leave and cause.is_inferred) or removed.end_cause is EndCause.UNKNOWN
    removed.candidates = tuple(EndCause(one.kind.value) for one in fits)


@dataclass
class Changes:
    """Who joined and went between two generations."""

    came: list[Member] = field(default_factory=list)
    gone: list[MemberRemoved] = field(default_factory=list)

    @property
    def joined(self) -> list[str]:
        """Their names."""
        return [_name_of(one) for one in self.came]

    def names(self, *ends: EndCause) -> list[str]:
        """The names of those that went so."""
        return [_name_of(one) for one in self.gone if one.end_cause in ends]


class Members:
    """The members of one group. client_ids: by member id, as clients' own lines have it."""

    def __init__(self, written: Written, client_ids: Mapping[str, str]) -> None:
        self.current: dict[str, Member] = {}
        self.changes = Changes()
        """Since the latest generation was formed."""
        self._written, self._client_ids = written, client_ids
        self._formed: Place = (0, 0.0)
        self.left: dict[int, MemberRemoved] = {}
        """By the id of the line that says so, who left."""
        self._went: dict[str, Place] = {}
        """After the latest end of each id."""
        self._new: set[str] = set()
        """Whose joins are not stored yet."""
        self._lost: dict[str, Member] = {}
        """Whose ends are not stored yet."""
        self._stored: tuple[int | None, int | None] = (None, None)
        """The latest generation that a coordinator would load, and how many members it has."""

    @classmethod
    def of_clients(cls, written: Written, facts: Iterable[LoggedFact]) -> Members:
        """With the client ids that clients' own lines have."""
        own = [fact for fact in facts if fact.dialect != BROKER and fact.member_id and fact.client_id]
        return cls(written, {fact.member_id: configured_id(fact.client_id) for fact in own})

    def form(self) -> Changes:
        """A generation is formed; returns the changes that led to it."""
        self._formed = self._written.place
        changes, self.changes = self.changes, Changes()
        return changes

    def named(self, member_id: str, line: LoggedFact | None = None, instance_id: str = "") -> Member:
        """A member by its id, whether it is one now or not. line: one that says more about it."""
        if member_id in self.current:
            return self.current[member_id]
        if line is not None:
            instance_id = instance_id or line.instance_id
        client_id = "" if line is None else line.client_id
        client_id = client_id or self._client_ids.get(member_id) or ("" if instance_id else client_id_of(member_id))
        return Member(member_id, client_id, "" if line is None else line.client_host, instance_id or None)

    def join(self, line: LoggedFact, *, is_inferred: bool) -> None:
        """A line says that a member is there. is_inferred: it was one before."""
        if line.other_member_id:
            self.replace(line.other_member_id, line.member_id, line.instance_id)
        elif line.member_id:
            self.add(self.named(line.member_id, line), is_inferred=is_inferred, session_ms=line.length_ms)

    def add(
        self, member: Member, *, is_inferred: bool = False, replaces: str | None = None, session_ms: int | None = None
    ) -> None:
        """It becomes a member, if it is none."""
        if member.member_id in self.current:
            return
        self.current[member.member_id] = member
        is_doubtful = is_inferred or self._written.is_doubtful
        terms = (-1 if session_ms is None else session_ms, *NO_TERMS[1:])
        self._written.emit(makers.member_joined(self._written.at_ms, member, terms, replaces, is_inferred=is_doubtful))
        if not is_inferred:
            self._new.add(member.member_id)
        if not is_inferred and replaces is None:
            self.changes.came.append(member)

    def add_culprit(self, cause: Cause) -> None:
        """Who set a rebalance off by joining becomes a member."""
        if cause.member_id:
            self.add(self.named(cause.member_id, instance_id=cause.group_instance_id or ""))

    def known(self, member_id: str, line: LoggedFact | None = None) -> Member:
        """A member by its id. One whose join no line has was a member when the latest generation was formed."""
        if member_id not in self.current:
            place = max(self._formed, self._went.get(member_id, self._formed))
            member = self.current[member_id] = self.named(member_id, line)
            self._written.insert(place, makers.member_joined(place[0], member, NO_TERMS, is_inferred=True))
        return self.current[member_id]

    def has_gone(self, member_id: str) -> bool:
        """Whether it was a member, and is none now."""
        return member_id in self._went and member_id not in self.current

    def replace(self, old_id: str, new_id: str, instance_id: str) -> None:
        """A static member came back under another id."""
        self.remove(old_id, EndCause.STATIC_MEMBER_REPLACED, replaced_by=new_id)
        self.add(self.named(new_id, instance_id=instance_id), replaces=old_id)

    def leave(self, line: LoggedFact) -> None:
        """It went; two lines may say that it left."""
        if line.kind in ENDS:
            self.remove(line.member_id, ENDS[line.kind], line)
        elif not self.has_gone(line.member_id):
            self.go(line.member_id, gone_by(line), line)

    def go(self, member_id: str, reason: Reason, line: LoggedFact) -> None:
        """It went, and a line says why. The rebalance that it sets off may say that better."""
        fits, words = tuple(map(EndCause, reason.candidates)), reason.client_reason
        removed = self.remove(member_id, EndCause(reason.kind), line, candidates=fits, client_reason=words)
        if removed is not None:
            self.left[id(line)] = removed

    def remove(
        self,
        member_id: str,
        end_cause: EndCause,
        line: LoggedFact | None = None,
        *,
        candidates: tuple[EndCause, ...] = (),
        client_reason: str = "",
        replaced_by: str | None = None,
    ) -> MemberRemoved | None:
        """Remove a member. line: one that says more about it. Returns None for a member without an id."""
        if not member_id:
            return None
        member = self.known(member_id, line)
        del self.current[member_id]
        if member_id not in self._new:
            self._lost[member_id] = member
        self._new.discard(member_id)
        removed = makers.member_removed(
            *(self._written.at_ms, member, self._written.generation_id or 0, end_cause, client_reason, replaced_by),
            is_inferred=end_cause is EndCause.UNKNOWN or bool(candidates) or self._written.is_doubtful,
            candidates=candidates,
        )
        self._written.emit(removed)
        self._went[member_id] = self._written.place
        if replaced_by is None:
            self.changes.gone.append(removed)
        return removed

    def store(self, count: int | None) -> None:
        """The coordinator stores who is a member, in which generation: another one will load them. count: how many."""
        self._new, self._lost, self._stored = set(), {}, (self._written.generation_id, count)

    def load(self, members: int | None) -> int | None:
        """Those who came since the group was stored are not members, and those who left are members again. members: how
        many, if known.
        """
        new, lost = self._new, self._lost
        for member_id in [one for one in self.current if one in new or members == 0]:
            self.remove(member_id, EndCause.UNKNOWN)
        for member in () if members == 0 else lost.values():
            self.add(member, is_inferred=True)
        generation_id, count = self._stored
        count = count if members is None else members
        if generation_id is not None:
            self._written.generation_id = generation_id
        self.store(count)
        self.form()
        return count

    def remove_all(self) -> None:
        """Nobody is left, and no line says how they went."""
        for member_id in [*self.current]:
            self.remove(member_id, EndCause.UNKNOWN)
