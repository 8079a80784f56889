"""Who owns which partitions of a group, as its members' lines have it, laid beside its generations: as effects.

That a generation was given what its leader assigned, the coordinator's lines say, and when. What a member gave up its
own lines say, within what clocks differ by: never before its generation was given, nor after the next one was formed.
Of a member whose own lines do not show that it follows a rebalance it is not known what it owns from its beginning on.
Knows one group's members. Must not know how lines are worded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from rollcall.inputs.printed.groups.logged_effects import Written
from rollcall.inputs.printed.groups.logged_holdings import JOINS, Holding, Partitions, given_by_leaders, holdings_of
from rollcall.inputs.printed.groups.logged_members import Member, Members
from rollcall.inputs.printed.lines.entries import DATED
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.schemas import makers
from rollcall.schemas.makers import by_topic


class Owners:
    """The owners of one group's partitions.

    clients: each one's lines. given: the generations that were given partitions by the coordinator's lines.
    """

    def __init__(
        self, written: Written, members: Members, clients: Iterable[Sequence[LoggedFact]], given: Iterable[int] = ()
    ) -> None:
        self._written, self._members, self._to_be_given = written, members, {*given}
        self._by_leaders: dict[tuple[int, str], set[Partitions]] = {}
        self._by_undated: dict[tuple[int, str], Partitions | None] = {}
        self._to_come: list[deque[Holding]] = []
        self._followed: set[tuple[int, str]] = set()
        """Generations, and the members whose own lines have dates and show that they joined them."""
        self._latest_ms: dict[str, int] = {}
        """By member, when its client's last line was printed."""
        self._owned: dict[str, tuple[Member, Partitions]] = {}
        for facts in clients:
            self._take(facts)

    def _take(self, facts: Sequence[LoggedFact]) -> None:
        for key, assigned in given_by_leaders(facts).items():
            self._by_leaders.setdefault(key, set()).update(assigned)
        dates = [one.at_ms for one in facts if one.at_ms is not None and one.clock in DATED]
        for one in facts if dates else ():
            if one.kind in JOINS and one.member_id and one.generation_id:
                self._followed.add((one.generation_id, one.member_id))
                self._latest_ms[one.member_id] = max(dates)
        dated = deque[Holding]()
        for held in holdings_of(facts):
            if held.at_ms is not None:
                dated.append(held)
            elif held.is_given:
                self._by_undated[held.generation_id, held.member_id] = held.partitions
        self._to_come.append(dated)

    def end_with_lines(self) -> None:
        """No coordinator says who goes: who is not in the latest generation that lines show, maybe without a date,
        owns nothing that is known after its own last line.
        """
        latest = max((generation_id for generation_id, _ in self._followed | self._by_undated.keys()), default=0)
        for own in self._to_come:
            if own and (latest, own[-1].member_id) not in self._followed:
                at_ms = max(own[-1].at_ms or 0, self._latest_ms.get(own[-1].member_id, 0))
                own.append(own[-1]._replace(at_ms=at_ms, partitions=None, is_given=False))

    # ------------------------------------------------------------ in order of time

    def until(self, at_ms: float, *, is_of_epochs: bool) -> None:
        """What members' own lines have up to a moment. is_of_epochs: each member has its own epoch."""
        while self._to_come and (following := self._following(at_ms)) is not None:
            held = following.popleft()
            self._written.at_ms, self._written.line = max(self._written.at_ms, held.at_ms or 0), held.line
            generation_id = self._written.generation_id or 0
            if is_of_epochs or held.generation_id == generation_id:
                self._own(held.member_id, held.partitions, held.generation_id)
            elif held.generation_id > generation_id:
                self._own(held.member_id, None, generation_id)

    def _following(self, at_ms: float) -> deque[Holding] | None:
        """The client whose line is the next one; what is still to be given waits for that."""
        due = [own for own in self._to_come if own and own[0].generation_id not in self._to_be_given]
        first = min(due, key=lambda own: own[0].at_ms or 0, default=None)
        return None if first is None or (first[0].at_ms or 0) > at_ms else first

    def begin(self, generation_id: int) -> None:
        """Members begin to join a generation: an eager one owns nothing once it has asked to."""
        for member_id in [*self._owned]:
            if (generation_id, member_id) not in self._followed:
                self._own(member_id, None, self._written.generation_id or 0)

    def begin_epoch(self) -> None:
        """The group has a new epoch: those whose lines have ended may own something else."""
        for member_id in [*self._owned]:
            if self._latest_ms.get(member_id, 0) < self._written.at_ms:
                self._own(member_id, None, self._written.generation_id or 0)

    def form(self, generation_id: int) -> None:
        """All have joined a generation, so what they gave up before it is given up by now."""
        self.begin(generation_id)
        for own in self._to_come:
            held = None
            while own and own[0].generation_id < generation_id:
                held = own.popleft()
            if held is not None:
                self._own(held.member_id, held.partitions, held.generation_id)

    def give(self, generation_id: int) -> None:
        """The coordinator has a generation's assignment."""
        self._to_be_given.discard(generation_id)
        given: dict[str, Partitions | None] = {
            member_id: next(iter(assigned)) if len(assigned) == 1 else None
            for (of_generation, member_id), assigned in self._by_leaders.items()
            if of_generation == generation_id and not self._members.has_gone(member_id)
        }
        for own in self._to_come:
            while any(one.is_given and one.generation_id <= generation_id for one in own):
                held = own.popleft()
                if held.is_given and held.generation_id == generation_id:
                    given.setdefault(held.member_id, held.partitions)
        for (of_generation, member_id), partitions in self._by_undated.items():
            if of_generation == generation_id:
                given.setdefault(member_id, partitions)
        given = {one: held for one, held in given.items() if held is not None and not self._members.has_gone(one)}
        for member_id in [one for one in self._owned if one not in given]:
            self._own(member_id, None, generation_id)
        self._owned = {one: (self._members.known(one), held) for one, held in given.items() if held is not None}
        for member_id in self._owned:
            self._emit(member_id, generation_id)

    # ------------------------------------------------------------ one member

    def _own(self, member_id: str, partitions: Partitions | None, generation_id: int) -> None:
        """From now on only this member owns these; None: it is unknown what it owns."""
        before, member = self._of(member_id), self._members.current.get(member_id)
        if member is None or partitions == before:
            return
        if partitions is None:
            del self._owned[member_id]
            if before:
                self._emit(member_id, generation_id)
            return
        for other in [*self._owned]:
            others = self._of(other) if other != member_id else None
            if others and others & partitions:
                self._own(other, others - partitions, generation_id)
        self._owned[member_id] = member, partitions
        if partitions or before is not None:
            self._emit(member_id, generation_id)

    def _of(self, member_id: str) -> Partitions | None:
        """Return what a member owns; None if that is unknown or it is not a member any more."""
        member, partitions = self._owned.get(member_id, (None, None))
        if member is None or self._members.current.get(member_id) is member:
            return partitions
        del self._owned[member_id]
        return None

    def _emit(self, member_id: str, generation_id: int) -> None:
        member, owned = self._members.known(member_id), self._owned.get(member_id)
        partitions = None if owned is None else by_topic(owned[1])
        self._written.emit(makers.assigned(self._written.at_ms, member, generation_id, partitions))
