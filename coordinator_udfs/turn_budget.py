"""What a group's turn may cost before the rest of it is put off to the next batch: a batch waits for its slowest group.

A batch may be run again whose effects were committed already, so a turn ends where its requests and its state say, by
their number and sizes; no clock is asked. Knows how much a request and a fact cost; knows no rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coordinator_udfs.effect_rows import EffectRow
from coordinator_udfs.protocol.group import Group
from schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatRunRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    StreamRequest,
    SyncGroupRequest,
)

PUT_OFF_BYTES = 4_194_304
"""How much of a group's requests its state keeps for the next batch; short ones may take as much again."""
_SHORT_CHARACTERS = 1000
_REQUEST_WORK = 20
_FACT_WORK = 10
_CHARACTERS_A_UNIT = 200
_MEMBERS_A_UNIT = 2
_LOOKS_AT_ALL = (JoinGroupRequest, SyncGroupRequest, LeaveGroupRequest, ConsumerGroupHeartbeatRequest)


class Waiting(NamedTuple):
    """A request that has not been applied yet."""

    text: str
    request: StreamRequest
    is_from_before: bool
    """It was put off in an earlier batch."""


class TurnBudget:
    """The work of one turn, in units of about a microsecond."""

    __slots__ = ("_most", "spent")

    def __init__(self, most: int) -> None:
        """most: how much a turn may cost; 0: any amount."""
        self._most = most
        self.spent = 0

    @property
    def is_spent(self) -> bool:
        return 0 < self._most <= self.spent

    @property
    def left(self) -> int | None:
        """What is left; None if there is no limit."""
        return max(self._most - self.spent, 0) if self._most else None

    def spend_on_request(self, waiting: Waiting, rows: Iterable[EffectRow], group: Group) -> None:
        """A request was applied, which led to these rows."""
        if not self._most:
            return
        work = _REQUEST_WORK + len(waiting.text) // _CHARACTERS_A_UNIT
        if isinstance(waiting.request, _LOOKS_AT_ALL):
            work += len(group.roster.members) // _MEMBERS_A_UNIT
        self.spent += work
        self.spend_on_facts(rows, group)

    def spend_on_facts(self, rows: Iterable[EffectRow], group: Group) -> None:
        """Something happened of itself, or by a request, which led to these rows."""
        if not self._most:
            return
        self.spent += group.work + sum(_FACT_WORK + len(row.detail or "") // _CHARACTERS_A_UNIT for row in rows)
        group.work = 0


def what_is_kept(waiting: Sequence[Waiting]) -> tuple[list[Waiting], list[Waiting]]:
    """Which of these requests a group's state keeps for the next batch, and which it has no room for, both in order.

    Runs of heartbeats, which nobody sends again, are always kept.
    """
    kept: list[Waiting] = []
    refused: list[Waiting] = []
    size = 0
    for each in waiting:
        is_short = len(each.text) <= _SHORT_CHARACTERS
        size_then = size + 4 * len(each.text) if not each.text.isascii() else size + len(each.text)
        has_room = size_then <= PUT_OFF_BYTES * (2 if is_short else 1)
        if has_room or isinstance(each.request, HeartbeatRunRequest):
            kept.append(each)
            size = size_then
        else:
            refused.append(each)
    return kept, refused
