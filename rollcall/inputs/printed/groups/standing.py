"""What a group is between its rebalances: its type, its state, how many members it has, and who coordinates it.

Knows one group's lines in order, and its members. Must not know rebalances.
"""

from __future__ import annotations

from collections.abc import Sequence

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.states import VALID_PREVIOUS, GroupState
from rollcall.inputs.printed.groups.logged_effects import Written
from rollcall.inputs.printed.groups.logged_members import Members
from rollcall.inputs.printed.logged_facts import NEWER, FactKind, LoggedFact, between_ms
from rollcall.inputs.tolerances import AT_ONCE_MS
from rollcall.schemas import makers
from rollcall.schemas.effects import GroupCreated, GroupFound, GroupObserved, GroupRemoved, StateChanged

UNKNOWN_STATE = "Unknown"
"""Kafka's name (GroupState.UNKNOWN) for a state that is not known."""
FIRST_EPOCH = 2
"""Of a new consumer group; brokers before 4.3 begin with 1."""
_TYPES = {
    FactKind.REBALANCE_BEGAN: GroupType.CLASSIC,
    FactKind.JOIN_PHASE_ENDED: GroupType.CLASSIC,
    **dict.fromkeys(NEWER, GroupType.CONSUMER),
}
"""The lines that show which protocol a group is under."""
_MAY_FOLLOW = {(before.value, after.value) for after, befores in VALID_PREVIOUS.items() for before in befores}


class Standing:
    """One group, whose lines are taken in order."""

    def __init__(self, written: Written, members: Members) -> None:
        self._written, self._members = written, members
        self.type: GroupType | None = None
        """None while the group does not exist."""
        self.state = ""
        self.is_whole = False
        """Whether lines name every member."""
        self.count: int | None = None
        """How many members the latest generation has."""
        self._is_away = False

    @property
    def generation_id(self) -> int:
        """The latest generation or epoch; 0 if it is not known."""
        return self._written.generation_id or 0

    def begin(self, lines: Sequence[LoggedFact], place: int) -> None:
        """The group is new at a place if its first generation says so; otherwise it was there before."""
        ahead = range(place, len(lines))
        self.type = next((_TYPES[lines[one].kind] for one in ahead if lines[one].kind in _TYPES), GroupType.CLASSIC)
        numbered = next((lines[one] for one in ahead if lines[one].generation_id is not None), None)
        generation_id = -1 if numbered is None or numbered.generation_id is None else numbered.generation_id
        self._members.form()
        if self.type is GroupType.CONSUMER:
            joined = lines[place]
            is_bumped = numbered is not None and numbered.kind is FactKind.EPOCH_BUMPED
            after_ms = between_ms(joined, numbered) if numbered is not None and is_bumped else 0
            is_first = 0 < generation_id <= FIRST_EPOCH and (after_ms or 0) <= AT_ONCE_MS
            is_new = joined.kind is FactKind.MEMBER_JOINED_EPOCH and is_first
        else:
            is_new = numbered is not None and numbered.kind is FactKind.REBALANCE_BEGAN and generation_id == 0
        at_ms = self._written.at_ms
        if not is_new:
            self._written.emit(GroupFound(at_ms=at_ms, group_type=self.type, generation_id=max(generation_id, 0)))
            return
        self._written.emit(GroupCreated(at_ms=at_ms))
        self.is_whole, self.count, self._written.generation_id = True, 0, 0
        self.state = GroupState.EMPTY.value
        if self.type is GroupType.CONSUMER:
            is_in = generation_id < FIRST_EPOCH and numbered is not None and numbered.kind is FactKind.MEMBER_PROGRESSED
            self._written.generation_id = generation_id if is_in else generation_id - 1
            self._emit_type(None, self.type, "created")

    def type_by(self, line: LoggedFact) -> GroupType | None:
        """The group's type from a line on: one says so, or is one that only the other protocol has."""
        if line.kind is not FactKind.GROUP_CONVERTED:
            return _TYPES.get(line.kind, self.type)
        return next((one for one in GroupType if one.value == line.to_state.lower()), self.type)

    def change_type(self, line: LoggedFact, after: GroupType) -> None:
        """The group was converted."""
        why = "observed"
        if line.kind is FactKind.GROUP_CONVERTED:
            moved = "upgraded" if after is GroupType.CONSUMER else "downgraded"
            why = "replaced" if line.state.startswith("empty") else moved
        self._emit_type(self.type, after, why)
        self.type, self.state = after, ""
        if why == "replaced":
            self._written.generation_id = FIRST_EPOCH - 1 if after is GroupType.CONSUMER else 0
            self.is_whole, self.count = True, 0
        self._members.store(self.count)

    def _emit_type(self, before: GroupType | None, after: GroupType, why: str) -> None:
        self._written.emit(makers.type_changed(self._written.at_ms, before, after, why, self.generation_id))

    def observe(self, line: LoggedFact) -> None:
        """A coordinator gave the group away, or has loaded it: sessions and timers begin anew then."""
        is_away = line.kind is FactKind.GROUP_UNLOADED
        if is_away and self._is_away:
            return
        self._is_away = is_away
        if not is_away:
            self._load(line)
        self._written.emit(
            GroupObserved(
                at_ms=self._written.at_ms,
                why="a coordinator unloaded the group" if is_away else "a coordinator loaded the group",
                is_away=is_away,
                is_loaded=not is_away,
                generation_id=line.generation_id or self.generation_id,
                member_ids=[],
            )
        )

    def _load(self, line: LoggedFact) -> None:
        """The group is what was stored of it. Where the line says how many members it has, that is certain."""
        self.count = self._members.load(line.members)
        if line.members is None:
            return
        self.is_whole = len(self._members.current) == line.members
        loaded = (GroupState.STABLE if line.members else GroupState.EMPTY).value
        if self.type is GroupType.CLASSIC and self.state not in ("", loaded):
            self.move(loaded)

    def forget(self, why: str) -> None:
        """The group is removed."""
        self._members.remove_all()
        self._members.form()
        self._written.emit(GroupRemoved(at_ms=self._written.at_ms, why=why, generation_id=self.generation_id))
        self.type, self.state, self._written.generation_id = None, "", None
        self.is_whole, self.count = False, None
        self._members.store(None)

    def move(self, to_state: str, leader_id: str | None = None) -> None:
        """The group has another state; where the one before is not known, it is reported as the first that is."""
        may_follow = (self.state, to_state) in _MAY_FOLLOW
        self._written.emit(
            StateChanged(
                at_ms=self._written.at_ms,
                from_state=self.state if may_follow else to_state,
                to_state=to_state,
                generation_id=self.generation_id,
                protocol_type=None,
                protocol_name=None,
                leader_id=leader_id,
            )
        )
        self.state = to_state
