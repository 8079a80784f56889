"""What a request log shows: the schedules of its groups' processes, and the outcome.

Each group's requests go to its observer as they are followed; the core's effects then are the recorded outcome.

Knows the observers; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rollcall.answers.whatif.changes import BASELINE
from rollcall.answers.whatif.inferred_schedules import schedules_of, why_left_out
from rollcall.answers.whatif.observed_processes import GroupObserver
from rollcall.answers.whatif.outcome import Outcome, ProcessFacts, is_counted, measure
from rollcall.answers.whatif.play import silent_ends
from rollcall.answers.whatif.schedules import GroupSchedules
from rollcall.history.holdings import Partition
from rollcall.inputs.request_log.recorded import OrderedRequest
from rollcall.schemas.consumer_effects import GroupConfigsChanged
from rollcall.schemas.effects import Effect
from rollcall.tables.lag.rows import LogEnd


@dataclass(slots=True)
class Recording:
    """The schedules in a log, and the outcome."""

    from_ms: int = 0
    until_ms: int = 0
    schedules: dict[str, GroupSchedules] = field(default_factory=dict)
    """By group."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """What was recorded, by group."""
    left_out: dict[str, str] = field(default_factory=dict)
    """The groups that are not played, with the reason."""
    rates: dict[Partition, float] | None = None
    """How many records were written to each partition a millisecond; None: the request log has no log ends."""
    moved: list[str] = field(default_factory=list)
    """The groups that had no coordinator for a while, which is not played."""

    def add(self, group: GroupRecording) -> None:
        if group.schedules is None or group.outcome is None:
            self.left_out[group.group_id] = group.left_out
            return
        self.schedules[group.group_id] = group.schedules
        self.outcomes[group.group_id] = group.outcome
        if group.has_moved:
            self.moved.append(group.group_id)


def rates_of(ends: Iterable[LogEnd]) -> dict[Partition, float]:
    """How many records were written to each partition a millisecond, on the average between its first end and its last.

    A log that was cut in between has no rate.
    """
    first, last = dict[Partition, LogEnd](), dict[Partition, LogEnd]()
    for one in ends:
        if one.end_offset is not None:
            partition = Partition(one.topic, one.partition)
            first.setdefault(partition, one)
            last[partition] = one
    return {
        partition: ((one.end_offset or 0) - (first[partition].end_offset or 0)) / (one.at_ms - first[partition].at_ms)
        for partition, one in last.items()
        if one.at_ms > first[partition].at_ms and (one.end_offset or 0) >= (first[partition].end_offset or 0)
    }


class GroupRecording(NamedTuple):
    group_id: str
    schedules: GroupSchedules | None
    """None: it is not played."""
    outcome: Outcome | None
    left_out: str
    """Why it is not played."""
    has_moved: bool


class GroupRecorder:
    """The listener of one group."""

    def __init__(self, group_id: str) -> None:
        self._observer = GroupObserver(group_id)
        self._effects: list[Effect] = []
        self._configs: dict[str, str] = {}

    def take(self, ordered: OrderedRequest) -> None:
        self._observer.take(ordered)

    def accept(self, beat: OrderedRequest) -> None:
        """An accepted heartbeat."""
        self._observer.take(beat)

    def take_effects(self, effects: list[Effect]) -> None:
        """The effects of a request or of a deadline."""
        self._effects += filter(is_counted, effects)
        for effect in effects:
            if isinstance(effect, GroupConfigsChanged):
                self._configs = effect.configs

    def recording(self, from_ms: int, until_ms: int, broker: dict[str, str]) -> GroupRecording:
        """The whole recording. from_ms, until_ms: the log's first and last moment. broker: its settings."""
        observer = self._observer
        of_group = schedules_of(observer, from_ms, until_ms, broker)
        if of_group is None:
            why = why_left_out(observer) or "nobody was seen to be a member"
            return GroupRecording(observer.group_id, None, None, why, has_moved=False)
        of_group = replace(of_group, configs=self._configs)
        process_of = {member_id: schedule.name for schedule in of_group.processes for member_id in schedule.member_ids}
        known = ProcessFacts(process_of, silent_ends(of_group.processes, BASELINE))
        outcome = measure(self._effects, known, from_ms, until_ms)
        return GroupRecording(observer.group_id, of_group, outcome, "", has_moved=bool(observer.aways))
