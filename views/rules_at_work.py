"""Row rules asked of facts as they are written: a fold that keeps of each group what the next fact is held against.

It knows what the facts have said since it began, and asks nothing of what it does not know: after a start, and of a
group that was forgotten, most rules wait for the next rebalance. Must not know a table, a clock, or what is done about
a rule that is broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.consumer_effects import GroupTypeChanged
from schemas.effect_names import EffectName
from schemas.effect_rows import effect_in
from schemas.effects import (
    Assigned,
    Effect,
    GroupFound,
    JoinReceived,
    OffsetsCommitted,
    RebalanceEnded,
    StateChanged,
)
from schemas.tables import AFTER_THE_LOGS
from views.row_rules import CLASSIC_MOVES, CONSUMER_MOVES, ROW_RULES, TURNS

SAYS = {rule.name: rule.says for rule in ROW_RULES}
WATCHED = (
    *TURNS,
    EffectName.MEMBER_JOINED,
    EffectName.MEMBER_REMOVED,
    EffectName.JOIN_RECEIVED,
    EffectName.ASSIGNED,
    EffectName.REBALANCE_ENDED,
    EffectName.OFFSETS_COMMITTED,
)
"""The facts that the fold takes; the others change nothing for it."""
COLUMNS = ("seq", "effect", "at_ms", "generation_id", "member_id", "detail")
"""The columns of a row that it takes, in this order."""
_STATES_OF_ONE_TYPE = {
    "PreparingRebalance": "classic",
    "CompletingRebalance": "classic",
    "Assigning": "consumer",
    "Reconciling": "consumer",
}
_MOST_GONE = 64

Row = tuple[int, str, int, int | None, str | None, str | None]
Partition = tuple[str, int]


class Broken(NamedTuple):
    """A rule that a group's facts break."""

    rule: str
    group_id: str
    at_ms: int
    value: str
    """What broke it."""

    @property
    def says(self) -> str:
        """The rule as a sentence."""
        return SAYS[self.rule]


