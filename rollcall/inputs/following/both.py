"""A broker's log, what it records of requests or what it prints, and its cluster's topic, followed as one history.

The facts of both are merged in memory, and one state has the place in each, what its reader keeps and what waits. Knows
when facts are merged. Must not know how an input is read, nor by which rule facts are merged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from rollcall.inputs.both_inputs import BothMerged, lines_beside, merging_lines
from rollcall.inputs.following.following import last_state
from rollcall.inputs.following.merging_feed import BESIDE_LINES, BESIDE_REQUESTS, Group, MergingFeed, MergingState, Rule
from rollcall.inputs.following.printed_source import PrintedKept
from rollcall.inputs.following.request_source import ShadowState
from rollcall.inputs.following.source import Part
from rollcall.inputs.following.topic_source import TopicKept
from rollcall.schemas.effect_rows import EffectRow
from rollcall.tables.appending import OpenTable
from rollcall.tables.home import Home

FOLDER = "merged"
APP_ID = "rollcall-both"
DECIDE_EVERY_S = 1.0
"""How often facts that wait are looked at while nothing new comes."""
UNKNOWN = "how far both inputs were merged"
_LogKept = TypeVar("_LogKept", bound=ShadowState | PrintedKept)


class BothKept(msgspec.Struct, Generic[_LogKept, Group]):
    """The state of such a shadow."""

    log: _LogKept | None = None
    """That of what follows the log; None: it has not begun."""
    topic: TopicKept | None = None
    """The same for the topic."""
    merging: MergingState[Group] = msgspec.field(default_factory=MergingState)


class Kind(NamedTuple):
    """What is particular to a kind of log beside a topic."""

    rule: Rule
    kept: type[ShadowState] | type[PrintedKept]
    closing_lines: Callable[[BothMerged], Iterator[str]]
    not_known: tuple[str, ...] = ()


OF_REQUESTS = Kind(BESIDE_REQUESTS, ShadowState, merging_lines)
OF_LINES = Kind(BESIDE_LINES, PrintedKept, lines_beside, ("a group that the topic lacks is not shown.",))


def find_both(home: Home, kind: Kind) -> BothKept[Any, Any] | None:
    """The state as of the last commit; None: the home has no such shadow. Raises HomeError: it cannot be read."""
    kept = BothKept[kind.kept, kind.rule.state]  # type: ignore[name-defined]
    return last_state(home.path / FOLDER, home.effects, APP_ID, kept, UNKNOWN)


class BothSource:
    """A log and a topic as one history. now_ms: this machine's time. clock: seconds."""

    folder, app_id = FOLDER, APP_ID

    def __init__(
        self,
        kind: Kind,
        log: Part,
        topic: Part,
        merging: MergingFeed,
        hold_ms: int,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], float] = lambda: time.time() * 1000,
    ) -> None:
        self._kind, self._log, self._topic, self._merging = kind, log, topic, merging
        self._hold_ms, self._clock, self._now_ms = hold_ms, clock, now_ms
        self._decide_at = 0.0

    @property
    def shown(self) -> str:
        return f"{self._log.shown} and {self._topic.shown}"

    @property
    def counts(self) -> str:
        return f"{self._log.counts}; {self._topic.counts}"

    @property
    def not_known(self) -> tuple[str, ...]:
        return (*self._kind.not_known, *self._topic.not_known)

    @property
    def due_rows(self) -> int:
        return self._log.due_rows + self._topic.due_rows + self._merging.due_rows

    @property
    def unfit_rows(self) -> int:
        return self._log.unfit_rows + self._topic.unfit_rows

    def step(self) -> bool:
        has_more = [each.step() for each in (self._log, self._topic)]
        if not self.due_rows and self._clock() >= self._decide_at:
            self._decide()
        return any(has_more)

    def set_aside(self, quarantine: OpenTable) -> None:
        self._log.set_aside(quarantine)
        self._topic.set_aside(quarantine)

    def take_due(self) -> list[EffectRow]:
        self._merging.take(self._log.take_due(), is_topic=False)
        self._merging.take(self._topic.take_due(), is_topic=True)
        self._decide()
        return self._merging.take_decided()

    def state(self) -> BothKept[Any, Any]:
        return BothKept(self._log.state(), self._topic.state(), self._merging.state())

    def settle(self, number: int) -> None:
        self._log.settle(number)
        self._topic.settle(number)

    def closing_lines(self) -> Iterator[str]:
        yield from self._log.closing_lines()
        yield from self._kind.closing_lines(self._merging.found)

    def _decide(self) -> None:
        """Decides what can be decided once all facts that are due were taken."""
        log, topic = (each.known(self._hold_ms, self._now_ms()) for each in (self._log, self._topic))
        self._merging.decide(log, topic.all_others_ms)
        self._decide_at = self._clock() + DECIDE_EVERY_S