@dataclass(slots=True)
class WatchedGroup:
    """One group, by its facts in order."""

    group_id: str
    has_all_states: bool = True
    """False where the input passes states over, as the topic does."""
    kind: str = ""
    """classic or consumer; empty: not known."""
    is_of_one_type: bool = True
    state: str = ""
    """Empty: not known."""
    is_whole: bool = False
    """Whether all its members are known, since it was created under watch."""
    members: set[str] = field(default_factory=set)
    gone: dict[str, None] = field(default_factory=dict)
    """Of a group whose members are not all known, the last that went."""
    held: dict[str, tuple[int, frozenset[Partition]]] = field(default_factory=dict)
    """What each member owns, with the generation that gave it."""
    owners: dict[Partition, str] = field(default_factory=dict)
    """Who was given a partition last."""
    reached: int = -1
    """The generation or epoch that the last completed rebalance led to; -1: not known."""
    _may_be_any: bool = False
    """It has changed its type, and comes out of a state of the other; or it was observed in a state."""
    _doubts: list[tuple[Partition, str, str]] = field(default_factory=list)
    _at_ms: int = -1

    def take(self, rows: Sequence[Row]) -> Iterator[Broken]:
        """The rules that the next facts break, facts of WATCHED in order; a moment's facts all come in one call."""
        for seq, effect, at_ms, generation_id, member_id, detail in rows:
            if at_ms != self._at_ms:
                yield from self._settle()
                self._at_ms = at_ms
            match effect:
                case EffectName.OFFSETS_COMMITTED:
                    yield from self._committed(generation_id, member_id or "", detail)
                case EffectName.MEMBER_JOINED:
                    self.members.add(member_id or "")
                    self.gone.pop(member_id or "", None)
                case EffectName.MEMBER_REMOVED:
                    self._remove(member_id or "")
                case EffectName.JOIN_RECEIVED:
                    claimed = _partitions_in(effect, detail)
                    generation, held = self.held.get(member_id or "", (-1, frozenset()))
                    self.held[member_id or ""] = generation, held & claimed
                case EffectName.ASSIGNED:
                    self._assign(member_id or "", -1 if generation_id is None else generation_id, detail)
                case EffectName.REBALANCE_ENDED:
                    yield from self._ended(effect_in(effect, detail))
                case EffectName.STATE_CHANGED:
                    yield from self._moved(seq, effect_in(effect, detail))
                case _:
                    self._turn(effect, detail)
        yield from self._settle()

    def _broken(self, rule: str, value: str) -> Broken:
        return Broken(rule, self.group_id, self._at_ms, value)

    # ------------------------------------------------------------ members and owners

    def _remove(self, member_id: str) -> None:
        self.members.discard(member_id)
        self.held.pop(member_id, None)
        if not self.is_whole:
            self.gone[member_id] = None
            if len(self.gone) > _MOST_GONE:
                del self.gone[next(iter(self.gone))]

    def _committed(self, generation_id: int | None, member_id: str, detail: str | None) -> Iterator[Broken]:
        if generation_id is None or generation_id < 0 or not member_id or member_id in self.members:
            return
        commit = effect_in(EffectName.OFFSETS_COMMITTED, detail)
        is_recorded = isinstance(commit, OffsetsCommitted) and not commit.is_inferred
        if is_recorded and (self.is_whole or member_id in self.gone):
            yield self._broken("committers_are_members", f"{member_id} in generation {generation_id}")

    def _assign(self, member_id: str, generation_id: int, detail: str | None) -> None:
        mine = _partitions_in(EffectName.ASSIGNED, detail)
        self.held[member_id] = generation_id, mine
        owners = self.owners
        for partition in mine:
            other = owners.get(partition, member_id)
            if other != member_id and other in self.held:
                self._doubts.append((partition, other, member_id))
            owners[partition] = member_id

    def _settle(self) -> Iterator[Broken]:
        """All facts of a moment are there: who was given a partition that another has not given up by now?"""
        for partition, other, member_id in self._doubts:
            before, now = self.held.get(other), self.held.get(member_id)
            if before is None or now is None or partition not in before[1] or partition not in now[1]:
                continue
            # One generation of a classic group is what its leader made of it: that may be so.
            if self.kind == "consumer" or before[0] != now[0]:
                yield self._broken("one_owner_at_once", f"{partition[0]}-{partition[1]} of {other} and {member_id}")
        self._doubts.clear()

    # ------------------------------------------------------------ rebalances

    def _ended(self, ended: Effect | None) -> Iterator[Broken]:
        assert isinstance(ended, RebalanceEnded)
        begins, leads = ended.from_generation_id, ended.to_generation_id
        if ended.started_at_ms is not None and ended.started_at_ms > self._at_ms:
            yield self._broken("rebalance_ends_after_it_begins", f"it began at {ended.started_at_ms}")
        if ended.outcome != "completed":
            return
        if leads <= begins:
            yield self._broken("generations_rise", f"{begins} -> {leads}")
        if leads == self.reached and begins > 0:
            yield self._broken("one_row_an_epoch", f"{leads} again")
        self.reached = leads
        before, after = ended.members_before, ended.members_after
        if before is not None and self.kind == "classic" and self.is_of_one_type:
            found = before + len(ended.joined) - len(ended.left) - len(ended.expired) - len(ended.gone)
            if found != after or (self.is_whole and after != len(self.members)):
                known = f", {len(self.members)} by their own facts" if self.is_whole else ""
                yield self._broken("members_add_up", f"{before} before, {found} are left, {after} after{known}")
        self.is_of_one_type = True

    # ------------------------------------------------------------ states

    def _moved(self, seq: int, moved: Effect | None) -> Iterator[Broken]:
        assert isinstance(moved, StateChanged)
        before, after, known = moved.from_state, moved.to_state, self.state
        if known and before != known and self.has_all_states and seq < AFTER_THE_LOGS:
            yield self._broken("states_follow_kafka", f"{known}, then {before} -> {after}")
        self.kind = self.kind or _STATES_OF_ONE_TYPE.get(after) or _STATES_OF_ONE_TYPE.get(before, "")
        moves = {"classic": CLASSIC_MOVES, "consumer": CONSUMER_MOVES}.get(self.kind)
        if moves is not None and f"{before}>{after}" not in moves and before != after and not self._may_be_any:
            yield self._broken("states_follow_kafka", f"{before} -> {after} of a {self.kind} group")
        self._may_be_any = False
        self.state = after if seq < AFTER_THE_LOGS else ""

    def _turn(self, effect: str, detail: str | None) -> None:
        """The group may be in another state than its moves say."""
        self.state = ""
        self._may_be_any = effect in (EffectName.GROUP_TYPE_CHANGED, EffectName.GROUP_OBSERVED)
        if effect in (EffectName.GROUP_CREATED, EffectName.GROUP_REMOVED):
            self._begin_anew(is_whole=effect == EffectName.GROUP_CREATED)
        match effect_in(effect, detail):
            case GroupFound(group_type=group_type) | GroupTypeChanged(to_type=group_type):
                self.kind, self.is_of_one_type, self.reached = group_type, False, -1
            case _:
                pass

    def _begin_anew(self, *, is_whole: bool) -> None:
        self.kind, self.state, self.reached = "classic", "Empty" if is_whole else "", -1
        self.is_whole, self.is_of_one_type = is_whole, True
        for kept in (self.members, self.gone, self.held, self.owners):
            kept.clear()


def _partitions_in(effect: str, detail: str | None) -> frozenset[Partition]:
    """What a member is given, or says that it owns."""
    match effect_in(effect, detail):
        case Assigned(partitions=held) | JoinReceived(owned_partitions=held) if held:
            return frozenset((each.topic, partition) for each in held for partition in each.partitions)
        case _:
            return frozenset()
